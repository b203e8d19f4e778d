;;;; What the name of a query stands for: a symbol, a function that is named by a list, a method, a
;;;; package, or the value that a handle leads to.

(in-package #:imago-peer)

;;; A subject is a list (KIND THING): `symbol' and the symbol; `function' and a list such as (SETF
;;; AREA); `method' and the method; `package' and the package; `value' and any object.

(defun subject-kind (subject) (first subject))
(defun subject-thing (subject) (second subject))

(defun words-of (text)
  "The names and lists in TEXT, each name as it is written; and whether all brackets and bars
match. What is not closed is taken to end with the text."
  (let ((lists (list '())) (start nil) (bars nil) (fine t) (index 0))
    (labels ((end-name ()
               (when start
                 (push (subseq text start (min index (length text))) (first lists))
                 (setf start nil)))
             (end-list ()
               (if (rest lists)
                   (let ((list (reverse (pop lists)))) (push list (first lists)))
                   (setf fine nil))))
      (loop while (< index (length text))
            do (let ((char (char text index)))
                 (cond ((char= char #\\) (unless start (setf start index)) (incf index))
                       ((char= char #\|) (unless start (setf start index)) (setf bars (not bars)))
                       (bars)
                       ((char= char #\() (end-name) (push '() lists))
                       ((char= char #\)) (end-name) (end-list))
                       ((char<= char #\Space) (end-name))
                       ((null start) (setf start index)))
                 (incf index)))
      (end-name)
      (when (or bars (rest lists)) (setf fine nil))
      (loop while (rest lists) do (end-list))
      (values (reverse (first lists)) fine))))

(defun name-tree (text)
  "The names and lists in TEXT. Ends the look as `malformed' where brackets or bars do not match."
  (multiple-value-bind (words fine) (words-of text)
    (if fine
        words
        (malformed "~A is no name: its brackets do not match." (one-line text 80)))))

(defun subject (text &optional package)
  "What TEXT names, read in PACKAGE (text, or NIL for the one in force). Ends the look where it
names nothing, or is code."
  (let* ((home (and package (package-named package)))
         (trimmed (string-trim '(#\Space #\Newline #\Return #\Tab) text))
         (bare (cond ((and (> (length trimmed) 2) (string= trimmed "#'" :end1 2))
                      (subseq trimmed 2))
                     ((and (> (length trimmed) 1) (char= (char trimmed 0) #\')) (subseq trimmed 1))
                     (t trimmed))))
    (cond ((handle-p bare) (list 'value (handle-value bare)))
          ((code-p bare) (listed-subject bare home))
          (t (symbol-subject bare home)))))

(defun code-p (text)
  "Whether TEXT is more than one name."
  (loop with bars = nil
        for index from 0 below (length text)
        for char = (char text index)
        do (cond ((char= char #\\) (incf index))
                 ((char= char #\|) (setf bars (not bars)))
                 (bars)
                 ((or (member char '(#\( #\))) (char<= char #\Space)) (return t)))))

(defun symbol-subject (text home)
  (destructuring-bind (name package-name internal) (split-name text)
    (declare (ignore internal))
    (if (null name)
        (list 'package (package-named package-name))
        (multiple-value-bind (symbol there) (find-named text home)
          (cond ((and there (or (keywordp symbol) (roles symbol)))
                 (list 'symbol symbol))
                ((and (null package-name) (package-or-nil name))
                 (list 'package (package-or-nil name)))
                (there
                 (not-found (format nil "~A, for the symbol is there, but it is unbound and names ~
                                         no function or class"
                                    (symbol-text symbol))
                            (remove (symbol-text symbol) (nearest-symbols text home)
                                    :test #'string=)))
                ((string= package-name "")
                 (not-found (one-line text 200) '()))
                (t (list 'symbol (symbol-named text home))))))))

(defun listed-subject (text home)
  "What is named by a list, (SETF AREA), or by a list of what a method is for."
  (let* ((items (name-tree text)) (first (first items)))
    (flet ((is (word item) (and (stringp item) (string-equal word item))))
      (cond ((and (stringp first) (char= (char first 0) #\#)) ; not read, so not a name: #.(...)
             (needs-evaluation (format nil "~A is a form, and no name" (one-line text 80))))
            ((and (null (rest items)) (consp first) (is "setf" (first first))
                  (= (length first) 2) (stringp (second first)))
             (setf-subject text (second first) home))
            ((and (null (rest items)) (consp first) (cddr first)
                  (or (is "method" (first first)) (is "defmethod" (first first)))
                  (listp (first (last first))))
             (list 'method (method-named text (rest first) home)))
            ((and (rest items)
                  (or (stringp first) (and (consp first) (is "setf" (first first))))
                  (every #'stringp (butlast (rest items)))
                  (listp (first (last items))))
             (list 'method (method-named text items home)))
            ((every #'stringp items)
             (malformed "~A is no name: a blank stands in it." (one-line text 80)))
            (t (needs-evaluation (format nil "~A is a form, and no name" (one-line text 80))))))))

(defun setf-subject (text accessor home)
  (let ((symbol (symbol-named accessor home)))
    (unless (or (fboundp `(setf ,symbol)) (info-of :setf :expander symbol))
      (not-found (one-line text 200) (and (fboundp symbol) (list (symbol-text symbol)))))
    (list 'function `(setf ,symbol))))

(defun kind-of-value (value)
  "What VALUE is among the things that have names: SYMBOL, PACKAGE, METHOD, CLASS or FUNCTION;
else VALUE. It stays as it is, which `typep' would not warrant."
  (cond ((symbolp value) 'symbol)
        ((packagep value) 'package)
        ((functionp value) 'function)
        ((is-a-p value 'class) 'class)
        ((is-a-p value 'method) 'method)
        (t 'value)))

(defun generic-p (function)
  (and (functionp function) (is-a-p function 'generic-function)))

;;; Methods by name

(defun specializer-text (specializer)
  (if (is-a-p specializer 'class)
      (symbol-text (class-label specializer))
      (format nil "(eql ~A)"
              (form-line (stored specializer "OBJECT" #'swank-mop:eql-specializer-object)
                         400 nil))))

(defun function-name-text (name)
  "A symbol, or a list such as (SETF AREA), with its package."
  (form-line name 400 nil))

(defun method-text (method)
  "METHOD as its definition begins: area :around ((shape circle) factor)."
  (let ((specializers (mapcar #'specializer-text (specializers-of method)))
        (lambda-list (lambda-list-of-method method)))
    (format nil "~A~{ ~A~} (~{~A~^ ~})"
            (function-name-text (name-of-generic (function-of-method method)))
            (mapcar #'form-line (qualifiers-of method))
            (loop for specializer in specializers
                  for parameter = (let ((given (pop lambda-list)))
                                    (if (symbolp given) (bare-text given) "argument"))
                  collect (if (string= specializer "t")
                              parameter
                              (format nil "(~A ~A)" parameter specializer))))))

(defun method-tree (method)
  "The words by which METHOD is told from the others of its function: its qualifiers, and a list
of its specializers."
  (name-tree (format nil "~{~A ~}(~{~A~^ ~})"
                     (mapcar #'form-line (qualifiers-of method))
                     (mapcar #'specializer-text (specializers-of method)))))

(defun bare-word (word)
  "WORD without its package."
  (let ((start 0) (index 0) (bars nil))
    (loop while (< index (length word))
          do (case (char word index)
               (#\\ (incf index))
               (#\| (setf bars (not bars)))
               (#\: (unless bars (setf start (1+ index)))))
             (incf index))
    (if (zerop start) word (subseq word start))))

(defun alike-p (one other)
  (if (and (stringp one) (stringp other))
      (string-equal (bare-word one) (bare-word other))
      (and (listp one) (listp other)
           (= (length one) (length other))
           (every #'alike-p one other))))

(defun means-p (words specializers)
  "Whether WORDS, a list of specializers or of parameters, are the SPECIALIZERS of a method."
  (and (<= (length specializers) (length words))
       (or (alike-p words specializers)
           (every (lambda (word specializer)
                    (cond ((stringp word) (alike-p specializer "t"))
                          ((= (length word) 2) (alike-p (second word) specializer))))
                  words specializers))))

(defun method-named (text items home)
  "The method whose function, qualifiers and specializers ITEMS are."
  (let* ((named (first items))
         (name (if (consp named)
                   `(setf ,(symbol-named (second named) home))
                   (symbol-named named home)))
         (function (and (fboundp name) (not (macro-or-nil name)) (function-of name)))
         (methods (and (generic-p function) (methods-of function))))
    (or (find-if (lambda (method)
                   (check-deadline)
                   (let ((tree (method-tree method)))
                     (and (alike-p (butlast (rest items)) (butlast tree))
                          (means-p (first (last items)) (first (last tree))))))
                 methods)
        (not-found (one-line text 200)
                   (mapcar #'method-text (subseq methods 0 (min 5 (length methods))))))))
