;;;; Where forms begin and end in a text, and where their parts stand: found without the reader, so
;;;; that nothing is interned and nothing runs.

(in-package #:imago-peer)

;;; By the standard syntax: a reader macro of the user's is part of an atom here.

(defun token-char-p (char)
  (declare (type character char))
  (not (or (char<= char #\Space) (find char "()'\"`,;"))))

(defun line-end (text index)
  (or (position #\Newline text :start (min index (length text))) (length text)))

(defun comment-end (text index)
  "Where the block comment that begins at INDEX ends; NIL where nothing ends it."
  (loop with depth = 0
        while (< (1+ index) (length text))
        do (cond ((and (char= (char text index) #\#) (char= (char text (1+ index)) #\|))
                  (incf depth)
                  (incf index 2))
                 ((and (char= (char text index) #\|) (char= (char text (1+ index)) #\#))
                  (decf depth)
                  (incf index 2)
                  (when (zerop depth) (return index)))
                 (t (incf index)))))

(defun string-end (text index quote)
  "Where what begins with QUOTE at INDEX, a string or a |name|, ends."
  (loop do (incf index)
           (cond ((>= index (length text)) (return (length text)))
                 ((char= (char text index) #\\) (incf index))
                 ((char= (char text index) quote) (return (1+ index))))))

(defun token-end (text index)
  (loop while (and (< index (length text)) (token-char-p (char text index)))
        do (case (char text index)
             (#\\ (incf index 2))
             (#\| (setf index (string-end text index #\|)))
             (t (incf index))))
  (min index (length text)))

(defun dispatch-end (text index)
  "Where what follows a sharp sign at INDEX goes on with a form, or NIL and where it ends as a
token of its own."
  (let ((next (or (position-if-not #'digit-char-p text :start (1+ index)) (length text))))
    (if (>= next (length text))
        (values nil (length text))
        (case (char text next)
          (#\\ (values nil (token-end text (min (length text) (+ next 2)))))
          ((#\: #\* #\b #\B #\o #\O #\x #\X #\r #\R) (values nil (token-end text next)))
          (#\# (values nil (1+ next)))
          ((#\( #\") (values next nil))
          (t (values (1+ next) nil))))))

(defun form-end (text start)
  "Where the form of TEXT that begins at START ends; the end of the text where a bracket is
missing."
  (let ((text (coerce text 'simple-string)) (index start) (depth 0) (steps 0))
    (declare (type simple-string text) (type fixnum index depth steps))
    (loop
      (when (>= index (length text)) (return (length text)))
      (when (zerop (logand (incf steps) 4095)) (check-deadline))
      (let ((char (schar text index)) (done nil))
        (case char
          (#\( (incf index) (incf depth))
          (#\) (incf index) (decf depth) (setf done t))
          (#\" (setf index (string-end text index #\") done t))
          (#\; (setf index (line-end text index)))
          ((#\' #\` #\,) (incf index)
           (when (and (char= char #\,) (< index (length text)) (find (schar text index) "@."))
             (incf index)))
          (#\# (if (and (< (1+ index) (length text)) (char= (schar text (1+ index)) #\|))
                   (setf index (or (comment-end text index) (length text)))
                   (multiple-value-bind (next end) (dispatch-end text index)
                     (if next (setf index next) (setf index end done t)))))
          (t (if (char<= char #\Space)
                 (incf index)
                 (setf index (max (1+ index) (token-end text index)) done t))))
        (when (and done (<= depth 0)) (return (min index (length text))))))))

(defun featurep (expression)
  "Whether the feature EXPRESSION, a word or list of `words-of', holds here."
  (flet ((is (word symbol) (string-equal (bare-word word) (symbol-name symbol))))
    (cond ((stringp expression)
           (some (lambda (feature) (and (symbolp feature) (is expression feature))) *features*))
          ((stringp (first expression))
           (let ((operator (first expression)))
             (cond ((is operator 'and) (every #'featurep (rest expression)))
                   ((is operator 'or) (some #'featurep (rest expression)))
                   ((is operator 'not) (not (featurep (second expression))))))))))

(defun next-form-start (text &optional (index 0))
  "Where TEXT goes on from INDEX on, past blanks and comments: with a form, or with what tells for
which features the next one is. The length of TEXT where it ends."
  (loop
    (check-deadline)
    (let* ((start (or (position-if (lambda (char) (char> char #\Space)) text
                                   :start (min index (length text)))
                      (return (length text))))
           (next (if (< (1+ start) (length text)) (char text (1+ start)) #\Space)))
      (cond ((char= (char text start) #\;) (setf index (line-end text start)))
            ;; What nothing ends is left to the reader, to be told.
            ((and (char= (char text start) #\#) (char= next #\|))
             (setf index (or (comment-end text start) (return start))))
            (t (return start))))))

(defun form-start (text index)
  "Where the next form of TEXT from INDEX on begins, or a list ends: past blanks, comments, and what
the features of this image leave out; NIL where there is none."
  (loop with left-out = 0
        for start = (next-form-start text index)
        for next = (if (< (1+ start) (length text)) (char text (1+ start)) #\Space)
        do (cond ((>= start (length text)) (return nil))
                 ((and (char= (char text start) #\#) (char= next #\|)) (return nil))
                 ((and (char= (char text start) #\#) (find next "+-"))
                  (let ((end (form-end text (+ start 2))))
                    (unless (eq (char= next #\+)
                                (and (featurep (first (words-of (subseq text (+ start 2) end)))) t))
                      (incf left-out))
                    (setf index end)))
                 ((or (zerop left-out) (char= (char text start) #\))) (return start))
                 (t (decf left-out)
                    (setf index (form-end text start))))))

(defun nth-form (text number)
  "Where the top-level form NUMBER of TEXT, counted from 0, begins and ends; or NIL."
  (loop with start = (form-start text 0)
        for count from 0
        while start
        do (let ((end (form-end text start)))
             (when (= count number) (return (values start end)))
             (setf start (form-start text end)))))

;;; A compiler of the CMUCL family numbers the conses of a top-level form, from the outside in and
;;; from left to right, and keeps such numbers with the machine code. What is quoted has none.

(defun note-conses (text index starts)
  "Pushes onto STARTS where each cons of the form of TEXT at INDEX begins, in the order of their
numbers. Where the form ends."
  (let ((next (if (< (1+ index) (length text)) (char text (1+ index)) #\Space)))
    (flet ((inner (start)
             (let ((start (form-start text start)))
               (if start (note-conses text start starts) (length text)))))
      (case (char text index)
        (#\( (note-list text index starts))
        (#\' (vector-push-extend index starts)
         (form-end text index))
        (#\` (vector-push-extend index starts)
         (inner (1+ index)))
        (#\, (inner (+ index (if (find next "@.") 2 1))))
        (#\# (cond ((char= next #\') (vector-push-extend index starts)
                    (inner (+ index 2)))
                   (t (form-end text index))))
        (t (form-end text index))))))

(defun note-list (text start starts)
  "The same, of a list. What follows the symbol QUOTE in it is not counted."
  (let ((index (form-start text (1+ start))) (quoted nil))
    (unless (and index (char= (char text index) #\))) (vector-push-extend start starts))
    (loop
      (cond ((null index) (return (length text)))
            ((char= (char text index) #\)) (return (1+ index))))
      (let ((end (if quoted (form-end text index) (note-conses text index starts))))
        (when (string-equal "quote" text :start2 index :end2 end) (setf quoted t))
        (setf index (form-start text end))))))

(defun subform-start (text start number)
  "Where the cons of that NUMBER begins in the top-level form of TEXT at START."
  (let ((form (form-start text start))
        (starts (make-array 100 :adjustable t :fill-pointer 0)))
    (when form (note-conses text form starts))
    (if (< number (length starts)) (aref starts number) (or form start))))

;;; Lines

(defun line-of (text position)
  "The line, which counts from 1, in which POSITION of TEXT is."
  (1+ (count #\Newline text :end (min position (length text)))))

(defun line-text (text position)
  "The line of TEXT around POSITION, without the white space around it."
  (let* ((position (min position (length text)))
         (start (position #\Newline text :end position :from-end t))
         (end (position #\Newline text :start position)))
    (one-line (subseq text (if start (1+ start) 0) end))))
