;;;; How a suspended evaluation goes on: by a restart, by a frame that returns or begins again, or
;;;; to its end.

(in-package #:imago-peer)

;;; Each way is a function of the suspension and the arguments of the call. Its values are `Refused'
;;; or another tree of what has come in the way, and what is to be done when that was answered: a
;;; function that leaves from where it is called.

(defun resumed-on (suspension arguments message function)
  "Accepted: FUNCTION is to be called, by which SUSPENSION ends as MESSAGE says. What somebody else
has begun comes to its end before them, and not here."
  (let ((handed-over (handed-over-p suspension)))
    (values (if handed-over
                (object "type" "done" "values" (array-of '()) "elapsed_ms" 0)
                (object "type" "accepted"))
            (lambda ()
              (end-those-within suspension)
              (end-suspension suspension "resumed" message)
              (cond (handed-over (funcall function))
                    (t (go-on suspension arguments)
                       (call-as-suspended-code suspension function)))))))

(defun handed-over-p (suspension)
  "Whether it is the error of somebody else, who has put it before us."
  (null (suspension-call suspension)))

(defun call-as-suspended-code (suspension function)
  "Calls FUNCTION as the code that SUSPENSION has stopped would call it."
  (let ((*evaluation* (suspension-evaluation suspension))
        (*entry* (evaluation-entry (suspension-evaluation suspension)))
        (*leave* (suspension-leave suspension))
        (*running-user-code* t))
    (swank/backend:call-with-debugger-hook #'enter-debugger function)))

(defun go-on (suspension arguments)
  "Has the evaluation that SUSPENSION has stopped be known by the call of ARGUMENTS from now on."
  (let* ((evaluation (suspension-evaluation suspension))
         (record (evaluation-record evaluation))
         (call (argument "call" arguments)))
    (unless (equal call (sink-call (evaluation-sink evaluation)))
      (setf (sink-call (evaluation-sink evaluation)) call
            (evaluation-start evaluation) (microseconds))
      (when (argument "who" arguments) (setf (record-who record) (argument "who" arguments)))
      (send-started (evaluation-sink evaluation)))
    (setf (entry-call (evaluation-entry evaluation)) call
          (evaluation-lease evaluation) (argument "suspend" arguments)
          (record-outcome record) "running"
          *interrupted* nil)
    (begin-doing (suspension-post suspension) call)))

;;; Values that are given

(defun unreadable (source)
  "`Refused' where SOURCE, a value, is no text of forms; else NIL."
  (flet ((no (message)
           (refused "malformed" (format nil "The value cannot be read, and nothing was done. ~A"
                                        message))))
    (cond ((not (stringp source)) (no "There is none."))
          ((>= (next-form-start source) (length source)) (no "There is no form in it."))
          ;; What is nested too deeply to be looked through ends as any code of the user's does.
          (t (multiple-value-bind (condition start)
                 (call-contained (lambda () (unreadable-form source)) (constantly nil))
               (and condition (no (syntax-message condition source start))))))))

(defun call-deciding (suspension arguments function)
  "The values of FUNCTION, code of the user's that runs before SUSPENSION goes on, as a list; or NIL
and, as a tree, what else it has come to. The suspension stays."
  (let* ((*evaluation* (suspension-evaluation suspension))
         (*entry* (evaluation-entry *evaluation*))
         (*diagnostics* '())
         (sink (evaluation-sink *evaluation*))
         (output (sink-output sink))
         (before (in-force)))
    (go-on suspension arguments)
    (multiple-value-bind (outcome result)
        (unwind-protect
             (with-streams (sink)
               (call-kept-in
                suspension
                (lambda ()
                  (call-with-user-code (lambda () (call-in-listener nil function))))
                (lambda () (values "left" (object "message" *kept-text*)))))
          (send-what-waits sink)
          (setf (sink-output sink) output
                (entry-call *entry*) nil
                (record-outcome (evaluation-record *evaluation*)) "suspended"))
      (if (string= outcome "done")
          (values (first result) nil)
          (values nil
                  (evaluated-tree outcome result
                                  (milliseconds-since (evaluation-start *evaluation*)) before))))))

(defun values-in-frame (suspension frame arguments)
  "The same, of the value that ARGUMENTS have, evaluated in FRAME where that can be done."
  (call-deciding suspension arguments
                 (lambda ()
                   (let ((*package* (package-of-frame frame)))
                     (evaluate-text-in (and frame (not (why-not-evaluate frame)) frame)
                                       (argument "value" arguments))))))

;;; Ways

(defun by-restart (suspension arguments)
  "By the restart of that number, with the values of the code that is given; where none is given,
and it reads its values itself, with those. Refused: no such restart, and a value that does not
read."
  (let* ((number (argument "restart" arguments))
         (choices (suspension-choices suspension))
         (restart (and (integerp number) (>= number 0) (nth number choices)))
         (source (argument "value" arguments))
         (frame (frame-at (suspension-walk suspension) 0)))
    (cond ((null restart)
           (refused "not_found" (format nil "~A has no restart ~A."
                                          (suspension-id suspension) number)
                    :what (format nil "~A" number)
                    :nearest (loop for tree in (suspension-restarts suspension)
                                   for count from 0
                                   collect (format nil "~D ~A" count (part tree "name")))))
          (source (or (unreadable source)
                      (by-restart-with suspension restart arguments
                                       (lambda () (values-in-frame suspension frame arguments)))))
          ((restart-reader restart)
           (by-restart-with suspension restart arguments
                            (lambda ()
                              (call-deciding suspension arguments
                                             (lambda ()
                                               (list-or-error
                                                (funcall (restart-reader restart))))))))
          (t (by-restart-with suspension restart arguments)))))

(defun list-or-error (value)
  "What a restart's own function has read, which has to be a list of values."
  (if (listp value) value (error 'type-error :datum value :expected-type 'list)))

(defun why-not-given (restart values)
  "For people, where RESTART is known not to take so many VALUES; else NIL. What it calls would
signal an error in the middle of ours."
  (multiple-value-bind (known least most) (restart-arity restart)
    (let ((count (length values)))
      (when (and known (or (< count least) (and most (> count most))))
        (format nil "The restart ~(~A~) takes ~A, and was given ~:[~D~;none~]."
                (restart-name restart) (arity-text least most) (zerop count) count)))))

(defun arity-text (least most)
  (cond ((null most) (format nil "at least ~D value~:P" least))
        ((eql most 0) "no values")
        ((= least most) (format nil "~D value~:P" least))
        (t (format nil "~D to ~D values" least most))))

(defun restart-arity (restart)
  "Whether it is known what RESTART takes, and how many values at least, and at most: NIL where
there is no such number."
  #-sbcl (progn restart nil)
  #+sbcl
  (let* ((function (native ("SB-KERNEL" "RESTART-FUNCTION") restart))
         (list (if (functionp function)
                   (if-known (sb-kernel:%fun-lambda-list (sb-kernel:%fun-fun function)) :unknown)
                   :unknown)))
    (when (and (listp list) (ignore-errors (list-length list)))
      (let* ((least (or (position-if (lambda (item) (member item lambda-list-keywords)) list)
                        (length list)))
             (rest (nthcdr least list))
             (optional (and (eq (first rest) '&optional)
                            (or (position-if (lambda (item) (member item lambda-list-keywords))
                                             (rest rest))
                                (length (rest rest))))))
        (values t
                least
                (if (intersection rest '(&rest &key &body &aux sb-int:&more))
                    nil
                    (+ least (or optional 0))))))))

(defun by-restart-with (suspension restart arguments &optional function)
  "Takes RESTART with the values of FUNCTION, as `call-deciding' gives them, or with none. Where
RESTART is known to take more or fewer: raised, for code of the user's has run; refused where there
is no FUNCTION."
  (multiple-value-bind (values tree) (and function (funcall function))
    (let ((why-not (and (null tree) (why-not-given restart values))))
      (cond (tree)
            ((and why-not function) (not-given-tree suspension why-not))
            (why-not (refused "malformed" (format nil "~A It was not taken." why-not)))
            (t (resumed-on suspension arguments
                           (format nil "It goes on by the restart ~A." (restart-name restart))
                           (lambda () (apply #'invoke-restart restart values))))))))

(defun not-given-tree (suspension why-not)
  "What the code of a value has come to whose values the restart does not take."
  (let ((message (format nil "~A The code that gave them has run; the restart was not taken, ~
                              and ~A waits as before." why-not (suspension-id suspension))))
    (object "type" "raised"
            "exception" (raised-object (make-condition 'simple-error :format-control "~A"
                                                       :format-arguments (list message))
                                       message '() '())
            "elapsed_ms" (milliseconds-since
                          (evaluation-start (suspension-evaluation suspension))))))

(defun by-return (suspension arguments)
  "By the frame of that number, which returns the values of the code that is given. Refused: a frame
that cannot return, and a value that does not read. That the frame is there was looked at."
  (let* ((number (argument "frame" arguments))
         (frame (frame-at (suspension-walk suspension) number))
         (why-not (why-not-return frame)))
    (or (and why-not (refused "malformed" why-not))
        (unreadable (argument "value" arguments))
        (multiple-value-bind (values tree) (values-in-frame suspension frame arguments)
          (or tree
              (resumed-on suspension arguments
                          (format nil "Its frame ~D has returned." number)
                          (lambda ()
                            (native ("SB-DEBUG" "UNWIND-TO-FRAME-AND-CALL")
                                    frame (lambda () (values-list values))))))))))

(defun by-calling-again (suspension arguments)
  "By the function of the frame of that number, as it is now, called with the same arguments.
Refused: a frame that cannot begin again. That the frame is there was looked at."
  (let* ((number (argument "frame" arguments))
         (frame (frame-at (suspension-walk suspension) number))
         (why-not (why-not-again frame)))
    (if why-not
        (refused "malformed" why-not)
        (multiple-value-bind (function given) (call-of-frame frame)
          (resumed-on suspension arguments
                      (format nil "The function of its frame ~D is called again." number)
                      (lambda ()
                        (native ("SB-DEBUG" "UNWIND-TO-FRAME-AND-CALL")
                                frame
                                (lambda ()
                                  (declare (optimize (debug 0)))
                                  (apply function given)))))))))

(defun by-leaving (suspension arguments)
  "To the end of its evaluation, which has no value; what somebody has handed over goes back to
them."
  (if (handed-over-p suspension)
      (values (left-tree "It was given back to its owner, in whose debugger it waits as before.")
              (lambda () (leave-at suspension "left" "It was given back to its owner.")))
      (values (object "type" "accepted")
              (lambda ()
                (go-on suspension arguments)
                (leave-at suspension "left" "It was left, on request.")))))

(defun left-already (name)
  "What is answered where the suspension of that NAME is being left: its cleanup forms are
interrupted, as whoever leaves it once more must want; else NIL."
  (let ((suspension (suspension-named name)))
    (when (and suspension (suspension-leaving suspension))
      (left-tree (format nil "It is being left already. The cleanup form that runs there was ~
                              interrupted ~:[less than half a second ago~;now~]."
                         (hurry suspension))))))

(define-call "resume" (suspension call who way restart frame value suspend)
  (let ((arguments (list "call" call "who" who "restart" restart "frame" frame "value" value
                         "suspend" suspend)))
    (or (and (equal way "leave") (left-already suspension))
        (call-at-suspension
         suspension call
         (lambda (it)
           (or (and (member way '("return" "again") :test #'equal) (no-frame it frame))
               (cond ((equal way "restart") (by-restart it arguments))
                     ((equal way "return") (by-return it arguments))
                     ((equal way "again") (by-calling-again it arguments))
                     ((equal way "leave") (by-leaving it arguments))
                     (t (refused "malformed" (format nil "There is no way ~A." way))))))))))

(defun leave-all-suspended ()
  "Has all that waits here end, and gives the threads that it waits on."
  (let ((posts (remove-duplicates
                (mapcar (lambda (suspension) (suspension-post suspension)) *suspensions*))))
    (dolist (post posts)
      (put-job post (make-job (lambda ()
                                (values (object)
                                        (lambda ()
                                          (leave-at (first (last (suspensions-at post))) "left"
                                                    "Imago has left the image."))))
                              nil :waiting nil (make-bell) (swank/backend:current-thread))))
    (mapcar (lambda (post) (post-thread post)) posts)))
