;;;; Tracepoints: the next calls of a function, taken down as they happen.

(in-package #:imago-peer)

;;; Calls as they are taken down: at their begin and at their end, on the thread that makes them.
;;;
;;; Nothing here runs code of the program, leaves into it, or is taken down itself. What a value
;;; was is text; a handle, made when somebody asks, leads to what it is now: by a weak pointer, so
;;; that what the program lets go of goes, but for the last few values that were met.

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

(define-session-variable *traces-untold* nil
  "Whether the client has not been told yet of calls that have ended, or of ends of tracepoints.")

(define-session-variable *tracepoints-lock* (swank/backend:make-lock :name "tracepoints"))

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
    (without-interrupts
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
  (with-lock (*tracepoints-lock*)
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
  (with-lock (*tracepoints-lock*)
    (setf (traced-outcome traced) outcome
          (traced-elapsed traced) elapsed
          *traces-untold* t)
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
  (cut (or (message-of condition) (static-text condition *taken-limit*)) *taken-limit*))

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

;;; The function that a tracepoint is asked for, and what is not seen of its calls.

(defun named-function (subject text)
  "The name of the function that SUBJECT stands for, and a note where it is more than that. Ends the
look where it is none."
  (let ((thing (subject-thing subject)))
    (flet ((generic-name (method)
             (values (name-of-generic (function-of-method method))
                     "The calls of all methods of the generic function are seen.")))
      (ecase (subject-kind subject)
        ((symbol function) thing)
        (method (generic-name thing))
        (package (malformed "~A is a package, and no function." (one-line text 80)))
        (value (case (kind-of-value thing)
                 (symbol thing)
                 (method (generic-name thing))
                 (function (name-of-value thing text))
                 (t (malformed "~A is no function." (one-line text 80)))))))))

(defun name-of-value (function text)
  (let ((name (if (generic-p function)
                  (name-of-generic function)
                  (native ("SB-KERNEL" "%FUN-NAME") function))))
    (if (and (or (and name (symbolp name)) (typep name '(cons (eql setf) (cons symbol null))))
             (fboundp name)
             (eq (function-of name) function))
        name
        (malformed "The function of ~A goes by no name: only calls by a name can be traced."
                   (one-line text 80)))))

(defun check-traceable (name)
  "Ends the look where calls of NAME cannot be taken down, or must not be."
  (let* ((symbol (if (consp name) (second name) name))
         (text (function-name-text name))
         (package (symbol-package symbol)))
    (cond ((and (symbolp name) (special-operator-p name))
           (malformed "~A is a special operator, which is compiled and never called." text))
          ((macro-or-nil name)
           (malformed "~A is a macro, which is expanded and never called. Trace a function that ~
                       its expansion calls." text))
          ((not (fboundp name))
           (not-found (format nil "~A as a function" text)
                      (remove (symbol-text symbol) (nearest-symbols (symbol-text symbol) nil)
                              :test #'string=)))
          ((and package
                (or (system-package-p package)
                    (eql 0 (search "SWANK" (package-name package)))))
           (malformed "~A belongs to the Lisp itself or to Swank, which need it while a call is ~
                       taken down: it is not traced. Trace a function of the program that calls it."
                      text)))))

(defun block-compiled-p (function)
  "Whether FUNCTION was compiled in one block with other functions that have names."
  (ignore-errors
   (let* ((code (native ("SB-KERNEL" "FUN-CODE-HEADER") function))
          (name (native ("SB-KERNEL" "%FUN-NAME") function)))
     (loop for index from 0 below (native ("SB-KERNEL" "CODE-N-ENTRIES") code)
           for other = (native ("SB-KERNEL" "%FUN-NAME")
                               (native ("SB-KERNEL" "%CODE-ENTRY-POINT") code index))
           thereis (and other (symbolp other) (fboundp other) (not (equal other name)))))))

(defun unseen-calls (name)
  "Sentences about the calls of NAME that are not taken down."
  (let ((function (function-of name)) (text (function-name-text name)))
    (remove
     nil
     (list
      (when (member (info-of :function :inlinep name)
                    (list 'inline (native-symbol "SB-EXT" "MAYBE-INLINE")))
        "It is declaimed inline: code that has its body in place of a call does not call it.")
      (when (and (symbolp name) (info-of :function :source-transform name))
        "Compiled code reads and makes its structure without calling it.")
      (when (and (symbolp name) (compiler-macro-function name))
        "It has a compiler macro: a call that this has replaced is none of it.")
      (unless (generic-p function)
        (format nil "Calls of a function object that was taken before, by #'~A, go past it." text))
      (when (and (not (generic-p function)) (block-compiled-p function))
        "It was compiled in one block with other functions: calls among these go past it.")))))

;;; Tracepoints: the next calls of a function, taken down as they happen.
;;;
;;; Each is an encapsulation of SBCL's, whose type is a symbol of its own: not among those of
;;; TRACE, of SLIME's trace dialog, or of a profiler. While any is in the program a thread of ours
;;; waits for the first end of one, and for the end of the connection, with which all end.

(defparameter *most-tracepoints-on* 16)

(defparameter *most-tracepoints* 32
  "Tracepoints that are remembered.")

(defparameter *most-traced* 4000
  "Calls that are kept, or wanted, of all of them.")

(defparameter *most-traced-of-one* 1000)

(defparameter *longest-trace-ms* (* 24 3600 1000))

(defparameter *traced-page* 100
  "Calls in one answer.")

(define-session-variable *tracepoints* '()
  "The oldest first.")

(define-session-variable *last-tracepoint* 0)

(define-session-variable *tracer* nil
  "The thread that waits for their ends, or NIL.")

(define-session-variable *tracer-bell* (native ("SB-THREAD" "MAKE-SEMAPHORE")))

(defun wake-tracer ()
  "Has the thread that waits for ends look at once. Blocks nobody; does nothing where none waits."
  (native ("SB-THREAD" "SIGNAL-SEMAPHORE") *tracer-bell*))

;;; In the program, and out of it

(defun put-in (tracepoint)
  "Has the calls of the function of TRACEPOINT taken down from now on. Called with the lock held."
  (setf (tracepoint-inside tracepoint) t)
  (native ("SB-INT" "ENCAPSULATE")
          (tracepoint-name tracepoint) (tracepoint-mark tracepoint)
          (lambda (function &rest arguments)
            ;; Near the end of the stack, to allocate is what `call-traced' avoids.
            (declare (dynamic-extent arguments))
            (call-traced tracepoint function arguments))))

(defun encapsulating-p (tracepoint)
  "Whether it stands around the function that has its name now."
  (let ((name (tracepoint-name tracepoint)))
    (ignore-errors
     (and (fboundp name)
          (native ("SB-INT" "ENCAPSULATED-P") name (tracepoint-mark tracepoint))))))

(defun take-out-ended ()
  "Has the program without those that have ended, and says whether any is in it still."
  (with-lock (*tracepoints-lock*)
    (dolist (tracepoint *tracepoints*)
      (when (and (tracepoint-inside tracepoint) (not (eq (tracepoint-state tracepoint) 'on)))
        (when (encapsulating-p tracepoint)
          (ignore-errors
           (native ("SB-INT" "UNENCAPSULATE")
                   (tracepoint-name tracepoint) (tracepoint-mark tracepoint))))
        (setf (tracepoint-inside tracepoint) nil)))
    (some (lambda (tracepoint) (tracepoint-inside tracepoint)) *tracepoints*)))

(defun end-tracepoint (tracepoint state)
  "Ends TRACEPOINT as STATE, `expired' or `removed', unless it has ended, and takes it out of the
program. Takes the lock."
  (with-lock (*tracepoints-lock*)
    (when (eq (tracepoint-state tracepoint) 'on)
      (setf (tracepoint-state tracepoint) state
            *traces-untold* t)))
  (take-out-ended)
  (wake-tracer))

(defun end-late ()
  "Ends those whose time is over. Returns the microseconds until the next, or NIL."
  (let ((now (microseconds)) (next nil))
    (dolist (tracepoint *tracepoints* next)
      (when (eq (tracepoint-state tracepoint) 'on)
        (let ((left (- (tracepoint-until tracepoint) now)))
          (if (plusp left)
              (setf next (if next (min next left) left))
              (end-tracepoint tracepoint 'expired)))))))

(defun end-all-tracepoints ()
  "The connection is over."
  (dolist (tracepoint *tracepoints*)
    (end-tracepoint tracepoint 'removed)
    ;; Whoever has taken #'name meanwhile holds the tracepoint.
    (setf (tracepoint-calls tracepoint) '()))
  (setf *tracepoints* '())
  (fill *last-taken* nil))

(before-leaving #'end-all-tracepoints)

;;; The thread

(defun ensure-tracer ()
  "Begins the thread that waits for ends, over the connection of this thread, unless it runs. Takes
the lock, which whoever calls may hold."
  (with-lock (*tracepoints-lock*)
    (unless *tracer*
      (let ((stream (swank::connection.socket-io swank::*emacs-connection*)))
        (setf *tracer* (begin-thread "imago: tracepoints"
                                     (lambda () (watch-tracepoints stream))))))))

(defun tell-traces ()
  "Tells the client that there is more to see of tracepoints, where it has not been told."
  (when *traces-untold*
    (setf *traces-untold* nil)
    (send-over *connection* (object "news" "traces"))))

(defun watch-tracepoints (stream)
  "Ends tracepoints in their time, and all of them once STREAM, that of the connection, is closed.
Tells the client of what comes meanwhile. Returns when none is in the program."
  (loop
    (unless (open-stream-p stream) (end-all-tracepoints))
    (let ((next (end-late)))
      (take-out-ended)
      (tell-traces)
      (with-lock (*tracepoints-lock*)
        (unless (some (lambda (tracepoint) (tracepoint-inside tracepoint)) *tracepoints*)
          (setf *tracer* nil)
          (return)))
      (native ("SB-THREAD" "WAIT-ON-SEMAPHORE")
              *tracer-bell* :timeout (min 1/4 (/ (or next 250000) 1000000)))))
  (tell-traces))

;;; Trees

(defun microseconds-text (microseconds)
  (multiple-value-bind (seconds rest) (floor microseconds 1000000)
    (time-text (+ seconds 2208988800) (floor rest 1000))))

(defun tracepoint-tree (tracepoint)
  "`Tracepoint' of wire/contract/suspensions.ts."
  (let ((on (eq (tracepoint-state tracepoint) 'on)))
    (object "id" (tracepoint-id tracepoint)
            "name" (function-name-text (tracepoint-name tracepoint))
            "who" (tracepoint-who tracepoint)
            "state" (wire-name (tracepoint-state tracepoint))
            "by" "an encapsulation"
            "wanted" (tracepoint-wanted tracepoint)
            "seen" (tracepoint-seen tracepoint)
            "at" (microseconds-text (tracepoint-at tracepoint))
            "expires_in_ms" (and on (max 0 (floor (- (tracepoint-until tracepoint) (microseconds))
                                                  1000)))
            "notes" (array-of
                     (append (tracepoint-notes tracepoint)
                             (and on
                                  (not (encapsulating-p tracepoint))
                                  (list (format nil "The function was made unbound meanwhile, ~
                                                     which took the tracepoint out: no more ~
                                                     calls are seen."))))))))

(defun outcome-tree (outcome)
  "What a call has come to, of what `outcome-of' gives: `outcome' of `TracedCall'."
  (if (symbolp outcome)
      (object "type" (wire-name outcome))
      (destructuring-bind (type &optional what) outcome
        (ecase type
          (returned (object "type" "returned" "values" (array-of (mapcar #'taken-tree what))))
          (raised (object "type" "raised" "exception" what))
          (left (object "type" "left"))))))

(defun caller-tree (frame)
  "The function and the place of FRAME, which has made a traced call: `caller' of `TracedCall'."
  (multiple-value-bind (file line) (frame-place frame)
    (object "function" (function-text (frame-name frame)) "file" file "line" (and file line))))

(defun traced-tree (traced)
  "`TracedCall' of wire/contract/suspensions.ts."
  (object "number" (traced-number traced)
          "at" (microseconds-text (traced-at traced))
          "thread" (one-line (traced-thread traced))
          "depth" (traced-depth traced)
          "arguments" (array-of (loop for (name . taken) in (traced-arguments traced)
                                      collect (object "name" name "value" (taken-tree taken))))
          "arguments_omitted" (traced-omitted traced)
          "outcome" (outcome-tree (traced-outcome traced))
          "elapsed_ms" (traced-elapsed traced)
          "caller" (and (traced-caller traced) (caller-tree (traced-caller traced)))))

;;; Calls

(defun check-count (what value most)
  "Ends the look as malformed unless VALUE, the WHAT of a tracepoint, is a whole number from 1 to
MOST."
  (unless (and (integerp value) (<= 1 value most))
    (malformed "~A of a tracepoint is from 1 to ~D." what most)))

(defun make-room-for-traced (calls)
  "Forgets tracepoints that have ended, until there is room for one that wants so many CALLS. Ends
the look where there is none."
  (flet ((on-p (tracepoint) (eq (tracepoint-state tracepoint) 'on))
         (kept ()
           (loop for tracepoint in *tracepoints*
                 sum (if (eq (tracepoint-state tracepoint) 'on)
                         (tracepoint-wanted tracepoint)
                         (length (tracepoint-calls tracepoint))))))
    (when (>= (count-if #'on-p *tracepoints*) *most-tracepoints-on*)
      (malformed "~D tracepoints are on already: remove one of them first." *most-tracepoints-on*))
    (loop while (or (> (+ calls (kept)) *most-traced*)
                    (>= (length *tracepoints*) *most-tracepoints*))
          do (let ((ended (find-if-not #'on-p *tracepoints*)))
               (unless ended
                 (malformed "The tracepoints that are on want ~D calls already, of ~D in all: ask ~
                             for fewer, or remove one."
                            (kept) *most-traced*))
               (setf *tracepoints* (remove ended *tracepoints*))))))

(defun tracepoint-named (id)
  "The tracepoint of that ID, one that has ended also. Ends the look as not found where there is
none."
  (or (find id *tracepoints* :test #'equal
                             :key (lambda (tracepoint) (tracepoint-id tracepoint)))
      (not-found (format nil "tracepoint ~A" (one-line id 80))
                 (mapcar (lambda (tracepoint) (tracepoint-id tracepoint)) *tracepoints*))))

(defun new-tracepoint (name notes calls expires-ms who)
  "One of the function NAME that wants so many CALLS and ends EXPIRES-MS milliseconds from now, for
WHO; NOTES are sentences. It is neither remembered nor in the program yet."
  (let ((now (microseconds)))
    (make-tracepoint *session* (format nil "t~D@~A" (incf *last-tracepoint*) *handle-prefix*)
                     name (cut (or who "") 200) (make-symbol "IMAGO") 'on nil calls 0 0 now
                     (+ now (* 1000 expires-ms)) notes (parameter-names name) '())))

(define-call "trace" (name calls expires-ms who)
  (check-count "calls" calls *most-traced-of-one*)
  (check-count "expires_ms" expires-ms *longest-trace-ms*)
  (take-out-ended)
  (multiple-value-bind (function note) (named-function (subject name) name)
    (check-traceable function)
    (let ((notes (append (and note (list note)) (unseen-calls function))))
      (with-lock (*tracepoints-lock*)
        (make-room-for-traced calls)
        (let ((tracepoint (new-tracepoint function notes calls expires-ms who)))
          (setf *tracepoints* (append *tracepoints* (list tracepoint)))
          (put-in tracepoint)
          (ensure-tracer)
          (wake-tracer)
          (found (tracepoint-tree tracepoint)))))))

(define-call "untrace" (tracepoint)
  (let ((tracepoint (tracepoint-named tracepoint)))
    (end-tracepoint tracepoint 'removed)
    (found (tracepoint-tree tracepoint))))

(define-call "traces" (tracepoint from count)
  (take-out-ended)
  (with-file-texts
    (if (null tracepoint)
        (found (object "tracepoints" (array-of (mapcar #'tracepoint-tree *tracepoints*))
                       "calls" (array-of '())
                       "next" nil))
        (let* ((tracepoint (tracepoint-named tracepoint))
               (calls (reverse (tracepoint-calls tracepoint)))
               (start (min (max 0 (1- from)) (length calls)))
               (end (min (+ start (min count *traced-page*)) (length calls))))
          (found (object "tracepoints" (array-of (list (tracepoint-tree tracepoint)))
                         "calls" (array-of (mapcar #'traced-tree (subseq calls start end)))
                         "next" (and (< end (length calls)) (1+ end))))))))
