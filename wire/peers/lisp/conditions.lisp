;;;; A condition as it stood: its restarts, and its frames with their locals.

(in-package #:imago)

(defparameter *frame-limit* 60
  "Frames of one stack that are told; what is more is left out of the middle.")

(defparameter *message-limit* 4096
  "Characters of a condition's report.")

(defun condition-message (condition)
  "What CONDITION reports of itself. That is user code, which may fail, too."
  (handler-case
      (let ((*print-readably* nil) (*print-circle* t) (*print-length* 64) (*print-level* 6))
        (let ((text (princ-to-string condition)))
          (if (> (length text) *message-limit*)
              (subseq text 0 *message-limit*)
              text)))
    (serious-condition ()
      (format nil "~A, whose report failed" (symbol-text (type-of condition))))))

(defun raised-tree (condition restarts frames omitted)
  "`Raised' of wire/contract/values.ts."
  (let ((message (condition-message condition)))
    (object "type" (type-tree (class-of condition))
            "message" message
            "frames" (array-of frames)
            "frames_omitted" omitted
            "traceback" message
            "restarts" (array-of (mapcar #'restart-tree restarts)))))

(defun restart-tree (restart)
  (object "name" (string-downcase (string (restart-name restart)))
          "description" (handler-case (one-line (princ-to-string restart))
                          (serious-condition () ""))))
