;;;; The places that can be read: operators of Lisp's own that only fetch what is stored.

(in-package #:imago-peer)

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
