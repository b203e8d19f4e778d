;;;; Loaded into an image of a test before anybody connects: knows what has changed in all of it since.

(defpackage #:witness
  (:use #:cl)
  (:export #:look #:changes #:facts))

(in-package #:witness)

(defvar *symbols* (make-hash-table :test 'eq :size 200000)
  "Of every symbol in any package, what it stands for.")

(defun contents (value)
  "What can change in VALUE while it stays the same object."
  (typecase value
    (cons (if (ignore-errors (list-length value)) (copy-list value) (list (car value) (cdr value))))
    (hash-table (list (hash-table-count value)))))

(defun global-value (symbol)
  (if (ignore-errors (boundp symbol))
      (handler-case (sb-ext:symbol-global-value symbol) (error () '#:unbound))
      '#:unbound))

(defun stands-for (symbol)
  "What SYMBOL stands for, by aspect."
  (let ((value (global-value symbol)))
    (list :function (cond ((special-operator-p symbol) nil)
                          ((macro-function symbol))
                          ((fboundp symbol) (fdefinition symbol)))
          :class (find-class symbol nil)
          ;; Of a list it matters what is in it.
          :value (cond ((consp value) :list)
                       ((and value (symbolp value) (null (symbol-package value))) (symbol-name value))
                       (t value))
          :contents (contents value)
          :plist (copy-list (symbol-plist symbol))
          :home (symbol-package symbol))))

(defun differing-aspects (one other)
  "The names of aspects in which they differ. Numbers and texts are compared by value, all else by identity."
  (loop for (aspect first) on one by #'cddr
        for second = (getf other aspect)
        unless (if (member aspect '(:contents :plist))
                   (and (= (length first) (length second)) (every #'same-p first second))
                   (same-p first second))
          collect aspect))

(defun same-p (one other)
  (or (eql one other)
      (and (stringp one) (stringp other) (string= one other))))

(defun all-symbols ()
  (let ((symbols (make-hash-table :test 'eq :size 200000)))
    (dolist (package (list-all-packages))
      (do-symbols (symbol package) (setf (gethash symbol symbols) t)))
    (loop for symbol being the hash-keys of symbols
          unless (eq (symbol-package symbol) (find-package "WITNESS"))
            collect symbol)))

(defun look ()
  "Remembers all there is."
  (clrhash *symbols*)
  (dolist (symbol (all-symbols)) (setf (gethash symbol *symbols*) (stands-for symbol)))
  (hash-table-count *symbols*))

(defun changes ()
  "What differs from when it was looked at, as names with aspects."
  (with-standard-io-syntax
    (let ((*print-readably* nil) (*package* (find-package "KEYWORD")))
      (loop for symbol in (all-symbols)
            for before = (gethash symbol *symbols*)
            for aspects = (if before (differing-aspects before (stands-for symbol)) '(:new))
            when aspects
              collect (format nil "~S~{ ~(~A~)~}" symbol aspects)))))

(defun facts ()
  "What is not the affair of any symbol, as lines."
  (with-standard-io-syntax
    (let ((*print-readably* nil) (*package* (find-package "KEYWORD")))
      (append
       (sort (mapcar #'package-name (list-all-packages)) #'string<)
       (loop for package in (list-all-packages)
             collect (let ((count 0))
                       (do-symbols (symbol package) (incf count))
                       (format nil "~A has ~D symbols" (package-name package) count)))
       (loop for variable in '(*features* *modules* sb-ext:*init-hooks* sb-ext:*exit-hooks* sb-ext:*after-gc-hooks*
                               swank::*new-connection-hook* swank::*connection-closed-hook*
                               swank::*pre-reply-hook* swank::*after-init-hook*)
             collect (format nil "~S: ~S" variable (sb-ext:symbol-global-value variable)))
       (list (format nil "~D connections" (length swank::*connections*))
             (format nil "traced: ~S" (trace)))))))
