;;;; Short names for values and for long texts: @ab12.7. The most recently used are kept.

(in-package #:imago)

(defvar *handle-prefix*
  ;; One short of all of them: a prefix that no connection has is good for telling what is stale.
  (string-downcase (format nil "~4,'0X" (random #xFFFF (make-random-state t))))
  "Tells the handles of this connection from those of any other.")

(defparameter *most-handles* 512
  "Values and texts that are kept.")

(defvar *handles* (make-hash-table)
  "By number, a list (VALUE KIND TICK). KIND is VALUE for a value itself, ITEMS for what it
holds, to be read on by position, REPR for its static text, and TEXT for a string that is one.")

(defvar *handle-numbers* (make-hash-table :test 'eq)
  "By value, a property list of kinds and numbers, so that one thing keeps one handle.")

(defvar *handles-lock* (swank/backend:make-lock :name "handles"))
(defvar *last-handle* 0)
(defvar *handle-tick* 0)

(defun drop-oldest-handle ()
  (let (number oldest)
    (maphash (lambda (key entry)
               (when (or (null oldest) (< (third entry) (third oldest)))
                 (setf number key oldest entry)))
             *handles*)
    (destructuring-bind (value kind tick) oldest
      (declare (ignore tick))
      (remhash number *handles*)
      (unless (remf (gethash value *handle-numbers*) kind)
        (setf (gethash value *handle-numbers*) '()))
      (unless (gethash value *handle-numbers*)
        (remhash value *handle-numbers*)))))

(defun new-handle (value kind)
  (swank/backend:call-with-lock-held
   *handles-lock*
   (lambda ()
     (let ((number (getf (gethash value *handle-numbers*) kind)))
       (unless number
         (when (>= (hash-table-count *handles*) *most-handles*)
           (drop-oldest-handle))
         (setf number (incf *last-handle*)
               (getf (gethash value *handle-numbers*) kind) number
               (gethash number *handles*) (list value kind 0)))
       (setf (third (gethash number *handles*)) (incf *handle-tick*))
       (format nil "@~A.~D" *handle-prefix* number)))))

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
    (let ((entry (swank/backend:call-with-lock-held
                  *handles-lock*
                  (lambda ()
                    (let ((entry (gethash number *handles*)))
                      (when entry (setf (third entry) (incf *handle-tick*)))
                      entry)))))
      (cond (entry (values (first entry) (second entry)))
            ((<= 1 number *last-handle*)
             (stale-handle handle (format nil "It has made room; the last ~D are kept."
                                          *most-handles*)))
            (t (stale-handle handle "It was never given out."))))))
