;;;; Loads the system of the peer with ASDF, from the folder that is its argument, and prints what the compiler
;;;; warns of, one line each, and `done'.

(require :asdf)
(defun quietly (function)
  (let ((*standard-output* (make-broadcast-stream)) (*error-output* (make-broadcast-stream)))
    (funcall function)))

(quietly (lambda ()
           (handler-bind ((warning #'muffle-warning)) (asdf:load-system :swank))))

(let ((folder (second (member "--" sb-ext:*posix-argv* :test #'string=)))
      (output *standard-output*))
  (asdf:load-asd (format nil "~A/imago-peer.asd" folder))
  (quietly
   (lambda ()
     (handler-bind ((sb-kernel:redefinition-warning #'muffle-warning)
                    (warning (lambda (warning)
                               (format output "~&~A: ~A~%"
                                       (and *compile-file-pathname*
                                            (file-namestring *compile-file-pathname*))
                                       (substitute #\Space #\Newline (princ-to-string warning)))
                               (muffle-warning warning))))
       (asdf:load-system :imago-peer :force t))))
  (format t "~&done~%"))
