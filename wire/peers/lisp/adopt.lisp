;;;; Errors that wait in the debugger of somebody else, who works in this image with SLIME. They are
;;;; told of; one that its owner hands over waits for us, in its own thread, until it goes on or is
;;;; given back, or until its owner asks Swank for anything in that thread.

(in-package #:imago-peer)

(defparameter *way-to-their-debugger* 120
  "Frames at most between where such a thread is interrupted and Swank's debugger.")

(defun swank-value-in (name thread)
  "What Swank's variable of that NAME is bound to in THREAD, or NIL."
  (let ((symbol (find-symbol name "SWANK")))
    (and symbol (ignore-errors (sb-thread:symbol-value-in-thread symbol thread)))))

(defun their-threads ()
  "Those that wait in Swank's debugger, none of which is ours: ours never enter it."
    (remove-if-not (lambda (thread)
                   (let ((level (swank-value-in "*SLDB-LEVEL*" thread)))
                     (and (integerp level)
                          (plusp level)
                          (swank-value-in "*SWANK-DEBUGGER-CONDITION*" thread)
                          (not (find thread *suspensions*
                                     :key (lambda (it) (post-thread (suspension-post it))))))))
                 (swank/backend:all-threads)))

(defun their-id (thread)
  "Swank gave THREAD a number when it told its owner of the error."
  (format nil "thread-~D" (swank/backend:thread-id thread)))

(defun their-error-tree (thread)
  "`TheirError' of wire/contract/suspensions.ts. No code of the user's tells what it reports."
  (let ((condition (swank-value-in "*SWANK-DEBUGGER-CONDITION*" thread)))
    (object "id" (their-id thread)
            "where" (format nil "thread ~S, in SLIME" (sb-thread:thread-name thread))
            "type" (type-tree (class-of condition))
            "message" (values (static-text condition 400)))))

(define-call "theirs" ()
  (found (object "errors" (array-of (mapcar #'their-error-tree (their-threads))))))

;;; Handing over

(defun past-their-debugger (frames)
  "FRAMES from those of Swank's debugger on, if this thread waits there for what its owner asks."
  (flet ((place (name)
           (position-if (lambda (frame)
                          (let ((symbol (function-symbol (frame-name frame))))
                            (and symbol (eq symbol (find-symbol name "SWANK")))))
                        frames)))
    (let ((waiting (place "WAIT-FOR-EVENT")) (debugger (place "DEBUG-IN-EMACS")))
      (and waiting debugger (< waiting debugger) (nthcdr debugger frames)))))

(defun their-walk (frames)
  "The walk of a stack whose debugger begins with FRAMES."
  (let ((last (first (last frames))))
    (make-walk (make-array 32 :adjustable t :fill-pointer 0) '() (past-debugger frames)
               (frame-below last) nil)))

(defun owner-waits-p ()
  "Whether the owner of this thread has asked Swank for something in it."
  (let ((waits nil))
    (swank/backend:receive-if (lambda (event)
                                (when (and (consp event) (eq (first event) :emacs-rex))
                                  (setf waits t))
                                nil)
                              t)
    waits))

(defun adopted-suspension (condition walk)
  "That of the error CONDITION, in whose thread this runs."
  ;; As its owner was told of them: Swank's debugger has put more before them.
  (new-suspension condition :who "its owner, in SLIME"
                            :restarts (swank-value "*SLDB-RESTARTS*")
                            :walk walk))

(defun wait-handed-over (condition walk told)
  "Waits as a suspended evaluation does. TOLD is called with the suspension first."
  (let ((suspension (adopted-suspension condition walk)))
    (unwind-protect
         (progn
           (funcall told suspension)
           (loop
             (let ((next (wait-at suspension)))
               (begin-doing *post* "handed over")
               (funcall next)
               (end-doing *post*))))
      (end-as-seen suspension nil)
      ;; There is nothing of the user's between here and its debugger.
      (end-those-left nil))))

(defun stay-for-imago (session lease told)
  "In the thread of somebody else, who waits in Swank's debugger there: waits for what is asked of
it over the connection of SESSION. TOLD is called once, with the suspension, or with NIL where the
thread is busy. Returns when it is given back."
  (let* ((frames (past-their-debugger (frames-up *way-to-their-debugger*)))
         (condition (swank-value "*SWANK-DEBUGGER-CONDITION*")))
    (if (null frames)
        (funcall told nil)
        (block nil
          (let* ((*session* session)
                (swank::*emacs-connection* *connection*)
                (*interrupted* nil)
                (*left-with* nil)
                (swank::*slime-interrupts-enabled* swank::*slime-interrupts-enabled*)
                ;; Her C-c C-c ends what a model runs here.
                (swank/backend::*interrupt-queued-handler* #'take-interrupts))
            (call-on-post
             (lambda ()
               (call-interruptibly
                "handed over"
                (lambda ()
                  (let ((*evaluation* (make-evaluation (open-sink "handed over")
                                                       (make-record 0 "" nil "" nil "suspended" nil
                                                                    (now) nil)
                                                       *entry* (microseconds) lease))
                        (*outer-restarts* '())
                        (*running-user-code* nil)
                        (*owner-waits* #'owner-waits-p)
                        (*leave* (lambda (how tree)
                                   (declare (ignore how tree))
                                   (return))))
                    (setf (entry-call *entry*) nil)
                    (wait-handed-over condition (their-walk frames) told)))))))))))

(defun take-over (thread lease)
  "Has the error that waits in THREAD become a suspension, and gives it; or NIL where its owner runs
something there."
  (let ((bell (make-bell)) (answered nil) (given-up nil) (suspension nil)
        (session *session*))
    (swank/backend:interrupt-thread
     thread
     (lambda ()
       (sb-sys:with-interrupts
         (unless given-up
           (stay-for-imago session lease
                           (lambda (it)
                             (setf suspension it
                                   answered t)
                             (ring bell)))))))
    (loop until answered
          do (when (past-deadline-p)
               (setf given-up t)
               (unless answered (timed-out *deadline-ms*)))
             (wait-for-bell bell 1/10))
    suspension))

(define-call "adopt" (id lease-ms)
  (let* ((threads (their-threads))
         (thread (or (find id threads :key #'their-id :test #'equal)
                     (not-found id (mapcar #'their-id threads)))))
    (when (>= (length *suspensions*) *most-suspensions*)
      (malformed "~D suspended evaluations are the most. End one of them first: resume it, or ~
                  leave it." *most-suspensions*))
    (found (suspension-tree (or (take-over thread (max 1 lease-ms))
                                (malformed "Its owner runs something in it at this moment."))))))
