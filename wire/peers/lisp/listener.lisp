;;;; What is evaluated here: one at a time, in the package and readtable in force.

(in-package #:imago)

(defvar *works* (make-hash-table :test 'equal)
  "By its name, what is done for each kind of `Work' of wire/kernel.ts.")

(defmacro define-work (name parameters &body body)
  "Defines how the work NAME, a string, is done; PARAMETERS are as in `define-call'. BODY runs user code freely: its
streams are carried, and what would enter the debugger ends it. Its values are a list of the values to be shown, and a
list of more keys and trees for the answer: \"loaded\", \"tests\"."
  (let ((arguments (gensym "ARGUMENTS")))
    `(setf (gethash ,name *works*)
           (lambda (,arguments)
             (declare (ignorable ,arguments))
             (let ,(loop for parameter in parameters
                         collect `(,parameter (argument ,(wire-name parameter) ,arguments)))
               ,@body)))))

;;; What is bound while something is evaluated

(defvar *diagnostics* '()
  "What was said of the code so far, the newest first.")

(defvar *note-warnings* t
  "Whether warnings that nobody handles are diagnostics. Bound to NIL by those who note them with their places.")

(defvar *leave* nil
  "A function that ends the evaluation: of the outcome, a keyword, and what was raised, a tree.")

(defvar *outer-restarts* '()
  "Restarts that are not the user's.")

(defun note-diagnostic (tree)
  "Has TREE, a `Diagnostic' of wire/contract/reports.ts, told with the answer."
  (push tree *diagnostics*))

(defun severity (warning)
  (cond ((and (find-symbol "REDEFINITION-WARNING" "SB-KERNEL")
              (typep warning (find-symbol "REDEFINITION-WARNING" "SB-KERNEL")))
         "redefinition")
        ((typep warning 'style-warning) "style_warning")
        (t "warning")))

(defun note-warning (warning)
  (when *note-warnings*
    (note-diagnostic (object "severity" (severity warning)
                             "message" (condition-message warning)
                             "file" nil "line" nil "column" nil "source" nil))))

(defun enter-debugger (condition hook)
  "In place of the debugger: takes down how things stand, and ends the evaluation."
  (declare (ignore hook))
  (let ((*running-user-code* nil))
    (funcall *leave* :raised
             (raised-tree condition (user-restarts condition) '() 0))))

(defun user-restarts (condition)
  "The restarts that stand there for CONDITION, without those of the evaluation itself."
  (set-difference (compute-restarts condition) *outer-restarts*))

(defun call-with-user-code (function)
  "Calls FUNCTION as user code. Values: how it ended, :DONE, :RAISED or :INTERRUPTED; and its values, or what was raised."
  (block evaluation
    (let* ((*leave* (lambda (outcome tree) (return-from evaluation (values outcome tree))))
           (*outer-restarts* (compute-restarts)))
      (swank/backend:call-with-debugger-hook
       #'enter-debugger
       (lambda ()
         (handler-bind ((warning #'note-warning))
           (values :done
                   (let ((*running-user-code* t))
                     (multiple-value-list (funcall function))))))))))

(defun milliseconds-since (start)
  "From START, in internal real time, as a float."
  (/ (float (- (get-internal-real-time) start) 1d0)
     (/ internal-time-units-per-second 1000)))

(defun evaluated-tree (outcome result elapsed)
  "`Evaluated' of wire/kernel.ts."
  (let ((diagnostics (if *diagnostics* (array-of (reverse *diagnostics*)) :absent)))
    (ecase outcome
      (:done (destructuring-bind (values &optional more) result
               (append (object "type" "done"
                               "values" (array-of (mapcar #'shown-tree values))
                               "elapsed_ms" elapsed
                               "diagnostics" diagnostics
                               "package" (package-name *listener-package*)
                               "readtable" (readtable-text *listener-readtable*))
                       more)))
      (:raised (object "type" "raised" "exception" result "elapsed_ms" elapsed
                       "diagnostics" diagnostics))
      (:interrupted (object "type" "interrupted" "exception" result "elapsed_ms" elapsed)))))

(defun readtable-text (readtable)
  "What READTABLE is called."
  (declare (ignorable readtable))
  "standard")

(defun evaluate (arguments)
  "Does the work that ARGUMENTS name, and answers what it came to."
  (let ((work (gethash (argument "work" arguments) *works*))
        (sink (open-sink (argument "call" arguments)))
        (*diagnostics* '())
        (start (get-internal-real-time)))
    (unless work
      (answer (object "fault" (format nil "There is no work ~A." (argument "work" arguments)))))
    (send-message sink (object "started" (object "thread" (swank::current-thread-id))))
    (multiple-value-bind (outcome result)
        (unwind-protect (with-streams (sink)
                          (call-with-user-code (lambda () (funcall work arguments))))
          (close-sink sink))
      (evaluated-tree outcome result (milliseconds-since start)))))

(setf (gethash "evaluate" *calls*) #'evaluate)

(defun read-and-evaluate (source)
  "Evaluates the forms of SOURCE one after the other. The values of the last."
  (let ((values '()) (*package* *listener-package*) (*readtable* *listener-readtable*))
    (with-input-from-string (stream source)
      (loop for form = (read stream nil stream)
            until (eq form stream)
            do (setf values (multiple-value-list (eval form)))))
    (setf *listener-package* *package*
          *listener-readtable* *readtable*)
    values))

(define-work "source" (source)
  (read-and-evaluate source))
