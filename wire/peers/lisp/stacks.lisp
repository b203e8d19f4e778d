;;;; The stack of a thread: its frames, their places and locals, and how it is left.

(in-package #:imago-peer)

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
  "The same, of a part of a file as it was when it was WRITTEN, a universal time; nothing of its
text where the file has changed since."
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

(defun generated-name-p (name)
  "Whether NAME is that of a function that CLOS has made by itself while the program ran."
  (let ((first (if (consp name) (first name) name)))
    (and (symbolp first)
         (eq (symbol-package first) (find-package "SB-PCL"))
         (not (member (symbol-name first) '("FAST-METHOD" "SLOW-METHOD") :test #'string=)))))

(defun brief-frame-tree (frame)
  "The same, without what takes time: its line, and its locals."
  (object "function" (function-text (frame-name frame))
          "file" (frame-file frame) "line" nil "source" nil
          "locals" (array-of '()) "locals_omitted" 0
          "implementation" (if (implementation-frame-p frame) t :absent)))

(defun unprintable-p (value)
  "Whether VALUE stands for an argument that the machine no longer has."
  (let ((type (native-symbol "SB-DEBUG" "UNPRINTABLE-OBJECT")))
    (and type (if-known (typep value type)))))

;;; The stack of a thread: the way into the debugger and the evaluator are left out of it, and that
;;; of a suspended evaluation is walked as far as somebody looks.

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

(defun shown-frames (frames)
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

;;; Leaving a stack, whatever its cleanup forms do.

(defparameter *most-leavings* 10
  "How often the user's cleanup forms may come in the way of leaving them.")

(defvar *cleanup-forms* nil
  "Those that were to run before the innermost code of the user's in this thread was begun.")

(defun cleanup-forms ()
  "Those that are to run where this thread is left, as the Lisp has them; NIL where it tells none."
  (let ((symbol (native-symbol "SB-VM" "*CURRENT-UNWIND-PROTECT-BLOCK*")))
    (and symbol (symbol-value symbol))))
