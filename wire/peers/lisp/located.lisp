;;;; The text of a definition: from the file it was read from, as far as that still is what it was,
;;;; or as it was typed.

(in-package #:imago-peer)

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
