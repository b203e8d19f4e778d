;;;; What is stored of values and names, read from where the Lisp stores it: no accessor, no
;;;; metaclass and no method is asked.

(in-package #:imago-peer)

(defvar *unbound* (list "unbound")
  "Stands for the value of a slot that has none.")

(defvar *not-made* (list "not made")
  "Stands for the value of a slot of a condition whose initial form has not been evaluated yet.")

;;; What kind of thing a value is, told from its header and its layout. TYPEP must not be asked of
;;; an instance, which it may bring up to date with its class.

(defun layout (value)
  (native ("SB-KERNEL" "WRAPPER-OF" "LAYOUT-OF") value))

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

(defun ancestor-names (class)
  (mapcar #'class-label (ancestors class)))

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

;;; What is stored of a name, a class or a function: read where it lies, and not through generic
;;; functions that the program may have methods of.

;;; Metaobjects

(defun supers-of (class) (stored class "DIRECT-SUPERCLASSES" #'swank-mop:class-direct-superclasses))
(defun slots-of (class) (stored class "DIRECT-SLOTS" #'swank-mop:class-direct-slots))

(defun subs-of (class)
  (let ((stored (stored class "DIRECT-SUBCLASSES" #'swank-mop:class-direct-subclasses)))
    (if (listp stored) stored (swank-mop:class-direct-subclasses class))))

(defun precedence-of (class)
  "The classes that CLASS inherits from, itself first; in the order of a search where that order
was not computed yet."
  (or (stored class "%CLASS-PRECEDENCE-LIST" #'swank-mop:class-precedence-list)
      (let ((found '()))
        (labels ((visit (class)
                   (unless (member class found)
                     (push class found)
                     (mapc #'visit (supers-of class)))))
          (visit class))
        (nreverse found))))

(defun methods-of (function) (stored function "METHODS" #'swank-mop:generic-function-methods))
(defun qualifiers-of (method) (stored method "QUALIFIERS" #'method-qualifiers))
(defun specializers-of (method) (stored method "SPECIALIZERS" #'swank-mop:method-specializers))
(defun lambda-list-of-method (method) (stored method "LAMBDA-LIST" #'swank-mop:method-lambda-list))
(defun function-of-method (method)
  (stored method "%GENERIC-FUNCTION" #'swank-mop:method-generic-function))
(defun name-of-generic (function) (stored function "NAME" #'swank-mop:generic-function-name))

;;; Functions and variables

(defun macro-or-nil (name)
  (and (symbolp name) (macro-function name)))

(defun function-of (name)
  "The function, macro function or NIL of NAME, a symbol or (SETF symbol): what is traced is seen
through."
  (cond ((macro-or-nil name))
        ((and (symbolp name) (special-operator-p name)) nil)
        ((fboundp name) (fdefinition name))))

(defun symbol-macro-p (symbol)
  (eq (info-of :variable :kind symbol) :macro))

;;; Documentation, as it is stored

(defun class-doc (class)
  (or (stored-doc class)
      (info-of :type :documentation (class-label class))
      (noted-doc (class-label class) 'structure 'type)))

(defun doc-of (name kind)
  "The documentation of NAME as a function, variable, class or compiler macro, as a string or NIL.
KIND is a string."
  (let ((doc (cond ((string= kind "function")
                    (or (if (and (symbolp name) (special-operator-p name))
                            (function-doc (info-of :function :ir1-convert name))
                            (function-doc (function-of name)))
                        (noted-doc name 'function)))
                   ((string= kind "variable")
                    (or (info-of :variable :documentation name) (noted-doc name 'variable)))
                   ((find-class name nil) (class-doc (find-class name)))
                   (t (or (info-of :type :documentation name) (noted-doc name 'type))))))
    (and (stringp doc) doc)))

(defun first-line (text)
  "The first line of TEXT with something in it, short; or NIL."
  (and text
       (let* ((start (position-if (lambda (char) (char> char #\Space)) text))
              (end (and start (position #\Newline text :start start))))
         (and start (one-line (subseq text start end) 160)))))

;;; What a symbol stands for

(defun roles (symbol)
  "What SYMBOL stands for, the most telling first: a list of conses (KIND . TYPE-NAME), where KIND
is one of `NAME_KINDS' in wire/contract/names.ts."
  (let ((class (find-class symbol nil)) (roles '()))
    (flet ((role (kind type) (push (cons kind type) roles)))
      (cond ((special-operator-p symbol) (role "macro" "special-operator"))
            ((macro-function symbol) (role "macro" "macro"))
            ((fboundp symbol)
             (if (generic-p (fdefinition symbol))
                 (role "generic_function" (type-word (class-of (fdefinition symbol))))
                 (role "function" "function"))))
      (cond (class (role "class" (type-word (class-of class))))
            ((info-of :type :kind symbol) (role "type" "type-specifier")))
      (cond ((keywordp symbol) (role "keyword" "keyword"))
            ((symbol-macro-p symbol) (role "variable" "symbol-macro"))
            ((constantp symbol) (role "constant" (value-type-word symbol)))
            ((boundp symbol) (role "variable" (value-type-word symbol)))
            ((member (info-of :variable :kind symbol) '(:special :global))
             (role "variable" "unbound")))
      (when (null roles)
        (cond ((fboundp `(setf ,symbol)) (role "function" "setf-function"))
              ((info-of :setf :expander symbol) (role "macro" "setf-expander"))))
      (when (method-combination-p symbol) (role "method_combination" "method-combination")))
    (nreverse roles)))

(defun type-word (class)
  "The name of CLASS alone, in lower case."
  (let ((name (type-name class)))
    (if name (string-downcase (symbol-name name)) "unnamed")))

(defun value-type-word (symbol)
  (multiple-value-bind (value bound) (value-of symbol)
    (if bound (type-word (class-of value)) "unbound")))

(defun doc-line (symbol kind)
  "The first line of what is documented of SYMBOL as KIND."
  (first-line (doc-of symbol (cond ((member kind '("macro" "function" "generic_function")
                                            :test #'string=)
                                    "function")
                                   ((member kind '("class" "type") :test #'string=) "class")
                                   (t "variable")))))

(defun first-role (symbol)
  "The first of the roles of SYMBOL; that of a name alone where it stands for nothing."
  (or (first (roles symbol))
      (if (member symbol lambda-list-keywords)
          '("keyword" . "lambda-list-keyword")
          '("variable" . "symbol"))))

(defun only-setf-p (symbol)
  "Whether SYMBOL is no function, and stands for (SETF symbol)."
  (member (cdr (first (roles symbol))) '("setf-function" "setf-expander") :test #'string=))

(defun thing-tree (symbol name)
  "SYMBOL as `NamedThing' of wire/contract/names.ts under NAME, as a list of keys and values."
  (destructuring-bind (kind . type) (first-role symbol)
    (list "name" (if (only-setf-p symbol) (format nil "(setf ~A)" name) name)
          "kind" kind "type_name" type "doc" (doc-line symbol kind))))

;;; Pages

(defun symbol< (one other)
  "The order of lists of symbols: by name, then by package."
  (let ((difference (string/= (symbol-name one) (symbol-name other))))
    (if difference
        (string< (symbol-name one) (symbol-name other))
        (string< (home-name one) (home-name other)))))

(defun home-name (symbol)
  (let ((package (symbol-package symbol)))
    (if package (package-name package) "")))

(defun first-in-order (items count less)
  "The COUNT first of ITEMS, a list, in the order of LESS. Those that come later are not sorted:
there may be a million of them."
  (let* ((room (max 100 (* 2 count)))
         (kept (make-array room :fill-pointer 0))
         (last nil)
         (steps 0))
    (flet ((shrink ()
             (setf kept (sort kept less)
                   (fill-pointer kept) (min count (length kept)))
             (when (= (length kept) count) (setf last (list (aref kept (1- count)))))))
      (unless (zerop count)
        (dolist (item items)
          (when (zerop (mod (incf steps) 1000)) (check-deadline))
          (when (or (null last) (funcall less item (first last)))
            (vector-push item kept)
            (when (= (length kept) room) (shrink))))
        (shrink))
      (coerce kept 'list))))

(defun page (symbols after limit)
  "Those of SYMBOLS, a list in any order, that come after the symbol AFTER or NIL: LIMIT at most,
and whether there are more."
  (let ((left (if after
                  (remove-if-not (lambda (symbol) (symbol< after symbol)) symbols)
                  symbols)))
    (check-deadline)
    (values (first-in-order left limit #'symbol<) (< limit (length left)))))

(defun symbol-after (after &optional package)
  "The symbol that the page before ended with, from AFTER, a text or NIL; one that has been
uninterned since still has its place."
  (when after
    (multiple-value-bind (symbol there) (find-named after package)
      (if there
          symbol
          (destructuring-bind (name package-name internal) (split-name after)
            (declare (ignore internal))
            (make-symbol (or name package-name "")))))))

(defun contains-p (part text)
  "Whether PART stands in TEXT, whatever the case."
  (declare (type simple-string part text) (optimize (speed 2)))
  (let ((length (length part)))
    (or (zerop length)
        (loop with first = (schar part 0)
              for start fixnum from 0 to (- (length text) length)
                thereis (and (char-equal first (schar text start))
                             (loop for index fixnum from 1 below length
                                   always (char-equal (schar part index)
                                                      (schar text (+ start index)))))))))
