;;;; What is evaluated here: with streams, package, readtable and history of its own, and without a
;;;; debugger.

(in-package #:imago-peer)

(defparameter *works* (make-hash-table :test 'equal)
  "By its name, what is done for each kind of `Work' of wire/kernel.ts.")

(defmacro define-work (name parameters &body body)
  "Defines how the work NAME, a string, is done; PARAMETERS are as in `define-call'. BODY runs user
code freely: its streams are carried, the package is the one in force or the one that was asked for,
and what would enter the debugger ends it. Its values are a list of the values to be shown, and a
list of more keys and trees for the answer: \"loaded\", \"tests\". What is said of the code goes to
`note-diagnostic'."
  (let ((arguments (gensym "ARGUMENTS")) (function (intern (format nil "~:@(~A~)-WORK" name))))
    ;; Its name tells its frames from those of the user's code.
    `(setf (gethash ,name *works*)
           (progn (defun ,function (,arguments)
                    (declare (ignorable ,arguments))
                    (let ,(loop for parameter in parameters
                                collect `(,parameter (argument ,(wire-name parameter) ,arguments)))
                      ,@body))
                  #',function))))

;;; The ways out

(define-record evaluation
  sink record entry
  start                                 ; or when it was resumed, as `microseconds' has it
  lease)                                ; how long an error suspends it; NIL: it ends it

(defvar *evaluation* nil
  "That of this thread.")

(defvar *entry* nil
  "That of the call which this thread runs, by which it can be interrupted.")

(defvar *leave* nil
  "A function that ends the evaluation of this thread, of an outcome and what was raised.")

(defvar *left-with* nil
  "What was raised when the evaluation was left, while it unwinds.")

(defvar *outer-restarts* '()
  "Restarts that are not the user's.")

(defun user-restarts (condition)
  "The restarts that stand there for CONDITION, innermost first, without those of the evaluation
itself."
  (block nil
    (flet ((give-up (&rest arguments)
             (declare (ignore arguments))
             (return '())))
      ;; Whether a restart is there for a condition, code of the user's tells.
      (call-with-patience
       *report-patience*
       (lambda ()
         (handler-bind ((serious-condition #'give-up))
           (swank/backend:call-with-debugger-hook
            #'give-up
            (lambda ()
              (remove-if (lambda (restart) (member restart *outer-restarts*))
                         (compute-restarts condition))))))
       #'give-up))))

(defun leave-evaluation (outcome condition restarts &rest more)
  "Takes down how things stand, and ends the evaluation; MORE is for `raised-tree'. What goes wrong
in the cleanup forms comes here again."
  (let ((*running-user-code* nil))
    (let ((tree (apply #'raised-tree condition restarts :cause *left-with* more)))
      (setf *left-with* tree)
      (funcall *leave* outcome tree))))

(defun enter-debugger (condition hook)
  "In place of the debugger."
  #+sbcl (when (typep condition 'sb-ext:step-condition)
           ;; There is nobody to step: what was to be stepped through runs.
           (invoke-restart 'sb-ext:step-continue))
  (cond ((null *leave*) (swank::swank-debugger-hook condition hook))
        ((stays-suspended-p) (multiple-value-bind (may why-not) (may-suspend condition)
                               (if may
                                   (suspend condition)
                                   (leave-evaluation "raised" condition (user-restarts condition)
                                                     :notes (list why-not)))))
        (t (leave-evaluation "raised" condition (user-restarts condition)))))

(defun aborted (&rest arguments)
  "In place of the way to a listener's top level."
  (declare (ignore arguments))
  (funcall *leave* "left" (object "message" "The code invoked the restart ABORT.")))

(defun be-interrupted (&optional quietly)
  "Ends the evaluation of this thread, if one runs: now, or as soon as it is the user's code that
runs. Where QUIETLY, nothing is taken down."
  (cond ((not (and *leave* (eq *running-user-code* t))) (setf *interrupted* t))
        (t (setf *interrupted* nil)
           (if quietly
               (funcall *leave* "interrupted" :absent)
               (leave-evaluation "interrupted"
                                 (make-condition 'simple-condition
                                                 :format-control "Interrupt from Emacs")
                                 '())))))

(defun take-interrupts ()
  "What happens in our threads instead of entering a debugger that waits."
  (let ((functions (shiftf swank/backend::*pending-slime-interrupts* '())))
    (dolist (function functions)
      (if (member function (list 'swank:simple-break #'swank:simple-break))
          (be-interrupted)
          (funcall function)))))

(defun call-with-our-code (function)
  "The value of FUNCTION, which is not the user's although it is called by the user's code: it is
not interrupted."
  (let ((user-code *running-user-code*))
    (multiple-value-prog1 (let ((*running-user-code* nil)) (funcall function))
      (when (and *interrupted* user-code) (be-interrupted)))))

(defun call-with-user-code (function)
  "Calls FUNCTION as user code. Values: how it ended, \"done\", \"raised\" or
\"interrupted\"; and its values, or what was raised. What was suspended in it has ended then."
  (call-with-suspensions-ended (lambda () (call-to-its-end function))))

(defun call-to-its-end (function)
  (block evaluation
    (let* ((outcome nil)
           (result nil)
           (times 0)
           (*cleanup-forms* (cleanup-forms))
           (*left-with* nil)
           (*leave* (lambda (how tree)
                      ;; What its cleanup forms signal ends it, too.
                      (when *evaluation* (setf (evaluation-lease *evaluation*) nil))
                      ;; What was interrupted stays so, whatever its cleanup forms do.
                      (if (equal outcome "interrupted")
                          (when (equal how "raised") (setf result tree))
                          (setf outcome how
                                result tree))
                      (when (> (incf times) *most-leavings*)
                        (note-dropped (drop-cleanup-forms times)))
                      (return-from evaluation (values outcome result))))
           (*outer-restarts* (compute-restarts)))
      (restart-bind ((abort #'aborted
                       :report-function (lambda (stream) (write-string "Leave." stream))))
        (let ((*outer-restarts* (compute-restarts)))
          (swank/backend:call-with-debugger-hook
           #'enter-debugger
           (lambda ()
             (handler-bind ((warning #'note-warning))
               (values "done"
                       (let ((*running-user-code* t))
                         (when *interrupted* (be-interrupted))
                         (multiple-value-list (funcall function))))))))))))

(defun refused (reason message &key what (nearest '()) next)
  "`Refused' of wire/kernel.ts: what was asked for is \"not_found\" or \"malformed\"."
  (object "type" "refused"
          "reason" reason "message" message
          "what" (or what :absent)
          "nearest" (array-of nearest)
          "next" (or next :absent)))

(defun refused-p (tree)
  (equal (second (member "type" (rest tree) :test #'equal)) "refused"))

(defun refuse (&rest why)
  "Ends the work before any of it has begun. WHY is what `refused' takes."
  (funcall *leave* "refused" (apply #'refused why)))

;;; The call

(define-record record
  number who call source place outcome result at elapsed)

(defun microseconds ()
  "Since some moment. Internal real time may go by the ticks of the machine."
  #+sbcl (multiple-value-bind (seconds microseconds) (sb-ext:get-time-of-day)
           (+ (* 1000000 seconds) microseconds))
  #-sbcl (floor (* 1000000 (get-internal-real-time)) internal-time-units-per-second))

(defun milliseconds-since (start)
  "From START, as a float."
  (/ (float (- (microseconds) start) 1d0) 1000))

(defun evaluated-tree (outcome result elapsed before)
  "`Evaluated' of wire/kernel.ts. BEFORE is what `in-force' was when it began."
  (let ((diagnostics (if *diagnostics* (array-of (reverse *diagnostics*)) :absent)))
    (cond ((string= outcome "done")
           (destructuring-bind (&optional values more) result
             (append (object "type" outcome
                             "values" (array-of (shown-values values))
                             "elapsed_ms" elapsed
                             "diagnostics" diagnostics)
                     (in-force-since before)
                     more)))
          ((string= outcome "raised")
           (object "type" outcome "exception" result "elapsed_ms" elapsed
                   "diagnostics" diagnostics))
          ((string= outcome "left")
           (append (object "type" outcome) (rest result) (rest (object "elapsed_ms" elapsed))))
          ((string= outcome "refused") result)
          (t (object "type" outcome "exception" result "elapsed_ms" elapsed)))))

(define-session-variable *evaluating-threads* '())

(defun call-as-evaluation (record function)
  "The values of FUNCTION: how RECORD ended, and what it came to."
  (let ((thread (swank/backend:current-thread)))
    (push thread *evaluating-threads*)
    (unwind-protect (funcall function)
      (setf *evaluating-threads* (remove thread *evaluating-threads* :count 1))
      ;; Until it is told otherwise: somebody may end the thread.
      (setf (record-outcome record) "left"))))

(defun begin-evaluation (arguments)
  "The one that ARGUMENTS ask for."
  (make-evaluation (open-sink (argument "call" arguments))
                   (begin-record arguments)
                   *entry*
                   (microseconds)
                   ;; What a test signals is for the tests' own report.
                   (and (not (equal (argument "work" arguments) "tests"))
                        (argument "suspend" arguments))))

(defun perform (work arguments)
  "Has the function WORK done with ARGUMENTS, and answers what it came to."
  (let* ((*evaluation* (begin-evaluation arguments))
         (sink (evaluation-sink *evaluation*))
         (record (evaluation-record *evaluation*))
         (*diagnostics* '())
         (before (in-force)))
    ;; From here on what is asked of this thread goes through `take-interrupts'.
    (setf swank::*slime-interrupts-enabled* nil)
    (send-started sink)
    (multiple-value-bind (outcome result)
        (call-as-evaluation
         record
         (lambda ()
           (unwind-protect
                (with-streams (sink)
                  (call-with-user-code
                   (lambda ()
                     (call-in-listener (argument "package" arguments)
                                       (lambda () (funcall work arguments))))))
             (mend-stack)
             (close-sink sink))))
      (let ((tree (evaluated-tree outcome result
                                  (milliseconds-since (evaluation-start *evaluation*)) before)))
        (end-record record outcome tree)
        tree))))

(defun send-started (sink)
  (send-message sink (object "started" (object "thread" (swank::current-thread-id)))))

(defun perform-interruptibly (work arguments)
  "The same, which `interrupt' can stop where it has a call."
  (let ((call (argument "call" arguments)))
    (if call
        (call-interruptibly call (lambda () (perform work arguments)))
        (perform work arguments))))

(defun evaluate (arguments)
  "Does the work that ARGUMENTS name, and answers what it came to."
  (let ((work (or (gethash (argument "work" arguments) *works*)
                  (answer (object "fault" (format nil "There is no work ~A."
                                                  (argument "work" arguments)))))))
    (if (argument "suspension" arguments)
        (evaluate-in-frame work arguments)
        (call-on-post (lambda () (perform-interruptibly work arguments))))))

(setf (gethash "evaluate" *calls*) #'evaluate)
