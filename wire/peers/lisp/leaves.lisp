;;;; Texts of symbols, numbers and characters. The Lisp's own printer asks `print-object' even for
;;;; these, where a program can put methods in its way.

(in-package #:imago-peer)

;;; Symbols, as they are written in a package and read by a standard readtable in the case in force.

(defparameter *plain-signs*
  (let ((signs (make-array 128 :element-type 'bit :initial-element 0)))
    (loop for char across "!$%&*/<=>?@[]^_{}~+-."
          do (setf (sbit signs (char-code char)) 1))
    signs)
  "By its code, whether a sign can stand in a symbol's name without an escape.")

;; Readers change the case of letters that are not escaped, as their readtables say.

(defun written-case (name upper lower)
  "NAME, a string, as it is written for the readtable in force; NIL where its case has to be
escaped. UPPER and LOWER are whether it has letters of that case."
  (ecase (readtable-case *listener-readtable*)
    (:upcase (and (not lower) (string-downcase name)))
    (:downcase (and (not upper) name))
    (:preserve name)
    (:invert (cond ((and upper lower) name)
                   (upper (string-downcase name))
                   (t (string-upcase name))))))

(defun like-a-number-p (name)
  "Whether NAME could be read as a number, now or in some Lisp (section 2.3.1.1 of the standard)."
  (let ((last (1- (length name))))
    (and (some #'digit-char-p name)
         (or (digit-char-p (char name 0)) (find (char name 0) "+-.^_"))
         (not (find (char name last) "+-"))
         (loop for index from 0 to last
               for char = (char name index)
               always (or (digit-char-p char)
                          (find char "+-/.^_")
                          ;; A letter marks a number where no other letter is next to it.
                          (and (alpha-char-p char)
                               (not (letter-at-p name (1- index)))
                               (not (letter-at-p name (1+ index)))))))))

(defun letter-at-p (name index)
  (and (< -1 index (length name)) (alpha-char-p (char name index))))

(defun unescaped-token (name)
  "NAME, a string, as part of a symbol without any escape; NIL where it needs one."
  (let ((name (coerce name 'simple-string))
        (signs *plain-signs*)
        (upper nil) (lower nil) (digit nil) (dots-only t))
    (declare (type simple-string name) (type simple-bit-vector signs))
    (loop for char across name
          do (unless (char= char #\.) (setf dots-only nil))
             (cond ((upper-case-p char) (setf upper t))
                   ((lower-case-p char) (setf lower t))
                   ((digit-char-p char) (setf digit t))
                   ((< (char-code char) 128)
                    (when (zerop (sbit signs (char-code char))) (return-from unescaped-token nil)))
                   ((not (alphanumericp char)) (return-from unescaped-token nil))))
    (and (not dots-only)
         (not (and digit (like-a-number-p name)))
         (written-case name upper lower))))

(defparameter *longest-name* 10000
  "Characters of a name that are written.")

(defun token-text (name)
  "NAME, a string, as part of a symbol: in bars where it has to be."
  (if (> (length name) *longest-name*)
      (concatenate 'string (whole-token (subseq name 0 *longest-name*)) "…")
      (whole-token name)))

(defun whole-token (name)
  (or (unescaped-token name)
      (with-output-to-string (text)
        (write-char #\| text)
        (loop for char across name
              do (when (find char "|\\") (write-char #\\ text))
                 (write-char char text))
        (write-char #\| text))))

(defun symbol-label (symbol &optional (package *listener-package*))
  "SYMBOL as it is written in PACKAGE."
  (let* ((name (symbol-name symbol))
         (home (symbol-package symbol))
         (token (token-text name)))
    (cond ((null home) (concatenate 'string "#:" token))
          ((eq home (find-package "KEYWORD")) (concatenate 'string ":" token))
          ((and (package-name package)  ; it may have been deleted
                (multiple-value-bind (found there) (find-symbol name package)
                  (and there (eq found symbol))))
           token)
          (t (concatenate 'string
                          (token-text (package-name home))
                          (if (eq (nth-value 1 (find-symbol name home)) :external) ":" "::")
                          token)))))

;;; Numbers

(defparameter *longest-integer* 8192
  "Bits of an integer that is written out: the time for that grows with the square of its length.")

(defun integer-text (integer)
  (if (> (integer-length integer) *longest-integer*)
      (concatenate 'string "#<" (if (minusp integer) "negative " "") "integer of "
                   (integer-text (integer-length integer)) " bits>")
      ;; SBCL writes integers, and nothing but integers, without asking `print-object'.
      (let ((*print-base* 10) (*print-radix* nil) (*print-pretty* nil) (*print-readably* nil))
        (prin1-to-string integer))))

(defun float-text (float)
  #+sbcl (cond ((native ("SB-EXT" "FLOAT-INFINITY-P") float)
                (format nil "#<~:[positive~;negative~] infinity>" (minusp float)))
               ((native ("SB-EXT" "FLOAT-NAN-P") float) "#<not a number>")
               ((zerop float)
                (digits-text float 0 "0" (minusp (float-sign float))))
               (t (multiple-value-bind (point digits)
                      (native ("SB-IMPL" "FLONUM-TO-DIGITS") (abs float))
                    (digits-text float point digits (minusp float)))))
  #-sbcl (with-standard-io-syntax
           (let ((*print-readably* nil)) (prin1-to-string float))))

(defun digits-text (float point digits negative)
  "DIGITS, of which POINT stand before the point, as FLOAT is written."
  (let ((marker (float-marker float)) (count (length digits)))
    (flet ((zeros (number) (make-string number :initial-element #\0))
           (joined (&rest parts) (apply #'concatenate 'string (if negative "-" "") parts)))
      (cond ((string= digits "0") (joined "0.0" (exponent-text marker 0)))
            ((and (< 0 point count) (<= point 7))
             (joined (subseq digits 0 point) "." (subseq digits point) (exponent-text marker 0)))
            ((<= count point 7)
             (joined digits (zeros (- point count)) ".0" (exponent-text marker 0)))
            ((<= -2 point 0)
             (joined "0." (zeros (- point)) digits (exponent-text marker 0)))
            (t (joined (subseq digits 0 1) "." (if (> count 1) (subseq digits 1) "0")
                       (exponent-text (or marker "e") (1- point))))))))

(defun float-marker (float)
  "The letter that tells the format of FLOAT; NIL for that which is read where there is none."
  (typecase float
    (single-float nil)
    (double-float "d")
    (short-float "s")
    (t "l")))

(defun exponent-text (marker exponent)
  (if marker
      (concatenate 'string marker (integer-text exponent))
      ""))

(defun number-text (number)
  (etypecase number
    (integer (integer-text number))
    (ratio (concatenate 'string (integer-text (numerator number)) "/"
                        (integer-text (denominator number))))
    (float (float-text number))
    (complex (concatenate 'string "#C(" (number-text (realpart number)) " "
                          (number-text (imagpart number)) ")"))))

(defun character-text (char)
  (let ((name (and (or (not (graphic-char-p char)) (char= char #\Space)) (char-name char))))
    (concatenate 'string "#\\" (or name (string char)))))
