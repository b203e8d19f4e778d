;;;; Macro forms, expanded and not run. Reading and expanding them run code all the same.

(in-package #:imago)

(defparameter *expansion-limit* 20000
  "Characters of an expansion that are told at once.")

(defun the-form (source)
  "The one form that SOURCE holds."
  (check-syntax source)
  (with-input-from-string (stream source)
    (let ((start (next-form-start source 0)))
      (when (>= start (length source))
        (error "There is no form to expand: the text holds none."))
      (let* ((form (read-next stream source start))
             (rest (next-form-start source (file-position stream))))
        (when (< rest (length source))
          (error "The text holds more than one form: the second begins at ~A. Expand one at a time."
                 (form-place source rest)))
        form))))

(defun expansion-text (form)
  "FORM as SLIME prints an expansion, under the settings that a person has made there."
  (let ((settings (native-symbol "SWANK" "*MACROEXPAND-PRINTER-BINDINGS*")))
    (flet ((text ()
             (let ((*print-readably* nil) (*print-right-margin* (or *print-right-margin* 100)))
               (with-output-to-string (stream) (write form :stream stream :pretty t)))))
      (if (and settings (boundp settings))
          (progv (mapcar #'car (symbol-value settings)) (mapcar #'cdr (symbol-value settings))
            (text))
          (text)))))

(defun expansion-tree (form expanded)
  "`Shown' of wire/contract/values.ts for what a form was expanded to."
  (object "repr" (text-tree (expansion-text form) :limit *expansion-limit*)
          "type" (type-tree (class-of form))
          "preview" (if expanded :absent "no macro form: this is the form as it was read")))

(define-work "expand" (source fully)
  (let ((form (the-form source)))
    (multiple-value-bind (once changed) (macroexpand-1 form)
      (let* ((expansion (if fully (swank/backend:macroexpand-all form) once))
             (expanded (or changed (and fully (not (eq (same-p expansion form) t))))))
        ;; The expansion is shown as it is printed here, in place of a value.
        (values '() (list "values" (array-of (list (expansion-tree expansion expanded)))))))))
