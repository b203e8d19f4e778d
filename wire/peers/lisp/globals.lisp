;;;; The variables and functions of a package, a page at a time.

(in-package #:imago-peer)

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
        when (contains-p (coerce filter 'simple-string)
                         (coerce (package-name package) 'simple-string))
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
