;;;; What every other file builds on: records of ours, and the interface to what differs between
;;;; Lisps. As in Swank, each Lisp implements it in files of its own: sbcl*.lisp and ecl.lisp.

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

(defun internal (name package)
  "The symbol of that NAME in PACKAGE, both strings, as things are now; NIL where there is none."
  (let ((package (find-package package)))
    (and package (values (find-symbol name package)))))

(defmacro without-interrupts (&body body)
  "BODY, in which nothing interrupts this thread, where there is such a thing."
  (if (find-package "SB-SYS")
      `(,(find-symbol "WITHOUT-INTERRUPTS" "SB-SYS") ,@body)
      `(progn ,@body)))

;;; Interfaces

(eval-when (:compile-toplevel :load-toplevel :execute)
  (defparameter *interfaces* '()
    "The names of all interfaces, the newest first."))

(defmacro define-interface (name lambda-list documentation &body default)
  "Declares the function NAME, which each Lisp implements in its own way; DEFAULT is its body where
a Lisp has nothing of its own."
  `(eval-when (:compile-toplevel :load-toplevel :execute)
     (setf (get ',name 'interface) '(,lambda-list ,documentation ,@default)
           (get ',name 'implemented) nil)
     (pushnew ',name *interfaces*)
     ',name))

(defmacro define-implementation (name lambda-list &body body)
  "Defines the function NAME as this Lisp has it."
  (destructuring-bind (&optional (declared :none) documentation &rest default) (get name 'interface)
    (declare (ignore default))
    (unless (equal lambda-list declared)
      (error "~S is no interface with the lambda list ~S." name lambda-list))
    `(progn
       (eval-when (:compile-toplevel :load-toplevel :execute)
         (setf (get ',name 'implemented) t))
       (defun ,name ,lambda-list ,documentation ,@body))))

(defmacro define-defaults ()
  "Defines each interface that this Lisp does not implement."
  `(progn
     ,@(loop for name in (reverse *interfaces*)
             for (lambda-list documentation . default) = (get name 'interface)
             unless (get name 'implemented)
               collect `(defun ,name ,lambda-list
                          ,documentation
                          (declare (ignorable ,@(set-difference lambda-list lambda-list-keywords)))
                          ,@default))))

;;; The image

(define-interface watched-servers (&optional change)
  "The names of servers of the program whose errors are noted. CHANGE is :BEGIN to note those of all
that are loaded, and :END to note none.")

(define-interface image-ends-p ()
  "Whether the image is about to end. A thread that would make another then waits for as long as
SBCL waits for it, a minute, and cannot be ended.")

;;; Files and origins

(define-interface native-name (pathname)
  "PATHNAME, or what a namestring of Lisp's names, as the system names it; NIL where it is logical
and stands for no file.")

(define-interface octets-text (octets)
  "OCTETS as UTF-8, or as Latin-1 where they are not.")

(define-interface read-plain-file (file)
  "The text of FILE, a native name; or NIL and why there is none.")

(define-interface file-date (file)
  "When FILE, a native name, was written, as a universal time; NIL where that cannot be told."
  (ignore-errors (file-write-date file)))

(define-interface call-with-origin (function &key form text origin)
  "Calls FUNCTION so that what it compiles of FORM, which was read from TEXT, leads back to ORIGIN."
  (funcall function))

(define-interface evaluate-placed (form text origin)
  "The values of FORM, which was read from TEXT. What it defines, and what goes wrong in it, leads
back to ORIGIN."
  (let ((*origin* origin))
    (eval form)))

;;; What is stored

(define-interface heap-exhausted-p (condition)
  "Whether CONDITION says that the memory is used up, rather than the stack."
  nil)

(define-interface closed-over-names (function)
  "The names of the variables that FUNCTION, a closure, closes over, as texts in no order; NIL where
they are not known."
  '())

(define-interface method-combination-p (symbol)
  "Whether SYMBOL names a method combination.")

(define-interface bound-or-not (value)
  "VALUE, or *UNBOUND* where it is the mark that the implementation puts into a slot that has
none.")

(define-interface layout-state (value)
  "NIL where VALUE is laid out as its class is now, FLUSH where only caches differ, else OBSOLETE.")

(define-interface shape (value)
  "How VALUE stores what it holds: STRUCTURE, CONDITION, INSTANCE, FUNCALLABLE (an instance that is
a function), or NIL where it is none of them.")

(define-interface at-location (instance location)
  "What a standard instance keeps at LOCATION, as an effective slot definition has it.")

(define-interface class-label (class)
  "The name of CLASS, a symbol; NIL where it has none.")

(define-interface ancestors (class)
  "CLASS and all that it inherits from, the most specific first, as far as that has been worked
out.")

(define-interface plain-class-p (class)
  "Whether CLASS is exactly of one of Lisp's own metaclasses, so that its instances keep their slots
where we look.")

(define-interface slot-definitions (value class)
  "The effective slot definitions by which VALUE is laid out, which an older definition of CLASS may
have made.")

(define-interface slot-label (slot)
  "The name of SLOT, an effective slot definition.")

(define-interface slot-location (slot)
  "Where instances keep the value of SLOT, an effective slot definition.")

(define-interface structure-fields (value)
  "The fields of VALUE, a structure, as `fields' has them.")

(define-interface stored (metaobject slot reader)
  "What METAOBJECT has in SBCL's slot of the name SLOT, a string; elsewhere what READER says, a
function of the metaobject protocol."
  (funcall reader metaobject))

(define-interface encapsulated-p (name)
  "Whether calls of NAME go through something that stands around it: a trace, a profiler.")

(define-interface value-of (symbol)
  "The global value of SYMBOL, and whether it has one; what only some thread has bound is not it.")

(define-interface info-of (category kind name)
  "What the compiler keeps of NAME, or NIL.")

(define-interface noted-doc (name &rest kinds)
  "What ECL has noted of NAME as the first of KINDS that it has something for, such as FUNCTION.")

(define-interface stored-doc (metaobject)
  "What a class or generic function was documented with.")

(define-interface function-doc (function)
  "What FUNCTION was documented with, or NIL.")

(define-interface package-doc (package)
  "What PACKAGE was documented with, or NIL."
  (noted-doc package 'package))

;;; Names

(define-interface meaningful-p (symbol)
  "Whether SYMBOL stands for a variable, function, class or type.")

(define-interface local-nicknames (package)
  "The names of packages that only PACKAGE has.")

(define-interface normalized-name (name)
  "The name that the reader makes of NAME."
  name)

;;; Values as text

(define-interface float-text (float)
  "FLOAT as it is read again.")

(define-interface stored-name (metaobject)
  "The name of a class, generic function or slot definition.")

(define-interface methods-stored (function)
  "The methods of a generic function.")

(define-interface function-name (function)
  "The name that is stored in FUNCTION: a symbol, or a list such as (setf x) or (lambda (x))."
  (nth-value 2 (function-lambda-expression function)))

(define-interface comma-p (value)
  "Whether VALUE stands for a comma in a quasiquoted form.")

(define-interface comma-text (comma)
  "COMMA as it is written: a comma, perhaps with @ or a dot."
  ",")

(define-interface comma-form (comma)
  "The form behind COMMA."
  comma)

(define-interface copied-comma (comma form)
  "A comma like COMMA with another FORM behind it; NIL where none can be made.")

;;; Streams

(define-interface tell-exit (sink)
  "Says that the image is about to end, if it is: then this is what the evaluation has come to.")

;;; Stacks

(define-interface frame-place (frame)
  "The file in which FRAME stands, a namestring, its line, and the text of that; and a text that
this line is part of, with its position in it. Each is NIL where not known.")

(define-interface valid-variables (frame)
  "The variables of FRAME that have a value where it stands, and a name that somebody gave.")

(define-interface frame-name (frame)
  "What FRAME runs: a symbol, list or text."
  (native ("SWANK/ECL" "FRAME-NAME") frame))

(define-interface implementation-frame-p (frame)
  "Whether what FRAME runs is the implementation's own, and not the program's.")

(define-interface frame-tree (frame)
  "FRAME as `Frame' of wire/contract/values.ts.")

(define-interface frame-file (frame)
  "The namestring of the file in which FRAME stands, or NIL.")

(define-interface call-text (frame)
  "The call in FRAME with its arguments, as a backtrace shows it."
  (format nil "(~A)" (function-text (frame-name frame))))

(define-interface innermost-frame ()
  "Where this thread stands, or all of its frames where only that can be had.")

(define-interface frame-below (frame)
  "The frame that has called FRAME, or NIL.")

(define-interface frames-up (count)
  "COUNT frames of this thread at most, innermost first; none where they cannot be had one by one.")

(define-interface mend-stack ()
  "Has SBCL notice that this thread has left the end of its stack, if it was there. Without, the
next thread that is given the same memory would end the whole image when it comes to that end: SBCL
2.2.9 only notices where the very page before is written to.")

(define-interface stack-low-p ()
  "Whether the end of the stack of this thread is so near that code which comes to it would end the
image, for the page that guards it is open.")

(define-interface drop-cleanup-forms (times)
  "Has the innermost cleanup forms of the user's innermost code not run when it is left: they have
kept it from being left TIMES so far. Those further out run, and those that give the Lisp's own
locks back. One is dropped first, and each time twice as many, so that code which adds some each
time is left all the same. Gives how many were dropped: none where that cannot be done."
  0)

(define-interface nameless-evaluator-p ()
  "Whether a frame whose function has no name is the evaluator's.")

;;; Conditions and time limits

(define-interface make-bell ()
  "What a thread waits on until another rings it; NIL where there are no such things.")

(define-interface ring (bell)
  "Wakes whoever waits for BELL, or will wait next.")

(define-interface wait-for-bell (bell seconds)
  "Waits until BELL was rung, SECONDS at most; or a little, where there are no bells."
  (sleep 0.01))

(define-interface restart-reader (restart)
  "The function that asks for the values which RESTART takes, or NIL."
  (native ("SI" "RESTART-INTERACTIVE-FUNCTION") restart))

(define-interface call-without-references (function)
  "The value of FUNCTION, in which conditions print no references to manuals."
  (funcall function))

;;; Evaluation

(define-interface standard-readtable ()
  "As the image has it when it starts: ECL reads scripts, whose first line begins with #!.")

(define-interface microseconds ()
  "Since some moment. Internal real time may go by the ticks of the machine.")

(define-interface go-past-steps (condition)
  "Does not return where CONDITION asks a person whether to step: there is nobody, and the code
runs.")

;;; Suspensions

(define-interface call-afresh (function)
  "Calls FUNCTION where nothing tells that the thread is in a debugger. The handlers of the
suspended code learn nothing of its conditions: they would leave it.")

(define-interface stack-short-p ()
  "Whether less than a quarter of a megabyte is left of the stack of this thread.")

(define-interface locks-of-lisp ()
  "All that are values of SBCL's own variables: of its packages, its classes, its compiler, its
shared libraries.")

(define-interface holds-lock-of-lisp-p ()
  "Whether this thread has a lock that everybody needs who defines, compiles, or reads new names.")

(define-interface uninterruptible-p ()
  "Whether nothing interrupts this thread now.")

(define-interface call-with-thread-name (name function)
  "The values of FUNCTION, while this thread is called NAME, where threads can be given names."
  (funcall function))

;;; Interrupts

(define-interface call-holding-interrupts (function)
  "Calls FUNCTION with a function that calls another as the thread is now. For the rest of FUNCTION
interrupts wait, where there is such a thing."
  (funcall function #'funcall))

(defvar *let-interrupts-in* #'funcall
  "Calls a function with interrupts as they were before they were held.")

(defmacro holding-interrupts (&body body)
  "BODY, in which interrupts wait until it ends, or comes to `letting-interrupts-in'."
  `(call-holding-interrupts (lambda (*let-interrupts-in*) ,@body)))

(defun letting-interrupts-in (function)
  "The values of FUNCTION, in which interrupts come as they did before they were held."
  (let ((let-in *let-interrupts-in*) (*let-interrupts-in* #'funcall))
    (funcall let-in function)))

;;; Going on

(define-interface why-not-evaluate (frame)
  "NIL, or why nothing can be evaluated in FRAME."
  "In this Lisp, Imago evaluates nothing in frames.")

(define-interface why-not-return (frame)
  "NIL, or why FRAME cannot return."
  "In this Lisp, Imago has no frame return.")

(define-interface rest-lost-p (frame)
  "Whether FRAME was given arguments that its function did not keep, nobody knows how many.")

(define-interface call-of-frame (frame)
  "The function that a call like that of FRAME would call now, and the arguments; NIL where it has
no name by which it is called.")

(define-interface evaluate-in (frame form)
  "The values of FORM, which sees and can set the variables of FRAME."
  (eval form))

(define-interface unkept-variables (frame form)
  "The names that FORM would set and that are variables neither in FRAME nor in the image: to set
one would make it a global variable."
  '())

(define-interface restart-arity (restart)
  "Whether it is known what RESTART takes, and how many values at least, and at most: NIL where
there is no such number.")

;;; Frames that are looked at

(define-interface frame-variables (frame)
  "Trees for the variables of FRAME as `FrameLocal', those that have a value, and how many more
there are."
  (values '() 0))

(define-interface on-stack-p (value)
  "Whether VALUE is kept on the stack of this thread, and nowhere when its frame has been left.")

;;; Lambda lists

(define-interface merged-lambda-list (function)
  "The lambda list of a generic function, with the keywords of its methods.")

(define-interface stored-lambda-list (name)
  "The lambda list that is stored of NAME, as `lambda-list-of' has it.")

(define-interface result-text (name)
  "The type of what NAME returns, where it was declared or found out and says something.")

(define-interface constructor-of (class)
  "The name of the function that makes instances of CLASS, if that is a structure and has one.")

;;; Definitions

(define-interface definition-at (source name kind &optional function)
  "The definition of NAME as SOURCE, an `sb-introspect:definition-source' or NIL, leads to it.
FUNCTION may have kept the form that it was made of."
  (unlocated "unknown" "where things are defined is not available in this Lisp"))

(define-interface named-sources (name type)
  "Where NAME was defined as TYPE, of those that `sb-introspect' knows.")

(define-interface class-source (class)
  "Where CLASS was defined, or NIL.")

(define-interface used-names (function)
  "By package, the names of the functions that FUNCTION calls, as its compiled code has them; or
:ABSENT."
  :absent)

(define-interface source-of-function (function)
  "Where FUNCTION was compiled, or NIL; of a generic function, where it was defined.")

(define-interface source-of-method (method)
  "Where METHOD was defined, or NIL.")

(define-interface function-made-for (method)
  "The function with the code of METHOD, or NIL.")

(define-interface source-of-package (package)
  "Where PACKAGE was defined, or NIL.")

(define-interface traced-p (name)
  "Whether calls of NAME are traced by TRACE.")

;;; Descriptions

(define-interface locked-p (package)
  "Whether PACKAGE, which may be NIL, is locked.")

(define-interface declared-function-type (name)
  "The type that the function NAME was declared to have."
  t)

(define-interface declared-variable-type (symbol)
  "The type that the variable SYMBOL was declared to have, or NIL.")

;;; Inspecting

(define-interface slot-names-of-class (class)
  "The names of the slots of instances of CLASS, as far as they have been worked out.")

;;; References

(define-interface user-name-p (name)
  "Whether the compiler writes down uses of NAME: those of the implementation's own names it does
not."
  t)

(define-interface finder-for (relation)
  "The function that finds what stands in RELATION to a name; NIL where there is none.")

(define-interface code-references (relation name)
  "Trees for all code that stands in RELATION to NAME.")

(define-interface system-package-p (package)
  "Whether PACKAGE is one of the Lisp's own.")

(define-interface searched-code (name)
  "What code is looked through for uses of NAME, and what a use could hide in: sentences."
  (list "who uses a name is not available in this Lisp"))

(define-interface line-of-source (source)
  "The file that SOURCE is in and the line its top-level form begins at, as far as they can be told,
as two values.")

;;; Compiling

(define-interface real-condition (condition)
  "What the compiler has wrapped CONDITION around, or CONDITION."
  condition)

(define-interface call-past-errors (function)
  "The values of FUNCTION. Its compiler goes on behind an error without printing it, and without
counting it: for whoever tells it elsewhere, and asks nothing of the compiler's verdict."
  (funcall function))

(define-interface compile-temporary (name source origin)
  "Compiles the file NAME, which holds SOURCE, so that what it defines leads back to ORIGIN. The
compiled file, or NIL."
  (values (compile-file name)))

(define-interface call-hearing-compiler (certain muffle function)
  "The values of FUNCTION. The compiler's own errors are given to CERTAIN meanwhile, and its notes
to MUFFLE: functions of a condition."
  (funcall function))

;;; Loading

(define-interface source-file-p (file)
  "Whether FILE holds source text, and not compiled code.")

(define-interface native-pathname (file)
  "FILE, a name as the system writes it, which may hold * and [."
  (pathname file))

;;; The image

(define-interface main-thread-p (thread)
  "Whether THREAD is the one that the image began with.")

(define-interface awaited (thread)
  "What THREAD waits for and who has it, as text, where that can be told without stopping it.")

(define-interface deadlocks ()
  "Lists of threads of which each waits for a lock that the next has, the last for one of the
first's.")

(define-interface asdf-file ()
  "The file of the ASDF that comes with this Lisp, or NIL.")

(define-interface keeps-sources-p ()
  "Whether this Lisp knows where things were defined.")

;;; The connection

(define-interface send-at-once ()
  "Has each message leave as it is written. Without, the second of two waits until the first was
acknowledged, and the other end takes 40 ms to do that: every evaluation is answered by two at
least.")

;;; Handles

(define-interface make-weak-pointer (value)
  "A weak pointer to VALUE.")

(define-interface weak-pointer-value (pointer)
  "What POINTER, a weak pointer, points to, and whether it is there still.")

(define-interface make-weak-table ()
  "An EQ hash table that keeps none of its keys, where there are such tables."
  (make-hash-table :test 'eq))

(define-interface most-kept ()
  "How many bytes of values and texts handles keep from being collected, more or less."
  (* 64 1024 1024))
