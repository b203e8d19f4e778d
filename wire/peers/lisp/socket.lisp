;;;; Swank's end of this connection.

(in-package #:imago)

(defun send-at-once ()
  "Has each message leave as it is written. Without, the second of two waits until the first was
acknowledged, and the other end takes 40 ms to do that: every evaluation is answered by two at
least."
  #+sbcl
  (let ((socket (make-instance
                 'sb-bsd-sockets:inet-socket
                 :type :stream :protocol :tcp
                 :descriptor (sb-sys:fd-stream-fd
                              (swank::connection.socket-io swank::*emacs-connection*)))))
    ;; The descriptor belongs to the stream, and is not to be closed with this object.
    (sb-ext:cancel-finalization socket)
    (setf (sb-bsd-sockets:sockopt-tcp-nodelay socket) t)))

;; A stream over something else than TCP has nothing to be set.
(ignore-errors (send-at-once))
