;;;; The expressions of a look, read without the Lisp's reader and followed by stored places alone:
;;;; nothing is interned, nothing runs, and no readtable of the program's is asked. What only the
;;;; reader could make out would have to be evaluated.

(in-package #:imago-peer)

;;; An expression is one of the lists (HANDLE text), (NAME text), (LITERAL value), (QUOTE
;;; expression), (FUNCTION expression) and (LIST expression ...). A cursor is a cons of a text and a
;;; position.

(defparameter *expression-depth* 100
  "Lists within lists that are read.")

(defun malformed-at (cursor position control &rest arguments)
  "Ends the look as `malformed', with the line and column of POSITION."
  (let* ((text (car cursor))
         (position (min position (length text)))
         (line-start (or (position #\Newline text :end position :from-end t) -1)))
    (answer (object "type" "malformed"
                    "message" (apply #'format nil control arguments)
                    "line" (1+ (count #\Newline text :end position))
                    "column" (- position line-start)))))

(defun token-at (cursor)
  "The token at CURSOR, past comments, as `next-token' has it."
  (let ((start (next-form-start (car cursor) (cdr cursor))))
    (multiple-value-bind (kind start end closed) (next-token (car cursor) start)
      (when (eq kind :block-comment)
        (malformed-at cursor start "This comment is not closed."))
      (values kind start end closed))))

(defun read-expression (text)
  "The one expression that TEXT is. Ends the look where TEXT is none, is malformed, or is more than
that."
  (let ((cursor (cons (simple-text text) 0)))
    (unless (token-at cursor) (malformed-at cursor 0 "There is nothing here to look at."))
    (let ((expression (expression-at cursor 0)))
      (multiple-value-bind (kind start) (token-at cursor)
        (case kind
          ((nil) expression)
          (:close (malformed-at cursor start "This parenthesis closes nothing."))
          (t (needs-evaluation
              "There are several forms here, to be evaluated one after the other.")))))))

(defun expression-at (cursor depth)
  (when (> depth *expression-depth*)
    (needs-evaluation "It is nested too deeply to be read without evaluating it."))
  (multiple-value-bind (kind start end closed) (token-at cursor)
    (setf (cdr cursor) end)
    (ecase kind
      ((nil) (malformed-at cursor start "The expression ends too early."))
      (:open (list-at cursor depth start))
      (:close (malformed-at cursor start "This parenthesis closes nothing."))
      (:quote (list 'quote (expression-at cursor (1+ depth))))
      (:string (unless closed (malformed-at cursor start "This string is not closed."))
       (list 'literal (string-value (car cursor) start end)))
      ((:backquote :comma) (needs-evaluation "A quasiquoted form is made by evaluating it."))
      ((:character :datum :sharp) (sharp-expression cursor depth start end))
      (:name (unless closed
               (malformed-at cursor start (if (find #\| (car cursor) :start start)
                                              "A bar has no second one here."
                                              "A backslash escapes nothing here.")))
       (name-expression cursor start end)))))

(defun list-at (cursor depth start)
  (let ((items '()))
    (loop
      (multiple-value-bind (kind item-start end) (token-at cursor)
        (declare (ignore item-start))
        (case kind
          ((nil) (malformed-at cursor start "This parenthesis is not closed."))
          (:close (setf (cdr cursor) end)
           (return (cons 'list (nreverse items))))
          (t (push (expression-at cursor (1+ depth)) items)))))))

(defun sharp-expression (cursor depth start end)
  "What begins with a sharp sign. Only what is plain data or a name is read here."
  (let* ((text (car cursor))
         (char (and (< (1+ start) (length text)) (char text (1+ start)))))
    (flet ((number (radix) (list 'literal (radix-at cursor start end radix))))
      (case char
        ((nil) (malformed-at cursor start "The expression ends too early."))
        (#\' (list 'function (expression-at cursor (1+ depth))))
        (#\\ (list 'literal (character-at cursor start end)))
        ((#\x #\X) (number 16))
        ((#\o #\O) (number 8))
        ((#\b #\B) (number 2))
        ((#\< #\) #\Space #\Newline #\Tab)
         (malformed-at cursor start "#~A… cannot be read. A handle would lead to it." char))
        (t (needs-evaluation
            (format nil "What begins with #~A is made by running code." char)))))))

(defun character-at (cursor start end)
  (let ((name (subseq (car cursor) (min end (+ start 2)) end)))
    (cond ((string= name "") (malformed-at cursor start "The expression ends too early."))
          ((= (length name) 1) (char name 0))
          ((and (< (length name) 200) (name-char name)))
          (t (malformed-at cursor start "There is no character named ~A." (cut name 40))))))

(defun radix-at (cursor start end radix)
  (let ((token (subseq (car cursor) (+ start 2) end)))
    (or (ratio-of token radix)
        (malformed-at cursor start "~A is no number of radix ~D." (cut token 40) radix))))

(defun name-expression (cursor start end)
  (let* ((token (subseq (car cursor) start end))
         (escaped (find-if (lambda (char) (find char "|\\")) token))
         (number (and (not escaped) (number-of token))))
    (cond (number (list 'literal number))
          ((handle-p token) (list 'handle token))
          ((and (not escaped) (every (lambda (char) (char= char #\.)) token))
           (malformed-at cursor start "A dot stands alone here."))
          (t (list 'name token)))))

;;; Numbers

(defparameter *longest-number* 5000
  "Digits of a number that is read: the time for that grows with the square of its length.")

(defun integer-of (token radix)
  (let ((start (if (and (plusp (length token)) (find (char token 0) "+-")) 1 0)))
    (and (< start (length token))
         (every (lambda (char) (digit-char-p char radix)) (subseq token start))
         (if (> (length token) *longest-number*)
             (needs-evaluation (format nil "A number of ~D digits is made by evaluating it."
                                       (- (length token) start)))
             (parse-integer token :radix radix)))))

(defun ratio-of (token radix)
  "The integer or ratio that TOKEN is in RADIX, or NIL."
  (let ((slash (position #\/ token)))
    (if slash
        (let ((numerator (integer-of (subseq token 0 slash) radix))
              (denominator (integer-of (subseq token (1+ slash)) radix)))
          (and numerator denominator (plusp denominator)
               (digit-char-p (char token (1+ slash)) radix)
               (/ numerator denominator)))
        (integer-of token radix))))

(defun number-of (token)
  "The number that TOKEN is, or NIL."
  (let ((last (1- (length token))))
    (or (ratio-of token 10)
        (and (plusp last) (char= (char token last) #\.) (integer-of (subseq token 0 last) 10))
        (float-of token))))

(defun float-of (token)
  (let* ((mark (position-if (lambda (char) (find char "esfdlESFDL")) token))
         (exponent (if mark (integer-of (subseq token (1+ mark)) 10) 0))
         (mantissa (subseq token 0 mark))
         (point (position #\. mantissa))
         (digits (remove #\. mantissa :count 1)))
    (and exponent
         (<= (abs exponent) 400)
         (or mark point)
         (or (null point) (< point (1- (length mantissa))))
         (integer-of digits 10)
         (let ((scale (- exponent (if point (- (length mantissa) point 1) 0)))
               (prototype (case (and mark (char-downcase (char token mark)))
                            ((nil #\e #\f) 1f0) (#\s 1s0) (#\d 1d0) (t 1l0))))
           ;; What is out of range is left to evaluation, which signals it.
           (handler-case
               (let ((float (float (* (integer-of digits 10) (expt 10 scale)) prototype)))
                 (if (and (zerop float) (char= (char token 0) #\-)) (- float) float))
             (arithmetic-error () nil))))))

;;; Whether two values are the same, as `equal' and `equalp' have it. Those recurse over what they
;;; compare, go round in circles, and call what the program has made the test of a hash table.

(defparameter *most-compared* 2000000
  "Pairs of parts that are compared for one pair of values.")

(defun same-p (one other &optional (test 'equal))
  "Whether ONE and OTHER are the same by TEST, `equal' or `equalp': T, NIL, or UNKNOWN where that is
too much work, or where only code of the program's could tell."
  (let ((function (if (eq test 'equal) #'equal-or-parts #'equalp-or-parts))
        ;; What is to be compared yet: conses of two values, and vectors of two arrays and an index.
        (left (list (cons one other)))
        (steps 0)
        (same t))
    (loop while left
          do (when (> (incf steps) *most-compared*) (return-from same-p 'unknown))
             (when (zerop (mod steps 1000)) (check-deadline))
             (multiple-value-bind (one other) (next-pair left)
               (if (consp (first left))
                   (pop left)
                   (when (= (incf (svref (first left) 2)) (element-count (svref (first left) 0)))
                     (pop left)))
               (unless (eql one other)
                 (multiple-value-bind (answer parts) (funcall function one other)
                   (case answer
                     ((nil) (return-from same-p nil))
                     (unknown (setf same answer))
                     (parts (setf left (append parts left))))))))
    same))

(defun next-pair (left)
  "The two values that are to be compared next, of what is left."
  (let ((first (first left)))
    (if (consp first)
        (values (car first) (cdr first))
        (values (element (svref first 0) (svref first 2))
                (element (svref first 1) (svref first 2))))))

(defun element-count (array)
  (if (vectorp array) (length array) (array-total-size array)))

(defun element (array index)
  (if (vectorp array) (aref array index) (row-major-aref array index)))

(defun equal-or-parts (one other)
  "T, NIL, or PARTS and what of them has to be the same, too."
  (cond ((consp one)
         (and (consp other)
              (values 'parts (list (cons (car one) (car other)) (cons (cdr one) (cdr other))))))
        ((stringp one) (and (stringp other) (string= one other)))
        ;; None of these has parts that are the program's.
        ((or (bit-vector-p one) (pathnamep one)) (equal one other))))

(defun equalp-or-parts (one other)
  "The same, or UNKNOWN."
  (cond ((consp one) (equal-or-parts one other))
        ((numberp one) (and (numberp other) (= one other)))
        ((characterp one) (and (characterp other) (char-equal one other)))
        ((stringp one)
         (cond ((stringp other) (string-equal one other))
               ((vectorp other) (same-elements one other))))
        ((pathnamep one) (equal one other))
        ((hash-table-p one) (and (hash-table-p other) (tables-alike one other)))
        ((arrayp one) (and (arrayp other) (same-elements one other)))
        ((eq (shape one) 'structure)
         (and (eq (shape other) 'structure)
              (eq (class-of one) (class-of other))
              (values 'parts (loop for (nil . value) in (fields one)
                                   for (nil . other-value) in (fields other)
                                   collect (cons value other-value)))))))

(defun tables-alike (one other)
  "NIL where two hash tables cannot be the same; else their tests would have to run."
  (and (= (hash-table-count one) (hash-table-count other))
       (eq (hash-table-test one) (hash-table-test other))
       (or (zerop (hash-table-count one)) 'unknown)))

(defun same-elements (one other)
  "What of two arrays has to be the same, where they are alike otherwise."
  (cond ((not (and (= (array-rank one) (array-rank other))
                   (if (vectorp one)
                       (= (length one) (length other))
                       (loop for axis below (array-rank one)
                             always (= (array-dimension one axis) (array-dimension other axis))))))
         nil)
        ((zerop (element-count one)) t)
        (t (values 'parts (list (vector one other 0))))))

(defun property (list indicator)
  "As `getf', of a list that the program may have made: it may go round in a circle, or end in an
atom."
  (loop for tail = list then (cddr tail)
        for slow = list then (if (zerop (mod step 2)) (cddr slow) slow)
        for step from 1
        while (and (consp tail) (consp (cdr tail)) (not (and (> step 1) (eq tail slow))))
        do (check-deadline)
           (when (eq (car tail) indicator) (return (cadr tail)))))

;;; What an expression stands for, found by following stored places alone, in Lisp's own words:
;;; (car x), (gethash "a" y), (slot-value z 'b). Nothing is called that the program could have
;;; made.

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
          (t (not-found (format nil "~A as a value: it is ~A" (cut text 80) (without-value symbol))
                        (remove (symbol-text symbol) (nearest-symbols text nil)
                                :test #'string=))))))

(defun without-value (symbol)
  "For people: what SYMBOL is, which has no value and names no function or class."
  (destructuring-bind (&optional kind . type) (first (roles symbol))
    (cond ((null kind) "a symbol that is unbound and names no function or class")
          ((special-operator-p symbol) "a special operator")
          ((string= kind "type") "a type, defined by deftype")
          ((only-setf-p symbol) (format nil "what (setf ~A) is for, by a ~A" (symbol-text symbol)
                                        (substitute #\Space #\- type)))
          ((string= kind "variable") "a variable without a global value")
          (t (format nil "a ~A" (substitute #\Space #\_ kind))))))

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

;;; The places that can be read: operators of Lisp's own that only fetch what is stored.

;;; Lists

(defun follow (operator path value)
  "Follows PATH, the letters between C and R, from its end."
  (loop for letter across (reverse path)
        do (unless (listp value) (no-place operator value "a list"))
           (setf value (if (char= letter #\A) (car value) (cdr value))))
  value)

(define-place (car cdr caar cadr cdar cddr caaar caadr cadar caddr cdaar cdadr cddar cdddr
               caaaar caaadr caadar caaddr cadaar cadadr caddar cadddr
               cdaaar cdaadr cdadar cdaddr cddaar cddadr cdddar cddddr)
    (list)
  (let ((name (symbol-name operator)))
    (follow operator (subseq name 1 (1- (length name))) list)))

(define-place rest (list)
  (follow operator "D" list))

(defun tail-at (operator index list)
  (let ((tail list))
    (dotimes (step (index-of operator index) tail)
      (unless (consp tail)
        (if (null tail) (return nil) (no-place operator list "a list of that length")))
      (when (zerop (mod step 1000)) (check-deadline))
      (setf tail (cdr tail)))))

(defun element-at (operator index list)
  (follow operator "A" (tail-at operator index list)))

(define-place (first second third fourth fifth sixth seventh eighth ninth tenth) (list)
  (element-at operator
              (position operator
                        '(first second third fourth fifth sixth seventh eighth ninth tenth))
              list))

(define-place nth (index list) (element-at operator index list))
(define-place nthcdr (index list) (tail-at operator index list))

(define-place getf (list indicator) (property list indicator))

(define-place assoc (item list)
  (loop for tail = list then (cdr tail)
        while (consp tail)
        do (check-deadline)
           (when (and (consp (car tail)) (eql (caar tail) item)) (return (car tail)))))

;;; Arrays. Sequences of other kinds are the program's own classes, whose elements its methods find.

(define-place (aref bit sbit char schar svref) (array &rest indexes)
  (unless (arrayp array) (no-place operator array "an array"))
  (unless (and (= (length indexes) (array-rank array))
               (loop for index in indexes
                     for dimension from 0
                     always (< (index-of operator index) (array-dimension array dimension))))
    (out-of-bounds operator array indexes))
  (apply #'aref array indexes))

(define-place row-major-aref (array index)
  (unless (arrayp array) (no-place operator array "an array"))
  (unless (< (index-of operator index) (array-total-size array))
    (out-of-bounds operator array index))
  (row-major-aref array index))

(define-place elt (sequence index)
  (cond ((consp sequence)
         (let ((tail (tail-at operator index sequence)))
           (if (consp tail) (car tail) (out-of-bounds operator sequence index))))
        ((vectorp sequence)
         (if (< (index-of operator index) (length sequence))
             (aref sequence index)
             (out-of-bounds operator sequence index)))
        ((shape sequence)
         (needs-evaluation "The program's own code finds the elements of such a sequence."))
        (t (no-place operator sequence "a sequence"))))

;;; Hash tables. The keys are compared here, one by one: what a table calls to find one may be the
;;; program's, and a table may be put in order anew by whoever looks for a key.

(define-place gethash (key table)
  (unless (hash-table-p table) (no-place operator table "a hash table"))
  (let ((test (case (hash-table-test table)
                (eq #'eq) (eql #'eql)
                (equal (lambda (key other) (same-p key other)))
                (equalp (lambda (key other) (same-p key other 'equalp)))
                (t (needs-evaluation "The test of this hash table is the program's."))))
        (unknown nil))
    (map-entries (lambda (other value)
                   (case (funcall test key other)
                     ((nil))
                     (unknown (setf unknown t))
                     (t (return-from place value)))
                   nil)
                 table)
    (when unknown
      (needs-evaluation (format nil "A key of it is too large to be compared here, or holds a hash ~
                                     table that only its own test can compare.")))
    (not-found (format nil "an entry of ~A under ~A" (item-text table 80) (item-text key 80))
               (nearest (item-text key 80) (keys-as-texts table)))))

(defun keys-as-texts (table)
  "The texts of some keys of TABLE."
  (let ((texts '()) (count 0))
    (map-entries (lambda (key value)
                   (declare (ignore value))
                   (push (item-text key 80) texts)
                   (>= (incf count) 1000))
                 table)
    (nreverse texts)))

;;; Slots

(define-place slot-value (instance name)
  (unless (and (symbolp name) (shape instance))
    (no-place operator instance "an instance with slots"))
  (multiple-value-bind (fields remark) (fields instance)
    (let ((field (assoc name fields)))
      (cond (field (field-value name (cdr field)))
            ((and remark (null fields)) (needs-evaluation remark))
            (t (let ((token (token-text (symbol-name name))))
                 (not-found (format nil "a slot ~A of ~A" token (item-text instance 80))
                            (nearest token (loop for (slot) in fields
                                                 collect (token-text (field-name slot)))))))))))

(defun field-value (name value)
  (cond ((eq value *unbound*)
         (not-found (format nil "a value of the slot ~A, which is unbound" (symbol-label name))
                    '()))
        ((eq value *not-made*)
         (needs-evaluation (format nil "The initial form of the slot ~A has not been evaluated yet."
                                   (symbol-label name))))
        (t value)))

(defun accessor-value (symbol arguments)
  "The value of the structure's slot of which SYMBOL is the accessor, and T; else NIL."
  (let* ((known (info-of :function :source-transform symbol))
         (slot (and (consp known)
                    (= (length arguments) 1)
                    (native ("SB-KERNEL" "DEFSTRUCT-SLOT-DESCRIPTION-P") (cdr known))
                    (native ("SB-KERNEL" "DSD-NAME") (cdr known)))))
    (when slot
      (let* ((instance (value-of-expression (first arguments)))
             (field (and (eq (shape instance) 'structure)
                         (is-a-p instance (native ("SB-KERNEL" "DD-NAME") (car known)))
                         (assoc slot (fields instance)))))
        (if field
            (values (field-value slot (cdr field)) t)
            (no-place symbol instance "such a structure"))))))

;;; What symbols stand for

(defun a-symbol (operator value)
  (if (symbolp value) value (no-place operator value "a symbol")))

(define-place symbol-value (symbol)
  (multiple-value-bind (value bound) (variable-value (a-symbol operator symbol))
    (if bound
        value
        (not-found (format nil "a value of ~A" (symbol-label symbol)) '()))))

(define-place (symbol-function fdefinition macro-function) (name)
  (unless (function-name-p name) (no-place operator name "the name of a function"))
  (or (function-of name)
      (not-found (format nil "a function ~A" (static-text name 80)) '())))

(define-place symbol-plist (symbol) (symbol-plist (a-symbol operator symbol)))
(define-place symbol-package (symbol) (symbol-package (a-symbol operator symbol)))
(define-place symbol-name (symbol) (symbol-name (a-symbol operator symbol)))

(define-place get (symbol indicator)
  (property (symbol-plist (a-symbol operator symbol)) indicator))

(define-place find-class (name)
  (or (find-class (a-symbol operator name) nil)
      (not-found (format nil "a class ~A" (symbol-label name))
                 (nearest-symbols (symbol-label name) nil))))

(define-place find-package (name)
  (typecase name
    (package name)
    ((or string symbol character) (package-named (string name)))
    (t (no-place operator name "the name of a package"))))

(define-place class-of (value) (class-of value))
