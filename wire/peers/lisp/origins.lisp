;;;; Where code came from: what is compiled here keeps its text, and its place in the person's file.

(in-package #:imago-peer)

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

#+sbcl
(defun source-info (form)
  "What SBCL's compiler has to know to number the parts of FORM as those of a file."
  (native ("SB-C" "MAKE-SOURCE-INFO")
          :file-info (native ("SB-C" "MAKE-FILE-INFO")
                             :truename :lisp
                             :pathname nil
                             :forms (make-array 1 :fill-pointer 1 :adjustable t
                                                  :initial-element form)
                             :positions (make-array 1 :fill-pointer 1 :adjustable t
                                                      :initial-element 0))))

(defun call-with-origin (function &key form text origin)
  "Calls FUNCTION so that what it compiles of FORM, which was read from TEXT, leads back to ORIGIN."
  (declare (ignorable form text origin))
  #-sbcl (funcall function)
  #+sbcl
  (let ((variables (list (native-symbol "SB-C" "*SOURCE-INFO*")
                         (native-symbol "SB-C" "*SOURCE-PATHS*")))
        (numbered (native-symbol "SB-C" "FIND-SOURCE-PATHS")))
    (with-compilation-unit (:source-plist (origin-plist origin text)
                            :source-namestring (origin-file origin))
      (if (and numbered (every #'identity variables))
          (progv variables (list (source-info form) (make-hash-table :test 'eq))
            (funcall numbered form 0)
            (funcall function))
          (funcall function)))))

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

(defun evaluate-placed (form text origin)
  "The values of FORM, which was read from TEXT. What it defines, and what goes wrong in it, leads
back to ORIGIN."
  (let ((*origin* origin))
    #-sbcl (progn text (eval form))
    #+sbcl
    (evaluate-form
     form
     (lambda (expression function)
       (let ((*compiling* function))
         (call-with-origin
          (lambda ()
            (native ("SB-IMPL" "EVAL-TLF") (if function `(function ,expression) expression) 0))
          :form form :text text :origin origin))))))
