;;;; Looking at one value.

(in-package #:imago-peer)

;;; What values hold, by position: elements, entries, fields; and how many there are.

(defparameter *counted-length* 20000
  "Conses of a list that are counted. Counting more would cost more than looking at what is shown.")

(defparameter *item-limit* 200
  "Characters of one item in an answer.")

;;; Lists

(defun list-length-of (list)
  "How many elements LIST has, or NIL where it is circular, dotted, or longer than is counted; and
what its last conses end in: NIL, an atom, CIRCULAR or UNKNOWN."
  (let ((slow list) (count 0))
    (loop for tail = list then (cdr tail)
          while (consp tail)
          do (incf count)
             (when (evenp count) (setf slow (cdr slow)))
             (cond ((and (> count 1) (eq slow (cdr tail)) (consp slow))
                    (return-from list-length-of (values nil 'circular)))
                   ((> count *counted-length*)
                    (return-from list-length-of (values nil 'unknown))))
          finally (return (values (if (null tail) count nil) tail)))))

(defun map-list-items (function list start count)
  "Calls FUNCTION for COUNT items of LIST at most from START on; a dotted end is one."
  (let ((tail list))
    (loop for index from 0 below start
          while (consp tail)
          do (when (zerop (mod index 1000)) (check-deadline))
             (setf tail (cdr tail)))
    (loop for index from start
          repeat count
          while tail
          do (cond ((consp tail)
                    (funcall function (item-text (car tail)) (car tail) 'nth index)
                    (setf tail (cdr tail)))
                   (t (funcall function (concatenate 'string ". " (item-text tail))
                               tail 'nthcdr index)
                      (setf tail nil))))))

(defun item-text (value &optional (limit *item-limit*))
  (values (static-text value limit)))

;;; Hash tables, whose own functions for finding keys are never called

(defun map-entries (function table)
  "Calls FUNCTION with each key and value of TABLE until it returns true. Takes no lock."
  (let ((steps 0))
    (with-hash-table-iterator (next table)
      (loop (multiple-value-bind (more key value) (next)
              (unless more (return nil))
              (when (zerop (mod (incf steps) 1000)) (check-deadline))
              (when (funcall function key value) (return t)))))))

(defun pair-text (name value separator)
  "NAME SEPARATOR VALUE; NAME, a string, has half the room at most."
  (let ((name (cut name (floor *item-limit* 2))))
    (concatenate 'string name separator
                 (item-text value (max 20 (- *item-limit* (length name) (length separator)))))))

(defun map-entry-items (function table start count)
  (let ((index 0) (end (+ start count)))
    (map-entries (lambda (key value)
                   (when (<= start index)
                     (funcall function
                              (pair-text (item-text key (floor *item-limit* 2)) value " => ")
                              value 'gethash key))
                   (>= (incf index) end))
                 table)))

;;; All kinds

(defun holds-items-p (value)
  "Whether VALUE is something of which the parts can be told apart by position."
  (typecase value
    (null nil)
    (symbol nil)
    ((or number character string) nil)
    (cons t)
    (array t)
    (hash-table t)
    (package t)
    (t (or (held-list value) (class-p value) (fields-shown-p value)))))

(defun class-p (value)
  (and (eq (shape value) 'instance) (is-a-p value 'class)))

(defun exported-symbols (package)
  (let ((symbols '()))
    (when (package-name package)
      (do-external-symbols (symbol package)
        (check-deadline)
        (push symbol symbols)))
    symbols))

(defun exported-line (symbol)
  "The name of SYMBOL, and what it stands for, where that is anything."
  (let ((role (first (roles symbol))))
    (format nil "~A~@[  ~A~]" (token-text (symbol-name symbol))
            (and role (substitute #\Space #\_ (car role))))))

(defun held-list (value)
  "What VALUE, a function, keeps apart from fields: the values of a closure, the methods of a
generic function."
  (and (functionp value)
       (if (and (eq (shape value) 'funcallable) (is-a-p value 'generic-function))
           (methods-stored value)
           (closed-over value))))

(defun fields-shown-p (value)
  "Whether VALUE is looked at by its fields: classes and packages have what says more of them."
  (and (shape value)
       (not (packagep value))
       (not (is-a-p value 'class))))

(defun item-count (value)
  "How many items VALUE holds; NIL where that is not known."
  (cond ((consp value)
         (multiple-value-bind (length end) (list-length-of value)
           (cond (length)
                 ((member end '(circular unknown)) nil)
                 (t (1+ (conses-of value))))))
        ((vectorp value) (length value))
        ((arrayp value) (array-total-size value))
        ((hash-table-p value) (hash-table-count value))
        ((packagep value) (length (exported-symbols value)))
        ((held-list value) (length (held-list value)))
        ((class-p value) (length (supers-of value)))
        ((fields-shown-p value) (length (fields value)))
        (t 0)))

(defun conses-of (list)
  (loop for tail = list then (cdr tail)
        while (consp tail)
        count t))

(defun item-texts (value start count &optional (lead (constantly nil)))
  "The texts of COUNT items of VALUE at most, from START on: elements; `key => value' of a hash
table; `slot = value' of what has slots; what a class inherits from. And the list of what LEAD says
of each: it is given the item, the operator that leads to it, and its argument besides VALUE."
  (let ((texts '()) (leads '()))
    (flet ((take (text item &optional operator argument)
             (push text texts)
             (push (funcall lead item operator argument) leads)))
      (cond ((consp value) (map-list-items #'take value start count))
            ((arrayp value)
             (loop for index from start below (min (+ start count) (item-count value))
                   do (check-deadline)
                      (let ((item (element value index)))
                        (take (item-text item) item
                              (if (vectorp value) 'aref 'row-major-aref) index))))
            ((hash-table-p value) (map-entry-items #'take value start count))
            ((packagep value)
             (loop for symbol in (nthcdr start (first-in-order (exported-symbols value)
                                                               (+ start count) #'symbol<))
                   do (take (exported-line symbol) symbol 'quote symbol)))
            ((held-list value)
             (map-list-items (lambda (text item &rest way)
                               (declare (ignore way))
                               (take text item))
                             (held-list value) start count))
            ((class-p value)
             (loop for super in (nthcdr start (supers-of value))
                   repeat count
                   do (take (format nil "superclass ~A" (specializer-text super))
                            super 'find-class (stored-name super))))
            ((fields-shown-p value)
             (loop for (name . held) in (nthcdr start (fields value))
                   repeat count
                   do (take (pair-text (token-text (field-name name)) held " = ")
                            held 'slot-value name)))))
    (values (nreverse texts) (nreverse leads))))

(defun spelled-item (expression operator argument)
  "The text that leads to an item of the value of EXPRESSION by OPERATOR and ARGUMENT; or NIL."
  (let ((name (symbol-text operator)))
    (flet ((quoted () (if (symbolp argument) (symbol-text argument) (static-text argument 200))))
      (case operator
        (quote (symbol-text argument))
        (find-class (format nil "(~A '~A)" name (quoted)))
        (gethash (format nil "(~A '~A ~A)" name (quoted) expression))
        (slot-value (format nil "(~A ~A '~A)" name expression (quoted)))
        ((nth nthcdr) (format nil "(~A ~D ~A)" name argument expression))
        (t (format nil "(~A ~A ~D)" name expression argument))))))

(defun lead (expression item operator argument)
  "How to look at ITEM next: what `spelled-item' makes of the others, where that was followed and
has led to that very item; or else a handle, where there is more to it than a text; or NIL."
  (let ((text (and operator (spelled-item expression operator argument))))
    (cond ((and text
                (notany (lambda (char) (<= #xD800 (char-code char) #xDFFF)) text)
                (eql item (if (eq operator 'quote)
                              (quiet-symbol text)
                              (catch 'answer (resolve text)))))
           text)
          ((or (eq item *unbound*) (eq item *not-made*)) nil)
          ((worth-a-handle-p item) (handle-for item)))))

;;; Values as their own printers show them, for what an evaluation came to: the `print-object'
;;; methods of the program run, for a bounded time and text. Everything else is written as
;;; `printer.lisp' does.

(defparameter *printing-patience* 2
  "Seconds that the printers of all values of one evaluation may take.")

(defparameter *most-values* 100
  "Values that are shown one by one: an answer that is too long for Swank would end the
connection.")

(defun printed-classes ()
  "What `print-object' methods of the program and its libraries are for: classes, and lists of one
object."
  (loop for method in (methods-stored #'print-object)
        for specializer = (first (specializers-of method))
        for class-p = (is-a-p specializer 'class)
        unless (and class-p (of-the-implementation-p specializer))
          collect (if class-p specializer (list (stored-slot specializer "OBJECT")))))

(defun printer-p (value classes)
  "Whether the program has a printer for VALUE, by CLASSES as `printed-classes' has them."
  (and classes
       (let ((ancestors (ancestors (class-of value))))
         (loop for class in classes
               thereis (if (consp class) (eql value (first class)) (member class ancestors))))))

(defun call-as-at-top-level (function)
  "Calls FUNCTION with the printer as the listener has it, whatever this thread has bound. What it
prints elsewhere is for nobody."
  (let* ((nowhere (make-two-way-stream (make-concatenated-stream) (make-broadcast-stream)))
         (*standard-output* nowhere)
         (*error-output* nowhere)
         (*trace-output* nowhere)
         (*standard-input* nowhere)
         (*query-io* nowhere)
         (*debug-io* nowhere)
         (*terminal-io* nowhere)
         (*package* *listener-package*)
         (*readtable* *listener-readtable*)
         (*print-case* :downcase)
         ;; What looks for circles prints everything once to nowhere, and that may never end.
         (*print-circle* nil)
         (*print-readably* nil)
         (*print-escape* t)
         (*print-length* (or *print-length* *most-items*))
         (*print-level* (or *print-level* *deepest*))
         (*break-on-signals* nil))
    (funcall function)))

(defun own-text (value limit)
  "What the printer of VALUE says, LIMIT characters at most; or NIL and why it failed."
  (call-contained
   (lambda ()
     (call-as-at-top-level
      (lambda ()
        (swank::call/truncated-output-to-string
         (max 1 limit)
         (lambda (stream) (prin1 value stream))
         "…"))))
   (lambda (condition)
     (values nil (if condition
                     (static-text condition 300)
                     "it was left by a restart or a throw")))))

(defun printed-text (value &optional (seconds *printing-patience*))
  "VALUE as its own printer has it: the text, whether something was left out, why the printer was
not used, or NIL, and its beginning as `static-text' has it."
  (let ((classes 'unknown) (found nil))
    (flet ((own-p (part)
             (when (eq classes 'unknown) (setf classes (printed-classes)))
             (printer-p part classes)))
      ;; Most values have nothing of the program's in them, and need nobody who watches the clock.
      (multiple-value-bind (text elided beginning)
          (static-text value *kept-limit* most-positive-fixnum
                       (lambda (part)
                         (setf found (or found (own-p part)))
                         nil))
        (cond ((not found) (values text elided nil beginning))
              ((plusp seconds) (text-in-time value seconds #'own-p (list text elided)))
              (t (values text elided "Others' printers took all the time.")))))))

(defun text-in-time (value seconds own-p static)
  "As `printed-text'; what OWN-P holds for is written by its own printer, in so many SECONDS at
most. STATIC is the text and whether it was left out, for when they are over."
  (let ((failed nil))
    (flet ((put-own (part)
             (and (funcall own-p part)
                  (multiple-value-bind (text why)
                      (own-text part (- (page-limit) (fill-pointer (page-text))))
                    (cond (text (put text) t)
                          (t (setf failed (or failed (printer-failed part why)))
                             nil))))))
      (apply #'values
             (call-with-patience
              seconds
              (lambda ()
                (multiple-value-bind (text elided beginning)
                    (static-text value *kept-limit* most-positive-fixnum #'put-own)
                  (list text elided failed beginning)))
              (lambda ()
                (append static (list (format nil "Its printer took longer than ~A s."
                                             (number-text seconds))))))))))

(defun printer-failed (value why)
  (format nil "The printer of ~A failed: ~A." (type-label (class-of value)) why))

(defun printed-tree (value &optional (seconds *printing-patience*))
  "What the printer of VALUE says as `Text' of wire/contract/values.ts; of a long array the first
elements, and how many those are."
  (multiple-value-bind (text elided failed beginning) (printed-text value seconds)
    (values (append (text-tree text :total (if elided nil (length text))
                                    :beginning (first beginning))
                    (list "error" (or failed :absent)))
            (second beginning))))

(defun printed-shown-tree (value &optional (seconds *printing-patience*) (preview (preview value)))
  "VALUE, which an evaluation came to, as `Shown' of wire/contract/values.ts: by its own printer."
  (multiple-value-bind (repr count)
      (call-contained (lambda () (printed-tree value seconds))
                      (lambda (condition) (unshown-tree value condition)))
    (object "repr" repr
            "type" (if (and (large-array-p value) (not (bit-vector-p value)))
                       (array-type-tree value)
                       (type-tree (class-of value)))
            "handle" (if (worth-a-handle-p value) (handle-for value) :absent)
            "preview" (if count
                          (format nil "the first ~D of ~D elements" count
                                  (if (vectorp value) (length value) (array-total-size value)))
                          preview))))

(defun unshown-tree (value condition)
  "`Text' for VALUE, of which not even the static text could be had for CONDITION."
  (append (text-tree (format nil "#<~A>" (type-label (class-of value))))
          (list "error" (format nil "It could not be shown: ~A."
                                (if condition (static-text condition 300) "that was left")))))

(defun shown-values (values)
  "The trees of VALUES, which an evaluation came to. Where they are too many, the last is for the
list of all that are left."
  (let ((end (+ (get-internal-real-time)
                (* *printing-patience* internal-time-units-per-second)))
        (left (nthcdr *most-values* values)))
    (flet ((seconds ()
             (max 0 (/ (- end (get-internal-real-time)) internal-time-units-per-second))))
      (append (loop for value in (ldiff values left)
                    collect (printed-shown-tree value (seconds)))
              (and left
                   (list (printed-shown-tree
                          left (seconds)
                          (format nil "a list of the ~D values that are left"
                                  (length left)))))))))

;;; One value in sections, each of which fails on its own.

(defparameter *limits*
  (object "repr_max_chars" *text-limit*
          "repr_max_items" *most-items*
          "doc_max_chars" *text-limit*
          "sample_max_items" 16
          "sample_item_max_chars" *item-limit*
          "member_max_per_group" 24
          "source_preview_max_chars" 1200
          "list_length_max" *counted-length*))

(defun limit (name)
  (argument name (rest *limits*)))

(defun kind (value)
  "VALUE as one of `KINDS' in wire/contract/values.ts. NIL is none, and T true: what a program means
by them is not to be seen. Symbols, characters and pathnames are of no kind of their own."
  (cond ((null value) "none")
        ((eq value t) "bool")
        ((numberp value) "number")
        ((stringp value) "string")
        ((or (consp value) (arrayp value)) "sequence")
        ((or (symbolp value) (characterp value) (pathnamep value)) "other")
        ((hash-table-p value) "mapping")
        ((packagep value) "module")
        ((functionp value) "callable")
        ((class-p value) "class")
        ((is-a-p value 'condition) "exception")
        ((shape value) "object")
        (t "other")))

(defun size-section (value)
  (typecase value
    (null :absent)
    (string (object "len" (length value)))
    (vector (object "len" (length value)))
    (array (object "shape" (array-of (array-dimensions value))))
    (cons (object "len" (or (values (list-length-of value)) :absent)))
    (hash-table (object "len" (hash-table-count value)))
    (t :absent)))

(defparameter *sampled-names* 50
  "Names of a package that are shown at first.")

(defun sample-section (value expression)
  (if (holds-items-p value)
      (multiple-value-bind (items leads)
          (item-texts value 0
                      (if (packagep value) *sampled-names* (limit "sample_max_items"))
                      (lambda (&rest way) (apply #'lead expression way)))
        (let* ((total (item-count value))
               (shown (length items))
               (more (or (null total) (< shown total))))
          (object "items" (array-of items)
                  "exprs" (array-of leads)
                  "shown" shown
                  "total" total
                  "truncated" (truth more)
                  "handle" (if more (handle-for-items value) :absent))))
      :absent))

;;; Members: names under which there is something more to be looked at

(defun members-tree (names)
  "NAMES, a list of strings, as `Members' of wire/contract/inspection.ts."
  (let ((most (limit "member_max_per_group")))
    (object "data" (array-of (mapcar (lambda (name) (cut name *item-limit*))
                                     (first-in-order names most #'string<)))
            "callables" (array-of '())
            "dunder_count" 0
            "shown_per_group" most
            "truncated" (truth (> (length names) most)))))

(defun members-section (value)
  (flet ((names (symbols)
           (members-tree (mapcar (lambda (name) (token-text (field-name name))) symbols))))
    (cond ((member (kind value) '("object" "exception") :test #'string=)
           (names (mapcar #'car (fields value))))
          ((string= (kind value) "class") (names (slot-names-of-class value)))
          (t :absent))))

;;; Documentation, as it is stored

(defun documentation-of (value)
  "What is stored of the documentation of VALUE itself, or of the class that the program has made it
of; a string or NIL."
  (let ((text (cond ((functionp value) (function-doc value))
                    ((packagep value) (and (package-name value) (package-doc value)))
                    ((not (shape value)) nil)
                    ((is-a-p value 'class) (class-doc value))
                    ((of-the-implementation-p (class-of value)) nil)
                    (t (class-doc (class-of value))))))
    (and (stringp text) text)))

(defun doc-section (value)
  (let ((text (documentation-of value)))
    (if text
        (text-tree text :limit (limit "doc_max_chars"))
        :absent)))

;;; Functions

(defun home-of-function (function)
  "The package of the name of FUNCTION, or NIL."
  (let* ((name (bounded-form (function-name function)))
         (symbol (loop while (consp name)
                       ;; (lambda (x) :in area), (setf area), (flet step :in area)
                       do (setf name (if (member :in name)
                                         (second (member :in name))
                                         (find-if #'symbolp (rest name))))
                       finally (return name)))
         (package (and (symbolp symbol) symbol (symbol-package symbol))))
    (and package (package-name package))))

(defun callable-section (value)
  (if (functionp value)
      (destructuring-bind (&optional file line source cut proof note) (place-of-function value)
        (let ((doc (documentation-of value)))
          (object "module" (home-of-function value)
                  "signature" (signature-of value)
                  "doc" (and doc (first-line doc))
                  "source_preview" source
                  "source_truncated" (truth cut)
                  "file" file
                  "line" line
                  "proof" (or proof :absent)
                  "proof_note" (or note :absent))))
      :absent))

(defun place-of-function (function)
  "The file and line of FUNCTION, the beginning of its source where that may be what runs, and
whether that goes on; whether it is what runs, and a sentence about that; as a list of what of it is
known."
  (with-file-texts
    (let* ((entry (first (value-entries function)))
           ;; A function without a name of its own may stand nowhere by itself.
           (located (and entry (ignore-errors (locate entry))))
           (text (and (not (eq (getf located 'current) :false)) (getf located 'text)))
           (most (limit "source_preview_max_chars")))
      (list (getf located 'file)
            (getf located 'line)
            (and text (subseq text 0 (min most (length text))))
            (> (length text) most)
            (and (getf located 'text) (proof-tree located))
            (or (getf located 'why) (first (getf located 'notes)))))))

;;; Conditions

(defun plain-control-p (control)
  "Whether CONTROL, a format control, calls nothing and writes no more than its arguments are long."
  (and (stringp control)
       (< (length control) 2000)
       (loop with index = 0
             while (setf index (position #\~ control :start index))
             always (let ((letter (position-if-not (lambda (char) (find char ":@")) control
                                                   :start (1+ index))))
                      (setf index (and letter (1+ letter)))
                      (and letter
                           (find (char-downcase (char control letter))
                                 (format nil "asdbox%&~~_i()~%")))))))

(defun plain-argument-p (argument)
  "Whether writing ARGUMENT asks nothing of the program."
  (typecase argument
    ((or symbol character fixnum float) t)
    (simple-string (< (length argument) 2000))))

(defun message-of (condition)
  "The report of CONDITION where it can be told without running what the program has written for
that; else NIL."
  (let* ((fields (fields condition))
         (control (cdr (assoc "FORMAT-CONTROL" fields :test #'string= :key #'field-name)))
         (arguments (cdr (assoc "FORMAT-ARGUMENTS" fields :test #'string= :key #'field-name))))
    (when (and (eq (type-name (class-of condition))
                   (find (type-name (class-of condition))
                         '(simple-error simple-warning simple-condition simple-type-error)))
               (plain-control-p control)
               (list-length-of (cons nil arguments))
               (< (list-length-of (cons nil arguments)) 20)
               (every #'plain-argument-p arguments))
      (ignore-errors
       (with-standard-io-syntax
         (let ((*print-case* :downcase) (*print-readably* nil) (*package* *listener-package*))
           (apply #'format nil control arguments)))))))

(defun exception-section (value)
  (if (string= (kind value) "exception")
      (object "exc_type" (type-label (class-of value))
              "message" (message-of value)
              "traceback" nil)
      :absent))

;;; The whole

(defun section (function value)
  "What FUNCTION makes of VALUE, or why it failed."
  (handler-case (funcall function value)
    (error (condition)
      (object "error" (type-label (class-of condition))))))

(defun inspected-tree (value expression)
  "VALUE, to which EXPRESSION leads, as `Inspected' of wire/contract/inspection.ts, from what is
stored."
  (object "type" (if (large-array-p value) (array-type-tree value) (type-tree (class-of value)))
          "kind" (kind value)
          "repr" (section #'repr-section value)
          "size" (section #'size-section value)
          "sample" (section (lambda (value) (sample-section value expression)) value)
          "members" (section #'members-section value)
          "doc" (section #'doc-section value)
          "callable" (section #'callable-section value)
          "exception" (section #'exception-section value)
          "limits" *limits*
          "handle" (if (worth-a-handle-p value) (handle-for value) :absent)))

(defun large-array-p (value)
  "Whether VALUE is an array whose elements say less than their type and a sample of them."
  (and (arrayp value)
       (not (stringp value))
       (or (/= (array-rank value) 1) (not (eq (array-element-type value) t)))
       (> (array-total-size value) (limit "sample_max_items"))))

(defun array-label (array)
  "The type of ARRAY, with its elements' and its dimensions."
  (format nil "(~A ~A (~{~D~^ ~}))"
          (if (typep array 'simple-array) "simple-array" "array")
          (form-line (array-element-type array) 100)
          (array-dimensions array)))

(defun array-type-tree (array)
  "`TypeName' of wire/contract/values.ts."
  (let ((name (array-label array)))
    (object "name" name "module" "COMMON-LISP" "qualified" name)))

(defun repr-section (value)
  "The static text of VALUE, and what there is to be said of how it is stored."
  (let ((tree (if (large-array-p value)
                  (object "text" (format nil "#<~A>" (array-label value))
                          "truncated" t
                          "original_len" nil)
                  (static-tree value)))
        (remark (nth-value 1 (and (shape value) (fields value)))))
    (if remark
        (append (object "text" (concatenate 'string (argument "text" (rest tree)) " ; " remark))
                (list "truncated" (argument "truncated" (rest tree))
                      "original_len" nil))
        tree)))

(define-call "inspect" (expr)
  (found (inspected-tree (resolve expr) expr)))

;;; The rest of what was cut

(defparameter *piece-limit* (* 64 1024)
  "Characters of one answer.")

(defparameter *piece-items* 1000
  "Items of one answer.")

(defun piece-of-text (text from count whole)
  "COUNT characters of TEXT at most, from FROM on. WHOLE is whether TEXT is all that there is."
  (let* ((start (min from (length text)))
         (end (min (length text) (+ start (min count *piece-limit*)))))
    (object "type" "text"
            "text" (coerce (subseq text start end) 'simple-string)
            "from" from
            "total" (and whole (length text))
            "next" (and (< end (length text)) end))))

(defun piece-of-items (value from count)
  (let* ((total (item-count value))
         (texts (item-texts value from (min count *piece-items*)))
         (end (+ from (length texts)))
         (more (if total
                   (< end total)
                   ;; Nobody has counted; an item beyond the last one tells.
                   (and texts (item-texts value end 1) t))))
    (object "type" "items"
            "items" (array-of texts)
            "from" from
            "total" total
            "next" (and more end))))

(define-call "more" (handle from count)
  (let ((from (max 0 from)) (count (max 1 count)))
    (multiple-value-bind (value kind) (handle-value handle)
      (found
       (cond ((or (eq kind 'text) (stringp value)) (piece-of-text value from count t))
             ((and (member kind '(value items)) (holds-items-p value))
              (piece-of-items value from count))
             (t (multiple-value-bind (text elided) (static-text value *kept-limit*)
                  (piece-of-text text from count (not elided)))))))))
