;;;; Bounded text: what is made is never longer than it may be, and says how much there was.

(in-package #:imago-peer)

(defparameter *text-limit* 4096
  "Characters of one text in an answer.")

(defparameter *kept-limit* (* 256 1024)
  "Characters that are kept of a longer text, for whoever reads on.")

(defun cut (text limit)
  "TEXT, with an ellipsis for its end where it is longer than LIMIT characters."
  (if (> (length text) limit)
      (concatenate 'string (subseq text 0 (max 0 (1- limit))) "…")
      text))

(defun one-line (text &optional (limit 200))
  "TEXT on one line, LIMIT characters at most."
  (let ((blanks '(#\Space #\Newline #\Return #\Tab #\Page)))
    (flet ((blank-p (char) (member char blanks)))
      (let* ((start (or (position-if-not #'blank-p text) (length text)))
             (end (min (length text) (+ start limit 1)))
             (line (substitute-if #\Space #'blank-p (subseq text start end))))
        (if (< end (length text))
            (cut line limit)
            (cut (string-right-trim " " line) limit))))))

(defun text-tree (text &key (limit *text-limit*) (total (length text)))
  "TEXT as `Text' of wire/contract/values.ts, cut after LIMIT characters; the handle leads to all of
it. TOTAL is NIL where knowing it would have cost more than looking."
  (let ((cut (or (null total) (> (length text) limit) (> total (length text)))))
    (object "text" (if (> (length text) limit) (subseq text 0 limit) text)
            "truncated" (truth cut)
            "original_len" total
            "handle" (if (> (length text) limit) (handle-for-text text) :absent))))
