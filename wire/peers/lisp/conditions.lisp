;;;; A condition as it stood: its report, its restarts, and its frames with their locals.

(in-package #:imago-peer)

(defparameter *message-limit* 4096
  "Characters of a condition's report.")

(defparameter *report-patience* 2
  "Seconds that reports, which are the user's code, may take.")

(defparameter *most-restarts* 30
  "Restarts that are told.")

(defun call-contained (function otherwise)
  "The values of FUNCTION, which calls code of the user's when nothing of the user's is evaluated
any more: however that leaves, by an error, a restart, a throw, or the end of its stack or thread,
it is only this that ends. Then the values of OTHERWISE, a function of the condition, if there was
one. Only `call-with-patience' gets past it."
  (let ((values '()) (done nil) (why nil))
    (block nil
      (flet ((give-up (&optional condition &rest more)
               (declare (ignore more))
               (setf why condition)
               (return)))
        (unwind-protect
             (handler-bind ((serious-condition #'give-up))
               (restart-bind ((abort #'give-up))
                 (swank/backend:call-with-debugger-hook
                  #'give-up
                  (lambda ()
                    (setf values (multiple-value-list (funcall function))
                          done t)))))
          (unless (or done (some #'first *patience*)) (return)))))
    (mend-stack)
    (if done (values-list values) (funcall otherwise why))))

(defvar *in-time* nil
  "Whether somebody sees to it already that reports end.")

(defun report-text (thing otherwise)
  "What THING, a condition or restart, reports of itself, or OTHERWISE where its report fails; and
then the condition that it failed with, if there was one."
  (call-contained
   (lambda ()
     (let ((*print-readably* nil) (*print-circle* t) (*print-escape* nil)
           (*print-length* (or *print-length* 64)) (*print-level* (or *print-level* 6)))
       (string-trim '(#\Space #\Newline)
                    (call-without-references
                     (lambda ()
                       (swank::call/truncated-output-to-string
                        *message-limit*
                        (lambda (stream) (princ thing stream))
                        "…"))))))
   (lambda (condition)
     (values otherwise condition))))

(defun reported (thing otherwise)
  "The same, or OTHERWISE where its report never ends."
  (cond ((stack-low-p) otherwise)
        (*in-time* (report-text thing otherwise))
        (t (call-with-patience *report-patience*
                               (lambda () (report-text thing otherwise))
                               (lambda () otherwise)))))

(defun reports (condition restarts)
  "The message of CONDITION, and the trees of RESTARTS."
  (flet ((texts () (list (condition-message condition) (mapcar #'restart-tree restarts))))
    (values-list (or (call-with-patience *report-patience*
                                         (lambda () (let ((*in-time* t)) (texts)))
                                         (constantly nil))
                     ;; Some of them may be had all the same.
                     (texts)))))

(defun condition-message (condition)
  (let ((otherwise (format nil "~A, whose report could not be had"
                           (condition-type-text condition))))
    (multiple-value-bind (text failure) (reported condition otherwise)
      (if failure
          (format nil "~A: it signals ~A: ~A" otherwise (condition-type-text failure)
                  (one-line (reported failure "")))
          text))))

(defun condition-type-text (condition)
  (let ((name (class-name (class-of condition))))
    (if (symbolp name) (symbol-text name) "unnamed")))

(defun restart-tree (restart)
  (object "name" (string-downcase (princ-to-string (restart-name restart)))
          "description" (one-line (reported restart ""))
          "reads" (if (restart-reader restart) t :absent)))

(defun nearest-names (condition)
  "Names like the one of which CONDITION says that nothing has it."
  (ignore-errors
   (typecase condition
     ((or unbound-variable undefined-function)
      (let ((symbol (cell-error-name condition)))
        (and symbol
             (symbolp symbol)
             (symbol-package symbol)
             (remove (symbol-text symbol) (nearest-symbols (symbol-text symbol) nil)
                     :test #'string=))))
     (package-error
      (let ((name (package-error-package condition)))
        (and (stringp name) (nearest name (all-package-names))))))))

(defvar *own-frames-alone* nil
  "Whether frames of the implementation, ASDF's among them, are only counted.")

(defun folded-p (frame)
  (and *own-frames-alone* (implementation-frame-p frame)))

(defun traceback-text (type message restarts frames omitted &key notes more)
  "The whole report as SLIME's debugger shows it, innermost frame first. RESTARTS are trees, and
FRAMES pairs of a frame and its tree. MORE is whether there are more at the outer end."
  (with-output-to-string (stream)
    (format stream "~A~%   [Condition of type ~A]~%~{~A~%~}" message type notes)
    (when restarts
      (format stream "~%Restarts:~%")
      (loop for tree in restarts
            for number from 0
            do (format stream " ~D: [~A] ~A~%" number (string-upcase (part tree "name"))
                       (part tree "description"))))
    (unless (every #'folded-p (mapcar #'first frames))
      (format stream "~%Backtrace:~%"))
    (loop for (frame . tree) in frames
          for number from 0
          do (when (and (plusp omitted) (= number *innermost-frames*))
               (format stream "  ... ~D frames are left out ...~%" omitted)
               (incf number omitted))
             (unless (folded-p frame)
               (format stream "  ~D: ~A~@[ at ~A~]~@[:~D~]~%"
                       number (one-line (call-text frame)) (part tree "file")
                       (and (part tree "file") (part tree "line")))))
    (when (and more (not *own-frames-alone*)) (format stream "  ... and more.~%"))))

(defun raised-tree (condition restarts &key (frames (stack-frames)) message cause notes)
  "`Raised' of wire/contract/values.ts, of how things stand now: CONDITION, and RESTARTS for it.
MESSAGE, if any, is told instead of the condition's own. CAUSE is the tree of what was raised
before, where this came of leaving it."
  (multiple-value-bind (told omitted) (shown-frames frames)
    (let ((*file-texts* (list '())))
      (raised-object condition
                     (or message (condition-message condition))
                     (loop for restart in restarts
                           repeat *most-restarts*
                           collect (restart-tree restart))
                     (mapcar (lambda (frame) (cons frame (frame-tree frame))) told)
                     :omitted omitted :notes notes :cause cause))))

(defun raised-object (condition message restarts frames &key (omitted 0) more notes cause)
  "The same, of what it is made of, as `traceback-text' has it."
  (let* ((nearest (nearest-names condition))
         (notes (append notes
                        (and nearest (list (format nil "Nearest: ~{~A~^, ~}." nearest))))))
    (object "type" (type-tree (class-of condition))
            "message" message
            "frames" (array-of (reverse (mapcar #'cdr (remove-if #'folded-p frames :key #'first))))
            "frames_omitted" (+ omitted (count-if #'folded-p frames :key #'first))
            "traceback" (traceback-text (condition-type-text condition)
                                        message restarts frames omitted :notes notes :more more)
            "notes" (if notes (array-of notes) :absent)
            "restarts" (array-of restarts)
            "cause" (if cause (object "how" "context" "exception" cause) :absent))))
