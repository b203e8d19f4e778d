;;;; What can be done in a frame of a suspended evaluation: code is evaluated there, and it returns,
;;;; or begins again.

(in-package #:imago-peer)

(defun frame-ways (frame)
  "The names of what can be done in FRAME, and why the rest cannot, a sentence each."
  (let ((can '()) (notes '()))
    (flet ((ask (way why-not)
             (if why-not (pushnew why-not notes :test #'string=) (push way can))))
      (ask "evaluate" (why-not-evaluate frame))
      (ask "return" (why-not-return frame))
      (ask "again" (why-not-again frame)))
    (values (reverse can) (reverse notes))))

(defun why-not-evaluate (frame)
  "NIL, or why nothing can be evaluated in FRAME."
  #-sbcl (progn frame "In this Lisp, Imago evaluates nothing in frames.")
  #+sbcl
  (cond ((foreign-frame-p (frame-name frame))
         "It is no frame of Lisp: nothing can be evaluated in it.")
        ((not (if-known
               (native ("SB-DI" "DEBUG-VAR-INFO-AVAILABLE") (sb-di:frame-debug-fun frame))))
         "Nothing can be evaluated in it: its variables are not known.")))

(defun why-not-return (frame)
  "NIL, or why FRAME cannot return."
  #-sbcl (progn frame "In this Lisp, Imago has no frame return.")
  #+sbcl
  (cond ((not (if-known (native ("SB-DEBUG" "FRAME-HAS-DEBUG-TAG-P") frame)))
         "It cannot return, nor begin again: it was compiled with (debug 0), or is no function.")
        ((not (if-known (standard-frame-p frame)))
         "It cannot return, nor begin again: local functions return in a way of their own.")))

#+sbcl
(defun standard-frame-p (frame)
  "Whether FRAME returns as functions do that anybody can call. SBCL would lose its way, and ruin
its memory, where one is made to return that only its own component calls."
  (let* ((function (sb-di:frame-debug-fun frame))
         (name (sb-di:debug-fun-name function))
         (entry (sb-di:debug-fun-fun function))
         (returns (native ("SB-C" "COMPILED-DEBUG-FUN-RETURNS")
                          (native ("SB-DI" "COMPILED-DEBUG-FUN-COMPILER-DEBUG-FUN") function))))
    (and (null (sb-di:debug-fun-kind function))
         (member returns '(nil :standard))
         ;; The nearest entry before it. Lambdas may share one name.
         entry
         (equal name (sb-kernel:%fun-name entry))
         (not (and (consp name) (eq (first name) 'lambda))))))

(defun why-not-again (frame)
  "NIL, or why the function of FRAME cannot be called again."
  (or (why-not-return frame)
      (multiple-value-bind (function arguments) (call-of-frame frame)
        (cond ((null function)
               "It cannot begin again: it is no function that is called by a name.")
              ((or (find-if #'unprintable-p arguments) (rest-lost-p frame))
               "It cannot begin again: some of its arguments are not there any more.")
              ((some #'on-stack-p arguments)
               "It cannot begin again: some of its arguments are on the stack and end with it.")))))

(defun rest-lost-p (frame)
  "Whether FRAME was given arguments that its function did not keep, nobody knows how many."
  (declare (ignorable frame))
  #+sbcl (find-if (lambda (parameter)
                    (and (consp parameter)
                         (member (first parameter) '(:rest :more))
                         (eq (second parameter) :deleted)))
                  (frame-parameters frame)))

(defun call-of-frame (frame)
  "The function that a call like that of FRAME would call now, and the arguments; NIL where it has
no name by which it is called."
  (declare (ignorable frame))
  #+sbcl
  (let* ((name (frame-name frame)) (generic (generic-function-of-method name)))
    (multiple-value-bind (shown arguments) (if-known (sb-debug::frame-call frame))
      (declare (ignore shown))
      (cond ((not (listp arguments)) nil)
            (generic (values generic arguments))
            ((and (sb-int:legal-fun-name-p name) (fboundp name)
                  (not (and (symbolp name) (or (macro-function name) (special-operator-p name)))))
             (values (fdefinition name) arguments))))))

(defun generic-function-of-method (name)
  "The generic function that a frame of that NAME is a method of, or NIL."
  (when (and (consp name)
             (member (first name) (list (native-symbol "SB-PCL" "FAST-METHOD")
                                        (native-symbol "SB-PCL" "SLOW-METHOD"))))
    (ignore-errors
     (let ((function (fdefinition (second name))))
       (and (typep function 'generic-function) function)))))

;;; Evaluating

(defun package-of-frame (frame)
  "The package that the function of FRAME was written in, as far as its name tells; else the one in
force there."
  (let* ((symbol (and frame (ignore-errors (function-symbol (frame-name frame)))))
         (package (and symbol (symbol-package symbol))))
    (if (and package (not (implementation-frame-p frame))
             (not (eq package (find-package "COMMON-LISP"))))
        package
        *package*)))

(defun evaluate-in (frame form)
  "The values of FORM, which sees and can set the variables of FRAME."
  #-sbcl (progn frame (eval form))
  #+sbcl
  (let ((function (let ((*compiling* t))
                    (sb-di:preprocess-for-eval form (sb-di:frame-code-location frame)))))
    (funcall function frame)))

(defun evaluate-text-in (frame source)
  "Evaluates the forms of SOURCE one after the other in FRAME, or nowhere where it is NIL. The
values of the last, as a list."
  (check-syntax source)
  (let ((values '()) (stream (make-string-input-stream source)))
    (loop (let ((start (next-form-start source (file-position stream))))
            (when (>= start (length source)) (return values))
            (setf - (read-next stream source start))
            (setf values (mapcar #'off-the-stack
                                 (multiple-value-list (if frame (evaluate-in frame -) (eval -)))))
            (note-values - values)))))

(defun off-the-stack (value)
  "VALUE, or what stands for it where it is gone with its frame."
  (if (on-stack-p value)
      (native ("SB-DEBUG" "REPLACE-DYNAMIC-EXTENT-OBJECT") value)
      value))

(defvar *frame* nil
  "The one in which code is evaluated now.")

(define-work "frame" (source)
  (let ((frame *frame*))
    (let ((*package* (package-of-frame frame)))
      (evaluate-text-in frame source))))

(defun call-at-suspension (name call function)
  "The tree that FUNCTION, which runs code of the user's under CALL, comes to in the thread of the
suspension of that NAME, of which it is called; or why it cannot."
  (let ((suspension (suspension-named name)))
    (flet ((gone ()
             (refused "not_found" (format nil "There is no suspended evaluation ~A: it has ended, ~
                                               or never was." name)
                      :what name :nearest (live-ids))))
      (if (null suspension)
          (gone)
          (let ((tree (answer-at (suspension-post suspension)
                                 (lambda ()
                                   (if (suspension-how suspension)
                                       (gone)
                                       (funcall function suspension)))
                                 call)))
            (cond ((null tree) (gone))
                  ((equal (part tree "type") "busy")
                   (refused "malformed" (format nil "Code runs in ~A now. Nothing else can be ~
                                                     asked of it until that has ended." name)
                            :what name))
                  (t tree)))))))

(defun no-frame (suspension number)
  "`Refused' for the frame of that NUMBER, or NIL where it is there."
  (unless (and (integerp number) (frame-at (suspension-walk suspension) number))
    (refused "malformed" (no-frame-text suspension number))))

(defun no-frame-text (suspension number)
  (let ((count (length (walk-frames (suspension-walk suspension)))))
    (format nil "~A has no frame ~A: ~:[its frames are 0 to ~D~;it has none of the program's~*~]."
            (suspension-id suspension) number (zerop count) (1- count))))

(defun frameless-p (suspension number)
  "Whether code that is to run in the frame of that NUMBER can run without: SUSPENSION has none."
  (and (eql number 0) (null (frame-at (suspension-walk suspension) 0))))

(defparameter *kept-text*
  "The code would have taken what is suspended elsewhere, by a restart, a throw or a return. It
was ended instead, and all is suspended as before; only resuming has it go on.")

(defun call-kept-in (suspension function otherwise)
  "The values of FUNCTION, which runs code in what SUSPENSION has stopped; those of OTHERWISE where
it would leave that, which only `resume' does: nobody would be told of what it comes to."
  (let ((values '()) (done nil))
    (block nil
      (unwind-protect
           (setf values (multiple-value-list (funcall function))
                 done t)
        (unless (or done
                    (suspension-how suspension)
                    (suspension-leaving suspension)
                    (image-ends-p))
          (return))))
    (if done (values-list values) (funcall otherwise))))

(defun evaluate-in-frame (work arguments)
  "Does WORK in the frame that ARGUMENTS name."
  (let ((number (or (argument "frame" arguments) 0)))
    (call-at-suspension
     (argument "suspension" arguments) (argument "call" arguments)
     (lambda (suspension)
       (or (and (not (frameless-p suspension number)) (no-frame suspension number))
           (let* ((*frame* (frame-at (suspension-walk suspension) number))
                  (why-not (and *frame* (why-not-evaluate *frame*))))
             (if why-not
                 (refused "malformed" why-not)
                 (call-kept-in suspension
                               (lambda () (perform-interruptibly work arguments))
                               (lambda () (left-tree *kept-text*))))))))))
