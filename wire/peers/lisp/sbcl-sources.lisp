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
                     'from (if at "file" "as compiled")
                     'notes (if (and whole (not at)) (cons *other-note* notes) notes)
                     'line (+ line (count #\Newline text :end start))
                     'end-line (+ line (count #\Newline text :end (max start (1- end))))))
              (at (located-text whole at (+ at (length piece)) 'file file 'origin "file" 'current t
                                'from "file" 'notes notes))
              (whole (list 'text piece 'file file 'origin "file" 'current t 'from "as compiled"
                           'notes (cons *other-note* notes)))
              (t (list 'text piece 'origin "typed" 'current t 'from "as compiled"
                       'notes notes)))))))

(defun place-in-file (whole piece expected)
  "Where PIECE stands in WHOLE: where it is EXPECTED, or wherever it is."
  (if (and expected
           (<= 0 expected (- (length whole) (length piece)))
           (string= piece whole :start2 expected :end2 (+ expected (length piece))))
      expected
      (search piece whole)))

(defun kept-form (function)
  "The lambda expression that FUNCTION was made of, where that was kept."
  (and (functionp function)
       (not (generic-p function))
       (handler-case (function-lambda-expression function)
         (error () nil))))

(defun form-definition (function)
  "The definition of FUNCTION from the form that was evaluated, where that was kept."
  (let ((form (kept-form function)))
    (if form
        (list 'text (pretty-text form) 'origin "typed" 'current t 'from "form"
              'notes (list *written-note*))
        (unlocated "typed" "it was evaluated without a file, and the image keeps no text of it"))))

;;; What was recorded

(defun block-in (forms)
  "The declarations and documentation before the last of FORMS, a BLOCK, and what stands in that; or
UNKNOWN where it is none."
  (let ((last (first (last forms))))
    (if (and (consp last) (eq (first last) 'block))
        (append (butlast forms) (cddr last))
        'unknown)))

(defun has-keyword-p (list keywords)
  "Whether one of KEYWORDS stands in LIST, a lambda list, which may end with a dot."
  (loop for (item) on list thereis (member item keywords)))

(defun recorded-macro (function form)
  "What was recorded of the macro FUNCTION, made of FORM; or NIL."
  (let ((bind (find-if (lambda (part)
                         (and (consp part)
                              (eq (first part) (native-symbol "SB-INT" "NAMED-DS-BIND"))))
                       form))
        (doc (function-doc function)))
    (when (and bind (nthcdr 4 bind))
      (let ((forms (block-in
                    (remove-if (lambda (part)
                                 (and (consp part)
                                      (eq (first part) 'declare)
                                      (consp (second part))
                                      (eq (first (second part))
                                          (native-symbol "SB-C" "CONSTANT-VALUE"))))
                               (nthcdr 4 bind)))))
        ;; Where it has names for its form or environment, these stand elsewhere in it.
        (unless (or (eq forms 'unknown)
                    (has-keyword-p (third bind) '(&environment &whole))
                    (some (lambda (item) (or (consp item) (symbol-package item))) (second form)))
          (make-recorded (third bind) (if (stringp doc) (cons doc forms) forms)))))))

(defun recorded-of (function kind)
  "What the image recorded of the text of FUNCTION, of that KIND; or NIL."
  (let* ((form (kept-form function))
         (lambda-p (and (eq (first form) 'lambda) (listp (second form)))))
    (cond ((not (functionp function)) nil)
          ((and lambda-p (string= kind "method"))
           (make-recorded (second form) (cddr form)))
          ((and lambda-p (string= kind "macro")) (recorded-macro function form))
          ((not (member kind '("function" "macro") :test #'string=)) nil)
          ((and lambda-p (listp (block-in (cddr form))))
           (make-recorded (second form) (block-in (cddr form))))
          ((not (generic-p function))
           (multiple-value-bind (list known) (stored-lambda-list function)
             (and known
                  (listp list)
                  (not (has-keyword-p list '(&environment &whole &aux)))
                  (make-recorded list 'unknown)))))))

(defun specialized-parameters (method list)
  "LIST, the parameters of METHOD, with the classes that it is for."
  (let ((specializers (specializers-of method)))
    (loop for item in list
          for specializer = (pop specializers)
          collect (cond ((or (null specializer) (not (symbolp item))) item)
                        ((not (is-a-p specializer 'class))
                         `(,item (eql ,(stored-slot specializer "OBJECT"))))
                        ((eq (class-label specializer) t) item)
                        (t `(,item ,(class-label specializer)))))))

(defun recorded-text (recorded name kind)
  "What was RECORDED of NAME, written as a definition."
  (let ((list (recorded-lambda-list recorded)) (body (recorded-body recorded)))
    (pretty-text
     (cond ((string= kind "macro") `(defmacro ,name ,list ,@body))
           ((string= kind "method")
            (append (list 'defmethod (name-of-generic (function-of-method name)))
                    (qualifiers-of name)
                    (cons (specialized-parameters name list) body)))
           (t `(defun ,name ,list ,@body))))))

;;; Dates

(defun date-of-file (source name)
  "When the file of SOURCE was written as it was read, as all functions of the same package say that
came of the same file; NIL where they do not agree."
  (let* ((symbol (symbol-in-name name))
         (package (if (stringp symbol) (find-package symbol) (symbol-package symbol)))
         (pathname (sb-introspect:definition-source-pathname source))
         (known nil))
    (when package
      (do-symbols (symbol package known)
        (check-deadline)
        (when (and (eq (symbol-package symbol) package) (fboundp symbol))
          (let* ((other (source-of-function (function-of symbol)))
                 (date (and other
                            ;; What was compiled as a piece has the date of another file.
                            (not (property (sb-introspect:definition-source-plist other)
                                           :emacs-string))
                            (equal (sb-introspect:definition-source-pathname other) pathname)
                            (sb-introspect:definition-source-file-write-date other))))
            (cond ((null date))
                  ((null known) (setf known date))
                  ((/= known date) (return nil)))))))))

(defun known-date (source name function)
  "When the file of SOURCE was written as it was read: from SOURCE, from FUNCTION that was defined
there, or from what else came of that file."
  (let ((own (and function (source-of-function function))))
    (or (sb-introspect:definition-source-file-write-date source)
        (and own (sb-introspect:definition-source-file-write-date own))
        (date-of-file source name))))

(define-implementation source-of-function (function)
  (handler-case
      (cond ((null function) nil)
            ((generic-p function)
             (source-at (stored function "SOURCE" (constantly nil))))
            (t (sb-introspect:find-definition-source function)))
    (error () nil)))

(defun source-at (location)
  (and location (ignore-errors (native ("SB-INTROSPECT" "TRANSLATE-SOURCE-LOCATION") location))))

(defun placed-definition (source text name kind)
  "The definition of NAME where SOURCE says that it is in TEXT: keys and values, or NIL."
  (multiple-value-bind (start end how) (form-of text source name kind)
    (when (member how '(definition made))
      (list* 'start start 'end end
             (located-text text start end 'notes (and (eq how 'made) (list *made-note*)))))))

(defun searched-definition (text name kind)
  "The same, wherever it is in TEXT."
  (multiple-value-bind (start end)
      (definition-within text 0 (length text) name (operators-for kind))
    (and start (list* 'start start 'end end (located-text text start end)))))

(defun verdict-on (located text name recorded)
  "The verdict on LOCATED, which was found in TEXT, as what was RECORDED of NAME, and whether it is
the lambda list that differs."
  (if (and located recorded)
      (compare-definition text (getf located 'start) (getf located 'end) name recorded)
      'unknown))

(defparameter *form-note*
  " Shown is what runs, written from the form that the image keeps; its own layout was not kept.")

(defparameter *newer-file*
  "the file was written after this was loaded from it, and the image keeps no text of it")

(defun cannot-tell (because)
  (format nil "Whether this is what runs cannot be told: ~A." because))

(defun line-now (here)
  "What is said of a text that is not the one of HERE, where the file has that name now."
  (format nil "The file has changed since~@[; another text of that name is on line ~D now~]."
          (getf here 'line)))

(defun filed-definition (source file name kind function)
  (multiple-value-bind (text why-not) (file-text file)
    (let* ((date (and (not (system-file-p source)) (known-date source name function)))
           (recorded (recorded-of function kind))
           (whole (and recorded (listp (recorded-body recorded)) recorded))
           (kept (text-as-compiled file date))
           ;; A date is told in seconds: an edit may have left it.
           (same (and text date (eql date (file-date file))
                      (or (null kept) (string= kept text))))
           (placed (and same (placed-definition source text name kind))))
      (append
       (cond ((and same (not (eq (verdict-on placed text name
                                          (if (string= kind "function") recorded whole)) 'other)))
              (keep-text file date text)
              (if placed
                  (list* 'current t 'from "file" placed)
                  (made-elsewhere source text)))
             ((system-file-p source) (system-definition source text name kind))
             (t (changed-definition source file text why-not name kind
                                    (and (not same) date) recorded whole)))
       (list 'file file 'origin "file")))))

(defun made-elsewhere (source text)
  "For a definition of which its form in TEXT, which is the one that was read, says nothing."
  (multiple-value-bind (start end) (nth-form text (or (form-number-of source) 0))
    (if start
        (located-text text start end 'current t 'from "file" 'notes (list *made-note*))
        (list 'because *gone-text* 'current :false))))

(defun system-definition (source text name kind)
  "For one of SBCL's own, whose files have the dates of the day they were installed."
  (let ((found (and text
                    (or (placed-definition source text name kind)
                        (searched-definition text name kind)))))
    (if found
        (list* 'why (cannot-tell "the dates of SBCL's own files say nothing") found)
        (list 'origin "built_in"
              'because "it is part of SBCL, whose source is not installed here"))))

(defun changed-definition (source file text why-not name kind date recorded whole)
  "For a definition whose file is not, or cannot be shown to be, as it was on DATE, when it was
read. RECORDED is what the image knows of it, and WHOLE the same where that is all of it."
  (let* ((here (and text
                    (or (searched-definition text name kind)
                        (and (null date) (placed-definition source text name kind)))))
         (older (text-as-compiled file date))
         (then (and older (placed-definition source older name kind))))
    (multiple-value-bind (verdict by-parameters) (verdict-on here text name recorded)
      (cond ((and then here (string= (getf then 'text) (getf here 'text)))
             (moved here (getf then 'line)))
            (then
             (list 'text (getf then 'text) 'current t 'from "as compiled" 'now (getf here 'line)
                   'notes (list* (concatenate 'string (line-now here)
                                              " Shown is the text that runs, as compiled.")
                                 (getf then 'notes))))
            ((and here whole (eq verdict 'same)) (moved here nil))
            (whole
             (list 'text (recorded-text whole name kind)
                   'current t 'from "form" 'now (getf here 'line)
                   'notes (list (concatenate 'string
                                             (if text (line-now here) "The file cannot be read.")
                                             *form-note*))))
            ((null text) (list 'because why-not))
            ((null here) (list 'because *gone-text* 'current :false))
            ((eq verdict 'other)
             (list* 'current :false
                    'why (if by-parameters
                             (format nil "The image runs one that takes ~A."
                                     (form-line (recorded-lambda-list recorded)))
                             "The image runs another.")
                    here))
            (t (list* 'why (cannot-tell
                            (if date
                                *newer-file*
                                "the image has not kept when its file was written"))
                      here))))))

(defun moved (here line)
  "For a definition whose text HERE is what runs, and stood on LINE, if that is known."
  (list* 'current t 'from "file"
         'notes (cond ((null line)
                       (list "The file has changed since it was loaded, and this has not."))
                      ((/= line (getf here 'line))
                       (list (format nil "The file has changed since: this began on line ~D when ~
                                          it was loaded, and has only moved." line))))
         here))

(defun system-file-p (source)
  (let ((pathname (sb-introspect:definition-source-pathname source)))
    (and pathname (equal (pathname-host pathname) (pathname-host "SYS:")))))

(define-implementation definition-at (source name kind &optional function)
  (let* ((pathname (and source (sb-introspect:definition-source-pathname source)))
         (typed (and source (property (sb-introspect:definition-source-plist source)
                                      :emacs-string)))
         (file (and pathname (native-name pathname))))
    (cond ((stringp typed) (typed-definition source typed name kind))
          (file (filed-definition source file name kind function))
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
      (source-of-function (function-made-for method))))

(define-implementation function-made-for (method)
  (let ((function (stored method "%FUNCTION" (constantly nil))))
    (ignore-errors (native ("SB-PCL" "%METHOD-FUNCTION-FAST-FUNCTION") function))))

(define-implementation source-of-package (package)
  (handler-case (sb-introspect:find-definition-source package)
    (error () nil)))

(define-implementation traced-p (name)
  (handler-case (sb-int:encapsulated-p name 'trace)
    (error () nil)))

;;; Closures

(define-implementation closed-over-names (function)
  (let* ((names (if-known
                 (map 'list #'sb-di:debug-var-symbol
                      (sb-di::debug-fun-debug-vars (sb-di:fun-debug-fun function)))))
         (arguments (if-known (sb-kernel:%fun-lambda-list (sb-kernel:%fun-fun function))))
         (free (remove-if (lambda (name)
                            (or (null (symbol-package name))
                                (occurs-p name arguments)))
                          (remove-duplicates names))))
    ;; Other variables of it may be among them: only where all are accounted for is it known which.
    (and (= (length free) (length (closed-over function)))
         (mapcar #'bare-text free))))

(defun occurs-p (symbol tree)
  "Whether SYMBOL stands in TREE, a lambda list."
  (loop for rest = tree then (cdr rest)
        while (consp rest)
          thereis (or (eq (car rest) symbol)
                      (and (consp (car rest)) (occurs-p symbol (car rest))))
        finally (return (eq rest symbol))))

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
         (date (sb-introspect:definition-source-file-write-date source))
         ;; In a file that has changed since, the number may be that of another form.
         (text (and file number (not typed)
                    (or (null date) (system-file-p source) (eql date (file-date file)))
                    (file-text file)))
         (start (and text (nth-form text number))))
    (cond ((stringp typed)
           (let ((located (typed-definition source typed "" "function")))
             (values (getf located 'file) (getf located 'line))))
          ((null (and file (or text (not (system-file-p source)))))
           (values nil nil))
          (t (values file (and start (line-of text start)))))))

(define-implementation finder-for (relation)
  (and (native-symbol "SB-C" "MAP-PACKED-XREF-DATA")
       (intern (string-upcase relation) "KEYWORD")))

;;; SBCL's own search asks each generic function for its methods, and each method for its function,
;;; by generic functions of the protocol: a class of the program's may have methods there.

(defun map-code (function)
  "Calls FUNCTION with the name and the compiled code of all global functions, macros and methods."
  (flet ((process (name code)
           (when (and code (not (native ("SB-KERNEL" "FUNCALLABLE-INSTANCE-P") code)))
             (funcall function name (sb-kernel:%fun-fun code)))))
    (native ("SB-INT" "CALL-WITH-EACH-GLOBALDB-NAME")
            (lambda (name)
              (check-deadline)
              (let ((code (and (or (symbolp name) (function-name-p name)) (function-of name))))
                (cond ((generic-p code)
                       (dolist (method (methods-of code))
                         (let ((code (function-made-for method)))
                           (process (and code (function-name code)) code))))
                      (code (process (if (macro-or-nil name) (function-name code) name) code))))))))

(defun recorded-users (relation name)
  "Conses of a name and a source, of all code that stands in RELATION to NAME. NAME is what it is:
a symbol, a list or a class, and no text."
  (check-deadline)
  (if (string= relation "specializes")
      (mapcar (lambda (method)
                (let ((entry (method-entry method)))
                  (cons (getf entry 'name) (getf entry 'source))))
              (specializing-methods name))
      (let ((found '()) (kind (finder-for relation)))
        (map-code
         (lambda (user code)
           (let ((xrefs (native ("SB-KERNEL" "%SIMPLE-FUN-XREFS") code)))
             (when xrefs
               (native ("SB-C" "MAP-PACKED-XREF-DATA")
                       (lambda (its-kind its-name number)
                         (declare (ignore number))
                         (when (and (eq its-kind kind) (eq (same-p its-name name) t))
                           (pushnew (cons user (source-of-function code)) found :key #'car)))
                       xrefs)))))
        found)))

(defun unrecorded-callers (name)
  "The same for calls of NAME, one of the implementation's own functions: from what compiled code
refers to."
  (let ((found '()))
    (map-code
     (lambda (user function)
       (let ((code (sb-kernel:fun-code-header function)))
         (loop for index from sb-vm:code-constants-offset
                 below (sb-kernel:code-header-words code)
               for constant = (sb-kernel:code-header-ref code index)
               when (and (sb-kernel:fdefn-p constant)
                         (eq (same-p (sb-kernel:fdefn-name constant) name) t))
                 do (push (cons user (source-of-function function)) found)
                    (return)))))
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
