;;;; Makes the peer in an image, and leaves no trace of it there but one connection of Swank's.
;;;;
;;;; This is one lambda expression of Common Lisp alone, sent once over each connection. It is called with the
;;;; texts of the other files of this folder, as strings in their order. It reads them into a package that exists
;;;; only meanwhile: afterwards its symbols have no home, its functions are reached from the connection alone, and
;;;; all of it is garbage as soon as that is closed. Nothing that is global in the image is set.

(lambda (texts)
  (let ((reading *package*)
        (*read-eval* nil)
        (*break-on-signals* nil)
        (*gensym-counter* 0)
        (*macroexpand-hook* 'funcall)
        (*error-output* (make-broadcast-stream))
        (*compile-verbose* nil)
        (*compile-print* nil)
        (dispatch nil))
    (unwind-protect
         (handler-bind ((warning #'muffle-warning))
           (with-compilation-unit (:override t)
             (dolist (text texts)
               (with-input-from-string (stream text)
                 (loop for form = (read stream nil stream)
                       until (eq form stream)
                       ;; These two are for people who load the files by hand.
                       unless (and (consp form) (member (first form) '(defpackage in-package)))
                         do (setf dispatch
                                  (eval `(locally
                                             (declare (optimize (speed 1) (safety 1) (debug 1)))
                                           ,form))))))))
      (setf *package* (find-package "COMMON-LISP-USER"))
      (delete-package reading))
    (push (cons (make-symbol "IMAGO-PEER") (symbol-function dispatch))
          (swank::connection.env swank::*emacs-connection*))
    t))
