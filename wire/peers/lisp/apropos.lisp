;;;; Names of the whole image and of one package, a page at a time.

(in-package #:imago-peer)

;;; The variables and functions of a package, a page at a time.

(defun global-type (symbol)
  "What `globals' says of SYMBOL: the type of its value, or what kind of function it is."
  (let ((roles (roles symbol)))
    (cdr (or (find-if (lambda (role) (callable-kind-p (car role))) roles)
             (find-if (lambda (role) (named-kind-p (car role) "variable" "constant" "keyword"))
                      roles)
             '(nil . "unbound")))))

(defun global-p (symbol)
  (or (boundp symbol) (fboundp symbol) (symbol-macro-p symbol) (fboundp `(setf ,symbol))))

(defun global-symbols (package filter)
  "The symbols that are at home in PACKAGE and name a variable or a function, with FILTER in their
names."
  (let ((filter (coerce filter 'simple-string)) (found '()) (count 0))
    (declare (type fixnum count))
    (with-package-iterator (next package :internal :external)
      (loop
        (multiple-value-bind (more symbol) (next)
          (unless more (return))
          (when (zerop (logand (incf count) 1023)) (check-deadline))
          (when (and (eq (symbol-package symbol) package)
                     (contains-p filter (symbol-name symbol))
                     (global-p symbol))
            (push symbol found)))))
    found))

(defparameter *tool-packages* '("SWANK" "SLYNK" "SB-" "ASDF" "UIOP" "QL-" "QUICKLISP")
  "How the names of packages begin that come with an implementation or an editor.")

(defun program-packages ()
  "The names of the packages, but the one in force, that are neither the implementation's nor an
editor's and have variables or functions: 20 at most."
  (let ((names (loop for package in (list-all-packages)
                     unless (or (system-package-p package)
                                (own-package-p package)
                                (eq package (find-package "KEYWORD"))
                                (eq package (reading-package))
                                (some (lambda (start) (eql 0 (search start (package-name package))))
                                      *tool-packages*)
                                (null (global-symbols package "")))
                       collect (package-name package))))
    (subseq (sort names #'string<) 0 (min 20 (length names)))))

(defun module-symbols (filter)
  "Stand-ins for the packages whose names have FILTER in them."
  (loop for package in (list-all-packages)
        when (and (not (own-package-p package))
                  (contains-p (coerce filter 'simple-string)
                              (coerce (package-name package) 'simple-string)))
          collect (let ((symbol (make-symbol (package-name package))))
                    (setf (get symbol 'package) package)
                    symbol)))

(define-call "globals" (after filter modules module limit)
  (let* ((package (if module (package-named module) (reading-package)))
         (filter (or filter ""))
         (symbols (append (global-symbols package filter)
                          (and modules (module-symbols filter)))))
    (flet ((written (symbol)
             (if (get symbol 'package)
                 (format nil "~A:" (bare-text symbol))
                 (symbol-text symbol (if module nil package))))
           (named (symbol text)
             (if (and (not (get symbol 'package)) (only-setf-p symbol))
                 (format nil "(setf ~A)" text)
                 text)))
      (multiple-value-bind (page more) (page symbols (symbol-after after package) limit)
        (found (object "globals" (array-of
                                  (loop for symbol in page
                                        collect (object "name" (named symbol (written symbol))
                                                        "type_name" (if (get symbol 'package)
                                                                        "package"
                                                                        (global-type symbol)))))
                       "total" (length symbols)
                       "package" (package-name package)
                       "elsewhere" (if (and (null symbols) (null module))
                                       (array-of (program-packages))
                                       :absent)
                       "next" (if more (written (first (last page))) :absent)))))))

;;; Names in the whole image, and those of one package.

(defun known-p (symbol)
  "Whether SYMBOL stands for something that is worth a line of its own."
  (or (meaningful-p symbol) (fboundp `(setf ,symbol))))

(defun packages-below (package)
  "PACKAGE, and those whose names begin with its name and a dot or a slash."
  (let ((name (package-name package)))
    (remove-if-not (lambda (other)
                     (let ((length (length name)) (its (package-name other)))
                       (or (eq other package)
                           (and (> (length its) length)
                                (string= name its :end2 length)
                                (find (char its length) "./")))))
                   (list-all-packages))))

(defun matching-symbols (pattern packages)
  "The symbols that are at home in PACKAGES, stand for something, and have PATTERN in their names."
  (let ((pattern (coerce pattern 'simple-string)) (found '()) (count 0))
    (declare (type fixnum count))
    (dolist (package packages)
      (with-package-iterator (next package :internal :external)
        (loop
          (multiple-value-bind (more symbol) (next)
            (unless more (return))
            (when (zerop (logand (incf count) 1023)) (check-deadline))
            (when (and (eq (symbol-package symbol) package)
                       (contains-p pattern (symbol-name symbol))
                       (known-p symbol))
              (push symbol found))))))
    found))

(define-call "apropos" (pattern module after limit)
  (let* ((packages (if module
                       (packages-below (package-named module))
                       (remove-if #'own-package-p
                                  (remove (find-package "KEYWORD") (list-all-packages)))))
         (symbols (matching-symbols pattern packages)))
    (multiple-value-bind (page more) (page symbols (symbol-after after) limit)
      (found (object "matches" (array-of
                                (loop for symbol in page
                                      for tree = (thing-tree symbol (symbol-text symbol))
                                      collect (apply #'object tree)))
                     "total" (length symbols)
                     "searched" (length packages)
                     "next" (if more (symbol-text (first (last page))) :absent))))))

;;; One package

(defun present-symbols (package internal filter)
  "The external symbols of PACKAGE, or with INTERNAL all that are present in it and stand for
something, that have FILTER in their names."
  (let ((filter (coerce filter 'simple-string)) (found '()) (count 0))
    (if internal
        (with-package-iterator (next package :internal :external)
          (loop
            (multiple-value-bind (more symbol status) (next)
              (unless more (return))
              (when (zerop (mod (incf count) 1000)) (check-deadline))
              (when (and (contains-p filter (symbol-name symbol))
                         (or (eq status :external) (known-p symbol)))
                (push symbol found)))))
        (do-external-symbols (symbol package)
          (when (zerop (mod (incf count) 1000)) (check-deadline))
          (when (contains-p filter (symbol-name symbol)) (push symbol found))))
    (remove-duplicates-of found)))

(defun external-p (symbol package)
  (eq (nth-value 1 (find-symbol (symbol-name symbol) package)) :external))

(defun remove-duplicates-of (symbols)
  (let ((seen (make-hash-table :test 'eq)))
    (loop for symbol in symbols
          for count from 1
          when (zerop (mod count 1000)) do (check-deadline)
          unless (gethash symbol seen)
            do (setf (gethash symbol seen) t)
            and collect symbol)))

(define-call "symbols" (module internal filter after limit)
  (with-file-texts
    (let* ((package (package-named module))
           (symbols (present-symbols package internal (or filter ""))))
      (flet ((written (symbol) (symbol-text symbol package)))
        (multiple-value-bind (page more) (page symbols (symbol-after after package) limit)
          (found (object "module" (package-name package)
                         "file" (getf (locate (package-entry package)) 'file)
                         "doc" (package-doc package)
                         "symbols" (array-of
                                    (loop for symbol in page
                                          for exported = (truth (external-p symbol package))
                                          collect (apply #'object "exported" exported
                                                         (thing-tree symbol (written symbol)))))
                         "total" (length symbols)
                         "next" (if more (written (first (last page))) :absent))))))))
