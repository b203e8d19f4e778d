;;;; Tracepoints: the next calls of a function, taken down as they happen.
;;;;
;;;; Each is an encapsulation of SBCL's, whose type is a symbol of its own: not among those of
;;;; TRACE, of SLIME's trace dialog, or of a profiler. While any is in the program a thread of ours
;;;; waits for the first end of one, and for the end of the connection, with which all end.

(in-package #:imago-peer)

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
  (with-tracepoints
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
  (with-tracepoints
    (when (eq (tracepoint-state tracepoint) 'on)
      (setf (tracepoint-state tracepoint) state)))
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

(defun end-tracing-at (name)
  "Has the call of that NAME end all tracepoints first."
  (let ((function (gethash name *calls*)))
    (setf (gethash name *calls*)
          (lambda (arguments)
            (end-all-tracepoints)
            (funcall function arguments)))))

(end-tracing-at "leave")

;;; The thread

(defun ensure-tracer ()
  "Begins the thread that waits for ends, over the connection of this thread, unless it runs. Takes
the lock, which whoever calls may hold."
  (with-tracepoints
    (unless *tracer*
      (let ((stream (swank::connection.socket-io swank::*emacs-connection*)))
        (setf *tracer* (begin-thread "imago: tracepoints"
                                     (lambda () (watch-tracepoints stream))))))))

(defun watch-tracepoints (stream)
  "Ends tracepoints in their time, and all of them once STREAM, that of the connection, is closed.
Returns when none is in the program."
  (loop
    (unless (open-stream-p stream) (end-all-tracepoints))
    (let ((next (end-late)))
      (take-out-ended)
      (with-tracepoints
        (unless (some (lambda (tracepoint) (tracepoint-inside tracepoint)) *tracepoints*)
          (setf *tracer* nil)
          (return)))
      (native ("SB-THREAD" "WAIT-ON-SEMAPHORE")
              *tracer-bell* :timeout (min 1/4 (/ (or next 250000) 1000000))))))

;;; Trees

(defun time-text (microseconds)
  "RFC 3339, in UTC, of a time by `microseconds'."
  (multiple-value-bind (seconds rest) (floor microseconds 1000000)
    (multiple-value-bind (second minute hour day month year)
        (decode-universal-time (+ seconds 2208988800) 0)
      (format nil "~4,'0D-~2,'0D-~2,'0DT~2,'0D:~2,'0D:~2,'0D.~3,'0DZ"
              year month day hour minute second (floor rest 1000)))))

(defun tracepoint-tree (tracepoint)
  "`Tracepoint' of wire/contract/tracepoints.ts."
  (let ((on (eq (tracepoint-state tracepoint) 'on)))
    (object "id" (tracepoint-id tracepoint)
            "name" (function-name-text (tracepoint-name tracepoint))
            "who" (tracepoint-who tracepoint)
            "state" (wire-name (tracepoint-state tracepoint))
            "by" "an encapsulation"
            "wanted" (tracepoint-wanted tracepoint)
            "seen" (tracepoint-seen tracepoint)
            "at" (time-text (tracepoint-at tracepoint))
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
  "`TracedCall' of wire/contract/tracepoints.ts."
  (object "number" (traced-number traced)
          "at" (time-text (traced-at traced))
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

#+sb-thread
(define-call "trace" (name package calls expires-ms who)
  (check-count "calls" calls *most-traced-of-one*)
  (check-count "expires_ms" expires-ms *longest-trace-ms*)
  (take-out-ended)
  (multiple-value-bind (function note) (named-function (subject name package) name)
    (check-traceable function)
    (let ((notes (append (and note (list note)) (unseen-calls function))))
      (with-tracepoints
        (make-room-for-traced calls)
        (let ((tracepoint (new-tracepoint function notes calls expires-ms who)))
          (setf *tracepoints* (append *tracepoints* (list tracepoint)))
          (put-in tracepoint)
          (ensure-tracer)
          (wake-tracer)
          (found (tracepoint-tree tracepoint)))))))

#+sb-thread
(define-call "untrace" (tracepoint)
  (let ((tracepoint (tracepoint-named tracepoint)))
    (end-tracepoint tracepoint 'removed)
    (found (tracepoint-tree tracepoint))))

#+sb-thread
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
