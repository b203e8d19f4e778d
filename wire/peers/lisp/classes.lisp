;;;; What instances of a class hold, and what it inherits from.

(in-package #:imago-peer)

(defun class-or-class-of (value)
  (if (is-a-p value 'class) value (class-of value)))

(defun class-of-subject (name subject)
  "The class that SUBJECT, asked for as NAME, is, or whose instance it is."
  (let ((thing (subject-thing subject)))
    (flet ((none (what)
             (not-found (format nil "~A as a class: it is ~A" (one-line name 80) what)
                        (nearest-classes name))))
      (ecase (subject-kind subject)
        (symbol (or (find-class thing nil)
                    (multiple-value-bind (value bound) (value-of thing)
                      (cond ((and bound (not (symbol-macro-p thing)))
                             (class-or-class-of value))
                            ((info-of :type :kind thing) (none "a type, defined by deftype"))
                            (t (none (format nil "a ~A" (car (first (roles thing))))))))))
        (function (none "a function"))
        (method (class-of thing))
        (package (none "a package"))
        (value (class-or-class-of thing))))))

(defun nearest-classes (name)
  "Names of classes like NAME."
  (let ((names '()))
    (do-symbols (symbol (reading-package))
      (when (find-class symbol nil) (push (symbol-name symbol) names)))
    (mapcar (lambda (near) (symbol-text (find-symbol near (reading-package))))
            (nearest (or (first (split-name name)) "") (remove-duplicates names :test #'string=)))))

;;; Slots

(defun slot-name (slot) (stored slot "NAME" #'swank-mop:slot-definition-name))

(defun slot-default (slot)
  "The form that SLOT starts with, as text; NIL where it starts unbound."
  (and (stored slot "INITFUNCTION" #'swank-mop:slot-definition-initfunction)
       (form-line (stored slot "INITFORM" #'swank-mop:slot-definition-initform) 200)))

(defun slot-type (slot)
  (let ((type (stored slot "%TYPE" #'swank-mop:slot-definition-type)))
    (and (not (eq type t)) (form-line type 200))))

(defun slot-accessor (slot)
  "The function that reads SLOT, which is of a structure, or NIL."
  (stored slot "DEFSTRUCT-ACCESSOR-SYMBOL" (constantly nil)))

(defun slot-initargs (slot)
  (mapcar #'function-name-text
          (stored slot "INITARGS" #'swank-mop:slot-definition-initargs)))

(defun slot-readers (slot)
  (let ((accessor (slot-accessor slot)))
    (mapcar #'function-name-text
            (if accessor
                (list accessor)
                (stored slot "READERS" #'swank-mop:slot-definition-readers)))))

(defun slot-writers (slot)
  (let ((accessor (slot-accessor slot)))
    (mapcar #'function-name-text
            (if accessor
                (and (fboundp `(setf ,accessor)) (list `(setf ,accessor)))
                (stored slot "WRITERS" #'swank-mop:slot-definition-writers)))))

(defun slot-doc (slot)
  (let ((doc (stored slot "%DOCUMENTATION" (constantly nil))))
    (and (stringp doc) (one-line doc 400))))

(defun slot-tree (slot owner below)
  "SLOT as `Slot' of wire/contract/relations.ts. BELOW are the slots that it replaces in classes
that OWNER inherits from."
  (flet ((first-of (function) (or (funcall function slot) (some function below)))
         (all-of (function)
           (array-of (remove-duplicates (loop for one in (cons slot below)
                                              append (funcall function one))
                                        :test #'string= :from-end t)))
         (allocation () (stored slot "ALLOCATION" #'swank-mop:slot-definition-allocation)))
    (object "name" (symbol-text (slot-name slot))
            "kind" (if (eq (allocation) :class) "class" "field")
            "from" (symbol-text (class-label owner))
            "annotation" (first-of #'slot-type)
            "default" (first-of #'slot-default)
            "initargs" (all-of #'slot-initargs)
            "readers" (all-of #'slot-readers)
            "writers" (all-of #'slot-writers)
            "allocation" (form-line (or (allocation) :instance) 60 nil)
            "doc" (first-of #'slot-doc))))

(defun all-slots (class)
  "Lists (SLOT OWNER REPLACED): those of CLASS first, then those it inherits, nearest class first."
  (let ((found '()) (seen (make-hash-table)))
    (dolist (owner (precedence-of class))
      (check-deadline)
      (dolist (slot (slots-of owner))
        (let ((known (gethash (slot-name slot) seen)))
          (if known
              (setf (third known) (append (third known) (list slot)))
              (push (setf (gethash (slot-name slot) seen) (list slot owner '())) found)))))
    (nreverse found)))

(define-call "slots" (name package limit)
  (let* ((class (class-of-subject name (subject name package)))
         (slots (all-slots class)))
    (found (object "class" (type-tree class)
                   "slots" (array-of (loop for (slot owner below) in slots
                                           repeat limit
                                           collect (slot-tree slot owner below)))
                   "total" (length slots)))))

;;; Hierarchy

(defun subclasses-of (class)
  "Lists (SUBCLASS DEPTH) of all that inherit from CLASS, in depth-first order, each once."
  (let ((found '()) (seen (make-hash-table :test 'eq)))
    (labels ((visit (class depth)
               (check-deadline)
               (dolist (sub (sort-by-name (subs-of class)))
                 (unless (gethash sub seen)
                   (setf (gethash sub seen) t)
                   (push (list sub depth) found)
                   (visit sub (1+ depth))))))
      (visit class 1))
    (nreverse found)))

(defun sort-by-name (classes)
  (sort (copy-list classes) #'string< :key #'type-word))

(define-call "hierarchy" (name package limit)
  (with-file-texts
    (let* ((class (class-of-subject name (subject name package)))
           (precedence (precedence-of class))
           (subclasses (subclasses-of class))
           (name (class-label class))
           (place (place-keys (and name (symbolp name)
                                   (entry (symbol-text name) "class" name (class-source class))))))
      (found (apply #'object
                    "class" (type-tree class)
                    "metaclass" (type-tree (class-of class))
                    "bases" (array-of (mapcar #'type-tree (supers-of class)))
                    "ancestors" (array-of (mapcar #'type-tree (remove class precedence)))
                    "subclasses" (array-of (loop for (sub depth) in subclasses
                                                 repeat limit
                                                 collect (object "type" (type-tree sub)
                                                                 "depth" depth)))
                    "total" (length subclasses)
                    place)))))
