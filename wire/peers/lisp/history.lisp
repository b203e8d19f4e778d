;;;; What was evaluated in this image, and the error that was signalled last.

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

(defun now ()
  "RFC 3339, in UTC."
  (multiple-value-bind (second minute hour day month year)
      (decode-universal-time (get-universal-time) 0)
    (format nil "~4,'0D-~2,'0D-~2,'0DT~2,'0D:~2,'0D:~2,'0DZ" year month day hour minute second)))

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
  "RECORD as `RunHistoryEntry' of wire/contract/activity.ts."
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
                                              listener, go to their debugger and are not ~
                                              seen.")))))))
