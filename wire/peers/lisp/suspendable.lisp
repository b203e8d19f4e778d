;;;; Whether an error suspends the evaluation that it happened in, and why it does not.

(in-package #:imago-peer)

(defun stays-suspended-p ()
  "Whether what is signalled now is to suspend the evaluation of this thread."
  (and *evaluation* *post*
       (evaluation-lease *evaluation*)
       (evaluation-entry *evaluation*)
       (eq *running-user-code* t)))

(defun may-suspend (condition)
  "Whether CONDITION can suspend the evaluation of this thread; or NIL and a sentence that says why
it cannot."
  (flet ((no (why) (return-from may-suspend
                     (values nil (format nil "This error was not kept suspended: ~A" why)))))
    (cond ((typep condition 'storage-condition)
           (no "the stack or the memory was used up, and there is no room to look around in."))
          ((stack-short-p)
           (no "too little of its stack is left to look around in."))
          ((holds-lock-of-lisp-p)
           (no "it holds a lock of the Lisp's own, without which nobody could define or read on."))
          ((uninterruptible-p)
           (no "it happened where interrupts are off, and nothing could stop what runs there."))
          ((>= (length *suspensions*) *most-suspensions*)
           (no (format nil "~D suspended evaluations are the most. End one of them first: resume ~
                            it, or leave it." *most-suspensions*))))
    t))

(defun stack-short-p ()
  "Whether less than a quarter of a megabyte is left of the stack of this thread."
  #+(and sbcl (or x86-64 arm64))
  (ignore-errors
   (multiple-value-bind (end now) (stack-bounds) (< (- now end) (* 256 1024))))
  #-(and sbcl (or x86-64 arm64))
  nil)

(define-session-variable *locks-of-lisp* nil
  "The locks of SBCL's own that can be held where user code runs; NIL until somebody looks.")

(defun locks-of-lisp ()
  "All that are values of SBCL's own variables: of its packages, its classes, its compiler, its
shared libraries."
  #+sbcl
  (or *locks-of-lisp*
      (setf *locks-of-lisp*
            (let ((locks '()))
              (dolist (package (list-all-packages) locks)
                (when (eql 0 (search "SB-" (package-name package)))
                  (do-symbols (symbol package)
                    (when (and (eq (symbol-package symbol) package)
                               (boundp symbol)
                               (typep (symbol-value symbol) 'sb-thread:mutex))
                      (pushnew (symbol-value symbol) locks :test #'eq)))))))))

(defun holds-lock-of-lisp-p ()
  "Whether this thread has a lock that everybody needs who defines, compiles, or reads new names."
  #+sbcl (some #'sb-thread:holding-mutex-p (locks-of-lisp))
  ;; Or the text above would be its value.
  #-sbcl nil)

(defun uninterruptible-p ()
  #+sbcl (or (not sb-sys:*interrupts-enabled*)
             (let ((inhibit (native-symbol "SB-KERNEL" "*GC-INHIBIT*")))
               (and inhibit (symbol-value inhibit)))))
