;;;; The stack of a thread: the way into the debugger and the evaluator are left out of it, and that
;;;; of a suspended evaluation is walked as far as somebody looks.

(in-package #:imago-peer)

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
