;;;; How an image of Imago's own gets its Swank, and the door to it, which only Imago opens. `start.lisp' loads this.

(in-package "IMAGO-START")

;;; Swank

(defun swank (name)
  (or (find-symbol name "SWANK") (error "This Swank has no ~A." name)))

(defun backend (name)
  (or (find-symbol name (or (find-package "SWANK/BACKEND") "SWANK-BACKEND"))
      (error "This Swank has no ~A." name)))

(defun loaded-p ()
  (let ((create (and (find-package "SWANK") (find-symbol "CREATE-SERVER" "SWANK"))))
    (and create (fboundp create))))

(defun asdf (name &rest arguments)
  (apply (find-symbol name "ASDF") arguments))

(defun require-asdf ()
  (ignore-errors (require "asdf"))
  ;; An ASDF that finds a newer one would replace itself first, which ECL's does not survive.
  #+ecl (when (find-package "ASDF") (asdf "REGISTER-IMMUTABLE-SYSTEM" "asdf")))

(defun known-to-asdf-p ()
  (require-asdf)
  (and (find-package "ASDF") (ignore-errors (asdf "FIND-SYSTEM" "swank" nil))))

(defun load-from (folder)
  (begin (format nil "loading Swank from ~A (the first time, it is compiled)" folder))
  (require-asdf)
  (load-as-user (concatenate 'string (string-right-trim "/" folder) "/swank-loader.lisp"))
  (funcall (find-symbol "INIT" "SWANK-LOADER")))

(defun load-swank (given others)
  "From the folder GIVEN, else what the init file loaded, what ASDF knows, or the first of OTHERS."
  (cond (given (load-from given))
        ((loaded-p))
        ((known-to-asdf-p)
         (begin "loading Swank with ASDF (the first time, it is compiled)")
         (let ((*package* (find-package "COMMON-LISP-USER"))) (asdf "LOAD-SYSTEM" "swank")))
        (others (load-from (first others)))
        (t (tell "no-swank")
           #+sbcl (sb-ext:exit :code 1 :abort t)
           #+ecl (ext:quit 1))))

;;; The door. It is not Swank's own, which would take the secret of the user's home directory, and
;;; whose thread ends with the first stranger who does not know it.

(defun call-with-deadline (seconds function)
  #+sbcl (sb-sys:with-deadline (:seconds seconds) (funcall function))
  #-sbcl (progn seconds (funcall function)))

(defun proves-p (stream secret)
  "Whether SECRET, of ASCII, comes as Swank frames a text. No more is read than that: what strangers announce takes up no
memory."
  (call-with-deadline
   2 (lambda ()
       (let ((same t))
         (loop for character across (format nil "~(~6,'0X~)~A" (length secret) secret)
               do (unless (eql (read-byte stream) (char-code character)) (setf same nil)))
         same))))

(defun guard-connections ()
  "Swank 2.27 has a thread that keeps its list of connections. One that has ended is not missed
there."
  (let ((start (find-symbol "START-SENTINEL" "SWANK"))
        (name (find-symbol "SENTINEL" "SWANK")))
    (when (and start (fboundp start))
      (let ((thread (funcall (backend "FIND-REGISTERED") name)))
        (when (and thread (not (funcall (backend "THREAD-ALIVE-P") thread)))
          (funcall (backend "REGISTER-THREAD") name nil)))
      (funcall start))))

(defun admit (socket client secret)
  (cond ((handler-case (proves-p client secret)
           (serious-condition () nil))
         (guard-connections)
         (funcall (swank "SERVE-REQUESTS")
                  (funcall (swank "MAKE-CONNECTION") socket client :spawn)))
        (t (ignore-errors (close client :abort t)))))

(defun open-door (secret)
  "Answers the port."
  (unless (eq (symbol-value (swank "*COMMUNICATION-STYLE*")) :spawn)
    (error "This ~A has no threads, which Imago needs." (lisp-implementation-type)))
  (set (swank "*GLOBAL-DEBUGGER*") nil)
  (without-debugger)
  (let ((socket (funcall (backend "CREATE-SOCKET") "127.0.0.1" 0 :backlog 16)))
    (make-thread
     (lambda ()
       (loop
         (let ((client (ignore-errors
                        (funcall (backend "ACCEPT-CONNECTION") socket
                                 :external-format nil :buffering t))))
           (if client
               ;; Each on a thread of its own: one that says nothing keeps nobody out.
               (make-thread (lambda () (admit socket client secret)) "imago: a connection")
               (sleep 0.1)))))
     "imago: door")
    (funcall (backend "LOCAL-PORT") socket)))
