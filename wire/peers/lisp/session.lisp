;;;; The state of one connection. The package stays until the image ends; a session ends with its
;;;; connection.

(in-package #:imago-peer)

(defvar *imago-version* nil
  "What is loaded: the version of Imago and of these files, as text; NIL while it is not complete.")

(defvar *session* nil
  "The session for which this thread works: a simple vector, or NIL. Swank binds it in the threads
of the connection; threads that we begin bind it themselves.")

(eval-when (:compile-toplevel :load-toplevel :execute)
  (defparameter *session-variables* '()
    "The names of all session variables. Their order is that of their places in a session.")

  (defun session-place (name)
    "The index of the session variable NAME in each session."
    (or (position name *session-variables*)
        (prog1 (length *session-variables*)
          (setf *session-variables* (append *session-variables* (list name)))))))

(defparameter *session-initializers* (make-array 100 :initial-element nil)
  "By the index of each session variable, a function that makes its first value.")

(defmacro define-session-variable (name initial-value &optional documentation)
  "Defines NAME as a place in the session of this thread. INITIAL-VALUE is evaluated when a session
is made, in the order of the definitions. Such a name is never bound: all threads of a session share
its value."
  (let ((index (session-place name)))
    `(progn
       (assert (= ,index (session-place ',name)))
       (setf (svref *session-initializers* ,index) (lambda () ,initial-value))
       (define-symbol-macro ,name (svref *session* ,index))
       ,@(and documentation `((setf (documentation ',name 'variable) ,documentation)))
       ',name)))

(defun make-session ()
  "A new session, with the first value of each variable."
  (let* ((count (length *session-variables*))
         (*session* (make-array count :initial-element nil)))
    (dotimes (index count *session*)
      (setf (svref *session* index) (funcall (svref *session-initializers* index))))))

(defmacro with-session ((session) &body body)
  "Runs BODY, in whatever thread, for SESSION."
  `(let ((*session* ,session)) ,@body))

(define-session-variable *connection* swank::*emacs-connection*
  "The connection of Swank's that this session belongs to.")
