;;;; Short names for values and for long texts: @ab12.7. The most recently used are kept.

(in-package #:imago)

(defvar *handle-prefix*
  (string-downcase (format nil "~4,'0X" (random #x10000 (make-random-state t))))
  "Tells the handles of this connection from those of any other.")

(defvar *handles* (make-hash-table)
  "By number, a list (VALUE KIND TICK); KIND is :VALUE or :TEXT.")

(defvar *handles-lock* (swank/backend:make-lock :name "handles"))
(defvar *last-handle* 0)
(defvar *handle-tick* 0)

(defparameter *most-handles* 1000
  "Values and texts that are kept.")

(defun oldest-handle ()
  (let (oldest)
    (maphash (lambda (number entry)
               (when (or (null oldest) (< (third entry) (cdr oldest)))
                 (setf oldest (cons number (third entry)))))
             *handles*)
    (car oldest)))

(defun new-handle (value kind)
  (swank/backend:call-with-lock-held
   *handles-lock*
   (lambda ()
     (when (>= (hash-table-count *handles*) *most-handles*)
       (remhash (oldest-handle) *handles*))
     (setf (gethash (incf *last-handle*) *handles*) (list value kind (incf *handle-tick*)))
     (format nil "@~A.~D" *handle-prefix* *last-handle*))))

(defun handle-for (value)
  "A handle for VALUE."
  (new-handle value :value))

(defun handle-for-text (text)
  "A handle that leads to all of TEXT."
  (new-handle text :text))

(defun handle-p (name)
  "Whether NAME is written as a handle is."
  (and (> (length name) 1) (char= (char name 0) #\@) (find #\. name) t))

(defun handle-value (handle)
  "What HANDLE stands for, and its kind. Ends the look as `stale_handle' where it stands for nothing any more."
  (let* ((dot (position #\. handle))
         (prefix (subseq handle 1 dot))
         (number (and dot (parse-integer handle :start (1+ dot) :junk-allowed t))))
    (unless (string= prefix *handle-prefix*)
      (stale-handle handle "It was given out over another connection to an image."))
    (swank/backend:call-with-lock-held
     *handles-lock*
     (lambda ()
       (let ((entry (and number (gethash number *handles*))))
         (unless entry
           (stale-handle handle "It has made room for newer ones, or was never given out."))
         (setf (third entry) (incf *handle-tick*))
         (values (first entry) (second entry)))))))
