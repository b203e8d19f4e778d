;;;; Leaving a stack, whatever its cleanup forms do.

(in-package #:imago-peer)

(defparameter *most-leavings* 10
  "How often the user's cleanup forms may come in the way of leaving them.")

(defvar *cleanup-forms* nil
  "Those that were to run before the innermost code of the user's in this thread was begun.")

(defun cleanup-forms ()
  "Those that are to run where this thread is left, as the Lisp has them; NIL where it tells none."
  (let ((symbol (native-symbol "SB-VM" "*CURRENT-UNWIND-PROTECT-BLOCK*")))
    (and symbol (symbol-value symbol))))

(defun drop-cleanup-forms (times)
  "Has the innermost cleanup forms of the user's innermost code not run when it is left: they have
kept it from being left TIMES so far. Those further out run, and those that give the Lisp's own
locks back. One is dropped first, and each time twice as many, so that code which adds some each
time is left all the same. Gives how many were dropped: none where that cannot be done."
  (let ((most (ash 1 (min 20 (max 0 (- times *most-leavings* 1)))))
        (dropped 0)
        (inner nil))
    (declare (ignorable most inner))
    #+(and sbcl x86-64)
    (dolist (cleanup (users-part))
      (cond ((and (< dropped most) (user-cleanup-p cleanup))
             (incf dropped)
             (skip-cleanup inner (outer-cleanup cleanup)))
            (t (setf inner cleanup))))
    dropped))

;;; SBCL keeps a block on the stack for each UNWIND-PROTECT that is to run. Each has the address of
;;; the next one further out, as a fixnum, and the address of the code that is to run. A transfer of
;;; control takes one after the other, until the next is the one that was there at its destination.

#+(and sbcl x86-64)
(progn
  (defun cleanup-place (cleanup slot)
    "The address at which the block CLEANUP has the slot of that number."
    (sb-sys:int-sap (+ (ash cleanup sb-vm:n-fixnum-tag-bits) (* slot sb-vm:n-word-bytes))))

  (defun outer-place (cleanup)
    (cleanup-place cleanup (native-constant "SB-VM" "UNWIND-BLOCK-UWP-SLOT")))

  (defun outer-cleanup (cleanup)
    "The next further out; 0 where there is none."
    (ash (sb-sys:sap-ref-word (outer-place cleanup) 0) (- sb-vm:n-fixnum-tag-bits)))

  (defun users-part ()
    "The blocks of the user's innermost code, innermost first; none where they are not as we know
them, each further out than the one before."
    (and *cleanup-forms*
         (native-constant "SB-VM" "UNWIND-BLOCK-UWP-SLOT")
         (loop for cleanup = (cleanup-forms) then outer
               for outer = (if (eql cleanup *cleanup-forms*) nil (outer-cleanup cleanup))
               while outer
               unless (< cleanup outer) return '()
                 collect cleanup)))

  (defun user-cleanup-p (cleanup)
    "Whether the code of CLEANUP is known to be the user's: not the Lisp's, Swank's, or ours."
    (if-known
     (let* ((place (cleanup-place cleanup (native-constant "SB-VM" "UNWIND-BLOCK-ENTRY-PC-SLOT")))
            (address (sb-sys:sap-ref-word place 0))
            (code (native ("SB-DI" "CODE-HEADER-FROM-PC") (sb-sys:int-sap address)))
            (start (sb-sys:sap-int (native ("SB-KERNEL" "CODE-INSTRUCTIONS") code)))
            (function (native ("SB-DI" "DEBUG-FUN-FROM-PC") code (- address start)))
            (file (sb-di:debug-source-namestring
                   (native ("SB-C" "DEBUG-INFO-SOURCE")
                           (native ("SB-KERNEL" "%CODE-DEBUG-INFO") code)))))
       (not (or (and file (system-file-text-p file))
                (debugger-frame-p (sb-di:debug-fun-name function)))))))

  (defun skip-cleanup (inner outer)
    "Has OUTER be the next after INNER, or the first of all where that is NIL."
    (if inner
        (setf (sb-sys:sap-ref-word (outer-place inner) 0) (ash outer sb-vm:n-fixnum-tag-bits))
        (setf (symbol-value (native-symbol "SB-VM" "*CURRENT-UNWIND-PROTECT-BLOCK*")) outer))))
