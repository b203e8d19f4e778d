;;;; Conditions as they stood, and what may take too long about them.

(in-package #:imago-peer)

;;; Time limits: what takes too long in one thread is interrupted there, by one thread that sees to
;;; all of them.

;;; Bells

;;; Limits

(define-record limit
  thread
  at                                    ; when it is over, in internal real time
  act                                   ; a function that is then called in the thread
  over)                                 ; whether nobody needs it any more

(defparameter *again-after* 1/2
  "Seconds after which a limit acts once more, for as long as it is needed.")

(define-session-variable *watcher-idle* 2
  "Seconds for which the thread stays that sees to limits when there are none.")

(define-session-variable *time-limits* '())
(define-session-variable *watcher* nil
  "The thread that sees to them, while there is one.")
(define-session-variable *watcher-looks* 0
  "When it looks at them next, in internal real time.")
(define-session-variable *time-limits-lock* (swank/backend:make-lock :name "time limits"))
(define-session-variable *time-limits-bell* (make-bell))

(defmacro with-limits (&body body)
  `(with-lock-uninterrupted (*time-limits-lock*) ,@body))

(defun seconds-on (seconds)
  "The moment that is so many SECONDS from now, in internal real time."
  (+ (get-internal-real-time) (ceiling (* seconds internal-time-units-per-second))))

(defun begin-limit (seconds act)
  "Has ACT called in this thread when so many SECONDS are over, and each half second after that,
until `end-limit'. A watcher that sleeps is only woken for what comes earlier than all it knows."
  (let ((limit (make-limit (swank/backend:current-thread) (seconds-on seconds) act nil)))
    (when (implemented-p 'swank/backend:spawn)
      (with-limits
        (setf *time-limits* (cons limit (remove-if #'limit-over *time-limits*)))
        (cond ((not (and *watcher* (swank/backend:thread-alive-p *watcher*)))
               (setf *watcher* (begin-thread "imago: time limits" #'watch-limits)))
              ((< (limit-at limit) *watcher-looks*) (ring *time-limits-bell*)))))
    limit))

(defun end-limit (limit)
  ;; Without a lock, for it must be done in each case.
  (setf (limit-over limit) t
        (limit-act limit) nil))

(defun watch-limits ()
  "Sees to all limits, until there have been none for a while."
  (loop with idle = nil
        do (let ((seconds
                   (with-limits
                     (setf *time-limits* (remove-if #'limit-over *time-limits*))
                     (when (and idle (null *time-limits*))
                       (setf *watcher* nil)
                       (return))
                     (setf idle (null *time-limits*)
                           *watcher-looks* (reduce #'min *time-limits*
                                                   :key #'limit-at
                                                   :initial-value (seconds-on *watcher-idle*)))
                     (/ (- *watcher-looks* (get-internal-real-time))
                        internal-time-units-per-second))))
             (when (plusp seconds) (wait-for-bell *time-limits-bell* seconds))
             (mapc #'act-on-limit (with-limits (copy-list *time-limits*))))))

(defun end-watcher ()
  "Has the watcher end as soon as it has no limit to see to."
  (setf *watcher-idle* 0)
  (ring *time-limits-bell*))

(defun act-on-limit (limit)
  "Acts in the thread of LIMIT if its time is over."
  (let ((act (limit-act limit)) (thread (limit-thread limit)))
    (when (and act (<= (limit-at limit) (get-internal-real-time)))
      (setf (limit-at limit) (seconds-on *again-after*))
      (if (swank/backend:thread-alive-p thread)
          ;; It may end meanwhile.
          (ignore-errors
           (swank/backend:interrupt-thread
            thread (lambda () (unless (limit-over limit) (funcall act)))))
          (end-limit limit)))))

;;; A condition as it stood: its restarts, and its frames with their locals.

(defparameter *message-limit* 4096
  "Characters of a condition's report.")

(defparameter *report-patience* 2
  "Seconds that reports, which are the user's code, may take.")

(defparameter *most-restarts* 30
  "Restarts that are told.")

(defvar *patience* '()
  "For each that is waited for, innermost first: a list of whether it has taken too long.")

(defun call-with-patience (seconds function otherwise)
  "The value of FUNCTION; that of OTHERWISE where it takes longer, where threads can tell."
  (let* ((done nil) (limit nil) (tag (list nil)) (*patience* (cons tag *patience*)))
    (flet ((leave ()
             (unless done
               (setf (first tag) t)
               (throw tag (funcall otherwise)))))
      (unwind-protect
           (catch tag
             (when (image-ends-p) (leave))
             (unwind-protect (progn
                               ;; Cleanup forms may never end, either: it is left again and again.
                               (setf limit (begin-limit seconds #'leave))
                               (letting-interrupts-in function))
               (setf done t)))
        (setf done t)
        (when limit (end-limit limit))))))

(defun call-contained (function otherwise)
  "The values of FUNCTION, which calls code of the user's when nothing of the user's is evaluated
any more: however that leaves, by an error, a restart, a throw, or the end of its stack or thread,
it is only this that ends. Then the values of OTHERWISE, a function of the condition, if there was
one. Only `call-with-patience' gets past it."
  (let ((values '()) (done nil) (why nil))
    (block nil
      (flet ((give-up (&optional condition &rest more)
               (declare (ignore more))
               (setf why condition)
               (return)))
        (unwind-protect
             (handler-bind ((serious-condition #'give-up))
               (restart-bind ((abort #'give-up))
                 (swank/backend:call-with-debugger-hook
                  #'give-up
                  (lambda ()
                    (setf values (multiple-value-list (funcall function))
                          done t)))))
          (unless (or done (some #'first *patience*)) (return)))))
    (mend-stack)
    (if done (values-list values) (funcall otherwise why))))

(defvar *in-time* nil
  "Whether somebody sees to it already that reports end.")

(defun report-text (thing otherwise)
  "What THING, a condition or restart, reports of itself, or OTHERWISE where its report fails; and
then the condition that it failed with, if there was one."
  (call-contained
   (lambda ()
     (let ((*print-readably* nil) (*print-circle* t) (*print-escape* nil)
           (*print-length* (or *print-length* 64)) (*print-level* (or *print-level* 6)))
       (string-trim '(#\Space #\Newline)
                    (call-without-references
                     (lambda ()
                       (swank::call/truncated-output-to-string
                        *message-limit*
                        (lambda (stream) (princ thing stream))
                        "…"))))))
   (lambda (condition)
     (values otherwise condition))))

(defun reported (thing otherwise)
  "The same, or OTHERWISE where its report never ends."
  (cond ((stack-low-p) otherwise)
        (*in-time* (report-text thing otherwise))
        (t (call-with-patience *report-patience*
                               (lambda () (report-text thing otherwise))
                               (lambda () otherwise)))))

(defun reports (condition restarts)
  "The message of CONDITION, and the trees of RESTARTS."
  (flet ((texts () (list (condition-message condition) (mapcar #'restart-tree restarts))))
    (values-list (or (call-with-patience *report-patience*
                                         (lambda () (let ((*in-time* t)) (texts)))
                                         (constantly nil))
                     ;; Some of them may be had all the same.
                     (texts)))))

(defun condition-message (condition)
  (let ((otherwise (format nil "~A, whose report could not be had"
                           (condition-type-text condition))))
    (multiple-value-bind (text failure) (reported condition otherwise)
      (if failure
          (format nil "~A: it signals ~A: ~A" otherwise (condition-type-text failure)
                  (one-line (reported failure "")))
          text))))

(defun condition-type-text (condition)
  (let ((name (class-name (class-of condition))))
    (if (symbolp name) (symbol-text name) "unnamed")))

(defun restart-tree (restart)
  (object "name" (string-downcase (princ-to-string (restart-name restart)))
          "description" (one-line (reported restart ""))
          "reads" (if (restart-reader restart) t :absent)))

(defun nearest-names (condition)
  "Names like the one of which CONDITION says that nothing has it."
  (ignore-errors
   (typecase condition
     ((or unbound-variable undefined-function)
      (let ((symbol (cell-error-name condition)))
        (and symbol
             (symbolp symbol)
             (symbol-package symbol)
             (remove (symbol-text symbol) (nearest-symbols (symbol-text symbol) nil)
                     :test #'string=))))
     (package-error
      (let ((name (package-error-package condition)))
        (and (stringp name) (nearest name (all-package-names))))))))

(defvar *own-frames-alone* nil
  "Whether frames of the implementation, ASDF's among them, are only counted.")

(defun folded-p (frame)
  (and *own-frames-alone* (implementation-frame-p frame)))

(defun traceback-text (type message restarts frames omitted &key notes more)
  "The whole report as SLIME's debugger shows it, innermost frame first. RESTARTS are trees, and
FRAMES pairs of a frame and its tree. MORE is whether there are more at the outer end."
  (with-output-to-string (stream)
    (format stream "~A~%   [Condition of type ~A]~%~{~A~%~}" message type notes)
    (when restarts
      (format stream "~%Restarts:~%")
      (loop for tree in restarts
            for number from 0
            do (format stream " ~D: [~A] ~A~%" number (string-upcase (part tree "name"))
                       (part tree "description"))))
    (unless (every #'folded-p (mapcar #'first frames))
      (format stream "~%Backtrace:~%"))
    (loop for (frame . tree) in frames
          for number from 0
          do (when (and (plusp omitted) (= number *innermost-frames*))
               (format stream "  ... ~D frames are left out ...~%" omitted)
               (incf number omitted))
             (unless (folded-p frame)
               (format stream "  ~D: ~A~@[ at ~A~]~@[:~D~]~%"
                       number (one-line (call-text frame)) (part tree "file")
                       (and (part tree "file") (part tree "line")))))
    (when (and more (not *own-frames-alone*)) (format stream "  ... and more.~%"))))

(defun raised-tree (condition restarts &key (frames (stack-frames)) message cause notes)
  "`Raised' of wire/contract/values.ts, of how things stand now: CONDITION, and RESTARTS for it.
MESSAGE, if any, is told instead of the condition's own. CAUSE is the tree of what was raised
before, where this came of leaving it."
  (multiple-value-bind (told omitted) (shown-frames frames)
    (let ((*file-texts* (list '())))
      (raised-object condition
                     (or message (condition-message condition))
                     (loop for restart in restarts
                           repeat *most-restarts*
                           collect (restart-tree restart))
                     (mapcar (lambda (frame) (cons frame (frame-tree frame))) told)
                     :omitted omitted :notes notes :cause cause))))

(defun raised-object (condition message restarts frames &key (omitted 0) more notes cause)
  "The same, of what it is made of, as `traceback-text' has it."
  (let* ((nearest (nearest-names condition))
         (notes (append notes
                        (and nearest (list (format nil "Nearest: ~{~A~^, ~}." nearest))))))
    (object "type" (type-tree (class-of condition))
            "message" message
            "frames" (array-of (reverse (mapcar #'cdr (remove-if #'folded-p frames :key #'first))))
            "frames_omitted" (+ omitted (count-if #'folded-p frames :key #'first))
            "traceback" (traceback-text (condition-type-text condition)
                                        message restarts frames omitted :notes notes :more more)
            "notes" (if notes (array-of notes) :absent)
            "restarts" (array-of restarts)
            "cause" (if cause (object "how" "context" "exception" cause) :absent))))

;;; What a compiler, or running code by `warn', has said of the code that is evaluated.

(defvar *diagnostics* '()
  "What was said so far, the newest first.")

(defparameter *most-diagnostics* 200
  "Diagnostics that are told; more are counted.")

(defvar *note-warnings* t
  "Whether warnings that nobody handles are diagnostics. Bound to NIL by those who note them with
their places.")

(defun note-diagnostic (tree)
  "Has TREE, a `Diagnostic' of wire/contract/evaluation.ts, told with the answer."
  (push tree *diagnostics*))

(defun severity (warning)
  (let ((redefinition (native-symbol "SB-KERNEL" "REDEFINITION-WARNING")))
    (cond ((and redefinition (typep warning redefinition)) "redefinition")
          ((typep warning 'style-warning) "style_warning")
          (t "warning"))))

(defun note-warning (warning)
  "Takes WARNING down, of which nobody has disposed. Of the user's code it is printed then, as ever;
of the compiler it is told once."
  (when (and *note-warnings* (< (length *diagnostics*) *most-diagnostics*))
    (let ((severity (severity warning)))
      (let ((*running-user-code* nil))
        (note-diagnostic (object "severity" severity
                                 "message" (condition-message warning)
                                 "file" (and *origin* (origin-file *origin*))
                                 "line" (and *origin* (origin-line *origin*))
                                 "column" nil "source" nil)))
      (when (or *compiling* (string= severity "redefinition"))
        (let ((restart (find-restart 'muffle-warning warning)))
          (when restart (invoke-restart restart)))))))
