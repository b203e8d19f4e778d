;;;; Which image this is, what can be done in it, and its threads.

(in-package #:imago-peer)

;;; The threads of the image.

(defun thread-role (thread)
  "What THREAD is there for: main, evaluating, imago or user."
  (let ((connection swank::*emacs-connection*))
    (cond ((member thread *evaluating-threads*) "evaluating")
          ((or (eq thread (swank/backend:current-thread))
               ;; Those of an image that Imago has started: see start.lisp.
               (eql 0 (search "imago: " (thread-text thread)))
               (member thread (connection-threads connection)))
           "imago")
          ((main-thread-p thread) "main")
          (t "user"))))

(defun connection-threads (connection)
  "Those in which Swank serves CONNECTION."
  (and (swank::multithreaded-connection-p connection)
       (append (own-threads connection) (swank::mconn.active-threads connection))))

(defun thread-text (thread)
  "The name of THREAD, which some implementations keep as a symbol."
  (let ((name (swank/backend:thread-name thread)))
    (if (typep name '(or string symbol)) (string name) (static-text name 100))))

(defun stack-tree (thread)
  "THREAD as `Stack' of wire/contract/inspection.ts."
  (let* ((alive (swank/backend:thread-alive-p thread)) (awaited (and alive (awaited thread))))
    (object "names" (array-of (list (one-line (thread-text thread))))
            "count" 1
            "state" (cond ((not alive) "finished") (awaited "waiting") (t "running"))
            "waits_for" awaited
            "role" (thread-role thread)
            "frames" (array-of '())
            "frames_omitted" 0)))

(define-call "threads" (filter limit)
  (let* ((trees (loop for thread in (swank/backend:all-threads)
                      when (or (null filter)
                               (search filter (thread-text thread) :test #'char-equal))
                        collect (stack-tree thread)))
         (told (subseq trees 0 (min (or limit (length trees)) (length trees)))))
    (found (object "threads" (array-of told)
                   "tasks" (array-of '())
                   "threads_total" (count "imago" trees :test #'string/=
                                                        :key (lambda (tree) (part tree "role")))
                   "tasks_total" 0
                   "omitted" (- (length trees) (length told))
                   "deadlocks" (array-of
                                (loop for circle in (deadlocks)
                                      collect (array-of (loop for thread in circle
                                                              collect (one-line
                                                                       (thread-text thread))))))
                   "notes" (array-of
                            (list (format nil "The stacks of other threads are not told: to ~
                                               look at one, a Lisp has to stop it, and a look ~
                                               stops nothing.")))))))

;;; Which image this is, and what can be done in it: by what is there, never by a version.

(defun implementation-text ()
  "For people: SBCL 2.2.9, ECL 21.2.1."
  (format nil "~A ~A" (lisp-implementation-type) (lisp-implementation-version)))

(defun style-text ()
  "How Swank serves this connection: spawn, sigio, fd-handler, or NIL."
  (let ((style (swank::connection.communication-style swank::*emacs-connection*)))
    (and style (string-downcase (symbol-name style)))))

(defun process-start ()
  "When this process began, in ticks since the machine did; NIL where there is no /proc to tell."
  (ignore-errors
   (with-open-file (stream #p"/proc/self/stat" :external-format :latin-1 :if-does-not-exist nil)
     (when stream
       (let* ((line (read-line stream))
              ;; The program's name is in parentheses and may hold anything; field 3 follows it.
              (at (+ 2 (position #\) line :from-end t))))
         (loop repeat 19 do (setf at (1+ (position #\Space line :start at))))
         (parse-integer line :start at :junk-allowed t))))))

(defun epoch-token ()
  "The same for all connections during one life of the image, and another for any other image."
  (format nil "~D:~@[~D~]:~A" (swank/backend:getpid) (process-start) (machine-instance)))

(defun implemented-p (interface)
  "Whether the backend of Swank has a function of its own for INTERFACE, one of its symbols."
  (and (get interface 'swank/backend::implementation) t))

(defun asdf-at-hand-p ()
  "Whether ASDF is loaded, or comes with the implementation and can be required. Loads nothing."
  (or (find-package "ASDF") (asdf-file)))

(defun testable-p ()
  "Whether tests of some framework can be run."
  (or (asdf-at-hand-p) (find-package "FIVEAM") (find-package "PARACHUTE")))

(defun threads-p ()
  (and (implemented-p 'swank/backend:all-threads) (swank/backend:all-threads) t))

(defun can-do-p (ability)
  "Whether this image has what ABILITY, a name of wire/kernel.ts, needs beyond our own code for it."
  (flet ((is (&rest names) (member ability names :test #'string=)))
    (cond ((and (is "load" "reload" "compile" "expand" "system" "tests")
                (not (gethash ability *works*)))
           nil)
          ((is "system") (asdf-at-hand-p))
          ((is "tests") (testable-p))
          ((is "references" "callers") (implemented-p 'swank/backend:who-calls))
          ((is "threads") (threads-p))
          ;; ECL keeps places of what it has compiled from files alone, and no text at all.
          ((is "definition") (keeps-sources-p))
          ((is "trace" "untrace" "traces") (threads-p))
          ;; On the one thread of another style, nothing reads the request while something runs.
          ;; A suspended evaluation would keep the only thread.
          ((is "interrupt" "suspend" "suspensions" "suspension" "frame" "theirs" "adopt"
               "errors")
           (equal (style-text) "spawn"))
          (t t))))

(defparameter *asked-by-name*
  '("evaluate" "globals" "inspect" "more" "definition" "describe" "arglist" "apropos" "slots"
    "hierarchy" "symbols" "references" "threads" "history" "last_error" "errors" "complete"
    "suspensions" "suspension" "frame" "theirs" "adopt" "trace" "untrace" "traces")
  "Abilities that are calls of this peer.")

(defparameter *works-by-name* '("load" "reload" "compile" "expand" "system" "tests")
  "Abilities that are kinds of work.")

(defun abilities ()
  "The names of what can be done here, as wire/kernel.ts spells them."
  (flet ((those (names table)
           (remove-if-not (lambda (name) (gethash name table)) names)))
    (remove-if-not #'can-do-p
                   (append (those *asked-by-name* *calls*)
                           (those *works-by-name* *works*)
                           '("packages" "callers" "interrupt" "ask" "suspend")))))

(define-call "identity" (errors)
  (when errors (watched-servers :begin))
  (object "implementation" (implementation-text)
          "style" (style-text)
          "pid" (swank/backend:getpid)
          "epoch_token" (epoch-token)
          "servers" (array-of (watched-servers))
          "abilities" (array-of (abilities))))
