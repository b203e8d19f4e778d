;;;; What SBCL's compiler has written down: where things were defined, and who refers to them.

(in-package #:imago-peer)

;;; Definitions

(defun form-number-of (source)
  (let ((path (sb-introspect:definition-source-form-path source)))
    (and (first path) (>= (first path) 0) (first path))))

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

(defun form-definition (function)
  "The definition of FUNCTION from the form that was evaluated, where that was kept."
  (let ((form (handler-case (function-lambda-expression function)
                (error () nil))))
    (if form
        (list 'text (pretty-text form) 'origin "typed" 'current t
              'notes (list *written-note*))
        (unlocated "typed" "it was evaluated without a file, and the image keeps no text of it"))))

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

(define-implementation source-of-function (function)
  (handler-case
      (cond ((null function) nil)
            ((generic-p function)
             (source-at (stored function "SOURCE" (constantly nil))))
            (t (sb-introspect:find-definition-source function)))
    (error () nil)))

(defun source-at (location)
  (and location (ignore-errors (native ("SB-INTROSPECT" "TRANSLATE-SOURCE-LOCATION") location))))

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

(defun moved-definition (text file name kind)
  "The definition of NAME where it is in TEXT although the image says that it was elsewhere; or
NIL."
  (multiple-value-bind (start end)
      (definition-within text 0 (length text) name (operators-for kind))
    (and start (located-text text start end 'file file 'origin "file" 'current :false))))

(defun system-file-p (source)
  (let ((pathname (sb-introspect:definition-source-pathname source)))
    (and pathname (equal (pathname-host pathname) (pathname-host "SYS:")))))

(define-implementation definition-at (source name kind &optional function)
  (let* ((pathname (and source (sb-introspect:definition-source-pathname source)))
         (typed (and source (property (sb-introspect:definition-source-plist source)
                                      :emacs-string)))
         (file (and pathname (native-name pathname))))
    (cond ((stringp typed) (typed-definition source typed name kind))
          (file (filed-definition source file name kind))
          (pathname (unlocated "built_in" (format nil "its file ~A cannot be told" pathname)))
          (function (form-definition function))
          (t (unlocated "unknown" "the image does not know where it was defined")))))

(define-implementation named-sources (name type)
  (handler-case (sb-introspect:find-definition-sources-by-name name type)
    (error () nil)))

(define-implementation class-source (class)
  (if (member (type-word (class-of class)) '("structure-class" "condition-class")
              :test #'string=)
      (handler-case (sb-introspect:find-definition-source class)
        (error () nil))
      (source-at (stored class "SOURCE" (constantly nil)))))

(define-implementation used-names (function)
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
        :absent)))

(define-implementation source-of-method (method)
  (or (source-at (stored method "SOURCE" (constantly nil)))
      (source-of-function
       (ignore-errors (native ("SB-PCL" "SAFE-METHOD-FAST-FUNCTION") method)))))

(define-implementation source-of-package (package)
  (handler-case (sb-introspect:find-definition-source package)
    (error () nil)))

(define-implementation traced-p (name)
  (handler-case (sb-int:encapsulated-p name 'trace)
    (error () nil)))

;;; References

(define-implementation user-name-p (name)
  (let* ((symbol (if (consp name) (second name) name))
         (package (and (symbolp symbol) (symbol-package symbol))))
    (not (or (null package)
             (eq package (find-package "COMMON-LISP"))
             (sb-int:system-package-p package)))))

(define-implementation line-of-source (source)
  (let* ((pathname (sb-introspect:definition-source-pathname source))
         (file (and pathname (native-name pathname)))
         (typed (property (sb-introspect:definition-source-plist source) :emacs-string))
         (number (form-number-of source))
         (text (and file number (not typed) (file-text file)))
         (start (and text (nth-form text number))))
    (cond ((stringp typed)
           (let ((located (typed-definition source typed "" "function")))
             (values (getf located 'file) (getf located 'line))))
          ((null (and file (or text (not (system-file-p source)))))
           (values nil nil))
          (t (values file (and start (line-of text start)))))))

(define-implementation finder-for (relation)
  (cdr (assoc relation '(("calls" . sb-introspect:who-calls)
                         ("macroexpands" . sb-introspect:who-macroexpands)
                         ("references" . sb-introspect:who-references)
                         ("binds" . sb-introspect:who-binds)
                         ("sets" . sb-introspect:who-sets)
                         ("specializes" . sb-introspect:who-specializes-directly))
              :test #'string=)))

(defun recorded-users (relation name)
  "Conses of a name and a source, of all code that stands in RELATION to NAME. NAME is what it is:
a symbol, a list or a class, and no text."
  (check-deadline)
  (if (string= relation "specializes")
      (mapcar (lambda (method)
                (let ((entry (method-entry method)))
                  (cons (getf entry 'name) (getf entry 'source))))
              (specializing-methods name))
      (funcall (finder-for relation) name)))

(defun unrecorded-callers (name)
  "The same for calls of NAME, one of the implementation's own functions: from what compiled code
refers to."
  (let ((found '()) (each (find-symbol "MAP-SIMPLE-FUNS" "SB-C")))
    (when (and each (fboundp each))
      (funcall each
               (lambda (its-name function)
                 (check-deadline)
                 (let ((code (sb-kernel:fun-code-header function)))
                   (loop for index from sb-vm:code-constants-offset
                           below (sb-kernel:code-header-words code)
                         for constant = (sb-kernel:code-header-ref code index)
                         when (and (sb-kernel:fdefn-p constant)
                                   (eq (same-p (sb-kernel:fdefn-name constant) name) t))
                           do (push (cons its-name (source-of-function function)) found)
                              (return))))))
    found))

(define-implementation code-references (relation name)
  (let ((users (if (and (string= relation "calls") (not (user-name-p name)))
                   (unrecorded-callers name)
                   (recorded-users relation name)))
        (seen (make-hash-table :test 'equal))
        (trees '()))
    (loop for (user . source) in users
          for text = (if (stringp user) user (user-text user))
          do (check-deadline)
             (unless (or (null text) (gethash text seen) (own-frame-p user))
               (setf (gethash text seen) t)
               (multiple-value-bind (file line) (and source (line-of-source source))
                 (push (reference-tree relation text file line) trees))))
    (nreverse trees)))

(define-implementation searched-code (name)
  (list (if (user-name-p name)
            "what the compiler wrote down of all global functions, macros and methods"
            (format nil "what all compiled global functions and methods refer to, for the ~
                         compiler writes down nothing of SBCL's own names"))
        (format nil "not seen: calls that the compiler has put inline or done away with, code that ~
                     is interpreted or was compiled without cross-references, forms that ran once ~
                     at the top level, and calls of a name that is computed at run time")
        "not seen: anonymous functions that only a variable or an object holds"))
