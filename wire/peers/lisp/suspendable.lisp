;;;; Whether an error suspends the evaluation that it happened in, and why it does not.

(in-package #:imago)

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
          ((holds-world-p)
           (no "it holds a lock that everybody needs who defines classes, or compiles."))
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

(defun holds-world-p ()
  "Whether this thread has the lock of SBCL that everybody needs who defines classes; in some
versions, who compiles, too."
  #+sbcl (let ((lock (or (native-symbol "SB-KERNEL" "**WORLD-LOCK**")
                         (native-symbol "SB-C" "**WORLD-LOCK**"))))
           (and lock (boundp lock) (sb-thread:holding-mutex-p (symbol-value lock))))
  ;; Or the text above would be its value.
  #-sbcl nil)

(defun uninterruptible-p ()
  #+sbcl (or (not sb-sys:*interrupts-enabled*)
             (let ((inhibit (native-symbol "SB-KERNEL" "*GC-INHIBIT*")))
               (and inhibit (symbol-value inhibit)))))
