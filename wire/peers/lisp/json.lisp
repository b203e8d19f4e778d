;;;; Answers as JSON (RFC 8259). Only what this peer itself has made is ever written.

(in-package #:imago)

;;; A tree to be written is NIL for null, T for true, :FALSE, an integer, a float, a string, (:OBJECT key value ...)
;;; with strings for keys, or (:ARRAY item ...).

(defun object (&rest keys-and-values)
  "A JSON object. A key whose value is :ABSENT is left out."
  (cons :object keys-and-values))

(defun array-of (items)
  "A JSON array of the list ITEMS."
  (cons :array items))

(defun truth (value)
  "VALUE as JSON's true or false."
  (if value t :false))

(defun write-json-string (string stream)
  "Writes STRING with quotes. Surrogates, which only some Lisps have as characters, become U+FFFD."
  (write-char #\" stream)
  (loop for char across string
        for code = (char-code char)
        do (cond ((char= char #\") (write-string "\\\"" stream))
                 ((char= char #\\) (write-string "\\\\" stream))
                 ((char= char #\Newline) (write-string "\\n" stream))
                 ((< code 32) (format stream "\\u~4,'0X" code))
                 ((<= #xD800 code #xDFFF) (write-char (code-char #xFFFD) stream))
                 (t (write-char char stream))))
  (write-char #\" stream))

(defun write-json (tree stream)
  "Writes TREE to STREAM."
  (cond ((null tree) (write-string "null" stream))
        ((eq tree t) (write-string "true" stream))
        ((eq tree :false) (write-string "false" stream))
        ((stringp tree) (write-json-string tree stream))
        ((integerp tree) (format stream "~D" tree))
        ((floatp tree) (format stream "~,3F" tree))
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
    (let ((*read-default-float-format* 'single-float))
      (with-output-to-string (stream)
        (write-json (if (floatp tree) (coerce tree 'single-float) tree) stream)))))
