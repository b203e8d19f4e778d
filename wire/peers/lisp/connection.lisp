;;;; What is done over each connection before anything else: it is taken out of all that Swank does
;;;; with its newest one, and made to end quietly.

(in-package #:imago-peer)

(defun remove-from-list (connection)
  "Takes CONNECTION out of the list where Swank takes no lock. What others have pushed meanwhile
must not be lost."
  (loop for connections = swank::*connections*
        while (member connection connections)
        do #+sbcl (sb-ext:compare-and-swap (symbol-value 'swank::*connections*)
                                           connections (remove connection connections))
           #-sbcl (setf swank::*connections* (remove connection connections))))

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

;;; Where a connection breaks off, the thread that reads from it and the one that writes to it each
;;; make a backtrace, and Swank kills the later one, perhaps while it does. For foreign frames SBCL
;;; asks the dynamic loader, whose lock would then stay taken, and every backtrace of this image,
;;; the user's too, would wait for ever.

#+sbcl
(defun end-writer (writer backtrace-variable)
  "Ends the thread WRITER, but not while it makes a backtrace: then BACKTRACE-VARIABLE, a symbol,
has a value in it."
  (let ((too-early t))
    (loop repeat 400
          while (sb-thread:thread-alive-p writer)
          do ;; One interruption at a time, for they nest.
             (when (shiftf too-early nil)
               (ignore-errors
                (sb-thread:interrupt-thread
                 writer
                 (lambda ()
                   (if (and backtrace-variable (boundp backtrace-variable))
                       (setf too-early t)
                       (sb-thread:abort-thread))))))
             (sleep 1/200))))

#+sbcl
(defun end-writer-before-reader (connection)
  "Has the thread that reads from CONNECTION end the one that writes to it, before it makes a
backtrace of its own, which nothing interrupts."
  (let ((stream (swank::connection.socket-io connection))
        (reader (find-symbol "ANSI-STREAM-N-BIN" "SB-IMPL"))
        (backtrace-variable (find-symbol "*SLDB-STACK-TOP*" "SWANK/SBCL")))
    (when (and reader
               (fboundp reader)
               (fboundp `(setf ,reader))
               (typep connection 'swank::multithreaded-connection)
               (typep stream 'sb-sys:fd-stream))
      (let ((read-octets (funcall reader stream)))
        (funcall (fdefinition `(setf ,reader))
                 (lambda (&rest arguments)
                   (handler-bind
                       ((error (lambda (condition)
                                 (sb-sys:without-interrupts
                                   (end-writer (swank::mconn.control-thread connection)
                                               backtrace-variable)
                                   (signal condition)))))
                     (let ((count (apply read-octets arguments)))
                       (if (< count (first (last arguments 2)))
                           (error 'end-of-file :stream (first arguments))
                           count))))
                 stream)))))

;;; Swank closes a connection that breaks off on the thread that keeps all of them, and SBCL first
;;; sends what is left there. To a client that has died this is an error, at which an image without
;;; a debugger would end. Each message has left when it is written, so closing this stream, and no
;;; other, sends nothing more.

#+sbcl
(defun close-code (setter)
  "The number by which this SBCL tells a stream to close; NIL where it tells none. SETTER sets the
function that a stream is told by."
  (let ((stream (make-string-input-stream "")) (code nil))
    (funcall setter (lambda (&rest arguments) (setf code (second arguments))) stream)
    (close stream)
    code))

#+sbcl
(defun wait-for-threads-of (connection)
  "Waits until the threads of CONNECTION, which Swank has just told to end, have. One that still
comes to read from the descriptor must not find it someone else's."
  (when (typep connection 'swank::multithreaded-connection)
    (let ((threads (remove sb-thread:*current-thread*
                           (list (swank::mconn.reader-thread connection)
                                 (swank::mconn.control-thread connection)))))
      (loop repeat 400
            while (some #'sb-thread:thread-alive-p threads)
            do (sleep 1/200)))))

#+sbcl
(defun close-without-sending (connection)
  "Has the stream of CONNECTION send nothing more when it is closed."
  (let ((stream (swank::connection.socket-io connection))
        (operator (find-symbol "ANSI-STREAM-MISC" "SB-IMPL")))
    (when (and operator
               (fboundp operator)
               (fboundp `(setf ,operator))
               (typep stream 'sb-sys:fd-stream))
      (let* ((operate (funcall operator stream))
             (setter (fdefinition `(setf ,operator)))
             (close-code (close-code setter)))
        (when close-code
          (funcall setter
                   (lambda (&rest arguments)
                     (cond ((eql (second arguments) close-code)
                            (wait-for-threads-of connection)
                            (funcall operate (first arguments) close-code t))
                           (t (apply operate arguments))))
                   stream))))))

#+sbcl
(defun debugger-disabled-p ()
  "Whether the command line of this image disables the debugger, also by a form among its options."
  (ignore-errors
   (with-open-file (stream "/proc/self/cmdline" :external-format :latin-1)
     (loop for line = (read-line stream nil)
           while line
           thereis (or (search "disable-debugger" line)
                       (search "--non-interactive" line)
                       (search "--script" line))))))

(defun restore-debugger-hooks ()
  "By making a connection Swank has set the debugger hooks, for good. If nobody else is here or has
been, they are what they were before as far as that can be known. Whoever connects later has them
set again. An image that was told not to give its errors to Swank has hooks of its own, which stay."
  (when (and swank:*global-debugger* (null swank::*connections*) (null swank::*slime-features*))
    #+sbcl (setf (sb-ext:symbol-global-value '*debugger-hook*) nil
                 (sb-ext:symbol-global-value 'sb-ext:*invoke-debugger-hook*)
                 (and (debugger-disabled-p) 'sb-debug::debugger-disabled-hook))
    ;; Another thread has no bindings of its own.
    #+ecl (swank/backend:spawn (lambda ()
                                 (setf *debugger-hook* nil ext:*invoke-debugger-hook* nil)))))

#+sbcl
(defun forget-this-mailbox ()
  "Swank keeps the mailbox of this thread for ever."
  (let ((mailboxes (find-symbol "*MAILBOXES*" "SWANK/SBCL")))
    (swank/backend:call-with-lock-held
     (symbol-value (find-symbol "*MAILBOX-LOCK*" "SWANK/SBCL"))
     (lambda ()
       (setf (symbol-value mailboxes)
             (remove (swank/backend:current-thread) (symbol-value mailboxes)
                     :key (find-symbol "MAILBOX.THREAD" "SWANK/SBCL")))))))

(defun begin-connection ()
  "Does all that for the connection of this thread, once. Aborts the request instead of returning."
  (let ((connection swank::*emacs-connection*))
    (leave-connection-list connection)
    #+sbcl (end-writer-before-reader connection)
    #+sbcl (close-without-sending connection)
    (restore-debugger-hooks)
    ;; What Swank does before each reply is for editors: it searches all packages for macros, and
    ;; takes news of *FEATURES* away from other connections. Of what it does it keeps a history, as
    ;; text. Bound on our threads, this holds for ours alone.
    (setf (swank::connection.env connection)
          (list* '(swank::*pre-reply-hook*) '(swank::*slime-features*)
                 '(swank::*enable-event-history*)
                 (swank::connection.env connection)))
    #+sbcl (forget-this-mailbox)
    ;; These bindings do not hold for this thread yet, and a normal return would still do all that.
    (if swank::*sldb-quit-restart*
        (invoke-restart swank::*sldb-quit-restart*)
        (abort))))
