;;;; What is done first over each connection, as ECL has it.

(in-package #:imago-peer)

(defun remove-from-list (connection)
  "Takes CONNECTION out of the list where Swank takes no lock."
  (setf swank::*connections* (remove connection swank::*connections*)))

(defun end-quietly (connection)
  "CONNECTION ends as any other of Swank's."
  (declare (ignore connection)))

(defun debugger-hooks ()
  "The debugger hooks of the image; NIL for unknown: this thread may have bindings of its own."
  nil)

(defun first-debugger-hooks ()
  "The debugger hooks as they are without Swank."
  (list nil nil))

(defun hooks-set-by (function)
  "The debugger hooks as FUNCTION sets them, which are set for nobody."
  (let ((*debugger-hook* nil) (ext:*invoke-debugger-hook* nil))
    (funcall function)
    (list *debugger-hook* ext:*invoke-debugger-hook*)))

(defun set-debugger-hooks (hooks)
  ;; Another thread has no bindings of its own.
  (swank/backend:spawn (lambda ()
                         (setf *debugger-hook* (first hooks)
                               ext:*invoke-debugger-hook* (second hooks)))))
