;;;; What every other file builds on: records of ours, and what an implementation has within it.

(in-package #:imago-peer)

;;; Records are simple vectors: a structure of its own type would stay in the image, where another
;;; version of this system could not define it anew.

(defmacro define-record (name &rest fields)
  "Defines NAME as a structure of FIELDS that is a simple vector. MAKE-NAME takes their first
values, in their order."
  `(defstruct (,name (:type vector)
                     (:copier nil)
                     (:constructor ,(intern (format nil "MAKE-~A" name)) ,fields))
     ,@fields))

;;; What is not Lisp's may be missing, or have another name in another version. As to the
;;; implementation, that is known as these files are read: `native' and its kin cost nothing later.
;;; What somebody may load or define later is looked up each time, by `internal'.

(defmacro native ((package &rest names) &rest arguments)
  "Calls the first of NAMES that PACKAGE has as a function or macro; NIL where it has none."
  (let ((symbol (and (find-package package)
                     (loop for name in names
                           for symbol = (find-symbol name package)
                           when (and symbol (fboundp symbol)) return symbol))))
    (if symbol
        `(,symbol ,@arguments)
        `(progn ,@arguments nil))))

(defmacro native-symbol (package name)
  "The symbol NAME of PACKAGE; NIL where this implementation has none."
  (let ((symbol (and (find-package package) (find-symbol name package))))
    (and symbol (list 'quote symbol))))

(defmacro native-constant (package name)
  "The value of the constant NAME of PACKAGE; NIL where this implementation has none."
  (let ((symbol (and (find-package package) (find-symbol name package))))
    (and symbol (constantp symbol) (list 'quote (symbol-value symbol)))))

(defun image-ends-p ()
  "Whether the image is about to end. A thread that would make another then waits for as long as
SBCL waits for it, a minute, and cannot be ended."
  #+sbcl (let ((lock (native-symbol "SB-IMPL" "*EXIT-LOCK*")))
           (and lock (sb-thread:mutex-owner (symbol-value lock)) t))
  ;; Or the text above would be its value.
  #-sbcl nil)

(defun internal (name package)
  "The symbol of that NAME in PACKAGE, both strings, as things are now; NIL where there is none."
  (let ((package (find-package package)))
    (and package (values (find-symbol name package)))))
