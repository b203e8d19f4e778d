;;;; Names as a caller writes them, and what they stand for. The reader is not used: it would intern
;;;; symbols and run code.

(in-package #:imago-peer)

(define-session-variable *own-listener-package* (find-package "COMMON-LISP-USER")
  "The package in force for what we evaluate: `in-package' there changes it.")

(defun listener-package () (or *look-package* *own-listener-package*))

(defun (setf listener-package) (package)
  (if *look-package*
      (setf *look-package* package)
      (setf *own-listener-package* package)))

(define-symbol-macro *listener-package* (listener-package))

(define-session-variable *own-listener-readtable* nil
  "The readtable in force for what we evaluate in packages that have none of their own.")

(define-session-variable *asked-readtable* '()
  "The package whose readtable was asked for last, Swank's list then, and its entry there.")

(defun package-readtable (package)
  "The readtable that SLIME reads PACKAGE by: that of its entry in `swank:*readtable-alist*'; NIL
where it has none."
  (let ((list swank::*readtable-alist*) (asked *asked-readtable*))
    (unless (and (eq (first asked) package) (eq (second asked) list))
      (let ((entry (find-if (lambda (entry)
                              (and (consp entry)
                                   (typep (car entry) '(or string symbol))
                                   (string= (car entry) (package-name package))))
                            list)))
        (setf asked (list package list entry)
              *asked-readtable* asked)))
    (let ((readtable (cdr (third asked))))
      (and (readtablep readtable) readtable))))

(defun readtable-of (package)
  "The readtable that code in PACKAGE is read by."
  (or (package-readtable package) *own-listener-readtable*))

(defun listener-readtable () (readtable-of (reading-package)))

(define-symbol-macro *listener-readtable* (listener-readtable))

;;; Packages

(defun reading-package ()
  "`*listener-package*', or the usual one where that has been deleted meanwhile."
  (if (package-name *listener-package*) *listener-package* (find-package "COMMON-LISP-USER")))

(defun own-package-p (package)
  "Whether PACKAGE is that of this system, of which nobody is told who does not ask for it."
  (eq package (symbol-package 'own-package-p)))

(defun package-or-nil (name)
  "The package of that name or nickname, in the case as given or in upper case. Nicknames that
only the package in force has count, where the implementation has such."
  (let ((*package* (reading-package)))
    (or (find-package name) (find-package (string-upcase name)))))

(defun package-written (text)
  "The package that TEXT names, in any of the ways in which people write it: SHOP, shop, :shop,
#:shop, |My Shop|; NIL where there is none."
  (let ((name (string-left-trim "#:" text)))
    (or (package-or-nil text)
        (package-or-nil name)
        (and (find #\| name) (package-or-nil (remove #\| name))))))

(defun package-named (text)
  "The same. Ends the look as `not_found' with the nearest names where there is none."
  (or (package-written text)
      (not-found (format nil "package ~A" (one-line text 80))
                 (nearest text (all-package-names)))))

(defun all-package-names ()
  (append (local-nicknames (reading-package))
          (loop for package in (list-all-packages)
                append (cons (package-name package) (copy-list (package-nicknames package))))))

;;; Splitting

(defun ends-name-p (char)
  "Whether CHAR cannot stand in a name without an escape."
  (or (find char "()'\"`,;") (member char '(#\Space #\Newline #\Return #\Tab #\Page))))

(defun in-force-case (letters)
  "LETTERS, a list of conses (CHAR . ESCAPED), as the string that the reader in force would make
of them."
  (let* ((case (readtable-case *listener-readtable*))
         (free (loop for (char . escaped) in letters
                     when (and (not escaped) (both-case-p char)) collect char))
         (change (ecase case
                   (:upcase #'char-upcase)
                   (:downcase #'char-downcase)
                   (:preserve #'identity)
                   (:invert (cond ((every #'upper-case-p free) #'char-downcase)
                                  ((every #'lower-case-p free) #'char-upcase)
                                  (t #'identity))))))
    (map 'string
         (lambda (letter)
           (if (cdr letter) (car letter) (funcall change (car letter))))
         letters)))

(defun name-parts (text)
  "The parts of TEXT between colons, each a list of conses (CHAR . ESCAPED), or :NONE where
nothing is written; and how many colons stand between them. Ends the look as `malformed' where it is
no name."
  (let ((part :none) (parts '()) (colons '()) (bars nil) (index 0) (shown (one-line text 80)))
    (labels ((begin () (when (eq part :none) (setf part '())))
             (take (char escaped) (begin) (push (cons char escaped) part))
             (part-done () (push (if (listp part) (reverse part) part) parts) (setf part :none)))
      (loop while (< index (length text))
            do (let ((char (char text index)))
                 (incf index)
                 (cond ((char= char #\\)
                        (when (= index (length text))
                          (malformed "~A is no name: it ends with a backslash." shown))
                        (take (char text index) t)
                        (incf index))
                       ((char= char #\|) (begin) (setf bars (not bars)))
                       (bars (take char t))
                       ((char= char #\:)
                        (let ((end (or (position #\: text :start index :test #'char/=)
                                       (length text))))
                          (part-done)
                          (push (1+ (- end index)) colons)
                          (setf index end)))
                       ((ends-name-p char)
                        (malformed "~A is no name: ~:[~A~;a blank~] stands in it." shown
                                   (char<= char #\Space) char))
                       (t (take char nil)))))
      (when bars (malformed "~A is no name: a bar has no second one." shown))
      (part-done)
      (values (reverse parts) colons))))

(defun split-name (text)
  "TEXT as a list of symbol name, package name or NIL, and whether internal symbols are meant (two
colons). Ends the look as `malformed' where it is no name. The case of letters outside of |bars| is
changed as the readtable in force does. The package name is \"\" for a keyword; the symbol name is
NIL for a package alone, `shop:'."
  (let ((trimmed (string-trim '(#\Space #\Newline #\Return #\Tab) text)))
    (when (string= trimmed "")
      (malformed "An empty text is no name; the symbol without letters is written ||."))
    (multiple-value-bind (parts colons) (name-parts trimmed)
      (when (or (rest colons) (and colons (> (first colons) 2)))
        (malformed "~A is no name: it has too many colons; one that is part of a name is written ~
                    |:| or \\:."
                   (one-line text 80)))
      (let ((package (and colons (first parts))) (name (first (last parts))))
        (when (and (eq package :none) (eq name :none))
          (malformed "~A is no name." (one-line text 80)))
        (list (if (eq name :none) nil (in-force-case name))
              (cond ((null colons) nil)
                    ((eq package :none) "")
                    (t (in-force-case package)))
              (and colons (= (first colons) 2)))))))

;;; Finding

(defun find-normal-symbol (name package)
  "As `find-symbol', also under the name that the reader would have made of NAME where it
normalizes Unicode."
  (multiple-value-bind (symbol status) (find-symbol name package)
    (if (or status (every (lambda (char) (< (char-code char) 128)) name))
        (values symbol status)
        (find-symbol (normalized-name name) package))))

(defun look-up-name (text package)
  "The symbol that TEXT names, and how it is there: as `find-symbol' has it, or HIDDEN for one
that is not external and was written with one colon, or NIL. Ends the look as `not_found' where the
package is missing."
  (destructuring-bind (name package-name internal) (split-name text)
    (let ((home (cond ((null package-name) (or package (reading-package)))
                      ((string= package-name "") (find-package "KEYWORD"))
                      (t (package-named package-name)))))
      (multiple-value-bind (symbol status) (if name (find-normal-symbol name home) (values nil nil))
        (values symbol
                (if (and status package-name (not internal) (not (eq status :external)))
                    'hidden
                    status))))))

(defun find-named (text &optional package)
  "The symbol that TEXT names, read in PACKAGE (a package; the one in force if NIL), and T; or NIL
and NIL where there is none. Never interns."
  (multiple-value-bind (symbol status) (look-up-name text package)
    (if (member status '(nil hidden))
        (values nil nil)
        (values symbol t))))

(defun symbol-named (text &optional package)
  "The same, or ends the look as `not_found' with the nearest names."
  (multiple-value-bind (symbol status) (look-up-name text package)
    (case status
      ((nil) (not-found (one-line text 200) (nearest-symbols text package)))
      (hidden (not-found (format nil "~A, for the symbol is not external; with two colons it is ~A"
                                  (one-line text 200) (symbol-text symbol))
                          (list (symbol-text symbol))))
      (t symbol))))

;;; Writing

(defun package-word (package)
  "How PACKAGE is written before a colon; the usual one by the nickname that everybody knows it by."
  (if (and (string= (package-name package) "COMMON-LISP-USER")
           (eq (find-package "CL-USER") package))
      "cl-user"
      (token-text (package-name package))))

(defun symbol-text (symbol &optional package)
  "SYMBOL as it is written in PACKAGE, so that `find-named' finds it; left out: with its package, so
that it is found whatever package is in force, for any client can change that. Lisp's own printer
would let the user have a say in it."
  (let ((home (symbol-package symbol)) (name (symbol-name symbol)))
    (cond (package (symbol-label symbol package))
          ((or (null home)
               (eq home (find-package "KEYWORD"))
               (and (eq home (find-package "COMMON-LISP"))
                    (eq (find-symbol name (reading-package)) symbol)))
           (symbol-label symbol home))
          (t (concatenate 'string (package-word home)
                          (if (eq (nth-value 1 (find-symbol name home)) :external) ":" "::")
                          (token-text name))))))

;;; What is like a name that is not there.

(defun distance (one other)
  "How many letters have to be changed, added, left out or swapped with the next to make OTHER of
ONE."
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

(defparameter *nearest-ms* 300
  "How long names that are like another are looked for, in milliseconds.")

(defun most-different (name)
  "How many letters of what is near to NAME may differ."
  (max 1 (floor (length name) 4)))

(defun like-in-length-p (name candidate)
  "Whether CANDIDATE may be near to NAME, by their lengths."
  (and (<= (length name) 100)
       (<= (abs (- (length candidate) (length name))) (most-different name))))

(defun nearest (name candidates &optional (count 5))
  "The COUNT strings of CANDIDATES that are most like NAME, the most alike first; none that is too
far away: of four letters one may differ. Ends early where there are too many."
  (let ((limit (most-different name)) (found '()) (end (deadline-after *nearest-ms*)))
    (loop for candidate in candidates
          until (> (get-internal-real-time) end)
          do (when (like-in-length-p name candidate)
               (let ((distance (distance name candidate)))
                 (when (<= distance limit) (push (cons distance candidate) found)))))
    (let ((sorted (stable-sort (nreverse found) #'< :key #'car)))
      (mapcar #'cdr (subseq sorted 0 (min count (length sorted)))))))

(defun namesakes (name besides)
  "Symbols of that very name in other packages than BESIDES, that stand for something: external
ones first."
  (let ((external '()) (internal '()))
    (dolist (package (list-all-packages))
      (multiple-value-bind (symbol status) (find-symbol name package)
        (when (and status
                   (not (eq package besides))
                   (not (own-package-p package))
                   (eq (symbol-package symbol) package)
                   (not (keywordp symbol))
                   (meaningful-p symbol))
          (if (eq status :external) (push symbol external) (push symbol internal)))))
    (append (nreverse external) (nreverse internal))))

(defun like-named (name package own)
  "The symbols that can be named in PACKAGE, or with OWN those that are at home there, that stand
for something and are most like NAME."
  (let ((symbols (make-hash-table :test 'equal)))
    (do-symbols (symbol package)
      (when (and (like-in-length-p name (symbol-name symbol))
                 (or (not own) (eq (symbol-package symbol) package))
                 (meaningful-p symbol))
        (setf (gethash (symbol-name symbol) symbols) symbol)))
    (loop for near in (nearest name (loop for key being the hash-keys of symbols collect key))
          collect (gethash near symbols))))

(defun nearest-symbols (text package)
  "Names like TEXT of symbols that stand for something, each with its package. Those of the package
that TEXT names come first; where it names none, those of that very name in others."
  (destructuring-bind (name package-name internal) (split-name text)
    (declare (ignore internal))
    (let* ((named (and package-name (string/= package-name "")))
           (home (if named (package-or-nil package-name) (or package (reading-package))))
           (like (and name home (like-named name home named)))
           (same (and name (namesakes name home)))
           (same (subseq same 0 (min 3 (length same)))))
      (mapcar #'symbol-text (if named (append like same) (append same like))))))

;;; What the name of a query stands for: a symbol, a function that is named by a list, a method, a
;;; package, or the value that a handle leads to.

;;; A subject is a list (KIND THING): `symbol' and the symbol; `function' and a list such as (SETF
;;; AREA); `method' and the method; `package' and the package; `value' and any object.

(defun subject-kind (subject) (first subject))
(defun subject-thing (subject) (second subject))

(defun name-tree (text)
  "The names and lists in TEXT. Ends the look as `malformed' where brackets or bars do not match."
  (multiple-value-bind (words fine) (words-of text)
    (if fine
        words
        (malformed "~A is no name: its brackets do not match." (one-line text 80)))))

(defun subject (text)
  "What TEXT names. Ends the look where it names nothing, or is code."
  (let* ((trimmed (string-trim '(#\Space #\Newline #\Return #\Tab) text))
         (bare (cond ((and (> (length trimmed) 2) (string= trimmed "#'" :end1 2))
                      (subseq trimmed 2))
                     ((and (> (length trimmed) 1) (char= (char trimmed 0) #\')) (subseq trimmed 1))
                     (t trimmed))))
    (cond ((handle-p bare) (list 'value (handle-value bare)))
          ((several-words-p bare) (listed-subject bare))
          (t (symbol-subject bare)))))

(defun symbol-subject (text)
  (destructuring-bind (name package-name internal) (split-name text)
    (declare (ignore internal))
    (if (null name)
        (list 'package (package-named package-name))
        (multiple-value-bind (symbol there) (find-named text)
          (cond ((and there (or (keywordp symbol) (roles symbol)))
                 (list 'symbol symbol))
                ((and (null package-name) (package-or-nil name))
                 (list 'package (package-or-nil name)))
                (there
                 (not-found (format nil "~A, for the symbol is there, but it is unbound and names ~
                                         no function or class"
                                    (symbol-text symbol))
                            (remove (symbol-text symbol) (nearest-symbols text nil)
                                    :test #'string=)))
                ((string= package-name "")
                 (not-found (one-line text 200) '()))
                (t (list 'symbol (symbol-named text))))))))

(defun listed-subject (text)
  "What is named by a list, (SETF AREA), or by a list of what a method is for."
  (let* ((items (name-tree text)) (first (first items)))
    (flet ((is (word item) (and (stringp item) (string-equal word item))))
      (cond ((and (stringp first) (char= (char first 0) #\#)) ; not read, so not a name: #.(...)
             (needs-evaluation (format nil "~A is a form, and no name" (one-line text 80))))
            ((and (null (rest items)) (consp first) (is "setf" (first first))
                  (= (length first) 2) (stringp (second first)))
             (setf-subject text (second first)))
            ((and (null (rest items)) (consp first) (cddr first)
                  (or (is "method" (first first)) (is "defmethod" (first first)))
                  (listp (first (last first))))
             (list 'method (method-named text (rest first))))
            ((and (rest items)
                  (or (stringp first) (and (consp first) (is "setf" (first first))))
                  (every #'stringp (butlast (rest items)))
                  (listp (first (last items))))
             (list 'method (method-named text items)))
            ((every #'stringp items)
             (malformed "~A is no name: a blank stands in it." (one-line text 80)))
            (t (needs-evaluation (format nil "~A is a form, and no name" (one-line text 80))))))))

(defun setf-subject (text accessor)
  (let ((symbol (symbol-named accessor)))
    (unless (or (fboundp `(setf ,symbol)) (info-of :setf :expander symbol))
      (not-found (one-line text 200) (and (fboundp symbol) (list (symbol-text symbol)))))
    (list 'function `(setf ,symbol))))

(defun kind-of-value (value)
  "What VALUE is among the things that have names: SYMBOL, PACKAGE, METHOD, CLASS or FUNCTION;
else VALUE. It stays as it is, which `typep' would not warrant."
  (cond ((symbolp value) 'symbol)
        ((packagep value) 'package)
        ((functionp value) 'function)
        ((is-a-p value 'class) 'class)
        ((is-a-p value 'method) 'method)
        (t 'value)))

(defun generic-p (function)
  (and (functionp function) (is-a-p function 'generic-function)))

;;; Methods by name

(defun specializer-text (specializer)
  (if (is-a-p specializer 'class)
      (symbol-text (class-label specializer))
      (format nil "(eql ~A)"
              (form-line (stored specializer "OBJECT" #'swank-mop:eql-specializer-object)
                         400 nil))))

(defun function-name-text (name)
  "A symbol, or a list such as (SETF AREA), with its package."
  (form-line name 400 nil))

(defun method-text (method)
  "METHOD as its definition begins: area :around ((shape circle) factor)."
  (let ((specializers (mapcar #'specializer-text (specializers-of method)))
        (lambda-list (lambda-list-of-method method)))
    (format nil "~A~{ ~A~} (~{~A~^ ~})"
            (function-name-text (name-of-generic (function-of-method method)))
            (mapcar #'form-line (qualifiers-of method))
            (loop for specializer in specializers
                  for parameter = (let ((given (pop lambda-list)))
                                    (if (symbolp given) (bare-text given) "argument"))
                  collect (if (string= specializer "t")
                              parameter
                              (format nil "(~A ~A)" parameter specializer))))))

(defun method-tree (method)
  "The words by which METHOD is told from the others of its function: its qualifiers, and a list
of its specializers."
  (name-tree (format nil "~{~A ~}(~{~A~^ ~})"
                     (mapcar #'form-line (qualifiers-of method))
                     (mapcar #'specializer-text (specializers-of method)))))

(defun alike-p (one other)
  (if (and (stringp one) (stringp other))
      (string-equal (bare-word one) (bare-word other))
      (and (listp one) (listp other)
           (= (length one) (length other))
           (every #'alike-p one other))))

(defun means-p (words specializers)
  "Whether WORDS, a list of specializers or of parameters, are the SPECIALIZERS of a method."
  (and (<= (length specializers) (length words))
       (or (alike-p words specializers)
           (every (lambda (word specializer)
                    (cond ((stringp word) (alike-p specializer "t"))
                          ((= (length word) 2) (alike-p (second word) specializer))))
                  words specializers))))

(defun method-named (text items)
  "The method whose function, qualifiers and specializers ITEMS are."
  (let* ((named (first items))
         (name (if (consp named)
                   `(setf ,(symbol-named (second named)))
                   (symbol-named named)))
         (function (and (fboundp name) (not (macro-or-nil name)) (function-of name)))
         (methods (and (generic-p function) (methods-of function))))
    (or (find-if (lambda (method)
                   (check-deadline)
                   (let ((tree (method-tree method)))
                     (and (alike-p (butlast (rest items)) (butlast tree))
                          (means-p (first (last items)) (first (last tree))))))
                 methods)
        (not-found (one-line text 200)
                   (mapcar #'method-text (subseq methods 0 (min 5 (length methods))))))))
