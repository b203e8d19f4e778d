;;;; What others evaluate in this image: people in their editors, over connections of their own.
;;;; Swank keeps its last 40 events as texts. They are only read: whenever an evaluation of ours
;;;; begins, and when somebody asks for the history. What was forgotten between is not known.

(in-package #:imago-peer)

(defparameter *evaluating-requests*
  '("LISTENER-EVAL" "INTERACTIVE-EVAL" "INTERACTIVE-EVAL-REGION" "EVAL-AND-GRAB-OUTPUT"
    "PPRINT-EVAL" "PPRINT-EVAL-STRING-IN-FRAME" "EVAL-STRING-IN-FRAME" "RE-EVALUATE-DEFVAR"
    "COMPILE-STRING-FOR-EMACS" "LOAD-FILE" "COMPILE-FILE-FOR-EMACS")
  "Names of the requests that run what their first text says.")

(define-session-variable *seen-events* '()
  "The texts of Swank that were read, each known by its identity.")

(define-session-variable *newest-seen* nil
  "The last of them.")

(define-session-variable *seen-lock* (swank/backend:make-lock :name "events"))

(define-session-variable *awaited* '()
  "Records that have not come to an end yet, by the number of their request.")

(defun swank-value (name)
  "The value of Swank's variable of that NAME, or NIL where it has no such."
  (let ((symbol (find-symbol name "SWANK")))
    (and symbol (boundp symbol) (symbol-value symbol))))

(defun events ()
  "Those that Swank remembers, the oldest first."
  (let ((ring (swank-value "*EVENT-HISTORY*")) (index (swank-value "*EVENT-HISTORY-INDEX*")))
    (when (and (simple-vector-p ring) (integerp index) (< index (length ring)))
      (remove-if-not #'stringp (concatenate 'list (subseq ring index) (subseq ring 0 index))))))

(defun string-token (text start)
  "The string that is written in TEXT first after START, or NIL."
  (let ((begin (position #\" text :start start)))
    (when begin
      (with-output-to-string (token)
        (loop with position = (1+ begin)
              while (< position (length text))
              do (case (char text position)
                   (#\" (return))
                   (#\\ (incf position)))
                 (when (< position (length text)) (write-char (char text position) token))
                 (incf position))))))

(defun request-number (event)
  "The last number in EVENT, which is that of its request."
  (let* ((end (position-if #'digit-char-p event :from-end t))
         (start (and end (position-if-not #'digit-char-p event :end end :from-end t))))
    (and start (parse-integer event :start (1+ start) :end (1+ end)))))

(defun event-of-p (text with)
  (eql 0 (search with text :end2 (min (length with) (length text)))))

(defun note-request (event)
  "Remembers EVENT, the request of another client, if it runs code."
  (let* ((start (length "dispatch-event: (:EMACS-REX ("))
         (end (position #\Space event :start start))
         (operator (and end (subseq event start end)))
         (name (and operator (subseq operator (1+ (or (position #\: operator :from-end t) -1)))))
         (source (and name
                      (member name *evaluating-requests* :test #'string-equal)
                      (string-token event end))))
    (when source
      (let* ((told (if (search "-FILE" name)
                       (format nil "~(~A~) ~A" name source)
                       (string-trim '(#\Newline #\Space) source)))
             (record (make-record (incf *record-count*) "another client of Swank" nil
                                  (cut-source told (1+ *record-limit*))
                                  nil "running" nil (now) nil)))
        (push record *records*)
        (push (cons (request-number event) record) *awaited*)))))

(defun note-return (event)
  "Remembers of the request that EVENT answers how it ended."
  (let* ((entry (assoc (request-number event) *awaited*)) (record (cdr entry)))
    (when entry
      (setf *awaited* (remove entry *awaited*)
            (record-outcome record) (if (search " (:ABORT" event) "left" "done")))))

(defun note-printed (event)
  "Remembers the value in EVENT, which a listener prints."
  (let ((entry (first *awaited*)))
    (when (and entry (search ":REPL-RESULT" event))
      (setf (record-result (cdr entry)) (one-line (or (string-token event 0) ""))))))

(defun newest-event ()
  "The text that Swank has remembered last, or NIL."
  (let ((ring (swank-value "*EVENT-HISTORY*")) (index (swank-value "*EVENT-HISTORY-INDEX*")))
    (when (and (simple-vector-p ring) (integerp index) (<= index (length ring)))
      (svref ring (mod (1- index) (length ring))))))

(defun note-events ()
  "Remembers what others have evaluated since this was called last. What was before this connection
is not ours to tell."
  (unless (eq (newest-event) *newest-seen*)
    (swank/backend:call-with-lock-held *seen-lock*
                                       (lambda () (call-undisturbed #'note-fresh-events)))))

(defun note-fresh-events ()
  "Remembers the events of Swank that were not read before, oldest first: requests, their ends, and
what listeners printed. Called with the lock held."
  (let* ((events (events)) (fresh (set-difference events *seen-events* :test #'eq)))
    (dolist (event events)
      (when (member event fresh :test #'eq)
        (cond ((event-of-p event "dispatch-event: (:EMACS-REX (") (note-request event))
              ((event-of-p event "dispatch-event: (:RETURN ") (note-return event))
              ((event-of-p event "dispatch-event: (:WRITE-STRING ") (note-printed event)))))
    (setf *seen-events* events
          *newest-seen* (first (last events)))
    (when (nthcdr 40 *awaited*) (setf *awaited* (subseq *awaited* 0 40)))))

(defun note-present-events ()
  "Takes the events that Swank remembers now for read."
  (setf *seen-events* (events)
        *newest-seen* (newest-event)))
