;;;; Loads this system into an image. This is one lambda expression, sent as text and read in the
;;;; package IMAGO-PEER, which may have nothing else in it yet.
;;;;
;;;; VERSION, a text, is what is loaded then; NIL where it is only a part of the system. It comes
;;;; from
;;;;
;;;; 1. the file FASL, if the image can read it;
;;;; 2. else FILES, a list of pathnames as the system writes them. They are compiled to 0.fasl,
;;;;    1.fasl and so on in the folder BUILD. BUILD is new and has a random name: an image that sees
;;;;    it has the same files as whoever sends this;
;;;; 3. else TEXTS, a list of names, texts and features in turn; where this Lisp has not the feature,
;;;;    a text is not read.
;;;;
;;;; All of it goes by standard bindings, and prints nothing. With BEGIN, `begin-connection' is
;;;; called then. The value is a keyword: :LOADED, :COMPILED, or :TEXTS where the texts are wanted;
;;;; or a text that says why it could not be loaded.

(lambda (version &key fasl files build texts begin)
  (declare (optimize (speed 1) (safety 1) (debug 1)))
  (let ((current nil))                  ; what is loaded at the moment, for the message
    (labels ((load-lock ()
               #+sbcl
               (loop for known = (symbol-plist '*imago-version*)
                     for lock = (getf known 'load-lock)
                     when lock return lock
                       do (sb-ext:compare-and-swap
                           (symbol-plist '*imago-version*)
                           known
                           (list* 'load-lock (swank/backend:make-lock :name "load") known)))
               #-sbcl
               (or (get '*imago-version* 'load-lock)
                   (setf (get '*imago-version* 'load-lock) (swank/backend:make-lock :name "load"))))
             (loaded-version ()
               (and (boundp '*imago-version*) (symbol-value '*imago-version*)))
             (in-use-p ()
               (and (fboundp 'in-use-p) (funcall 'in-use-p)))
             (native (name)
               #+sbcl (sb-ext:parse-native-namestring name)
               #-sbcl name)
             (there-p (name)
               (and name (ignore-errors (probe-file (native name)))))
             (call-by-standards (function)
               (let ((nowhere (make-broadcast-stream))
                     #+sbcl (sb-ext:*evaluator-mode* :compile))
                 (with-standard-io-syntax
                   (let ((*package* (find-package "IMAGO-PEER"))
                         (*print-readably* nil)
                         (*read-eval* nil)
                         (*macroexpand-hook* 'funcall)
                         (*break-on-signals* nil)
                         (*gensym-counter* 0)
                         (*compile-verbose* nil)
                         (*compile-print* nil)
                         (*load-verbose* nil)
                         (*load-print* nil)
                         (*standard-output* nowhere)
                         (*error-output* nowhere)
                         (*trace-output* nowhere))
                     (handler-bind ((warning #'muffle-warning)
                                    #+sbcl (sb-ext:compiler-note #'muffle-warning))
                       (with-compilation-unit
                           (:override t
                            #+sbcl :policy
                            #+sbcl '(optimize (speed 1) (safety 1) (debug 1) (space 1)
                                              (compilation-speed 1)
                                              (sb-ext:inhibit-warnings 3)))
                         (funcall function)))))))
             (load-file (file)
               (load file :external-format :utf-8))
             (compile-one (file number)
               (setf current (file-namestring file))
               (let ((output (native (format nil "~A/~D.fasl" build number))))
                 (load-file (or (compile-file (native file) :output-file output
                                                            :external-format :utf-8)
                                (error "it cannot be read")))))
             (load-text (name text)
               (setf current name)
               (with-input-from-string (stream text)
                 (loop for form = (read stream nil stream)
                       until (eq form stream)
                       do (eval form))))
             (load-system ()
               (setf (symbol-value '*imago-version*) nil)
               (call-by-standards
                (lambda ()
                  (cond #+sbcl
                        ((and (there-p fasl) (ignore-errors (load-file (native fasl))))
                         :loaded)
                        #+sbcl
                        ((there-p build)
                         (loop for file in files
                               for number from 0
                               do (compile-one file number))
                         :compiled)
                        (texts
                         (loop for (name text feature) on texts by #'cdddr
                               when (or (null feature)
                                        (member feature *features* :test #'string-equal))
                                 do (load-text name text))
                         :loaded)
                        (t :texts)))))
             (load-once ()
               (cond ((and version (equal (loaded-version) version)) :loaded)
                     ((in-use-p)
                      (format nil "Imago of another version, ~A, is attached to it, and one image ~
                                   has room for one version. Detach that first."
                              (loaded-version)))
                     (t (let ((how (load-system)))
                          (unless (eq how :texts)
                            (setf (symbol-value '*imago-version*) version))
                          how)))))
      (proclaim '(special *imago-version*))
      (let ((how (handler-case (swank/backend:call-with-lock-held (load-lock) #'load-once)
                   (serious-condition (condition)
                     (with-standard-io-syntax
                       (let ((*print-readably* nil))
                         (format nil "~@[~A: ~]~A" current condition)))))))
        (if (and begin (keywordp how))
            (funcall 'begin-connection)
            how)))))
