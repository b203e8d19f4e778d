;;;; Source files: what stands in them, and where in them code came from.

(in-package #:imago-peer)

;;; Source files, read without being held by what is no file: a caller may name anything.

(defparameter *longest-file* (* 8 1024 1024)
  "Bytes of a source file that is read.")

(defun not-plain (file)
  (format nil "~A is no plain file" file))

(defun too-long (file size)
  (format nil "~A is too long to be read: ~D bytes" file size))

(defun first-octets (stream size)
  (let ((octets (make-array size :element-type '(unsigned-byte 8))))
    (subseq octets 0 (read-sequence octets stream))))

(defun source-file-text (file)
  "The text of FILE: a pathname, or a string as the system or as Lisp writes the name of a file. Or
NIL and why there is none: only plain files are read, up to `*longest-file*'."
  (multiple-value-bind (text why-not)
      (if (stringp file)
          (read-plain-file file)
          (values nil "it stands for no file"))
    (let ((native (and (null text) (native-name file))))
      (if (and native (not (equal native file)))
          (read-plain-file native)
          (values text why-not)))))

;;; One look, or one stack that is taken down, reads a file once

(defvar *file-texts* nil
  "What was read in this look: a list of lists (FILE TEXT WHY-NOT).")

(defmacro with-file-texts (&body body)
  "Reads each file once in BODY."
  `(let ((*file-texts* (list '()))) ,@body))

(defun file-text (file)
  "As `source-file-text', but a simple string, and once for each look."
  (let ((known (assoc file (rest *file-texts*) :test #'equal)))
    (unless known
      (multiple-value-bind (text why-not) (source-file-text file)
        (setf known (list file (and text (coerce text 'simple-string)) why-not))
        (when *file-texts* (push known (rest *file-texts*)))))
    (values (second known) (third known))))

;;; Where code came from: what is compiled here keeps its text, and its place in the person's file.

;;; An origin is what is said of a text when it is compiled: where it stands.

(define-record origin
  file                                  ; a namestring, or NIL
  line                                  ; of the first character of the text; counts from 1
  position)                             ; of the same, as Emacs counts in the file; 1 if not known

(defvar *origin* nil
  "That of the form which is evaluated now.")

(defun line-position (text line)
  "Where LINE begins in TEXT, or NIL where there is no such line."
  (loop with position = 0
        repeat (1- line)
        do (let ((newline (position #\Newline text :start position)))
             (if newline (setf position (1+ newline)) (return nil)))
        finally (return position)))

(defun origin-in-file (file line source)
  "The origin of SOURCE, which stands in FILE at LINE."
  (let* ((text (source-file-text file))
         (start (and text (line-position text line)))
         (end (and start (or (position #\Newline text :start start) (length text))))
         ;; The text may begin in the middle of its line.
         (column (and end (search (subseq source 0 (position #\Newline source)) text
                                  :start2 start :end2 end))))
    (make-origin file line (if start (1+ (or column start)) 1))))

(defun origin-of (source file line)
  "The origin of SOURCE as a caller gave it."
  (if file
      (origin-in-file file (or line 1) source)
      (make-origin nil 1 1)))

(defun origin-at (origin source start)
  "The origin of what begins at START of SOURCE, which has ORIGIN itself."
  (make-origin (origin-file origin)
               (+ (origin-line origin) (count #\Newline source :end start))
               (+ (origin-position origin) start)))

(defun origin-plist (origin text)
  "What Swank keeps with code that is compiled from an Emacs buffer, and a line besides."
  (list :emacs-buffer (if (origin-file origin) "" "*imago*")
        :emacs-filename (origin-file origin)
        :emacs-package (package-name *package*)
        :emacs-position (origin-position origin)
        :emacs-string text
        :line (origin-line origin)))

;;; Evaluation. What a form makes is compiled with its origin, but runs without it: a file that it
;;; loads has its own.

(defun calls-only-p (form)
  "Whether FORM is nothing but calls of functions, which are evaluated without compiling anything."
  (cond ((atom form) t)
        ((eq (first form) 'quote) t)
        (t (and (symbolp (first form))
                (fboundp (first form))
                (not (macro-function (first form)))
                (not (special-operator-p (first form)))
                ;; Only the compiler knows what this gives.
                (not (eq (first form) (native-symbol "SB-C" "SOURCE-LOCATION")))
                (ignore-errors (list-length form))
                (every #'calls-only-p (rest form))))))

(defun evaluate-forms (forms compile)
  (if (null (rest forms))
      (evaluate-form (first forms) compile)
      (progn (evaluate-form (first forms) compile)
             (evaluate-forms (rest forms) compile))))

(defun evaluate-form (form compile)
  "The values of FORM. COMPILE is a function that makes one, of a lambda expression; its second
argument is whether it is to be evaluated as it is."
  (let ((form (macroexpand form)))
    (cond ((atom form) (eval form))
          ((eq (first form) 'progn) (evaluate-forms (rest form) compile))
          ((and (eq (first form) 'eval-when) (consp (rest form)) (listp (second form)))
           (when (intersection '(:execute eval) (second form))
             (evaluate-forms (cddr form) compile)))
          ((calls-only-p form) (eval form))
          ((member (first form) '(locally macrolet symbol-macrolet))
           (funcall compile form nil))
          (t (funcall (funcall compile `(lambda () ,form) t))))))

(defvar *compiling* nil
  "Whether a form is compiled now to be evaluated, and nothing of it runs but its macros.")
