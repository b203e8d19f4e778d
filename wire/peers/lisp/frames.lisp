;;;; The stack of a thread as it stands: frames with their places and their locals.

(in-package #:imago)

(defparameter *innermost-frames* 40
  "Frames that are told of the inner end of a stack.")

(defparameter *outermost-frames* 15
  "Frames that are told of the outer end of a longer stack.")

(defparameter *most-locals* 20
  "Locals of one frame that are told.")

(defparameter *local-limit* 200
  "Characters of one local's text.")

;;; Places

(defun place-in-text (text start number)
  "The position in TEXT of the part of that NUMBER of the form at START."
  (subform-start text start (or number 0)))

(defun place-in-buffer (plist form number)
  "File, line and source line of a part of a text that was compiled with PLIST, which Swank or we
have given it."
  (let* ((text (property plist :emacs-string))
         (position (place-in-text text (or (nth-form text (or form 0)) 0) number))
         (file (property plist :emacs-filename))
         (line (property plist :line))
         (whole (and file (not line) (file-text file))))
    (values file
            (cond (line (+ line (count #\Newline text :end (min position (length text)))))
                  (whole (line-of whole (+ (or (property plist :emacs-position) 1) position -1))))
            (line-text text position))))

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
          (values file (line-of text position) (line-text text position)))
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
  "The file in which FRAME stands, a namestring, its line, and the text of that; each NIL where not
known."
  (declare (ignorable frame))
  (handler-case
      #+sbcl (compiled-place frame)
      #-sbcl (values nil nil nil)
    (error () (values nil nil nil))))

#+sbcl
(defun compiled-place (frame)
  "The same, or an error where nothing is known of FRAME."
  (let* ((location (sb-di:frame-code-location frame))
         (source (sb-di:code-location-debug-source location))
         (plist (sb-c::debug-source-plist source))
         (file (sb-di:debug-source-namestring source))
         (start (or (ignore-errors (sb-debug::maybe-block-start-location location)) location))
         (form (ignore-errors (sb-di::code-location-toplevel-form-offset start)))
         (number (ignore-errors (sb-di::code-location-form-number start))))
    (cond ((stringp (property plist :emacs-string)) (place-in-buffer plist form number))
          ((null file) (values nil nil nil))
          ((system-file-text-p file) (place-in-system-file file form number))
          (t (place-in-source-file file (sb-c::debug-source-created source)
                            (ignore-errors
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
(defun variable-tree (variable frame)
  "The local of FRAME that VARIABLE is, or NIL where its value is lost."
  (let ((value (sb-di:debug-var-value variable frame)))
    (unless (eq value :invalid-value-for-unescaped-register-storage)
      (local-tree (string-downcase (symbol-name (sb-di:debug-var-symbol variable))) value))))

#+sbcl
(defun frame-locals (frame)
  "Trees for the variables that FRAME has a value of, and how many more there are."
  (let* ((location (sb-di:frame-code-location frame))
         (variables (ignore-errors
                     (remove-if-not
                      (lambda (variable)
                        (and (sb-di:debug-var-symbol variable)
                             (symbol-package (sb-di:debug-var-symbol variable))
                             (eq (sb-di:debug-var-validity variable location) :valid)))
                      (sb-di::debug-fun-debug-vars (sb-di:frame-debug-fun frame))))))
    (values (loop for variable across (or variables #())
                  repeat *most-locals*
                  for tree = (ignore-errors (variable-tree variable frame))
                  when tree collect tree)
            (max 0 (- (length variables) *most-locals*)))))

(defun frame-name (frame)
  "What FRAME runs: a symbol, list or text."
  #+sbcl (sb-di:debug-fun-name (sb-di:frame-debug-fun frame))
  #+ecl (native ("SWANK/ECL" "FRAME-NAME") frame)
  #-(or sbcl ecl) (let ((text (ignore-errors
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
      (handler-case
          (let* ((location (sb-di:frame-code-location frame))
                 (source (sb-di:code-location-debug-source location))
                 (file (sb-di:debug-source-namestring source)))
            (and file (system-file-text-p file)))
        (error () t))))

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

(defun call-text (frame)
  "The call in FRAME with its arguments, as a backtrace shows it."
  #-sbcl (format nil "(~A)" (function-text (frame-name frame)))
  #+sbcl
  (multiple-value-bind (name arguments)
      (handler-case (sb-debug::frame-call frame)
        (error () (values (frame-name frame) '())))
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
    (and type (ignore-errors (typep value type)))))

;;; The stack

(defun evaluator-frame-p (name)
  "Whether a frame of that NAME belongs to whatever evaluates a top-level form, and not to the
form."
  (let ((symbol (function-symbol name)))
    ;; In ECL, a top-level form is a function without a name.
    #+ecl (unless symbol (return-from evaluator-frame-p t))
    (and symbol
         (or (eq (symbol-package symbol) (find-package "SB-C"))
             (member (symbol-name symbol)
                     '(#+ecl "BYTECODES" #+ecl "EVAL-WITH-ENV"
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
