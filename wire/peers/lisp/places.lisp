;;;; What an expression stands for, found by following stored places alone, in Lisp's own words:
;;;; (car x), (gethash "a" y), (slot-value z 'b). Nothing is called that the program could have
;;;; made.

(in-package #:imago-peer)

(defun resolve (text)
  "The value that TEXT stands for. Ends the look where it stands for none, or has to be evaluated."
  (value-of-expression (read-expression text)))

(defun value-of-expression (expression)
  (check-deadline)
  (destructuring-bind (kind &rest rest) expression
    (ecase kind
      (literal (first rest))
      (handle (values (handle-value (first rest))))
      (name (named-value (first rest)))
      (quote (data-value (first rest)))
      (function (function-expressed (first rest)))
      (list (place-value expression (first rest) (rest rest))))))

;;; Names

(defun named-value (text)
  "What the name TEXT stands for: a symbol's value, else its function, class, or the package of that
name."
  (destructuring-bind (name package-name internal) (split-name text)
    (declare (ignore internal))
    (if (null name)
        (package-named package-name)
        (multiple-value-bind (symbol there) (find-named text)
          (let ((package (and (null package-name) (package-or-nil name))))
            (cond (there (symbol-meaning symbol text package))
                  (package package)
                  (t (symbol-named text))))))))

(defun symbol-meaning (symbol text package)
  (multiple-value-bind (value bound) (variable-value symbol)
    (cond (bound value)
          ((symbol-macro-p symbol)
           (needs-evaluation (format nil "~A is a symbol macro: its expansion has to be evaluated."
                                     (cut text 80))))
          ((function-of symbol))
          ((find-class symbol nil))
          (package package)
          (t (not-found (format nil "~A, for the symbol is there, but it ~:[is unbound and ~
                                     names no function or class~;names an operator, which is no ~
                                     value~]"
                                (cut text 80) (special-operator-p symbol))
                        (remove (symbol-text symbol) (nearest-symbols text nil)
                                :test #'string=))))))

(defun variable-value (symbol)
  "The value of SYMBOL where we evaluate, and whether it has one: that which all threads see, but of
what a listener has for itself that of our own."
  (let ((position (position symbol *listener-variables*)))
    (cond (position (values (nth position *listener-values*) t))
          ((eq symbol '*package*) (values *listener-package* t))
          ((eq symbol '*readtable*) (values *listener-readtable* t))
          (t (value-of symbol)))))

(defun data-value (expression)
  "What '(EXPRESSION) is, all names of which have to be there."
  (when (eq (first expression) 'name) (symbol-named (second expression)))
  (when (eq (first expression) 'list) (mapc #'data-value (rest expression)))
  (quoted-value expression))

(defun quoted-value (expression)
  "What EXPRESSION is as data."
  (destructuring-bind (kind &rest rest) expression
    (ecase kind
      (literal (first rest))
      (name (multiple-value-bind (symbol there) (find-named (first rest))
              ;; A name that is not there is found nowhere; what looks for it says so best.
              (if there symbol (make-symbol (or (first (split-name (first rest))) "")))))
      (handle (values (handle-value (first rest))))
      (quote (list 'quote (quoted-value (first rest))))
      (function (list 'function (quoted-value (first rest))))
      (list (mapcar #'quoted-value rest)))))

(defun function-expressed (expression)
  "The function of #'EXPRESSION: of a name, or of (setf name)."
  (when (and (eq (first expression) 'list) (lambda-p expression))
    (needs-evaluation "A function that is written here is made by evaluating it."))
  (let ((name (quoted-value expression)))
    (cond ((not (function-name-p name))
           (not-found (format nil "~A is no name of a function" (static-text name 80)) '()))
          ((function-of name))
          (t (let ((symbol (if (consp name) (second name) name)))
               (not-found (format nil "a function ~A" (static-text name 80))
                          (nearest-symbols (symbol-label symbol) nil)))))))

(defun lambda-p (expression)
  "Whether EXPRESSION, a list, is (lambda ...) or the like."
  (destructuring-bind (&optional operator &rest rest) (rest expression)
    (declare (ignore rest))
    (and (eq (first operator) 'name)
         (not (eq (find-named (second operator)) 'setf)))))

(defun function-name-p (name)
  (or (symbolp name)
      (and (consp name) (eq (first name) 'setf) (consp (rest name)) (null (cddr name))
           (symbolp (second name)))))

;;; Places. An operator is a function of its arguments, which ends the look where it has no answer.

(defparameter *places* (make-hash-table :test 'eq)
  "By the symbol of each operator that reads what is stored, a function of its arguments, and how
many these may be.")

(defmacro define-place (operators lambda-list &body body)
  "Defines how a place whose operator is one of OPERATORS is read. BODY is the value; OPERATOR is
the symbol."
  `(dolist (operator ',(if (listp operators) operators (list operators)))
     (setf (gethash operator *places*)
           (let ((operator operator))
             (declare (ignorable operator))
             (lambda ,lambda-list (block place ,@body))))))

(defun place-value (expression operator arguments)
  (let ((symbol (operator-symbol operator)))
    (multiple-value-bind (function there) (gethash symbol *places*)
      (cond (there (apply-place symbol function (mapcar #'argument-value arguments)))
            (t (multiple-value-bind (value there) (accessor-value symbol arguments)
                 (if there
                     value
                     (needs-evaluation
                      (format nil "~A has to be evaluated: ~A is not known to read only what is ~
                                   stored."
                              (expression-text expression)
                              (symbol-label symbol))))))))))

(defun argument-value (expression)
  (if (eq (first expression) 'quote)
      (quoted-value (second expression))
      (value-of-expression expression)))

(defun operator-symbol (operator)
  (case (first operator)
    (name (symbol-named (second operator)))
    (t (needs-evaluation "Its operator is no name, so it has to be evaluated."))))

(defun expression-text (expression)
  "EXPRESSION as it was written, more or less; for messages."
  (labels ((text (expression)
             (destructuring-bind (kind &rest rest) expression
               (ecase kind
                 (literal (item-text (first rest) 40))
                 ((name handle) (first rest))
                 (quote (format nil "'~A" (text (first rest))))
                 (function (format nil "#'~A" (text (first rest))))
                 (list (format nil "(~{~A~^ ~})" (mapcar #'text rest)))))))
    (cut (text expression) 120)))

(defun apply-place (operator function arguments)
  (handler-case (apply function arguments)
    (program-error ()
      (not-found (format nil "~A does not take ~D argument~:P" (symbol-label operator)
                         (length arguments))
                 '()))
    (error (condition)
      (not-found (format nil "what ~A leads to: ~A" (symbol-label operator)
                         (type-label (class-of condition)))
                 '()))))

(defun no-place (operator value what)
  "Ends the look: OPERATOR wanted WHAT, and was given VALUE."
  (not-found (format nil "~A of ~A, which is not ~A"
                     (symbol-label operator) (item-text value 80) what)
             '()))

(defun index-of (operator index)
  (if (and (integerp index) (<= 0 index most-positive-fixnum))
      index
      (no-place operator index "an index")))

(defun out-of-bounds (operator value index)
  (not-found (format nil "~A ~A of ~A, which has no such element"
                     (symbol-label operator) (item-text index 40) (item-text value 80))
             '()))
