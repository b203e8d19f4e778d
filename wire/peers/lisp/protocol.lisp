;;;; What the daemon can ask of this image, by name, and how it is answered.

(in-package #:imago-peer)

;;; Answers as JSON (RFC 8259). Only what this peer itself has made is ever written.

;;; A tree to be written is NIL for null, T for true, :FALSE, a real number, a string, (:OBJECT key
;;; value ...) with strings for keys, or (:ARRAY item ...).

(defun object (&rest keys-and-values)
  "A JSON object. A key whose value is :ABSENT is left out."
  (cons :object keys-and-values))

(defun array-of (items)
  "A JSON array of the list ITEMS."
  (cons :array items))

(defun truth (value)
  "VALUE as JSON's true or false."
  (if value t :false))

(defun write-escape (char stream)
  "Writes CHAR in a way in which it may stand in a JSON string. Surrogates, which only some Lisps
have as characters, become U+FFFD."
  (case char
    (#\" (write-string "\\\"" stream))
    (#\\ (write-string "\\\\" stream))
    (#\Newline (write-string "\\n" stream))
    (t (let ((code (char-code char)))
         (if (< code 32)
             (format stream "\\u~4,'0X" code)
             (write-char (code-char #xFFFD) stream))))))

(defun write-json-string (string stream)
  "Writes STRING with quotes, in runs that need no escape."
  (let* ((text (if (typep string '(simple-array character (*)))
                   string
                   (coerce string '(simple-array character (*)))))
         (start 0))
    (declare (type (simple-array character (*)) text) (type fixnum start))
    (write-char #\" stream)
    (dotimes (index (length text))
      (let* ((char (schar text index)) (code (char-code char)))
        (when (or (< code 32) (char= char #\") (char= char #\\) (<= #xD800 code #xDFFF))
          (write-string text stream :start start :end index)
          (write-escape char stream)
          (setf start (1+ index)))))
    (write-string text stream :start start)
    (write-char #\" stream)))

(defun write-json-number (number stream)
  "Writes NUMBER; what is no integer, to three decimals."
  (if (integerp number)
      (format stream "~D" number)
      (multiple-value-bind (whole rest) (truncate (round (* 1000 (abs number))) 1000)
        (format stream "~:[~;-~]~D.~3,'0D" (minusp number) whole rest))))

(defun write-json (tree stream)
  "Writes TREE to STREAM."
  (cond ((null tree) (write-string "null" stream))
        ((eq tree t) (write-string "true" stream))
        ((eq tree :false) (write-string "false" stream))
        ((stringp tree) (write-json-string tree stream))
        ((realp tree) (write-json-number tree stream))
        ((eq (first tree) :array)
         (write-char #\[ stream)
         (loop for (item . more) on (rest tree)
               do (write-json item stream)
                  (when more (write-char #\, stream)))
         (write-char #\] stream))
        ((eq (first tree) :object)
         (write-char #\{ stream)
         (let ((first t))
           (loop for (key value) on (rest tree) by #'cddr
                 unless (eq value :absent)
                   do (if first (setf first nil) (write-char #\, stream))
                      (write-json-string key stream)
                      (write-char #\: stream)
                      (write-json value stream)))
         (write-char #\} stream))))

(defun json (tree)
  "TREE as a string."
  (with-standard-io-syntax
    (with-output-to-string (stream) (write-json tree stream))))

;;; What the daemon can ask of this image, by name, and how an answer ends early.

(defparameter *calls* (make-hash-table :test 'equal)
  "Functions by the name under which they are asked for; each takes a property list with strings for
keys.")

(defvar *deadline* nil
  "When a look has to have ended, in internal real time; NIL where there is no such moment.")

(eval-when (:compile-toplevel :load-toplevel :execute)
  (defun wire-name (symbol)
    "FRAMES-OMITTED as it is written in a message: frames_omitted."
    (substitute #\_ #\- (string-downcase (symbol-name symbol)))))

(defun argument (name arguments)
  "What ARGUMENTS has under NAME."
  (loop for (key value) on arguments by #'cddr
        when (string= key name) return value))

(defmacro define-call (name parameters &body body)
  "Defines what is done for the call NAME, a string. PARAMETERS are symbols; what is not given is
NIL. The value of BODY is a tree for `write-json'."
  (let ((arguments (gensym "ARGUMENTS")))
    `(setf (gethash ,name *calls*)
           (lambda (,arguments)
             (declare (ignorable ,arguments))
             (let ,(loop for parameter in parameters
                         collect `(,parameter (argument ,(wire-name parameter) ,arguments)))
               ,@body)))))

;;; The ways in which a look ends, as `Looked' in wire/contract/looks.ts has them. All but FOUND
;;; leave from wherever they are called.

(defun answer (tree)
  "Ends the call with TREE."
  (throw 'answer tree))

(defun found (value)
  (object "type" "found" "value" value))

(defun needs-evaluation (because)
  (answer (object "type" "needs_evaluation" "because" because)))

(defun not-found (what nearest)
  (answer (object "type" "not_found" "what" what "nearest" (array-of nearest))))

(defun malformed (control &rest arguments)
  (answer (object "type" "malformed" "message" (apply #'format nil control arguments))))

(defun stale-handle (handle because)
  (answer (object "type" "stale_handle" "handle" handle "because" because)))

(defun timed-out (milliseconds)
  (answer (object "type" "timed_out" "deadline_ms" milliseconds)))

(defvar *deadline-ms* nil
  "How long the look may take, in milliseconds.")

(defun past-deadline-p ()
  (and *deadline* (> (get-internal-real-time) *deadline*)))

(defun check-deadline ()
  "Ends a look that has taken too long. To be called in every loop over what the program made."
  (when (past-deadline-p) (timed-out *deadline-ms*)))

(defun deadline-after (milliseconds)
  (and milliseconds
       (+ (get-internal-real-time)
          (ceiling (* milliseconds internal-time-units-per-second) 1000))))

(defvar *interrupted* nil
  "Whether an interrupt has come before the user's code began, or while code of ours ran, and is to
be taken then.")

(defvar *running-user-code* nil
  "Whether what is signalled now is for the user's own handlers and debugger, and no fault of ours:
T, or :WAITING where no code of the user's runs, but other threads may send some to this one.")

(defun type-text (type)
  "TYPE, a type specifier that may hold anything, as text: names alone are printed."
  (cond ((symbolp type) (symbol-name type))
        ((consp type) (format nil "(~A ...)" (type-text (first type))))
        (t "unnamed")))

(defun fault-text (condition)
  "What went wrong, without the report of CONDITION, which may print objects of the user by code of
his."
  (format nil "~A~@[: ~A~]"
          (type-text (type-of condition))
          (ignore-errors
           (typecase condition
             (type-error (format nil "a value of type ~A is not of type ~A"
                                 (type-text (type-of (type-error-datum condition)))
                                 (type-text (type-error-expected-type condition))))
             (cell-error (type-text (cell-error-name condition)))
             (simple-condition
              (let ((control (simple-condition-format-control condition)))
                (and (stringp control) control)))))))

(defun fault-tree (name condition)
  "For a call NAME that CONDITION has ended, as a fault of ours."
  (object "fault"
          (if (typep condition 'storage-condition)
              ;; There may be no room left for more than this.
              (concatenate 'string name " failed. It has used up the stack or the memory.")
              (format nil "~A failed. ~A" name (fault-text condition)))))

(defun fault (name condition)
  (answer (fault-tree name condition)))

(defun call-undisturbed (function)
  "Calls FUNCTION with nothing in force that the user has set for reading and printing, and no
stream of his."
  (let ((nowhere (make-broadcast-stream)) (nothing (make-concatenated-stream)))
    (with-standard-io-syntax
      (let ((*print-readably* nil)
            (*print-pretty* nil)
            (*read-eval* nil)
            (*break-on-signals* nil)
            (*macroexpand-hook* 'funcall)
            (*gensym-counter* 0)
            (*standard-input* nothing)
            (*standard-output* nowhere)
            (*error-output* nowhere)
            (*trace-output* nowhere)
            (*debug-io* (make-two-way-stream nothing nowhere))
            (*query-io* (make-two-way-stream nothing nowhere))
            (*terminal-io* (make-two-way-stream nothing nowhere)))
        (funcall function)))))

(defvar *look-package* nil
  "The package that a look was asked to read its names in; it comes before the listener's.")

(defparameter *open-calls* '("evaluate")
  "Calls that run user code: it has to find what the user has set.")

(defun answer-caught (name function)
  "The value of FUNCTION, which is done for NAME, or the tree that it ends with. Nobody's debugger
is entered by what goes wrong in it."
  (catch 'answer
    (handler-bind ((serious-condition
                     (lambda (condition)
                       (unless *running-user-code* (fault name condition)))))
      (funcall function))))

(defun answer-tree (name arguments)
  "What the call NAME comes to."
  (answer-caught
   name
   (lambda ()
     (let ((function (gethash name *calls*)))
       (cond ((null function) (object "fault" (format nil "There is no call ~A." name)))
             ((member name *open-calls* :test #'string=) (funcall function arguments))
             (t (call-undisturbed
                 (lambda ()
                   (let* ((package (argument "package" arguments))
                          (*look-package* (and package (package-named package))))
                     (funcall function arguments))))))))))

(defun dispatch (name arguments)
  "Answers the call NAME with a JSON text. A fault of ours is the object {\"fault\": ...}."
  (let* ((*session* (session-of swank::*emacs-connection*))
         (*interrupted* nil)
         (*deadline-ms* (argument "deadline_ms" arguments))
         (*deadline* (deadline-after *deadline-ms*)))
    (leave-list-again)
    (note-debugger-hooks)
    (unwind-protect
         (let ((tree (answer-tree name arguments)))
           (prog1 (handler-case (json tree)
                    (serious-condition (condition) (json (fault-tree name condition))))
             ;; Swank prints a thread's name to have it as a string, and the user may have a say in
             ;; that.
             (let ((*print-pretty* nil)) (leave-no-mailbox))))
      (mend-stack))))

(defun leave-list-again ()
  "Leaves Swank's list of connections once more. Where Swank takes no lock, another connection that
was made at the same moment can have brought this one back, after itself."
  (remove-from-list swank::*emacs-connection*))

(defun leave-no-mailbox ()
  "Drops the mailbox of this thread, if it serves one call of ours and no more."
  (let ((thread (swank/backend:current-thread)))
    (when (and (swank::multithreaded-connection-p swank::*emacs-connection*)
               (equal (swank/backend:thread-name thread) "worker"))
      (forget-mailboxes (list thread)))))

;;; Threads of ours

(defmacro with-lock ((lock) &body body)
  `(swank/backend:call-with-lock-held ,lock (lambda () ,@body)))

;; A lock by itself would let interrupts in, and Swank's own, which takes a lock that it cannot take
;; twice, comes more than once.
(defmacro with-lock-uninterrupted ((lock) &body body)
  "BODY with LOCK, which may be taken in interrupts too: they wait until it has ended."
  `(without-interrupts (with-lock (,lock) ,@body)))

(define-session-variable *begun-threads* '()
  "Those that this peer has begun, of which some may have ended.")

(define-session-variable *begun-threads-lock* (swank/backend:make-lock :name "threads"))

(defun begin-thread (name function)
  "A new thread called NAME that calls FUNCTION, and that `leave' waits for."
  (with-lock-uninterrupted (*begun-threads-lock*)
    (let* ((session *session*)
           (thread (swank/backend:spawn (lambda () (with-session (session) (funcall function)))
                                        :name name)))
      (setf *begun-threads*
            (cons thread (remove-if-not #'swank/backend:thread-alive-p *begun-threads*)))
      thread)))

;;; Leaving

(define-session-variable *maker* (swank/backend:current-thread)
  "The thread on which this session was opened.")

(defun own-threads (connection)
  (remove nil (list (swank::mconn.reader-thread connection)
                    (swank::mconn.control-thread connection)
                    (swank::mconn.indentation-cache-thread connection)
                    (swank::mconn.auto-flush-thread connection))))

(defun wait-for-end (threads &optional (seconds 2))
  "Waits until THREADS have ended, so many SECONDS at most."
  (loop repeat (* 100 seconds)
        while (some #'swank/backend:thread-alive-p threads)
        do (sleep 0.01)))

(defun close-quietly (connection)
  "Ends CONNECTION as Swank does, but for the line that Swank prints at the user's terminal."
  (let ((threads (own-threads connection)))
    (swank::stop-serving-requests connection)
    (wait-for-end threads)
    (ignore-errors (close (swank::connection.socket-io connection)))
    (swank::run-hook swank::*connection-closed-hook* connection)
    (forget-mailboxes (list* *maker* threads))))

(define-call "leave" ()
  (let ((connection swank::*emacs-connection*)
        (session *session*)
        (worker (swank/backend:current-thread)))
    (when (swank::multithreaded-connection-p connection)
      (swank/backend:spawn (lambda ()
                             (with-session (session)
                               (wait-for-end (cons worker (leave-all-suspended)))
                               (end-watcher)
                               (wait-for-end *begun-threads*)
                               (end-session)
                               (close-quietly connection)))
                           :name "worker")
      t)))

(defun before-leaving (function)
  "Has FUNCTION, by which threads of ours end, called first where the client leaves."
  (let ((leave (gethash "leave" *calls*)))
    (setf (gethash "leave" *calls*)
          (lambda (arguments)
            (funcall function)
            (funcall leave arguments)))))

;;; Bounded text: what is made is never longer than it may be, and says how much there was.

(defparameter *text-limit* 4096
  "Characters of one text in an answer.")

(defparameter *kept-limit* (* 256 1024)
  "Characters that are kept of a longer text, for whoever reads on.")

(defun cut (text limit)
  "TEXT, with an ellipsis for its end where it is longer than LIMIT characters."
  (if (> (length text) limit)
      (concatenate 'string (subseq text 0 (max 0 (1- limit))) "…")
      text))

(defun one-line (text &optional (limit 200))
  "TEXT on one line, LIMIT characters at most."
  (let ((blanks '(#\Space #\Newline #\Return #\Tab #\Page)))
    (flet ((blank-p (char) (member char blanks)))
      (let* ((start (or (position-if-not #'blank-p text) (length text)))
             (end (min (length text) (+ start limit 1)))
             (line (substitute-if #\Space #'blank-p (subseq text start end))))
        (if (< end (length text))
            (cut line limit)
            (cut (string-right-trim " " line) limit))))))

(defun text-tree (text &key (limit *text-limit*) (total (length text)) beginning)
  "TEXT as `Text' of wire/contract/values.ts, cut after LIMIT characters; the handle leads to all of
it. TOTAL is NIL where knowing it would have cost more than looking. BEGINNING, unless it is NIL,
stands for a TEXT that is cut."
  (let ((cut (or (null total) (> (length text) limit) (> total (length text)))))
    (object "text" (if (> (length text) limit) (or beginning (subseq text 0 limit)) text)
            "truncated" (truth cut)
            "original_len" total
            "handle" (if (> (length text) limit) (handle-for-text text) :absent))))
