;;;; Loaded by a Lisp that SLIME starts for its own tests: once SLIME has begun its server there, a
;;;; second one listens, for Imago. The folder of the environment is told its port, in a file that
;;;; is named by the process.

(sb-thread:make-thread
 (lambda ()
   (let ((doors (sb-posix:getenv "IMAGO_SLIME_DOORS")))
     (flet ((of-swank (name)
              (let ((package (find-package "SWANK")))
                (and package (find-symbol name package)))))
       ;; SLIME loads Swank after this file. Its own server is gone as soon as Emacs has connected.
       (loop until (loop for name in '("*SERVERS*" "*CONNECTIONS*")
                         for variable = (of-swank name)
                           thereis (and variable (boundp variable) (symbol-value variable)))
             do (sleep 0.05))
       (let* ((port (funcall (of-swank "CREATE-SERVER") :port 0 :dont-close t))
              (path (format nil "~A/~D" doors (sb-posix:getpid)))
              (whole (concatenate 'string path ".port")))
         (with-open-file (file path :direction :output)
           (format file "~D" port))
         (rename-file path whole)))))
 :name "door for Imago")
