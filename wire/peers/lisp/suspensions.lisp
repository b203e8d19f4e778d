;;;; Evaluations that an error has stopped where it happened.

(in-package #:imago-peer)

;;; A thread that waits where an error has stopped its evaluation, and does there what others ask
;;; of it: only the thread itself can walk its stack, and go on.

;;; A post is what others reach such a thread by. Whatever waits on it, at whatever depth, is served
;;; by the innermost wait.

(define-record post
  thread connection lock
  bell                                  ; a semaphore, where there is such a thing
  jobs                                  ; the oldest first
  doing                                 ; what runs: a list of a call and when that began; or NIL
  state)                                ; :OPEN, or :CLOSED when the evaluation has ended

(define-record job
  function                              ; its value is the answer, a tree
  call                                  ; that of the user's code which it runs; NIL for a look
  state                                 ; :WAITING, :TAKEN, :DONE, or :DROPPED
  result
  bell
  asker)                                ; the thread that waits for the answer

(defvar *post* nil
  "That of this thread.")

(defun call-on-post (function)
  "The values of FUNCTION, an evaluation of this thread, which may come to wait."
  (let* ((*post* (make-post (swank/backend:current-thread) swank::*emacs-connection*
                            (swank/backend:make-lock :name "post") (make-bell) '() nil :open))
         (post *post*))
    (unwind-protect (funcall function)
      (dolist (job (with-lock ((post-lock post))
                     (setf (post-state post) :closed)
                     (shiftf (post-jobs post) '())))
        (end-job job :dropped nil)))))

(defun end-job (job state result)
  "The job has come to RESULT, whoever waits for that."
  (setf (job-result job) result
        (job-state job) state)
  (ring (job-bell job)))

;;; Asking

(defun put-job (post job)
  "Has JOB done at POST, or answers what runs there, or :CLOSED."
  (with-lock ((post-lock post))
    (cond ((not (eq (post-state post) :open)) :closed)
          ((post-doing post))
          (t (setf (post-jobs post) (append (post-jobs post) (list job)))
             (ring (post-bell post))
             nil))))

(defun withdraw-job (post job)
  "Has JOB not be done if it has not been begun; whether that is so."
  (with-lock ((post-lock post))
    (when (eq (job-state job) :waiting)
      (setf (job-state job) :dropped
            (post-jobs post) (remove job (post-jobs post)))
      t)))

(defun wait-for-job (post job)
  "What JOB has come to, or NIL where it was dropped. Ends the look when its time is over."
  (loop until (member (job-state job) '(:done :dropped))
        do (when (and (past-deadline-p) (or (withdraw-job post job) (null (job-call job))))
             (timed-out *deadline-ms*))
           (unless (swank/backend:thread-alive-p (post-thread post))
             (return nil))
           (wait-for-bell (job-bell job)
                          (if *deadline*
                              (max 1/100 (min 1/2 (/ (- *deadline* (get-internal-real-time))
                                                     internal-time-units-per-second)))
                              1/2)))
  (job-result job))

(defun busy (doing)
  "For a post at which DOING runs."
  (destructuring-bind (call start) doing
    (object "type" "busy" "call" call "elapsed_ms" (milliseconds-since start))))

(defun answer-at (post function &optional call)
  "The tree that FUNCTION comes to in the thread of POST; NIL where that has ended; or that it is
busy. CALL is that of the user's code that it runs."
  (let* ((job (make-job function call :waiting nil (make-bell) (swank/backend:current-thread)))
         (refused (put-job post job)))
    (cond ((eq refused :closed) nil)
          (refused (busy refused))
          (t (wait-for-job post job)))))

;;; Serving

(defun next-job (post seconds)
  "The job to be done now at POST, its thread's own, or NIL after so many SECONDS without one."
  (flet ((take ()
           (with-lock ((post-lock post))
             (let ((job (pop (post-jobs post))))
               (when job
                 (setf (job-state job) :taken)
                 (when (job-call job)
                   (setf (post-doing post) (list (job-call job) (microseconds)))))
               job))))
    (or (take)
        ;; What comes to this thread ends the wait alone: no job is taken and then left.
        (progn (call-waiting (lambda () (wait-for-bell (post-bell post) seconds)))
               (take)))))

(defun begin-doing (post call)
  "The thread of POST runs code under CALL from now on. Who still waits for it is told."
  (let ((doing (list call (microseconds))))
    (dolist (job (with-lock ((post-lock post))
                   (setf (post-doing post) doing)
                   (shiftf (post-jobs post) '())))
      (end-job job :done (busy doing)))))

(defun end-doing (post)
  (with-lock ((post-lock post)) (setf (post-doing post) nil)))

(defmacro with-thread-name ((name) &body body)
  "Runs BODY while this thread is called NAME, where threads can be given names."
  `(call-with-thread-name ,name (lambda () ,@body)))

(defvar *owner-waits* nil
  "In a thread of somebody else's that was handed over: tells whether its owner asks for something
there.")

(defun call-unless-owner-waits (function)
  "The values of FUNCTION, which runs code of the user's: that is interrupted where the owner of
this thread asks for something in it."
  (if (null *owner-waits*)
      (funcall function)
      (let ((limit (begin-limit 1/10
                                (lambda ()
                                  (when (and (eq *running-user-code* t)
                                             ;; The code may have just what tells of that.
                                             (ignore-errors (funcall *owner-waits*)))
                                    (be-interrupted))))))
        (unwind-protect (funcall function) (end-limit limit)))))

(defun do-job (post job)
  "Does JOB at POST. The second value of its function, if any, is what is to be done when it is
answered."
  (let ((result nil) (next nil))
    (flet ((do-it ()
             (multiple-value-bind (tree then) (funcall (job-function job))
               (setf next then)
               tree)))
      (unwind-protect
           (call-afresh
            (lambda ()
              (setf result (answer-caught "What was asked of a suspended evaluation"
                                          (if (job-call job)
                                              (lambda ()
                                                (letting-interrupts-in
                                                 (lambda () (call-unless-owner-waits #'do-it))))
                                              #'do-it)))
              ;; Who has the answer may ask for more at once.
              (unless next (end-doing post))))
        (end-job job :done (or result (left-tree "What it stood on was left.")))))
    (when next (wait-for-answer (job-asker job)))
    next))

(defun left-tree (message)
  (object "type" "left" "message" message "elapsed_ms" 0))

(defun wait-for-answer (asker)
  "Waits until the thread ASKER has given its answer on, so that nothing that comes of it is heard
before; a little while at most."
  (loop repeat 100
        while (and (swank/backend:thread-alive-p asker)
                   (not (eq asker (swank/backend:current-thread))))
        do (sleep 0.001)))

;;; Evaluations that an error has stopped where it happened: each keeps its stack and its
;;; thread, and goes on, or is left, by what the daemon tells, or ends with the connection.

(defparameter *most-suspensions* 8
  "Suspensions at a time, those within others counted.")

(defparameter *first-frames* 12
  "Frames that are told with the error itself.")

(defparameter *detailed-frames* 3
  "Frames of the program's whose locals are told with the error itself.")

(define-record suspension
  id
  call who                              ; whose evaluation was stopped
  condition
  type message restarts                 ; of the condition; trees and a text
  choices                               ; the restarts themselves, in the order of their trees
  at
  walk                                  ; of its stack
  evaluation post
  leave                                 ; what `*leave*' was
  within                                ; the suspension that this one stands on, or NIL
  how                                   ; how it has ended; NIL: it has not
  leaving)                              ; how that will be, while its stack is being left; or NIL

(define-session-variable *suspensions* '()
  "Those that have not ended, the newest first.")

(define-session-variable *suspensions-lock* (swank/backend:make-lock :name "suspensions"))
(define-session-variable *last-suspension* 0)

(defun suspensions-at (post)
  "Those that wait at POST, the innermost first."
  (remove post *suspensions* :key (lambda (suspension) (suspension-post suspension))
                             :test-not #'eq))

(defun suspension-level (suspension)
  (loop for level from 0
        for outer = suspension then (suspension-within outer)
        while outer
        finally (return level)))

;;; Beginning and ending

(defun add-suspension (suspension)
  "Gives SUSPENSION its name, and has it wait from now on."
  (with-lock (*suspensions-lock*)
    (setf (suspension-within suspension) (first (suspensions-at (suspension-post suspension)))
          (suspension-id suspension) (format nil "s~D@~A" (incf *last-suspension*)
                                             *handle-prefix*))
    (push suspension *suspensions*))
  suspension)

(defun new-suspension (condition &key call who restarts walk)
  "Of the evaluation of this thread, which waits from now on: CONDITION was signalled in what CALL
of WHO runs, or NIL; RESTARTS are all that may be offered; WALK is of its stack."
  (let ((choices (subseq restarts 0 (min *most-restarts* (length restarts)))))
    (multiple-value-bind (message trees) (reports condition choices)
      (add-suspension
       (make-suspension nil call who condition
                        (type-tree (class-of condition)) message trees choices
                        (now) walk *evaluation* *post* *leave* nil nil nil)))))

(defun begin-suspension (condition)
  "Of the evaluation of this thread, in which CONDITION was signalled now."
  (new-suspension condition
                  :call (sink-call (evaluation-sink *evaluation*))
                  :who (record-who (evaluation-record *evaluation*))
                  :restarts (user-restarts condition)
                  :walk (begin-walk)))

(defun end-suspension (suspension how message)
  "Has SUSPENSION ended, unless it has, and says so."
  (let ((ended (with-lock (*suspensions-lock*)
                 (unless (suspension-how suspension)
                   (setf *suspensions* (remove suspension *suspensions*)
                         (suspension-how suspension) how)))))
    (when ended
      (send-message (evaluation-sink (suspension-evaluation suspension))
                    (object "ended" (object "id" (suspension-id suspension)
                                            "how" how
                                            "message" message))))))

(defun end-those-within (suspension)
  "Has all end that stand on SUSPENSION, which goes on."
  (loop for inner in (suspensions-at (suspension-post suspension))
        until (eq inner suspension)
        do (end-suspension inner "within" (within-text suspension))))

(defun within-text (suspension)
  "Why those have ended that stand on SUSPENSION."
  (format nil "~A, which it stood on, has ended." (suspension-id suspension)))

;;; Trees

(defun suspension-tree (suspension)
  "SUSPENSION as `Suspension' of wire/contract/suspensions.ts."
  (object "id" (suspension-id suspension)
          "call" (suspension-call suspension)
          "who" (suspension-who suspension)
          "how" "held"
          "level" (suspension-level suspension)
          "within" (and (suspension-within suspension)
                        (suspension-id (suspension-within suspension)))
          "type" (suspension-type suspension)
          "message" (suspension-message suspension)
          "at" (suspension-at suspension)
          "busy" (truth (post-doing (suspension-post suspension)))
          "leaving" (if (suspension-leaving suspension) (leaving-text suspension) :absent)))

(defun suspended-tree (suspension)
  "What its evaluation has come to, as `Evaluated' of wire/kernel.ts."
  (object "type" "suspended"
          "suspension" (suspension-tree suspension)
          "exception" (raised-tree-of suspension)
          "elapsed_ms" (milliseconds-since (evaluation-start (suspension-evaluation suspension)))
          "diagnostics" (if *diagnostics* (array-of (reverse *diagnostics*)) :absent)))

(defun raised-tree-of (suspension)
  "What was raised, as `Raised' of wire/contract/values.ts, with the innermost frames alone."
  (multiple-value-bind (frames more)
      (frames-from (suspension-walk suspension) 0 *first-frames*)
    (with-file-texts
      (raised-object (suspension-condition suspension)
                     (suspension-message suspension)
                     (suspension-restarts suspension)
                     (first-frame-trees frames)
                     :more more))))

(defun first-frame-trees (frames)
  "FRAMES with their trees. The locals and lines of the program's innermost are told, and not those
of the rest, for they take time."
  (let ((left *detailed-frames*))
    (loop for frame in frames
          collect (let ((whole (and (plusp left) (not (implementation-frame-p frame)))))
                    (when whole (decf left))
                    (cons frame (if whole (frame-tree frame) (brief-frame-tree frame)))))))

;;; Waiting

(defun suspend (condition)
  "Has the evaluation of this thread wait where it is, for what CONDITION has signalled. Leaves from
here when somebody has decided how it goes on."
  (let* ((*running-user-code* nil)
         (post *post*)
         (evaluation *evaluation*)
         (suspension (begin-suspension condition))
         (noticed nil))
    (unwind-protect
         (loop
           (let* ((tree (prepare-to-wait suspension))
                  (next (handler-bind ((serious-condition
                                         (lambda (condition) (setf noticed condition))))
                          (with-thread-name ((format nil "imago: ~A is suspended"
                                                     (suspension-id suspension)))
                            (wait-at suspension
                                     (lambda () (tell-suspended suspension tree)))))))
             (setf noticed nil)
             (begin-doing post (sink-call (evaluation-sink evaluation)))
             (funcall next))
           ;; A restart has returned instead of going on elsewhere: it waits as before.
           (setf suspension (copy-seq suspension)
                 (suspension-how suspension) nil
                 (suspension-leaving suspension) nil)
           (add-suspension suspension))
      (end-as-seen suspension noticed))))

(defun prepare-to-wait (suspension)
  "What the evaluation of this thread has come to, a tree, when its output is sent."
  (let* ((evaluation (suspension-evaluation suspension))
         (tree (progn (end-doing (suspension-post suspension))
                      (suspended-tree suspension))))
    (keep-outcome (evaluation-record evaluation) "suspended" tree)
    (send-what-waits (evaluation-sink evaluation))
    tree))

(defun tell-suspended (suspension tree)
  "Says TREE: that the evaluation of this thread waits, which nothing interrupts until it goes on."
  (let ((evaluation (suspension-evaluation suspension)))
    (setf (entry-call (evaluation-entry evaluation)) nil
          *interrupted* nil
          *diagnostics* '())
    (send-message (evaluation-sink evaluation) (object "suspended" tree))))

(defun wait-at (suspension tell)
  "Calls TELL, which says that this thread waits. Does what others ask for, until it is decided how
SUSPENSION, or one that it stands on, goes on: a function that does it."
  ;; From the moment that others know of it, a break here finds the wait, or is held until then.
  (holding-interrupts
    (funcall tell)
    (loop with post = (suspension-post suspension)
          do (let* ((job (next-job post (if *owner-waits* 1/50 1/2))) ; its owner's keys do not wait
                    (next (if job (do-job post job) (given-up suspension))))
               (when next (return next))))))

(defun call-waiting (function)
  "The value of FUNCTION, which waits, with interrupts let in; NIL where a condition comes to this
thread meanwhile that nobody handles, such as that a time limit is over: it changes nothing."
  (catch 'waiting
    (swank/backend:call-with-debugger-hook
     (lambda (condition hook)
       (declare (ignore condition hook))
       (throw 'waiting nil))
     (lambda ()
       ;; Swank's own break enters its debugger past all hooks. It asks first which restarts there
       ;; are, and this one leaves from there.
       (restart-bind ((waiting #'identity :test-function #'leave-swank-debugger))
         ;; It is not ours what is signalled then.
         (let ((*running-user-code* :waiting)) (letting-interrupts-in function)))))))

(defun leave-swank-debugger (condition)
  "Has this thread wait on where Swank's debugger is about to wait in it; else NIL."
  (declare (ignore condition))
  (when (find 'swank::debug-in-emacs (call-afresh (lambda () (frames-up 30)))
              :key (lambda (frame) (function-symbol (frame-name frame))))
    (throw 'waiting nil)))

(defun given-up (suspension)
  "What is to be done where nobody can or will come any more; else NIL."
  (let ((post (suspension-post suspension)))
    (cond ((not (connected-p (post-connection post)))
           (lambda ()
             (forget-connection-later post)
             (leave-at (first (last (suspensions-at post))) "lost"
                       "The connection to Imago has ended.")))
          ((and *owner-waits* (funcall *owner-waits*))
           (lambda ()
             (leave-at (first (last (suspensions-at post)))
                       "left" "Its owner goes on with it."))))))

(defun forget-connection-later (post)
  "Drops what Swank makes anew for a connection that has ended, when the thread of POST answers over
it, and those do that still serve a request."
  (let* ((connection (post-connection post))
         (maker *maker*)
         (threads (own-threads connection))
         (answering (cons (post-thread post) (swank::mconn.active-threads connection))))
    (swank/backend:spawn (lambda ()
                           (wait-for-end (append answering threads) 20)
                           (forget-mailboxes (list* maker (post-thread post) threads)))
                         :name "worker")))

;;; Whether an error suspends the evaluation that it happened in, and why it does not.

(defun stays-suspended-p ()
  "Whether what is signalled now is to suspend the evaluation of this thread."
  (and *evaluation* *post*
       (evaluation-suspends *evaluation*)
       (evaluation-entry *evaluation*)
       (eq *running-user-code* t)))

(defun may-suspend (condition)
  "Whether CONDITION can suspend the evaluation of this thread; or NIL and a sentence that says why
it cannot."
  (flet ((no (why) (return-from may-suspend
                     (values nil (format nil "This error was not kept suspended: ~A" why)))))
    (cond ((typep condition 'storage-condition)
           (no "the stack or the memory was used up, and there is no room to look around in."))
          ((stack-short-p)
           (no "too little of its stack is left to look around in."))
          ((holds-lock-of-lisp-p)
           (no "it holds a lock of the Lisp's own, without which nobody could define or read on."))
          ((uninterruptible-p)
           (no "it happened where interrupts are off, and nothing could stop what runs there."))
          ((>= (length *suspensions*) *most-suspensions*)
           (no (format nil "~D suspended evaluations are the most. End one of them first: resume ~
                            it, or leave it." *most-suspensions*))))
    t))

(define-session-variable *locks-of-lisp* nil
  "The locks of SBCL's own that can be held where user code runs; NIL until somebody looks.")
