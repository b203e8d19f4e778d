;;;; Values as answers have them: their types, their text, and a handle that leads back to them.

(in-package #:imago-peer)

(defun type-label (class)
  "The name of CLASS as it is written in the package in force."
  (let ((name (type-name class)))
    (if name (symbol-label name *listener-package*) "unnamed")))

(defun type-name (class)
  "The name of CLASS; for a class that the implementation makes up for a special kind of array or
number, that of the standard one which is nearest."
  (if (eq (class-label (class-of class)) 'built-in-class)
      (or (find-if #'standard-name-p (ancestor-names class)) (class-label class))
      (class-label class)))

(defun standard-name-p (name)
  (and name (eq (symbol-package name) (find-package "COMMON-LISP")) (not (eq name t))))

(defun type-tree (class)
  "CLASS as `TypeName' of wire/contract/values.ts."
  (let* ((name (type-name class))
         (package (and name (symbol-package name))))
    (object "name" (if name (token-text (symbol-name name)) "unnamed")
            "module" (and package (package-name package))
            "qualified" (if name (symbol-text name) "unnamed"))))

(defun static-tree (value)
  "The static text of VALUE as `Text' of wire/contract/values.ts; the handle leads on where the text
ends for its length."
  (multiple-value-bind (text elided) (static-text value)
    (object "text" text
            "truncated" (truth elided)
            "original_len" (if elided nil (length text))
            "handle" (if (>= (length text) *text-limit*) (handle-for-static-text value) :absent))))

(defun worth-a-handle-p (value)
  "Whether there is more to VALUE than its text: all but numbers, characters, symbols, short
strings."
  (typecase value
    ((or number character symbol) nil)
    (string (> (length value) 200))
    (t t)))

(defun preview (value)
  "A line about VALUE where its text says too little; else :ABSENT."
  (if (and (vectorp value) (not (stringp value)) (> (length value) *most-items*))
      (concatenate 'string "len " (integer-text (length value)))
      :absent))

(defun shown-tree (value)
  "VALUE as `Shown' of wire/contract/values.ts, with a handle where a closer look is worth it."
  (object "repr" (static-tree value)
          "type" (type-tree (class-of value))
          "handle" (if (worth-a-handle-p value) (handle-for value) :absent)
          "preview" (preview value)))
