;;;; Bounded text: what is made is never longer than it may be, and says how much there was.

(in-package #:imago)

(defparameter *text-limit* 4096
  "Characters of one text in an answer.")

(defun one-line (text &optional (limit 200))
  "TEXT with each run of white space as one blank, LIMIT characters at most."
  (let* ((words (substitute-if #\Space
                               (lambda (char) (member char '(#\Newline #\Return #\Tab #\Page)))
                               text))
         (short (string-trim " " words)))
    (if (> (length short) limit)
        (concatenate 'string (subseq short 0 (1- limit)) "…")
        short)))

(defun text-tree (text &key (limit *text-limit*) (total (length text)))
  "TEXT as `Text' of wire/contract/values.ts, cut after LIMIT characters; the handle leads to all of it. TOTAL is NIL
where knowing it would have cost more than looking."
  (let ((cut (or (null total) (> (length text) limit) (> total (length text)))))
    (object "text" (if (> (length text) limit) (subseq text 0 limit) text)
            "truncated" (truth cut)
            "original_len" total
            "handle" (if (> (length text) limit) (handle-for-text text) :absent))))
