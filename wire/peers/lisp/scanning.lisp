;;;; Where forms begin and end in a text: found without the reader, so that nothing is interned and
;;;; nothing runs.

(in-package #:imago)

(defun token-char-p (char)
  (declare (type character char))
  (not (or (char<= char #\Space) (find char "()'\"`,;"))))

(defun line-end (text index)
  (or (position #\Newline text :start (min index (length text))) (length text)))

(defun comment-end (text index)
  "Where the block comment that begins at INDEX ends."
  (loop with depth = 0
        while (< (1+ index) (length text))
        do (cond ((and (char= (char text index) #\#) (char= (char text (1+ index)) #\|))
                  (incf depth)
                  (incf index 2))
                 ((and (char= (char text index) #\|) (char= (char text (1+ index)) #\#))
                  (decf depth)
                  (incf index 2)
                  (when (zerop depth) (return index)))
                 (t (incf index)))
        finally (return (length text))))

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
  (declare (type simple-string text))
  (let ((index start) (depth 0) (steps 0))
    (declare (type fixnum index depth steps))
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
                   (setf index (comment-end text index))
                   (multiple-value-bind (next end) (dispatch-end text index)
                     (if next (setf index next) (setf index end done t)))))
          (t (if (char<= char #\Space)
                 (incf index)
                 (setf index (max (1+ index) (token-end text index)) done t))))
        (when (and done (<= depth 0)) (return (min index (length text))))))))

(defun feature-tree-p (tree)
  "Whether the feature expression TREE, of `name-tree', holds here."
  (if (stringp tree)
      (let ((name (bare-word tree)))
        (some (lambda (feature) (and (symbolp feature) (string-equal name (symbol-name feature))))
              *features*))
      (let ((operator (if (stringp (first tree)) (bare-word (first tree)) "")))
        (cond ((string-equal operator "and") (every #'feature-tree-p (rest tree)))
              ((string-equal operator "or") (some #'feature-tree-p (rest tree)))
              ((string-equal operator "not") (not (feature-tree-p (second tree))))))))

(defun form-start (text index)
  "Where the next form of TEXT from INDEX on begins: past blanks, comments, and what the features
of this image leave out; NIL where there is none."
  (loop
    (check-deadline)
    (let* ((index* (or (position-if (lambda (char) (char> char #\Space)) text
                                    :start (min index (length text)))
                       (return nil)))
           (char (char text index*))
           (next (if (< (1+ index*) (length text)) (char text (1+ index*)) #\Space)))
      (cond ((char= char #\;) (setf index (line-end text index*)))
            ((and (char= char #\#) (char= next #\|)) (setf index (comment-end text index*)))
            ((and (char= char #\#) (find next "+-"))
             (let* ((end (form-end text (+ index* 2)))
                    (holds (feature-tree-p (first (words-of (subseq text (+ index* 2) end))))))
               (setf index (if (eq (char= next #\+) (and holds t))
                               end
                               (let ((start (form-start text end)))
                                 (if start (form-end text start) (length text)))))))
            (t (return index*))))))

(defun nth-form (text number)
  "Where the top-level form NUMBER of TEXT, counted from 0, begins and ends; or NIL."
  (loop with start = (form-start text 0)
        for count from 0
        while start
        do (let ((end (form-end text start)))
             (when (= count number) (return (values start end)))
             (setf start (form-start text end)))))

;;; What a form defines

(defun operator-and-name (text start end)
  "The first word of the form of TEXT from START to END, and where the second of it begins and
ends; or NIL."
  (when (and (< start end) (char= (char text start) #\())
    (let* ((word (form-start text (1+ start)))
           (word-end (and word (< word end) (token-end text word)))
           (name (and word-end (> word-end word) (form-start text word-end))))
      (when (and name (< name (1- end)))
        (values (subseq text word word-end) name (form-end text name))))))

(defun names-p (text start end name)
  "Whether TEXT from START on is how a definition names NAME: a symbol, a list such as (SETF
AREA), a string, or a method. END is where the first form from START on ends."
  (flet ((same (word symbol)
           (and (stringp word)
                (string-equal (string-trim "|:#\"" (bare-word word)) (string symbol))))
         (words (end) (words-of (subseq text start (min end (length text) (+ start 1000))))))
    (typecase name
      ((or symbol string)
       (let ((word (first (words end))))
         ;; (defstruct (point (:include thing)))
         (if (consp word)
             (and (not (same (first word) "setf")) (same (first word) name))
             (same word name))))
      (cons (let ((word (first (words end))))
              (and (consp word) (= (length word) 2)
                   (same (first word) "setf") (same (second word) (second name)))))
      (t (names-method-p (words (length text)) (function-of-method name) name)))))

(defun names-method-p (words function method)
  "Whether WORDS are what follows `defmethod' in the definition of METHOD of FUNCTION."
  (let ((name (name-of-generic function)) (tree (method-tree method)))
    (and (alike-p (first words)
                  (if (consp name) (list "setf" (string (second name))) (string name)))
         (let ((list (position-if #'listp words :start 1)))
           (and list
                (alike-p (subseq words 1 list) (butlast tree))
                (means-p (nth list words) (first (last tree))))))))

(defun definition-within (text start end name operators)
  "Where in the form of TEXT from START to END that what defines NAME begins and ends, with one of
OPERATORS rather than with another; or NIL."
  (let ((other nil))
    (loop for index = start then (and index (1+ index))
          while (and index (< index end))
          do (setf index (position #\( text :start index :end end))
             (check-deadline)
             (when (and index (< (+ index 4) end)
                        (search "def" text :start2 index :end2 (min end (+ index 40))
                                           :test #'char-equal))
               (multiple-value-bind (operator name-start name-end)
                   (operator-and-name text index (form-end text index))
                 (when (and operator
                            (eql 0 (search "def" (bare-word operator) :test #'char-equal))
                            (names-p text name-start name-end name))
                   (if (member (bare-word operator) operators :test #'string-equal)
                       (return-from definition-within (values index (form-end text index)))
                       (unless other (setf other index)))))))
    (and other (values other (form-end text other)))))

(defun line-at (text index)
  "The line of the character INDEX of TEXT, counted from 1."
  (1+ (count #\Newline text :end (min index (length text)))))
