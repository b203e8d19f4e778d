;;;; What the daemon can ask of this image, by name, and how an answer ends early.

(in-package #:imago)

(defvar *calls* (make-hash-table :test 'equal)
  "Functions by the name under which they are asked for; each takes a property list with strings for keys.")

(defvar *deadline* nil
  "When a look has to have ended, in internal real time; NIL where there is no such moment.")

(defun wire-name (symbol)
  "FRAMES-OMITTED as it is written in a message: frames_omitted."
  (substitute #\_ #\- (string-downcase (symbol-name symbol))))

(defun argument (name arguments)
  "What ARGUMENTS has under NAME."
  (loop for (key value) on arguments by #'cddr
        when (string= key name) return value))

(defmacro define-call (name parameters &body body)
  "Defines what is done for the call NAME, a string. PARAMETERS are symbols; what is not given is NIL. The value of BODY
is a tree for `write-json'."
  (let ((arguments (gensym "ARGUMENTS")))
    `(setf (gethash ,name *calls*)
           (lambda (,arguments)
             (declare (ignorable ,arguments))
             (let ,(loop for parameter in parameters
                         collect `(,parameter (argument ,(wire-name parameter) ,arguments)))
               ,@body)))))

;;; The ways in which a look ends, as `Looked' in wire/contract/looks.ts has them. All but FOUND leave from wherever
;;; they are called.

(defun answer (tree)
  "Ends the call with TREE."
  (throw 'answer tree))

(defun found (value)
  (object "type" "found" "value" value))

(defun needs-evaluation (because)
  (answer (object "type" "needs_evaluation" "because" because)))

(defun not-found (what nearest)
  (answer (object "type" "not_found" "what" what "nearest" (array-of nearest))))

(defun malformed (control &rest arguments)
  (answer (object "type" "malformed" "message" (apply #'format nil control arguments))))

(defun stale-handle (handle because)
  (answer (object "type" "stale_handle" "handle" handle "because" because)))

(defun timed-out (milliseconds)
  (answer (object "type" "timed_out" "deadline_ms" milliseconds)))

(defvar *deadline-ms* nil
  "How long the look may take, in milliseconds.")

(defun past-deadline-p ()
  (and *deadline* (> (get-internal-real-time) *deadline*)))

(defun check-deadline ()
  "Ends a look that has taken too long. To be called in every loop over what the program made."
  (when (past-deadline-p) (timed-out *deadline-ms*)))

(defun deadline-after (milliseconds)
  (and milliseconds
       (+ (get-internal-real-time)
          (ceiling (* milliseconds internal-time-units-per-second) 1000))))

(defvar *running-user-code* nil
  "Whether what is signalled now is for the user's own handlers and debugger, and no fault of ours.")

(defun fault (condition)
  (unless *running-user-code*
    (answer (object "fault" (format nil "~A: ~A" (type-of condition) condition)))))

(defun dispatch (name arguments)
  "Answers the call NAME with a JSON text. A fault of ours is the object {\"fault\": ...}; nobody's debugger is entered."
  (json
   (catch 'answer
     (handler-bind ((serious-condition #'fault))
       (let* ((function (gethash name *calls*))
              (*deadline-ms* (argument "deadline_ms" arguments))
              (*deadline* (deadline-after *deadline-ms*)))
         (if function
             (funcall function arguments)
             (object "fault" (format nil "There is no call ~A." name))))))))
