;;;; A thread that waits where an error has stopped its evaluation, and does there what others ask
;;;; of it: only the thread itself can walk its stack, and go on.

(in-package #:imago-peer)

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

(defmacro with-post ((post) &body body)
  `(swank/backend:call-with-lock-held (post-lock ,post) (lambda () ,@body)))

(defun call-on-post (function)
  "The values of FUNCTION, an evaluation of this thread, which may come to wait."
  (let* ((*post* (make-post (swank/backend:current-thread) swank::*emacs-connection*
                            (swank/backend:make-lock :name "post") (make-bell) '() nil :open))
         (post *post*))
    (unwind-protect (funcall function)
      (dolist (job (with-post (post)
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
  (with-post (post)
    (cond ((not (eq (post-state post) :open)) :closed)
          ((post-doing post))
          (t (setf (post-jobs post) (append (post-jobs post) (list job)))
             (ring (post-bell post))
             nil))))

(defun withdraw-job (post job)
  "Has JOB not be done if it has not been begun; whether that is so."
  (with-post (post)
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
           (with-post (post)
             (let ((job (pop (post-jobs post))))
               (when job
                 (setf (job-state job) :taken)
                 (when (job-call job)
                   (setf (post-doing post) (list (job-call job) (microseconds)))))
               job))))
    (or (take)
        (progn (wait-for-bell (post-bell post) seconds)
               (take)))))

(defun begin-doing (post call)
  "The thread of POST runs code under CALL from now on. Who still waits for it is told."
  (let ((doing (list call (microseconds))))
    (dolist (job (with-post (post)
                   (setf (post-doing post) doing)
                   (shiftf (post-jobs post) '())))
      (end-job job :done (busy doing)))))

(defun end-doing (post)
  (with-post (post) (setf (post-doing post) nil)))

(defmacro with-thread-name ((name) &body body)
  "Runs BODY while this thread is called NAME, where threads can be given names."
  #+sbcl
  (let ((own (gensym "OWN")))
    `(let ((,own (sb-thread:thread-name sb-thread:*current-thread*)))
       (setf (sb-thread:thread-name sb-thread:*current-thread*) ,name)
       (unwind-protect (progn ,@body)
         (setf (sb-thread:thread-name sb-thread:*current-thread*) ,own))))
  #-sbcl
  `(progn ,name ,@body))

(defun call-afresh (function)
  "Calls FUNCTION where nothing tells that the thread is in a debugger. The handlers of the
suspended code learn nothing of its conditions: they would leave it."
  #+sbcl (let ((sb-debug:*stack-top-hint* nil))
           (progv (list (native-symbol "SB-KERNEL" "*HANDLER-CLUSTERS*"))
               (list (let ((symbol (native-symbol "SB-KERNEL" "**INITIAL-HANDLER-CLUSTERS**")))
                       (and symbol (symbol-value symbol))))
             (funcall function)))
  #+ecl (progv (list (native-symbol "SI" "*HANDLER-CLUSTERS*")) '(nil) (funcall function))
  #-(or sbcl ecl) (funcall function))

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
                                              (lambda () (call-unless-owner-waits #'do-it))
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
