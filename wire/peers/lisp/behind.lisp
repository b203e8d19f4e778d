;;;; Steps behind the human: takes this connection out of all that Swank does with its newest one.
;;;;
;;;; This is one lambda expression, sent before anything else over each connection. All names in it
;;;; are those of COMMON-LISP or Swank, so that reading it interns nothing. Swank gives an error of
;;;; a thread that has no connection to the one that was made last, which would be ours; so ours
;;;; leaves the list of them. With nobody else in it, such an error goes where it went before we
;;;; came. All else of Swank's finds a connection by its threads.

(lambda ()
  (declare (optimize (speed 1) (safety 1) (debug 1)))
  (let ((list (find-symbol "*CONNECTION-LOCK*" "SWANK"))
        (sequence swank::*emacs-connection*))
    ;; Swank 2.27 lists a connection on a thread of its own, which may come to that later than we
    ;; come here.
    (do ((count 0 (1+ count)))
        ((or (member sequence swank::*connections*) (= count 1000)))
      (sleep 1/200))
    (if list
        (swank/backend:call-with-lock-held
         (symbol-value list)
         (lambda ()
           (setf swank::*connections* (remove sequence swank::*connections*))))
        ;; That thread takes no lock. What it has pushed meanwhile must not be lost.
        (do ((list swank::*connections* swank::*connections*))
            ((not (member sequence list)))
          #+sbcl (sb-ext:compare-and-swap (symbol-value 'swank::*connections*)
                                          list (remove sequence list))
          #-sbcl (setf swank::*connections* (remove sequence list))))
    ;; Where the connection breaks off, the thread that reads from it and the one that writes to it
    ;; each make a backtrace, and Swank kills the later one, perhaps while it does. For foreign
    ;; frames SBCL asks the dynamic loader, whose lock would then stay taken, and every backtrace of
    ;; this image, the user's too, would wait for ever. So the reader first ends the writer, but not
    ;; while that makes one, and is not interrupted while it makes its own.
    #+sbcl
    (let ((stream (swank::connection.socket-io sequence))
          (symbol (find-symbol "ANSI-STREAM-N-BIN" "SB-IMPL"))
          ;; Compiled here: where the user's forms are interpreted, macros in it would be expanded
          ;; when it runs, by a hook of the user's.
          (compiled-function
            (compile nil
                     '(lambda (function sequence symbol)
                        (declare (optimize (speed 1) (safety 1) (debug 1)))
                        (lambda (&rest rest)
                          (handler-bind
                              ((error
                                 (lambda (condition)
                                   (sb-sys:without-interrupts
                                     (do ((count 0 (1+ count))
                                          (first (swank::mconn.control-thread sequence))
                                          (second t))
                                         ((or (= count 400)
                                              (not (sb-thread:thread-alive-p first))))
                                       ;; One interruption at a time, for they nest: SECOND
                                       ;; says that the last has come too early.
                                       (when (shiftf second nil)
                                         (ignore-errors
                                          (sb-thread:interrupt-thread
                                           first
                                           (lambda ()
                                             (if (and symbol (boundp symbol))
                                                 (setf second t)
                                                 (sb-thread:abort-thread))))))
                                       (sleep 1/200))
                                     (signal condition)))))
                            (let ((count (apply function rest)))
                              (if (< count (first (last rest 2)))
                                  (error 'end-of-file :stream (first rest))
                                  count))))))))
      (when (and symbol
                 (fboundp symbol)
                 (fboundp (list 'setf symbol))
                 (typep sequence 'swank::multithreaded-connection)
                 (typep stream 'sb-sys:fd-stream))
        (funcall (fdefinition (list 'setf symbol))
                 (funcall compiled-function (funcall symbol stream) sequence
                          ;; Has a value while a thread makes a backtrace.
                          (find-symbol "*SLDB-STACK-TOP*" "SWANK/SBCL"))
                 stream)))
    ;; Swank closes a connection that breaks off on the thread that keeps all of them, and SBCL
    ;; first sends what is left there. To a client that has died this is an error, at which an image
    ;; without a debugger would end. Each message has left when it is written, so closing this
    ;; stream, and no other, sends nothing more.
    #+sbcl
    (let ((stream (swank::connection.socket-io sequence))
          (symbol (find-symbol "ANSI-STREAM-MISC" "SB-IMPL"))
          (number nil)
          (compiled-function
            (compile nil
                     '(lambda (function sequence number)
                        (declare (optimize (speed 1) (safety 1) (debug 1)))
                        (lambda (&rest rest)
                          (cond ((eql (second rest) number)
                                 ;; Swank has just told its threads to end. One that still comes to
                                 ;; read from the descriptor must not find it someone else's.
                                 (when (typep sequence 'swank::multithreaded-connection)
                                   (do ((count 0 (1+ count))
                                        (list (list (swank::mconn.reader-thread sequence)
                                                    (swank::mconn.control-thread sequence))))
                                       ((or (= count 400)
                                            (notany 'sb-thread:thread-alive-p
                                                    (remove sb-thread:*current-thread* list))))
                                     (sleep 1/200)))
                                 (funcall function (first rest) number t))
                                (t (apply function rest))))))))
      (when (and symbol
                 (fboundp symbol)
                 (fboundp (list 'setf symbol))
                 (typep stream 'sb-sys:fd-stream))
        (let ((function (funcall symbol stream)) (setf (fdefinition (list 'setf symbol))))
          ;; By which number a stream is told to close, this SBCL knows.
          (let ((stream (make-string-input-stream "")))
            (funcall setf (lambda (&rest rest) (setf number (second rest))) stream)
            (close stream))
          (when number
            (funcall setf (funcall compiled-function function sequence number) stream)))))
    ;; By making a connection Swank has set the debugger hooks, for good. If nobody else is here or
    ;; has been, they are what they were before as far as that can be known. Whoever connects later
    ;; has them set again. An image that was told not to give its errors to Swank has hooks of its
    ;; own, which stay.
    (when (and swank:*global-debugger* (null swank::*connections*) (null swank::*slime-features*))
      #+sbcl (setf (sb-ext:symbol-global-value '*debugger-hook*) nil
                   (sb-ext:symbol-global-value 'sb-ext:*invoke-debugger-hook*)
                   (when (ignore-errors
                          (with-open-file (stream "/proc/self/cmdline" :external-format :latin-1)
                            ;; Also where a form among the options calls DISABLE-DEBUGGER.
                            (do ((string (read-line stream nil) (read-line stream nil)))
                                ((null string))
                              (when (or (search "disable-debugger" string)
                                        (search "--non-interactive" string)
                                        (search "--script" string))
                                (return t)))))
                     'sb-debug::debugger-disabled-hook))
      ;; Another thread has no bindings of its own.
      #+ecl (swank/backend:spawn (lambda ()
                                   (setf *debugger-hook* nil ext:*invoke-debugger-hook* nil))))
    ;; What Swank does before each reply is for editors: it searches all packages for macros, and
    ;; takes news of *FEATURES* away from other connections. Of what it does it keeps a history, as
    ;; text. Bound on our threads, this holds for ours alone.
    (setf (swank::connection.env sequence)
          (list* '(swank::*pre-reply-hook*) '(swank::*slime-features*)
                 '(swank::*enable-event-history*)
                 (swank::connection.env sequence)))
    ;; Swank keeps the mailbox of this thread for ever.
    #+sbcl
    (let ((symbol (find-symbol "*MAILBOXES*" "SWANK/SBCL")))
      (swank/backend:call-with-lock-held
       (symbol-value (find-symbol "*MAILBOX-LOCK*" "SWANK/SBCL"))
       (lambda ()
         (setf (symbol-value symbol)
               (remove (swank/backend:current-thread) (symbol-value symbol)
                       :key (find-symbol "MAILBOX.THREAD" "SWANK/SBCL"))))))
    ;; These bindings do not hold for this thread yet, and a normal return would still do all that.
    (if swank::*sldb-quit-restart*
        (invoke-restart swank::*sldb-quit-restart*)
        (abort))))
