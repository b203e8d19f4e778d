;;;; What has fields or a name, as text: written as #<...>, or as #S(...) where it can be read back.

(in-package #:imago-peer)

(defun put-hash-table (table)
  (put "#<hash-table :test ")
  (put-value (hash-table-test table))
  (put " :count " (integer-text (hash-table-count table)))
  (let ((weakness (native ("SB-EXT" "HASH-TABLE-WEAKNESS") table)))
    (when weakness
      (put " :weakness ")
      (put-value weakness)))
  (put ">"))

(defun put-package (package)
  (if (package-name package)
      (progn (put "#<package ") (put-string (package-name package)) (put ">"))
      (put "#<deleted package>")))

(defun put-structure (value)
  (cond ((comma-p value) (put-comma value))
        ((of-the-implementation-p (class-of value)) (put-short value))
        ((layout-state value) (put-fields value))
        (t (put "#S(" (type-label (class-of value)))
           (put-field-list (fields value))
           (put ")"))))

(defun comma-p (value)
  (native ("SB-INT" "COMMA-P") value))

(defun put-comma (value)
  "What stands after a comma in a quasiquoted list."
  (put (case (native ("SB-INT" "COMMA-KIND") value) (0 ",") (1 ",.") (t ",@")))
  (put-value (native ("SB-INT" "COMMA-EXPR") value)))

(defun of-the-implementation-p (class)
  "Whether CLASS is one of the implementation's own, of which the details are seldom asked for."
  (let* ((name (class-label class))
         (home (and name (symbol-package name)))
         (text (and home (package-name home))))
    (and text
         (or (string= text "COMMON-LISP")
             (and (> (length text) 3) (string= text "SB-" :end1 3))
             (member text '("SI" "CLOS" "EXT" "MP") :test #'string=)))))

(defun put-short (value)
  "The class of VALUE, and its name, or that of the variable it stands for, if it has one."
  (put "#<" (type-label (class-of value)))
  (loop for (name . stored) in (fields value)
        when (and (member (field-name name) '("NAME" "SYMBOL") :test #'string=)
                  stored
                  (typep stored '(or string symbol)))
          do (put-char #\Space)
             (put-value stored)
             (return))
  (put ">"))

(defun put-field-list (fields)
  (loop for (name . value) in fields
        for count from 0
        do (when (>= count (page-items))
             (put-char #\Space)
             (put-ellipsis)
             (return))
           (put " :" (token-text (field-name name)) " ")
           (put-value value)))

(defun field-name (name)
  (if (symbolp name) (symbol-name name) "?"))

(defun put-fields (value)
  "The class of VALUE and all that it stores."
  (multiple-value-bind (fields remark) (fields value)
    (put "#<" (type-label (class-of value)))
    (when (layout-state value) (put " (obsolete)"))
    (when (and remark (null fields) (not (layout-state value)))
      (put " (kept by a metaclass of the program)"))
    (put-field-list fields)
    (put ">")))

(defun put-instance (value)
  (cond ((is-a-p value 'class) (put-named value (stored-name value)))
        ((is-a-p value 'method) (put-method value))
        ((and (of-the-implementation-p (class-of value)) (stored-name value))
         (put-named value (stored-name value)))
        (t (put-fields value))))

(defun stored-name (metaobject)
  "The name of a class, generic function or slot definition."
  #+sbcl (stored-slot metaobject "NAME")
  #-sbcl (typecase metaobject
           (class (class-name metaobject))
           (generic-function (swank-mop:generic-function-name metaobject))))

(defun methods-stored (function)
  "The methods of a generic function."
  #+sbcl (stored-slot function "METHODS")
  #-sbcl (swank-mop:generic-function-methods function))

(defun put-named (value name)
  (put "#<" (type-label (class-of value)) " ")
  (put-value name)
  (put ">"))

(defun put-method (method)
  (let ((function (stored-slot method "%GENERIC-FUNCTION")))
    (put "#<" (type-label (class-of method)) " ")
    (if function (put-value (stored-name function)) (put "of no function"))
    (put-char #\Space)
    (put-specializers method)
    (put ">")))

(defun put-specializers (method)
  "The qualifiers of METHOD, and what it is specialized on."
  (dolist (qualifier (stored-slot method "QUALIFIERS"))
    (put-value qualifier)
    (put-char #\Space))
  (put "(")
  (loop for specializer in (stored-slot method "SPECIALIZERS")
        for first = t then nil
        do (unless first (put-char #\Space))
           (cond ((is-a-p specializer 'class) (put-value (stored-name specializer)))
                 (t (put "(eql ")
                    (put-value (stored-slot specializer "OBJECT"))
                    (put ")"))))
  (put ")"))

(defun put-funcallable (value)
  (cond ((is-a-p value 'generic-function)
         (put "#<" (type-label (class-of value)) " ")
         (put-value (stored-name value))
         (put " (" (integer-text (length (methods-stored value))) ")>"))
        (t (put-fields value))))

(defun put-opaque (value)
  "What is no instance of anything that stores fields: functions, and the implementation's own
data."
  (cond ((eq (class-label (class-of value)) (native-symbol "SB-FORMAT" "FMT-CONTROL"))
         (put "(formatter ")
         (put-value (native ("SB-FORMAT" "FMT-CONTROL-STRING") value))
         (put ")"))
        ((functionp value)
         (put (if (native ("SB-KERNEL" "CLOSUREP") value) "#<closure " "#<function "))
         (put-value (function-name value))
         (put ">"))
        ((eq (class-label (class-of value)) (native-symbol "SB-EXT" "WEAK-POINTER"))
         (put "#<weak-pointer ")
         (put-value (native ("SB-EXT" "WEAK-POINTER-VALUE") value))
         (put ">"))
        (t (put "#<" (type-label (class-of value)) ">"))))

(defun function-name (function)
  "The name that is stored in FUNCTION: a symbol, or a list such as (setf x) or (lambda (x))."
  #+sbcl (cond ((not (native ("SB-KERNEL" "FUNCALLABLE-INSTANCE-P") function))
                (native ("SB-KERNEL" "%FUN-NAME") function))
               ((is-a-p function 'generic-function) (stored-name function))
               (t (class-label (class-of function))))
  #-sbcl (nth-value 2 (function-lambda-expression function)))
