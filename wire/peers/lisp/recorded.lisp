;;;; What the image recorded of a definition when it was compiled, and whether a text is that.

(in-package #:imago-peer)

;;; Whether a form was read from a text is told without the reader. A verdict is SAME, OTHER, or
;;; UNKNOWN where only the reader could tell.

(defvar *text-package* nil
  "The package in which the text was read that is compared now, as far as it says so.")

(defun both (one other)
  "The verdict on two parts of a thing."
  (cond ((or (eq one 'other) (eq other 'other)) 'other)
        ((or (eq one 'unknown) (eq other 'unknown)) 'unknown)
        (t 'same)))

(defun same-or-other (so)
  (if so 'same 'other))

(defun package-of-text (text end name)
  "The package that the last `in-package' before END of TEXT names; where there is none, that of
NAME, which is defined there."
  (let* ((start (search "(in-package" text :end2 end :from-end t :test #'char-equal))
         (word (and start (second (first (words-of (subseq text start (form-end text start))))))))
    (if (stringp word)
        (find-package (string-upcase (string-trim "|:#\"" word)))
        (let ((symbol (symbol-in-name name))) (and (symbolp symbol) (symbol-package symbol))))))

;;; Tokens

(defun compare-symbol (word symbol)
  "The verdict on WORD, a token, as SYMBOL."
  (let ((parts (catch 'answer (split-name word))))
    (if (or (eq (first parts) :object) (null (first parts)))
        'unknown
        (destructuring-bind (name package-name internal) parts
          (declare (ignore internal))
          (let ((home (cond ((null package-name) *text-package*)
                            ((string= package-name "") (find-package "KEYWORD"))
                            ;; A package may have nicknames of its own for others.
                            (t (let ((*package* (or *text-package* *package*)))
                                 (find-package package-name))))))
            (cond ((and home
                        (multiple-value-bind (found status) (find-normal-symbol name home)
                          (and status (eq found symbol))))
                   'same)
                  ;; It may be another symbol of that name, or the readtable one that keeps case.
                  ((string-equal name (symbol-name symbol)) 'unknown)
                  (t 'other)))))))

(defun float-word-p (word)
  "Whether WORD is a float, of an exponent that is worked out at once."
  (let ((index 0) (end (length word)))
    (flet ((take (chars)
             (when (and (< index end) (find (char word index) chars)) (incf index)))
           (digits ()
             (let ((start index))
               (setf index (or (position-if-not #'digit-char-p word :start index) end))
               (- index start))))
      (take "+-")
      (let* ((whole (digits))
             (fraction (if (take ".") (digits) 0))
             (marker (take "eEsSfFdDlL"))
             (exponent (progn (when marker (take "+-")) (if marker (digits) 0))))
        (and (= index end)
             (< end 60)
             (if marker (<= 1 exponent 3) t)
             (or (plusp fraction) (and marker (plusp whole))))))))

(defun compare-float (word number)
  (flet ((read-as (format)
           (ignore-errors
            (let ((*read-default-float-format* format)) (read-from-string word)))))
    (cond ((eql (read-as 'single-float) number) 'same)
          ;; What a float without a type is, the program may say.
          ((eql (read-as 'double-float) number) 'unknown)
          (t 'other))))

(defun compare-number (word number)
  "The verdict on WORD, a token, as NUMBER: 1 is not 1.0."
  (let* ((slash (position #\/ word))
         (end (if (and (plusp (length word)) (char= (char word (1- (length word))) #\.))
                  (1- (length word))
                  (length word)))
         (whole (ignore-errors (parse-integer word :end (or slash end))))
         (below (and slash (ignore-errors (parse-integer word :start (1+ slash))))))
    (cond ((and whole (null slash)) (same-or-other (eql whole number)))
          ((and whole below (plusp below)) (same-or-other (eql (/ whole below) number)))
          ((float-word-p word) (compare-float word number))
          ((some #'digit-char-p word) 'unknown)
          (t 'other))))

(defun compare-datum (word value)
  "The verdict on WORD, which begins with a sharp sign, as VALUE."
  (let* ((radix (cdr (assoc (char word 1) '((#\x . 16) (#\o . 8) (#\b . 2)) :test #'char-equal)))
         (number (and radix (ignore-errors (parse-integer word :start 2 :radix radix)))))
    (cond (number (same-or-other (eql number value)))
          ((eql 0 (search "#\\" word))
           (let ((char (if (= (length word) 3) (char word 2) (name-char (subseq word 2)))))
             (if char (same-or-other (eql char value)) 'unknown)))
          (t 'unknown))))

;;; Forms

(defun compare-form (text start form)
  "The verdict on what stands in TEXT at START, as FORM."
  (check-deadline)
  (multiple-value-bind (kind start end) (next-token text start)
    (flet ((behind (form)
             (let ((next (form-start text end)))
               (if next (compare-form text next form) 'unknown)))
           (made-by-p (operator)
             (and (consp form) (eq (first form) operator)
                  (consp (rest form)) (null (cddr form)))))
      (case kind
        (:open (compare-list text end form))
        (:quote (if (made-by-p 'quote) (behind (second form)) 'other))
        (:backquote (if (made-by-p (native-symbol "SB-INT" "QUASIQUOTE"))
                        (behind (second form))
                        'unknown))
        (:comma (cond ((not (comma-p form)) 'unknown)
                      ((string= (comma-text form) text :start2 start :end2 end)
                       (behind (comma-form form)))
                      (t 'other)))
        (:sharp (cond ((string/= "#'" text :start2 start :end2 end) 'unknown)
                      ((made-by-p 'function) (behind (second form)))
                      (t 'other)))
        (:string (same-or-other (and (stringp form) (string= form (string-value text start end)))))
        ((:datum :character) (compare-datum (subseq text start end) form))
        (:name (let ((word (subseq text start end)))
                 (cond ((symbolp form) (compare-symbol word form))
                       ((numberp form) (compare-number word form))
                       (t 'other))))
        (t 'unknown)))))

(defun compare-list (text index list &optional specialized)
  "The verdict on the list of TEXT that goes on at INDEX, as LIST. SPECIALIZED: it is that of a
method, whose parameters may stand with a class."
  (let ((verdict 'same) (required specialized))
    (loop
      (let ((next (form-start text index)))
        (cond ((null next) (return 'unknown))
              ((char= (char text next) #\)) (return (both verdict (same-or-other (null list)))))
              ((string= "." text :start2 next :end2 (form-end text next))
               (let ((last (form-start text (1+ next))))
                 (return (if last (both verdict (compare-form text last list)) 'unknown))))
              ((atom list) (return 'other)))
        (let ((item (pop list)))
          (when (member item lambda-list-keywords) (setf required nil))
          (setf verdict
                (both verdict
                      (compare-form text
                                    (or (and required
                                             (char= (char text next) #\()
                                             (form-start text (1+ next)))
                                        next)
                                    item))
                index (form-end text next))
          (when (eq verdict 'other) (return 'other)))))))

;;; Definitions

(define-record recorded
  lambda-list                           ; or UNKNOWN
  body)                                 ; documentation, declarations and forms; or UNKNOWN

(defun documented-p (forms)
  (and (stringp (first forms)) (rest forms) t))

(defun split-body (forms)
  "The documentation of FORMS, if any, its declarations, and its other forms."
  (let ((doc nil) (declarations '()))
    (loop
      (cond ((and (null doc) (documented-p forms)) (setf doc (pop forms)))
            ((and (consp (first forms)) (eq (first (first forms)) 'declare))
             (push (pop forms) declarations))
            (t (return (values doc (reverse declarations) forms)))))))

(defun split-text-body (text index)
  "The same, of the forms of TEXT from INDEX to the end of their list: where each begins."
  (let ((doc nil) (declarations '())
        (starts (loop for start = (form-start text index)
                      while (and start (char/= (char text start) #\)))
                      collect start
                      do (setf index (form-end text start)))))
    (flet ((declaration-p (start)
             (let ((word (and (char= (char text start) #\() (form-start text (1+ start)))))
               (and word (string-equal "declare" (subseq text word (token-end text word)))))))
      (loop
        (cond ((null starts) (return))
              ((and (null doc) (rest starts) (char= (char text (first starts)) #\"))
               (setf doc (pop starts)))
              ((declaration-p (first starts)) (push (pop starts) declarations))
              (t (return)))))
    (values doc (reverse declarations) starts)))

(defun compare-body (text index forms)
  "The verdict on the forms of TEXT from INDEX to the end of their list, as FORMS."
  (multiple-value-bind (doc declarations body) (split-body forms)
    (multiple-value-bind (doc-at declarations-at body-at) (split-text-body text index)
      (flet ((all-same (starts forms)
               (if (= (length starts) (length forms))
                   (reduce #'both (mapcar (lambda (start form) (compare-form text start form))
                                          starts forms)
                           :initial-value 'same)
                   'other)))
        (reduce #'both (list (cond ((and doc doc-at) (compare-form text doc-at doc))
                                   ((or doc doc-at) 'other)
                                   (t 'same))
                             (all-same declarations-at declarations)
                             (all-same body-at body)))))))

(defun reader-decides-p (text start end)
  "Whether what stands in TEXT from START to END may be read otherwise than it looks: by the
features of the moment, or by a readtable of the program's."
  (or (and *text-package* (package-readtable *text-package*))
      (search "#+" text :start2 start :end2 end)
      (search "#-" text :start2 start :end2 end)
      (search "readtable" text :test #'char-equal)))

(defun compare-definition (text start end name recorded)
  "The verdict on the definition of NAME in TEXT from START to END as what was RECORDED of it, and
whether it is the lambda list by which it differs."
  (multiple-value-bind (operator name-start name-end) (operator-and-name text start end)
    (declare (ignore name-start))
    (let* ((*text-package* (package-of-text text start name))
           ;; A program may have operators of its own with these names.
           (known (and operator
                       (find-if (lambda (symbol) (eq (compare-symbol operator symbol) 'same))
                                '(defun defmacro defmethod))))
           (method (eq known 'defmethod))
           (index (and known (form-start text name-end))))
      ;; Qualifiers
      (loop while (and method index (char/= (char text index) #\( #\)))
            do (setf index (form-start text (form-end text index))))
      (if (or (null index) (char/= (char text index) #\())
          'unknown
          (let* ((list (recorded-lambda-list recorded))
                 (forms (recorded-body recorded))
                 (parameters (if (eq list 'unknown)
                                 'unknown
                                 (compare-list text (1+ index) list method)))
                 (verdict (both parameters
                                (if (eq forms 'unknown)
                                    'unknown
                                    (compare-body text (form-end text index) forms)))))
            (values (if (and (eq verdict 'other) (reader-decides-p text start end))
                        'unknown
                        verdict)
                    (eq parameters 'other)))))))

;;; Texts of files as they were when they were compiled: those that Swank keeps, and those that a
;;; look has met while the file was still the one that was compiled.

(defparameter *most-texts-kept* 20)
(defparameter *most-characters-kept* 4000000)

(define-session-variable *texts-kept* '()
  "Lists (FILE DATE TEXT), the newest first.")

(defun keep-text (file date text)
  "Keeps TEXT as that of FILE when it was written at DATE."
  (unless (find-if (lambda (kept) (and (equal (first kept) file) (eql (second kept) date)))
                   *texts-kept*)
    (setf *texts-kept*
          (loop with characters = 0
                for kept in (cons (list file date text)
                                  (remove file *texts-kept* :key #'first :test #'equal))
                repeat *most-texts-kept*
                do (incf characters (length (third kept)))
                while (<= characters *most-characters-kept*)
                collect kept))))

(defun swank-text (name date)
  "The text that Swank keeps of the file it calls NAME, as it was at DATE; or NIL."
  (let* ((package "SWANK/SOURCE-FILE-CACHE")
         (table (internal "*SOURCE-FILE-CACHE*" package))
         (text-of (internal "SOURCE-CACHE-ENTRY.TEXT" package))
         (date-of (internal "SOURCE-CACHE-ENTRY.DATE" package))
         (entry (and table text-of date-of
                     (boundp table) (fboundp text-of) (fboundp date-of)
                     (hash-table-p (symbol-value table))
                     (gethash name (symbol-value table)))))
    (ignore-errors
     (and entry (eql date (funcall date-of entry)) (funcall text-of entry)))))

(defun text-as-compiled (file date)
  "The text of FILE, a native name, as it was when it was written at DATE; NIL where nobody kept
it."
  (let ((text (and date
                   (or (third (find-if (lambda (kept)
                                         (and (equal (first kept) file) (eql (second kept) date)))
                                       *texts-kept*))
                       (swank-text file date)
                       (swank-text (ignore-errors (namestring (native-pathname file))) date)))))
    (and (stringp text) (coerce text 'simple-string))))
