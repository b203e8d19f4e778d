;;;; What is done with a suspended evaluation: code runs in its frames, and it goes on or is left.

(in-package #:imago-peer)

;;; Suspended evaluations that are given up: each is told as ended when its stack has been left,
;;; with its cleanup forms. Until then it is listed, and busy.

(defparameter *cleanup-patience* 5
  "Seconds for which cleanup forms may run before they are interrupted, where somebody waits.")

(defparameter *between-interrupts* 400000
  "Microseconds for which a cleanup form that was interrupted is let be. A limit comes each half
second.")

(define-record leaving
  how message                           ; of its end
  since                                 ; as `microseconds' has it
  patience                              ; in seconds
  limit                                 ; of its cleanup forms; NIL: another sees to them
  interrupts                            ; how often they were interrupted
  first last                            ; when they were, as `since'; or NIL
  dropped)                              ; how many were not run

(defparameter *lost-text* "Its thread was ended, or was made to leave it by another.")

(defun be-left (suspension how message &optional patience)
  "Has SUSPENSION be told as ended by HOW and MESSAGE as soon as its stack has been left, unless
that is decided already. An error of its cleanup forms suspends nothing more. They are interrupted
when they run for longer than PATIENCE, in seconds; NIL: another sees to them."
  (unless (or (suspension-how suspension) (suspension-leaving suspension))
    (let* ((evaluation (suspension-evaluation suspension))
           (leaving (make-leaving how message (microseconds) patience nil 0 nil nil 0)))
      (setf (evaluation-suspends evaluation) nil
            (entry-call (evaluation-entry evaluation)) (sink-call (evaluation-sink evaluation))
            (suspension-leaving suspension) leaving)
      (unless (post-doing (suspension-post suspension))
        (begin-doing (suspension-post suspension) (sink-call (evaluation-sink evaluation))))
      (when (and patience (not (image-ends-p)))
        (setf (leaving-limit leaving)
              (begin-limit patience (lambda () (leave-once-more suspension))))))))

;;; Ways to be left

(defun end-as-seen (suspension noticed)
  "Has SUSPENSION, whose thread goes elsewhere, end, unless somebody has said how. NOTICED is the
condition that was signalled in its thread before, or NIL."
  (cond ((suspension-leaving suspension))
        (noticed
         (end-suspension suspension "resumed"
                         (format nil "The condition ~A, which was signalled in its thread, has ~
                                      taken it elsewhere." (condition-type-text noticed))))
        ((post-doing (suspension-post suspension))
         (end-suspension suspension "resumed" "Code that ran in it has taken it elsewhere."))
        ;; Whoever ends the thread waits for it.
        (t (be-left suspension "lost" *lost-text* *cleanup-patience*))))

(defun leave-at (suspension how message)
  "Has the evaluation that SUSPENSION has stopped end without a value."
  (loop for inner in (suspensions-at (suspension-post suspension))
        until (eq inner suspension)
        do (be-left inner "within" (within-text suspension)))
  (be-left suspension how message *cleanup-patience*)
  (leave-stack suspension))

(defun leave-stack (suspension)
  (funcall (suspension-leave suspension) "left"
           (object "message" (left-text (suspension-leaving suspension)))))

(defun let-be-p (leaving)
  "Whether the cleanup forms of LEAVING were interrupted just now."
  (and (leaving-last leaving)
       (< (- (microseconds) (leaving-last leaving)) *between-interrupts*)))

(defun leave-once-more (suspension)
  "In the thread of SUSPENSION, which is being left: ends the cleanup form that runs, unless it was
begun just now."
  (let ((leaving (suspension-leaving suspension)))
    (unless (or (suspension-how suspension) (let-be-p leaving))
      (incf (leaving-interrupts leaving))
      (setf (leaving-last leaving) (microseconds)
            (leaving-first leaving) (or (leaving-first leaving) (leaving-last leaving)))
      (if (eq *running-user-code* t)
          (leave-stack suspension)
          ;; It is taken as soon as that is over.
          (setf *interrupted* t)))))

(defun hurry (suspension)
  "Has the cleanup forms of SUSPENSION, which is being left, be interrupted now; NIL where they were
just before."
  (unless (let-be-p (suspension-leaving suspension))
    (swank/backend:interrupt-thread (post-thread (suspension-post suspension))
                                    (lambda () (leave-once-more suspension)))
    t))

(defun note-dropped (count)
  "So many cleanup forms of this thread were not run."
  (when *post*
    (dolist (suspension (suspensions-at *post*))
      (let ((leaving (suspension-leaving suspension)))
        (when leaving (incf (leaving-dropped leaving) count))))))

;;; Ends

(defun call-with-suspensions-ended (function)
  "The values of FUNCTION, which runs code of the user's. What was suspended in it ends with it."
  (let ((outer (and *post* (first (suspensions-at *post*)))))
    (unwind-protect (funcall function)
      (end-those-left outer))))

(defun end-those-left (outer)
  "Has all end whose stacks this thread has left: all that stand on OUTER, or all where it is NIL."
  (when *post*
    (loop for suspension in (suspensions-at *post*)
          until (eq suspension outer)
          do (let ((leaving (suspension-leaving suspension)))
               (when (and leaving (leaving-limit leaving)) (end-limit (leaving-limit leaving)))
               (if leaving
                   (end-suspension suspension (leaving-how leaving) (left-text leaving))
                   (end-suspension suspension "lost" *lost-text*))))))

(defun left-text (leaving)
  "Why that has ended which LEAVING is of, and what of its cleanup forms was not done."
  (let* ((first (leaving-first leaving))
         (seconds (and first (floor (- first (leaving-since leaving)) 1000000))))
    (format nil "~A~@[~A~]~@[~A~]"
            (leaving-message leaving)
            (and first
                 (format nil " Its cleanup forms were interrupted after ~[less than a second~:;~
                              ~:*~D s~]; what they had still to do was not done." seconds))
            (and (plusp (leaving-dropped leaving))
                 (format nil " It was kept from being left, so ~D of its cleanup forms ~
                              ~:*~[~;was~:;were~] not run." (leaving-dropped leaving))))))

(defun leaving-text (suspension)
  "For people: why SUSPENSION is being left, and what is in the way of that."
  (let* ((leaving (suspension-leaving suspension))
         (interrupts (leaving-interrupts leaving))
         (seconds (floor (milliseconds-since (leaving-since leaving)) 1000)))
    (format nil "~A It is being left, and its cleanup forms have run for ~D s~[; they are ~
                 interrupted after ~D s~*~:;~*; they were interrupted ~D time~:P, and still ~
                 hold it~]."
            (leaving-message leaving) seconds interrupts
            (or (leaving-patience leaving) *cleanup-patience*) interrupts)))

;;; What can be done in a frame of a suspended evaluation: code is evaluated there, and it returns,
;;; or begins again.

(defun frame-ways (frame)
  "The names of what can be done in FRAME, and why the rest cannot, a sentence each."
  (let ((can '()) (notes '()))
    (flet ((ask (way why-not)
             (if why-not (pushnew why-not notes :test #'string=) (push way can))))
      (ask "evaluate" (why-not-evaluate frame))
      (ask "return" (why-not-return frame))
      (ask "again" (why-not-again frame)))
    (values (reverse can) (reverse notes))))

(defun why-not-again (frame)
  "NIL, or why the function of FRAME cannot be called again."
  (or (why-not-return frame)
      (multiple-value-bind (function arguments) (call-of-frame frame)
        (cond ((null function)
               "It cannot begin again: it is no function that is called by a name.")
              ((or (find-if #'unprintable-p arguments) (rest-lost-p frame))
               "It cannot begin again: some of its arguments are not there any more.")
              ((some #'on-stack-p arguments)
               "It cannot begin again: some of its arguments are on the stack and end with it.")))))

(defun generic-function-of-method (name)
  "The generic function that a frame of that NAME is a method of, or NIL."
  (when (and (consp name)
             (member (first name) (list (native-symbol "SB-PCL" "FAST-METHOD")
                                        (native-symbol "SB-PCL" "SLOW-METHOD"))))
    (ignore-errors
     (let ((function (fdefinition (second name))))
       (and (typep function 'generic-function) function)))))

;;; Evaluating

(defun package-of-frame (frame)
  "The package that the function of FRAME was written in, as far as its name tells; else the one in
force there."
  (let* ((symbol (and frame (ignore-errors (function-symbol (frame-name frame)))))
         (package (and symbol (symbol-package symbol))))
    (if (and package (not (implementation-frame-p frame))
             (not (eq package (find-package "COMMON-LISP"))))
        package
        *package*)))

(defun readtable-in-frame ()
  "That of the package in force; one that has none leaves it as it is there."
  (or (package-readtable *package*) *readtable*))

(defun evaluate-text-in (frame source)
  "Evaluates the forms of SOURCE one after the other in FRAME, or nowhere where it is NIL. The
values of the last, as a list."
  (check-syntax source)
  (let ((values '()) (stream (make-string-input-stream source)))
    (loop (let ((start (next-form-start source (file-position stream))))
            (when (>= start (length source)) (return values))
            (setf - (read-next stream source start))
            (when frame (refuse-unkept frame - source start))
            (setf values (mapcar #'off-the-stack
                                 (multiple-value-list (if frame (evaluate-in frame -) (eval -)))))
            (note-values - values)))))

(defun refuse-unkept (frame form source start)
  "Ends the evaluation where FORM, which begins at START of SOURCE, would set what FRAME has not
kept."
  (let ((unkept (unkept-variables frame form)))
    (when unkept
      (refuse "malformed"
              (format nil "~{~A~^, ~} cannot be set: this frame has no such variable at this ~
                           point, for the compiler has not kept ~:[it~;them~], and no global ~
                           variable has that name. The form that begins at ~A was not run."
                      (mapcar #'symbol-text unkept) (rest unkept) (form-place source start))
              :what (symbol-text (first unkept))
              :next (format nil "Code that is compiled with (declaim (optimize debug)) keeps its ~
                                 variables. For a global variable evaluate defvar first.")))))

(defun off-the-stack (value)
  "VALUE, or what stands for it where it is gone with its frame."
  (if (on-stack-p value)
      (native ("SB-DEBUG" "REPLACE-DYNAMIC-EXTENT-OBJECT") value)
      value))

(defvar *frame* nil
  "The one in which code is evaluated now.")

(define-work "frame" (source)
  (let ((frame *frame*))
    (let* ((*package* (package-of-frame frame)) (*readtable* (readtable-in-frame)))
      (evaluate-text-in frame source))))

(defun call-at-suspension (name call function)
  "The tree that FUNCTION, which runs code of the user's under CALL, comes to in the thread of the
suspension of that NAME, of which it is called; or why it cannot."
  (let ((suspension (suspension-named name)))
    (flet ((gone ()
             (refused "not_found" (format nil "There is no suspended evaluation ~A: it has ended, ~
                                               or never was." name)
                      :what name :nearest (live-ids))))
      (if (null suspension)
          (gone)
          (let ((tree (answer-at (suspension-post suspension)
                                 (lambda ()
                                   (if (suspension-how suspension)
                                       (gone)
                                       (funcall function suspension)))
                                 call)))
            (cond ((null tree) (gone))
                  ((equal (part tree "type") "busy")
                   (refused "malformed" (format nil "Code runs in ~A now. Nothing else can be ~
                                                     asked of it until that has ended." name)
                            :what name))
                  (t tree)))))))

(defun no-frame (suspension number)
  "`Refused' for the frame of that NUMBER, or NIL where it is there."
  (unless (and (integerp number) (frame-at (suspension-walk suspension) number))
    (refused "malformed" (no-frame-text suspension number))))

(defun no-frame-text (suspension number)
  (let ((count (length (walk-frames (suspension-walk suspension)))))
    (format nil "~A has no frame ~A: ~:[its frames are 0 to ~D~;it has none of the program's~*~]."
            (suspension-id suspension) number (zerop count) (1- count))))

(defun frameless-p (suspension number)
  "Whether code that is to run in the frame of that NUMBER can run without: SUSPENSION has none."
  (and (eql number 0) (null (frame-at (suspension-walk suspension) 0))))

(defparameter *kept-text*
  "The code would have taken what is suspended elsewhere, by a restart, a throw or a return. It
was ended instead, and all is suspended as before; only resuming has it go on.")

(defun call-kept-in (suspension function otherwise)
  "The values of FUNCTION, which runs code in what SUSPENSION has stopped; those of OTHERWISE where
it would leave that, which only `resume' does: nobody would be told of what it comes to."
  (let ((values '()) (done nil))
    (block nil
      (unwind-protect
           (setf values (multiple-value-list (funcall function))
                 done t)
        (unless (or done
                    (suspension-how suspension)
                    (suspension-leaving suspension)
                    (image-ends-p))
          (return))))
    (if done (values-list values) (funcall otherwise))))

(defun evaluate-in-frame (work arguments)
  "Does WORK in the frame that ARGUMENTS name."
  (let ((number (or (argument "frame" arguments) 0)))
    (call-at-suspension
     (argument "suspension" arguments) (argument "call" arguments)
     (lambda (suspension)
       (or (and (not (frameless-p suspension number)) (no-frame suspension number))
           (let* ((*frame* (frame-at (suspension-walk suspension) number))
                  (why-not (and *frame* (why-not-evaluate *frame*))))
             (if why-not
                 (refused "malformed" why-not)
                 (call-kept-in suspension
                               (lambda () (perform-interruptibly work arguments))
                               (lambda () (left-tree *kept-text*))))))))))

;;; How a suspended evaluation goes on: by a restart, by a frame that returns or begins again, or
;;; to its end.

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
          (evaluation-suspends evaluation) (argument "suspend" arguments)
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
                   (let* ((*package* (package-of-frame frame))
                          (*readtable* (readtable-in-frame)))
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
