;;;; Macro forms, expanded and not run. Reading and expanding them run code all the same.

(in-package #:imago-peer)

(defparameter *expansion-limit* 20000
  "Characters of an expansion that are told at once.")

(defun second-form-start (source start)
  "Where in SOURCE a second form begins behind that at START, or NIL. Nothing is interned or run for
it; what that cannot tell is NIL."
  (ignore-errors
   (with-input-from-string (stream source :start start)
     (let ((*read-suppress* t)) (read stream))
     (let ((rest (next-form-start source (file-position stream))))
       (and (< rest (length source)) rest)))))

(defun the-form (source)
  "The one form that SOURCE holds; the work is refused where that is none or several."
  (check-syntax source)
  (let* ((start (next-form-start source 0))
         (second (and (< start (length source)) (second-form-start source start))))
    (cond ((>= start (length source))
           (refuse "malformed" "There is no form to expand: the text holds none."
                   :next "Give one form, such as (when a b)."))
          (second
           (refuse "malformed"
                   (format nil "The text holds more than one form: the second begins at ~A."
                           (form-place source second))
                   :next "Expand one form at a time.")))
    (with-input-from-string (stream source)
      (read-next stream source start))))

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
