;;;; What a form of a text defines, told without the reader.

(in-package #:imago-peer)

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
