;;;; The interface as SBCL has it.

(in-package #:imago-peer)

;;; The image

(define-implementation image-ends-p ()
  (let ((lock (native-symbol "SB-IMPL" "*EXIT-LOCK*")))
    (and lock (sb-thread:mutex-owner (symbol-value lock)) t)))

;;; Files and origins

(define-implementation native-name (pathname)
  (handler-case
      (let ((physical (merge-pathnames (translate-logical-pathname pathname))))
        (sb-ext:native-namestring physical))
    (error () nil)))

(define-implementation octets-text (octets)
  (handler-case (sb-ext:octets-to-string octets :external-format :utf-8)
    (error () (sb-ext:octets-to-string octets :external-format :latin-1))))

(defun opened-text (file)
  "As `read-plain-file'. What is opened is what is looked at: a pipe in its place would wait for a
writer."
  (let ((number nil))
    (unwind-protect
         (let* ((flags (logior sb-posix:o-rdonly sb-posix:o-nonblock sb-posix:o-noctty))
                (facts (sb-posix:fstat (setf number (sb-posix:open file flags))))
                (size (sb-posix:stat-size facts)))
           (cond ((not (sb-posix:s-isreg (sb-posix:stat-mode facts))) (values nil (not-plain file)))
                 ((> size *longest-file*) (values nil (too-long file size)))
                 (t (octets-text
                     (first-octets (sb-sys:make-fd-stream number :element-type '(unsigned-byte 8)
                                                                 :buffering :full)
                                   size)))))
      (when number (ignore-errors (sb-posix:close number))))))

(define-implementation read-plain-file (file)
  (handler-case
      (opened-text file)
    (sb-posix:syscall-error (condition)
      (values nil (if (= (sb-posix:syscall-errno condition) sb-posix:enoent)
                      (format nil "there is no file ~A" file)
                      (format nil "~A cannot be read: error ~D" file
                              (sb-posix:syscall-errno condition)))))
    (error () (values nil (format nil "~A cannot be read" file)))))

(define-implementation file-date (file)
  (ignore-errors (file-write-date (sb-ext:parse-native-namestring file))))

(defun source-info (form)
  "What SBCL's compiler has to know to number the parts of FORM as those of a file."
  (native ("SB-C" "MAKE-SOURCE-INFO")
          :file-info (native ("SB-C" "MAKE-FILE-INFO")
                             :truename :lisp
                             :pathname nil
                             :forms (make-array 1 :fill-pointer 1 :adjustable t
                                                  :initial-element form)
                             :positions (make-array 1 :fill-pointer 1 :adjustable t
                                                      :initial-element 0))))

(define-implementation call-with-origin (function &key form text origin)
  (let ((variables (list (native-symbol "SB-C" "*SOURCE-INFO*")
                         (native-symbol "SB-C" "*SOURCE-PATHS*")))
        (numbered (native-symbol "SB-C" "FIND-SOURCE-PATHS")))
    (with-compilation-unit (:source-plist (origin-plist origin text)
                            :source-namestring (origin-file origin))
      (if (and numbered (every #'identity variables))
          (progv variables (list (source-info form) (make-hash-table :test 'eq))
            (funcall numbered form 0)
            (funcall function))
          (funcall function)))))

(define-implementation evaluate-placed (form text origin)
  (let ((*origin* origin))
    (evaluate-form
     form
     (lambda (expression function)
       (let ((*compiling* function))
         (call-with-origin
          (lambda ()
            (native ("SB-IMPL" "EVAL-TLF") (if function `(function ,expression) expression) 0))
          :form form :text text :origin origin))))))

;;; What is stored

(define-implementation bound-or-not (value)
  (if (native ("SB-INT" "UNBOUND-MARKER-P") value) *unbound* value))

(define-implementation layout-state (value)
  (let ((state (native ("SB-KERNEL" "WRAPPER-INVALID" "LAYOUT-INVALID") (layout value))))
    (cond ((null state) nil)
          ((and (consp state) (eq (car state) :flush)) 'flush)
          (t 'obsolete))))

(define-implementation shape (value)
  (let ((funcallable (native ("SB-KERNEL" "FUNCALLABLE-INSTANCE-P") value)))
    (when (or funcallable (native ("SB-KERNEL" "%INSTANCEP") value))
      (let ((classoid (native ("SB-KERNEL" "CLASSOID-OF") value)))
        (cond ((native ("SB-KERNEL" "STANDARD-CLASSOID-P") classoid)
               (if funcallable 'funcallable 'instance))
              (funcallable nil)
              ((native ("SB-KERNEL" "CONDITION-CLASSOID-P") classoid) 'condition)
              ((native ("SB-KERNEL" "STRUCTURE-CLASSOID-P") classoid) 'structure))))))

(define-implementation at-location (instance location)
  (cond ((consp location) (cdr location))
        ((not (integerp location)) *unbound*)
        (t (let ((slots (if (native ("SB-KERNEL" "FUNCALLABLE-INSTANCE-P") instance)
                            (native ("SB-PCL" "FSC-INSTANCE-SLOTS") instance)
                            (native ("SB-PCL" "STD-INSTANCE-SLOTS") instance))))
             (if (and (simple-vector-p slots) (< -1 location (length slots)))
                 (svref slots location)
                 *unbound*)))))

(define-implementation class-label (class)
  (let ((name (stored-slot class "NAME")))
    (and (symbolp name) name)))

(define-implementation ancestors (class)
  (let ((list (stored-slot class "%CLASS-PRECEDENCE-LIST")))
    (if (consp list) list (list class))))

(define-implementation plain-class-p (class)
  (let ((metaclass (class-of class)))
    (loop for name in '("STANDARD-CLASS" "FUNCALLABLE-STANDARD-CLASS" "STRUCTURE-CLASS"
                        "BUILT-IN-CLASS" "SYSTEM-CLASS" "CONDITION-CLASS" "STD-CLASS" "SLOT-CLASS")
          for symbol = (or (find-symbol name "SB-PCL") (find-symbol name "SB-MOP"))
          thereis (and symbol (eq metaclass (find-class symbol nil))))))

(define-implementation slot-definitions (value class)
  (declare (ignore class))
  (let ((slots (native ("SB-PCL" "WRAPPER-SLOT-LIST" "LAYOUT-SLOT-LIST") (layout value))))
    (if (listp slots) slots '())))

(define-implementation slot-label (slot)
  (stored-slot slot "NAME"))

(define-implementation slot-location (slot)
  (stored-slot slot "LOCATION"))

(define-implementation structure-fields (value)
  (let ((description (native ("SB-KERNEL" "WRAPPER-INFO" "LAYOUT-INFO") (layout value))))
    (loop for slot in (and description (native ("SB-KERNEL" "DD-SLOTS") description))
          for index = (native ("SB-KERNEL" "DSD-INDEX") slot)
          for reader = (native ("SB-KERNEL" "DSD-READER") slot nil)
          when (and reader (< index (native ("SB-KERNEL" "%INSTANCE-LENGTH") value)))
            collect (cons (native ("SB-KERNEL" "DSD-NAME") slot)
                          (bound-or-not (funcall reader value index))))))

(define-implementation stored (metaobject slot reader)
  (declare (ignore reader))
  (stored-slot metaobject slot))

(define-implementation encapsulated-p (name)
  (and (fboundp name)
       (not (macro-or-nil name))
       (not (and (symbolp name) (special-operator-p name)))
       (let ((function (fdefinition name)))
         (if (generic-p function)
             (stored function "ENCAPSULATIONS" (constantly nil))
             (and (symbolp name) (not (eq (symbol-function name) function)))))
       t))

(define-implementation value-of (symbol)
  (handler-case (values (sb-ext:symbol-global-value symbol) t)
    (error () (values nil nil))))

(define-implementation info-of (category kind name)
  (handler-case (sb-int:info category kind name)
    (error () nil)))

(define-implementation stored-doc (metaobject)
  (stored metaobject "%DOCUMENTATION" (constantly nil)))

(define-implementation function-doc (function)
  (cond ((null function) nil)
        ((generic-p function) (stored-doc function))
        (t (ignore-errors (native ("SB-PCL" "FUN-DOC") function)))))

(define-implementation package-doc (package)
  (native ("SB-KERNEL" "PACKAGE-DOC-STRING") package))

;;; Names

(define-implementation meaningful-p (symbol)
  (or (boundp symbol)
      (fboundp symbol)
      (find-class symbol nil)
      (and (sb-int:info :type :kind symbol) t)
      (eq (sb-int:info :variable :kind symbol) :macro)
      (and (info-of :setf :expander symbol) t)
      (method-combination-p symbol)))

(define-implementation local-nicknames (package)
  (mapcar #'car (sb-ext:package-local-nicknames package)))

(define-implementation heap-exhausted-p (condition)
  (let ((type (native-symbol "SB-KERNEL" "HEAP-EXHAUSTED-ERROR")))
    (and type (typep condition type))))

(define-implementation method-combination-p (symbol)
  (let ((table (native-symbol "SB-PCL" "**METHOD-COMBINATIONS**")))
    (and table (nth-value 1 (gethash symbol (symbol-value table))))))

(define-implementation normalized-name (name)
  (sb-unicode:normalize-string name :nfkc))

;;; Values as text

(define-implementation float-text (float)
  (cond ((native ("SB-EXT" "FLOAT-INFINITY-P") float)
         (format nil "#<~:[positive~;negative~] infinity>" (minusp float)))
        ((native ("SB-EXT" "FLOAT-NAN-P") float) "#<not a number>")
        ((zerop float)
         (digits-text float 0 "0" (minusp (float-sign float))))
        (t (multiple-value-bind (point digits)
               (native ("SB-IMPL" "FLONUM-TO-DIGITS") (abs float))
             (digits-text float point digits (minusp float))))))

(define-implementation stored-name (metaobject)
  (stored-slot metaobject "NAME"))

(define-implementation methods-stored (function)
  (stored-slot function "METHODS"))

(define-implementation function-name (function)
  (cond ((not (native ("SB-KERNEL" "FUNCALLABLE-INSTANCE-P") function))
         (native ("SB-KERNEL" "%FUN-NAME") function))
        ((is-a-p function 'generic-function) (stored-name function))
        (t (class-label (class-of function)))))

(define-implementation comma-p (value)
  (sb-int:comma-p value))

(define-implementation comma-text (comma)
  (nth (sb-int:comma-kind comma) '("," ",." ",@")))

(define-implementation comma-form (comma)
  (sb-int:comma-expr comma))

(define-implementation copied-comma (comma form)
  (native ("SB-INT" "UNQUOTE") form (sb-int:comma-kind comma)))

;;; Streams

(define-implementation tell-exit (sink)
  (ignore-errors
   (let ((code (symbol-value (native-symbol "SB-IMPL" "*EXIT-IN-PROGRESS*"))))
     (when (or code (image-ends-p))
       (send-message sink (object "exits"
                                  (object "code" (and (typep code '(signed-byte 32)) code))))
       ;; Other threads send it, and end with the image: perhaps before they have.
       (let ((end (+ (get-internal-real-time) internal-time-units-per-second)))
         (heard-p (sink-connection sink) (lambda () (< (get-internal-real-time) end))))))))

;;; Conditions and time limits

(define-implementation make-bell ()
  (sb-thread:make-semaphore))

(define-implementation ring (bell)
  (sb-thread:signal-semaphore bell))

(define-implementation wait-for-bell (bell seconds)
  (sb-thread:wait-on-semaphore bell :timeout seconds))

(define-implementation restart-reader (restart)
  (native ("SB-KERNEL" "RESTART-INTERACTIVE-FUNCTION") restart))

(define-implementation call-without-references (function)
  (let ((sb-int:*print-condition-references* nil))
    (funcall function)))

;;; Evaluation

(define-implementation standard-readtable ()
  (copy-readtable nil))

(define-implementation microseconds ()
  (multiple-value-bind (seconds microseconds) (sb-ext:get-time-of-day)
    (+ (* 1000000 seconds) microseconds)))

(define-implementation go-past-steps (condition)
  (when (typep condition 'sb-ext:step-condition)
    (invoke-restart 'sb-ext:step-continue)))

;;; Stacks

(define-implementation frame-place (frame)
  (if-known (compiled-place frame)))

(defun compiled-place (frame)
  "As `frame-place', or an error where nothing is known of FRAME."
  (let* ((location (sb-di:frame-code-location frame))
         (source (sb-di:code-location-debug-source location))
         (plist (sb-c::debug-source-plist source))
         (file (sb-di:debug-source-namestring source))
         (start (or (if-known (sb-debug::maybe-block-start-location location)) location))
         (form (if-known (sb-di::code-location-toplevel-form-offset start)))
         (number (if-known (sb-di::code-location-form-number start))))
    (cond ((stringp (property plist :emacs-string)) (place-in-buffer plist form number))
          ((null file) (values nil nil nil))
          ((system-file-text-p file) (place-in-system-file file form number))
          (t (place-in-source-file file (sb-c::debug-source-created source)
                            (if-known
                             (native ("SB-C" "DEBUG-SOURCE-START-POSITIONS") source))
                            form number)))))

(defun lost-value-p (value)
  "Whether VALUE stands for one that the machine does not have any more."
  (eq value :invalid-value-for-unescaped-register-storage))

(defun variable-tree (variable frame)
  "The local of FRAME that VARIABLE is, or NIL where its value is lost."
  (let ((value (sb-di:debug-var-value variable frame)))
    (unless (lost-value-p value)
      (local-tree (string-downcase (symbol-name (sb-di:debug-var-symbol variable))) value))))

(define-implementation valid-variables (frame)
  (let ((location (sb-di:frame-code-location frame)))
    (flet ((valid-p (variable)
             (and (sb-di:debug-var-symbol variable)
                  (symbol-package (sb-di:debug-var-symbol variable))
                  (not (native ("SB-DI" "DEBUG-VAR-INFO") variable))
                  ;; CLOS has some of its own in each method.
                  (not (eq (symbol-package (sb-di:debug-var-symbol variable))
                           (find-package "SB-PCL")))
                  (eq (sb-di:debug-var-validity variable location) :valid))))
      (if-known
       (remove-if-not #'valid-p
                      (coerce (sb-di::debug-fun-debug-vars (sb-di:frame-debug-fun frame))
                              'list))))))

(defun frame-locals (frame)
  "Trees for the variables that FRAME has a value of, and how many more there are."
  (let ((variables (valid-variables frame)))
    (values (loop for variable in variables
                  repeat *most-locals*
                  for tree = (if-known (variable-tree variable frame))
                  when tree collect tree)
            (max 0 (- (length variables) *most-locals*)))))

(define-implementation frame-name (frame)
  (sb-di:debug-fun-name (sb-di:frame-debug-fun frame)))

(define-implementation implementation-frame-p (frame)
  (or (foreign-frame-p (frame-name frame))
      (generated-name-p (frame-name frame))
      (if-known
       (let* ((location (sb-di:frame-code-location frame))
              (source (sb-di:code-location-debug-source location))
              (file (sb-di:debug-source-namestring source)))
         (and file (system-file-text-p file)))
       t)))

(define-implementation frame-tree (frame)
  (multiple-value-bind (file line source) (frame-place frame)
    (multiple-value-bind (locals more) (frame-locals frame)
      (object "function" (function-text (frame-name frame))
              "file" file "line" line "source" source
              "locals" (array-of locals) "locals_omitted" more
              "implementation" (if (implementation-frame-p frame) t :absent)))))

(define-implementation frame-file (frame)
  (if-known
   (let ((source (sb-di:code-location-debug-source (sb-di:frame-code-location frame))))
     (or (property (sb-c::debug-source-plist source) :emacs-filename)
         (sb-di:debug-source-namestring source)))))

(define-implementation call-text (frame)
  (multiple-value-bind (name arguments)
      (if-known (sb-debug::frame-call frame)
                (values (frame-name frame) '()))
    (format nil "(~A~{ ~A~})"
            (function-text name)
            (mapcar (lambda (argument)
                      (if (typep argument '(satisfies unprintable-p))
                          "?"
                          (static-text argument 60)))
                    (if (listp arguments) arguments '())))))

(define-implementation innermost-frame ()
  (ignore-errors
   (swank/backend:call-with-debugging-environment
    (lambda ()
      (first (swank/backend:compute-backtrace 0 1))))))

(define-implementation frame-below (frame)
  (if-known (sb-di:frame-down frame)))

(define-implementation frames-up (count)
  (loop for frame = (innermost-frame) then (frame-below frame)
        repeat count
        while frame collect frame))

(define-implementation drop-cleanup-forms (times)
  (let ((most (ash 1 (min 20 (max 0 (- times *most-leavings* 1)))))
        (dropped 0)
        (inner nil))
    #+x86-64
    (dolist (cleanup (users-part))
      (cond ((and (< dropped most) (user-cleanup-p cleanup))
             (incf dropped)
             (skip-cleanup inner (outer-cleanup cleanup)))
            (t (setf inner cleanup))))
    dropped))

;;; SBCL keeps a block on the stack for each UNWIND-PROTECT that is to run. Each has the address of
;;; the next one further out, as a fixnum, and the address of the code that is to run. A transfer of
;;; control takes one after the other, until the next is the one that was there at its destination.

#+x86-64
(progn
  (defun cleanup-place (cleanup slot)
    "The address at which the block CLEANUP has the slot of that number."
    (sb-sys:int-sap (+ (ash cleanup sb-vm:n-fixnum-tag-bits) (* slot sb-vm:n-word-bytes))))

  (defun outer-place (cleanup)
    (cleanup-place cleanup (native-constant "SB-VM" "UNWIND-BLOCK-UWP-SLOT")))

  (defun outer-cleanup (cleanup)
    "The next further out; 0 where there is none."
    (ash (sb-sys:sap-ref-word (outer-place cleanup) 0) (- sb-vm:n-fixnum-tag-bits)))

  (defun users-part ()
    "The blocks of the user's innermost code, innermost first; none where they are not as we know
them, each further out than the one before."
    (and *cleanup-forms*
         (native-constant "SB-VM" "UNWIND-BLOCK-UWP-SLOT")
         (loop for cleanup = (cleanup-forms) then outer
               for outer = (if (eql cleanup *cleanup-forms*) nil (outer-cleanup cleanup))
               while outer
               unless (< cleanup outer) return '()
                 collect cleanup)))

  (defun user-cleanup-p (cleanup)
    "Whether the code of CLEANUP is known to be the user's: not the Lisp's, Swank's, or ours."
    (if-known
     (let* ((place (cleanup-place cleanup (native-constant "SB-VM" "UNWIND-BLOCK-ENTRY-PC-SLOT")))
            (address (sb-sys:sap-ref-word place 0))
            (code (native ("SB-DI" "CODE-HEADER-FROM-PC") (sb-sys:int-sap address)))
            (start (sb-sys:sap-int (native ("SB-KERNEL" "CODE-INSTRUCTIONS") code)))
            (function (native ("SB-DI" "DEBUG-FUN-FROM-PC") code (- address start)))
            (file (sb-di:debug-source-namestring
                   (native ("SB-C" "DEBUG-INFO-SOURCE")
                           (native ("SB-KERNEL" "%CODE-DEBUG-INFO") code)))))
       (not (or (and file (system-file-text-p file))
                (debugger-frame-p (sb-di:debug-fun-name function)))))))

  (defun skip-cleanup (inner outer)
    "Has OUTER be the next after INNER, or the first of all where that is NIL."
    (if inner
        (setf (sb-sys:sap-ref-word (outer-place inner) 0) (ash outer sb-vm:n-fixnum-tag-bits))
        (setf (symbol-value (native-symbol "SB-VM" "*CURRENT-UNWIND-PROTECT-BLOCK*")) outer))))

;;; Going on

(define-implementation why-not-evaluate (frame)
  (cond ((foreign-frame-p (frame-name frame))
         "It is no frame of Lisp: nothing can be evaluated in it.")
        ((not (if-known
               (native ("SB-DI" "DEBUG-VAR-INFO-AVAILABLE") (sb-di:frame-debug-fun frame))))
         "Nothing can be evaluated in it: its variables are not known.")))

(define-implementation why-not-return (frame)
  (cond ((not (if-known (native ("SB-DEBUG" "FRAME-HAS-DEBUG-TAG-P") frame)))
         "It cannot return, nor begin again: it was compiled with (debug 0), or is no function.")
        ((not (if-known (standard-frame-p frame)))
         "It cannot return, nor begin again: local functions return in a way of their own.")))

(defun standard-frame-p (frame)
  "Whether FRAME returns as functions do that anybody can call. SBCL would lose its way, and ruin
its memory, where one is made to return that only its own component calls."
  (let* ((function (sb-di:frame-debug-fun frame))
         (name (sb-di:debug-fun-name function))
         (entry (sb-di:debug-fun-fun function))
         (returns (native ("SB-C" "COMPILED-DEBUG-FUN-RETURNS")
                          (native ("SB-DI" "COMPILED-DEBUG-FUN-COMPILER-DEBUG-FUN") function))))
    (and (null (sb-di:debug-fun-kind function))
         (member returns '(nil :standard))
         ;; The nearest entry before it. Lambdas may share one name.
         entry
         (equal name (sb-kernel:%fun-name entry))
         (not (and (consp name) (eq (first name) 'lambda))))))

(define-implementation rest-lost-p (frame)
  (find-if (lambda (parameter)
             (and (consp parameter)
                  (member (first parameter) '(:rest :more))
                  (eq (second parameter) :deleted)))
           (frame-parameters frame)))

(define-implementation call-of-frame (frame)
  (let* ((name (frame-name frame)) (generic (generic-function-of-method name)))
    (multiple-value-bind (shown arguments) (if-known (sb-debug::frame-call frame))
      (declare (ignore shown))
      (cond ((not (listp arguments)) nil)
            (generic (values generic arguments))
            ((and (sb-int:legal-fun-name-p name) (fboundp name)
                  (not (and (symbolp name) (or (macro-function name) (special-operator-p name)))))
             (values (fdefinition name) arguments))))))

(define-implementation evaluate-in (frame form)
  (let ((function (let ((*compiling* t))
                    (sb-di:preprocess-for-eval form (sb-di:frame-code-location frame)))))
    (funcall function frame)))

(define-implementation unkept-variables (frame form)
  (let ((kept (if-known
               (loop with location = (sb-di:frame-code-location frame)
                     for variable across (sb-di::debug-fun-debug-vars
                                          (sb-di:frame-debug-fun frame))
                     unless (eq (sb-di:debug-var-validity variable location) :invalid)
                       collect (sb-di:debug-var-symbol variable))))
        (unkept '()))
    (flet ((see (part context environment)
             (when (and (eq context :set)
                        (symbolp part)
                        (not (member part kept))
                        (not (native ("SB-WALKER" "VAR-LEXICAL-P") part environment))
                        (eq (info-of :variable :kind part) :unknown)
                        (not (boundp part)))
               (pushnew part unkept))
             part))
      ;; An error of a macro comes once more where the form is evaluated.
      (ignore-errors (native ("SB-WALKER" "WALK-FORM") form nil #'see)))
    (nreverse unkept)))

(define-implementation restart-arity (restart)
  (let* ((function (native ("SB-KERNEL" "RESTART-FUNCTION") restart))
         (list (if (functionp function)
                   (if-known (sb-kernel:%fun-lambda-list (sb-kernel:%fun-fun function)) :unknown)
                   :unknown)))
    (when (and (listp list) (ignore-errors (list-length list)))
      (let* ((least (or (position-if (lambda (item) (member item lambda-list-keywords)) list)
                        (length list)))
             (rest (nthcdr least list))
             (optional (and (eq (first rest) '&optional)
                            (or (position-if (lambda (item) (member item lambda-list-keywords))
                                             (rest rest))
                                (length (rest rest))))))
        (values t
                least
                (if (intersection rest '(&rest &key &body &aux sb-int:&more))
                    nil
                    (+ least (or optional 0))))))))

;;; Frames that are looked at

(define-implementation frame-variables (frame)
  (let ((variables (valid-variables frame)))
    (values (loop with arguments = (argument-names frame)
                  for variable in variables
                  repeat *most-locals*
                  for symbol = (sb-di:debug-var-symbol variable)
                  for tree = (if-known
                              (frame-local-tree variable frame
                                                (truth (member symbol arguments))))
                  when tree collect tree)
            (max 0 (- (length variables) *most-locals*)))))

(defun frame-parameters (frame)
  "The parameters of FRAME as SBCL has them: variables, :DELETED, and lists that begin with what
they are."
  (if-known (sb-di:debug-fun-lambda-list (sb-di:frame-debug-fun frame))))

(defun argument-names (frame)
  "Symbols for the arguments of the function of FRAME. The compiler may keep one in another variable
of its name."
  (let* ((function (sb-di:frame-debug-fun frame))
         (entry (if-known (sb-di:debug-fun-fun function)))
         (list (and entry
                    (equal (sb-di:debug-fun-name function) (sb-kernel:%fun-name entry))
                    (sb-kernel:%fun-lambda-list entry))))
    (append (loop for item in (frame-parameters frame)
                  append (mapcar #'sb-di:debug-var-symbol
                                 (remove-if #'symbolp (if (consp item) item (list item)))))
            (loop for item in (and (ignore-errors (list-length list)) list)
                  for name = (if (consp item) (first item) item)
                  collect (if (consp name) (second name) name)))))

(defun frame-local-tree (variable frame argument)
  (let ((value (sb-di:debug-var-value variable frame)))
    (unless (lost-value-p value)
      (object "name" (string-downcase (symbol-name (sb-di:debug-var-symbol variable)))
              "argument" argument
              "value" (if (on-stack-p value) (stack-value-tree value) (shown-tree value))))))

(define-implementation on-stack-p (value)
  (native ("SB-DEBUG" "STACK-ALLOCATED-P") value))

;;; Suspensions

(define-implementation call-afresh (function)
  (let ((sb-debug:*stack-top-hint* nil))
    (progv (list (native-symbol "SB-KERNEL" "*HANDLER-CLUSTERS*"))
        (list (let ((symbol (native-symbol "SB-KERNEL" "**INITIAL-HANDLER-CLUSTERS**")))
                (and symbol (symbol-value symbol))))
      (funcall function))))

(define-implementation call-holding-interrupts (function)
  (sb-sys:without-interrupts
    (funcall function (lambda (interruptible)
                        (sb-sys:with-local-interrupts (funcall interruptible))))))

;;; Lambda lists

(define-implementation merged-lambda-list (function)
  (let* ((info (stored function "ARG-INFO" (constantly nil)))
         (own (and info (ignore-errors (native ("SB-PCL" "ARG-INFO-LAMBDA-LIST") info))))
         (own (if (listp own) own '()))
         (keys (position '&key own))
         (more (and keys
                    (loop for method in (methods-of function)
                          for list = (lambda-list-of-method method)
                          append (loop for item in (rest (member '&key list))
                                       until (member item lambda-list-keywords)
                                       collect item)))))
    (flet ((name (item) (if (consp item) (if (consp (first item)) (cadar item) (first item)) item)))
      (append own
              (loop for item in (remove-duplicates more :key #'name :from-end t)
                    unless (or (member '&allow-other-keys own)
                               (find (name item) own :key #'name))
                      collect item)))))

(define-implementation stored-lambda-list (name)
  (let ((function (if (functionp name) name (function-of name))))
    (cond ((generic-p function) (values (merged-lambda-list function) t))
          (t (handler-case
                 (multiple-value-bind (list unknown)
                     (sb-introspect:function-lambda-list (or function name))
                   (values list (not unknown)))
               (error () (values nil nil)))))))

(define-implementation result-text (name)
  (let* ((function (if (functionp name) name (function-of name)))
         (type (handler-case (and (not (and (symbolp name) (macro-or-nil name)))
                                  ;; Of these it asks generic functions of the protocol.
                                  (not (typep function 'generic-function))
                                  (sb-introspect:function-type (or function name)))
                 (error () nil)))
         (result (and (consp type) (eq (first type) 'function) (third type)))
         (plain (if (and (consp result) (eq (first result) 'values)
                         (equal (cddr result) '(&optional)))
                    (second result)
                    result)))
    (and plain
         (not (member plain '(* t)))
         (not (equal plain '(values t &rest t)))
         (not (equal plain '(values &rest t)))
         (form-line plain 200))))

(define-implementation constructor-of (class)
  (when (string= (type-word (class-of class)) "structure-class")
    (let ((constructor (ignore-errors
                        (caar (native ("SB-KERNEL" "DD-CONSTRUCTORS")
                                      (native ("SB-KERNEL" "FIND-DEFSTRUCT-DESCRIPTION")
                                              (class-label class)))))))
      (and constructor (symbolp constructor) (fboundp constructor) constructor))))

;;; Descriptions

(define-implementation locked-p (package)
  (and package (sb-ext:package-locked-p package)))

(define-implementation declared-function-type (name)
  (handler-case (sb-introspect:function-type name)
    (error () t)))

(define-implementation declared-variable-type (symbol)
  (ignore-errors
   (native ("SB-KERNEL" "TYPE-SPECIFIER") (info-of :variable :type symbol))))

;;; Inspecting

(define-implementation slot-names-of-class (class)
  (mapcar #'slot-label
          (let ((slots (stored-slot class "SLOTS")))
            (if (listp slots) slots '()))))

;;; References

(define-implementation system-package-p (package)
  (or (sb-int:system-package-p package) (eq package (find-package "COMMON-LISP"))))

;;; Compiling

(define-implementation real-condition (condition)
  (native ("SWANK/SBCL" "REAL-CONDITION") condition))

(define-implementation call-past-errors (function)
  (handler-bind ((sb-c:compiler-error #'continue))
    (funcall function)))

(define-implementation compile-temporary (name source origin)
  (with-compilation-unit (:source-plist (origin-plist origin source)
                          :source-namestring (origin-file origin))
    (multiple-value-prog1 (values (compile-file name :external-format :utf-8))
      ;; What was fatal is told as a diagnostic; SBCL would print its number at the end of the unit.
      (let ((fatal (native-symbol "SB-C" "*ABORTED-COMPILATION-UNIT-COUNT*")))
        (when (and fatal (boundp fatal)) (setf (symbol-value fatal) 0))))))

(define-implementation call-hearing-compiler (certain muffle function)
  (handler-bind ((sb-c:compiler-error certain)
                 (sb-ext:compiler-note muffle))
    (funcall function)))

;;; Loading

(define-implementation source-file-p (file)
  (ignore-errors
   (with-open-file (stream file :element-type '(unsigned-byte 8))
     (not (native ("SB-FASL" "FASL-HEADER-P") stream)))))

(define-implementation native-pathname (file)
  (sb-ext:parse-native-namestring file))

;;; The image

(define-implementation asdf-file ()
  (ignore-errors
   (probe-file (merge-pathnames "contrib/asdf.fasl" (sb-int:sbcl-homedir-pathname)))))

(define-implementation keeps-sources-p ()
  t)

;;; The connection

(define-implementation send-at-once ()
  (let ((socket (make-instance
                 'sb-bsd-sockets:inet-socket
                 :type :stream :protocol :tcp
                 :descriptor (sb-sys:fd-stream-fd
                              (swank::connection.socket-io swank::*emacs-connection*)))))
    ;; The descriptor belongs to the stream, and is not to be closed with this object.
    (sb-ext:cancel-finalization socket)
    (setf (sb-bsd-sockets:sockopt-tcp-nodelay socket) t)))

;;; Handles

(define-implementation make-weak-pointer (value)
  (sb-ext:make-weak-pointer value))

(define-implementation weak-pointer-value (pointer)
  (sb-ext:weak-pointer-value pointer))

(define-implementation make-weak-table ()
  (make-hash-table :test 'eq :weakness :key))

(define-implementation most-kept ()
  (floor (sb-ext:dynamic-space-size) 16))

(define-defaults)
