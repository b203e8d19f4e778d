;;;; What is done first over each connection, as SBCL has it.

(in-package #:imago-peer)

(defun remove-from-list (connection)
  "Takes CONNECTION out of the list where Swank takes no lock. What others have pushed meanwhile
must not be lost."
  (loop for connections = swank::*connections*
        while (member connection connections)
        do (sb-ext:compare-and-swap (symbol-value 'swank::*connections*)
                                    connections (remove connection connections))))

;;; Where a connection breaks off, the thread that reads from it and the one that writes to it each
;;; make a backtrace, and Swank kills the later one, perhaps while it does. For foreign frames SBCL
;;; asks the dynamic loader, whose lock would then stay taken, and every backtrace of this image,
;;; the user's too, would wait for ever.

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

(defun close-code (setter)
  "The number by which this SBCL tells a stream to close; NIL where it tells none. SETTER sets the
function that a stream is told by."
  (let ((stream (make-string-input-stream "")) (code nil))
    (funcall setter (lambda (&rest arguments) (setf code (second arguments))) stream)
    (close stream)
    code))

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

(defun end-quietly (connection)
  "Has CONNECTION end without a trace, also where it breaks off."
  (end-writer-before-reader connection)
  (close-without-sending connection))

;;; Swank has overwritten the hook by which SBCL knows that its debugger is disabled, and
;;; `sb-ext:disable-debugger' leaves nothing else in Lisp. SBCL drops the options that it has obeyed
;;; from its own list of arguments, too.

(defun command-line ()
  "The arguments that this process was started with, as the system keeps them."
  (with-open-file (stream "/proc/self/cmdline" :external-format :latin-1)
    (let ((text (with-output-to-string (text)
                  (loop for char = (read-char stream nil)
                        while char do (write-char char text)))))
      (loop for start = 0 then (1+ end)
            for end = (position (code-char 0) text :start start)
            while end collect (subseq text start end)))))

(defun debugger-disabled-p ()
  "Whether this image was started without a debugger: by an option of SBCL's, or by a form given
with one. An argument of the program's own is neither."
  (loop for (option value) on (ignore-errors (command-line))
        until (string= option "--end-toplevel-options")
          thereis (or (member option '("--disable-debugger" "--non-interactive" "--script")
                              :test #'string=)
                      (and (string= option "--eval")
                           (search "(sb-ext:disable-debugger)" value)))))

(defun debugger-hooks ()
  "The debugger hooks of the image, whatever threads have bound."
  (list (sb-ext:symbol-global-value '*debugger-hook*)
        (sb-ext:symbol-global-value 'sb-ext:*invoke-debugger-hook*)))

(defun first-debugger-hooks ()
  "The debugger hooks as they are without Swank."
  (list nil (and (debugger-disabled-p) 'sb-debug::debugger-disabled-hook)))

(defun hooks-set-by (function)
  "The debugger hooks as FUNCTION sets them, which are set for nobody."
  (let ((*debugger-hook* nil) (sb-ext:*invoke-debugger-hook* nil))
    (funcall function)
    (list *debugger-hook* sb-ext:*invoke-debugger-hook*)))

(defun set-debugger-hooks (hooks)
  ;; One that the program has set since is no more Swank's, and stays.
  (when (eq (sb-ext:symbol-global-value '*debugger-hook*) #'swank:swank-debugger-hook)
    (setf (sb-ext:symbol-global-value '*debugger-hook*) (first hooks)
          (sb-ext:symbol-global-value 'sb-ext:*invoke-debugger-hook*) (second hooks))))
