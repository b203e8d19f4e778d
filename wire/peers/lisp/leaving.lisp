;;;; Suspended evaluations that are given up: each is told as ended when its stack has been left,
;;;; with its cleanup forms. Until then it is listed, and busy.

(in-package #:imago-peer)

(defparameter *cleanup-patience* 5
  "Seconds for which cleanup forms may run before they are interrupted, where somebody waits.")

(defparameter *expired-patience* 30
  "The same, where nobody came: nobody waits for that.")

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
      (setf (evaluation-lease evaluation) nil
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
  (be-left suspension how message
           (if (string= how "expired") *expired-patience* *cleanup-patience*))
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
