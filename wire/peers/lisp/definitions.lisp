;;;; The source of a name and where it stands.

(in-package #:imago-peer)

;;;; What a form of a text defines, told without the reader.

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

;;;; The text of a definition: from the file it was read from, as far as that still is what it was,
;;;; or as it was typed.

;;; What is known of one definition: lists (KEY VALUE ...) with the keys FILE, LINE, END-LINE, TEXT,
;;; BECAUSE, ORIGIN, CURRENT (T, :FALSE or NIL) and NOTES, for `getf'.

(defun located-text (text start end &rest more)
  "What stands in TEXT from START to END, with its lines."
  (list* 'text (subseq text start end)
         'line (line-of text start)
         'end-line (line-of text (max start (1- end)))
         more))

(defun unlocated (origin because &rest more)
  (list* 'origin origin 'because because more))

#+sbcl
(defun form-number-of (source)
  (let ((path (sb-introspect:definition-source-form-path source)))
    (and (first path) (>= (first path) 0) (first path))))

(defparameter *operators*
  '(("function" "defun" "defgeneric" "define-modify-macro")
    ("generic_function" "defgeneric")
    ("method" "defmethod")
    ("macro" "defmacro" "define-setf-expander" "defsetf" "define-compiler-macro")
    ("class" "defclass" "defstruct" "define-condition" "deftype")
    ("variable" "defvar" "defparameter" "defglobal" "define-symbol-macro")
    ("constant" "defconstant")
    ("module" "defpackage" "define-package"))
  "By kind, what defines it.")

(defun operators-for (kind)
  (rest (assoc kind *operators* :test #'string=)))

#+sbcl
(defun definition-in-form (text start end source name kind)
  "Where in the top-level form of TEXT from START to END the definition of NAME stands: where
SOURCE says, if that is how a definition begins, or else wherever there is one."
  (let* ((number (sb-introspect:definition-source-form-number source))
         (inner (if (and number (plusp number)) (subform-start text start number) start))
         (inner-end (form-end text inner)))
    (multiple-value-bind (operator name-start name-end) (operator-and-name text inner inner-end)
      (if (and operator
               (member (bare-word operator) (operators-for kind) :test #'string-equal)
               (names-p text name-start name-end name))
          (values inner inner-end)
          (definition-within text start end name (operators-for kind))))))

#+sbcl
(defun form-of (text source name kind)
  "Where in TEXT the definition of NAME stands, by the number of its form in SOURCE; and how:
`definition' where it is one by its looks, `made' where the form is a macro call that speaks of it,
`other' where the form says nothing of it."
  (let ((number (form-number-of source)))
    (multiple-value-bind (start end) (and number (nth-form text number))
      (when start
        (multiple-value-bind (inner-start inner-end)
            (definition-in-form text start end source name kind)
          (cond (inner-start (values inner-start inner-end 'definition))
                ((search (string (symbol-in-name name)) text
                         :start2 start :end2 end :test #'char-equal)
                 (values start end 'made))
                (t (values start end 'other))))))))

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

;;; What was typed in, or compiled in an editor: the text was kept

#+sbcl
(defun typed-definition (source text name kind)
  "The definition of NAME in TEXT, which was compiled as a piece of an editor's file or typed in;
SOURCE may know of the file."
  (let* ((text (coerce text 'simple-string))
         (plist (sb-introspect:definition-source-plist source))
         ;; Where Swank was told of no file, it compiled one that it made and took away again.
         (named (if (get-properties plist '(:emacs-filename))
                    (property plist :emacs-filename)
                    (sb-introspect:definition-source-pathname source)))
         (file (and named (native-name named)))
         (line (property plist :line))
         (position (property plist :emacs-position)))
    (multiple-value-bind (start end how) (form-of text source name kind)
      (let* ((start (or start 0))
             (end (or end (length text)))
             (piece (subseq text start end))
             (whole (and file (file-text file)))
             (at (and whole
                      (place-in-file whole piece (and (integerp position) (+ position start -1)))))
             (notes (and (eq how 'made) (list *made-note*))))
        (cond ((and file (integerp line))
               (list 'text piece 'file file 'origin "file" 'current t
                     'notes (if (and whole (not at)) (cons *other-note* notes) notes)
                     'line (+ line (count #\Newline text :end start))
                     'end-line (+ line (count #\Newline text :end (max start (1- end))))))
              (at (located-text whole at (+ at (length piece)) 'file file 'origin "file" 'current t
                                'notes notes))
              (whole (list 'text piece 'file file 'origin "file" 'current t
                           'notes (cons *other-note* notes)))
              (t (list 'text piece 'origin "typed" 'current t 'notes notes)))))))

(defun place-in-file (whole piece expected)
  "Where PIECE stands in WHOLE: where it is EXPECTED, or wherever it is."
  (if (and expected
           (<= 0 expected (- (length whole) (length piece)))
           (string= piece whole :start2 expected :end2 (+ expected (length piece))))
      expected
      (search piece whole)))

(defparameter *written-note*
  "The text is written from the form that was evaluated; its own layout was not kept.")

(defun form-definition (function)
  "The definition of FUNCTION from the form that was evaluated, where that was kept."
  (let ((form (handler-case (function-lambda-expression function)
                (error () nil))))
    (if form
        (list 'text (pretty-text form) 'origin "typed" 'current t
              'notes (list *written-note*))
        (unlocated "typed" "it was evaluated without a file, and the image keeps no text of it"))))

;;; What was read from a file

#+sbcl
(defun known-date (source name)
  "When the file of SOURCE was written as it was read: from SOURCE, or from a function of the same
package that came of the same file."
  (or (sb-introspect:definition-source-file-write-date source)
      (let* ((symbol (symbol-in-name name))
             (package (if (stringp symbol) (find-package symbol) (symbol-package symbol)))
             (pathname (sb-introspect:definition-source-pathname source)))
        (when package
          (do-symbols (symbol package)
            (check-deadline)
            (when (and (eq (symbol-package symbol) package) (fboundp symbol))
              (let ((other (source-of-function (function-of symbol))))
                (when (and other
                           (equal (sb-introspect:definition-source-pathname other) pathname)
                           (sb-introspect:definition-source-file-write-date other))
                  (return (sb-introspect:definition-source-file-write-date other))))))))))

#+sbcl
(defun source-of-function (function)
  "Where FUNCTION was compiled, or NIL; of a generic function, where it was defined."
  (handler-case
      (cond ((null function) nil)
            ((generic-p function)
             (source-at (stored function "SOURCE" (constantly nil))))
            (t (sb-introspect:find-definition-source function)))
    (error () nil)))

#+sbcl
(defun source-at (location)
  (and location (ignore-errors (native ("SB-INTROSPECT" "TRANSLATE-SOURCE-LOCATION") location))))

(defparameter *gone-text*
  "the file has changed since it was loaded, and does not define it any more")

#+sbcl
(defun filed-definition (source file name kind)
  (multiple-value-bind (text why-not) (file-text file)
    (if (null text)
        (unlocated (if (system-file-p source) "built_in" "file")
                   (if (system-file-p source)
                       "it is part of SBCL, whose source is not installed here"
                       why-not)
                   'file file)
        (let* ((known (known-date source name))
               (same (and known (eql known (file-date file))))
               (current (cond (same t) (known :false))))
          (multiple-value-bind (start end how) (form-of text source name kind)
            (case how
              (definition (located-text text start end 'file file 'origin "file" 'current current))
              (made (located-text text start end 'file file 'origin "file" 'current current
                                  'notes (list *made-note*)))
              (t (let ((start (and (or same (not known)) start)))
                   (or (and (not same) (moved-definition text file name kind))
                       (if start
                           (located-text text start end 'file file 'origin "file" 'current current
                                         'notes (list *made-note*))
                           (unlocated "file" *gone-text* 'file file 'current :false)))))))))))

#+sbcl
(defun moved-definition (text file name kind)
  "The definition of NAME where it is in TEXT although the image says that it was elsewhere; or
NIL."
  (multiple-value-bind (start end)
      (definition-within text 0 (length text) name (operators-for kind))
    (and start (located-text text start end 'file file 'origin "file" 'current :false))))

#+sbcl
(defun system-file-p (source)
  (let ((pathname (sb-introspect:definition-source-pathname source)))
    (and pathname (equal (pathname-host pathname) (pathname-host "SYS:")))))

(defun definition-at (source name kind &optional function)
  "The definition of NAME as SOURCE, an `sb-introspect:definition-source' or NIL, leads to it.
FUNCTION may have kept the form that it was made of."
  #+sbcl
  (let* ((pathname (and source (sb-introspect:definition-source-pathname source)))
         (typed (and source (property (sb-introspect:definition-source-plist source)
                                      :emacs-string)))
         (file (and pathname (native-name pathname))))
    (cond ((stringp typed) (typed-definition source typed name kind))
          (file (filed-definition source file name kind))
          (pathname (unlocated "built_in" (format nil "its file ~A cannot be told" pathname)))
          (function (form-definition function))
          (t (unlocated "unknown" "the image does not know where it was defined"))))
  #-sbcl
  (progn source name kind function
         (unlocated "unknown" "where things are defined is not available in this Lisp")))

;;;; The source of a name and where it stands, of each thing that the name is.

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
  (entry (method-text method) "method" method (source-of-method method)))

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

(defun named-sources (name type)
  "Where NAME was defined as TYPE, of those that `sb-introspect' knows."
  #+sbcl (handler-case (sb-introspect:find-definition-sources-by-name name type)
           (error () nil))
  #-sbcl (progn name type nil))

(defun class-source (class)
  #+sbcl (if (member (type-word (class-of class)) '("structure-class" "condition-class")
                     :test #'string=)
             (handler-case (sb-introspect:find-definition-source class)
               (error () nil))
             (source-at (stored class "SOURCE" (constantly nil))))
  #-sbcl (progn class nil))

(defun other-entries (symbol)
  "What SYMBOL is besides a function: class, type, variable, and what stands around it."
  (let ((text (symbol-text symbol)) (class (find-class symbol nil)))
    (flet ((named (label kind type)
             (let ((source (first (named-sources symbol type))))
               (and source (list (entry label kind symbol source))))))
      (append (if class
                  (list (entry text "class" symbol (class-source class)))
                  (named text "class" :type))
              (named text "constant" :constant)
              (named text "variable" :variable)
              (named text "variable" :symbol-macro)
              (and (compiler-macro-function symbol)
                   (list (entry (format nil "(compiler-macro ~A)" text) "macro" symbol
                                (first (named-sources symbol :compiler-macro)))))
              (and (fboundp `(setf ,symbol)) (function-entries `(setf ,symbol)))
              (named (format nil "(setf ~A)" text) "macro" :setf-expander)))))

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

(defun used-names (function)
  "By package, the names of the functions that FUNCTION calls, as its compiled code has them; or
:ABSENT."
  #+sbcl
  (let ((found '()))
    (when (and (functionp function) (not (generic-p function)))
      (dolist (callee (handler-case (sb-introspect:find-function-callees
                                     (sb-kernel:%fun-fun function))
                        (error () '())))
        (let* ((name (and (functionp callee) (function-name callee)))
               (symbol (if (typep name '(cons (eql setf) (cons symbol null))) (second name) name))
               (package (and symbol (symbolp symbol) (symbol-package symbol))))
          (when package
            (pushnew (format nil (if (consp name) "(setf ~A)" "~A") (bare-text symbol))
                     (getf found package)
                     :test #'string=)))))
    (if found
        (apply #'object (loop for (package names) on found by #'cddr
                              append (list (package-name package)
                                           (array-of (sort names #'string<)))))
        :absent))
  #-sbcl
  (progn function :absent))

(defun inline-notes (name)
  (and (eq (info-of :function :inlinep name) 'inline)
       (list (format nil "It is declared inline: what was compiled before may hold a copy of an ~
                          older definition."))))

;;; The answer

(defun source-tree (located limit)
  (let ((text (getf located 'text))) (and text (text-tree text :limit limit))))

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
                            (t "the answer is long enough: ask for this one by its name")))))

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
            "wrappers" (array-of (and callable (traced-wrappers defines)))
            "notes" (array-of (append (getf located 'notes)
                                      (and callable (inline-notes defines))
                                      (and callable (methods-note defines))))
            "parts" (if parts (array-of parts) :absent)
            "contexts" (if contexts (used-names (getf first 'function)) :absent))))

(define-call "definition" (name package max-length contexts)
  (with-file-texts
    (let* ((subject (subject name package)) (entries (definition-entries subject)))
      (if entries
          (found (definition-tree name entries (or max-length 10000) contexts))
          (not-found (format nil "~A as a definition: it is ~A" (one-line name 80)
                             (if (eq (subject-kind subject) 'value)
                                 (format nil "a value, an instance of ~A"
                                         (type-word (class-of (subject-thing subject))))
                                 "a symbol whose definition this image does not know"))
                     '())))))
