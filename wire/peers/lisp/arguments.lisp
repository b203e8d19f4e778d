;;;; How one function, macro or class is called.

(in-package #:imago-peer)

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

(defun constructor-of (class)
  "The name of the function that makes instances of CLASS, if that is a structure and has one."
  (declare (ignorable class))
  #+sbcl
  (when (string= (type-word (class-of class)) "structure-class")
    (let ((constructor (ignore-errors
                        (caar (native ("SB-KERNEL" "DD-CONSTRUCTORS")
                                      (native ("SB-KERNEL" "FIND-DEFSTRUCT-DESCRIPTION")
                                              (class-label class)))))))
      (and constructor (symbolp constructor) (fboundp constructor) constructor)))
  #-sbcl nil)

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

(define-call "arglist" (name package)
  (with-file-texts
    (let* ((subject (subject name package)) (thing (subject-thing subject)))
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
