;;;; A program in which everything that a program can put in the way of looking records that it ran.

(defpackage #:trip
  (:use #:common-lisp))

(in-package #:trip)

(defvar *fired* '()
  "What has run.")

(defun fire (what &rest more)
  (declare (ignore more))
  (push what *fired*)
  nil)

(defvar *values* '()
  "Names of variables whose values are to be looked at.")

(defmacro define-value (name form)
  `(progn (defparameter ,name ,form)
          (push ',name *values*)))

;;; Instances

(defclass plain ()
  ((name :initarg :name :initform "plain" :reader plain-name :accessor plain-title)
   (missing :reader plain-missing)
   (shared :allocation :class :initform :shared))
  (:documentation "Plain."))

(define-value *plain* (make-instance 'plain))

(defclass watched (standard-class) ())
(defmethod sb-mop:validate-superclass ((class watched) (super standard-class)) t)
(defmethod sb-mop:slot-value-using-class ((class watched) instance slot)
  (fire :slot-value-using-class instance slot)
  (call-next-method))
(defmethod sb-mop:slot-boundp-using-class ((class watched) instance slot)
  (fire :slot-boundp-using-class instance slot)
  (call-next-method))
(defclass kept-elsewhere () ((name :initarg :name :reader kept-name)) (:metaclass watched))
(defclass below-kept (kept-elsewhere) () (:metaclass watched))
(define-value *kept-elsewhere* (make-instance 'kept-elsewhere :name 1))
(define-value *watched-class* (find-class 'kept-elsewhere))

(defclass noted-slot (sb-mop:standard-effective-slot-definition) ())
(defmethod sb-mop:effective-slot-definition-class ((class (eql (find-class 'plain))) &rest initargs)
  (declare (ignore initargs))
  (find-class 'noted-slot))

(defclass called () ((count :initform 0)) (:metaclass sb-mop:funcallable-standard-class))
(define-value *called*
    (let ((called (make-instance 'called)))
      (sb-mop:set-funcallable-instance-function called (lambda (&rest more) (fire :called more)))
      called))

(defclass outdated () ((name :initform :old) (gone :initform 1)))
(define-value *outdated* (make-instance 'outdated))
(define-value *holds-outdated* (list 1 *outdated* (vector *outdated*)))
(defclass outdated () ((name :initform :new) (come :initform (fire :initform))))
(defmethod update-instance-for-redefined-class ((instance outdated) added discarded plist &key)
  (fire :update-instance (list added discarded plist)))
(defmethod update-instance-for-redefined-class :after ((instance outdated) added discarded plist &key)
  (fire :update-instance (list added discarded plist)))

(defstruct (record (:print-function (lambda (record stream depth) (fire :print-function record stream depth))))
  name (count 0 :type fixnum) (weight 0d0 :type double-float))
(define-value *record* (make-record :name "record"))

(defstruct (boxed (:print-object (lambda (boxed stream) (fire :print-object boxed stream)))) inside)
(define-value *boxed* (make-boxed :inside *record*))

(define-condition refused (error)
  ((by :initarg :by :reader refused-by) (late :initform (list 1)))
  (:report (lambda (condition stream) (fire :report condition stream))))
(define-value *refused* (make-condition 'refused :by *plain*))
(define-value *told* (make-condition 'simple-error :format-control "~/trip::fire/ ~A"
                                                   :format-arguments (list 1 *plain*)))

;;; Sequences, tables, streams

(defclass endless (sequence standard-object) ())
(define-value *endless* (make-instance 'endless))
(defmethod sb-sequence:length ((sequence endless)) (fire :length) 10)
(defmethod sb-sequence:elt ((sequence endless) index) (fire :elt index))
(defmethod sb-sequence:make-sequence-iterator ((sequence endless) &key from-end start end)
  (fire :iterate from-end start end)
  (values 0 0 nil #'identity #'identity #'identity #'identity #'identity #'identity))

(defun same-p (one other) (fire :test) (eql one other))
(defun same-hash (one) (fire :hash) (sxhash one))
(sb-ext:define-hash-table-test same-p same-hash)
(defun own-hash (one) (fire :hash) (sxhash one))
(define-value *own-test* (make-hash-table :test 'same-p))
(define-value *own-hash* (make-hash-table :test 'equal :hash-function 'own-hash))
(define-value *table* (make-hash-table))
(dolist (table (list *own-test* *own-hash* *table*))
  (setf (gethash :key table) *plain* (gethash *plain* table) :value (gethash *record* table) *outdated*))

(defclass pipe (sb-gray:fundamental-character-output-stream) ((buffer :initform "")))
(define-value *pipe* (make-instance 'pipe))
(macrolet ((tripped (&rest names)
             `(progn ,@(loop for (name . more) in names
                             collect `(defmethod ,name ((stream pipe) ,@more) (fire ',name ,@more))))))
  (tripped (sb-gray:stream-write-char char) (sb-gray:stream-line-column)
           (stream-element-type) (open-stream-p) (input-stream-p) (output-stream-p)
           (interactive-stream-p) (sb-gray:stream-finish-output) (sb-gray:stream-force-output)))

;;; Functions

(defclass noted-function (standard-generic-function) ()
  (:metaclass sb-mop:funcallable-standard-class))
(defclass noted-method (standard-method) ())
(defgeneric noted (thing) (:generic-function-class noted-function) (:method-class noted-method)
  (:documentation "Noted."))
(defmethod noted ((thing (eql :one))) (fire :noted thing))
(define-value *noted* #'noted)

(defun acts (thing &optional (more (fire :default)) &key (kind (fire :default)))
  "Acts."
  (declare (optimize (debug 3)))
  (fire :acts thing more kind))
(defun (setf acts) (value thing) (fire :setf value thing))
(define-compiler-macro acts (&whole form &rest more) (fire :compiler-macro more) form)
(defun calls-acts () (funcall 'acts *plain*))
(defmacro expands (form) (fire :macro form) form)
(define-symbol-macro stands-for (fire :symbol-macro))
(deftype odd-type (&optional thing) (fire :deftype thing) 't)
(defconstant +fixed+ 3)
(define-value *closure* (let ((held *plain*)) (lambda (x) (fire :closure held x) held)))
(defstruct place-of inside)
(define-value *place-of* (make-place-of :inside 1))
(handler-bind ((warning #'muffle-warning))
  (defun place-of-inside (place) (fire :accessor place)))

;;; A thread that waits with such values in its frames, and lists that hold them

(defun waits (gate plain outdated record)
  (declare (optimize (debug 3)))
  (sb-thread:wait-on-semaphore gate)
  (list plain outdated record))
(defvar *gate* (sb-thread:make-semaphore))
(defvar *waiting*
  (sb-thread:make-thread #'waits :name "trip-waits" :arguments (list *gate* *plain* *outdated* *record*)))

(define-value *list* (list *plain* *record* *boxed* *refused* *endless* *pipe* 'marked "text" 1.5))
(define-value *vector* (coerce *list* 'vector))
(define-value *grid* (make-array '(2 2) :initial-element *plain*))
(define-value *function* #'acts)
(define-value *class* (find-class 'plain))
(defmethod noted ((thing plain)) (calls-acts))
(define-value *method* (first (sb-mop:generic-function-methods #'noted)))
(define-value *package-itself* (find-package "TRIP"))
(define-value *weak* (sb-ext:make-weak-pointer *plain*))
(define-value *thread* *waiting*)
(define-value *symbol* 'marked)
(define-value *holder* (make-instance 'plain :name *kept-elsewhere*))

;;; From here on everything fires.

(macrolet ((tripped (&rest names)
             `(progn
                ,@(loop for (name . head) in names
                        append (loop for class in '(plain record boxed refused endless called pipe
                                                    kept-elsewhere outdated noted-function)
                                     collect `(defmethod ,name ,@(subst class 'it head)
                                                (fire '(,name ,class))
                                                "fired"))))))
  (tripped (print-object ((it it) stream))
           (describe-object ((it it) stream))
           (documentation ((it it) (type (eql t))))
           (documentation ((it it) (type (eql 'function))))
           (documentation ((it it) (type (eql 'type))))
           (make-load-form ((it it) &optional environment))
           (slot-unbound ((class t) (it it) name))
           (slot-missing ((class t) (it it) name operation &optional value))
           (shared-initialize :after ((it it) names &key))
           (sb-mop:slot-value-using-class ((class standard-class) (it it) slot))
           (sb-mop:slot-boundp-using-class ((class standard-class) (it it) slot))))

(defmethod print-object ((symbol (eql 'marked)) stream)
  (fire :print-symbol)
  (write-string "MARKED" stream))
(defmethod documentation ((class (eql (find-class 'plain))) type) (fire :class-documentation type))
(defmethod documentation ((name (eql 'acts)) type) (fire :name-documentation type))
(defmethod documentation ((class watched) type) (fire :class-documentation type))
(macrolet ((tripped (&rest names)
             `(progn ,@(loop for name in names
                             collect `(defmethod ,name :before ((class watched)) (fire ',name))
                             collect `(defmethod ,name :before ((class (eql (find-class 'plain))))
                                        (fire ',name))))))
  (tripped class-name sb-mop:class-slots sb-mop:class-direct-slots sb-mop:class-precedence-list
           sb-mop:class-direct-superclasses sb-mop:class-direct-subclasses sb-mop:class-prototype
           sb-mop:class-finalized-p sb-mop:class-default-initargs))
(macrolet ((tripped (&rest names)
             `(progn ,@(loop for name in names
                             collect `(defmethod ,name :before ((slot noted-slot)) (fire ',name))))))
  (tripped sb-mop:slot-definition-name sb-mop:slot-definition-location
           sb-mop:slot-definition-allocation sb-mop:slot-definition-initform))
(macrolet ((tripped (&rest names)
             `(progn ,@(loop for name in names
                             collect `(defmethod ,name :before ((function noted-function))
                                        (fire ',name))))))
  (tripped sb-mop:generic-function-name sb-mop:generic-function-lambda-list
           sb-mop:generic-function-declarations sb-mop:generic-function-methods
           sb-mop:generic-function-method-class sb-mop:generic-function-method-combination
           sb-mop:generic-function-argument-precedence-order))
(macrolet ((tripped (&rest names)
             `(progn ,@(loop for name in names
                             collect `(defmethod ,name :before ((method noted-method))
                                        (fire ',name))))))
  (tripped sb-mop:method-function sb-mop:method-generic-function sb-mop:method-lambda-list
           sb-mop:method-specializers method-qualifiers))
(defmethod plain-name :around ((plain plain)) (fire :reader))

(set-pprint-dispatch 'cons (lambda (stream list) (fire :pprint) (princ (length list) stream)) 100)
(set-pprint-dispatch 'string (lambda (stream string) (fire :pprint) (princ (length string) stream)) 100)
(set-macro-character #\! (lambda (stream char) (fire :macro-character stream char) :read))
(set-dispatch-macro-character #\# #\? (lambda (stream char number)
                                        (fire :dispatch-character stream char number)
                                        :read))
(setf *print-pretty* t)
(setf *fired* '())
