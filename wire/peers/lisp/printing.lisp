;;;; Values as their own printers show them, for what an evaluation came to: the `print-object'
;;;; methods of the program run, for a bounded time and text. Everything else is written as
;;;; `print.lisp' does.

(in-package #:imago-peer)

(defparameter *printing-patience* 2
  "Seconds that the printers of all values of one evaluation may take.")

(defparameter *most-values* 100
  "Values that are shown one by one: an answer that is too long for Swank would end the
connection.")

(defun printed-classes ()
  "What `print-object' methods of the program and its libraries are for: classes, and lists of one
object."
  (loop for method in (methods-stored #'print-object)
        for specializer = (first #+sbcl (stored-slot method "SPECIALIZERS")
                                 #-sbcl (swank-mop:method-specializers method))
        for class-p = (is-a-p specializer 'class)
        unless (and class-p (of-the-implementation-p specializer))
          collect (if class-p specializer (list (stored-slot specializer "OBJECT")))))

(defun printer-p (value classes)
  "Whether the program has a printer for VALUE, by CLASSES as `printed-classes' has them."
  (and classes
       (let ((ancestors (ancestors (class-of value))))
         (loop for class in classes
               thereis (if (consp class) (eql value (first class)) (member class ancestors))))))

(defun call-as-at-top-level (function)
  "Calls FUNCTION with the printer as the listener has it, whatever this thread has bound. What it
prints elsewhere is for nobody."
  (let* ((nowhere (make-two-way-stream (make-concatenated-stream) (make-broadcast-stream)))
         (*standard-output* nowhere)
         (*error-output* nowhere)
         (*trace-output* nowhere)
         (*standard-input* nowhere)
         (*query-io* nowhere)
         (*debug-io* nowhere)
         (*terminal-io* nowhere)
         (*package* *listener-package*)
         (*readtable* *listener-readtable*)
         (*print-case* :downcase)
         ;; What looks for circles prints everything once to nowhere, and that may never end.
         (*print-circle* nil)
         (*print-readably* nil)
         (*print-escape* t)
         (*print-length* (or *print-length* *most-items*))
         (*print-level* (or *print-level* *deepest*))
         (*break-on-signals* nil))
    (funcall function)))

(defun own-text (value limit)
  "What the printer of VALUE says, LIMIT characters at most; or NIL and why it failed."
  (call-contained
   (lambda ()
     (call-as-at-top-level
      (lambda ()
        (swank::call/truncated-output-to-string
         (max 1 limit)
         (lambda (stream) (prin1 value stream))
         "…"))))
   (lambda (condition)
     (values nil (if condition
                     (static-text condition 300)
                     "it was left by a restart or a throw")))))

(defun printed-text (value &optional (seconds *printing-patience*))
  "VALUE as its own printer has it: the text, whether something was left out, and why the printer
was not used, or NIL."
  (let ((classes 'unknown) (found nil))
    (flet ((own-p (part)
             (when (eq classes 'unknown) (setf classes (printed-classes)))
             (printer-p part classes)))
      ;; Most values have nothing of the program's in them, and need nobody who watches the clock.
      (multiple-value-bind (text elided)
          (static-text value *kept-limit* most-positive-fixnum
                       (lambda (part)
                         (setf found (or found (own-p part)))
                         nil))
        (cond ((not found) (values text elided nil))
              ((plusp seconds) (text-in-time value seconds #'own-p (list text elided)))
              (t (values text elided "Others' printers took all the time.")))))))

(defun text-in-time (value seconds own-p static)
  "As `printed-text'; what OWN-P holds for is written by its own printer, in so many SECONDS at
most. STATIC is the text and whether it was left out, for when they are over."
  (let ((failed nil))
    (flet ((put-own (part)
             (and (funcall own-p part)
                  (multiple-value-bind (text why)
                      (own-text part (- (page-limit) (fill-pointer (page-text))))
                    (cond (text (put text) t)
                          (t (setf failed (or failed (printer-failed part why)))
                             nil))))))
      (apply #'values
             (call-with-patience
              seconds
              (lambda ()
                (multiple-value-bind (text elided)
                    (static-text value *kept-limit* most-positive-fixnum #'put-own)
                  (list text elided failed)))
              (lambda ()
                (append static (list (format nil "Its printer took longer than ~A s."
                                             (number-text seconds))))))))))

(defun printer-failed (value why)
  (format nil "The printer of ~A failed: ~A." (type-label (class-of value)) why))

(defun printed-tree (value &optional (seconds *printing-patience*))
  "What the printer of VALUE says as `Text' of wire/contract/values.ts."
  (multiple-value-bind (text elided failed) (printed-text value seconds)
    (append (text-tree text :total (if elided nil (length text)))
            (list "error" (or failed :absent)))))

(defun printed-shown-tree (value &optional (seconds *printing-patience*) (preview (preview value)))
  "VALUE, which an evaluation came to, as `Shown' of wire/contract/values.ts: by its own printer."
  (object "repr" (call-contained (lambda () (printed-tree value seconds))
                                 (lambda (condition) (unshown-tree value condition)))
          "type" (type-tree (class-of value))
          "handle" (if (worth-a-handle-p value) (handle-for value) :absent)
          "preview" preview))

(defun unshown-tree (value condition)
  "`Text' for VALUE, of which not even the static text could be had for CONDITION."
  (append (text-tree (format nil "#<~A>" (type-label (class-of value))))
          (list "error" (format nil "It could not be shown: ~A."
                                (if condition (static-text condition 300) "that was left")))))

(defun shown-values (values)
  "The trees of VALUES, which an evaluation came to. Where they are too many, the last is for the
list of all that are left."
  (let ((end (+ (get-internal-real-time)
                (* *printing-patience* internal-time-units-per-second)))
        (left (nthcdr *most-values* values)))
    (flet ((seconds ()
             (max 0 (/ (- end (get-internal-real-time)) internal-time-units-per-second))))
      (append (loop for value in (ldiff values left)
                    collect (printed-shown-tree value (seconds)))
              (and left
                   (list (printed-shown-tree
                          left (seconds)
                          (format nil "a list of the ~D values that are left"
                                  (length left)))))))))
