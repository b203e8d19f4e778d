;;;; Answers as JSON (RFC 8259). Only what this peer itself has made is ever written.

(in-package #:imago-peer)

;;; A tree to be written is NIL for null, T for true, :FALSE, a real number, a string, (:OBJECT key
;;; value ...) with strings for keys, or (:ARRAY item ...).

(defun object (&rest keys-and-values)
  "A JSON object. A key whose value is :ABSENT is left out."
  (cons :object keys-and-values))

(defun array-of (items)
  "A JSON array of the list ITEMS."
  (cons :array items))

(defun truth (value)
  "VALUE as JSON's true or false."
  (if value t :false))

(defun write-escape (char stream)
  "Writes CHAR in a way in which it may stand in a JSON string. Surrogates, which only some Lisps
have as characters, become U+FFFD."
  (case char
    (#\" (write-string "\\\"" stream))
    (#\\ (write-string "\\\\" stream))
    (#\Newline (write-string "\\n" stream))
    (t (let ((code (char-code char)))
         (if (< code 32)
             (format stream "\\u~4,'0X" code)
             (write-char (code-char #xFFFD) stream))))))

(defun write-json-string (string stream)
  "Writes STRING with quotes, in runs that need no escape."
  (let* ((text (if (typep string '(simple-array character (*)))
                   string
                   (coerce string '(simple-array character (*)))))
         (start 0))
    (declare (type (simple-array character (*)) text) (type fixnum start))
    (write-char #\" stream)
    (dotimes (index (length text))
      (let* ((char (schar text index)) (code (char-code char)))
        (when (or (< code 32) (char= char #\") (char= char #\\) (<= #xD800 code #xDFFF))
          (write-string text stream :start start :end index)
          (write-escape char stream)
          (setf start (1+ index)))))
    (write-string text stream :start start)
    (write-char #\" stream)))

(defun write-json-number (number stream)
  "Writes NUMBER; what is no integer, to three decimals."
  (if (integerp number)
      (format stream "~D" number)
      (multiple-value-bind (whole rest) (truncate (round (* 1000 (abs number))) 1000)
        (format stream "~:[~;-~]~D.~3,'0D" (minusp number) whole rest))))

(defun write-json (tree stream)
  "Writes TREE to STREAM."
  (cond ((null tree) (write-string "null" stream))
        ((eq tree t) (write-string "true" stream))
        ((eq tree :false) (write-string "false" stream))
        ((stringp tree) (write-json-string tree stream))
        ((realp tree) (write-json-number tree stream))
        ((eq (first tree) :array)
         (write-char #\[ stream)
         (loop for (item . more) on (rest tree)
               do (write-json item stream)
                  (when more (write-char #\, stream)))
         (write-char #\] stream))
        ((eq (first tree) :object)
         (write-char #\{ stream)
         (let ((first t))
           (loop for (key value) on (rest tree) by #'cddr
                 unless (eq value :absent)
                   do (if first (setf first nil) (write-char #\, stream))
                      (write-json-string key stream)
                      (write-char #\: stream)
                      (write-json value stream)))
         (write-char #\} stream))))

(defun json (tree)
  "TREE as a string."
  (with-standard-io-syntax
    (with-output-to-string (stream) (write-json tree stream))))
