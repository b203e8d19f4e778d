;;;; Bringing one call to a stop, and no other.
;;;;
;;;; Swank's own :emacs-interrupt names a thread. Where that has ended in the meantime, SBCL signals
;;;; an error in the thread that serves the connection, and the connection ends. So the call is
;;;; named instead, the thread is found while it cannot end, and what then runs in it looks once
;;;; more whether that call is still the one that runs.

(in-package #:imago-peer)

(define-record entry
  call thread
  reached                               ; how often an interrupt has run in the thread
  where)                                ; where the code stood then

(define-session-variable *entries* '()
  "Of all calls that run user code now.")

(define-session-variable *entries-lock* (swank/backend:make-lock :name "calls that run"))

(defmacro with-entries (&body body)
  `(swank/backend:call-with-lock-held *entries-lock* (lambda () ,@body)))

(defun call-interruptibly (call function)
  "Calls FUNCTION, which `interrupt' can stop under the name CALL for as long as it runs."
  (let* ((entry (make-entry call (swank/backend:current-thread) 0 nil))
         (*entry* entry)
         (*interrupted* nil))
    (with-entries (push entry *entries*))
    (unwind-protect (funcall function)
      (with-entries (setf *entries* (delete entry *entries*))))))

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
  (with-entries
    (let ((entry (find call *entries* :key (lambda (entry) (entry-call entry)) :test #'equal)))
      (when entry
        (swank::queue-thread-interrupt (entry-thread entry) (lambda () (stop entry how))))
      (object "running" (truth entry)
              "reached" (if entry (entry-reached entry) 0)
              "where" (and entry (entry-where entry))))))

(defun make-interruptible (name)
  "Has the call of that name be one that `interrupt' can stop, where it is given a name of its own."
  (let ((function (gethash name *calls*)))
    (setf (gethash name *calls*)
          (lambda (arguments)
            (let ((call (argument "call" arguments)))
              (if call
                  (call-interruptibly call (lambda () (funcall function arguments)))
                  (funcall function arguments)))))))
