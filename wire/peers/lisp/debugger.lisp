;;;; Looking at suspended evaluations: which there are, their restarts, and their frames.

(in-package #:imago-peer)

(defparameter *page-frames* 200
  "Frames of one answer.")

(defparameter *lines-around* 5
  "Lines that are shown before and after the one where a frame stands.")

(defun suspension-named (name)
  "The suspension of that NAME, or NIL."
  (find name *suspensions* :key (lambda (suspension) (suspension-id suspension)) :test #'equal))

(defun live-ids ()
  (mapcar (lambda (suspension) (suspension-id suspension)) *suspensions*))

(defun not-suspended (name)
  (not-found name (live-ids)))

(defun look-at (name function)
  "What FUNCTION, a look, comes to in the thread of the suspension of that NAME, of which it is
called. Ends the look where there is none, or code runs in it."
  (let* ((suspension (or (suspension-named name) (not-suspended name)))
         (deadline *deadline*)
         (milliseconds *deadline-ms*))
    (answer
     (or (answer-at (suspension-post suspension)
                    (lambda ()
                      (let ((*deadline* deadline) (*deadline-ms* milliseconds))
                        (when (suspension-how suspension) (not-suspended name))
                        (call-undisturbed
                         (lambda () (with-file-texts (funcall function suspension)))))))
         (not-suspended name)))))

(define-call "suspensions" ()
  (found (object "suspensions" (array-of (mapcar #'suspension-tree *suspensions*)))))

(define-call "suspension" (suspension from count)
  (look-at suspension (lambda (it) (found (state-tree it (or from 0) (or count 20))))))

(define-call "frame" (suspension frame)
  (look-at suspension (lambda (it) (found (whole-frame-tree it (or frame 0))))))

;;; Trees

(defun state-tree (suspension from count)
  "A page of the stack of SUSPENSION, as `SuspendedState' of wire/contract/suspensions.ts."
  (let ((walk (suspension-walk suspension)) (from (max 0 from)))
    (multiple-value-bind (frames more) (frames-from walk from (max 0 (min count *page-frames*)))
      (object "suspension" (suspension-tree suspension)
              "restarts" (array-of (suspension-restarts suspension))
              "frames" (array-of (loop for frame in frames
                                       for number from from
                                       do (check-deadline)
                                       collect (apply #'object (stack-frame-keys frame number))))
              "next" (and more (+ from (length frames)))
              "frames_total" (frames-total walk)))))

(defun stack-frame-keys (frame number)
  "`StackFrame' for FRAME, as keys and values."
  (multiple-value-bind (file line source) (frame-place frame)
    (list "number" number
          "function" (function-text (frame-name frame))
          "call" (one-line (call-text frame))
          "file" file "line" line "source" source
          "implementation" (if (implementation-frame-p frame) t :absent))))

(defun frame-numbered (suspension number)
  "The frame of SUSPENSION with that NUMBER. Ends the look where there is none."
  (or (frame-at (suspension-walk suspension) number)
      (malformed "~A" (no-frame-text suspension number))))

(defun whole-frame-tree (suspension number)
  "One frame, as `SuspendedFrame' of wire/contract/suspensions.ts."
  (let ((frame (frame-numbered suspension number)))
    (multiple-value-bind (locals omitted) (frame-variables frame)
      (multiple-value-bind (can notes) (frame-ways frame)
        (apply #'object
               (append (stack-frame-keys frame number)
                       (list "locals" (array-of locals)
                             "locals_omitted" omitted
                             "around" (around frame)
                             "can" (array-of can)
                             "notes" (array-of notes))))))))

(defun around (frame)
  "The lines around the place of FRAME, or NIL."
  (multiple-value-bind (file line source text position) (frame-place frame)
    (declare (ignore file source))
    (when (and text position)
      (let* ((position (min position (length text)))
             (above (count #\Newline text :end position))
             (skip (max 0 (- above *lines-around*))))
        (object "first_line" (- (or line (1+ above)) (- above skip))
                "lines" (array-of (lines-of text skip (+ above *lines-around* 1))))))))

(defun lines-of (text from to)
  "The lines of TEXT from the number FROM, counted from 0, to before TO, each cut."
  (let ((text (string-right-trim '(#\Newline) text)))
    (loop for start = 0 then (1+ end)
          for end = (or (position #\Newline text :start (min start (length text))) (length text))
          for number from 0 below to
          when (>= number from)
            collect (cut (string-right-trim '(#\Return) (subseq text start end)) 300)
          until (>= end (length text)))))

;;; Variables

(defun stack-value-tree (value)
  "`Shown' for VALUE, to which no handle can lead."
  (multiple-value-bind (text elided) (static-text value)
    (object "repr" (object "text" text "truncated" (truth elided)
                           "original_len" (if elided nil (length text)))
            "type" (type-tree (class-of value)))))
