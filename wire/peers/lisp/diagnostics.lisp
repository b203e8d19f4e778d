;;;; Diagnostics: what the compiler, and `warn', say of code while it is evaluated.

(in-package #:imago-peer)

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
