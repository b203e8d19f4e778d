;;;; Errors that wait in the debugger of somebody else, who works in this image with SLIME. They are
;;;; told of; one that its owner hands over waits for us, in its own thread, until it goes on or is
;;;; given back, or until its owner asks Swank for anything in that thread.

(in-package #:imago-peer)

(defparameter *way-to-their-debugger* 120
  "Frames at most between where such a thread is interrupted and Swank's debugger.")

(defun swank-value-in (name thread)
  "What Swank's variable of that NAME is bound to in THREAD, or NIL."
  (let ((symbol (find-symbol name "SWANK")))
    (and symbol (ignore-errors (sb-thread:symbol-value-in-thread symbol thread nil)))))

(defun in-slime-p (thread)
  "Whether THREAD waits in Swank's debugger."
  (let ((level (swank-value-in "*SLDB-LEVEL*" thread)))
    (and (integerp level)
         (plusp level)
         (swank-value-in "*SWANK-DEBUGGER-CONDITION*" thread)
         t)))

(defun suspended-thread-p (thread)
  (find thread *suspensions* :key (lambda (it) (post-thread (suspension-post it)))))

(defun handed-over-of (thread)
  "The name of the suspension as which the error that waits in THREAD was handed over, or NIL."
  (let ((it (find-if (lambda (it)
                       (and (eq (post-thread (suspension-post it)) thread) (handed-over-p it)))
                     *suspensions*)))
    (and it (suspension-id it))))

(defun their-threads ()
  "Those that wait in Swank's debugger, none of which is ours: ours never enter it."
  (remove-if-not (lambda (thread)
                   (and (in-slime-p thread) (not (suspended-thread-p thread))))
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

;;; The same as errors of the program. All that is known of one stands in variables of its thread,
;;; and in what Swank has told its owner: to see its stack, the thread would have to be stopped.

(define-session-variable *waiting-errors* '()
  "Lists of a weak pointer to a condition, its number, when a look has seen it first, and what Swank
told its owner of it, if a look has met that before Swank forgot it.")
(define-session-variable *waiting-count* 0)
(define-session-variable *waiting-lock* (swank/backend:make-lock :name "waiting errors"))

(defun entry-of-error (condition)
  "What `*waiting-errors*' has of CONDITION."
  (flet ((noted (entry) (weak-pointer-value (first entry))))
    (with-lock-uninterrupted (*waiting-lock*)
      (or (find condition *waiting-errors* :key #'noted :test #'eq)
          (let ((entry (list (make-weak-pointer condition) (incf *waiting-count*) (now) nil)))
            (setf *waiting-errors* (cons entry (remove nil *waiting-errors* :key #'noted)))
            entry)))))

(defun waiting-condition (thread)
  "The condition for which THREAD waits in a debugger that is not ours, or NIL; and which that is."
  (let ((condition (ignore-errors
                    (sb-thread:symbol-value-in-thread 'sb-debug:*debug-condition* thread nil))))
    (cond ((and (suspended-thread-p thread) (not (handed-over-of thread))) nil)
          ((in-slime-p thread)
           (values (swank-value-in "*SWANK-DEBUGGER-CONDITION*" thread)
                   (format nil "in SLIME~@[, handed over as ~A~]" (handed-over-of thread))))
          ((typep condition 'condition) (values condition "in the debugger at the terminal")))))

(defun debugger-event (thread)
  "What Swank told the owner of THREAD as its debugger was opened, as words; NIL where Swank has
forgotten that."
  (let ((place (format nil "~D ~D " (swank/backend:thread-id thread)
                       (swank-value-in "*SLDB-LEVEL*" thread))))
    (flet ((is (event what)
             (event-of-p event (concatenate 'string "dispatch-event: (" what " " place))))
      (dolist (event (reverse (events)))
        (check-deadline)
        (cond ((is event ":DEBUG-RETURN") (return nil))
              ((is event ":DEBUG")
               (return (first (words-of (subseq event (position #\( event)))))))))))

(defun noted-error (condition thread)
  "What `*waiting-errors*' has of CONDITION, for which THREAD waits."
  (let ((entry (entry-of-error condition)))
    (unless (fourth entry)
      (setf (fourth entry) (and (in-slime-p thread) (debugger-event thread))))
    entry))

(defun written-string (word)
  "What WORD stands for, if it is a string as it is written."
  (if (and (stringp word) (> (length word) 1) (char= (char word 0) #\"))
      (string-value word 0 (length word))
      ""))

(defun printed-frame-tree (call)
  "`Frame' of wire/contract/values.ts for one of which only the text of its CALL is known."
  (let ((words (first (words-of call))))
    (object "function" (one-line (if (and (consp words) (stringp (first words)))
                                     (first words)
                                     call))
            "file" nil "line" nil "source" nil
            "locals" (array-of '()) "locals_omitted" 0)))

(defun waiting-raised-tree (condition event)
  "`Raised' of wire/contract/values.ts. No code of the user's tells what CONDITION reports: it is as
its owner was told it by EVENT, or what is stored."
  (let* ((report (written-string (first (fourth event))))
         (message (if (string= report "")
                      (values (static-text condition 400))
                      (cut report *message-limit*)))
         (calls (loop for frame in (sixth event)
                      repeat *innermost-frames*
                      when (consp frame)
                        collect (one-line (written-string (second frame))))))
    (object "type" (type-tree (class-of condition))
            "message" message
            "frames" (array-of (reverse (mapcar #'printed-frame-tree calls)))
            "frames_omitted" 0
            "traceback" (format nil "~A~%   [Condition of type ~A]~%~:[~;~%Backtrace:~%~]~
                                     ~:{  ~D: ~A~%~}"
                                message (condition-type-text condition) calls
                                (loop for call in calls for number from 0
                                      collect (list number call))))))

(defun waiting-error-trees ()
  "`ProgramError' of wire/contract/inspection.ts for each error that waits, the newest first."
  (let ((found '()))
    (dolist (thread (swank/backend:all-threads))
      (check-deadline)
      (multiple-value-bind (condition where) (waiting-condition thread)
        (when condition
          (destructuring-bind (number seen event) (rest (noted-error condition thread))
            (push (cons number
                        (object "number" number
                                "kind" "waiting"
                                "first" seen "last" seen "times" 1
                                "where" (format nil "thread ~S, ~A" (one-line (thread-text thread))
                                                where)
                                "said" nil
                                "error" (waiting-raised-tree condition event)))
                  found)))))
    (mapcar #'cdr (sort found #'> :key #'car))))

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
         (loop for tell = (lambda () (funcall told suspension)) then (constantly nil)
               do (let ((next (wait-at suspension tell)))
                    (begin-doing *post* "handed over")
                    (funcall next)
                    (end-doing *post*)))
      (end-as-seen suspension nil)
      ;; There is nothing of the user's between here and its debugger.
      (end-those-left nil))))

(defun stay-for-imago (session told)
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
                                                       *entry* (microseconds) t))
                        (*outer-restarts* '())
                        (*running-user-code* nil)
                        (*owner-waits* #'owner-waits-p)
                        (*leave* (lambda (how tree)
                                   (declare (ignore how tree))
                                   (return))))
                    (setf (entry-call *entry*) nil)
                    (wait-handed-over condition (their-walk frames) told)))))))))))

(defun take-over (thread)
  "Has the error that waits in THREAD become a suspension, and gives it; or NIL where its owner runs
something there."
  (let ((bell (make-bell)) (answered nil) (given-up nil) (suspension nil)
        (session *session*))
    (swank/backend:interrupt-thread
     thread
     (lambda ()
       (sb-sys:with-interrupts
         (unless given-up
           (stay-for-imago session (lambda (it)
                                     (setf suspension it
                                           answered t)
                                     (ring bell)))))))
    (loop until answered
          do (when (past-deadline-p)
               (setf given-up t)
               (unless answered (timed-out *deadline-ms*)))
             (wait-for-bell bell 1/10))
    suspension))

(define-call "adopt" (id)
  (let* ((threads (their-threads))
         (thread (or (find id threads :key #'their-id :test #'equal)
                     (not-found id (mapcar #'their-id threads)))))
    (when (>= (length *suspensions*) *most-suspensions*)
      (malformed "~D suspended evaluations are the most. End one of them first: resume it, or ~
                  leave it." *most-suspensions*))
    (found (suspension-tree (or (take-over thread)
                                (malformed "Its owner runs something in it at this moment."))))))
