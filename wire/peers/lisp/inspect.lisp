;;;; Looking at one value, and at the rest of what was cut.

(in-package #:imago-peer)

(defun remaining-seconds ()
  "Until the deadline; a minute where there is none."
  (if *deadline*
      (max 1/50 (/ (- *deadline* (get-internal-real-time)) internal-time-units-per-second))
      60))

(defun evaluated-value (source call)
  "The first value that SOURCE evaluates to, by the deadline; what is printed meanwhile belongs to
CALL. Ends the look where it raises something."
  (let ((kept *listener-values*)
        (*diagnostics* '())
        (*interrupted* nil)
        (sink (open-sink call)))
    (setf swank::*slime-interrupts-enabled* nil)
    (multiple-value-bind (outcome result)
        (unwind-protect
             (with-streams (sink)
               (call-with-user-code
                (lambda ()
                  (call-as-the-user-has-it
                   (lambda ()
                     (call-in-listener
                      nil (lambda () (evaluate-source source (origin-of source nil nil)))))))))
          (mend-stack)
          (close-sink sink)
          ;; A look is nothing that was typed: what * stands for stays as it was.
          (setf *listener-values* kept))
      (if (equal outcome "done")
          (first (first result))
          (refuse-raised result)))))

(defparameter *user-variables*
  '(*read-base* *read-default-float-format* *read-eval* *print-array* *print-base* *print-case*
    *print-circle* *print-escape* *print-gensym* *print-length* *print-level* *print-lines*
    *print-miser-width* *print-pprint-dispatch* *print-pretty* *print-radix* *print-readably*
    *print-right-margin* *break-on-signals* *macroexpand-hook*)
  "What a look binds for itself, and code of the user's expects as the user has set it.")

(defun call-as-the-user-has-it (function)
  (progv *user-variables* (mapcar (lambda (symbol) (values (value-of symbol))) *user-variables*)
    (funcall function)))

(defun refuse-raised (tree)
  "Ends the look with what was raised: `malformed' where that was said of the text, before any of it
ran."
  (let ((type (argument "name" (rest (argument "type" (rest tree)))))
        (frames (rest (argument "frames" (rest tree)))))
    (if (and (null frames)
             (or (search "reader" type) (string= type "end-of-file")))
        (malformed "~A" (argument "message" (rest tree)))
        (answer (object "type" "raised" "exception" tree)))))

(defun inspected-by-running (source call)
  "What SOURCE evaluates to, as `Inspected', by its own printer."
  (let* ((value (if (handle-p source)
                    (values (handle-value source))
                    (call-with-patience (remaining-seconds)
                                        (lambda () (evaluated-value source call))
                                        (lambda () (timed-out *deadline-ms*)))))
         (tree (inspected-tree value)))
    (loop for tail on (rest tree) by #'cddr
          do (cond ((string= (first tail) "read") (setf (second tail) "evaluated"))
                   ((string= (first tail) "repr")
                    (setf (second tail) (printed-tree value (min 1/2 (remaining-seconds)))))))
    tree))

(define-call "inspect" (expr package evaluate call)
  (let ((*asked-package* (and package (package-named package))))
    (found (if evaluate
               (inspected-by-running expr call)
               (inspected-tree (resolve expr))))))

(make-interruptible "inspect")

;;; The rest of what was cut

(defparameter *piece-limit* (* 64 1024)
  "Characters of one answer.")

(defparameter *piece-items* 1000
  "Items of one answer.")

(defun piece-of-text (text from count whole)
  "COUNT characters of TEXT at most, from FROM on. WHOLE is whether TEXT is all that there is."
  (let* ((start (min from (length text)))
         (end (min (length text) (+ start (min count *piece-limit*)))))
    (object "type" "text"
            "text" (coerce (subseq text start end) 'simple-string)
            "from" from
            "total" (and whole (length text))
            "next" (and (< end (length text)) end))))

(defun piece-of-items (value from count)
  (let* ((total (item-count value))
         (texts (item-texts value from (min count *piece-items*)))
         (end (+ from (length texts)))
         (more (if total
                   (< end total)
                   ;; Nobody has counted; an item beyond the last one tells.
                   (and texts (item-texts value end 1) t))))
    (object "type" "items"
            "items" (array-of texts)
            "from" from
            "total" total
            "next" (and more end))))

(define-call "more" (handle from count)
  (let ((from (max 0 from)) (count (max 1 count)))
    (multiple-value-bind (value kind) (handle-value handle)
      (found
       (cond ((or (eq kind 'text) (stringp value)) (piece-of-text value from count t))
             ((and (member kind '(value items)) (holds-items-p value))
              (piece-of-items value from count))
             (t (multiple-value-bind (text elided) (static-text value *kept-limit*)
                  (piece-of-text text from count (not elided)))))))))
