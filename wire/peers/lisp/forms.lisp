;;;; Where in a text the parts of a form stand: without the reader, so that nothing is interned and nothing runs.

(in-package #:imago)

;;; A compiler of the CMUCL family numbers the conses of a top-level form, from the outside in and from left to right,
;;; and keeps such numbers with the machine code. To know where a number stands, the text is read again here, by the
;;; standard syntax: reader macros of the user's are atoms for this purpose, and what they hold is not counted.

(defvar *text* "")
(defvar *at* 0)
(defvar *starts* nil
  "By number, where each cons begins.")

(defun text-char (&optional (ahead 0))
  (let ((index (+ *at* ahead)))
    (and (< index (length *text*)) (char *text* index))))

(defun blank-p (char)
  (member char '(#\Space #\Newline #\Tab #\Return #\Page #\Linefeed)))

(defun skip-block-comment ()
  "Goes behind a comment such as this: #| |#. Where it has no end, NIL, and goes nowhere."
  (let ((depth 0) (start *at*))
    (loop (cond ((null (text-char)) (setf *at* start) (return nil))
                ((and (eql (text-char) #\#) (eql (text-char 1) #\|)) (incf depth) (incf *at* 2))
                ((and (eql (text-char) #\|) (eql (text-char 1) #\#)) (decf depth) (incf *at* 2)
                 (when (zerop depth) (return t)))
                (t (incf *at*))))))

(defun skip-blanks ()
  "Goes to where the next form begins, past white space and comments."
  (loop for char = (text-char)
        while char
        do (cond ((blank-p char) (incf *at*))
                 ((char= char #\;)
                  (setf *at* (or (position #\Newline *text* :start *at*) (length *text*))))
                 ((not (and (char= char #\#) (eql (text-char 1) #\|) (skip-block-comment)))
                  (return)))))

(defun skip-string (end)
  "Goes behind what ends with the character END."
  (incf *at*)
  (loop for char = (text-char)
        while char
        do (incf *at*)
           (cond ((char= char #\\) (incf *at*))
                 ((char= char end) (return)))))

(defun skip-token ()
  "Goes behind a symbol or number, and tells what it was."
  (let ((start *at*))
    (loop for char = (text-char)
          until (or (null char) (blank-p char) (find char "()\";'`,"))
          do (case char
               (#\\ (incf *at* 2))
               (#\| (skip-string #\|))
               (t (incf *at*))))
    (when (= start *at*) (incf *at*))
    (subseq *text* start (min *at* (length *text*)))))

(defun note-start (counted start)
  (when (and counted *starts*) (vector-push-extend start *starts*)))

(defun walk-list (counted)
  "Goes through a list whose parenthesis comes next. What follows the symbol QUOTE in it is not counted."
  (let ((start *at*))
    (incf *at*)
    (skip-blanks)
    (unless (eql (text-char) #\)) (note-start counted start))
    (loop (skip-blanks)
          (case (text-char)
            ((nil) (return))
            (#\) (incf *at*) (return))
            (t (when (and (equalp (walk-form counted) "quote")) (setf counted nil)))))))

(defun walk-prefixed (counted inside length)
  "Goes through what is read as a list of a symbol and a form, such as 'x: INSIDE is whether the form is counted."
  (note-start counted *at*)
  (incf *at* length)
  (walk-form (and counted inside))
  nil)

(defun featurep (text)
  "Whether the feature expression TEXT holds here; of a list, whether it is of a plain kind and does."
  (let ((names (mapcar #'symbol-name *features*)))
    (flet ((is (name) (member (string-left-trim ":" name) names :test #'string-equal)))
      (if (find #\( text)
          (let* ((words (words text)) (operator (first words)) (names (rest words)))
            (cond ((equalp operator "or") (some #'is names))
                  ((equalp operator "not") (notany #'is names))
                  (t (every #'is names))))
          (is text)))))

(defun words (text)
  (loop with start = 0
        for from = (position-if-not (lambda (char) (find char "() ")) text :start start)
        while from
        collect (let ((to (or (position-if (lambda (char) (find char "() ")) text :start from)
                              (length text))))
                  (setf start to)
                  (subseq text from to))))

(defun walk-conditional (counted)
  "Goes through #+feature form, or #-feature form."
  (let ((wanted (eql (text-char 1) #\+)))
    (incf *at* 2)
    (skip-blanks)
    (let ((start *at*))
      (walk-form nil)
      (let ((holds (featurep (subseq *text* start *at*))))
        (skip-blanks)
        (cond ((if wanted holds (not holds)) (walk-form counted))
              (t (walk-form nil)
                 (skip-blanks)
                 ;; It was nothing at all: what comes next is the form, unless the list ends.
                 (unless (member (text-char) '(nil #\))) (walk-form counted))))))))

(defun walk-sharp (counted)
  (case (text-char 1)
    (#\' (walk-prefixed counted t 2))
    ((#\+ #\-) (walk-conditional counted))
    (#\( (incf *at*) (walk-list nil))
    (#\\ (incf *at* 3) (skip-token-rest))
    (#\: (incf *at* 2) (skip-token))
    (#\. (incf *at* 2) (walk-form nil))
    (t (incf *at*)
       (loop while (and (text-char) (digit-char-p (text-char))) do (incf *at*))
       (incf *at*)
       (case (text-char)
         ((nil #\) #\Space #\Newline))
         (t (walk-form nil)))))
  nil)

(defun skip-token-rest ()
  (loop while (and (text-char) (alphanumericp (text-char))) do (incf *at*)))

(defun walk-form (counted)
  "Goes through one form. The text of a token, else NIL."
  (skip-blanks)
  (case (text-char)
    ((nil) nil)
    (#\( (walk-list counted) nil)
    (#\' (walk-prefixed counted nil 1))
    (#\` (walk-prefixed counted t 1))
    (#\, (incf *at*)
     (when (member (text-char) '(#\@ #\.)) (incf *at*))
     (walk-form counted)
     nil)
    (#\" (skip-string #\") nil)
    (#\# (walk-sharp counted))
    (t (skip-token))))

(defun next-form-start (text &optional (start 0))
  "Where the first form of TEXT at or after START begins."
  (let ((*text* text) (*at* start))
    (skip-blanks)
    *at*))

(defun subform-start (text start number)
  "Where the cons of that NUMBER begins in the top-level form of TEXT at START."
  (let ((*text* text) (*at* start)
        (*starts* (make-array 100 :adjustable t :fill-pointer 0)))
    (skip-blanks)
    (let ((form *at*))
      (walk-form t)
      (if (< number (length *starts*)) (aref *starts* number) form))))

(defun line-of (text position)
  "The line, which counts from 1, in which POSITION of TEXT is."
  (1+ (count #\Newline text :end (min position (length text)))))

(defun line-text (text position)
  "The line of TEXT around POSITION, without the white space around it."
  (let* ((position (min position (length text)))
         (start (position #\Newline text :end position :from-end t))
         (end (position #\Newline text :start position)))
    (one-line (subseq text (if start (1+ start) 0) end))))
