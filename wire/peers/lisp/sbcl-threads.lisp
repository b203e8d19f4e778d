;;;; Threads as SBCL has them: what they wait for, the locks that they have, and the memory of their
;;;; stacks.

(in-package #:imago-peer)

(define-implementation main-thread-p (thread)
  (eq thread (sb-thread:main-thread)))

(defun awaited-lock (thread)
  "The mutex that THREAD waits for, or NIL; and whether it waits until some time at most. A thread
that is in a debugger because SBCL has found a deadlock in which it is waits for what its error
names."
  (let* ((condition (waiting-condition thread))
         (cycle (and (typep condition 'sb-thread:thread-deadlock)
                     (ignore-errors (sb-thread:thread-deadlock-cycle condition))))
         (link (ignore-errors (assoc thread cycle)))
         (thing (if link
                    (rest link)
                    (ignore-errors (native ("SB-THREAD" "THREAD-WAITING-FOR") thread))))
         (timed (and (not link) (consp thing)))
         (lock (cond ((not (consp thing)) thing)
                     (timed (rest thing))
                     (t (first thing)))))
    (and (typep lock 'sb-thread:mutex) (values lock timed))))

(define-implementation awaited (thread)
  (let ((lock (awaited-lock thread)) (condition (waiting-condition thread)))
    (cond (lock
           (let ((owner (sb-thread:mutex-owner lock)) (name (sb-thread:mutex-name lock)))
             (format nil "the mutex~@[ ~A~]~@[, which ~A~]"
                     (and name (static-text name 100))
                     (cond ((not (typep owner 'sb-thread:thread)) nil)
                           ((eq owner thread) "this thread has itself")
                           ((sb-thread:thread-alive-p owner)
                            (format nil "the thread \"~A\" has" (one-line (thread-text owner))))
                           (t (format nil "the thread \"~A\" had when it ended"
                                      (one-line (thread-text owner))))))))
          (condition
           (format nil "a person at its debugger, for ~A" (type-label (class-of condition)))))))

(define-implementation deadlocks ()
  (labels ((next (thread)
             (multiple-value-bind (lock timed) (awaited-lock thread)
               (let ((owner (and lock (not timed) (sb-thread:mutex-owner lock))))
                 (and (typep owner 'sb-thread:thread) (sb-thread:thread-alive-p owner) owner))))
           (circle-from (thread)
             (loop with path = '()
                   for at = thread then (next at)
                   while at
                   do (check-deadline)
                      (when (member at path)
                        (return (reverse (subseq path 0 (1+ (position at path))))))
                      (push at path))))
    (let ((found '()))
      (dolist (thread (swank/backend:all-threads) found)
        (let ((circle (circle-from thread)))
          (when (and circle
                     (notany (lambda (known) (member (first circle) known)) found)
                     ;; Threads go on while they are looked at, but for those in such a circle.
                     (loop for (one . more) on circle
                           always (eq (next one) (if more (first more) (first circle)))))
            (push circle found)))))))

;;; Locks of the Lisp's own

(define-implementation locks-of-lisp ()
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

(define-implementation holds-lock-of-lisp-p ()
  (some #'sb-thread:holding-mutex-p (locks-of-lisp)))

(define-implementation uninterruptible-p ()
  (or (not sb-sys:*interrupts-enabled*)
      (let ((inhibit (native-symbol "SB-KERNEL" "*GC-INHIBIT*")))
        (and inhibit (symbol-value inhibit)))))

(define-implementation call-with-thread-name (name function)
  (let ((own (sb-thread:thread-name sb-thread:*current-thread*)))
    (setf (sb-thread:thread-name sb-thread:*current-thread*) name)
    (unwind-protect (funcall function)
      (setf (sb-thread:thread-name sb-thread:*current-thread*) own))))

;;; Stacks

(define-implementation mend-stack ()
  #+(or x86-64 arm64)
  (ignore-errors
   (multiple-value-bind (end now page) (stack-bounds)
     (let ((place (+ end (floor (* 5 page) 2))))
       (when (< place (- now page))
         (setf (sb-sys:sap-ref-8 (sb-sys:int-sap place) 0) 0))))))

#+(or x86-64 arm64)
(defun stack-bounds ()
  "The addresses where the stack of this thread ends, with three pages that guard its end, and where
it is now; and how many bytes such a page has."
  (values (sb-kernel:get-lisp-obj-address
           (symbol-value (native-symbol "SB-VM" "*CONTROL-STACK-START*")))
          (sb-sys:sap-int (native ("SB-KERNEL" "CURRENT-SP")))
          (sb-alien:extern-alien "os_vm_page_size" sb-alien:unsigned-long)))

(define-implementation stack-low-p ()
  #+(or x86-64 arm64)
  (ignore-errors
   (multiple-value-bind (end now page) (stack-bounds) (< (- now end) (* 4 page))))
  #-(or x86-64 arm64)
  nil)

(define-implementation stack-short-p ()
  #+(or x86-64 arm64)
  (ignore-errors
   (multiple-value-bind (end now) (stack-bounds) (< (- now end) (* 256 1024))))
  #-(or x86-64 arm64)
  nil)
