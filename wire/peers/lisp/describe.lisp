;;;; What one name is, and what instances of a class hold.

(in-package #:imago-peer)

(defun named-kind-p (kind &rest kinds)
  (member kind kinds :test #'string=))

(defun callable-kind-p (kind)
  (named-kind-p kind "function" "generic_function" "macro"))

(defun home-of (symbol)
  "The name of the package of SYMBOL, or NIL."
  (let ((package (symbol-package symbol)))
    (and package (package-name package))))

(defun other-names (symbol)
  "Names of SYMBOL in other packages that export it: ten at most."
  (let ((found '()) (home (symbol-package symbol)) (name (symbol-name symbol)))
    (dolist (package (list-all-packages))
      (multiple-value-bind (other status) (find-symbol name package)
        (when (and (eq status :external) (eq other symbol) (not (eq package home)))
          (push (format nil "~A:~A" (string-downcase (package-name package)) (bare-text symbol))
                found))))
    (subseq (nreverse found) 0 (min 10 (length found)))))

;;; Facts

(defun counted (count one &optional (many (concatenate 'string one "s")))
  (format nil "~D ~A" count (if (= count 1) one many)))

(defun exported-fact (symbol)
  (let ((package (symbol-package symbol)))
    (cond ((null package) "in no package")
          ((eq (nth-value 1 (find-symbol (symbol-name symbol) package)) :external)
           (format nil "exported from ~A" (package-name package)))
          (t (format nil "internal to ~A" (package-name package))))))

(defun function-facts (name)
  "What is known of the function or macro NAME, a symbol or (SETF symbol)."
  (let ((facts '()) (function (function-of name)))
    (flet ((fact (control &rest arguments)
             (push (apply #'format nil control arguments) facts)))
      (when (and (symbolp name) (special-operator-p name)) (fact "special operator"))
      (when (generic-p function)
        (fact "~A" (counted (length (methods-of function)) "method")))
      (when (encapsulated-p name) (fact "traced or otherwise encapsulated"))
      (case (info-of :function :inlinep name)
        (inline (fact "inlined: callers may hold a copy of an older definition"))
        (notinline (fact "declared notinline")))
      (when (and (symbolp name) (fboundp `(setf ,name)))
        (fact "setf function exists"))
      (when (and (symbolp name) (info-of :setf :expander name)) (fact "setf expander exists"))
      (when (compiler-macro-function name) (fact "has a compiler macro"))
      (when (eq (info-of :function :where-from name) :declared)
        (fact "declared type ~A" (form-line (declared-function-type name) 300))))
    (nreverse facts)))

(defun class-facts (symbol)
  (let* ((class (find-class symbol)) (word (type-word (class-of class))))
    (append (cond ((string= word "structure-class") (list "structure"))
                  ((string= word "condition-class") (list "condition"))
                  ((string= word "built-in-class") (list "built-in class")))
            (let ((subclasses (length (subclasses-of class))))
              (unless (zerop subclasses)
                (list (counted subclasses "subclass" "subclasses")))))))

(defun variable-facts (symbol)
  (let ((kind (info-of :variable :kind symbol)))
    (append (case kind
              (:special (list "special"))
              (:global (list "global, never bound"))
              (:macro (list (format nil "symbol macro for ~A"
                                    (form-line (info-of :variable :macro-expansion symbol) 200))))
              (:unknown (list "not declared special")))
            (unless (or (eq kind :macro) (nth-value 1 (value-of symbol))) (list "unbound"))
            (when (eq (info-of :variable :where-from symbol) :declared)
              (let ((type (declared-variable-type symbol)))
                (unless (member type '(nil t))
                  (list (format nil "declared type ~A" (form-line type 200)))))))))

(defun symbol-facts (symbol roles)
  (let ((kind (car (first roles))) (package (symbol-package symbol)))
    (append (unless (keywordp symbol) (list (exported-fact symbol)))
            (when (callable-kind-p kind) (function-facts symbol))
            (when (string= kind "class") (class-facts symbol))
            (when (string= kind "type") (list "a type, defined by deftype"))
            (when (named-kind-p kind "variable" "constant") (variable-facts symbol))
            (when (and (locked-p package) (not (keywordp symbol)))
              (list (format nil "its package ~A is locked" (package-name package))))
            (loop for (other) in (rest roles)
                  collect (format nil "also names a ~A" (substitute #\Space #\_ other)))
            (when (and (find-package (symbol-name symbol)) (not (keywordp symbol)))
              (list "also names a package")))))

;;; Descriptions

(defun description (name tree)
  "The description of what was asked for as NAME. TREE is a list of the keys and values that are
known; the others are null or empty."
  (flet ((known (key default)
           (loop for (given value) on tree by #'cddr
                 when (string= given key) return value
                 finally (return default))))
    (object "name" name
            "qualified" (known "qualified" name)
            "kind" (known "kind" "variable")
            "type" (known "type" nil)
            "value" (known "value" :absent)
            "doc" (let ((doc (known "doc" nil))) (and doc (text-tree doc)))
            "signature" (known "signature" nil)
            "module" (known "module" nil)
            "also" (array-of (known "also" '()))
            "facts" (array-of (known "facts" '()))
            "handle" (known "handle" :absent)
            "file" (known "file" nil)
            "line" (known "line" nil))))

(defun place-keys (entry)
  "File and line of an entry of `definition-entries', as keys and values."
  (let ((located (and entry (locate entry))))
    (list "file" (getf located 'file) "line" (getf located 'line))))

(defun value-tree (symbol)
  (multiple-value-bind (value bound) (value-of symbol)
    (if bound (text-tree (static-text value)) :absent)))

(defun symbol-type-tree (symbol kind)
  (cond ((callable-kind-p kind)
         (type-tree (class-of (or (function-of symbol) (function-of `(setf ,symbol)) #'car))))
        ((string= kind "class") (type-tree (class-of (find-class symbol))))
        ((named-kind-p kind "type" "method_combination")
         (let ((type (cdr (first (roles symbol)))))
           (object "name" type "module" nil "qualified" type)))
        (t (multiple-value-bind (value bound) (value-of symbol)
             (type-tree (class-of (if bound value symbol)))))))

(defun describe-symbol-of (name symbol)
  (let* ((roles (or (roles symbol) '(("variable" . "unbound"))))
         (kind (car (first roles)))
         (bound (nth-value 1 (value-of symbol))))
    (description
     name
     (list* "qualified" (symbol-text symbol)
            "kind" kind
            "type" (symbol-type-tree symbol kind)
            "value" (if (and bound (not (symbol-macro-p symbol)) (not (keywordp symbol)))
                        (value-tree symbol)
                        :absent)
            "doc" (or (doc-of symbol (cond ((callable-kind-p kind) "function")
                                           ((named-kind-p kind "class" "type") "class")
                                           (t "variable")))
                      (loop for (other) in (rest roles)
                              thereis (doc-of symbol other)))
            "signature" (and (callable-kind-p kind) (signature-of symbol))
            "module" (home-of symbol)
            "also" (other-names symbol)
            "facts" (symbol-facts symbol roles)
            "handle" (if (and bound (worth-a-handle-p (value-of symbol)))
                         (handle-for (value-of symbol))
                         :absent)
            (place-keys (first (definition-entries (list 'symbol symbol))))))))

(defun describe-package (name package)
  (let ((external 0) (internal 0))
    (do-external-symbols (symbol package) (incf external))
    (do-symbols (symbol package)
      (when (eq (symbol-package symbol) package) (incf internal)))
    (description
     name
     (list* "qualified" (package-name package)
            "kind" "module"
            "type" (type-tree (class-of package))
            "doc" (package-doc package)
            "also" (copy-list (package-nicknames package))
            "facts" (append (list (counted external "external symbol")
                                  (format nil "home of ~A" (counted internal "symbol")))
                            (loop for used in (package-use-list package)
                                  collect (format nil "uses ~A" (package-name used)))
                            (when (locked-p package) (list "locked package"))
                            (let ((users (length (package-used-by-list package))))
                              (unless (zerop users)
                                (list (format nil "used by ~A" (counted users "package"))))))
            "handle" (handle-for package)
            (place-keys (first (definition-entries (list 'package package))))))))

(defun describe-method (name method)
  (description
   name
   (list* "qualified" (method-text method)
          "kind" "method"
          "type" (type-tree (class-of method))
          "doc" (stored method "%DOCUMENTATION" (constantly nil))
          "signature" (signature-text (lambda-list-of-method method) (reading-package))
          "facts" (list (format nil "method of ~A"
                                (function-name-text (name-of-generic (function-of-method method)))))
          "handle" (handle-for method)
          (place-keys (first (definition-entries (list 'method method)))))))

(defun describe-function (name function-name)
  "FUNCTION-NAME is a list such as (SETF AREA)."
  (let ((function (function-of function-name)))
    (description
     name
     (list* "qualified" (function-name-text function-name)
            "kind" (cond ((null function) "macro")
                         ((generic-p function) "generic_function")
                         (t "function"))
            "type" (type-tree (class-of (or function #'car)))
            "doc" (doc-of function-name "function")
            "signature" (and function (signature-of function-name))
            "module" (home-of (second function-name))
            "facts" (append
                     (if function (function-facts function-name) (list "a setf expander"))
                     (when (only-setf-p (second function-name))
                       (list (format nil "only (setf ~A) is ~:[defined~;a function~], and ~
                                             not ~2:*~A"
                                     (symbol-text (second function-name)) function))))
            (place-keys (first (definition-entries (list 'function function-name))))))))

(defun described-value (name value)
  (ecase (kind-of-value value)
    (symbol (describe-symbol-of name value))
    (package (describe-package name value))
    (method (describe-method name value))
    (class (if (and (class-label value) (eq (find-class (class-label value) nil) value))
               (describe-symbol-of name (class-label value))
               (plain-description name value "class")))
    (function (plain-description name value "function"))
    (value (plain-description name value "variable"))))

(defun plain-description (name value kind)
  (description
   name
   (list* "kind" kind
          "type" (type-tree (class-of value))
          "value" (if (string= kind "variable") (text-tree (static-text value)) :absent)
          "doc" (and (string= kind "function")
                     (let ((doc (function-doc value))) (and (stringp doc) doc)))
          "signature" (and (string= kind "function") (signature-of value))
          "facts" (list "the value of a handle")
          "handle" (handle-for value)
          (place-keys (first (definition-entries (list 'value value)))))))

(define-call "describe" (name)
  (with-file-texts
    (let* ((subject (subject name)) (thing (subject-thing subject)))
      (found (ecase (subject-kind subject)
               (symbol (if (only-setf-p thing)
                           (describe-function name `(setf ,thing))
                           (describe-symbol-of name thing)))
               (function (describe-function name thing))
               (method (describe-method name thing))
               (package (describe-package name thing))
               (value (described-value name thing)))))))

;;; What instances of a class hold, and what it inherits from.

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
  "SLOT as `Slot' of wire/contract/names.ts. BELOW are the slots that it replaces in classes
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

(define-call "slots" (name limit)
  (let* ((class (class-of-subject name (subject name)))
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

(define-call "hierarchy" (name limit)
  (with-file-texts
    (let* ((class (class-of-subject name (subject name)))
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
