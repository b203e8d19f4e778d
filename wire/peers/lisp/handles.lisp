;;;; Short names for values and for long texts: @ab12.7. The most recently used are kept.

(in-package #:imago-peer)

(define-session-variable *handle-prefix*
  ;; One short of all of them: a prefix that no connection has is good for telling what is stale.
  (string-downcase (format nil "~4,'0X" (random #xFFFF (make-random-state t))))
  "Tells the handles of this connection from those of any other.")

(defparameter *most-handles* 512
  "Values and texts that are kept.")

(define-session-variable *handles* (make-hash-table)
  "By number, a list (VALUE KIND TICK BYTES). KIND is VALUE for a value itself, ITEMS for what it
holds, to be read on by position, REPR for its static text, and TEXT for a string that is one. Where
BYTES is NIL, VALUE is a weak pointer: what the program itself keeps is still led to.")

(define-session-variable *handle-numbers* (make-weak-table)
  "By value, a property list of kinds and numbers, so that one thing keeps one handle.")

(define-session-variable *handles-lock* (swank/backend:make-lock :name "handles"))
(define-session-variable *last-handle* 0)
(define-session-variable *handle-tick* 0)
(define-session-variable *kept-bytes* 0)

(defun oldest-handle (&optional kept)
  "The number and entry of the one that was not used for longest, of all or of those that are KEPT."
  (let (number oldest)
    (maphash (lambda (key entry)
               (when (and (or (null oldest) (< (third entry) (third oldest)))
                          (or (not kept) (plusp (or (fourth entry) 0))))
                 (setf number key oldest entry)))
             *handles*)
    (values number oldest)))

(defun handled-value (entry)
  "What ENTRY is for, and whether it is there still."
  (if (fourth entry)
      (values (first entry) t)
      (weak-pointer-value (first entry))))

(defun drop-oldest-handle ()
  (multiple-value-bind (number entry) (oldest-handle)
    (destructuring-bind (value kind tick bytes) entry
      (declare (ignore value tick))
      (remhash number *handles*)
      (decf *kept-bytes* (or bytes 0))
      (multiple-value-bind (value there) (handled-value entry)
        (when there
          (unless (remf (gethash value *handle-numbers*) kind)
            (setf (gethash value *handle-numbers*) '()))
          (unless (gethash value *handle-numbers*)
            (remhash value *handle-numbers*)))))))

(defun make-room ()
  "Keeps the oldest values from being collected no more, until there is room for what is kept; but
the newest two."
  (loop while (> *kept-bytes* (most-kept))
        do (let ((entry (nth-value 1 (oldest-handle t))))
             (when (or (null entry) (> (third entry) (- *handle-tick* 2))) (return))
             (decf *kept-bytes* (fourth entry))
             (setf (first entry) (make-weak-pointer (first entry))
                   (fourth entry) nil))))

(defun new-handle (value kind)
  (let ((bytes (weight value)))
    (with-lock (*handles-lock*)
      (let* ((number (getf (gethash value *handle-numbers*) kind))
             (entry (and number (gethash number *handles*))))
        (unless entry
          (when (>= (hash-table-count *handles*) *most-handles*)
            (drop-oldest-handle))
          (setf number (incf *last-handle*)
                entry (list nil kind 0 nil)
                (getf (gethash value *handle-numbers*) kind) number
                (gethash number *handles*) entry))
        (incf *kept-bytes* (- bytes (or (fourth entry) 0)))
        (setf (first entry) value
              (third entry) (incf *handle-tick*)
              (fourth entry) bytes)
        (make-room)
        (format nil "@~A.~D" *handle-prefix* number)))))

(defun weight (value)
  "How many bytes VALUE takes, roughly: of conses and arrays, and what they hold; a few steps far."
  (let ((bytes 0) (left (list value)) (steps 0))
    (loop while left
          do (when (> (incf steps) 200000)
               ;; It goes on; nobody knows how far.
               (return (max bytes (floor (most-kept) 4))))
             (let ((part (pop left)))
               (typecase part
                 (cons (incf bytes 16)
                  (when (typep (cdr part) '(or cons array)) (push (cdr part) left))
                  (when (typep (car part) '(or cons array)) (push (car part) left)))
                 (string (incf bytes (* 4 (array-total-size part))))
                 (array (incf bytes (* 8 (array-total-size part)))
                  (when (and (simple-vector-p part) (< (length part) 1000))
                    (loop for element across part
                          do (when (typep element '(or cons array)) (push element left)))))
                 (hash-table (incf bytes (* 40 (hash-table-count part))))))
          finally (return bytes))))

(defun handle-for (value)
  "A handle for VALUE, the same one as long as it is kept."
  (new-handle value 'value))

(defun handle-for-items (value)
  "A handle for what VALUE holds, which `more' reads by position."
  (new-handle value 'items))

(defun handle-for-static-text (value)
  "A handle for the static text of VALUE, which is made when somebody asks for it."
  (new-handle value 'repr))

(defun handle-for-text (text)
  "A handle that leads to all of TEXT."
  (new-handle text 'text))

(defun handle-p (name)
  "Whether NAME, a string, is written as a handle is."
  (let ((dot (position #\. name)))
    (and dot
         (< 1 dot 10)
         (char= (char name 0) #\@)
         (< (1+ dot) (length name) (+ dot 17))
         (every #'alphanumericp (subseq name 1 dot))
         (every #'digit-char-p (subseq name (1+ dot))))))

(defun handle-value (handle)
  "What HANDLE stands for, and its kind. Ends the look as `stale_handle' where it stands for nothing
any more."
  (unless (handle-p handle)
    (stale-handle handle "It is not written as a handle is."))
  (let* ((dot (position #\. handle))
         (number (parse-integer handle :start (1+ dot))))
    (unless (string= (subseq handle 1 dot) *handle-prefix*)
      (stale-handle handle "It was given out over another connection to an image."))
    (let ((entry (with-lock (*handles-lock*)
                   (let ((entry (gethash number *handles*)))
                     (when entry (setf (third entry) (incf *handle-tick*)))
                     entry))))
      (cond (entry
             (multiple-value-bind (value there) (handled-value entry)
               (unless there
                 (stale-handle handle
                               "It has made room: it was large, and only the handle kept it."))
               (values value (second entry))))
            ((<= 1 number *last-handle*)
             (stale-handle handle (format nil "It has made room; the last ~D are kept."
                                          *most-handles*)))
            (t (stale-handle handle "It was never given out."))))))
