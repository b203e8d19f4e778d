;;;; The source of a name and where it stands.

(in-package #:imago-peer)

;;; What a form of a text defines, told without the reader.

(defun operator-and-name (text start end)
  "The first word of the form of TEXT from START to END, and where the second of it begins and
ends; or NIL."
  (when (and (< start end) (char= (char text start) #\())
    (let* ((word (form-start text (1+ start)))
           (word-end (and word (< word end) (token-end text word)))
           (name (and word-end (> word-end word) (form-start text word-end))))
      (when (and name (< name (1- end)))
        (values (subseq text word word-end) name (form-end text name))))))

(defun names-p (text start end name)
  "Whether TEXT from START on is how a definition names NAME: a symbol, a list such as (SETF
AREA), a string, or a method. END is where the first form from START on ends."
  (flet ((same (word symbol)
           (and (stringp word)
                (string-equal (string-trim "|:#\"" (bare-word word)) (string symbol))))
         (words (end) (words-of (subseq text start (min end (length text) (+ start 1000))))))
    (typecase name
      ((or symbol string)
       (let ((word (first (words end))))
         ;; (defstruct (point (:include thing)))
         (if (consp word)
             (and (not (same (first word) "setf")) (same (first word) name))
             (same word name))))
      (cons (let ((word (first (words end))))
              (and (consp word) (= (length word) 2)
                   (same (first word) "setf") (same (second word) (second name)))))
      (t (names-method-p (words (length text)) (function-of-method name) name)))))

(defun names-method-p (words function method)
  "Whether WORDS are what follows `defmethod' in the definition of METHOD of FUNCTION."
  (let ((name (name-of-generic function)) (tree (method-tree method)))
    (and (alike-p (first words)
                  (if (consp name) (list "setf" (string (second name))) (string name)))
         (let ((list (position-if #'listp words :start 1)))
           (and list
                (alike-p (subseq words 1 list) (butlast tree))
                (means-p (nth list words) (first (last tree))))))))

(defun definition-within (text start end name operators)
  "Where in the form of TEXT from START to END that what defines NAME begins and ends, with one of
OPERATORS rather than with another; or NIL."
  (let ((other nil))
    (loop for index = start then (and index (1+ index))
          while (and index (< index end))
          do (setf index (position #\( text :start index :end end))
             (check-deadline)
             (when (and index (< (+ index 4) end)
                        (search "def" text :start2 index :end2 (min end (+ index 40))
                                           :test #'char-equal))
               (multiple-value-bind (operator name-start name-end)
                   (operator-and-name text index (form-end text index))
                 (when (and operator
                            (eql 0 (search "def" (bare-word operator) :test #'char-equal))
                            (names-p text name-start name-end name))
                   (if (member (bare-word operator) operators :test #'string-equal)
                       (return-from definition-within (values index (form-end text index)))
                       (unless other (setf other index)))))))
    (and other (values other (form-end text other)))))

;;; The text of a definition: from the file it was read from, as far as that still is what it was,
;;; or as it was typed.

;;; What is known of one definition: lists (KEY VALUE ...) with the keys FILE, LINE, END-LINE, TEXT,
;;; BECAUSE, ORIGIN, CURRENT (T, :FALSE or NIL) and NOTES, for `getf'; and FROM, whose text it is
;;; that runs, NOW, the line of another text of that name, and WHY it is not known to run.

(defun located-text (text start end &rest more)
  "What stands in TEXT from START to END, with its lines."
  (list* 'text (subseq text start end)
         'line (line-of text start)
         'end-line (line-of text (max start (1- end)))
         more))

(defun unlocated (origin because &rest more)
  (list* 'origin origin 'because because more))

(defparameter *operators*
  '(("function" "defun" "defgeneric" "define-modify-macro")
    ("generic_function" "defgeneric")
    ("method" "defmethod")
    ("macro" "defmacro" "define-setf-expander" "defsetf" "define-compiler-macro")
    ("class" "defclass" "defstruct" "define-condition")
    ("type" "deftype")
    ("method_combination" "define-method-combination")
    ("variable" "defvar" "defparameter" "defglobal" "define-symbol-macro")
    ("constant" "defconstant")
    ("module" "defpackage" "define-package"))
  "By kind, what defines it.")

(defun operators-for (kind)
  (rest (assoc kind *operators* :test #'string=)))

(defun symbol-in-name (name)
  "The symbol in NAME, which is one, a list such as (SETF AREA), or a method; a package is named
by a string."
  (cond ((consp name) (if (symbolp (second name)) (second name) (first name)))
        ((or (symbolp name) (stringp name)) name)
        (t (symbol-in-name (name-of-generic (function-of-method name))))))

(defparameter *other-note*
  "It was compiled as a part of the file, which holds another text now: this is what runs.")

(defparameter *made-note*
  "A macro call made it: the text is that call, and not what it expands to.")

(defparameter *written-note*
  "The text is written from the form that was evaluated; its own layout was not kept.")

(defparameter *gone-text*
  "the file has changed since it was loaded, and does not define it any more")

;;; An entry is one definition, before its text is looked for: a list with the keys NAME (as text),
;;; KIND, DEFINES (what its source names: a symbol, a list such as (SETF AREA), a string, or a
;;; method), SOURCE and FUNCTION, for `getf'.

(defun entry (name kind defines source &optional function)
  (list 'name name 'kind kind 'defines defines 'source source 'function function))

(defun locate (entry)
  "What `definition-at' knows of ENTRY."
  (definition-at (getf entry 'source) (getf entry 'defines) (getf entry 'kind)
    (getf entry 'function)))

(defparameter *most-methods* 100
  "Methods of one generic function that are told.")

(defun method-entry (method)
  (entry (method-text method) "method" method (source-of-method method)
         (function-made-for method)))

(defun generic-entries (name function)
  (let ((methods (methods-of function)))
    (cons (entry (function-name-text name) "generic_function" name (source-of-function function))
          (mapcar #'method-entry
                  (reverse (subseq methods 0 (min *most-methods* (length methods))))))))

(defun function-entries (name)
  "NAME is a symbol or a list such as (SETF AREA)."
  (let ((function (function-of name)) (text (function-name-text name)))
    (cond ((generic-p function) (generic-entries name function))
          (function
           (list (entry text (if (macro-or-nil name) "macro" "function") name
                        (source-of-function function)
                        function)))
          ((and (symbolp name) (special-operator-p name))
           (list (entry text "macro" name (first (named-sources name :ir1-convert))))))))

(defun other-entries (symbol)
  "What SYMBOL is besides a function: class, type, variable, and what stands around it."
  (let ((text (symbol-text symbol)) (class (find-class symbol nil)))
    (flet ((named (label kind type)
             (let ((source (first (named-sources symbol type))))
               (and source (list (entry label kind symbol source))))))
      (append (if class
                  (list (entry text "class" symbol (class-source class)))
                  (named text "type" :type))
              (named text "constant" :constant)
              (named text "variable" :variable)
              (named text "variable" :symbol-macro)
              (and (compiler-macro-function symbol)
                   (list (entry (format nil "(compiler-macro ~A)" text) "macro" symbol
                                (first (named-sources symbol :compiler-macro)))))
              (and (fboundp `(setf ,symbol)) (function-entries `(setf ,symbol)))
              (named (format nil "(setf ~A)" text) "macro" :setf-expander)
              (named text "method_combination" :method-combination)))))

(defun package-entry (package)
  (entry (package-name package) "module" (package-name package) (source-of-package package)))

(defun symbol-entries (symbol)
  (let ((package (find-package (symbol-name symbol))))
    (unless (keywordp symbol)
      (append (function-entries symbol)
              (other-entries symbol)
              (and package (list (package-entry package)))))))

(defun value-entries (value)
  (ecase (kind-of-value value)
    (symbol (symbol-entries value))
    (package (list (package-entry value)))
    (method (list (method-entry value)))
    (class (and (class-label value)
                (list (entry (symbol-text (class-label value)) "class" (class-label value)
                             (class-source value)))))
    (function
     (if (generic-p value)
         (generic-entries (name-of-generic value) value)
         (let ((name (or (function-name value) "a function")))
           (list (entry (form-line name) "function" name (source-of-function value) value)))))
    (value '())))

(defun definition-entries (subject)
  "All definitions of SUBJECT, that which it is first of all first."
  (let ((thing (subject-thing subject)))
    (ecase (subject-kind subject)
      (symbol (symbol-entries thing))
      (function (or (function-entries thing)
                    (let ((source (first (named-sources (second thing) :setf-expander))))
                      (list (entry (function-name-text thing) "macro" (second thing) source)))))
      (method (list (method-entry thing)))
      (package (list (package-entry thing)))
      (value (value-entries thing)))))

;;; What else is told

(defun traced-wrappers (name)
  "What stands around the function NAME and was seen through."
  (and (encapsulated-p name)
       (list (object "file" nil "line" nil
                     "name" (if (traced-p name) "trace" "an encapsulation")))))

(defun closure-notes (function)
  "What FUNCTION closes over. A compiler may keep the names apart from the values."
  (let* ((values (and (functionp function) (not (generic-p function)) (closed-over function)))
         (names (and values (closed-over-names function)))
         (texts (loop for value in values repeat 8 collect (static-text value 80)))
         (more (- (length values) (length texts))))
    (cond ((null values) '())
          ((and names (null (rest names)))
           (list (format nil "It closes over ~A = ~A." (first names) (first texts))))
          (t (list (format nil "It closes over ~:[~D values~*~;~*~{~A~^, ~}; in some order~]: ~
                                ~{~A~^, ~}~@[ and ~D more~]."
                           names (length values) names texts (and (plusp more) more)))))))

(defun inline-notes (name)
  (and (eq (info-of :function :inlinep name) 'inline)
       (list (format nil "It is declared inline: what was compiled before may hold a copy of an ~
                          older definition."))))

;;; The answer

(defun source-tree (located limit)
  (let ((text (getf located 'text))) (and text (text-tree text :limit limit))))

(defun proof-tree (located)
  "`Proof' of wire/contract/values.ts."
  (object "from" (getf located 'from) "line" (getf located 'now) "because" (getf located 'why)))

(defun part-tree (entry room)
  "ENTRY as `DefinitionPart' of wire/contract/names.ts, with ROOM characters of source at most."
  (let* ((located (locate entry)) (text (getf located 'text)))
    (object "name" (getf entry 'name)
            "kind" (getf entry 'kind)
            "file" (getf located 'file)
            "line" (getf located 'line)
            "source" (and text (plusp room) (text-tree text :limit room))
            "because" (cond ((null text) (getf located 'because))
                            ((plusp room) nil)
                            (t "the answer is long enough: ask for this one by its name"))
            "current" (if text (getf located 'current) :absent)
            "proof" (if text (proof-tree located) :absent)
            "notes" (if (getf located 'notes) (array-of (getf located 'notes)) :absent))))

(defun part-trees (entries limit)
  "The trees of ENTRIES, with three times LIMIT characters of source at most in all."
  (let ((room (* 3 limit)))
    (loop for entry in entries
          for tree = (progn (check-deadline) (part-tree entry (min limit room)))
          do (let ((source (argument "source" (rest tree))))
               (when source (decf room (length (argument "text" (rest source))))))
          collect tree)))

(defun methods-note (name)
  (let* ((function (and (fboundp name) (function-of name)))
         (count (if (generic-p function) (length (methods-of function)) 0)))
    (and (> count *most-methods*)
         (list (format nil "~D of its ~D methods are told." *most-methods* count)))))

(defun definition-tree (name entries limit contexts)
  (let* ((first (first entries))
         (located (locate first))
         (defines (getf first 'defines))
         (callable (and (callable-kind-p (getf first 'kind)) (function-name-p defines)))
         (parts (part-trees (rest entries) limit)))
    (object "name" name
            "qualified" (getf first 'name)
            "kind" (getf first 'kind)
            "language" "lisp"
            "source" (source-tree located limit)
            "because" (getf located 'because)
            "file" (getf located 'file)
            "line" (getf located 'line)
            "end_line" (getf located 'end-line)
            "origin" (getf located 'origin)
            "current" (getf located 'current)
            "proof" (proof-tree located)
            "wrappers" (array-of (and callable (traced-wrappers defines)))
            "notes" (array-of (append (getf located 'notes)
                                      (closure-notes (getf first 'function))
                              (and callable (inline-notes defines))
                                      (and callable (methods-note defines))))
            "parts" (if parts (array-of parts) :absent)
            "contexts" (if contexts (used-names (getf first 'function)) :absent))))

(define-call "definition" (name max-length contexts)
  (with-file-texts
    (let* ((subject (subject name)) (entries (definition-entries subject)))
      (if entries
          (found (definition-tree name entries (or max-length 10000) contexts))
          (not-found (format nil "~A as a definition: it is ~A" (one-line name 80)
                             (if (eq (subject-kind subject) 'value)
                                 (format nil "a value, an instance of ~A"
                                         (type-word (class-of (subject-thing subject))))
                                 "a symbol whose definition this image does not know"))
                     '())))))
