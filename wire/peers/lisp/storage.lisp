;;;; What values store, read from where they store it: no accessor, no metaclass and no method is
;;;; asked.

(in-package #:imago-peer)

(defvar *unbound* (list "unbound")
  "Stands for the value of a slot that has none.")

(defvar *not-made* (list "not made")
  "Stands for the value of a slot of a condition whose initial form has not been evaluated yet.")

(defun bound-or-not (value)
  "VALUE, or *UNBOUND* where it is the mark that the implementation puts into a slot that has none."
  (cond ((native ("SB-INT" "UNBOUND-MARKER-P") value) *unbound*)
        #+ecl ((eq value (si:unbound)) *unbound*)
        (t value)))

;;; What kind of thing a value is, told from its header and its layout. TYPEP must not be asked of
;;; an instance, which it may bring up to date with its class.

(defun layout (value)
  (native ("SB-KERNEL" "WRAPPER-OF" "LAYOUT-OF") value))

(defun layout-state (value)
  "NIL where VALUE is laid out as its class is now, FLUSH where only caches differ, else OBSOLETE."
  (let ((state #+sbcl (native ("SB-KERNEL" "WRAPPER-INVALID" "LAYOUT-INVALID") (layout value))
               #-sbcl (native ("SI" "INSTANCE-OBSOLETE-P") value)))
    (cond ((null state) nil)
          ((and (consp state) (eq (car state) :flush)) 'flush)
          (t 'obsolete))))

(defun shape (value)
  "How VALUE stores what it holds: STRUCTURE, CONDITION, INSTANCE, FUNCALLABLE (an instance that is
a function), or NIL where it is none of them."
  #+sbcl (let ((funcallable (native ("SB-KERNEL" "FUNCALLABLE-INSTANCE-P") value)))
           (when (or funcallable (native ("SB-KERNEL" "%INSTANCEP") value))
             (let ((classoid (native ("SB-KERNEL" "CLASSOID-OF") value)))
               (cond ((native ("SB-KERNEL" "STANDARD-CLASSOID-P") classoid)
                      (if funcallable 'funcallable 'instance))
                     (funcallable nil)
                     ((native ("SB-KERNEL" "CONDITION-CLASSOID-P") classoid) 'condition)
                     ((native ("SB-KERNEL" "STRUCTURE-CLASSOID-P") classoid) 'structure)))))
  #+ecl (cond ((not (si:instancep value)) (and (typep value 'structure-object) 'structure))
              ((functionp value) 'funcallable)
              ((typep value 'structure-object) 'structure)
              (t 'instance))
  #-(or sbcl ecl) (typecase value
                    (structure-object 'structure)
                    (condition 'condition)
                    (function nil)
                    (standard-object 'instance)))

(defun is-a-p (value class-name)
  "Whether VALUE is an instance of the class of that name, which is Lisp's own. As TYPEP, but VALUE
stays as it is."
  (member class-name (ancestor-names (class-of value))))

;;; Slots of classes, generic functions, methods and slot definitions. What Lisp calls their readers
;;; are generic functions, to which a program may add methods.

(defun stored-slot (metaobject name &optional default)
  "What METAOBJECT stores in the slot that SBCL calls NAME, a string; DEFAULT where it has none, or
nothing is in it."
  (let* ((symbol (and (find-package "SB-PCL") (find-symbol name "SB-PCL")))
         (cell (and symbol (native ("SB-PCL" "FIND-SLOT-CELL") (layout metaobject) symbol)))
         (value (if (consp cell)
                    (bound-or-not (at-location metaobject (car cell)))
                    *unbound*)))
    (if (eq value *unbound*) default value)))

(defun at-location (instance location)
  "What a standard instance keeps at LOCATION, as an effective slot definition has it."
  (cond ((consp location) (cdr location))
        ((not (integerp location)) *unbound*)
        #+sbcl (t (let ((slots (if (native ("SB-KERNEL" "FUNCALLABLE-INSTANCE-P") instance)
                                   (native ("SB-PCL" "FSC-INSTANCE-SLOTS") instance)
                                   (native ("SB-PCL" "STD-INSTANCE-SLOTS") instance))))
                    (if (and (simple-vector-p slots) (< -1 location (length slots)))
                        (svref slots location)
                        *unbound*)))
        #-sbcl (t (native ("SI" "INSTANCE-REF") instance location))))

(defun class-label (class)
  "The name of CLASS, a symbol; NIL where it has none."
  (let ((name #+sbcl (stored-slot class "NAME") #-sbcl (class-name class)))
    (and (symbolp name) name)))

(defun ancestors (class)
  "CLASS and all that it inherits from, the most specific first, as far as that has been worked
out."
  (let ((list #+sbcl (stored-slot class "%CLASS-PRECEDENCE-LIST")
              #-sbcl (ignore-errors (swank-mop:class-precedence-list class))))
    (if (consp list) list (list class))))

(defun ancestor-names (class)
  (mapcar #'class-label (ancestors class)))

(defun plain-class-p (class)
  "Whether CLASS is exactly of one of Lisp's own metaclasses, so that its instances keep their slots
where we look."
  (let ((metaclass (class-of class)))
    (loop for name in '("STANDARD-CLASS" "FUNCALLABLE-STANDARD-CLASS" "STRUCTURE-CLASS"
                        "BUILT-IN-CLASS" "SYSTEM-CLASS" "CONDITION-CLASS" "STD-CLASS" "SLOT-CLASS")
          for symbol = #+sbcl (or (find-symbol name "SB-PCL") (find-symbol name "SB-MOP"))
                       #-sbcl (find-symbol name #+ecl "CLOS" #-ecl "COMMON-LISP")
          thereis (and symbol (eq metaclass (find-class symbol nil))))))

;;; Fields: a list of (name . value) for all that an instance stores, in the order of its class, and
;;; a remark where there is more to be said.

(defun fields (value)
  "The fields of VALUE and a remark, a string or NIL."
  (ecase (shape value)
    ((instance funcallable) (instance-fields value))
    (structure (values (structure-fields value)
                        (and (eq (layout-state value) 'obsolete)
                             "It was made before its structure was defined anew.")))
    (condition (condition-fields value))
    ((nil) '())))

(defun instance-fields (value)
  (let ((class (class-of value)))
    (cond ((not (plain-class-p class))
           (values '() "Its slots are kept by a metaclass of the program."))
          (t
           (values
            (loop for slot in (slot-definitions value class)
                  for name = (slot-label slot)
                  collect (cons name (bound-or-not (at-location value (slot-location slot)))))
            (and (eq (layout-state value) 'obsolete)
                 "It was made before its class was defined anew, and is as it was then."))))))

(defun slot-definitions (value class)
  "The effective slot definitions by which VALUE is laid out, which an older definition of CLASS may
have made."
  (declare (ignorable value class))
  #+sbcl (let ((slots (native ("SB-PCL" "WRAPPER-SLOT-LIST" "LAYOUT-SLOT-LIST") (layout value))))
           (if (listp slots) slots '()))
  #+ecl (if (layout-state value) '() (clos:class-slots class))
  #-(or sbcl ecl) '())

(defun slot-label (slot)
  #+sbcl (stored-slot slot "NAME") #-sbcl (swank-mop:slot-definition-name slot))

(defun slot-location (slot)
  #+sbcl (stored-slot slot "LOCATION")
  #+ecl (clos:slot-definition-location slot)
  #-(or sbcl ecl) slot)

(defun structure-fields (value)
  #+sbcl (let ((description (native ("SB-KERNEL" "WRAPPER-INFO" "LAYOUT-INFO") (layout value))))
           (loop for slot in (and description (native ("SB-KERNEL" "DD-SLOTS") description))
                 for index = (native ("SB-KERNEL" "DSD-INDEX") slot)
                 for reader = (native ("SB-KERNEL" "DSD-READER") slot nil)
                 when (and reader (< index (native ("SB-KERNEL" "%INSTANCE-LENGTH") value)))
                   collect (cons (native ("SB-KERNEL" "DSD-NAME") slot)
                                 (bound-or-not (funcall reader value index)))))
  #+ecl (loop with class = (class-of value)
              for slot in (clos:class-slots class)
              for index from 0
              collect (cons (clos:slot-definition-name slot)
                            (bound-or-not (si:structure-ref value (class-name class) index))))
  #-(or sbcl ecl) (progn value '()))

(defun condition-fields (condition)
  "What CONDITION was given, and what of its other slots is known without evaluating their initial
forms."
  (let ((fields '()) (assigned (native ("SB-KERNEL" "CONDITION-ASSIGNED-SLOTS") condition)))
    (dolist (class (native ("SB-KERNEL" "CONDITION-CLASSOID-CPL")
                           (native ("SB-KERNEL" "CLASSOID-OF") condition)))
      (dolist (slot (native ("SB-KERNEL" "CONDITION-CLASSOID-SLOTS") class))
        (let ((name (native ("SB-KERNEL" "CONDITION-SLOT-NAME") slot)))
          (unless (assoc name fields)
            (push (cons name (condition-slot-value condition slot name assigned)) fields)))))
    (nreverse fields)))

(defun condition-slot-value (condition slot name assigned)
  (let ((cell (native ("SB-KERNEL" "CONDITION-SLOT-CELL") slot))
        (given (loop with start = (1+ (native-constant "SB-VM" "INSTANCE-DATA-START"))
                     with end = (native ("SB-KERNEL" "%INSTANCE-LENGTH") condition)
                     for index from start below end by 2
                     when (member (native ("SB-KERNEL" "%INSTANCE-REF") condition index)
                                  (native ("SB-KERNEL" "CONDITION-SLOT-INITARGS") slot))
                       return (list (native ("SB-KERNEL" "%INSTANCE-REF") condition (1+ index))))))
    (multiple-value-bind (value set) (assigned-value name assigned)
      (bound-or-not
       (cond (set value)
             ((consp cell) (car cell))
             (given (first given))
             ((native ("SB-KERNEL" "CONDITION-SLOT-INITFORM-P") slot) *not-made*)
             (t *unbound*))))))

(defun assigned-value (name assigned)
  "What ASSIGNED has for NAME, and whether it has. Newer SBCLs keep an association list, older ones
a property list."
  (cond ((and (consp assigned) (consp (first assigned)))
         (let ((pair (assoc name assigned))) (values (cdr pair) (and pair t))))
        (t (loop for (key value) on assigned by #'cddr
                 when (eq key name) return (values value t)))))

(defun closed-over (function)
  "The values that FUNCTION, a closure, keeps. Nobody stores their names."
  (mapcar #'cell-value (and (native ("SB-KERNEL" "CLOSUREP") function)
                            (native ("SB-KERNEL" "%CLOSURE-VALUES") function))))

(defun cell-value (value)
  "What VALUE holds if it is the cell of a variable that is set; else VALUE."
  (let ((tag (native-constant "SB-VM" "VALUE-CELL-WIDETAG")))
    (if (and tag (eql tag (native ("SB-KERNEL" "WIDETAG-OF") value)))
        (native ("SB-KERNEL" "VALUE-CELL-REF") value)
        value)))
