;;;; What is in force for the next evaluation: the package, the readtable, and what a listener
;;;; keeps.

(in-package #:imago-peer)

(defparameter *listener-variables* '(* ** *** + ++ +++ / // /// -))

(define-session-variable *listener-values* (mapcar (constantly nil) *listener-variables*)
  "Ours: those of a person's own listener stay as they are.")

(defun package-asked-for (name)
  "The package of that NAME, for evaluating in it."
  (or (package-or-nil name)
      (refuse "not_found" (format nil "There is no package ~A." name)
              :what name
              :nearest (nearest name (all-package-names))
              :next "What defines it has to be loaded first: load_file or load_system.")))

(defun package-in-force ()
  "Ours, unless somebody has deleted it."
  (if (package-name *listener-package*)
      *listener-package*
      (setf *listener-package* (find-package "COMMON-LISP-USER"))))

(defun call-in-listener (package function)
  "The values of FUNCTION, with our package and readtable in force, or the package of that name.
What it makes of them, and of the variables of a listener, is kept; what others make of them while
it is suspended stays."
  (let* ((*package* (if package (package-asked-for package) (package-in-force)))
         (*readtable* *listener-readtable*)
         (values *listener-values*)
         (begun (list *package* *readtable*)))
    (progv *listener-variables* values
      (unwind-protect (funcall function)
        (unless (eq *readtable* (second begun)) (setf *listener-readtable* *readtable*))
        (keep-listener-values values (mapcar #'symbol-value *listener-variables*))
        (unless (or package (eq *package* (first begun))) (setf *listener-package* *package*))
        (package-in-force)))))

(defun keep-listener-values (before after)
  "Has AFTER be kept, of an evaluation that began with BEFORE; behind what it came to, what others
have come to since."
  (cond ((eq before *listener-values*) (setf *listener-values* after))
        ((not (every #'eq before after))
         (destructuring-bind (value value-2 value-3 form form-2 form-3 list list-2 list-3 now)
             *listener-values*
           (declare (ignore value-3 form-3 list-3 now))
           (setf *listener-values*
                 (list (nth 0 after) value value-2
                       (nth 3 after) form form-2
                       (nth 6 after) list list-2
                       (nth 9 after)))))))

(defun standard-readtable ()
  "As the image has it when it starts: ECL reads scripts, whose first line begins with #!."
  (let ((readtable (copy-readtable nil)))
    #+ecl (set-dispatch-macro-character #\# #\! 'si::sharp-!-reader readtable)
    readtable))

(defun readtable-text (readtable)
  "`standard', or in what READTABLE differs from that."
  (let* ((standard (load-time-value (standard-readtable)))
         (changed (loop for code from 33 below 127
                        for char = (code-char code)
                        ;; That of # is another function in each readtable.
                        unless (or (char= char #\#)
                                   (eq (get-macro-character char readtable)
                                       (get-macro-character char standard)))
                          collect (string char)))
         (sharp (ignore-errors
                 (loop for code from 33 below 127
                       for char = (code-char code)
                       unless (or (digit-char-p char)
                                  (eq (get-dispatch-macro-character #\# char readtable)
                                      (get-dispatch-macro-character #\# char standard)))
                         collect (format nil "#~C" char))))
         (case (readtable-case readtable))
         (all (append changed sharp
                      (unless (eq case :upcase)
                        (list "case" (string-downcase (symbol-name case)))))))
    ;; The printer would ask the user's own dispatch.
    (with-output-to-string (stream)
      (write-string (if all "with" "standard") stream)
      (dolist (text all)
        (write-char #\Space stream)
        (write-string text stream)))))

(defun in-force ()
  "What the next evaluation is read in, as keys and values."
  (list "package" (package-name (package-in-force))
        "readtable" (readtable-text *listener-readtable*)))

(defun in-force-since (before)
  "The same, and which of it is not as it was BEFORE."
  (let* ((now (in-force))
         (changed (loop for (key value) on now by #'cddr
                        unless (equal value (argument key before)) collect key)))
    (append now (list "changed" (if changed (array-of changed) :absent)))))
