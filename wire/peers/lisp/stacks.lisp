;;;; The stack of a thread: its frames, their places and locals, and how it is left.

(in-package #:imago-peer)

;;;; The stack of a thread as it stands: frames with their places and their locals.

(defparameter *innermost-frames* 40
  "Frames that are told of the inner end of a stack.")

(defparameter *outermost-frames* 15
  "Frames that are told of the outer end of a longer stack.")

(defparameter *most-locals* 20
  "Locals of one frame that are told.")

(defparameter *local-limit* 200
  "Characters of one local's text.")

;;; What SBCL does not know of a frame, it signals by conditions that are no errors.

(eval-when (:compile-toplevel :load-toplevel :execute)
  (defun unknown-conditions ()
    (let ((type (and (find-package "SB-DI") (find-symbol "DEBUG-CONDITION" "SB-DI"))))
      (and type (list type)))))

(defmacro if-known (form &optional otherwise)
  "The values of FORM, or of OTHERWISE where an implementation does not know enough of a frame."
  `(handler-case ,form
     ((or error ,@(unknown-conditions)) () ,otherwise)))

;;; Places

(defun place-in-text (text start number)
  "The position in TEXT of the part of that NUMBER of the form at START."
  (subform-start text start (or number 0)))

(defun place-in-buffer (plist form number)
  "File, line and source line of a part of a text that was compiled with PLIST, which Swank or we
have given it; and the text, with the position in it."
  (let* ((text (property plist :emacs-string))
         (position (place-in-text text (or (nth-form text (or form 0)) 0) number))
         (file (property plist :emacs-filename))
         (line (property plist :line))
         (whole (and file (not line) (file-text file))))
    (values file
            (cond (line (+ line (count #\Newline text :end (min position (length text)))))
                  (whole (line-of whole (+ (or (property plist :emacs-position) 1) position -1))))
            (line-text text position)
            text position)))

(defun place-in-source-file (file written starts form number)
  "The same, of a part of a file, which has been changed since where WRITTEN, a universal time, is
not its date."
  (let ((text (and form
                   (eql written (ignore-errors (file-write-date file)))
                   (file-text file))))
    (if text
        (let* ((start (if (and starts (< form (length starts)))
                          (aref starts form)
                          (or (nth-form text form) 0)))
               (position (place-in-text text start number)))
          (values file (line-of text position) (line-text text position) text position))
        (values file nil nil))))

(defun system-file-text-p (file)
  "Whether FILE, a namestring, is one of the implementation's own, as it names them."
  (and (> (length file) 4) (string-equal "SYS:" file :end2 4)))

(defun place-in-system-file (file form number)
  "The same, of a part of one of the implementation's own files, whose dates are of the day they
were installed."
  (let* ((there (native-name file)) (written (and there (ignore-errors (file-write-date there)))))
    (if written (place-in-source-file there written nil form number) (values file nil nil))))

(defun frame-place (frame)
  "The file in which FRAME stands, a namestring, its line, and the text of that; and a text that
this line is part of, with its position in it. Each is NIL where not known."
  (declare (ignorable frame))
  #+sbcl (if-known (compiled-place frame)))

#+sbcl
(defun compiled-place (frame)
  "The same, or an error where nothing is known of FRAME."
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

;;; Functions and their locals

(defun function-text (name)
  "NAME, a symbol, a list such as (setf area), or a text, as it is written in the package in force."
  (cond ((stringp name) name)
        ((symbolp name) (symbol-text name (reading-package)))
        ((and (consp name)
              (member (first name) (list :method
                                         (native-symbol "SB-PCL" "FAST-METHOD")
                                         (native-symbol "SB-PCL" "SLOW-METHOD"))))
         (static-text (cons 'method (rest name)) 200))
        (t (static-text name 200))))

(defun local-tree (name value)
  (object "name" name
          "type_name" (let ((class (class-name (class-of value))))
                        (if (symbolp class) (string-downcase (symbol-name class)) "unnamed"))
          "repr" (static-text value *local-limit*)))

#+sbcl
(defun lost-value-p (value)
  "Whether VALUE stands for one that the machine does not have any more."
  (eq value :invalid-value-for-unescaped-register-storage))

#+sbcl
(defun variable-tree (variable frame)
  "The local of FRAME that VARIABLE is, or NIL where its value is lost."
  (let ((value (sb-di:debug-var-value variable frame)))
    (unless (lost-value-p value)
      (local-tree (string-downcase (symbol-name (sb-di:debug-var-symbol variable))) value))))

(defun valid-variables (frame)
  "The variables of FRAME that have a value where it stands, and a name that somebody gave."
  (declare (ignorable frame))
  #+sbcl
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

#+sbcl
(defun frame-locals (frame)
  "Trees for the variables that FRAME has a value of, and how many more there are."
  (let ((variables (valid-variables frame)))
    (values (loop for variable in variables
                  repeat *most-locals*
                  for tree = (if-known (variable-tree variable frame))
                  when tree collect tree)
            (max 0 (- (length variables) *most-locals*)))))

(defun frame-name (frame)
  "What FRAME runs: a symbol, list or text."
  #+sbcl (sb-di:debug-fun-name (sb-di:frame-debug-fun frame))
  #+ecl (native ("SWANK/ECL" "FRAME-NAME") frame)
  #-(or sbcl ecl) (let ((text (if-known
                               (with-output-to-string (stream)
                                 (swank/backend:print-frame frame stream)))))
                    (one-line (or text "?"))))

(defun generated-name-p (name)
  "Whether NAME is that of a function that CLOS has made by itself while the program ran."
  (let ((first (if (consp name) (first name) name)))
    (and (symbolp first)
         (eq (symbol-package first) (find-package "SB-PCL"))
         (not (member (symbol-name first) '("FAST-METHOD" "SLOW-METHOD") :test #'string=)))))

(defun implementation-frame-p (frame)
  "Whether what FRAME runs is the implementation's own, and not the program's."
  (or (foreign-frame-p (frame-name frame))
      (generated-name-p (frame-name frame))
      #+sbcl
      (if-known
       (let* ((location (sb-di:frame-code-location frame))
              (source (sb-di:code-location-debug-source location))
              (file (sb-di:debug-source-namestring source)))
         (and file (system-file-text-p file)))
       t)))

(defun frame-tree (frame)
  "FRAME as `Frame' of wire/contract/values.ts."
  #+sbcl
  (multiple-value-bind (file line source) (frame-place frame)
    (multiple-value-bind (locals more) (frame-locals frame)
      (object "function" (function-text (frame-name frame))
              "file" file "line" line "source" source
              "locals" (array-of locals) "locals_omitted" more
              "implementation" (if (implementation-frame-p frame) t :absent))))
  #-sbcl
  (object "function" (function-text (frame-name frame)) "file" nil "line" nil "source" nil
          "locals" (array-of '()) "locals_omitted" 0))

(defun brief-frame-tree (frame)
  "The same, without what takes time: its line, and its locals."
  (object "function" (function-text (frame-name frame))
          "file" (frame-file frame) "line" nil "source" nil
          "locals" (array-of '()) "locals_omitted" 0
          "implementation" (if (implementation-frame-p frame) t :absent)))

(defun frame-file (frame)
  "The namestring of the file in which FRAME stands, or NIL."
  (declare (ignorable frame))
  #+sbcl (if-known
          (let ((source (sb-di:code-location-debug-source (sb-di:frame-code-location frame))))
            (or (property (sb-c::debug-source-plist source) :emacs-filename)
                (sb-di:debug-source-namestring source)))))

(defun call-text (frame)
  "The call in FRAME with its arguments, as a backtrace shows it."
  #-sbcl (format nil "(~A)" (function-text (frame-name frame)))
  #+sbcl
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

(defun unprintable-p (value)
  "Whether VALUE stands for an argument that the machine no longer has."
  (let ((type (native-symbol "SB-DEBUG" "UNPRINTABLE-OBJECT")))
    (and type (if-known (typep value type)))))

;;;; The stack of a thread: the way into the debugger and the evaluator are left out of it, and that
;;;; of a suspended evaluation is walked as far as somebody looks.

(defun evaluator-frame-p (name)
  "Whether a frame of that NAME belongs to whatever evaluates a top-level form, and not to the
form."
  (let ((symbol (function-symbol name)))
    (if (null symbol)
        (nameless-evaluator-p)
        (or (eq (symbol-package symbol) (find-package "SB-C"))
             (member (symbol-name symbol)
                     '("BYTECODES" "EVAL-WITH-ENV"      ; of ECL; the others are of SBCL
                       "SIMPLE-EVAL-IN-LEXENV" "%SIMPLE-EVAL" "SIMPLE-EVAL-PROGN-BODY" "EVAL-TLF"
                       "SIMPLE-EVAL-LOCALLY" "EVAL-IN-LEXENV" "EVAL"
                       "LOAD" "LOAD-AS-SOURCE" "LOAD-AS-FASL" "LOAD-FASL-GROUP"
                       "CALL-WITH-LOAD-BINDINGS" "CALL-WITH-LOADER-PACKAGE-NAMES"
                       "CALL-WITH-COMPILATION-HOOKS")
                     :test #'string=)))))

(defun function-symbol (name &optional (depth 20))
  "The symbol by which a function of NAME is known: of (flet a :in b), b."
  (cond ((symbolp name) name)
        ((and (consp name) (plusp depth) (ignore-errors (list-length name)))
         (let ((within (second (member :in name))))
           ;; Within a form that has no name, it is a file.
           (function-symbol (if (or (null within) (stringp within))
                                (find-if #'symbolp (rest name))
                                within)
                            (1- depth))))))

(defun debugger-frame-p (name)
  "Whether a frame of that NAME belongs to the way from a signal into the debugger."
  (let* ((symbol (function-symbol name))
         (package (and symbol (symbol-package symbol) (package-name (symbol-package symbol)))))
    (cond ((null symbol) nil)
          ((member symbol '(error cerror break invoke-debugger abort invoke-restart)))
          ((own-frame-p name))
          (package (or (string= package "SB-DEBUG")
                       (eql 0 (search "SWANK" package))
                       (and (string= package "SB-KERNEL")
                            (search "-ERROR" (symbol-name symbol))))))))

(defun own-frame-p (name)
  "Whether a frame of that NAME is one of ours."
  (let ((symbol (function-symbol name)))
    ;; The symbols of this peer are in no package, or all in one.
    (and symbol (eq (symbol-package symbol) (symbol-package 'own-frame-p)))))

(defun interruption-frame-p (name)
  "Whether a frame of that NAME is where a thread was stopped, to run what another has asked it to."
  (let ((symbol (function-symbol name)))
    (and symbol (eq symbol (native-symbol "SB-SYS" "INVOKE-INTERRUPTION")))))

(defun foreign-frame-p (name)
  (and (stringp name)
       (or (eql 0 (search "foreign function" name)) (string= name "bogus stack frame"))))

(defun past-debugger (frames)
  "FRAMES, innermost first, from the first that is not on the way into the debugger."
  (flet ((name (frame) (frame-name frame))
         (leaving-p (name) (eq (function-symbol name) 'leave-evaluation)))
    (let* ((end (min 40 (length frames)))
           (stopped (position-if #'interruption-frame-p frames :key #'name :end end))
           (inner (or stopped (position-if #'leaving-p frames :key #'name :end end))))
      (when inner (setf frames (nthcdr (1+ inner) frames)))
      (loop for rest on frames
            ;; The way of a signal into Lisp is frames of C, whose names are texts.
            while (or (foreign-frame-p (name (first rest)))
                      (and (not stopped) (debugger-frame-p (name (first rest)))))
            finally (return rest)))))

(defun without-evaluator (frames)
  "FRAMES, innermost first, as far as they are the user's."
  (flet ((outermost-p (frame) (eq (function-symbol (frame-name frame)) 'call-in-listener))
         (own-p (frame) (own-frame-p (frame-name frame)))
         (evaluator-p (frame)
           (let ((name (frame-name frame)))
             (or (own-frame-p name) (evaluator-frame-p name)))))
    ;; Where it is not among them, all of them were ours.
    (let* ((end (or (position-if #'outermost-p frames) 0))
           (last (position-if-not #'evaluator-p frames :end end :from-end t)))
      ;; What is ours among them serves the user's streams.
      (remove-if #'own-p (subseq frames 0 (if last (1+ last) 0))))))

(defun stack-frames ()
  "The frames of this thread as the debugger would show them, innermost first, without those of the
evaluation itself."
  (without-evaluator
   (past-debugger
    (ignore-errors
     (swank/backend:call-with-debugging-environment
      (lambda () (swank/backend:compute-backtrace 0 nil)))))))

(defun told-frames (frames)
  "Those of FRAMES that are told, and how many of the middle are not."
  (let ((count (length frames)) (most (+ *innermost-frames* *outermost-frames*)))
    (if (<= count most)
        (values frames 0)
        (values (append (subseq frames 0 *innermost-frames*)
                        (subseq frames (- count *outermost-frames*)))
                (- count most)))))

;;; Walking no further than somebody looks

;;; Frames of the evaluator are left out of its outer end. Whether some are at that end is only
;;; known where it is reached, so they are held back until one of the user's follows.

(define-record walk
  frames                                ; as far as they are known, innermost first
  held                                  ; what may be of the evaluator, the outermost first
  next                                  ; frames to be looked at before `rest'
  rest                                  ; the frame that follows these, or a list of all; or NIL
  outer)                                ; whether its outer end is known

(defun innermost-frame ()
  "Where this thread stands, or all of its frames where only that can be had."
  (ignore-errors
   (swank/backend:call-with-debugging-environment
    (lambda ()
      #+sbcl (first (swank/backend:compute-backtrace 0 1))
      #-sbcl (swank/backend:compute-backtrace 0 nil)))))

(defun frame-below (frame)
  "The frame that has called FRAME, or NIL."
  (declare (ignorable frame))
  #+sbcl (if-known (sb-di:frame-down frame))
  #-sbcl nil)

(defun frames-up (count)
  "COUNT frames of this thread at most, innermost first; none where they cannot be had one by one."
  (declare (ignorable count))
  #+sbcl (loop for frame = (innermost-frame) then (frame-below frame)
               repeat count
               while frame collect frame)
  #-sbcl '())

(defun begin-walk ()
  "That of this thread as the debugger would show it, of which nothing has been walked but the way
into the debugger."
  (let* ((top (innermost-frame))
         (first (if (listp top)
                    top
                    (loop for frame = top then (frame-below frame)
                          repeat 40
                          while frame collect frame)))
         (last (first (last first))))
    (make-walk (make-array 32 :adjustable t :fill-pointer 0)
                '()
                (past-debugger first)
                (and (not (listp top)) last (frame-below last))
                nil)))

(defun pop-frame (walk)
  "The next frame that nobody has looked at, or NIL."
  (if (walk-next walk)
      (pop (walk-next walk))
      (let ((frame (walk-rest walk)))
        (when frame
          (setf (walk-rest walk) (frame-below frame))
          frame))))

(defun walk-on (walk)
  "Looks at one frame more."
  (let* ((frame (pop-frame walk)) (name (and frame (frame-name frame))))
    (cond ((or (null frame) (eq (function-symbol name) 'call-in-listener))
           (setf (walk-outer walk) t
                 (walk-held walk) '()))
          ((own-frame-p name))          ; it serves the user's streams
          ((evaluator-frame-p name) (push frame (walk-held walk)))
          (t (dolist (held (reverse (shiftf (walk-held walk) '())))
               (vector-push-extend held (walk-frames walk)))
             (vector-push-extend frame (walk-frames walk))))))

(defun walk-to (walk number)
  "Has WALK go on until it has more than NUMBER frames, or to its end."
  (loop for count from 1
        until (or (walk-outer walk) (> (length (walk-frames walk)) number))
        do (walk-on walk)
           (when (zerop (mod count 100)) (check-deadline))))

(defun frame-at (walk number)
  "The frame of that NUMBER, which counts from 0 at the innermost; NIL where there is none."
  (walk-to walk number)
  (and (< -1 number (length (walk-frames walk)))
       (aref (walk-frames walk) number)))

(defun frames-from (walk from count)
  "COUNT frames of WALK at most, from the number FROM on, and whether there are more."
  (walk-to walk (+ from count))
  (let ((end (min (+ from count) (length (walk-frames walk)))))
    (values (coerce (subseq (walk-frames walk) (min from end) end) 'list)
            (> (length (walk-frames walk)) end))))

(defun frames-total (walk)
  "How many there are, where that is known."
  (and (walk-outer walk) (length (walk-frames walk))))

;;; The end of a stack

(defun mend-stack ()
  "Has SBCL notice that this thread has left the end of its stack, if it was there. Without, the
next thread that is given the same memory would end the whole image when it comes to that end: SBCL
2.2.9 only notices where the very page before is written to."
  #+(and sbcl (or x86-64 arm64))
  (ignore-errors
   (multiple-value-bind (end now page) (stack-bounds)
     (let ((place (+ end (floor (* 5 page) 2))))
       (when (< place (- now page))
         (setf (sb-sys:sap-ref-8 (sb-sys:int-sap place) 0) 0))))))

#+(and sbcl (or x86-64 arm64))
(defun stack-bounds ()
  "The addresses where the stack of this thread ends, with three pages that guard its end, and where
it is now; and how many bytes such a page has."
  (values (sb-kernel:get-lisp-obj-address
           (symbol-value (native-symbol "SB-VM" "*CONTROL-STACK-START*")))
          (sb-sys:sap-int (native ("SB-KERNEL" "CURRENT-SP")))
          (sb-alien:extern-alien "os_vm_page_size" sb-alien:unsigned-long)))

(defun stack-low-p ()
  "Whether the end of the stack of this thread is so near that code which comes to it would end the
image, for the page that guards it is open."
  #+(and sbcl (or x86-64 arm64))
  (ignore-errors
   (multiple-value-bind (end now page) (stack-bounds) (< (- now end) (* 4 page))))
  #-(and sbcl (or x86-64 arm64))
  nil)

;;;; Leaving a stack, whatever its cleanup forms do.

(defparameter *most-leavings* 10
  "How often the user's cleanup forms may come in the way of leaving them.")

(defvar *cleanup-forms* nil
  "Those that were to run before the innermost code of the user's in this thread was begun.")

(defun cleanup-forms ()
  "Those that are to run where this thread is left, as the Lisp has them; NIL where it tells none."
  (let ((symbol (native-symbol "SB-VM" "*CURRENT-UNWIND-PROTECT-BLOCK*")))
    (and symbol (symbol-value symbol))))

(defun drop-cleanup-forms (times)
  "Has the innermost cleanup forms of the user's innermost code not run when it is left: they have
kept it from being left TIMES so far. Those further out run, and those that give the Lisp's own
locks back. One is dropped first, and each time twice as many, so that code which adds some each
time is left all the same. Gives how many were dropped: none where that cannot be done."
  (let ((most (ash 1 (min 20 (max 0 (- times *most-leavings* 1)))))
        (dropped 0)
        (inner nil))
    (declare (ignorable most inner))
    #+(and sbcl x86-64)
    (dolist (cleanup (users-part))
      (cond ((and (< dropped most) (user-cleanup-p cleanup))
             (incf dropped)
             (skip-cleanup inner (outer-cleanup cleanup)))
            (t (setf inner cleanup))))
    dropped))

;;; SBCL keeps a block on the stack for each UNWIND-PROTECT that is to run. Each has the address of
;;; the next one further out, as a fixnum, and the address of the code that is to run. A transfer of
;;; control takes one after the other, until the next is the one that was there at its destination.

#+(and sbcl x86-64)
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
