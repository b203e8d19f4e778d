;;;; Source text, read and evaluated form by form, as a person types it into a listener.

(in-package #:imago-peer)

(defun form-place (source start)
  "The line and column in SOURCE of what begins at START, as text."
  (let ((newline (position #\Newline source :end start :from-end t)))
    (format nil "line ~D, column ~D" (line-of source start) (- start (or newline -1)))))

(defun syntax-message (condition source start)
  "What is wrong with the form at START of SOURCE."
  (if (typep condition 'end-of-file)
      (format nil "The text ends within the form that begins at ~A." (form-place source start))
      (let* ((text (condition-message condition))
             (end (or (search (format nil "~%~%") text) (search (format nil "~%  Stream") text))))
        (format nil "The form that begins at ~A cannot be read: ~A"
                (form-place source start)
                (one-line (subseq text 0 end) 500)))))

(defun refuse-syntax (condition source start)
  "Ends the evaluation by CONDITION, which reading the form at START of SOURCE has come to."
  (leave-evaluation "raised" condition '()
                    :frames '() :message (syntax-message condition source start)))

(defun syntax-may-change-p (source end)
  "Whether code before END of SOURCE may change how the rest is read."
  (flet ((mentions (word) (search word source :end2 end :test #'char-equal)))
    (or (mentions "readtable") (mentions "macro-character") (mentions "syntax"))))

(defun check-syntax (source)
  "Signals an error if some form of SOURCE cannot be read, before any of it runs. Reads without
interning or evaluating; what that cannot tell is found out form by form."
  (let ((stream (make-string-input-stream source)) (start 0))
    (handler-case
        (let ((*read-suppress* t))
          (loop (setf start (next-form-start source (file-position stream)))
                (when (>= start (length source)) (return))
                (read stream)))
      ((or reader-error end-of-file) (condition)
        (unless (syntax-may-change-p source start)
          (refuse-syntax condition source start)))
      ;; A reader macro of the user's that was not made for this.
      (error () nil))))

(defun read-next (stream source start)
  "The next form of STREAM, whose text is SOURCE, from START on."
  (handler-bind (((or reader-error end-of-file)
                   (lambda (condition)
                     (when (eq (ignore-errors (stream-error-stream condition)) stream)
                       (refuse-syntax condition source start)))))
    (read stream)))

(defun note-values (form values)
  "Has the variables of a listener tell of FORM and its VALUES."
  (setf *** ** ** * * (first values)
        /// // // / / values
        +++ ++ ++ + + form))

(defun evaluate-source (source origin)
  "Evaluates the forms of SOURCE one after the other. The values of the last, as a list."
  (check-syntax source)
  (let ((values '())
        ;; On the heap: a condition does not keep a stream that ends with its frame.
        (stream (make-string-input-stream source)))
    (loop (let ((start (next-form-start source (file-position stream))))
            (when (>= start (length source)) (return values))
            (setf - (read-next stream source start))
            ;; The reader also takes the white space that ends a form.
            (let ((text (string-right-trim '(#\Space #\Newline #\Tab #\Return)
                                           (subseq source start (file-position stream)))))
              (setf values (multiple-value-list
                            (evaluate-placed - text (origin-at origin source start))))
              (note-values - values))))))

(define-work "source" (source file line)
  (evaluate-source source (origin-of source file line)))
