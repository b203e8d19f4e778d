;;;; Compiles the peer's files as files, and prints what the compiler warns of, one line each, and `done'.
;;;; The arguments are the folder of the sources, a folder for what is compiled, and the names in order.

(require :asdf)
(let ((*standard-output* (make-broadcast-stream)) (*error-output* (make-broadcast-stream)))
  (handler-bind ((warning #'muffle-warning))
    (asdf:load-system :swank)))

(let* ((arguments (rest (member "--" sb-ext:*posix-argv* :test #'string=)))
       (sources (first arguments))
       (compiled (second arguments))
       (nowhere (make-broadcast-stream))
       ;; The files expect to be read over a connection.
       (swank::*emacs-connection*
         (swank::make-connection nil (make-two-way-stream (make-concatenated-stream) nowhere) nil)))
  (load (format nil "~A/package.lisp" sources))
  (handler-bind ((warning (lambda (warning)
                            (unless (typep warning 'sb-kernel:redefinition-warning)
                              (format t "~&~A: ~A~%"
                                      (and *compile-file-pathname*
                                           (file-namestring *compile-file-pathname*))
                                      (substitute #\Space #\Newline (princ-to-string warning))))
                            (muffle-warning warning))))
    (let ((*error-output* nowhere) (*compile-verbose* nil))
      (with-compilation-unit ()
        (dolist (name (cddr arguments))
          (let ((*package* *package*))
            (load (compile-file (format nil "~A/~A.lisp" sources name)
                                :output-file (format nil "~A/~A.fasl" compiled name))))))))
  (format t "~&done~%"))
