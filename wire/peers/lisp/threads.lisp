;;;; The threads of the image.

(in-package #:imago-peer)

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

(defun main-thread-p (thread)
  #+sbcl (eq thread (sb-thread:main-thread))
  #-sbcl (eq thread (first (last (swank/backend:all-threads)))))

(defun connection-threads (connection)
  "Those in which Swank serves CONNECTION."
  (and (swank::multithreaded-connection-p connection)
       (append (own-threads connection) (swank::mconn.active-threads connection))))

(defun thread-text (thread)
  "The name of THREAD, which some implementations keep as a symbol."
  (let ((name (swank/backend:thread-name thread)))
    (if (typep name '(or string symbol)) (string name) (static-text name 100))))

(defun stack-tree (thread)
  "THREAD as `Stack' of wire/contract/activity.ts."
  (let ((alive (swank/backend:thread-alive-p thread)))
    (object "names" (array-of (list (one-line (thread-text thread))))
            "count" 1
            "state" (if alive "running" "finished")
            "waits_for" (and alive (awaited thread))
            "role" (thread-role thread)
            "frames" (array-of '())
            "frames_omitted" 0)))

(defun awaited (thread)
  "What THREAD waits for, where that can be told without stopping it."
  (declare (ignorable thread))
  #+sbcl
  (let ((thing (ignore-errors (native ("SB-THREAD" "THREAD-WAITING-FOR") thread))))
    (and thing (static-text (if (consp thing) (rest thing) thing) 100))))

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
                   "notes" (array-of
                            (list (format nil "The stacks of other threads are not told: to ~
                                               look at one, a Lisp has to stop it, and a look ~
                                               stops nothing.")))))))
