;;;; Which image this is, and what can be done in it.

(in-package #:imago)

(define-call "identity" ()
  (object "implementation" (format nil "~A ~A" (lisp-implementation-type) (lisp-implementation-version))
          "style" (let ((style (swank::connection.communication-style swank::*emacs-connection*)))
                    (and style (string-downcase (symbol-name style))))))
