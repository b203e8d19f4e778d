;;;; The expressions of a look, read without the Lisp's reader: nothing is interned, nothing runs,
;;;; and no readtable of the program's is asked. What only the reader could make out would have to
;;;; be evaluated.

(in-package #:imago-peer)

;;; An expression is one of the lists (HANDLE text), (NAME text), (LITERAL value), (QUOTE
;;; expression), (FUNCTION expression) and (LIST expression ...). A cursor is a cons of a text and a
;;; position.

(defparameter *expression-depth* 100
  "Lists within lists that are read.")

(defun next-char (cursor &optional (ahead 0))
  (let ((index (+ (cdr cursor) ahead)))
    (and (< index (length (car cursor))) (char (car cursor) index))))

(defun malformed-at (cursor position control &rest arguments)
  "Ends the look as `malformed', with the line and column of POSITION."
  (let* ((text (car cursor))
         (position (min position (length text)))
         (line-start (or (position #\Newline text :end position :from-end t) -1)))
    (answer (object "type" "malformed"
                    "message" (apply #'format nil control arguments)
                    "line" (1+ (count #\Newline text :end position))
                    "column" (- position line-start)))))

(defun terminating-p (char)
  "Whether CHAR ends a name or number before it."
  (or (null char) (not (token-char-p char))))

(defun skip-space (cursor)
  "Goes to where something is written, past blanks and comments."
  (let ((start (next-form-start (car cursor) (cdr cursor))))
    (setf (cdr cursor) start)
    (when (and (eql (next-char cursor) #\#) (eql (next-char cursor 1) #\|))
      (malformed-at cursor start "This comment is not closed."))))

(defun read-expression (text)
  "The one expression that TEXT is. Ends the look where TEXT is none, is malformed, or is more than
that."
  (let ((cursor (cons text 0)))
    (skip-space cursor)
    (unless (next-char cursor) (malformed-at cursor 0 "There is nothing here to look at."))
    (let ((expression (expression-at cursor 0)))
      (skip-space cursor)
      (when (eql (next-char cursor) #\))
        (malformed-at cursor (cdr cursor) "This parenthesis closes nothing."))
      (when (next-char cursor)
        (needs-evaluation "There are several forms here, to be evaluated one after the other."))
      expression)))

(defun expression-at (cursor depth)
  (when (> depth *expression-depth*)
    (needs-evaluation "It is nested too deeply to be read without evaluating it."))
  (skip-space cursor)
  (let ((start (cdr cursor)) (char (next-char cursor)))
    (case char
      ((nil) (malformed-at cursor start "The expression ends too early."))
      (#\( (incf (cdr cursor)) (list-at cursor depth start))
      (#\) (malformed-at cursor start "This parenthesis closes nothing."))
      (#\' (incf (cdr cursor)) (list 'quote (expression-at cursor (1+ depth))))
      (#\" (list 'literal (string-at cursor)))
      ((#\` #\,) (needs-evaluation "A quasiquoted form is made by evaluating it."))
      (#\# (sharp-at cursor depth))
      (t (token-at cursor)))))

(defun list-at (cursor depth start)
  (let ((items '()))
    (loop
      (skip-space cursor)
      (case (next-char cursor)
        ((nil) (malformed-at cursor start "This parenthesis is not closed."))
        (#\) (incf (cdr cursor)) (return (cons 'list (nreverse items))))
        (t (push (expression-at cursor (1+ depth)) items))))))

(defun string-at (cursor)
  (let ((start (cdr cursor)))
    (incf (cdr cursor))
    (with-output-to-string (string)
      (loop
        (let ((char (next-char cursor)))
          (incf (cdr cursor))
          (case char
            ((nil) (malformed-at cursor start "This string is not closed."))
            (#\" (return))
            (#\\ (write-char (or (next-char cursor)
                                 (malformed-at cursor start "This string is not closed."))
                             string)
             (incf (cdr cursor)))
            (t (write-char char string))))))))

(defun sharp-at (cursor depth)
  "What begins with a sharp sign. Only what is plain data or a name is read here."
  (let ((start (cdr cursor)) (char (next-char cursor 1)))
    (incf (cdr cursor) 2)
    (case char
      ((nil) (malformed-at cursor start "The expression ends too early."))
      (#\' (list 'function (expression-at cursor (1+ depth))))
      (#\\ (list 'literal (character-at cursor start)))
      ((#\x #\X) (list 'literal (radix-at cursor start 16)))
      ((#\o #\O) (list 'literal (radix-at cursor start 8)))
      ((#\b #\B) (list 'literal (radix-at cursor start 2)))
      ((#\< #\) #\Space #\Newline #\Tab)
       (malformed-at cursor start "#~A… cannot be read. A handle would lead to it." char))
      (t (needs-evaluation (format nil "What begins with #~A is made by running code." char))))))

(defun token-text-at (cursor)
  "The characters up to the next that ends a token, and whether any of them was escaped."
  (let ((start (cdr cursor)) (bars nil) (escaped nil))
    (loop for char = (next-char cursor)
          do (cond ((and (null char) bars)
                    (malformed-at cursor start "A bar has no second one here."))
                   ((null char) (return))
                   ((char= char #\\) (setf escaped t) (incf (cdr cursor) 2))
                   ((char= char #\|) (setf escaped t bars (not bars)) (incf (cdr cursor)))
                   (bars (incf (cdr cursor)))
                   ((terminating-p char) (return))
                   (t (incf (cdr cursor)))))
    (when (> (cdr cursor) (length (car cursor)))
      (malformed-at cursor start "A backslash escapes nothing here."))
    (values (subseq (car cursor) start (cdr cursor)) escaped)))

(defun character-at (cursor start)
  (let ((first (or (next-char cursor)
                   (malformed-at cursor start "The expression ends too early."))))
    (incf (cdr cursor))
    (let* ((rest (if (terminating-p (next-char cursor)) "" (token-text-at cursor)))
           (name (concatenate 'string (string first) rest)))
      (cond ((string= rest "") first)
            ((and (< (length name) 200) (name-char name)))
            (t (malformed-at cursor start "There is no character named ~A." (cut name 40)))))))

(defun radix-at (cursor start radix)
  (let ((token (token-text-at cursor)))
    (or (ratio-of token radix)
        (malformed-at cursor start "~A is no number of radix ~D." (cut token 40) radix))))

(defun token-at (cursor)
  (let ((start (cdr cursor)))
    (multiple-value-bind (token escaped) (token-text-at cursor)
      (let ((number (and (not escaped) (number-of token))))
        (cond (number (list 'literal number))
              ((handle-p token) (list 'handle token))
              ((and (not escaped) (every (lambda (char) (char= char #\.)) token))
               (malformed-at cursor start "A dot stands alone here."))
              (t (list 'name token)))))))

;;; Numbers

(defparameter *longest-number* 5000
  "Digits of a number that is read: the time for that grows with the square of its length.")

(defun integer-of (token radix)
  (let ((start (if (and (plusp (length token)) (find (char token 0) "+-")) 1 0)))
    (and (< start (length token))
         (every (lambda (char) (digit-char-p char radix)) (subseq token start))
         (if (> (length token) *longest-number*)
             (needs-evaluation (format nil "A number of ~D digits is made by evaluating it."
                                       (- (length token) start)))
             (parse-integer token :radix radix)))))

(defun ratio-of (token radix)
  "The integer or ratio that TOKEN is in RADIX, or NIL."
  (let ((slash (position #\/ token)))
    (if slash
        (let ((numerator (integer-of (subseq token 0 slash) radix))
              (denominator (integer-of (subseq token (1+ slash)) radix)))
          (and numerator denominator (plusp denominator)
               (digit-char-p (char token (1+ slash)) radix)
               (/ numerator denominator)))
        (integer-of token radix))))

(defun number-of (token)
  "The number that TOKEN is, or NIL."
  (let ((last (1- (length token))))
    (or (ratio-of token 10)
        (and (plusp last) (char= (char token last) #\.) (integer-of (subseq token 0 last) 10))
        (float-of token))))

(defun float-of (token)
  (let* ((mark (position-if (lambda (char) (find char "esfdlESFDL")) token))
         (exponent (if mark (integer-of (subseq token (1+ mark)) 10) 0))
         (mantissa (subseq token 0 mark))
         (point (position #\. mantissa))
         (digits (remove #\. mantissa :count 1)))
    (and exponent
         (<= (abs exponent) 400)
         (or mark point)
         (or (null point) (< point (1- (length mantissa))))
         (integer-of digits 10)
         (let ((scale (- exponent (if point (- (length mantissa) point 1) 0)))
               (prototype (case (and mark (char-downcase (char token mark)))
                            ((nil #\e #\f) 1f0) (#\s 1s0) (#\d 1d0) (t 1l0))))
           ;; What is out of range is left to evaluation, which signals it.
           (handler-case
               (let ((float (float (* (integer-of digits 10) (expt 10 scale)) prototype)))
                 (if (and (zerop float) (char= (char token 0) #\-)) (- float) float))
             (arithmetic-error () nil))))))
