;;;; The source of a name and where it stands, of each thing that the name is.

(in-package #:imago-peer)

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
  (entry (method-text method) "method" method
         #+sbcl (or (source-at (stored method "SOURCE" (constantly nil)))
                    (source-of-function
                     (ignore-errors (native ("SB-PCL" "SAFE-METHOD-FAST-FUNCTION") method))))
         #-sbcl nil))

(defun generic-entries (name function)
  (let ((methods (methods-of function)))
    (cons (entry (function-name-text name) "generic_function" name
                 #+sbcl (source-of-function function)
                 #-sbcl nil)
          (mapcar #'method-entry
                  (reverse (subseq methods 0 (min *most-methods* (length methods))))))))

(defun function-entries (name)
  "NAME is a symbol or a list such as (SETF AREA)."
  (let ((function (function-of name)) (text (function-name-text name)))
    (cond ((generic-p function) (generic-entries name function))
          (function
           (list (entry text (if (macro-or-nil name) "macro" "function") name
                        #+sbcl (source-of-function function)
                        #-sbcl nil
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
  (entry (package-name package) "module" (package-name package)
         #+sbcl (handler-case (sb-introspect:find-definition-source package)
                  (error () nil))
         #-sbcl nil))

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
         (let ((name #+sbcl (sb-kernel:%fun-name value) #-sbcl "a function"))
           (list (entry (form-line name) "function" name
                        #+sbcl (source-of-function value)
                        #-sbcl nil
                        value)))))
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
                     "name" (if #+sbcl (handler-case (sb-int:encapsulated-p name 'trace)
                                         (error () nil))
                                #-sbcl nil
                                "trace"
                                "an encapsulation")))))

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
