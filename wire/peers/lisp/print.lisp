;;;; Values as text, from what is stored in them: no `print-object', no `describe-object', no pretty
;;;; printer's table. Never longer than asked for, and never more work than what is shown.

(in-package #:imago)

(defparameter *most-items* 100
  "Items that are written of one list, array or instance.")

(defparameter *deepest* 10
  "How far values within values are written.")

;;; The page that is being written. What does not fit leaves by THROW. (One variable holds all of
;;; it: a Lisp with threads has room for a few thousand that are ever bound, for all that is
;;; loaded.)

(defvar *page* nil
  "A vector: text with a fill pointer; its limit; whether something was left out; the values around
the one that is being written, as lists (VALUE PLACE LABEL); those of them that were referred to;
how many items of each value are written; a function of a value that may write it instead, or NIL.")

(defmacro page-text () '(svref *page* 0))
(defmacro page-limit () '(svref *page* 1))
(defmacro page-elided () '(svref *page* 2))
(defmacro page-around () '(svref *page* 3))
(defmacro page-labels () '(svref *page* 4))
(defmacro page-items () '(svref *page* 5))
(defmacro page-writer () '(svref *page* 6))

(defun blank-page (limit items writer)
  (vector (make-array 64 :element-type 'character :adjustable t :fill-pointer 0)
          limit nil '() '() items writer))

(defun elide ()
  "Notes that something is left out."
  (setf (page-elided) t))

(defun put-char (char)
  (when (>= (fill-pointer (page-text)) (page-limit))
    (elide)
    (throw 'page-full nil))
  (vector-push-extend char (page-text) (max 64 (length (page-text)))))

(defun put (&rest texts)
  (dolist (text texts)
    (loop for char across text do (put-char char))))

(defun put-ellipsis ()
  (elide)
  (put "..."))

(defun static-text (value &optional (limit *text-limit*) (items *most-items*) writer)
  "VALUE as text of LIMIT characters at most, and whether something was left out. Runs no user code.
ITEMS are written of each list, array and instance. WRITER may write what stores fields itself: it
is called with such a value, and returns whether it has put it onto the page."
  (let ((*page* (blank-page (max 1 (1- limit)) items writer)) (full t))
    (catch 'page-full
      (put-value value)
      (setf full nil))
    (let ((text (labelled (page-text) (page-labels))))
      (values (if full (concatenate 'string text "…") text)
              (page-elided)))))

(defun labelled (page labels)
  "PAGE as a simple string, with #N= at each place that somebody refers to."
  (with-output-to-string (text)
    (let ((from 0))
      (loop for (place label) in (sort (copy-list labels) #'< :key #'first)
            do (write-string page text :start from :end place)
               (write-string "#" text)
               (write-string (integer-text label) text)
               (write-string "=" text)
               (setf from place))
      (write-string page text :start from))))

(defun put-value (value)
  (check-deadline)
  (typecase value
    (symbol (put (symbol-label value *listener-package*)))
    (number (put (number-text value)))
    (character (put (character-text value)))
    (string (put-string value))
    (t (let ((again (assoc value (page-around) :test #'eq)))
         (cond (again (put-reference again))
               ((eq value *unbound*) (put "#<unbound>"))
               ((eq value *not-made*) (put "#<not made yet>"))
               ((>= (length (page-around)) *deepest*) (put-deep value))
               (t (push (list value (fill-pointer (page-text)) nil) (page-around))
                  (handler-case (put-compound value)
                    (error () (put "#<unreadable>")))
                  (pop (page-around))))))))

(defun put-reference (around)
  (unless (third around)
    (setf (third around) (1+ (length (page-labels))))
    (push (rest around) (page-labels)))
  (put "#" (integer-text (third around)) "#"))

(defun put-deep (value)
  "A value that stands too deep to be written in full."
  (elide)
  (if (or (consp value) (arrayp value))
      (put "#")
      (put "#<" (type-label (class-of value)) ">")))

(defun put-compound (value)
  (cond ((consp value) (put-list value))
        ((vectorp value) (put-vector value))
        ((arrayp value) (put-array value))
        ((hash-table-p value) (put-hash-table value))
        ((packagep value) (put-package value))
        ((pathnamep value) (put "#P") (put-string (namestring value)))
        ((and (page-writer) (shape value) (funcall (page-writer) value)))
        (t (case (shape value)
             (structure (put-structure value))
             (condition (put-fields value))
             (instance (put-instance value))
             (funcallable (put-funcallable value))
             (t (put-opaque value))))))

(defun put-string (string)
  (put-char #\")
  (loop for index from 0 below (length string)
        for char = (char string index)
        do (when (find char "\"\\") (put-char #\\))
           (put-char char))
  (put-char #\"))

;;; Lists

(defun prefix-of (list)
  "What the reader takes for the operator of LIST, and its argument: 'X for (QUOTE X)."
  (and (consp (cdr list))
       (null (cddr list))
       (symbolp (car list))
       (let ((operator (car list)))
         (cond ((eq operator 'quote) "'")
               ((eq operator 'function) "#'")
               ((and (eq operator (native-symbol "SB-INT" "QUASIQUOTE")) operator) "`")))))

(defun put-list (list)
  (let ((prefix (prefix-of list)))
    (if prefix
        (progn (put prefix) (put-value (cadr list)))
        (put-items list))))

(defun put-items (list)
  (put-char #\()
  (loop for count from 0
        for tail = list then (cdr tail)
        do (when (plusp count) (put-char #\Space))
           (when (>= count (page-items))
             (put-ellipsis)
             (return))
           (put-value (car tail))
           (let ((rest (cdr tail)))
             (cond ((null rest) (return))
                   ((or (atom rest) (assoc rest (page-around) :test #'eq))
                    (put " . ")
                    (put-value rest)
                    (return)))))
  (put-char #\)))

;;; Arrays

(defun put-vector (vector)
  (if (bit-vector-p vector)
      (progn (put "#*")
             (dotimes (index (length vector))
               (put-char (if (zerop (bit vector index)) #\0 #\1))))
      (progn (put "#(")
             (put-elements vector 0 (length vector))
             (put-char #\)))))

(defun put-elements (array start count)
  "COUNT elements of ARRAY from the one with the row-major index START on."
  (dotimes (index count)
    (when (plusp index) (put-char #\Space))
    (when (>= index (page-items))
      (put-ellipsis)
      (return))
    (put-value (if (vectorp array)
                   (aref array (+ start index))
                   (row-major-aref array (+ start index))))))

(defun put-array (array)
  (put "#" (integer-text (array-rank array)) "A")
  (put-dimensions array (array-dimensions array) 0))

(defun put-dimensions (array dimensions start)
  (cond ((null dimensions) (put-value (row-major-aref array start)))
        ((null (rest dimensions))
         (put-char #\()
         (put-elements array start (first dimensions))
         (put-char #\)))
        (t (put-char #\()
           (loop with size = (reduce #'* (rest dimensions))
                 for index from 0 below (first dimensions)
                 do (when (plusp index) (put-char #\Space))
                    (when (>= index (page-items))
                      (put-ellipsis)
                      (return))
                    (put-dimensions array (rest dimensions) (+ start (* index size))))
           (put-char #\)))))

;;; What is written as #<...>, and structures

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
             (member text '("SI" "CLOS" "EXT" "MP" "CCL") :test #'string=)))))

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
    (when (and remark (null fields)) (put " (kept by a metaclass of the program)"))
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
  #-sbcl (and (typep metaobject 'class) (class-name metaobject)))

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
         (put " (" (integer-text (length (stored-slot value "METHODS"))) ")>"))
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
  #+sbcl (if (native ("SB-KERNEL" "FUNCALLABLE-INSTANCE-P") function)
             (class-label (class-of function))
             (native ("SB-KERNEL" "%FUN-NAME") function))
  #-sbcl (nth-value 2 (function-lambda-expression function)))

;;; What answers are made of

(defun type-label (class)
  "The name of CLASS as it is written in the package in force."
  (let ((name (type-name class)))
    (if name (symbol-label name *listener-package*) "unnamed")))

(defun type-name (class)
  "The name of CLASS; for a class that the implementation makes up for a special kind of array or
number, that of the standard one which is nearest."
  (if (eq (class-label (class-of class)) 'built-in-class)
      (or (find-if #'standard-name-p (ancestor-names class)) (class-label class))
      (class-label class)))

(defun standard-name-p (name)
  (and name (eq (symbol-package name) (find-package "COMMON-LISP")) (not (eq name t))))

(defun type-tree (class)
  "CLASS as `TypeName' of wire/contract/values.ts."
  (let* ((name (type-name class))
         (package (and name (symbol-package name))))
    (object "name" (if name (token-text (symbol-name name)) "unnamed")
            "module" (and package (package-name package))
            "qualified" (type-label class))))

(defun static-tree (value)
  "The static text of VALUE as `Text' of wire/contract/values.ts; the handle leads to more of it."
  (multiple-value-bind (text elided) (static-text value)
    (object "text" text
            "truncated" (truth elided)
            "original_len" (if elided nil (length text))
            "handle" (if elided (handle-for-static-text value) :absent))))

(defun worth-a-handle-p (value)
  "Whether there is more to VALUE than its text: all but numbers, characters, symbols, short
strings."
  (typecase value
    ((or number character symbol) nil)
    (string (> (length value) 200))
    (t t)))

(defun preview (value)
  "A line about VALUE where its text says too little; else :ABSENT."
  (if (and (vectorp value) (not (stringp value)) (> (length value) *most-items*))
      (concatenate 'string "len " (integer-text (length value)))
      :absent))

(defun shown-tree (value)
  "VALUE as `Shown' of wire/contract/values.ts, with a handle where a closer look is worth it."
  (object "repr" (static-tree value)
          "type" (type-tree (class-of value))
          "handle" (if (worth-a-handle-p value) (handle-for value) :absent)
          "preview" (preview value)))
