;;;; Attaching: how a session is opened and ended, and whether any is open.

(in-package #:imago-peer)

(defvar *sessions* '()
  "Weak pointers to the sessions that were opened and have not been ended.")

(defvar *sessions-lock* (swank/backend:make-lock :name "sessions"))

(defun session-of (connection)
  "The session of CONNECTION, or NIL."
  (cdr (assoc '*session* (swank::connection.env connection))))

(defun open-session (version)
  "Opens the session of the connection of this thread, unless it is open. NIL where another version
than VERSION is loaded, or none: then nothing is done."
  (when (equal version *imago-version*)
    (let ((connection swank::*emacs-connection*) (readtable *readtable*))
      (unless (session-of connection)
        (call-undisturbed (lambda () (begin-session connection readtable))))
      t)))

(defun begin-session (connection readtable)
  "Makes a session for CONNECTION, whose evaluations begin with READTABLE."
  (with-session ((make-session))
    (setf *own-listener-readtable* readtable)
    (push (cons '*session* *session*) (swank::connection.env connection))
    ;; Swank asks for this in the threads of this connection, and only there. Its own answer is a
    ;; debugger that waits.
    (when (eq (swank::connection.communication-style connection) :spawn)
      (push (cons 'swank/backend::*interrupt-queued-handler* #'take-interrupts)
            (swank::connection.env connection)))
    (note-present-events)
    ;; A stream over something else than TCP has nothing to be set.
    (ignore-errors (send-at-once))
    (note-session *session*)))

(defun note-session (session)
  (with-lock (*sessions-lock*)
    (setf *sessions* (cons (make-weak-pointer session)
                           (remove-if-not #'weak-pointer-value *sessions*)))))

(defun end-session ()
  "Drops what the session of this thread has kept: whoever still holds a stream of ours holds no
values by it."
  (watched-servers :end)
  (clrhash *handles*)
  (clrhash *handle-numbers*)
  (setf *records* '()
        *last-error* nil
        *listener-values* '())
  (with-lock (*sessions-lock*)
    (setf *sessions* (remove *session* *sessions* :key #'weak-pointer-value))))

(defun session-alive-p (session)
  "Whether the connection of SESSION is open, or something of it still runs."
  (with-session (session)
    (or (open-stream-p (swank::connection.socket-io *connection*))
        (some #'swank/backend:thread-alive-p *begun-threads*)
        (some #'swank/backend:thread-alive-p *evaluating-threads*))))

(defun in-use-p ()
  "Whether anybody is connected: then no other version can be loaded."
  (loop for pointer in *sessions*
        for session = (weak-pointer-value pointer)
        thereis (and session (session-alive-p session))))
