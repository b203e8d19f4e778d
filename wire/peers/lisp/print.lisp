;;;; Values as text, from what is stored in them: no `print-object', no `describe-object', no pretty printer's table.

(in-package #:imago)

(defun type-tree (class)
  "CLASS as `TypeName' of wire/contract/values.ts."
  (let* ((name (class-name class))
         (package (and name (symbolp name) (symbol-package name))))
    (object "name" (if (symbolp name) (string-downcase (symbol-name name)) "unnamed")
            "module" (and package (package-name package))
            "qualified" (if (symbolp name) (symbol-text name) "unnamed"))))

(defun static-text (value &optional (limit *text-limit*))
  "VALUE as text of about LIMIT characters at most. Runs no user code."
  (declare (ignorable limit))
  (with-standard-io-syntax
    (let ((*package* *listener-package*) (*print-case* :downcase) (*print-readably* nil))
      (typecase value
        ((or number character string symbol) (prin1-to-string value))
        (t (format nil "#<~A>" (symbol-text (class-name (class-of value)))))))))

(defun worth-a-handle-p (value)
  (not (typep value '(or number character symbol))))

(defun shown-tree (value)
  "VALUE as `Shown' of wire/contract/values.ts, with a handle where a closer look is worth it."
  (object "repr" (text-tree (static-text value))
          "type" (type-tree (class-of value))
          "handle" (if (worth-a-handle-p value) (handle-for value) :absent)))
