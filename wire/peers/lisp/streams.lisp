;;;; Standard streams of an evaluation, carried to whoever asked for it.

(in-package #:imago-peer)

;;; A sink takes what is written to both output streams of one evaluation, in the order in which it
;;; comes.

(define-record sink
  call connection session lock
  stream text                           ; what waits to be sent, and of which stream
  sent-at                               ; in internal real time
  line                                  ; the last line of the standard output, as far as it goes
  flusher                               ; whether a thread sees to what waits
  messages                              ; sent since the client was last heard
  output                                ; the stream of the standard output
  written                               ; characters so far
  state)                                ; :OPEN; :CLOSED where evaluation or connection have ended

(defparameter *event-size* 8000
  "Characters of one message at most.")

(defparameter *event-interval* (floor internal-time-units-per-second 20)
  "How long what was written waits to be sent.")

(defparameter *messages-ahead* 50
  "Messages that are sent before the client has to say that it has them.")

(defparameter *flood* 50000
  "Characters after which the standard output is written through a buffer.")

(defun open-sink (call)
  (make-sink call swank::*emacs-connection* *session* (swank/backend:make-lock :name "output")
             "stdout" (make-array 200 :element-type 'character :adjustable t :fill-pointer 0)
             0 "" nil 0 nil 0 :open))

(defun thread-serves-p (connection reader)
  "Whether the thread that READER has of CONNECTION lives, where that has threads at all. The end of
the image ends threads one after the other, and closes nothing."
  (or (not (swank::multithreaded-connection-p connection))
      (swank/backend:thread-alive-p (funcall reader connection))))

(defun sends-p (connection)
  "Whether what is sent over CONNECTION is written to it."
  (and (open-stream-p (swank::connection.socket-io connection))
       (thread-serves-p connection #'swank::mconn.control-thread)))

(defun connected-p (connection)
  "Whether what the client says is read, too."
  (and (sends-p connection)
       (thread-serves-p connection #'swank::mconn.reader-thread)))

(defun send-over (connection tree)
  "Sends TREE unasked. NIL where nobody can have it any more."
  ;; Where nothing is read any more, Swank's own answer is still sent, and this goes before it.
  (when (sends-p connection)
    (let ((swank::*emacs-connection* connection)
          ;; Its own wait for the client would never end where the connection does.
          (swank::*send-counter* most-negative-fixnum))
      (swank::send-to-emacs (list :channel-send 0 (json tree))))
    t))

(defun send-message (sink tree)
  "Sends TREE about the evaluation, or drops it where nobody can have it any more."
  (unless (send-over (sink-connection sink) (list* :object "call" (sink-call sink) (rest tree)))
    (setf (sink-state sink) :closed)))

(defun wait-for-message (connection pattern &optional (goes-on (constantly t)))
  "The message from the client that is like PATTERN, or NIL once the connection has ended or the
function GOES-ON says no."
  (loop with pause = 0.001
        while (and (connected-p connection) (funcall goes-on))
        do (let ((event (swank::wait-for-event pattern t)))
             (when event (return event))
             (sleep pause)
             (setf pause (min 0.02 (* 2 pause))))))

(defun heard-p (connection &optional (goes-on (constantly t)))
  "Waits until the client says that it has what was sent; NIL where `wait-for-message' ends before."
  (let ((tag (swank::make-tag))
        (swank::*emacs-connection* connection)
        (swank::*send-counter* most-negative-fixnum))
    (swank::send-to-emacs (list :ping (swank::current-thread-id) tag))
    (wait-for-message connection (list :emacs-pong tag) goes-on)))

(defun wait-for-client (sink)
  "Waits until the client has what was sent, after every so many messages, so that a flood fills no
memory."
  (when (> (incf (sink-messages sink)) *messages-ahead*)
    (setf (sink-messages sink) 0)
    (unless (heard-p (sink-connection sink))
      (setf (sink-state sink) :closed))))

(defun flush-sink (sink)
  "Sends what waits. To be called with the lock held."
  (let ((text (sink-text sink)))
    (when (plusp (length text))
      (let ((copy (coerce text 'simple-string)) (stream (sink-stream sink)))
        (setf (fill-pointer text) 0
              (sink-sent-at sink) (get-internal-real-time))
        (loop for start from 0 below (length copy) by *event-size*
              for piece = (subseq copy start (min (length copy) (+ start *event-size*)))
              while (eq (sink-state sink) :open)
              do (send-message sink (object "event" (object "type" "output"
                                                            "stream" stream
                                                            "text" piece)))
                 (wait-for-client sink))))))

(defun note-line (sink string)
  "Keeps the last line that was written, which may be the prompt of a question."
  (let ((newline (position #\Newline string :from-end t)))
    (setf (sink-line sink)
          (if newline
              (subseq string (1+ newline))
              (concatenate 'string (sink-line sink) string)))
    (when (> (length (sink-line sink)) 1000)
      (setf (sink-line sink) (subseq (sink-line sink) (- (length (sink-line sink)) 500))))))

(defun take-text (sink stream string)
  "Takes STRING for the stream of that name; sends it with what comes after it, or at once if that
is worth it."
  (unless (string= stream (sink-stream sink))
    (flush-sink sink)
    (setf (sink-stream sink) stream))
  (when (string= stream "stdout") (note-line sink string))
  (let* ((text (sink-text sink)) (end (+ (length text) (length string))))
    (incf (sink-written sink) (length string))
    (when (> end (array-dimension text 0))
      (setf text (adjust-array text (* 2 end))
            (sink-text sink) text))
    (setf (fill-pointer text) end)
    (replace text string :start1 (- end (length string)))
    (if (or (>= (length text) *event-size*)
            (image-ends-p)
            (and (find #\Newline string)
                 (> (- (get-internal-real-time) (sink-sent-at sink)) *event-interval*)))
        (flush-sink sink)
        (see-to-flushes sink))))

(defun write-to-sink (sink stream string)
  "The same, while the evaluation runs; afterwards, nothing. Any thread of the program may write."
  (when (eq (sink-state sink) :open)
    (with-session ((sink-session sink))
      (call-with-our-code
       (lambda ()
         (with-lock ((sink-lock sink))
           (when (eq (sink-state sink) :open)
             (take-text sink stream string)))
         (when (and (> (sink-written sink) *flood*) (sink-flusher sink))
           (setf (sink-written sink) 0)
           (set-buffer-size (sink-output sink) *event-size*)))))))

(defun see-to-flushes (sink)
  "Has what waits sent soon, although nothing more may be written."
  (when (and (implemented-p 'swank/backend:spawn) (not (sink-flusher sink)))
    (setf (sink-flusher sink) t)
    (let ((connection (sink-connection sink)))
      (begin-thread
       "output of an evaluation"
       (lambda ()
         (swank::with-connection (connection)
           (loop while (eq (sink-state sink) :open)
                 do (sleep (/ *event-interval* internal-time-units-per-second))
                    (send-what-waits sink))
           (forget-mailboxes (list (swank/backend:current-thread)))))))))

(defun send-what-waits (sink)
  ;; The stream has a lock of its own, which writers take before that of the sink.
  (finish-output (sink-output sink))
  (with-lock ((sink-lock sink)) (flush-sink sink)))

(defun close-sink (sink)
  "Sends what waits; what is written afterwards goes nowhere."
  (when (sink-output sink) (send-what-waits sink))
  (tell-exit sink)
  (setf (sink-state sink) :closed))

(defun sink-output-stream (sink name)
  "A stream for the one of that NAME, which gives on each text at once: with buffers, two could not
be told in order."
  (let ((stream (swank/backend:make-output-stream
                 (if (string= name "stdout")
                     (lambda (string) (write-to-sink sink name string))
                     (lambda (string)
                       (finish-output (sink-output sink))
                       (write-to-sink sink name string))))))
    (set-buffer-size stream 1)
    stream))

(defun set-buffer-size (stream size)
  "Has STREAM, one of Swank's, keep back less than SIZE characters."
  (ignore-errors
   (if (slot-exists-p stream 'swank/gray::buffer)
       (setf (slot-value stream 'swank/gray::buffer) (make-string size))
       (let ((buffer (find-symbol "STREAM-DATA-BUFFER" "SWANK/GRAY"))
             (data (find-symbol "DATA" "SWANK/GRAY")))
         (funcall (fdefinition `(setf ,buffer)) (make-string size) (slot-value stream data))))))

;;; Standard input

(defun ask-for-line (sink)
  "A line from whoever asked for the evaluation, with its end; the empty string where that is
refused."
  (if (not (eq (sink-state sink) :open))
      ""
      (let ((tag (swank::make-tag)) (connection (sink-connection sink)))
        (send-what-waits sink)
        (send-message sink (object "ask" (object "tag" tag
                                                 "thread" (swank::current-thread-id)
                                                 "prompt" (sink-line sink))))
        (setf (sink-line sink) "")
        (let ((answer (let ((swank::*emacs-connection* connection))
                        (wait-for-message connection (list :emacs-return-string tag 'line)))))
          (if answer (third answer) "")))))

(defun sink-input-stream (sink)
  (swank/backend:make-input-stream
   (lambda () (with-session ((sink-session sink)) (ask-for-line sink)))))

(defun open-output (sink)
  (setf (sink-output sink) (sink-output-stream sink "stdout")))

(defmacro with-streams ((sink) &body body)
  "Runs BODY with all standard streams of its thread led to SINK."
  (let ((in (gensym)) (out (gensym)) (err (gensym)) (both (gensym)))
    `(let* ((,in (sink-input-stream ,sink))
            (,out (open-output ,sink))
            (,err (sink-output-stream ,sink "stderr"))
            (,both (make-two-way-stream ,in ,out))
            (*standard-input* ,in)
            (*standard-output* ,out)
            (*error-output* ,err)
            (*trace-output* ,out)
            (*debug-io* ,both)
            (*query-io* ,both)
            (*terminal-io* ,both))
       ,@body)))
