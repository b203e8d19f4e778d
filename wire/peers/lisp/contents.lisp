;;;; What values hold, by position: elements, entries, fields; and how many there are.

(in-package #:imago-peer)

(defparameter *counted-length* 20000
  "Conses of a list that are counted. Counting more would cost more than looking at what is shown.")

(defparameter *item-limit* 200
  "Characters of one item in an answer.")

;;; Lists

(defun list-length-of (list)
  "How many elements LIST has, or NIL where it is circular, dotted, or longer than is counted; and
what its last conses end in: NIL, an atom, CIRCULAR or UNKNOWN."
  (let ((slow list) (count 0))
    (loop for tail = list then (cdr tail)
          while (consp tail)
          do (incf count)
             (when (evenp count) (setf slow (cdr slow)))
             (cond ((and (> count 1) (eq slow (cdr tail)) (consp slow))
                    (return-from list-length-of (values nil 'circular)))
                   ((> count *counted-length*)
                    (return-from list-length-of (values nil 'unknown))))
          finally (return (values (if (null tail) count nil) tail)))))

(defun map-list-items (function list start count)
  "Calls FUNCTION with the texts of COUNT items of LIST at most from START on; a dotted end is one."
  (let ((tail list))
    (loop for index from 0 below start
          while (consp tail)
          do (when (zerop (mod index 1000)) (check-deadline))
             (setf tail (cdr tail)))
    (loop repeat count
          while tail
          do (cond ((consp tail)
                    (funcall function (item-text (car tail)))
                    (setf tail (cdr tail)))
                   (t (funcall function (concatenate 'string ". " (item-text tail)))
                      (setf tail nil))))))

(defun item-text (value &optional (limit *item-limit*))
  (values (static-text value limit)))

;;; Hash tables, whose own functions for finding keys are never called

(defun map-entries (function table)
  "Calls FUNCTION with each key and value of TABLE until it returns true. Takes no lock."
  (let ((steps 0))
    (with-hash-table-iterator (next table)
      (loop (multiple-value-bind (more key value) (next)
              (unless more (return nil))
              (when (zerop (mod (incf steps) 1000)) (check-deadline))
              (when (funcall function key value) (return t)))))))

(defun pair-text (name value separator)
  "NAME SEPARATOR VALUE; NAME, a string, has half the room at most."
  (let ((name (cut name (floor *item-limit* 2))))
    (concatenate 'string name separator
                 (item-text value (max 20 (- *item-limit* (length name) (length separator)))))))

(defun map-entry-items (function table start count)
  (let ((index 0) (end (+ start count)))
    (map-entries (lambda (key value)
                   (when (<= start index)
                     (funcall function (pair-text (item-text key (floor *item-limit* 2))
                                                  value " => ")))
                   (>= (incf index) end))
                 table)))

;;; All kinds

(defun holds-items-p (value)
  "Whether VALUE is something of which the parts can be told apart by position."
  (typecase value
    (null nil)
    (symbol nil)
    ((or number character string) nil)
    (cons t)
    (array t)
    (hash-table t)
    (t (or (held-list value) (fields-shown-p value)))))

(defun held-list (value)
  "What VALUE, a function, keeps apart from fields: the values of a closure, the methods of a
generic function."
  (and (functionp value)
       (if (and (eq (shape value) 'funcallable) (is-a-p value 'generic-function))
           (methods-stored value)
           (closed-over value))))

(defun fields-shown-p (value)
  "Whether VALUE is looked at by its fields: classes and packages have what says more of them."
  (and (shape value)
       (not (packagep value))
       (not (is-a-p value 'class))))

(defun item-count (value)
  "How many items VALUE holds; NIL where that is not known."
  (cond ((consp value)
         (multiple-value-bind (length end) (list-length-of value)
           (cond (length)
                 ((member end '(circular unknown)) nil)
                 (t (1+ (conses-of value))))))
        ((vectorp value) (length value))
        ((arrayp value) (array-total-size value))
        ((hash-table-p value) (hash-table-count value))
        ((held-list value) (length (held-list value)))
        ((fields-shown-p value) (length (fields value)))
        (t 0)))

(defun conses-of (list)
  (loop for tail = list then (cdr tail)
        while (consp tail)
        count t))

(defun item-texts (value start count)
  "The texts of COUNT items of VALUE at most, from START on: elements; `key => value' of a hash
table; `slot = value' of what has slots."
  (let ((texts '()))
    (flet ((take (text) (push text texts)))
      (cond ((consp value) (map-list-items #'take value start count))
            ((arrayp value)
             (loop for index from start below (min (+ start count) (item-count value))
                   do (check-deadline)
                      (take (item-text (if (vectorp value)
                                           (aref value index)
                                           (row-major-aref value index))))))
            ((hash-table-p value) (map-entry-items #'take value start count))
            ((held-list value)
             (map-list-items #'take (held-list value) start count))
            ((fields-shown-p value)
             (loop for (name . held) in (nthcdr start (fields value))
                   repeat count
                   do (take (pair-text (token-text (field-name name)) held " = "))))))
    (nreverse texts)))
