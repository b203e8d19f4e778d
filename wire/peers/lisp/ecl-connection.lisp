;;;; What is done first over each connection, as ECL has it.

(in-package #:imago-peer)

(defun remove-from-list (connection)
  "Takes CONNECTION out of the list where Swank takes no lock."
  (setf swank::*connections* (remove connection swank::*connections*)))

(defun end-quietly (connection)
  "CONNECTION ends as any other of Swank's."
  (declare (ignore connection)))

(defun reset-debugger-hooks ()
  "Has errors of threads go where they would without Swank."
  ;; Another thread has no bindings of its own.
  (swank/backend:spawn (lambda ()
                         (setf *debugger-hook* nil ext:*invoke-debugger-hook* nil))))
