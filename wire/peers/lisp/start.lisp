;;;; What an image of Imago's own begins with: the user's init file, Swank, a door that only Imago
;;;; opens, and the program that was asked for. The command line loads it and calls
;;;; `imago-start::start'; it is no part of what hangs on a connection.
;;;;
;;;; Standard input holds one list of strings, and stays open as long as the daemon lives: its end
;;;; ends the image. The list is read before any code of the user's runs, and what that finds at
;;;; standard input afterwards is empty. What happens is told on standard output, in lines that
;;;; begin with #\Rs and a word that nobody else knows.

(defpackage "IMAGO-START" (:use "COMMON-LISP"))
(in-package "IMAGO-START")

(defvar *word* "" "What the lines that we tell begin with.")
(defvar *telling* nil
  "A stream of our own to standard output, so that a line is written in one piece.")
(defvar *lifeline* nil "What was standard input when the image began.")
(defvar *doing* "starting" "What is being done, for whoever has to wait for it.")
(defvar *main* nil "The thread that the image began with.")
(defvar *go* nil "Whether the daemon has said that the program may begin.")
(defvar *ready* nil "Whether the image can be spoken to.")

;;; Threads, descriptors and the end, for each implementation

(defun make-thread (function name)
  #+sbcl (sb-thread:make-thread function :name name)
  #+ecl (mp:process-run-function name function))

(defun this-thread ()
  #+sbcl sb-thread:*current-thread*
  #+ecl mp:*current-process*)

(defun thread-name ()
  #+sbcl (sb-thread:thread-name sb-thread:*current-thread*)
  #+ecl (mp:process-name mp:*current-process*))

(defun end-thread ()
  #+sbcl (sb-thread:abort-thread)
  #+ecl (mp:exit-process))

(defun ended-p (thread)
  #+sbcl (not (sb-thread:thread-alive-p thread))
  #+ecl (not (mp:process-active-p thread)))

(defun ending-p ()
  "Whether the image is about to end, and with it all threads. One that would make another then
waits for a minute, and cannot be ended."
  #+sbcl
  (let ((lock (find-symbol "*EXIT-LOCK*" "SB-IMPL")))
    (and lock (sb-thread:mutex-owner (symbol-value lock)))))

(defun leave ()
  "Ends the image in order, with its exit hooks. Hooks that do not return within 30 s are left
behind."
  (flet ((leave-behind ()
           (sleep 30)
           #+sbcl (sb-ext:exit :abort t)
           #+ecl (ext:quit 1)))
    (when (ending-p) (leave-behind))
    (make-thread #'leave-behind "imago: end")
    ;; On the main thread: from any other, SBCL would run the exit hooks twice.
    #+sbcl (sb-thread:interrupt-thread *main* (lambda () (sb-ext:exit :timeout 4)))
    #+ecl (ext:quit 0)))

#+sbcl
(defun utf-8-stream (descriptor direction buffering)
  (sb-sys:make-fd-stream descriptor :input (eq direction :input) :output (eq direction :output)
                                    :buffering buffering
                                    :external-format '(:utf-8 :replacement #\?)))

(defun take-descriptors ()
  "Keeps the lifeline, and a way to tell, where code that reads standard input or moves standard
output does not meet them."
  #+sbcl
  (flet ((dup (descriptor)
           (sb-alien:alien-funcall
            (sb-alien:extern-alien "dup" (function sb-alien:int sb-alien:int)) descriptor)))
    (setf *lifeline* (utf-8-stream (dup 0) :input :full)
          *telling* (utf-8-stream (dup 1) :output :full)
          sb-sys:*stdout* (utf-8-stream 1 :output :line)
          sb-sys:*stderr* (utf-8-stream 2 :output :line))
    (with-open-file (null "/dev/null" :element-type '(unsigned-byte 8))
      (sb-alien:alien-funcall
       (sb-alien:extern-alien "dup2" (function sb-alien:int sb-alien:int sb-alien:int))
       (sb-sys:fd-stream-fd null) 0)))
  #-sbcl
  (setf *lifeline* *standard-input*
        *telling* *standard-output*
        *standard-input* (make-concatenated-stream)))

;;; Telling the daemon

(defun one-line (text)
  (let ((end (min (length text) 1500)))
    (map 'string (lambda (character) (if (graphic-char-p character) character #\Space))
         (subseq text 0 end))))

(defun tell (kind &optional (text ""))
  (format *telling* "~C~A ~A ~A~%" (code-char 30) *word* kind (one-line text))
  (finish-output *telling*))

(defun begin (what)
  (setf *doing* what)
  (tell "doing" what))

;;; Errors that nobody handles

(defun text-of (condition)
  (handler-case (let ((*print-readably* nil) (*print-length* 50) (*print-level* 10))
                  (princ-to-string condition))
    (serious-condition () (format nil "a condition of type ~S" (type-of condition)))))

(defun print-error (condition)
  "Condition and backtrace, as a Lisp prints them that has no debugger."
  (ignore-errors
   (fresh-line *error-output*)
   (format *error-output* "Unhandled ~S~@[ in thread ~A~]:~%  ~A~%"
           (type-of condition) (unless (eq (this-thread) *main*) (thread-name)) (text-of condition))
   #+sbcl (sb-debug:print-backtrace :stream *error-output* :start 4 :count 40)
   #+ecl (si::tpl-backtrace)
   (finish-output *error-output*)))

(defun unhandled (condition hook)
  "Stands where the debugger would be entered: there is nobody at a terminal. Ends the thread, or
what the main thread does; before the image is ready, the image."
  (declare (ignore hook))
  (print-error condition)
  (cond ((not (eq (this-thread) *main*)) (end-thread))
        (*ready* (throw 'program (text-of condition)))
        (t (tell "broken" (format nil "~A: ~A" *doing* (text-of condition)))
           #+sbcl (sb-ext:exit :code 1 :abort t)
           #+ecl (ext:quit 1))))

(defun call-watched (function)
  "ECL would end the image at an error on the command line, before it looks for a debugger."
  #+ecl (handler-bind ((error (lambda (condition) (unhandled condition nil)))) (funcall function))
  #-ecl (funcall function))

(defun without-debugger ()
  (setf *debugger-hook* #'unhandled)
  #+sbcl (setf sb-ext:*invoke-debugger-hook* #'unhandled)
  #+ecl (setf ext:*invoke-debugger-hook* #'unhandled))

;;; The lifeline

(declaim (ftype function replace-lifeline))

(defun watch-lifeline (&optional (begun (constantly nil)))
  "Code that ends all threads but its own ends this one, too: another then takes its place. Calls
BEGUN as soon as that is so."
  (let ((over nil))
    (unwind-protect
         (progn
           (funcall begun)
           (loop for line = (ignore-errors (read-line *lifeline* nil))
                 while line
                 do (setf *go* t)
                 finally (setf over t)))
      (unless over (replace-lifeline)))
    (leave)))

(defun replace-lifeline ()
  "Has another thread watch the lifeline, and one more where that was ended before it had begun."
  (loop until (ending-p)
        do (let* ((begun nil)
                  (thread (make-thread (lambda () (watch-lifeline (lambda () (setf begun t))))
                                       "imago: lifeline")))
             (loop until (or begun (ended-p thread)) do (sleep 0.01))
             (when begun (return)))))

;;; The user's own surroundings

(defun load-as-user (file)
  (let ((*package* (find-package "COMMON-LISP-USER")))
    (load file)))

(defun init-files ()
  #+sbcl (list (funcall sb-ext:*sysinit-pathname-function*)
               (funcall sb-ext:*userinit-pathname-function*))
  #+ecl (list (or (probe-file "~/.ecl") (probe-file "~/.eclrc"))))

(defun load-init-files ()
  (dolist (file (init-files))
    (when (and file (probe-file file))
      (begin (format nil "loading ~A" file))
      (load-as-user file))))

(defun enter (root)
  "The folder that relative names are seen from."
  (setf *default-pathname-defaults*
        #+sbcl (sb-ext:parse-native-namestring root nil *default-pathname-defaults* :as-directory t)
        #-sbcl (pathname (concatenate 'string (string-right-trim "/" root) "/"))))

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

(defparameter *first-time*
  #+ecl "the first time, it is compiled by the C compiler, which takes a minute or two"
  #-ecl "the first time, it is compiled, which takes half a minute at most"
  "What is said of how long it takes.")

(defun load-from (folder)
  (begin (format nil "loading Swank from ~A (~A)" folder *first-time*))
  (require-asdf)
  (load-as-user (concatenate 'string (string-right-trim "/" folder) "/swank-loader.lisp"))
  (funcall (find-symbol "INIT" "SWANK-LOADER")))

(defun load-swank (given others)
  "From the folder GIVEN, else what the init file loaded, what ASDF knows, or the first of OTHERS."
  (cond (given (load-from given))
        ((loaded-p))
        ((known-to-asdf-p)
         (begin (format nil "loading Swank with ASDF (~A)" *first-time*))
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
  "Whether SECRET, of ASCII, comes as Swank frames a text. No more is read than that: what
strangers announce takes up no memory."
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

;;; The program

(defun run-program (file arguments)
  #+sbcl (setf sb-ext:*posix-argv* (list* "sbcl" "--script" file arguments))
  (tell "running")
  (let ((failure (catch 'program
                   (call-watched
                    (lambda ()
                      (load-as-user #+sbcl (sb-ext:parse-native-namestring file)
                                    #-sbcl file)))
                   nil)))
    (finish-output)
    (finish-output *error-output*)
    (if failure
        (tell "failed" failure)
        (tell "returned"))))

(defun rest-forever ()
  "The main thread has nothing more to do. Errors that are sent to it do not end the image."
  (loop (catch 'program (loop (sleep 3600)))))

(defun prepare (root given others)
  "Makes the image as the user would have it, with Swank."
  (enter root)
  (load-init-files)
  (without-debugger)
  (load-swank given others))

(defun start ()
  (setf *main* (this-thread))
  (without-debugger)
  (take-descriptors)
  (destructuring-bind (word secret root swank others script arguments)
      (let ((*read-eval* nil)) (read *lifeline*))
    (setf *word* word)
    (make-thread #'watch-lifeline "imago: lifeline")
    (call-watched (lambda () (prepare root swank others)))
    (let ((port (call-watched (lambda () (open-door secret)))))
      (setf *package* (find-package "COMMON-LISP-USER")
            *ready* t)
      (delete-package "IMAGO-START")
      (tell "listening" (format nil "~D ~D" port (funcall (backend "GETPID")))))
    (when script
      (loop until *go* do (sleep 0.01))
      (run-program script arguments))
    (rest-forever)))
