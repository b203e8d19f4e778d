;;;; The one tokenizer of this system: where tokens and forms begin and end in a text, found without
;;;; the reader, so that nothing is interned and nothing runs.

(in-package #:imago-peer)

;;; By the standard syntax: a reader macro of the user's is part of an atom here.

(defun token-char-p (char)
  (declare (type character char))
  (not (or (char<= char #\Space) (find char "()'\"`,;"))))

(defun simple-text (text)
  "TEXT as a simple string, which is what tokens are told of."
  (coerce text 'simple-string))

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
  "Where what begins with QUOTE at INDEX, a string or a |name|, ends; and whether anything ends it."
  (loop do (incf index)
           (cond ((>= index (length text)) (return (values (length text) nil)))
                 ((char= (char text index) #\\) (incf index))
                 ((char= (char text index) quote) (return (values (1+ index) t))))))

(defun token-end (text index)
  "Where the name or number ends that goes on at INDEX; and whether its escapes are complete."
  (let ((closed t))
    (loop while (and (< index (length text)) (token-char-p (char text index)))
          do (case (char text index)
               (#\\ (incf index 2))
               (#\| (multiple-value-setq (index closed) (string-end text index #\|)))
               (t (incf index))))
    (if (> index (length text))
        (values (length text) nil)
        (values index closed))))

(defun sharp-token (text start)
  "As `next-token', of what begins with a sharp sign at START."
  (let ((next (or (position-if-not #'digit-char-p text :start (1+ start)) (length text))))
    (flet ((datum (from &optional (kind :datum))
             (multiple-value-bind (end closed) (token-end text from)
               (values kind start end closed))))
      (if (>= next (length text))
          (values :datum start (length text) t)
          (case (char text next)
            (#\| (if (= next (1+ start))
                     (let ((end (comment-end text start)))
                       (values :block-comment start (or end (length text)) (and end t)))
                     (values :sharp start (1+ next) t)))
            (#\\ (datum (min (length text) (+ next 2)) :character))
            ((#\: #\* #\b #\B #\o #\O #\x #\X #\r #\R) (datum next))
            (#\# (values :datum start (1+ next) t))
            ;; What follows is a token of its own.
            ((#\( #\") (values :sharp start next t))
            (t (values :sharp start (1+ next) t)))))))

(defun next-token (text index)
  "The first token of TEXT, a simple string, from INDEX on: its kind, where it begins and ends, and
whether something closes it that has to be closed. Kinds:

:OPEN :CLOSE                a parenthesis
:QUOTE :BACKQUOTE :COMMA    what stands before a form; with a comma its @ or dot
:SHARP                      a sharp sign with what follows it, before a form, as in #' and #+
:NAME                       a symbol or a number
:STRING :CHARACTER          \"a\" and #\\a
:DATUM                      what is complete behind a sharp sign: #xFF, #:name, #*101
:LINE-COMMENT :BLOCK-COMMENT
NIL                         none: the text ends."
  (declare (type simple-string text) (type fixnum index))
  (let ((start (position-if (lambda (char) (char> char #\Space)) text
                            :start (min index (length text)))))
    (if (null start)
        (values nil (length text) (length text) t)
        (flet ((prefix (kind length) (values kind start (+ start length) t)))
          (case (schar text start)
            (#\( (prefix :open 1))
            (#\) (prefix :close 1))
            (#\' (prefix :quote 1))
            (#\` (prefix :backquote 1))
            (#\, (prefix :comma (if (and (< (1+ start) (length text))
                                         (find (schar text (1+ start)) "@."))
                                    2
                                    1)))
            (#\" (multiple-value-bind (end closed) (string-end text start #\")
                   (values :string start end closed)))
            (#\; (let ((end (line-end text start)))
                   (values :line-comment start end (< end (length text)))))
            (#\# (sharp-token text start))
            (t (multiple-value-bind (end closed) (token-end text start)
                 (values :name start end closed))))))))

(defun string-value (text start end)
  "What the string stands for that is written in TEXT from START to END."
  (with-output-to-string (value)
    (loop with index = (1+ start)
          while (< index (1- end))
          do (when (char= (char text index) #\\) (incf index))
             (when (< index (length text)) (write-char (char text index) value))
             (incf index))))

;;; Forms

(defun form-end (text start)
  "Where the form of TEXT that begins at START ends; the end of the text where a bracket is
missing."
  (let ((text (simple-text text)) (index start) (depth 0) (steps 0))
    (declare (type fixnum index depth steps))
    (loop
      (when (zerop (logand (incf steps) 1023)) (check-deadline))
      (multiple-value-bind (kind start end) (next-token text index)
        (declare (ignore start))
        (case kind
          ((nil) (return (length text)))
          (:open (incf depth))
          (:close (decf depth)
           (when (<= depth 0) (return end)))
          ((:quote :backquote :comma :sharp :line-comment :block-comment))
          (t (when (<= depth 0) (return end))))
        (setf index end)))))

;;; Names and lists

(defun words-of (text)
  "The names and lists in TEXT, each name as it is written; and whether everything in it is closed.
What is not closed is taken to end with the text."
  (let ((text (simple-text text)) (lists (list '())) (word nil) (fine t) (index 0))
    (flet ((end-word ()
             (when word
               (push (subseq text word index) (first lists))
               (setf word nil)))
           (end-list ()
             (if (rest lists)
                 (let ((list (reverse (pop lists)))) (push list (first lists)))
                 (setf fine nil))))
      (loop
        (multiple-value-bind (kind start end closed) (next-token text index)
          (when (or (> start index)
                    (member kind '(nil :open :close :line-comment :block-comment)))
            (end-word))
          (case kind
            ((nil) (return))
            (:open (push '() lists))
            (:close (end-list))
            ((:line-comment :block-comment))
            (t (unless word (setf word start))
               (unless closed (setf fine nil))))
          (setf index end)))
      (when (rest lists) (setf fine nil))
      (loop while (rest lists) do (end-list))
      (values (reverse (first lists)) fine))))

(defun several-words-p (text)
  "Whether TEXT is more than one name: a list, or names with blanks between them."
  (let ((text (simple-text text)))
    (loop with index = 0
          do (multiple-value-bind (kind start end) (next-token text index)
               (cond ((null kind) (return nil))
                     ((or (> start index) (member kind '(:open :close))) (return t)))
               (setf index end)))))

(defun bare-word (word)
  "WORD, a name as it is written, without its package."
  (let ((start 0) (index 0))
    (loop while (< index (length word))
          do (case (char word index)
               (#\\ (incf index 2))
               (#\| (setf index (string-end word index #\|)))
               (#\: (setf start (incf index)))
               (t (incf index))))
    (if (zerop start) word (subseq word (min start (length word))))))

;;; What the features of this image leave out

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
which features the next one is. The length of TEXT where it ends. A comment that nothing closes is
left to the reader, to be told."
  (let ((text (simple-text text)))
    (loop
      (check-deadline)
      (multiple-value-bind (kind start end closed) (next-token text index)
        (if (or (eq kind :line-comment) (and (eq kind :block-comment) closed))
            (setf index end)
            (return start))))))

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
  (multiple-value-bind (kind start end) (next-token text index)
    (flet ((inner ()
             (let ((inner (form-start text end)))
               (if inner (note-conses text inner starts) (length text)))))
      (case kind
        (:open (note-list text start starts))
        (:quote (vector-push-extend start starts)
         (form-end text start))
        (:backquote (vector-push-extend start starts)
         (inner))
        (:comma (inner))
        (:sharp (cond ((string= "#'" text :start2 start :end2 end)
                       (vector-push-extend start starts)
                       (inner))
                      (t (form-end text start))))
        (t (form-end text start))))))

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
  (let* ((text (simple-text text))
         (form (form-start text start))
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
