;;;; What is stored of a name, a class or a function: read where it lies, and not through generic
;;;; functions that the program may have methods of.

(in-package #:imago-peer)

;;; Metaobjects

(defun stored (metaobject slot reader)
  "What METAOBJECT has in SBCL's slot of the name SLOT, a string; elsewhere what READER says, a
function of the metaobject protocol."
  (declare (ignorable slot reader))
  #+sbcl (stored-slot metaobject slot)
  #-sbcl (funcall reader metaobject))

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

(defun encapsulated-p (name)
  "Whether calls of NAME go through something that stands around it: a trace, a profiler."
  #+sbcl
  (and (fboundp name)
       (not (macro-or-nil name))
       (not (and (symbolp name) (special-operator-p name)))
       (let ((function (fdefinition name)))
         (if (generic-p function)
             (stored function "ENCAPSULATIONS" (constantly nil))
             (and (symbolp name) (not (eq (symbol-function name) function)))))
       t)
  #-sbcl
  (progn name nil))

(defun value-of (symbol)
  "The global value of SYMBOL, and whether it has one; what only some thread has bound is not it."
  #+sbcl (handler-case (values (sb-ext:symbol-global-value symbol) t)
           (error () (values nil nil)))
  #-sbcl (if (boundp symbol) (values (symbol-value symbol) t) (values nil nil)))

(defun info-of (category kind name)
  "What the compiler keeps of NAME, or NIL."
  #+sbcl (handler-case (sb-int:info category kind name)
           (error () nil))
  #-sbcl (progn category kind name nil))

(defun symbol-macro-p (symbol)
  (eq (info-of :variable :kind symbol) :macro))

;;; Documentation, as it is stored

(defun noted-doc (name &rest kinds)
  "What ECL has noted of NAME as the first of KINDS that it has something for, such as FUNCTION."
  #+ecl (loop for kind in kinds
              thereis (ignore-errors (native ("EXT" "GET-ANNOTATION") name 'documentation kind)))
  #-ecl (progn name kinds nil))

(defun stored-doc (metaobject)
  "What a class or generic function was documented with."
  #-ecl (stored metaobject "%DOCUMENTATION" (constantly nil))
  #+ecl (and (plain-class-p (class-of metaobject))
             (let ((slot (find "DOCSTRING" (clos:class-slots (class-of metaobject))
                               :key (lambda (slot) (symbol-name (slot-label slot)))
                               :test #'string=)))
               (and slot (at-location metaobject (slot-location slot))))))

(defun function-doc (function)
  (cond ((null function) nil)
        ((generic-p function) (stored-doc function))
        #+sbcl (t (ignore-errors (native ("SB-PCL" "FUN-DOC") function)))))

(defun class-doc (class)
  (or (stored-doc class)
      (info-of :type :documentation (class-label class))
      (noted-doc (class-label class) 'structure 'type)))

(defun package-doc (package)
  #+sbcl (native ("SB-KERNEL" "PACKAGE-DOC-STRING") package)
  #-sbcl (noted-doc package 'package))

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
            ((info-of :type :kind symbol) (role "class" "type-specifier")))
      (cond ((keywordp symbol) (role "keyword" "keyword"))
            ((symbol-macro-p symbol) (role "variable" "symbol-macro"))
            ((constantp symbol) (role "constant" (value-type-word symbol)))
            ((boundp symbol) (role "variable" (value-type-word symbol)))
            ((member (info-of :variable :kind symbol) '(:special :global))
             (role "variable" "unbound")))
      (when (and (null roles) (fboundp `(setf ,symbol)))
        (role "function" "setf-function")))
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
                                   ((string= kind "class") "class")
                                   (t "variable")))))

(defun first-role (symbol)
  "The first of the roles of SYMBOL; that of a name alone where it stands for nothing."
  (or (first (roles symbol))
      (if (member symbol lambda-list-keywords)
          '("keyword" . "lambda-list-keyword")
          '("variable" . "symbol"))))

(defun only-setf-p (symbol)
  "Whether all that SYMBOL stands for is the function (SETF symbol)."
  (equal (first (roles symbol)) '("function" . "setf-function")))

(defun thing-tree (symbol name)
  "SYMBOL as `NamedThing' of wire/contract/relations.ts under NAME, as a list of keys and values."
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
