;;;; Calls as they are taken down: at their begin and at their end, on the thread that makes them.
;;;;
;;;; Nothing here runs code of the program, leaves into it, or is taken down itself. What a value
;;;; was is text; a handle, made when somebody asks, leads to what it is now: by a weak pointer, so
;;;; that what the program lets go of goes, but for the last few values that were met.

(in-package #:imago-peer)

(define-record tracepoint
  session id name who
  mark                                  ; the type of its encapsulation, a symbol of its own
  state                                 ; ON, FULL, EXPIRED, REMOVED
  inside                                ; whether it is in the program
  wanted seen ended at
  until                                 ; in microseconds
  notes
  parameters                            ; as `parameter-names' has them
  calls)                                ; the newest first

(define-record traced
  number at thread depth arguments omitted
  outcome                               ; RUNNING, or a list of LEFT, RETURNED or RAISED, and what
  elapsed
  caller)                               ; a frame, or NIL

(define-record taken text elided class pointer)

(defparameter *traced-arguments* 20
  "Arguments and values of one call that are taken down.")

(defparameter *taken-limit* 300
  "Characters of one such value.")

(define-session-variable *last-taken* (make-array 128 :initial-element nil)
  "The values that were met last, which their handles keep.")

(define-session-variable *taken-count* 0)

(define-session-variable *tracepoints-lock* (swank/backend:make-lock :name "tracepoints"))

(defmacro with-tracepoints (&body body)
  `(swank/backend:call-with-lock-held *tracepoints-lock* (lambda () ,@body)))

(defvar *taking-down* nil
  "Whether this thread takes a call down: what is called meanwhile is not.")

(defvar *traced-depths* '()
  "How many calls that are taken down this thread is within, by session: an association list.")

(defun traced-depth-now ()
  (or (cdr (assoc *session* *traced-depths*)) 0))

(defun call-taking-down (tracepoint function)
  "The value of FUNCTION, for the session of TRACEPOINT and in whatever thread; NIL where it fails.
It is not interrupted: what has been asked of this thread waits until it ends."
  (let ((*session* (tracepoint-session tracepoint)) (*taking-down* t) (*deadline* nil))
    (#+sbcl sb-sys:without-interrupts #-sbcl progn
     (with-standard-io-syntax
       (let ((*print-readably* nil) (*print-pretty* nil) (*break-on-signals* nil))
         (handler-case (funcall function)
           ((or error storage-condition) () nil)))))))

;;; Values

(defun keep-a-while (value)
  (setf (svref *last-taken* (mod (incf *taken-count*) (length *last-taken*))) value))

(defun passing-p (value)
  "Whether VALUE is on a stack, and so is nothing as soon as its function returns."
  (native ("SB-EXT" "STACK-ALLOCATED-P") value))

(defun taken-down (value)
  "VALUE as it is."
  (multiple-value-bind (text elided) (static-text value *taken-limit* 20)
    (make-taken text elided (class-of value)
                (when (and (worth-a-handle-p value) (not (passing-p value)))
                  (keep-a-while value)
                  (native ("SB-EXT" "MAKE-WEAK-POINTER") value)))))

(defun taken-tree (taken)
  "TAKEN as `Shown' of wire/contract/values.ts."
  (multiple-value-bind (value there)
      (and (taken-pointer taken) (native ("SB-EXT" "WEAK-POINTER-VALUE") (taken-pointer taken)))
    (let ((text (taken-text taken)) (elided (taken-elided taken)))
      (object "repr" (object "text" text
                             "truncated" (truth elided)
                             "original_len" (if elided nil (length text)))
              "type" (type-tree (taken-class taken))
              "handle" (if there (handle-for value) :absent)
              "preview" (if there (preview value) :absent)))))

(defun parameter-names (name)
  "How the arguments of the function NAME are called: a list of those that go by their place, and
the name of the rest; :KEYS where that is keys and values. Second, NIL where nobody knows."
  (multiple-value-bind (list known) (stored-lambda-list name)
    (flet ((text (item)
             (let ((symbol (if (consp item) (first item) item)))
               (if (symbolp symbol) (bare-text symbol) "argument"))))
      (and known
           (listp list)
           (let* ((end (position-if (lambda (item) (member item '(&rest &key &aux &body))) list))
                  (rest (and end (nthcdr end list))))
             (list (loop for item in (subseq list 0 end)
                         unless (member item lambda-list-keywords)
                           collect (text item))
                   (cond ((member '&key rest) :keys)
                         ((member (first rest) '(&rest &body)) (text (second rest))))))))))

(defun named-arguments (parameters arguments)
  "ARGUMENTS with their names: a list of conses (NAME . VALUE)."
  (destructuring-bind (&optional places rest) parameters
    (loop for number from 1
          while arguments
          collect (cond (places (cons (pop places) (pop arguments)))
                        ((and (eq rest :keys) (keywordp (first arguments)) (rest arguments))
                         (cons (symbol-text (pop arguments)) (pop arguments)))
                        ((stringp rest) (cons rest (shiftf arguments '())))
                        (t (cons (integer-text number) (pop arguments)))))))

;;; The caller

(defun around-traced-p (name)
  "Whether a frame of that NAME stands between a call and `call-taken-down'."
  (let ((symbol (function-symbol name)))
    (or (own-frame-p name)
        (generated-name-p name)
        (and symbol (eq symbol (native-symbol "SB-IMPL" "ENCAPSULATION"))))))

(defun caller-of-traced ()
  "The frame that has made the call which is being taken down, or NIL."
  #+sbcl
  (loop with within = t
        for frame = (sb-di:top-frame) then (sb-di:frame-down frame)
        repeat 40
        while frame
        do (let ((name (frame-name frame)))
             (cond ((eq (function-symbol name) 'call-taken-down) (setf within nil))
                   ((or within (around-traced-p name)))
                   ((or (foreign-frame-p name) (evaluator-frame-p name)) (return nil))
                   (t (return frame))))))

;;; A call

(defun begin-counted (tracepoint)
  "A call of the function of TRACEPOINT, of which nothing is known yet but that it has begun; NIL
where enough are known. Takes the lock."
  (with-tracepoints
    (when (eq (tracepoint-state tracepoint) 'on)
      (let ((number (incf (tracepoint-seen tracepoint))))
        (when (<= number (tracepoint-wanted tracepoint))
          (let ((traced (make-traced number (microseconds) "" (traced-depth-now) '() 0
                                     'running nil nil)))
            (push traced (tracepoint-calls tracepoint))
            traced))))))

(defun begin-traced (tracepoint arguments)
  "The call of the function of TRACEPOINT that begins now, or NIL where it is not taken down."
  (let ((traced (begin-counted tracepoint)))
    (when traced
      (ignore-errors
       (let ((named (named-arguments (tracepoint-parameters tracepoint) arguments)))
         (setf (traced-thread traced) (thread-text (swank/backend:current-thread))
               (traced-caller traced) (caller-of-traced)
               (traced-omitted traced) (max 0 (- (length named) *traced-arguments*))
               (traced-arguments traced) (loop for (name . value) in named
                                               repeat *traced-arguments*
                                               collect (cons name (taken-down value))))))
      traced)))

(defun end-traced (tracepoint traced outcome elapsed)
  "Notes that the call TRACED came to OUTCOME in ELAPSED milliseconds. The last that TRACEPOINT
wants makes it `full', and its thread takes it out of the program. Takes the lock."
  (with-tracepoints
    (setf (traced-outcome traced) outcome
          (traced-elapsed traced) elapsed)
    (when (and (= (incf (tracepoint-ended tracepoint)) (tracepoint-wanted tracepoint))
               (eq (tracepoint-state tracepoint) 'on))
      (setf (tracepoint-state tracepoint) 'full)
      (wake-tracer))))

(defun outcome-of (values condition)
  "What a call has come to: VALUES, a list, or :NONE where it was left; then perhaps by CONDITION."
  (cond ((listp values)
         (list 'returned (loop for value in values
                               repeat *traced-arguments*
                               collect (or (ignore-errors (taken-down value))
                                           (make-taken "#<unreadable>" t (find-class t) nil)))))
        (condition
         (list 'raised (object "type" (type-tree (class-of condition))
                               "message" (condition-text condition))))
        (t (list 'left))))

(defun condition-text (condition)
  "What CONDITION stores, for its report is code of the user's."
  (if (is-a-p condition 'simple-condition)
      (let ((fields (fields condition)))
        (flet ((field (name) (cdr (assoc name fields :test #'string= :key #'symbol-name))))
          (let ((control (field "FORMAT-CONTROL")) (arguments (field "FORMAT-ARGUMENTS")))
            (if (stringp control)
                (filled-in control (if (listp arguments) arguments '()))
                (static-text condition *taken-limit*)))))
      (static-text condition *taken-limit*)))

(defun filled-in (control arguments)
  "CONTROL with the ARGUMENTS in their places, where nothing else is asked of `format' in it; else
beside it."
  (let ((pieces '()) (from 0) (left arguments))
    (loop
      (let ((at (position #\~ control :start from)))
        (push (subseq control from at) pieces)
        (when (null at) (return))
        (let ((directive (and (< (1+ at) (length control)) (char-downcase (char control (1+ at))))))
          (cond ((and left (find directive "asd"))
                 (let ((value (pop left)))
                   (push (if (and (stringp value) (char= directive #\a))
                             value
                             (static-text value 100))
                         pieces)))
                ((eql directive #\%) (push " " pieces))
                (t (return-from filled-in
                     (cut (format nil "~A: ~A" control (static-text arguments 200))
                          *taken-limit*))))
          (setf from (+ at 2)))))
    (cut (apply #'concatenate 'string (reverse pieces)) *taken-limit*)))

(defun call-traced (tracepoint function arguments)
  "The values of FUNCTION, applied to ARGUMENTS. The call is taken down where TRACEPOINT wants it."
  ;; Not where the stack nearly ends: that would leave the lock taken for ever, and where it comes
  ;; while something is allocated, SBCL ends the image. So nothing is, before this is known.
  (if (and (eq (tracepoint-state tracepoint) 'on)
           (not (stack-short-p))
           (not *taking-down*))
      (call-taken-down tracepoint function arguments)
      (apply function arguments)))

(defun call-taken-down (tracepoint function arguments)
  "The same, where there is room to take it down."
  ;; The list ends with the call, and what is taken down of it does not.
  (let ((traced (call-taking-down
                 tracepoint
                 (lambda () (begin-traced tracepoint (copy-list arguments)))))
        (values :none) (condition nil) (start (microseconds)))
    (if (null traced)
        (apply function arguments)
        (unwind-protect
             (let ((*traced-depths* (acons (tracepoint-session tracepoint)
                                           (1+ (traced-depth traced))
                                           *traced-depths*)))
               (values-list
                (setf values (multiple-value-list
                              (handler-bind ((serious-condition
                                               (lambda (signalled) (setf condition signalled))))
                                (apply function arguments))))))
          (let ((elapsed (milliseconds-since start)))
            (call-taking-down
             tracepoint
             (lambda ()
               (end-traced tracepoint traced (outcome-of values condition) elapsed))))))))
