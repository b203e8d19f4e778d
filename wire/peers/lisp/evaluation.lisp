;;;; What is evaluated here: with streams, package, readtable and history of its own, and without a
;;;; debugger.

(in-package #:imago-peer)

;;; What is in force for the next evaluation: the package, the readtable, and what a listener
;;; keeps.

(defparameter *listener-variables* '(* ** *** + ++ +++ / // /// -))

(define-session-variable *listener-values* (mapcar (constantly nil) *listener-variables*)
  "Ours: those of a person's own listener stay as they are.")

(defun requested-package (name)
  "The package of that NAME, for evaluating in it."
  (or (package-written name)
      (refuse "not_found" (format nil "There is no package ~A." name)
              :what name
              :nearest (nearest name (all-package-names))
              :next "What defines it has to be loaded first: load_file or load_system.")))

(defun package-in-force ()
  "Ours, unless somebody has deleted it."
  (if (package-name *listener-package*)
      *listener-package*
      (setf *listener-package* (find-package "COMMON-LISP-USER"))))

(defun call-in-listener (package function)
  "The values of FUNCTION, with our package and readtable in force, or the package of that name.
What it makes of them, and of the variables of a listener, is kept; what others make of them while
it is suspended stays."
  (let* ((*package* (if package (requested-package package) (package-in-force)))
         (*readtable* (readtable-of *package*))
         (values *listener-values*)
         (begun (list *package* *readtable*)))
    (progv *listener-variables* values
      (unwind-protect (funcall function)
        (unless (eq *readtable* (second begun)) (setf *own-listener-readtable* *readtable*))
        (keep-listener-values values (mapcar #'symbol-value *listener-variables*))
        (unless (or package (eq *package* (first begun))) (setf *listener-package* *package*))
        (package-in-force)))))

(defun keep-listener-values (before after)
  "Has AFTER be kept, of an evaluation that began with BEFORE; behind what it came to, what others
have come to since."
  (cond ((eq before *listener-values*) (setf *listener-values* after))
        ((not (every #'eq before after))
         (destructuring-bind (value value-2 value-3 form form-2 form-3 list list-2 list-3 now)
             *listener-values*
           (declare (ignore value-3 form-3 list-3 now))
           (setf *listener-values*
                 (list (nth 0 after) value value-2
                       (nth 3 after) form form-2
                       (nth 6 after) list list-2
                       (nth 9 after)))))))

(define-session-variable *standard-readtable* (standard-readtable)
  "A readtable as the image has it when it starts.")

(defun readtable-text (readtable)
  "`standard', or in what READTABLE differs from that."
  (let* ((standard *standard-readtable*)
         (changed (loop for code from 33 below 127
                        for char = (code-char code)
                        ;; That of # is another function in each readtable.
                        unless (or (char= char #\#)
                                   (eq (get-macro-character char readtable)
                                       (get-macro-character char standard)))
                          collect (string char)))
         (sharp (ignore-errors
                 (loop for code from 33 below 127
                       for char = (code-char code)
                       unless (or (digit-char-p char)
                                  (eq (get-dispatch-macro-character #\# char readtable)
                                      (get-dispatch-macro-character #\# char standard)))
                         collect (format nil "#~C" char))))
         (case (readtable-case readtable))
         (all (append changed sharp
                      (unless (eq case :upcase)
                        (list "case" (string-downcase (symbol-name case)))))))
    ;; The printer would ask the user's own dispatch.
    (with-output-to-string (stream)
      (write-string (if all "with" "standard") stream)
      (dolist (text all)
        (write-char #\Space stream)
        (write-string text stream)))))

(defun in-force ()
  "What the next evaluation is read in, as keys and values."
  (list "package" (package-name (package-in-force))
        "readtable" (readtable-text *listener-readtable*)))

(defun in-force-since (before)
  "The same, and which of it is not as it was BEFORE."
  (let* ((now (in-force))
         (changed (loop for (key value) on now by #'cddr
                        unless (equal value (argument key before)) collect key)))
    (append now (list "changed" (if changed (array-of changed) :absent)))))

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
  suspends)                             ; whether an error suspends it; NIL: it ends it

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
  (go-past-steps condition)
  (cond ((null *leave*) (swank::swank-debugger-hook condition hook))
        ((stays-suspended-p) (multiple-value-bind (may why-not) (may-suspend condition)
                               (if may
                                   (suspend condition)
                                   (leave-evaluation "raised" condition (user-restarts condition)
                                                     :notes (cons why-not
                                                                  (memory-notes condition))))))
        (t (leave-evaluation "raised" condition (user-restarts condition)
                             :notes (memory-notes condition)))))

(defun memory-notes (condition)
  "What has to be known where CONDITION says that the heap is used up. Collecting all of it copies
what lives, and ends an image that has no room for that: a person's image is not put to that risk
unasked."
  (and (heap-exhausted-p condition)
       (list (format nil "What this code had allocated stays in memory until all of it is ~
                          collected, which nobody does by itself: evaluate (sb-ext:gc :full t). ~
                          Where most of the heap is in use, let go of some of it first: without ~
                          room to copy what lives, a collection ends the image."))))

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
                      (when *evaluation* (setf (evaluation-suspends *evaluation*) nil))
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

(defun refuse (&rest why)
  "Ends the work before any of it has begun. WHY is what `refused' takes."
  (funcall *leave* "refused" (apply #'refused why)))

;;; The call

(define-record record
  number who call source place outcome result at elapsed)

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

;;; Source text, read and evaluated form by form, as a person types it into a listener.

(defun form-place (source start)
  "The line and column in SOURCE of what begins at START, as text."
  (let ((newline (position #\Newline source :end start :from-end t)))
    (format nil "line ~D, column ~D" (line-of source start) (- start (or newline -1)))))

(defun reader-said (text)
  "TEXT, what a condition says, without the stream that SBCL's reader begins with."
  (let ((end (and (eql 0 (search "READER-ERROR" text)) (search (format nil ">:~%") text))))
    (if end (substitute #\Space #\Newline (subseq text (+ end 3))) text)))

(defun syntax-message (condition source start)
  "What is wrong with the form at START of SOURCE."
  (if (typep condition 'end-of-file)
      (format nil "The text ends within the form that begins at ~A." (form-place source start))
      (let* ((text (reader-said (condition-message condition)))
             (end (or (search (format nil "~%~%") text) (search (format nil "~%  Stream") text))))
        (format nil "The form that begins at ~A cannot be read: ~A"
                (form-place source start)
                (one-line (subseq text 0 end) 500)))))

(defun refuse-syntax (condition source start)
  "Ends the evaluation by CONDITION, which reading the form at START of SOURCE has come to."
  (leave-evaluation "raised" condition '()
                    :frames '() :message (syntax-message condition source start)))

(defun syntax-may-change-p (source end)
  "Whether code before END of SOURCE may change how the rest is read."
  (flet ((mentions (word) (search word source :end2 end :test #'char-equal)))
    (or (mentions "readtable") (mentions "macro-character") (mentions "syntax"))))

(defun check-syntax (source)
  "Signals an error if some form of SOURCE cannot be read, before any of it runs. Reads without
interning or evaluating; what that cannot tell is found out form by form."
  (let ((stream (make-string-input-stream source)) (start 0))
    (handler-case
        (let ((*read-suppress* t))
          (loop (setf start (next-form-start source (file-position stream)))
                (when (>= start (length source)) (return))
                (read stream)))
      ((or reader-error end-of-file) (condition)
        (unless (syntax-may-change-p source start)
          (refuse-syntax condition source start)))
      ;; A reader macro of the user's that was not made for this.
      (error () nil))))

(defun read-next (stream source start)
  "The next form of STREAM, whose text is SOURCE, from START on."
  (handler-bind (((or reader-error end-of-file)
                   (lambda (condition)
                     (when (eq (ignore-errors (stream-error-stream condition)) stream)
                       (refuse-syntax condition source start)))))
    (read stream)))

(defun note-values (form values)
  "Has the variables of a listener tell of FORM and its VALUES."
  (setf *** ** ** * * (first values)
        /// // // / / values
        +++ ++ ++ + + form))

(defun evaluate-source (source origin)
  "Evaluates the forms of SOURCE one after the other. The values of the last, as a list."
  (check-syntax source)
  (let ((values '())
        ;; On the heap: a condition does not keep a stream that ends with its frame.
        (stream (make-string-input-stream source)))
    (loop (let ((start (next-form-start source (file-position stream))))
            (when (>= start (length source)) (return values))
            (setf - (read-next stream source start))
            ;; The reader also takes the white space that ends a form.
            (let ((text (string-right-trim '(#\Space #\Newline #\Tab #\Return)
                                           (subseq source start (file-position stream)))))
              (setf values (multiple-value-list
                            (evaluate-placed - text (origin-at origin source start))))
              (note-values - values))))))

(define-work "source" (source file line)
  (evaluate-source source (origin-of source file line)))

;;; Bringing one call to a stop, and no other.
;;;
;;; Swank's own :emacs-interrupt names a thread. Where that has ended in the meantime, SBCL signals
;;; an error in the thread that serves the connection, and the connection ends. So the call is
;;; named instead, the thread is found while it cannot end, and what then runs in it looks once
;;; more whether that call is still the one that runs.

(define-record entry
  call thread
  reached                               ; how often an interrupt has run in the thread
  where)                                ; where the code stood then

(define-session-variable *entries* '()
  "Of all calls that run user code now.")

(define-session-variable *entries-lock* (swank/backend:make-lock :name "calls that run"))

(defun call-interruptibly (call function)
  "Calls FUNCTION, which `interrupt' can stop under the name CALL for as long as it runs."
  (let* ((entry (make-entry call (swank/backend:current-thread) 0 nil))
         (*entry* entry)
         (*interrupted* nil))
    (with-lock (*entries-lock*) (push entry *entries*))
    (unwind-protect (funcall function)
      (with-lock (*entries-lock*) (setf *entries* (delete entry *entries*))))))

(defun stop (entry how)
  "In the thread of ENTRY: ends what runs, if that is still the same."
  (when (eq entry *entry*)
    (incf (entry-reached entry))
    (setf (entry-where entry) (where-it-stands))
    (be-interrupted (string= how "leave"))))

;; Only told of code that goes on: what has stopped tells its whole stack.
(defun where-it-stands ()
  "The innermost call of the user's in this thread, or NIL."
  (ignore-errors
   (let* ((*running-user-code* nil) (frame (first (stack-frames))))
     (and frame (one-line (call-text frame) 100)))))

(define-call "interrupt" (call how)
  (with-lock (*entries-lock*)
    (let ((entry (find call *entries* :key (lambda (entry) (entry-call entry)) :test #'equal)))
      (when entry
        (swank::queue-thread-interrupt (entry-thread entry) (lambda () (stop entry how))))
      (object "running" (truth entry)
              "reached" (if entry (entry-reached entry) 0)
              "where" (and entry (entry-where entry))))))
