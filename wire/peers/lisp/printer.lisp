;;;; Values as text, from what is stored in them, without the printer of the Lisp.

(in-package #:imago-peer)

;;; Texts of symbols, numbers and characters. The Lisp's own printer asks `print-object' even for
;;; these, where a program can put methods in its way.

;;; Symbols, as they are written in a package and read by a standard readtable in the case in force.

(defparameter *plain-signs*
  (let ((signs (make-array 128 :element-type 'bit :initial-element 0)))
    (loop for char across "!$%&*/<=>?@[]^_{}~+-."
          do (setf (sbit signs (char-code char)) 1))
    signs)
  "By its code, whether a sign can stand in a symbol's name without an escape.")

;; Readers change the case of letters that are not escaped, as their readtables say.

(defun written-case (name upper lower)
  "NAME, a string, as it is written for the readtable in force; NIL where its case has to be
escaped. UPPER and LOWER are whether it has letters of that case."
  (ecase (readtable-case *listener-readtable*)
    (:upcase (and (not lower) (string-downcase name)))
    (:downcase (and (not upper) name))
    (:preserve name)
    (:invert (cond ((and upper lower) name)
                   (upper (string-downcase name))
                   (t (string-upcase name))))))

(defun like-a-number-p (name)
  "Whether NAME could be read as a number, now or in some Lisp (section 2.3.1.1 of the standard)."
  (let ((last (1- (length name))))
    (and (some #'digit-char-p name)
         (or (digit-char-p (char name 0)) (find (char name 0) "+-.^_"))
         (not (find (char name last) "+-"))
         (loop for index from 0 to last
               for char = (char name index)
               always (or (digit-char-p char)
                          (find char "+-/.^_")
                          ;; A letter marks a number where no other letter is next to it.
                          (and (alpha-char-p char)
                               (not (letter-at-p name (1- index)))
                               (not (letter-at-p name (1+ index)))))))))

(defun letter-at-p (name index)
  (and (< -1 index (length name)) (alpha-char-p (char name index))))

(defun unescaped-token (name)
  "NAME, a string, as part of a symbol without any escape; NIL where it needs one."
  (let ((name (coerce name 'simple-string))
        (signs *plain-signs*)
        (upper nil) (lower nil) (digit nil) (dots-only t))
    (declare (type simple-string name) (type simple-bit-vector signs))
    (loop for char across name
          do (unless (char= char #\.) (setf dots-only nil))
             (cond ((upper-case-p char) (setf upper t))
                   ((lower-case-p char) (setf lower t))
                   ((digit-char-p char) (setf digit t))
                   ((< (char-code char) 128)
                    (when (zerop (sbit signs (char-code char))) (return-from unescaped-token nil)))
                   ((not (alphanumericp char)) (return-from unescaped-token nil))))
    (and (not dots-only)
         (not (and digit (like-a-number-p name)))
         (written-case name upper lower))))

(defparameter *longest-name* 10000
  "Characters of a name that are written.")

(defun token-text (name)
  "NAME, a string, as part of a symbol: in bars where it has to be."
  (if (> (length name) *longest-name*)
      (concatenate 'string (whole-token (subseq name 0 *longest-name*)) "…")
      (whole-token name)))

(defun whole-token (name)
  (or (unescaped-token name)
      (with-output-to-string (text)
        (write-char #\| text)
        (loop for char across name
              do (when (find char "|\\") (write-char #\\ text))
                 (write-char char text))
        (write-char #\| text))))

(defun symbol-label (symbol &optional (package *listener-package*))
  "SYMBOL as it is written in PACKAGE."
  (let* ((name (symbol-name symbol))
         (home (symbol-package symbol))
         (token (token-text name)))
    (cond ((null home) (concatenate 'string "#:" token))
          ((eq home (find-package "KEYWORD")) (concatenate 'string ":" token))
          ((and (package-name package)  ; it may have been deleted
                (multiple-value-bind (found there) (find-symbol name package)
                  (and there (eq found symbol))))
           token)
          (t (concatenate 'string
                          (token-text (package-name home))
                          (if (eq (nth-value 1 (find-symbol name home)) :external) ":" "::")
                          token)))))

;;; Numbers

(defparameter *longest-integer* 8192
  "Bits of an integer that is written out: the time for that grows with the square of its length.")

(defun integer-text (integer)
  (if (> (integer-length integer) *longest-integer*)
      (concatenate 'string "#<" (if (minusp integer) "negative " "") "integer of "
                   (integer-text (integer-length integer)) " bits>")
      ;; SBCL writes integers, and nothing but integers, without asking `print-object'.
      (let ((*print-base* 10) (*print-radix* nil) (*print-pretty* nil) (*print-readably* nil))
        (prin1-to-string integer))))

(defun digits-text (float point digits negative)
  "DIGITS, of which POINT stand before the point, as FLOAT is written."
  (let ((marker (float-marker float)) (count (length digits)))
    (flet ((zeros (number) (make-string number :initial-element #\0))
           (joined (&rest parts) (apply #'concatenate 'string (if negative "-" "") parts)))
      (cond ((string= digits "0") (joined "0.0" (exponent-text marker 0)))
            ((and (< 0 point count) (<= point 7))
             (joined (subseq digits 0 point) "." (subseq digits point) (exponent-text marker 0)))
            ((<= count point 7)
             (joined digits (zeros (- point count)) ".0" (exponent-text marker 0)))
            ((<= -2 point 0)
             (joined "0." (zeros (- point)) digits (exponent-text marker 0)))
            (t (joined (subseq digits 0 1) "." (if (> count 1) (subseq digits 1) "0")
                       (exponent-text (or marker "e") (1- point))))))))

(defun float-marker (float)
  "The letter that tells the format of FLOAT; NIL for that which is read where there is none."
  (typecase float
    (single-float nil)
    (double-float "d")
    (short-float "s")
    (t "l")))

(defun exponent-text (marker exponent)
  (if marker
      (concatenate 'string marker (integer-text exponent))
      ""))

(defun number-text (number)
  (etypecase number
    (integer (integer-text number))
    (ratio (concatenate 'string (integer-text (numerator number)) "/"
                        (integer-text (denominator number))))
    (float (float-text number))
    (complex (concatenate 'string "#C(" (number-text (realpart number)) " "
                          (number-text (imagpart number)) ")"))))

(defun character-text (char)
  (let ((name (and (or (not (graphic-char-p char)) (char= char #\Space)) (char-name char))))
    (concatenate 'string "#\\" (or name (string char)))))

;;; Values as text, from what is stored in them: no `print-object', no `describe-object', no pretty
;;; printer's table. Never longer than asked for, and never more work than what is shown.

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
how many items of each value are written; a function of a value that may write it instead, or NIL;
how many elements of the outermost array were written; where the first end, and how many those
are.")

(defmacro page-text () '(svref *page* 0))
(defmacro page-limit () '(svref *page* 1))
(defmacro page-elided () '(svref *page* 2))
(defmacro page-around () '(svref *page* 3))
(defmacro page-labels () '(svref *page* 4))
(defmacro page-items () '(svref *page* 5))
(defmacro page-writer () '(svref *page* 6))
(defmacro page-elements () '(svref *page* 7))
(defmacro page-cut () '(svref *page* 8))
(defmacro page-before-cut () '(svref *page* 9))

(defun blank-page (limit items writer)
  (vector (make-array 64 :element-type 'character :adjustable t :fill-pointer 0)
          limit nil '() '() items writer 0 nil 0))

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
  "VALUE as text of LIMIT characters at most, whether something was left out, and, where it is a
long array, a list of its beginning and how many elements that has, or NIL. Runs no user code. ITEMS
are written of each list, array and instance. WRITER may write what stores fields itself: it is
called with such a value, and returns whether it has put it onto the page."
  (let ((*page* (blank-page (max 1 (1- limit)) items writer)) (full t))
    (catch 'page-full
      (put-value value)
      (setf full nil))
    (let ((text (labelled (page-text) (page-labels))))
      (values (if full (concatenate 'string text "…") text)
              (page-elided)
              (and (> (length text) *text-limit*) (beginning-of-array value))))))

(defun beginning-of-array (array)
  "The text on the page up to the end of ARRAY's first elements, with its parentheses, and how many
those are; NIL where it is none, or has parts that refer to each other."
  (and (arrayp array)
       (page-cut)
       (null (page-labels))
       (list (concatenate 'string (subseq (page-text) 0 (page-cut)) " ..."
                          (make-string (array-rank array) :initial-element #\)))
             (page-before-cut))))

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
       (operator-prefix (car list))))

(defun operator-prefix (operator)
  "What the reader takes for OPERATOR before a form; NIL where there is no such."
  (cond ((eq operator 'quote) "'")
        ((eq operator 'function) "#'")
        ((null operator) nil)
        ((eq operator (native-symbol "SB-INT" "QUASIQUOTE")) "`")))

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
                   (row-major-aref array (+ start index))))
    (note-element)))

(defun note-element ()
  "Notes that an element was written, where that is one of the first of the outermost array."
  (when (and (null (rest (page-around)))
             (<= (incf (page-elements)) *most-items*)
             (<= (fill-pointer (page-text)) (- *text-limit* 16)))
    (setf (page-cut) (fill-pointer (page-text))
          (page-before-cut) (page-elements))))

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

;;; What has fields or a name, as text: written as #<...>, or as #S(...) where it can be read back.

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

(defun put-comma (value)
  "What stands after a comma in a quasiquoted list."
  (put (comma-text value))
  (put-value (comma-form value)))

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

;;; Values as answers have them: their types, their text, and a handle that leads back to them.

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
            "qualified" (if name (symbol-text name) "unnamed"))))

(defun static-tree (value)
  "The static text of VALUE as `Text' of wire/contract/values.ts; the handle leads on where the text
ends for its length."
  (multiple-value-bind (text elided) (static-text value)
    (object "text" text
            "truncated" (truth elided)
            "original_len" (if elided nil (length text))
            "handle" (if (>= (length text) *text-limit*) (handle-for-static-text value) :absent))))

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
