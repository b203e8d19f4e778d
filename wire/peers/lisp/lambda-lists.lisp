;;;; Lambda lists, and how functions, macros and classes are called.

(in-package #:imago-peer)

;;; Forms, as text without line breaks

(defun bare-text (symbol)
  "SYMBOL without its package, as it is written where it is at home."
  (if (symbol-package symbol)
      (symbol-text symbol (symbol-package symbol))
      (subseq (symbol-text symbol) (length "#:"))))

(defun form-line (form &optional (limit 400) (package (reading-package)))
  "FORM as it is written in PACKAGE, or with NIL with the package of each name, in about LIMIT
characters at most; constants in it that are no plain data as `static-text' has them."
  (let ((pieces '()) (left limit))
    (labels ((out (text)
               (push text pieces)
               (decf left (length text))
               (when (minusp left)
                 (push "…" pieces)
                 (throw 'enough nil)))
             (prefix (text form depth) (out text) (walk form depth))
             (walk (form depth)
               (typecase form
                 (symbol (out (cond ((member form lambda-list-keywords) (bare-text form))
                                    ((symbol-package form) (symbol-text form package))
                                    (t (bare-text form)))))
                 (cons (cond ((zerop depth) (out "…"))
                             ((abbreviated form depth))
                             (t (walk-list form depth))))
                 (t (if (comma-p form)
                        (prefix (comma-text form) (comma-form form) depth)
                        (out (static-text form (max 20 (min left 200))))))))
             (abbreviated (form depth)
               (when (and (consp (rest form)) (null (cddr form)))
                 (let ((text (operator-prefix (first form))))
                   (when text
                     (prefix text (second form) depth)
                     t))))
             (walk-list (list depth)
               (out "(")
               (loop for rest = list then (cdr rest)
                     for first = t then nil
                     while (consp rest)
                     do (unless first (out " "))
                        (walk (car rest) (1- depth))
                     finally (when rest (out " . ") (walk rest (1- depth))))
               (out ")")))
      (catch 'enough (walk form 12)))
    (apply #'concatenate 'string (nreverse pieces))))

;;; Lambda lists

(defun bounded-form (form)
  "FORM, with an ellipsis where it is deeper or longer than anybody writes, or goes round in
circles."
  (let ((left 2000))
    (labels ((walk (form depth)
               (cond ((atom form) form)
                     ((or (minusp (decf left)) (zerop depth)) (list (make-symbol "…")))
                     (t (let* ((copy (list (walk (car form) (1- depth)))) (last copy))
                          (loop for rest = (cdr form) then (cdr rest)
                                while (and (consp rest) (plusp left))
                                do (decf left)
                                   (setf (cdr last) (list (walk (car rest) (1- depth)))
                                         last (cdr last))
                                finally (setf (cdr last) (if (consp rest) '() rest)))
                          copy)))))
      (walk form 20))))

(defun lambda-list-of (name)
  "The lambda list of NAME, a symbol, a list such as (SETF AREA) or a function; and T, or NIL
where it is not known."
  (multiple-value-bind (list known) (stored-lambda-list name)
    (values (bounded-form list) known)))

(defun lambda-list-home (name)
  "The package in which the lambda list of NAME is written."
  (let ((symbol (if (consp name) (second name) name)))
    (or (and (symbolp symbol) (symbol-package symbol)) (reading-package))))

(defun own-keyword-p (parameter)
  "Whether PARAMETER, (KEYWORD VARIABLE), has the keyword that it would have anyway."
  (and (keywordp (first parameter))
       (symbolp (second parameter))
       (string= (first parameter) (second parameter))))

(defun plain-lambda-list (list)
  "LIST as a caller wants to read it: variables without their packages, and without what only the
body sees."
  (let ((mode '&required) (plain '()))
    (flet ((bare (variable)
             (cond ((null variable) nil)
                   ((symbolp variable) (make-symbol (symbol-name variable)))
                   ((consp variable) (plain-lambda-list variable))
                   (t variable))))
      (loop while (consp list)
            do (let ((item (pop list)))
                 (cond ((member item '(&whole &environment)) (when (consp list) (pop list)))
                       ((eq item '&aux) (setf list nil))
                       ((member item lambda-list-keywords) (setf mode item) (push item plain))
                       ((and (consp item) (member mode '(&optional &key)))
                        (let ((name (if (and (eq mode '&key) (consp (first item))
                                             (not (own-keyword-p (first item))))
                                        (list (caar item) (bare (cadar item)))
                                        (bare (if (consp (first item))
                                                  (cadar item)
                                                  (first item))))))
                          ;; Without a default it is NIL, too.
                          (push (if (and (consp (rest item)) (second item))
                                    (list name (second item))
                                    (if (consp name) (list name) name))
                                plain)))
                       (t (push (bare item) plain)))))
      (append (nreverse plain) (and list (bare list))))))

(defun signature-text (list package)
  "LIST, a lambda list that was written in PACKAGE, as text."
  (if list (form-line (plain-lambda-list list) 1000 package) "()"))

(defun signature-of (name)
  "The lambda list of NAME as text, or NIL where it is not known."
  (multiple-value-bind (list known) (lambda-list-of name)
    (and known (signature-text list (lambda-list-home name)))))

(defun parameter-tree (name kind &optional (default nil default-p) (package (reading-package)))
  (object "name" (if (symbolp name) (bare-text name) (signature-text name package))
          "kind" kind
          "default" (if default-p (form-line default 200 package) nil)
          "annotation" nil))

(defun keyword-name (item)
  "How the parameter ITEM of a lambda list is named by a caller."
  (let ((name (if (consp item) (first item) item)))
    (if (consp name) (make-symbol (string (first name))) name)))

(defun optional-tree (name item kind package)
  "As `parameter-tree', with the default that ITEM, a symbol or a list, gives."
  (if (and (consp item) (consp (rest item)))
      (parameter-tree name kind (second item) package)
      (parameter-tree name kind)))

(defun parameters-of (list package)
  "The parameters of a lambda list as `Parameter' of wire/contract/names.ts; what a caller does
not give is left out."
  (let ((mode '&required) (trees '()))
    (loop while list
          do (let ((item (if (consp list)
                             (pop list)
                             (progn (setf mode '&rest) (shiftf list nil)))))
               (cond ((member item '(&whole &environment)) (when (consp list) (pop list)))
                     ((eq item '&allow-other-keys)
                      (push (parameter-tree item "keyword_rest") trees))
                     ((member item lambda-list-keywords) (setf mode item))
                     (t (case mode
                          (&required (push (parameter-tree item "positional") trees))
                          (&optional
                           (push (optional-tree (if (consp item) (first item) item) item
                                                "optional" package)
                                 trees))
                          ((&rest &body)
                           (push (parameter-tree item "rest") trees))
                          (&key (push (optional-tree (keyword-name item) item "keyword" package)
                                      trees)))))))
    (nreverse trees)))

;;; Forms, as text over several lines

(defun plain-copy (form)
  "FORM with a symbol in place of each constant that somebody's printer could be asked for."
  (let ((left 5000))
    (labels ((stand-in (value) (make-symbol (static-text value 60)))
             (walk (form)
               (check-deadline)
               (cond ((minusp (decf left)) (make-symbol "…"))
                     ((consp form) (cons (walk (car form)) (walk (cdr form))))
                     ((or (symbolp form) (numberp form) (characterp form) (stringp form)) form)
                     ((comma-p form)
                      (or (copied-comma form (walk (comma-form form))) (stand-in form)))
                     (t (stand-in form)))))
      (walk form))))

(defun pretty-text (form)
  "FORM as the standard pretty printer lays it out."
  (let ((copy (plain-copy form)))
    (with-standard-io-syntax
      (let ((*package* (reading-package))
            (*print-case* :downcase)
            (*print-pretty* t)
            (*print-right-margin* 100)
            (*print-gensym* nil)
            (*print-circle* nil)
            (*print-readably* nil))
        (prin1-to-string copy)))))

;;; How one function, macro or class is called.

(defun call-line (operator list package)
  "How a call of OPERATOR, a text, is written whose arguments are those of LIST, a lambda list that
was written in PACKAGE."
  (let ((text (signature-text list package)))
    (cond ((string= text "()") (format nil "(~A)" operator))
          ((char= (char text 0) #\() (format nil "(~A ~A" operator (subseq text 1)))
          (t (format nil "(~A . ~A)" operator text)))))

(defun call-of (name list package)
  "How a call of the function NAME, a symbol or (SETF symbol), is written."
  (cond ((symbolp name) (call-line (symbol-text name) list package))
        ((typep name '(cons (eql setf) (cons symbol null)))
         (if (and (consp list) (not (member (first list) lambda-list-keywords)))
             (format nil "(setf ~A ~A)"
                     (call-line (symbol-text (second name)) (rest list) package)
                     (string-trim "()" (signature-text (list (first list)) package)))
             :absent))
        (t :absent)))

(defun arglist-tree (name qualified list more)
  "LIST is a list of the lambda list and the package it is written in; NIL where it is not known.
MORE is keys and values."
  (apply #'object
         "name" name
         "qualified" qualified
         "signature" (and list (signature-text (first list) (second list)))
         "because" (if list nil "it was compiled without keeping its lambda list")
         "parameters" (array-of (and list (parameters-of (first list) (second list))))
         more))

(defun function-arglist (name thing)
  "THING is a symbol, a list such as (SETF AREA), or a function."
  (multiple-value-bind (list known) (lambda-list-of thing)
    (arglist-tree
     name
     (if (functionp thing) name (function-name-text thing))
     (and known (list list (lambda-list-home thing)))
     (list* "call" (if known (call-of thing list (lambda-list-home thing)) :absent)
            "returns" (result-text thing)
            "doc" (first-line (if (functionp thing)
                                  (let ((doc (function-doc thing))) (and (stringp doc) doc))
                                  (doc-of thing "function")))
            (place-keys (first (definition-entries
                                (list (cond ((symbolp thing) 'symbol)
                                            ((consp thing) 'function)
                                            (t 'value))
                                      thing))))))))

(defun initargs-list (class)
  "What `make-instance' takes for CLASS, as a lambda list."
  (let ((keys '()))
    (dolist (owner (precedence-of class))
      (dolist (slot (slots-of owner))
        (dolist (initarg (stored slot "INITARGS" #'swank-mop:slot-definition-initargs))
          (when (and (keywordp initarg) (not (find initarg keys :key #'first)))
            (push (list initarg slot) keys)))))
    (if keys
        (cons '&key
              (loop for (initarg slot) in (nreverse keys)
                    collect (list (make-symbol (symbol-name initarg))
                          (stored slot "INITFORM"
                                  #'swank-mop:slot-definition-initform))))
        '())))

(defun maker-of (class)
  "What makes an instance of CLASS, as the beginning of a call."
  (format nil "~A '~A"
          (if (string= (type-word (class-of class)) "condition-class")
              "make-condition"
              "make-instance")
          (symbol-text (class-label class))))

(defun class-arglist (name symbol)
  (let ((constructor (constructor-of (find-class symbol))))
    (if constructor
        (function-arglist name constructor)
        (instance-arglist name symbol))))

(defun instance-arglist (name symbol)
  (let ((list (initargs-list (find-class symbol)))
        (package (or (symbol-package symbol) (reading-package))))
    (arglist-tree
     name
     (symbol-text symbol)
     (list list package)
     (list* "call" (call-line (maker-of (find-class symbol)) list package)
            "returns" (symbol-text symbol)
            "doc" (first-line (doc-of symbol "class"))
            (place-keys (find "class" (definition-entries (list 'symbol symbol))
                              :key (lambda (entry) (getf entry 'kind)) :test #'string=))))))

(defun method-arglist (name method)
  (arglist-tree
   name (method-text method)
   (list (lambda-list-of-method method) (reading-package))
   (list* "returns" nil
          "call" (call-of (name-of-generic (function-of-method method))
                          (lambda-list-of-method method) (reading-package))
          "doc" (first-line (let ((doc (stored method "%DOCUMENTATION" (constantly nil))))
                              (and (stringp doc) doc)))
          (place-keys (first (definition-entries (list 'method method)))))))

(defun not-callable (name what)
  (not-found (format nil "~A as something to call: ~A" (one-line name 80) what) '()))

(defun symbol-arglist (name symbol)
  (cond ((fboundp symbol) (function-arglist name symbol))
        ((find-class symbol nil) (class-arglist name symbol))
        ((only-setf-p symbol) (function-arglist name `(setf ,symbol)))
        (t (not-callable name (format nil "it names a ~A" (car (first (roles symbol))))))))

(define-call "arglist" (name)
  (with-file-texts
    (let* ((subject (subject name)) (thing (subject-thing subject)))
      (found (ecase (subject-kind subject)
               (symbol (symbol-arglist name thing))
               (function (function-arglist name thing))
               (method (method-arglist name thing))
               (package (not-callable name "it is a package"))
               (value (ecase (kind-of-value thing)
                        (method (method-arglist name thing))
                        (function (function-arglist name thing))
                        (class (if (class-label thing)
                                   (class-arglist name (class-label thing))
                                   (not-callable name "it is a class without a name")))
                        (symbol (symbol-arglist name thing))
                        ((value package) (not-callable name "it is a value")))))))))
