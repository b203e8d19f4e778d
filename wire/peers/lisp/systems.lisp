;;;; Systems of definitions, loaded by ASDF where the image has it.

(in-package #:imago-peer)

(defun call-named (name package &rest arguments)
  "What the function NAME of PACKAGE, both strings, makes of ARGUMENTS; an error where the library
is another than we know."
  (let ((symbol (internal name package)))
    (if (and symbol (fboundp symbol))
        (apply symbol arguments)
        (error "This version of ~A has no function ~A." package name))))

(defun keyword-of (name)
  "The keyword NAME of a library. Read with this file it could be none: the library may be loaded
later."
  (find-symbol name "KEYWORD"))

(defun call-asdf (name &rest arguments)
  (unless (find-package "ASDF")
    (refuse "not_found" "ASDF is not loaded in this image." :what "ASDF"
            :next "It comes with most implementations: eval_expr (require \"asdf\") loads it."))
  (apply #'call-named name "ASDF" arguments))

(defun known-systems ()
  "The names of the systems that are loaded, and of the system files that ASDF would find."
  (flet ((value (name package)
           (let ((symbol (internal name package)))
             (and symbol (boundp symbol) (symbol-value symbol)))))
    (let ((registry (value "*SOURCE-REGISTRY*" "ASDF/SOURCE-REGISTRY")))
      (remove-duplicates
       (append (call-asdf "REGISTERED-SYSTEMS")
               (when (hash-table-p registry)
                 (loop for name being the hash-keys of registry when (stringp name) collect name))
               (loop for entry in (value "*CENTRAL-REGISTRY*" "ASDF")
                     append (mapcar #'pathname-name
                                    (ignore-errors
                                     (directory (merge-pathnames "*.asd" (eval entry)))))))
       :test #'string=))))

(defun system-or-nil (name)
  "The system of that NAME, as given or in lower case."
  (or (call-asdf "FIND-SYSTEM" name nil)
      (and (string/= name (string-downcase name))
           (call-asdf "FIND-SYSTEM" (string-downcase name) nil))))

(defun system-named (name)
  "The same; the work is refused where there is none."
  (or (system-or-nil name)
      (refuse "not_found" (format nil "There is no system ~A that ASDF can find." name)
              :what name
              :nearest (nearest name (known-systems))
              :next (format nil "ASDF looks in the folders of its source registry, and in those of ~
                                 asdf:*central-registry*: add the folder of the system there."))))

(defun system-file (system)
  "The namestring of the file that defines SYSTEM, or NIL."
  (let ((path (call-asdf "SYSTEM-SOURCE-FILE" system)))
    (and path (namestring path))))

(defun load-system (system force)
  "Loads SYSTEM with what it depends on, and returns the names of the systems that were not loaded
before."
  (let ((before (call-asdf "ALREADY-LOADED-SYSTEMS"))
        (*package* *package*)
        (*readtable* *readtable*))
    (call-noting-compilation
     (lambda () (call-asdf "LOAD-SYSTEM" system (keyword-of "FORCE") force)))
    (sort (set-difference (call-asdf "ALREADY-LOADED-SYSTEMS") before :test #'equal) #'string<)))

(define-work "system" (system force)
  (let* ((system (system-named system))
         (added (load-system system force)))
    (values '()
            (list "loaded"
                  (object "module" (call-asdf "COMPONENT-NAME" system)
                          "file" (system-file system)
                          "added" (array-of (subseq added 0 (min *most-names* (length added))))
                          "replaced" (array-of '()) "kept" (array-of '()) "skipped" (array-of '())
                          "survivors" (array-of '())
                          "omitted" (max 0 (- (length added) *most-names*))
                          "complete" t)))))
