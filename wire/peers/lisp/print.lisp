;;;; Values as text, from what is stored in them: no `print-object', no `describe-object', no pretty
;;;; printer's table. Never longer than asked for, and never more work than what is shown.

(in-package #:imago-peer)

(defparameter *most-items* 100
  "Items that are written of one list, array or instance.")

(defparameter *deepest* 10
  "How far values within values are written.")

;;; The page that is being written. What does not fit leaves by THROW. (One variable holds all of
;;; it: a Lisp with threads has room for a few thousand that are ever bound, for all that is
;;; loaded.)

(defvar *page* nil
  "A vector: text with a fill pointer; its limit; whether something was left out; the values around
the one that is being written, as lists (VALUE PLACE LABEL); those of them that were referred to;
how many items of each value are written; a function of a value that may write it instead, or NIL.")

(defmacro page-text () '(svref *page* 0))
(defmacro page-limit () '(svref *page* 1))
(defmacro page-elided () '(svref *page* 2))
(defmacro page-around () '(svref *page* 3))
(defmacro page-labels () '(svref *page* 4))
(defmacro page-items () '(svref *page* 5))
(defmacro page-writer () '(svref *page* 6))

(defun blank-page (limit items writer)
  (vector (make-array 64 :element-type 'character :adjustable t :fill-pointer 0)
          limit nil '() '() items writer))

(defun elide ()
  "Notes that something is left out."
  (setf (page-elided) t))

(defun put-char (char)
  (when (>= (fill-pointer (page-text)) (page-limit))
    (elide)
    (throw 'page-full nil))
  (vector-push-extend char (page-text) (max 64 (length (page-text)))))

(defun put (&rest texts)
  (dolist (text texts)
    (loop for char across text do (put-char char))))

(defun put-ellipsis ()
  (elide)
  (put "..."))

(defun static-text (value &optional (limit *text-limit*) (items *most-items*) writer)
  "VALUE as text of LIMIT characters at most, and whether something was left out. Runs no user code.
ITEMS are written of each list, array and instance. WRITER may write what stores fields itself: it
is called with such a value, and returns whether it has put it onto the page."
  (let ((*page* (blank-page (max 1 (1- limit)) items writer)) (full t))
    (catch 'page-full
      (put-value value)
      (setf full nil))
    (let ((text (labelled (page-text) (page-labels))))
      (values (if full (concatenate 'string text "…") text)
              (page-elided)))))

(defun labelled (page labels)
  "PAGE as a simple string, with #N= at each place that somebody refers to."
  (with-output-to-string (text)
    (let ((from 0))
      (loop for (place label) in (sort (copy-list labels) #'< :key #'first)
            do (write-string page text :start from :end place)
               (write-string "#" text)
               (write-string (integer-text label) text)
               (write-string "=" text)
               (setf from place))
      (write-string page text :start from))))

(defun put-value (value)
  (check-deadline)
  (typecase value
    (symbol (put (symbol-label value *listener-package*)))
    (number (put (number-text value)))
    (character (put (character-text value)))
    (string (put-string value))
    (t (let ((again (assoc value (page-around) :test #'eq)))
         (cond (again (put-reference again))
               ((eq value *unbound*) (put "#<unbound>"))
               ((eq value *not-made*) (put "#<not made yet>"))
               ((>= (length (page-around)) *deepest*) (put-deep value))
               (t (push (list value (fill-pointer (page-text)) nil) (page-around))
                  (handler-case (put-compound value)
                    (error () (put "#<unreadable>")))
                  (pop (page-around))))))))

(defun put-reference (around)
  (unless (third around)
    (setf (third around) (1+ (length (page-labels))))
    (push (rest around) (page-labels)))
  (put "#" (integer-text (third around)) "#"))

(defun put-deep (value)
  "A value that stands too deep to be written in full."
  (elide)
  (if (or (consp value) (arrayp value))
      (put "#")
      (put "#<" (type-label (class-of value)) ">")))

(defun put-compound (value)
  (cond ((consp value) (put-list value))
        ((vectorp value) (put-vector value))
        ((arrayp value) (put-array value))
        ((hash-table-p value) (put-hash-table value))
        ((packagep value) (put-package value))
        ((pathnamep value) (put "#P") (put-string (namestring value)))
        ((and (page-writer) (shape value) (funcall (page-writer) value)))
        (t (case (shape value)
             (structure (put-structure value))
             (condition (put-fields value))
             (instance (put-instance value))
             (funcallable (put-funcallable value))
             (t (put-opaque value))))))

(defun put-string (string)
  (put-char #\")
  (loop for index from 0 below (length string)
        for char = (char string index)
        do (when (find char "\"\\") (put-char #\\))
           (put-char char))
  (put-char #\"))

;;; Lists

(defun prefix-of (list)
  "What the reader takes for the operator of LIST, and its argument: 'X for (QUOTE X)."
  (and (consp (cdr list))
       (null (cddr list))
       (symbolp (car list))
       (let ((operator (car list)))
         (cond ((eq operator 'quote) "'")
               ((eq operator 'function) "#'")
               ((and (eq operator (native-symbol "SB-INT" "QUASIQUOTE")) operator) "`")))))

(defun put-list (list)
  (let ((prefix (prefix-of list)))
    (if prefix
        (progn (put prefix) (put-value (cadr list)))
        (put-items list))))

(defun put-items (list)
  (put-char #\()
  (loop for count from 0
        for tail = list then (cdr tail)
        do (when (plusp count) (put-char #\Space))
           (when (>= count (page-items))
             (put-ellipsis)
             (return))
           (put-value (car tail))
           (let ((rest (cdr tail)))
             (cond ((null rest) (return))
                   ((or (atom rest) (assoc rest (page-around) :test #'eq))
                    (put " . ")
                    (put-value rest)
                    (return)))))
  (put-char #\)))

;;; Arrays

(defun put-vector (vector)
  (if (bit-vector-p vector)
      (progn (put "#*")
             (dotimes (index (length vector))
               (put-char (if (zerop (bit vector index)) #\0 #\1))))
      (progn (put "#(")
             (put-elements vector 0 (length vector))
             (put-char #\)))))

(defun put-elements (array start count)
  "COUNT elements of ARRAY from the one with the row-major index START on."
  (dotimes (index count)
    (when (plusp index) (put-char #\Space))
    (when (>= index (page-items))
      (put-ellipsis)
      (return))
    (put-value (if (vectorp array)
                   (aref array (+ start index))
                   (row-major-aref array (+ start index))))))

(defun put-array (array)
  (put "#" (integer-text (array-rank array)) "A")
  (put-dimensions array (array-dimensions array) 0))

(defun put-dimensions (array dimensions start)
  (cond ((null dimensions) (put-value (row-major-aref array start)))
        ((null (rest dimensions))
         (put-char #\()
         (put-elements array start (first dimensions))
         (put-char #\)))
        (t (put-char #\()
           (loop with size = (reduce #'* (rest dimensions))
                 for index from 0 below (first dimensions)
                 do (when (plusp index) (put-char #\Space))
                    (when (>= index (page-items))
                      (put-ellipsis)
                      (return))
                    (put-dimensions array (rest dimensions) (+ start (* index size))))
           (put-char #\)))))
