;;;; Errors that a server of the program catches, which nothing else tells of: noted where a person
;;;; has attached with `--errors`. Each server has a function that it calls with such an error, in
;;;; its own thread, before the stack is left. An encapsulation of SBCL's is put around that
;;;; function, beside those of others.

(in-package #:imago-peer)

(defparameter *servers*
  '(("Hunchentoot" "MAYBE-INVOKE-DEBUGGER" "HUNCHENTOOT")
    ("Clack" "PRINT-ERROR" "LACK.MIDDLEWARE.BACKTRACE")
    ("lparallel" "INVOKE-TRANSFER-ERROR" "LPARALLEL.KERNEL"))
  "Servers, each with the name and package of that function, which takes the condition first.")

(defparameter *most-handled* 20
  "Errors of this session that are kept.")

(define-session-variable *handled-errors* '()
  "Lists of a stack, a weak pointer to the last condition that came by it, and `ProgramError' of
wire/contract/inspection.ts for all of these; the newest first. Set with `*waiting-lock*'.")

(define-session-variable *handled-mark* (make-symbol "IMAGO-ERRORS")
  "The type of the encapsulations of this session.")

(define-session-variable *errors-untold* nil
  "Whether the client has not been told yet of errors that servers have caught.")

(define-session-variable *errors-bell* (make-bell))

(define-session-variable *errors-watch* nil
  "What the thread that tells the client of errors was begun with, while the client follows them.")

(define-implementation watched-servers (&optional change)
  (loop with session = *session*
        for (server . name) in *servers*
        for function = (apply #'internal name)
        when (and function (fboundp function))
          do (case change
               (:begin (native ("SB-INT" "ENCAPSULATE") function *handled-mark*
                               (lambda (function condition &rest more)
                                 (with-session (session) (note-handled condition))
                                 (apply function condition more))))
               (:end (native ("SB-INT" "UNENCAPSULATE") function *handled-mark*)))
          and when (native ("SB-INT" "ENCAPSULATED-P") function *handled-mark*)
                collect server))

(defun served-text ()
  "What this thread serves: a request of Hunchentoot's, or nothing that has a name but its own."
  (let ((request (ignore-errors (symbol-value (internal "*REQUEST*" "HUNCHENTOOT")))))
    (flet ((its (name) (slot-value request (internal name "HUNCHENTOOT"))))
      (or (ignore-errors (one-line (format nil "request ~A ~A" (its "METHOD") (its "URI"))))
          (format nil "thread ~S" (one-line (thread-text (swank/backend:current-thread))))))))

(defun note-handled (condition)
  "Notes CONDITION, an error of the program that a server is about to handle in this thread; nothing
that happens here stops the server. Where the connection has broken off, the hooks are taken away."
  (cond ((not (open-stream-p (swank::connection.socket-io *connection*))) (watched-servers :end))
        ((and (typep condition 'error)
              (not (stack-short-p))
              (not (member (swank/backend:current-thread) *evaluating-threads*)))
         (let ((where (served-text)))
           (call-contained (lambda ()
                             (call-undisturbed (lambda () (add-handled condition where))))
                           (constantly nil))))))

(defun add-handled (condition where)
  "One that a second server handles is the same error; one by the same stack is counted."
  (unless (find condition *handled-errors* :key (lambda (it) (weak-pointer-value (second it))))
    (let* ((frames (frames-up *way-to-their-debugger*)) ; from where it was signalled
           (user-frames (member (native-symbol "SB-KERNEL" "%SIGNAL") frames :test-not #'eq
                                :key (lambda (frame) (function-symbol (frame-name frame)))))
           (raised (raised-tree condition '() :frames (past-debugger user-frames)))
           (stack (list* where (json (part raised "type"))
                         (loop for frame in (rest (part raised "frames"))
                               collect (list (part frame "function") (part frame "line"))))))
      (with-lock-uninterrupted (*waiting-lock*)
        (let* ((known (find stack *handled-errors* :key #'first :test #'equal))
               (others (remove known *handled-errors*)))
          (flet ((before (key) (part (third known) key)))
            (push (list stack (make-weak-pointer condition)
                        (object "number" (or (before "number") (incf *waiting-count*))
                                "kind" "request"
                                "first" (or (before "first") (now)) "last" (now)
                                "times" (1+ (or (before "times") 0))
                                "where" where "said" nil "error" raised))
                  others))
          (setf *handled-errors*
                (subseq others 0 (min (length others) *most-handled*)))))
      (unless (shiftf *errors-untold* t) (ring *errors-bell*)))))

;;; News

(defun waiting-now ()
  "The conditions for which threads wait in a debugger of somebody else, each with where that is."
  (loop for thread in (swank/backend:all-threads)
        for waiting = (multiple-value-list (waiting-condition thread))
        when (first waiting)
          collect waiting))

(defun tell-errors (watch stream seen)
  "Tells the client that its look at errors has news, at most five times a second, until that WATCH
is over or STREAM, that of the connection, is closed. SEEN is what `waiting-now' gave before its
look: of a thread that begins to wait in a debugger, or ends that, nothing else tells."
  (loop while (and (eq *errors-watch* watch) (open-stream-p stream))
        do (let ((waiting (waiting-now)))
             (when (or (shiftf *errors-untold* nil) (not (equal waiting seen)))
               (setf seen waiting)
               (send-over *connection* (object "news" "errors"))
               (sleep 1/5)))
           (wait-for-bell *errors-bell* 1/4)))

(defun watch-errors ()
  "Has a thread tell of errors from now on."
  (let ((watch (list "errors"))
        (stream (swank::connection.socket-io *connection*))
        (seen (waiting-now)))
    (with-lock-uninterrupted (*waiting-lock*)
      (unless *errors-watch*
        (setf *errors-watch* watch)
        (begin-thread "imago: errors" (lambda () (tell-errors watch stream seen)))))))

(defun unwatch-errors ()
  (setf *errors-watch* nil)
  (ring *errors-bell*))

(before-leaving #'unwatch-errors)

(define-call "errors" (count watch)
  (cond ((equal watch "on") (watch-errors))
        (watch (unwatch-errors)))
  (let ((trees (stable-sort (append (mapcar #'third *handled-errors*) (waiting-error-trees))
                            #'string> :key (lambda (tree) (part tree "last")))))
    (found (object "errors" (array-of (subseq trees 0 (min (length trees) (or count 20))))
                   "total" *waiting-count*
                   "watched" t
                   "seen" (array-of
                           (list (format nil "errors that wait in a debugger of a person now, in ~
                                              SLIME or at the terminal; ~:[those that a server ~
                                              catches are noted where it was attached with ~
                                              --errors~;those that ~:*~{~A~^, ~} catches~]; others ~
                                              that have ended their thread, or were left, leave ~
                                              nothing that could be seen" (watched-servers))))))))
