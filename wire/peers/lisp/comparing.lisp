;;;; Whether two values are the same, as `equal' and `equalp' have it. Those recurse over what they
;;;; compare, go round in circles, and call what the program has made the test of a hash table.

(in-package #:imago-peer)

(defparameter *most-compared* 2000000
  "Pairs of parts that are compared for one pair of values.")

(defun same-p (one other &optional (test 'equal))
  "Whether ONE and OTHER are the same by TEST, `equal' or `equalp': T, NIL, or UNKNOWN where that is
too much work, or where only code of the program's could tell."
  (let ((function (if (eq test 'equal) #'equal-or-parts #'equalp-or-parts))
        ;; What is to be compared yet: conses of two values, and vectors of two arrays and an index.
        (left (list (cons one other)))
        (steps 0)
        (same t))
    (loop while left
          do (when (> (incf steps) *most-compared*) (return-from same-p 'unknown))
             (when (zerop (mod steps 1000)) (check-deadline))
             (multiple-value-bind (one other) (next-pair left)
               (if (consp (first left))
                   (pop left)
                   (when (= (incf (svref (first left) 2)) (element-count (svref (first left) 0)))
                     (pop left)))
               (unless (eql one other)
                 (multiple-value-bind (answer parts) (funcall function one other)
                   (case answer
                     ((nil) (return-from same-p nil))
                     (unknown (setf same answer))
                     (parts (setf left (append parts left))))))))
    same))

(defun next-pair (left)
  "The two values that are to be compared next, of what is left."
  (let ((first (first left)))
    (if (consp first)
        (values (car first) (cdr first))
        (values (element (svref first 0) (svref first 2))
                (element (svref first 1) (svref first 2))))))

(defun element-count (array)
  (if (vectorp array) (length array) (array-total-size array)))

(defun element (array index)
  (if (vectorp array) (aref array index) (row-major-aref array index)))

(defun equal-or-parts (one other)
  "T, NIL, or PARTS and what of them has to be the same, too."
  (cond ((consp one)
         (and (consp other)
              (values 'parts (list (cons (car one) (car other)) (cons (cdr one) (cdr other))))))
        ((stringp one) (and (stringp other) (string= one other)))
        ;; None of these has parts that are the program's.
        ((or (bit-vector-p one) (pathnamep one)) (equal one other))))

(defun equalp-or-parts (one other)
  "The same, or UNKNOWN."
  (cond ((consp one) (equal-or-parts one other))
        ((numberp one) (and (numberp other) (= one other)))
        ((characterp one) (and (characterp other) (char-equal one other)))
        ((stringp one)
         (cond ((stringp other) (string-equal one other))
               ((vectorp other) (same-elements one other))))
        ((pathnamep one) (equal one other))
        ((hash-table-p one) (and (hash-table-p other) (tables-alike one other)))
        ((arrayp one) (and (arrayp other) (same-elements one other)))
        ((eq (shape one) 'structure)
         (and (eq (shape other) 'structure)
              (eq (class-of one) (class-of other))
              (values 'parts (loop for (nil . value) in (fields one)
                                   for (nil . other-value) in (fields other)
                                   collect (cons value other-value)))))))

(defun tables-alike (one other)
  "NIL where two hash tables cannot be the same; else their tests would have to run."
  (and (= (hash-table-count one) (hash-table-count other))
       (eq (hash-table-test one) (hash-table-test other))
       (or (zerop (hash-table-count one)) 'unknown)))

(defun same-elements (one other)
  "What of two arrays has to be the same, where they are alike otherwise."
  (cond ((not (and (= (array-rank one) (array-rank other))
                   (if (vectorp one)
                       (= (length one) (length other))
                       (loop for axis below (array-rank one)
                             always (= (array-dimension one axis) (array-dimension other axis))))))
         nil)
        ((zerop (element-count one)) t)
        (t (values 'parts (list (vector one other 0))))))

(defun property (list indicator)
  "As `getf', of a list that the program may have made: it may go round in a circle, or end in an
atom."
  (loop for tail = list then (cddr tail)
        for slow = list then (if (zerop (mod step 2)) (cddr slow) slow)
        for step from 1
        while (and (consp tail) (consp (cdr tail)) (not (and (> step 1) (eq tail slow))))
        do (check-deadline)
           (when (eq (car tail) indicator) (return (cadr tail)))))
