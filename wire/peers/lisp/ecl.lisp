;;;; The interface as ECL has it.

(in-package #:imago-peer)

;;; Files and origins

(define-implementation native-name (pathname)
  (handler-case
      (let ((physical (merge-pathnames (translate-logical-pathname pathname))))
        (namestring physical))
    (error () nil)))

(define-implementation octets-text (octets)
  (handler-case (swank/backend:utf8-to-string octets)
    (error () (map 'string #'code-char octets))))

(define-implementation read-plain-file (file)
  (handler-case
      (let ((kind (si:file-kind file t)))
        (cond ((null kind) (values nil (format nil "there is no file ~A" file)))
              ((not (eq kind :file)) (values nil (not-plain file)))
              (t (with-open-file (stream file :element-type '(unsigned-byte 8))
                   (let ((size (file-length stream)))
                     (if (> size *longest-file*)
                         (values nil (too-long file size))
                         (octets-text (first-octets stream size))))))))
    (error () (values nil (format nil "~A cannot be read" file)))))

;;; What is stored

(define-implementation bound-or-not (value)
  (if (eq value (si:unbound)) *unbound* value))

(define-implementation layout-state (value)
  (and (native ("SI" "INSTANCE-OBSOLETE-P") value) 'obsolete))

(define-implementation shape (value)
  (cond ((not (si:instancep value)) (and (typep value 'structure-object) 'structure))
        ((functionp value) 'funcallable)
        ((typep value 'structure-object) 'structure)
        (t 'instance)))

(define-implementation at-location (instance location)
  (cond ((consp location) (cdr location))
        ((not (integerp location)) *unbound*)
        (t (native ("SI" "INSTANCE-REF") instance location))))

(define-implementation class-label (class)
  (let ((name (class-name class)))
    (and (symbolp name) name)))

(define-implementation ancestors (class)
  (let ((list (ignore-errors (swank-mop:class-precedence-list class))))
    (if (consp list) list (list class))))

(define-implementation plain-class-p (class)
  (let ((metaclass (class-of class)))
    (loop for name in '("STANDARD-CLASS" "FUNCALLABLE-STANDARD-CLASS" "STRUCTURE-CLASS"
                        "BUILT-IN-CLASS" "SYSTEM-CLASS" "CONDITION-CLASS" "STD-CLASS" "SLOT-CLASS")
          for symbol = (find-symbol name "CLOS")
          thereis (and symbol (eq metaclass (find-class symbol nil))))))

(define-implementation slot-definitions (value class)
  (if (layout-state value) '() (clos:class-slots class)))

(define-implementation slot-label (slot)
  (swank-mop:slot-definition-name slot))

(define-implementation slot-location (slot)
  (clos:slot-definition-location slot))

(define-implementation structure-fields (value)
  (loop with class = (class-of value)
        for slot in (clos:class-slots class)
        for index from 0
        collect (cons (clos:slot-definition-name slot)
                      (bound-or-not (si:structure-ref value (class-name class) index)))))

(define-implementation value-of (symbol)
  (if (boundp symbol) (values (symbol-value symbol) t) (values nil nil)))

(define-implementation noted-doc (name &rest kinds)
  (loop for kind in kinds
        thereis (ignore-errors (native ("EXT" "GET-ANNOTATION") name 'documentation kind))))

(define-implementation stored-doc (metaobject)
  (and (plain-class-p (class-of metaobject))
       (let ((slot (find "DOCSTRING" (clos:class-slots (class-of metaobject))
                         :key (lambda (slot) (symbol-name (slot-label slot)))
                         :test #'string=)))
         (and slot (at-location metaobject (slot-location slot))))))

(define-implementation function-doc (function)
  (cond ((null function) nil)
        ((generic-p function) (stored-doc function))))

;;; Names

(define-implementation meaningful-p (symbol)
  (or (boundp symbol)
      (fboundp symbol)
      (find-class symbol nil)))

;;; Values as text

(define-implementation float-text (float)
  (with-standard-io-syntax
    (let ((*print-readably* nil)) (prin1-to-string float))))

(define-implementation stored-name (metaobject)
  (typecase metaobject
    (class (class-name metaobject))
    (generic-function (swank-mop:generic-function-name metaobject))))

(define-implementation methods-stored (function)
  (swank-mop:generic-function-methods function))

;;; Stacks

(define-implementation implementation-frame-p (frame)
  (or (foreign-frame-p (frame-name frame))
      (generated-name-p (frame-name frame))))

(define-implementation frame-tree (frame)
  (object "function" (function-text (frame-name frame)) "file" nil "line" nil "source" nil
          "locals" (array-of '()) "locals_omitted" 0))

(define-implementation innermost-frame ()
  (ignore-errors
   (swank/backend:call-with-debugging-environment
    (lambda ()
      (swank/backend:compute-backtrace 0 nil)))))

(define-implementation nameless-evaluator-p ()
  ;; A top-level form is a function without a name.
  t)

;;; Evaluation

(define-implementation standard-readtable ()
  (let ((readtable (copy-readtable nil)))
    (set-dispatch-macro-character #\# #\! 'si::sharp-!-reader readtable)
    readtable))

(define-implementation microseconds ()
  (floor (* 1000000 (get-internal-real-time)) internal-time-units-per-second))

;;; Suspensions

(define-implementation call-afresh (function)
  (progv (list (native-symbol "SI" "*HANDLER-CLUSTERS*")) '(nil) (funcall function)))

;;; Lambda lists

(define-implementation merged-lambda-list (function)
  (swank-mop:generic-function-lambda-list function))

(define-implementation stored-lambda-list (name)
  (let ((function (if (functionp name) name (function-of name))))
    (cond ((generic-p function) (values (merged-lambda-list function) t))
          (t (let ((list (swank/backend:arglist (or function name))))
               (if (listp list) (values list t) (values nil nil)))))))

;;; Inspecting

(define-implementation slot-names-of-class (class)
  (mapcar #'slot-label
          (let ((slots (and (plain-class-p class)
                            (ignore-errors (swank-mop:class-slots class)))))
            (if (listp slots) slots '()))))

;;; References

(define-implementation system-package-p (package)
  (member (package-name package) '("COMMON-LISP" "KEYWORD") :test #'string=))

;;; Loading

(define-implementation source-file-p (file)
  (not (equalp (pathname-type file) (pathname-type (compile-file-pathname file)))))

;;; The image

(define-implementation main-thread-p (thread)
  (eq thread (first (last (swank/backend:all-threads)))))

(define-implementation asdf-file ()
  (ignore-errors (probe-file "sys:asdf.fas")))

;;; The connection

(define-implementation send-at-once ()
  (let ((stream (swank::connection.socket-io swank::*emacs-connection*)))
    (setf (sb-bsd-sockets:sockopt-tcp-nodelay
           (make-instance 'sb-bsd-sockets:inet-socket
                          :type :stream :protocol :tcp
                          :descriptor (si:file-stream-fd (two-way-stream-input-stream stream))))
          t)))

;;; Handles

(define-implementation make-weak-pointer (value)
  (ext:make-weak-pointer value))

(define-implementation weak-pointer-value (pointer)
  (ext:weak-pointer-value pointer))

(define-defaults)
