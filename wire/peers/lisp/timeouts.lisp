;;;; Timeouts: what takes too long in one thread is interrupted there, by one thread that sees to
;;;; all of them.

(in-package #:imago-peer)

(define-record limit
  thread
  at                                    ; when it is over, in internal real time
  act                                   ; a function that is then called in the thread
  over)                                 ; whether nobody needs it any more

(defparameter *again-after* 1/2
  "Seconds after which a limit acts once more, for as long as it is needed.")

(define-session-variable *watcher-idle* 2
  "Seconds for which the thread stays that sees to limits when there are none.")

(define-session-variable *time-limits* '())
(define-session-variable *watcher* nil
  "The thread that sees to them, while there is one.")
(define-session-variable *watcher-looks* 0
  "When it looks at them next, in internal real time.")
(define-session-variable *time-limits-lock* (swank/backend:make-lock :name "time limits"))
(define-session-variable *time-limits-bell* (make-bell))

(defun seconds-on (seconds)
  "The moment that is so many SECONDS from now, in internal real time."
  (+ (get-internal-real-time) (ceiling (* seconds internal-time-units-per-second))))

(defun begin-limit (seconds act)
  "Has ACT called in this thread when so many SECONDS are over, and each half second after that,
until `end-limit'. A watcher that sleeps is only woken for what comes earlier than all it knows."
  (let ((limit (make-limit (swank/backend:current-thread) (seconds-on seconds) act nil)))
    (when (implemented-p 'swank/backend:spawn)
      (with-lock-uninterrupted (*time-limits-lock*)
        (setf *time-limits* (cons limit (remove-if #'limit-over *time-limits*)))
        (cond ((not (and *watcher* (swank/backend:thread-alive-p *watcher*)))
               (setf *watcher* (begin-thread "imago: time limits" #'watch-limits)))
              ((< (limit-at limit) *watcher-looks*) (ring *time-limits-bell*)))))
    limit))

(defun end-limit (limit)
  ;; Without a lock, for it must be done in each case.
  (setf (limit-over limit) t
        (limit-act limit) nil))

(defun watch-limits ()
  "Sees to all limits, until there have been none for a while."
  (loop with idle = nil
        do (let ((seconds
                   (with-lock-uninterrupted (*time-limits-lock*)
                     (setf *time-limits* (remove-if #'limit-over *time-limits*))
                     (when (and idle (null *time-limits*))
                       (setf *watcher* nil)
                       (return))
                     (setf idle (null *time-limits*)
                           *watcher-looks* (reduce #'min *time-limits*
                                                   :key #'limit-at
                                                   :initial-value (seconds-on *watcher-idle*)))
                     (/ (- *watcher-looks* (get-internal-real-time))
                        internal-time-units-per-second))))
             (when (plusp seconds) (wait-for-bell *time-limits-bell* seconds))
             (mapc #'act-on-limit
                   (with-lock-uninterrupted (*time-limits-lock*) (copy-list *time-limits*))))))

(defun end-watcher ()
  "Has the watcher end as soon as it has no limit to see to."
  (setf *watcher-idle* 0)
  (ring *time-limits-bell*))

(defun act-on-limit (limit)
  "Acts in the thread of LIMIT if its time is over."
  (let ((act (limit-act limit)) (thread (limit-thread limit)))
    (when (and act (<= (limit-at limit) (get-internal-real-time)))
      (setf (limit-at limit) (seconds-on *again-after*))
      (if (swank/backend:thread-alive-p thread)
          ;; It may end meanwhile.
          (ignore-errors
           (swank/backend:interrupt-thread
            thread (lambda () (unless (limit-over limit) (funcall act)))))
          (end-limit limit)))))

(defvar *patience* '()
  "For each that is waited for, innermost first: a list of whether it has taken too long.")

(defun call-with-patience (seconds function otherwise)
  "The value of FUNCTION; that of OTHERWISE where it takes longer, where threads can tell."
  (let* ((done nil) (limit nil) (tag (list nil)) (*patience* (cons tag *patience*)))
    (flet ((leave ()
             (unless done
               (setf (first tag) t)
               (throw tag (funcall otherwise)))))
      (unwind-protect
           (catch tag
             (when (image-ends-p) (leave))
             (unwind-protect (progn
                               ;; Cleanup forms may never end, either: it is left again and again.
                               (setf limit (begin-limit seconds #'leave))
                               (letting-interrupts-in function))
               (setf done t)))
        (setf done t)
        (when limit (end-limit limit))))))
