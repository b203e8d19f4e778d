;;;; What is done over each connection before anything else: it is taken out of all that Swank does
;;;; with its newest one, and made to end quietly. What that takes of a Lisp is in
;;;; sbcl-connection.lisp and ecl-connection.lisp.

(in-package #:imago-peer)

(defun leave-connection-list (connection)
  "Takes CONNECTION out of Swank's list of connections. Swank gives an error of a thread that has no
connection to the one that was made last, which would be ours. With nobody else in the list, such an
error goes where it went before we came. All else of Swank's finds a connection by its threads."
  ;; Swank 2.27 lists a connection on a thread of its own, which may come to that later than we
  ;; come here.
  (loop repeat 1000
        until (member connection swank::*connections*)
        do (sleep 1/200))
  (let ((lock (find-symbol "*CONNECTION-LOCK*" "SWANK")))
    (if lock
        (swank/backend:call-with-lock-held
         (symbol-value lock)
         (lambda ()
           (setf swank::*connections* (remove connection swank::*connections*))))
        (remove-from-list connection))))

(defvar *hooks-seen* nil
  "The debugger hooks as they were when a session of ours was last asked for something, and Swank's
connections then.")

(defun note-debugger-hooks ()
  (let ((hooks (debugger-hooks)))
    (unless (or (null hooks)
                (and (equal hooks (first *hooks-seen*))
                     (eq (second *hooks-seen*) swank::*connections*)))
      (setf *hooks-seen* (list hooks swank::*connections*)))))

(defun hooks-of-slynk ()
  "The debugger hooks by which errors of threads go to Slynk, SLY's server, where that serves
somebody in this image; else NIL."
  (flet ((its (name package)
           (let ((home (find-package package))) (and home (find-symbol name home)))))
    (let ((connections (its "*CONNECTIONS*" "SLYNK"))
          (global (its "*GLOBAL-DEBUGGER*" "SLYNK"))
          (hook (its "SLYNK-DEBUGGER-HOOK" "SLYNK"))
          (install (its "INSTALL-DEBUGGER-GLOBALLY" "SLYNK-BACKEND")))
      (when (and connections (boundp connections) (symbol-value connections)
                 global (boundp global) (symbol-value global)
                 hook (fboundp hook) install (fboundp install))
        (hooks-set-by (lambda () (funcall install (symbol-function hook))))))))

(defun restore-debugger-hooks ()
  "By making a connection Swank has set the debugger hooks, for good. They are again what they were
before as far as that can be known: as an earlier session of ours has seen them, if nobody else has
connected since; else, unless an editor is or was here by Swank, Slynk's, or those of an image
without any. Whoever connects later has them set again. An image that was told not to give its
errors to Swank has hooks of its own, which stay."
  (when swank:*global-debugger*
    (cond ((and *hooks-seen* (subsetp swank::*connections* (second *hooks-seen*)))
           (set-debugger-hooks (first *hooks-seen*)))
          ((or swank::*connections* swank::*slime-features*))
          (t (set-debugger-hooks (or (hooks-of-slynk) (first-debugger-hooks)))))))

(defun mailboxes-variable ()
  "Swank's variable that holds the mailboxes of all threads, or NIL, and its lock."
  (flet ((there (name package)
           (let ((symbol (and (find-package package) (find-symbol name package))))
             (and symbol (boundp symbol) symbol))))
    (dolist (package '("SWANK/SBCL" "SWANK/ECL"))
      (let ((variable (there "*MAILBOXES*" package)) (lock (there "*MAILBOX-LOCK*" package)))
        (when (and variable lock)
          (return (values variable (symbol-value lock) (find-symbol "MAILBOX.THREAD" package))))))))

(defun forget-mailboxes (threads)
  "Drops the mailboxes of THREADS. Swank never does, and searches all there are at each message."
  (multiple-value-bind (variable lock thread) (mailboxes-variable)
    (when variable
      (swank/backend:call-with-lock-held
       lock
       (lambda ()
         (setf (symbol-value variable)
               (remove-if (lambda (other) (member other threads)) (symbol-value variable)
                          :key thread)))))))

(defun begin-connection ()
  "Does all that for the connection of this thread, once. Aborts the request instead of returning."
  (let ((connection swank::*emacs-connection*))
    (leave-connection-list connection)
    (end-quietly connection)
    (restore-debugger-hooks)
    ;; What Swank does before each reply is for editors: it searches all packages for macros, and
    ;; takes news of *FEATURES* away from other connections. Of what it does it keeps a history, as
    ;; text. Bound on our threads, this holds for ours alone.
    (setf (swank::connection.env connection)
          (list* '(swank::*pre-reply-hook*) '(swank::*slime-features*)
                 '(swank::*enable-event-history*)
                 (swank::connection.env connection)))
    (forget-mailboxes (list (swank/backend:current-thread)))
    ;; These bindings do not hold for this thread yet, and a normal return would still do all that.
    (if swank::*sldb-quit-restart*
        (invoke-restart swank::*sldb-quit-restart*)
        (abort))))
