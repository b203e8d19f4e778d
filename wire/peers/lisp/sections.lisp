;;;; One value in sections, each of which fails on its own.

(in-package #:imago-peer)

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
        ((and (eq (shape value) 'instance) (is-a-p value 'class)) "class")
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

(defun sample-section (value)
  (if (holds-items-p value)
      (let* ((total (item-count value))
             (items (item-texts value 0 (limit "sample_max_items")))
             (shown (length items))
             (more (or (null total) (< shown total))))
        (object "items" (array-of items)
                "shown" shown
                "total" total
                "truncated" (truth more)
                "handle" (if more (handle-for-items value) :absent)))
      :absent))

;;; Members: names under which there is something more to be looked at

(defun members-tree (data callables)
  "DATA and CALLABLES, lists of strings, as `Members' of wire/contract/inspection.ts."
  (let ((most (limit "member_max_per_group")))
    (flet ((group (names)
             (array-of (mapcar (lambda (name) (cut name *item-limit*))
                               (first-in-order names most #'string<)))))
      (object "data" (group data)
              "callables" (group callables)
              "dunder_count" 0
              "shown_per_group" most
              "truncated" (truth (or (> (length data) most) (> (length callables) most)))))))

(defun slot-names-of-class (class)
  "The names of the slots of instances of CLASS, as far as they have been worked out."
  (mapcar #'slot-label
          (let ((slots #+sbcl (stored-slot class "SLOTS")
                       #-sbcl (and (plain-class-p class)
                                   (ignore-errors (swank-mop:class-slots class)))))
            (if (listp slots) slots '()))))

(defun members-of-package (package)
  (let ((data '()) (callables '()))
    (do-external-symbols (symbol package)
      (check-deadline)
      (let ((name (symbol-name symbol)))
        (if (fboundp symbol) (push name callables) (push name data))))
    (flet ((tokens (names)
             ;; One more than is shown tells that there are more.
             (mapcar #'token-text
                     (first-in-order names (1+ (limit "member_max_per_group")) #'string<))))
      (members-tree (tokens data) (tokens callables)))))

(defun members-section (value)
  (flet ((names (symbols)
           (members-tree (mapcar (lambda (name) (token-text (field-name name))) symbols) '())))
    (cond ((packagep value) (if (package-name value) (members-of-package value) :absent))
          ((member (kind value) '("object" "exception") :test #'string=)
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
      (destructuring-bind (&optional file line source cut) (place-of-function value)
        (let ((doc (documentation-of value)))
          (object "module" (home-of-function value)
                  "signature" (signature-of value)
                  "doc" (and doc (first-line doc))
                  "source_preview" source
                  "source_truncated" (truth cut)
                  "file" file
                  "line" line)))
      :absent))

(defun place-of-function (function)
  "The file and line of FUNCTION, the beginning of its source, and whether that goes on; as a list
of what of it is known."
  (with-file-texts
    (let* ((entry (first (value-entries function)))
           ;; A function without a name of its own may stand nowhere by itself.
           (located (and entry (ignore-errors (locate entry))))
           (text (getf located 'text))
           (most (limit "source_preview_max_chars")))
      (list (getf located 'file)
            (getf located 'line)
            (and text (subseq text 0 (min most (length text))))
            (> (length text) most)))))

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
    ((or symbol character fixnum) t)
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

(defun inspected-tree (value)
  "VALUE as `Inspected' of wire/contract/inspection.ts, from what is stored."
  (object "type" (type-tree (class-of value))
          "kind" (kind value)
          "read" "static"
          "repr" (section #'repr-section value)
          "size" (section #'size-section value)
          "sample" (section #'sample-section value)
          "members" (section #'members-section value)
          "doc" (section #'doc-section value)
          "callable" (section #'callable-section value)
          "exception" (section #'exception-section value)
          "limits" *limits*
          "handle" (if (worth-a-handle-p value) (handle-for value) :absent)))

(defun repr-section (value)
  "The static text of VALUE, and what there is to be said of how it is stored."
  (let ((tree (static-tree value))
        (remark (nth-value 1 (and (shape value) (fields value)))))
    (if remark
        (append (object "text" (concatenate 'string (argument "text" (rest tree)) " ; " remark))
                (list "truncated" (argument "truncated" (rest tree))
                      "original_len" nil))
        tree)))
