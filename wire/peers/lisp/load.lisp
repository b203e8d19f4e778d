;;;; Files and systems that are loaded, with what that has changed.

(in-package #:imago-peer)

;;; Some definitions of a file, found by their names in its text, and loaded each at its place.

;;; The file is gone through without being read: a symbol of another package,
;;; or code for the reader in what is not asked for, is nobody's business.

(defun form-head (text start)
  "The first token of the list at START of TEXT, in upper case and without a package, and where it
ends; NIL where there is no list."
  (when (and (< start (length text)) (char= (char text start) #\())
    (let* ((from (or (form-start text (1+ start)) (length text))) (end (token-end text from)))
      (values (bare-word (string-upcase (subseq text from end))) end))))

;;; A name is read as the reader would read it, without interning anything. It is a list of the name
;;; of a symbol, where it is at home, and whether it is that of a `setf' function. Its home is a
;;; package, the name of one that is not there yet, or :ANY where a string, a keyword or an
;;; uninterned symbol names it.

(defun quiet-parts (token)
  "As `split-name', or NIL where TOKEN is no name."
  (let ((parts nil))
    (catch 'answer
      (setf parts (split-name token)))
    parts))

(defun read-name (token package)
  "The symbol that TOKEN names, read in PACKAGE, as a list of its name and its home; or NIL."
  (cond ((= (length token) 0) nil)
        ((char= (char token 0) #\") (list (string-value token 0 (length token)) :any))
        ((begins-p "#:" token) (list (first (quiet-parts (subseq token 2))) :any))
        (t (destructuring-bind (&optional name prefix internal) (quiet-parts token)
             (declare (ignore internal))
             (cond ((null name) nil)
                   ((equal prefix "") (list name :any))
                   (t (list name (name-home name (or prefix package)))))))))

(defun name-home (name package)
  "The package at which a symbol of that NAME is at home that is read in PACKAGE, the name of one;
that name where it is not there."
  (let ((there (package-or-nil package)))
    (if there
        (let ((symbol (find-normal-symbol name there)))
          (or (and symbol (symbol-package symbol)) there))
        package)))

(defun definition-name (text start package)
  "The name that the definition at START of TEXT gives, read in PACKAGE, the name of one, and how it
is written; NIL where it gives none."
  (multiple-value-bind (head at) (form-head text start)
    (let* ((from (and head (form-start text at)))
           (tree (and from (first (words-of (subseq text from (form-end text from))))))
           (first (if (consp tree) (first tree) tree)))
      (when (stringp first)
        (if (and (consp tree) (string-equal (bare-word first) "SETF") (stringp (second tree)))
            (values (append (read-name (second tree) package) '(setf))
                    (format nil "(setf ~A)" (second tree)))
            (values (read-name first package) first))))))

(defun asked-name (written package)
  "WRITTEN, a name of a caller, as `definition-name' has it."
  (if (begins-p "(" written)
      (values (definition-name (concatenate 'string "(def " written ")") 0 package))
      (read-name written package)))

(defun same-name-p (asked name)
  "Whether ASKED, the name of a caller, is NAME, that of a definition. A string, a keyword or an
uninterned symbol is asked for by its letters."
  (and asked
       name
       (string= (first asked) (first name))
       (equal (cddr asked) (cddr name))
       (or (member :any (list (second asked) (second name))) (equal (second asked) (second name)))))

(define-record file-definition
  name written                          ; see `definition-name'
  package                               ; the name of that which it is read in
  start end                             ; in the text
  setting)                              ; where the package was set before it, the last first

(defun file-definitions (text)
  "What TEXT defines at its top level."
  (let ((package (package-name (reading-package))) (setting '()) (found '()) (end 0))
    (loop for start = (form-start text end)
          while start
          do (setf end (form-end text start))
             (let ((head (form-head text start)))
               (cond ((null head))
                     ((member head '("IN-PACKAGE" "IN-READTABLE") :test #'string=)
                      (push start setting)
                      (when (string= head "IN-PACKAGE")
                        (setf package (or (first (definition-name text start package)) package))))
                     ((eql 0 (search "DEF" head))
                      (multiple-value-bind (name written) (definition-name text start package)
                        (push (make-file-definition name written package start end setting)
                              found))))))
    (nreverse found)))

(defun defined-by-p (written definition)
  "Whether WRITTEN, a name of a caller, means DEFINITION. A name without a package is read as it
would be in its place in the file."
  (same-name-p (asked-name written (file-definition-package definition))
               (file-definition-name definition)))

(defun requested-definitions (file text names)
  "Those of TEXT that NAMES name, in the order of the text. The work is refused where one of NAMES
is not defined there."
  (let* ((all (file-definitions text))
         (missing (loop for name in names
                        unless (find-if (lambda (one) (defined-by-p name one)) all) collect name)))
    (when missing
      (refuse "not_found"
              (format nil "~A does not define ~{~A~^, ~} at its top level." file missing)
              :what (format nil "~{~A~^, ~}" missing)
              :nearest (let ((known (remove-duplicates
                                     (remove nil (mapcar #'file-definition-written all))
                                     :test #'string=)))
                         (or (nearest (first missing) known)
                             (subseq known 0 (min 10 (length known)))))
              :next "Give names as the file defines them, or leave names out to load all of it."))
    (remove-if-not (lambda (one) (some (lambda (name) (defined-by-p name one)) names)) all)))

(defun load-definitions (file text names)
  "Compiles and loads the definitions of FILE that NAMES name, in its package, each at its place."
  (let ((*package* *package*) (*readtable* *readtable*) (done '()))
    (dolist (definition (requested-definitions file text names))
      (let ((start (file-definition-start definition)) (end (file-definition-end definition)))
        ;; What sets the package before it is obeyed, once.
        (dolist (position (reverse (set-difference (file-definition-setting definition) done)))
          (push position done)
          (eval (read-from-string text t nil :start position))
          (setf *readtable* (or (package-readtable *package*) *readtable*)))
        (compile-and-load (subseq text start end)
                          (make-origin file (line-of text start) (1+ start)))))))

;;; Files, loaded whole or by some of their definitions, with what that has changed.

;;; What a file defines is seen as its definitions are expanded: it is read once, by the
;;; implementation's own `load'.

(define-record defining
  operator name package                 ; the definition, as it was written
  before)                               ; what stood there; NIL for nothing

(defparameter *namespaces*
  '((function "DEFUN" "DEFMACRO" "DEFGENERIC" "DEFINE-MODIFY-MACRO")
    (method "DEFMETHOD")
    (class "DEFCLASS" "DEFSTRUCT" "DEFINE-CONDITION")
    (variable "DEFVAR" "DEFPARAMETER" "DEFCONSTANT" "DEFINE-SYMBOL-MACRO")
    (package "DEFPACKAGE"))
  "By what they define, the operators of Common Lisp whose definitions are told.")

(defun namespace (operator)
  (and (symbolp operator)
       (eq (symbol-package operator) (find-package "COMMON-LISP"))
       (first (find-if (lambda (entry)
                         (member (symbol-name operator) (rest entry) :test #'string=))
                       *namespaces*))))

(defun defined-name (form)
  "The name that FORM, a definition, gives; NIL where it has none that we know of."
  (let ((name (second form)))
    (cond ((and name (symbolp name)) name)
          ((stringp name) name)
          ((and (consp name) (eq (first name) 'setf) (symbolp (second name))) name)
          ;; A structure with options.
          ((and (consp name) (symbolp (first name))) (first name)))))

(defun method-defined (name form)
  "The method that FORM would replace, or NIL."
  (let* ((function (and (fboundp name) (fdefinition name)))
         (rest (cddr form))
         (qualifiers (loop while (and rest (atom (first rest))) collect (pop rest)))
         (specializers (loop for parameter in (first rest)
                             until (member parameter lambda-list-keywords)
                             collect (if (consp parameter) (second parameter) t))))
    (and (typep function 'generic-function)
         (ignore-errors
          (find-method function qualifiers
                       (mapcar (lambda (specializer)
                                 (if (consp specializer) specializer (find-class specializer)))
                               specializers)
                       nil)))))

(defun existing-definition (namespace name form)
  "What stands where FORM would define NAME: a function, method, class or package; of a variable,
whether it is bound."
  (ecase namespace
    (function (and (fboundp name)
                   (or (and (symbolp name) (macro-function name)) (fdefinition name))))
    (method (method-defined name form))
    (class (and (symbolp name) (find-class name nil)))
    (variable (and (symbolp name) (boundp name) 'bound))
    (package (find-package name))))

(defun call-seeing-definitions (function)
  "Calls FUNCTION, and returns what was defined meanwhile as a list of `defining's."
  (let ((seen '()) (users-hook *macroexpand-hook*))
    (flet ((see (form)
             (let ((namespace (namespace (first form))) (name (defined-name form)))
               (when (and namespace name)
                 (push (list namespace form
                             (make-defining (first form) name *package*
                                            (existing-definition namespace name form)))
                       seen)))))
      (let ((*macroexpand-hook*
              (lambda (expander form environment)
                (when (and (consp form) (symbolp (first form))) (ignore-errors (see form)))
                (funcall users-hook expander form environment))))
        (funcall function)))
    (first-of-each (reverse seen))))

(defun first-of-each (seen)
  "SEEN without what is expanded again of the same definition."
  (let ((kept '()))
    (dolist (entry seen (nreverse kept))
      (destructuring-bind (namespace form defining) entry
        (unless (find-if (lambda (other)
                           (and (eq (first other) namespace)
                                (if (eq namespace 'method)
                                    (eq (second other) form)
                                    (equal (defining-name (third other))
                                           (defining-name defining)))))
                         kept)
          (push entry kept))))))

(defun definition-text (entry)
  "What ENTRY defines, as people name it: a function by its name, a method with its specializers."
  (destructuring-bind (namespace form defining) entry
    (let ((name (static-text (defining-name defining) 200)))
      (when (eq namespace 'package)
        (setf name (format nil "package ~A" (string (defining-name defining)))))
      (if (eq namespace 'method)
          (let ((parameters (find-if #'listp (cddr form))))
            (format nil "~A~{ ~A~} (~{~A~^ ~})"
                    name
                    (loop for item in (cddr form) while (atom item)
                          collect (static-text item 80))
                    (loop for parameter in parameters
                          until (member parameter lambda-list-keywords)
                          collect (if (consp parameter)
                                      (static-text (second parameter) 80)
                                      "t"))))
          name))))

(defun changed-names (seen)
  "Two lists of names: what was added, and what was replaced."
  (let ((added '()) (replaced '()))
    (dolist (entry seen)
      (destructuring-bind (namespace form defining) entry
        (let ((before (defining-before defining))
              (now (ignore-errors (existing-definition namespace (defining-name defining) form)))
              (text (definition-text entry)))
          (cond ((null now))
                ((null before) (pushnew text added :test #'string=))
                ;; A variable that is bound is left alone by `defvar'.
                ((string= (symbol-name (defining-operator defining)) "DEFVAR"))
                ;; A function that is the same object was not defined again.
                ((and (eq namespace 'function) (eq before now) (functionp now)
                      (not (typep now 'generic-function))))
                (t (pushnew text replaced :test #'string=))))))
    (values (nreverse added) (nreverse replaced))))

(defun common-package (seen)
  "The name of the one package that all definitions of SEEN stand in, or NIL."
  (let ((packages (remove-duplicates
                   (loop for (namespace nil defining) in seen
                         unless (eq namespace 'package) collect (defining-package defining)))))
    (and packages (null (rest packages)) (package-name (first packages)))))

(defparameter *most-names* 200
  "Names that one answer tells of each kind.")

(defun loaded-tree (file seen)
  "`Loaded' of wire/kernel.ts."
  (multiple-value-bind (added replaced) (changed-names seen)
    (flet ((some-of (names) (array-of (subseq names 0 (min *most-names* (length names)))))
           (left-out (names) (max 0 (- (length names) *most-names*))))
      (object "module" (common-package seen)
              "file" file
              "added" (some-of added)
              "replaced" (some-of replaced)
              "kept" (array-of '()) "skipped" (array-of '()) "survivors" (array-of '())
              "omitted" (+ (left-out added) (left-out replaced))
              "complete" t))))

;;; The work

(defun existing-file (file)
  "The pathname of FILE; the work is refused where there is none."
  (unless (and (plusp (length file)) (char= (char file 0) #\/))
    (refuse "malformed" (format nil "~A is no absolute path." file)
            :what file :next "Give the whole path of the file."))
  (let* ((path (native-pathname file)) (found (probe-file path)))
    (cond ((null found)
           (refuse "not_found" (format nil "There is no file ~A." file)
                   :what file :next "Give the path of one that is there, as the image sees it."))
          ((null (pathname-name found))
           (refuse "malformed" (format nil "~A is a folder." file)
                   :what file :next "Give the path of a file.")))
    path))

(defun readtable-of-file (path)
  "The readtable that SLIME compiles the source file PATH by: that of the package which its first
`in-package' names; NIL where that has none."
  (loop with text = (or (and (source-file-p path) (source-file-text path)) "")
        with end = 0
        for start = (form-start text end)
        while start
        do (when (equal (form-head text start) "IN-PACKAGE")
             (let ((name (first (definition-name text start "COMMON-LISP-USER"))))
               (return (let ((package (and name (package-or-nil name))))
                         (and package (package-readtable package))))))
           (setf end (form-end text start))))

(defun load-whole (path)
  "Loads the file, and returns what it defined, as far as that can be seen."
  (let* ((*package* *package*)
         (*readtable* (or (readtable-of-file path) *readtable*)))
    (call-seeing-definitions
     (lambda ()
       (call-noting-compilation (lambda () (load path)))))))

(defun call-expecting-redefinitions (file function)
  "The values of FUNCTION, which loads definitions of FILE again: that those from the same file are
replaced is no news, as it is none to SBCL where it loads the whole file."
  (flet ((expected (warning)
           (let ((type (native-symbol "SB-KERNEL" "REDEFINITION-WARNING"))
                 (reader (native-symbol "SB-KERNEL" "REDEFINITION-WARNING-NAME")))
             (when (and type reader (typep warning type))
               (let ((name (funcall reader warning)))
                 (when (and (fboundp name)
                            (equal (function-place (fdefinition name)) file))
                   (muffle-warning warning)))))))
    (handler-bind ((warning #'expected))
      (funcall function))))

(defun load-some (file path names)
  "Loads what FILE defines under NAMES, and returns what that defined."
  (unless (source-file-p path)
    (refuse "malformed" (format nil "~A is compiled: its definitions have no text." file)
            :what file
            :next "Give its source to load only some of its definitions, or leave names out."))
  (let ((text (or (source-file-text path)
                  (refuse "malformed" (format nil "~A cannot be read." file) :what file))))
    (call-seeing-definitions
     (lambda ()
       (call-expecting-redefinitions file (lambda () (load-definitions file text names)))))))

(define-work "load" (file names)
  (let ((path (existing-file file)))
    (unless (or names (source-file-p path))
      (note-diagnostic
       (diagnostic-nowhere "note" "It is compiled: what it defines cannot be told." file)))
    (values '()
            (list "loaded"
                  (loaded-tree file (if names
                                        (load-some file path names)
                                        (load-whole path)))))))

;;; Systems of definitions, loaded by ASDF where the image has it.

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
        (*readtable* *readtable*)
        (*own-frames-alone* t))
    (unwind-protect
         (call-noting-compilation
          (lambda () (call-asdf "LOAD-SYSTEM" system (keyword-of "FORCE") force)))
      (drop-foreign-notes (call-asdf "SYSTEM-SOURCE-DIRECTORY" system)))
    (sort (set-difference (call-asdf "ALREADY-LOADED-SYSTEMS") before :test #'equal) #'string<)))

(defun drop-foreign-notes (folder)
  "Forgets what the compiler has noted of files that are not in FOLDER, a pathname or NIL, but for
warnings and errors: nobody who loads a system is to mend those of the systems that it needs."
  (let ((own (and folder (native-name folder))))
    (setf *diagnostics*
          (remove-if (lambda (tree)
                       (let ((file (part tree "file")))
                         (and own
                              (stringp file)
                              (member (part tree "severity")
                                      '("note" "style_warning" "redefinition")
                                      :test #'equal)
                              (not (begins-p own file)))))
                     *diagnostics*))))

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
