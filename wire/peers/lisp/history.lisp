;;;; What was evaluated in this image: by us, and by others.

(in-package #:imago-peer)

(defparameter *most-records* 200
  "Evaluations that are remembered.")

(defparameter *record-limit* 2000
  "Characters of source that are remembered of one.")

(define-session-variable *records* '()
  "The newest first.")

(define-session-variable *record-count* 0
  "How many there were over this connection.")

(define-session-variable *last-error* nil
  "A list of what was raised last, a tree; who asked, the call, and when.")

(defun time-text (universal-time &optional milliseconds)
  "RFC 3339, in UTC."
  (multiple-value-bind (second minute hour day month year) (decode-universal-time universal-time 0)
    (format nil "~4,'0D-~2,'0D-~2,'0DT~2,'0D:~2,'0D:~2,'0D~@[.~3,'0D~]Z"
            year month day hour minute second milliseconds)))

(defun now ()
  (time-text (get-universal-time)))

(defun work-text (arguments)
  "What ARGUMENTS ask for, as a person would read it."
  (or (argument "source" arguments)
      (format nil "~A~@[ ~A~]" (argument "work" arguments)
              (loop for key in '("file" "module" "system" "target" "suspension")
                    thereis (argument key arguments)))))

(defun cut-source (source limit)
  (if (> (length source) limit) (subseq source 0 limit) source))

(defun begin-record (arguments)
  "Has it remembered that ARGUMENTS were asked for."
  (note-events)
  (let* ((source (work-text arguments))
         (file (argument "file" arguments))
         (record (make-record (incf *record-count*)
                            (or (argument "who" arguments) "")
                            (argument "call" arguments)
                            ;; One character more, which tells that there was more.
                            (cut-source source (1+ *record-limit*))
                            (and file (list file (argument "line" arguments)))
                            "running" nil (now) nil)))
    (push record *records*)
    (when (> (length *records*) *most-records*)
      (setf *records* (subseq *records* 0 *most-records*)))
    record))

(defun part (tree &rest keys)
  "What is found in TREE, of objects, under KEYS, one after the other."
  (dolist (key keys tree)
    (setf tree (and (consp tree) (argument key (rest tree))))))

(defun drop-record (record)
  "Has nothing remembered of RECORD, which came to nothing that was evaluated."
  (setf *records* (remove record *records*))
  (when (= (record-number record) *record-count*) (decf *record-count*)))

(defun end-record (record outcome tree)
  "Has it remembered what RECORD came to: TREE, an `Evaluated'."
  (if (string= outcome "refused")
      (drop-record record)
      (keep-outcome record outcome tree)))

(defun keep-outcome (record outcome tree)
  (setf (record-outcome record) outcome
        (record-elapsed record) (part tree "elapsed_ms")
        (record-result record)
        (if (string= outcome "done")
            (let ((first (second (part tree "values"))))
              (and first (one-line (part first "repr" "text"))))
            (one-line (part tree "exception" "message"))))
  (when (member outcome '("raised" "suspended") :test #'string=)
    (setf *last-error* (list (part tree "exception") (record-who record) (record-call record)
                             (now)))))

(defun record-tree (record)
  "RECORD as `RunHistoryEntry' of wire/contract/inspection.ts."
  (let* ((source (record-source record)) (place (record-place record)))
    (object "number" (record-number record)
            "who" (record-who record)
            "call" (record-call record)
            "source" (cut-source source *record-limit*)
            "truncated" (truth (> (length source) *record-limit*))
            "place" (and place (object "file" (first place) "line" (second place)))
            "outcome" (record-outcome record)
            "result" (record-result record)
            "at" (record-at record)
            "elapsed_ms" (record-elapsed record))))

(define-call "history" (limit before)
  (note-events)
  (found (object "entries" (array-of
                            (loop for record in *records*
                                  when (or (null before) (< (record-number record) before))
                                    collect (record-tree record) into trees
                                    and count t into count
                                  until (eql count limit)
                                  finally (return trees)))
                 "total" *record-count*)))

(define-call "last_error" ()
  (destructuring-bind (&optional error who call at) *last-error*
    (found (object "error" error
                   "who" who
                   "call" call
                   "at" at
                   "seen" (array-of
                           (list (format nil "Errors of what was evaluated through Imago, over ~
                                              this connection, with their frames as they stood. ~
                                              Errors of other threads, and of a person's own ~
                                              listener, go to their debugger.")))))))

;;; What others evaluate in this image: people in their editors, over connections of their own.
;;; Swank keeps its last 40 events as texts. They are only read: whenever an evaluation of ours
;;; begins, and when somebody asks for the history. What was forgotten between is not known.

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
    (and begin
         ;; Of a long text Swank keeps only the beginning.
         (multiple-value-bind (end closed) (string-end text begin #\")
           (string-value text begin (if closed end (1+ end)))))))

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
    (with-lock (*seen-lock*) (call-undisturbed #'note-fresh-events))))

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
