;;;; Names as a caller writes them: read without the reader, so that nothing is interned and nothing runs.

(in-package #:imago)

(defvar *listener-package* (find-package "COMMON-LISP-USER")
  "The package in force for what we evaluate: `in-package' there changes it.")

(defvar *listener-readtable* *readtable*
  "The readtable in force for what we evaluate.")

(defun package-or-nil (name)
  "The package of that name or nickname, in the case as given or in upper case."
  (or (find-package name) (find-package (string-upcase name))))

(defun package-named (name)
  "The same, or ends the look as `not_found' with the nearest names."
  (or (package-or-nil name)
      (not-found (format nil "package ~A" name) (nearest name (all-package-names)))))

(defun all-package-names ()
  (loop for package in (list-all-packages)
        append (cons (package-name package) (copy-list (package-nicknames package)))))

(defun split-name (text)
  "TEXT as a list of symbol name, package name or NIL, and whether internal symbols are meant (two colons). Ends the look
as `malformed' where it is no name. Case is that of the standard readtable: letters outside of |bars| are upper case."
  (let ((parts (list (make-string-output-stream))) (colons 0) (bars nil) (count 0))
    (loop with index = 0
          while (< index (length text))
          do (let ((char (char text index)))
               (cond ((and bars (char= char #\|)) (setf bars nil))
                     ((and bars (char= char #\\) (< (1+ index) (length text)))
                      (write-char (char text (incf index)) (first parts)))
                     (bars (write-char char (first parts)))
                     ((char= char #\|) (setf bars t) (incf count))
                     ((and (char= char #\\) (< (1+ index) (length text)))
                      (write-char (char text (incf index)) (first parts)))
                     ((char= char #\:)
                      (incf colons)
                      (unless (and (> index 0) (char= (char text (1- index)) #\:))
                        (push (make-string-output-stream) parts)))
                     ((find char "()'\"`,; ") (malformed "~A is no name: ~A stands in it." text (string char)))
                     (t (write-char (char-upcase char) (first parts))))
               (incf index)
               (incf count)))
    (when (or bars (> colons 2) (> (length parts) 2) (zerop count))
      (malformed "~A is no name." text))
    (let ((name (get-output-stream-string (first parts)))
          (package (and (second parts) (get-output-stream-string (second parts)))))
      (list name package (= colons 2)))))

(defun find-named (text &optional package)
  "The symbol that TEXT names, read in PACKAGE (a package; the one in force if NIL), and T; or NIL and NIL where there is
none. Never interns."
  (destructuring-bind (name package-name internal) (split-name text)
    (let ((home (cond ((null package-name) (or package *listener-package*))
                      ((string= package-name "") (find-package "KEYWORD"))
                      (t (package-named package-name)))))
      (multiple-value-bind (symbol status) (find-symbol name home)
        (if (and status
                 (or internal (null package-name) (string= package-name "") (eq status :external)))
            (values symbol t)
            (values nil nil))))))

(defun symbol-named (text &optional package)
  "The same, or ends the look as `not_found' with the nearest names."
  (multiple-value-bind (symbol there) (find-named text package)
    (if there
        symbol
        (not-found text (nearest-symbols text package)))))

(defun symbol-text (symbol)
  "SYMBOL as it is written in the package in force, by the standard printer, which no user code can reach."
  (with-standard-io-syntax
    (let ((*package* *listener-package*) (*print-case* :downcase) (*print-readably* nil))
      (prin1-to-string symbol))))

;;; What is like a name that is not there.

(defun distance (one other)
  "How many letters have to be changed, added, left out or swapped with the next to make OTHER of ONE."
  (let* ((width (1+ (length other)))
         (before (make-array width :initial-element 0))
         (last (make-array width))
         (this (make-array width)))
    (dotimes (column width) (setf (aref last column) column))
    (loop for row from 1 to (length one)
          do (setf (aref this 0) row)
             (loop for column from 1 below width
                   for same = (char-equal (char one (1- row)) (char other (1- column)))
                   do (setf (aref this column)
                            (min (1+ (aref last column))
                                 (1+ (aref this (1- column)))
                                 (+ (aref last (1- column)) (if same 0 1))))
                      (when (and (> row 1) (> column 1)
                                 (char-equal (char one (1- row)) (char other (- column 2)))
                                 (char-equal (char one (- row 2)) (char other (1- column))))
                        (setf (aref this column)
                              (min (aref this column) (1+ (aref before (- column 2)))))))
             (rotatef before last this))
    (aref last (length other))))

(defun nearest (name candidates &optional (count 5))
  "The COUNT strings of CANDIDATES that are most like NAME, the most alike first; none that is too far away."
  (let ((limit (max 2 (floor (length name) 3))) (found '()))
    (dolist (candidate candidates)
      (when (<= (abs (- (length candidate) (length name))) limit)
        (let ((distance (distance name candidate)))
          (when (<= distance limit) (push (cons distance candidate) found)))))
    (let ((sorted (sort found #'< :key #'car)))
      (mapcar #'cdr (subseq sorted 0 (min count (length sorted)))))))

(defun nearest-symbols (text package)
  "Names like TEXT of symbols that stand for something, as they are written in the package in force."
  (destructuring-bind (name package-name internal) (split-name text)
    (declare (ignore internal))
    (let ((home (or (and package-name (package-or-nil package-name)) package *listener-package*))
          (symbols (make-hash-table :test 'equal)))
      (do-symbols (symbol home)
        (when (meaningful-p symbol)
          (setf (gethash (symbol-name symbol) symbols) symbol)))
      (loop for near in (nearest name (loop for key being the hash-keys of symbols collect key))
            collect (symbol-text (gethash near symbols))))))

(defun meaningful-p (symbol)
  "Whether SYMBOL stands for a variable, function, class or type."
  (or (boundp symbol) (fboundp symbol) (find-class symbol nil)))
