;;;; Who calls, binds, sets, expands or specializes a name.

(in-package #:imago-peer)

;;; References are trees as `Reference' of wire/contract/names.ts. What is asked for are
;;; relations, as strings.

(defparameter *relations* '("calls" "macroexpands" "references" "binds" "sets" "specializes")
  "The relations that code has to a name; `uses' means all of them.")

(defun reference-tree (relation from file line)
  (object "kind" relation "from" from "file" file "line" line))

;;; Code, as the compiler has written down what it refers to

(defun user-text (name)
  "The name of a piece of compiled code as people write it."
  (typecase name
    (symbol (symbol-text name))
    (cons (cond ((and (symbolp (first name))
                      (member (symbol-name (first name)) '("FAST-METHOD" "SLOW-METHOD" "METHOD")
                              :test #'string=))
                 (form-line (cons 'method (rest name)) 200 nil))
                ((and (symbolp (first name)) (string= (symbol-name (first name)) "MACRO-FUNCTION"))
                 (format nil "~A (a macro)" (form-line (second name) 200 nil)))
                (t (form-line name 200 nil))))
    ;; A transformation of the compiler's own.
    (t nil)))

(defun specializing-methods (class)
  "The methods that are specialized on CLASS itself, from what is stored in it."
  (let ((stored (stored class "DIRECT-METHODS" (constantly nil))))
    (remove-duplicates (if (and (consp stored) (listp (car stored)))
                           (copy-list (car stored))
                           (copy-list (swank-mop:specializer-direct-methods class))))))

;;; Variables that hold a value

(defparameter *held-depth* 3
  "How far into lists, vectors, tables and instances a value is looked for.")

(defun holds-p (value wanted depth left)
  "Whether WANTED, a list of objects, has one that can be reached from VALUE in DEPTH steps. LEFT
is a list of a count of the objects that may still be looked at."
  (check-deadline)
  (flet ((in (part) (holds-p part wanted (1- depth) left)))
    (cond ((minusp (decf (first left))) nil)
          ((member value wanted :test #'eq) t)
          ((zerop depth) nil)
          ((consp value)
           (loop for rest = value then (cdr rest)
                 while (and (consp rest) (plusp (first left)))
                   thereis (in (car rest))
                 finally (return (and rest (not (consp rest)) (in rest)))))
          ((simple-vector-p value) (some #'in value))
          ((hash-table-p value)
           (loop for key being the hash-keys of value using (hash-value held)
                   thereis (or (in key) (in held))))
          ((functionp value) (some #'in (closed-over value)))
          ((and (shape value) (not (packagep value)) (not (is-a-p value 'class)))
           (loop for (nil . held) in (fields value) thereis (in held))))))

(defun swank-package-p (package)
  "Whether PACKAGE is one of Swank's own, whose caches hold whatever has a name."
  (let ((name (package-name package)))
    (or (string= name "SWANK") (begins-p "SWANK/" name) (begins-p "SWANK-" name))))

(defun holders (wanted besides)
  "The trees of all global variables but BESIDES from whose values one of WANTED can be reached."
  (let ((trees '()) (seen (make-hash-table :test 'eq)))
    (dolist (package (list-all-packages))
      (unless (or (system-package-p package) (own-package-p package) (swank-package-p package))
        (with-package-iterator (next package :internal :external)
          (loop
            (multiple-value-bind (more symbol) (next)
              (unless more (return))
              (when (and (eq (symbol-package symbol) package)
                         (boundp symbol)
                         (not (keywordp symbol))
                         (not (eq symbol besides))
                         (not (gethash symbol seen)))
                (setf (gethash symbol seen) t)
                (multiple-value-bind (value bound) (value-of symbol)
                  (when (and bound (holds-p value wanted *held-depth* (list 10000)))
                    (push (holder-tree symbol value wanted) trees)))))))))
    (nreverse trees)))

(defun holder-tree (symbol value wanted)
  (let ((source (first (or (named-sources symbol :variable) (named-sources symbol :constant)))))
    (multiple-value-bind (file line)
        (and source (line-of-source source))
      (reference-tree "holds"
                      (if (member value wanted :test #'eq)
                          (symbol-text symbol)
                          (format nil "~A (in a ~A)" (symbol-text symbol)
                                  (if (consp value) "list" (type-word (class-of value)))))
                      file line))))

(defun held-objects (subject)
  "What a variable could hold of SUBJECT: the function, the class, the value, and the name that
they can be called by."
  (let ((thing (subject-thing subject)))
    (flet ((worth (value) (and (worth-a-handle-p value) (list value))))
      (ecase (subject-kind subject)
        (symbol (append (list thing)
                        (let ((function (function-of thing)))
                          (and function
                               (if (encapsulated-p thing)
                                   (list function (symbol-function thing))
                                   (list function))))
                        (and (find-class thing nil) (list (find-class thing)))
                        (worth (value-of thing))))
        (function (let ((function (function-of thing))) (and function (list function))))
        ((method package) (list thing))
        (value (worth thing))))))

;;; The answer

(defun relations-of (subject)
  "The relations that code can have to SUBJECT, each with what it is had to: conses."
  (let ((thing (subject-thing subject)))
    (ecase (subject-kind subject)
      (symbol (append (cond ((macro-function thing) `(("macroexpands" . ,thing)))
                            ((fboundp thing) `(("calls" . ,thing))))
                      (unless (or (fboundp thing) (find-class thing nil))
                        `(("calls" . ,thing)))
                      `(("references" . ,thing) ("binds" . ,thing) ("sets" . ,thing))
                      (and (find-class thing nil) `(("specializes" . ,(find-class thing))))))
      (function `(("calls" . ,thing)))
      (value (case (kind-of-value thing)
               (class `(("specializes" . ,thing)))
               (function (let ((name (function-name thing)))
                           (and (or (symbolp name) (consp name)) `(("calls" . ,name)))))
               (symbol (relations-of (list 'symbol thing)))))
      ((method package) '()))))

(defun requested-relations (asked)
  "The relations that are meant by ASKED, a list of strings or NIL for all."
  (cond ((or (null asked) (member "uses" asked :test #'string=))
         (append *relations*
                 (and (or (null asked) (member "holds" asked :test #'string=)) '("holds"))))
        (t asked)))

(defun searched-lines (asked name)
  "What was looked through, and what a reference could hide in that was not."
  (append
   (and (intersection asked *relations* :test #'string=)
        (searched-code name))
   (and (member "holds" asked :test #'string=)
        (list (format nil "the global variables of all packages but the implementation's and ~
                           Swank's, ~D steps into lists, vectors, hash tables, instances, ~
                           structures and closures"
                      *held-depth*)
              "not seen: what only a thread's stack holds, and what is further away"))))

(define-call "references" (name limit relations)
  (with-file-texts
    (let* ((subject (subject name))
           (thing (subject-thing subject))
           (asked (requested-relations relations))
           (trees (append (loop for (relation . target) in (relations-of subject)
                                when (member relation asked :test #'string=)
                                  append (code-references relation target))
                          (and (member "holds" asked :test #'string=)
                               (let ((wanted (held-objects subject)))
                                 (and wanted
                                      (holders wanted (and (symbolp thing) thing))))))))
      (found (object "qualified" (case (subject-kind subject)
                                   ((symbol function) (function-name-text thing))
                                   (method (method-text thing))
                                   (package (package-name thing))
                                   (t name))
                     "references" (array-of (subseq trees 0 (min limit (length trees))))
                     "total" (length trees)
                     "searched" (array-of (searched-lines asked thing))
                     "complete" t
                     "uncallable" (if (and (equal asked '("calls")) (symbolp thing))
                                      (cond ((macro-function thing) "macro")
                                            ((special-operator-p thing) "special operator")
                                            (t :absent))
                                      :absent))))))
