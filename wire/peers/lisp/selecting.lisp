;;;; Some definitions of a file, found by their names in its text, and loaded each at its place.

(in-package #:imago)

;;; The file is gone through without being read: a symbol of another package,
;;; or code for the reader in what is not asked for, is nobody's business.

(defun form-head (text start)
  "The first token of the list at START of TEXT, in upper case and without a package; NIL where
there is no list."
  (when (and (< start (length text)) (char= (char text start) #\())
    (let* ((*text* text) (*at* (1+ start)) (*starts* nil))
      (skip-blanks)
      (let ((token (string-upcase (skip-token))))
        (values (without-package token) *at*)))))

(defun without-package (token)
  "TOKEN, a symbol as it is written, from behind its last colon on."
  (subseq token (let ((colon (position #\: token :from-end t))) (if colon (1+ colon) 0))))

(defun named-text (text start)
  "The second element of the list at START of TEXT as its parts of a name: a list of tokens,
(\"setf\" \"area\") or (\"area\")."
  (multiple-value-bind (head at) (form-head text start)
    (when head
      (let* ((*text* text) (*at* at) (*starts* nil))
        (skip-blanks)
        (if (eql (text-char) #\()
            (let ((inner (form-head text *at*)))
              (if (string= inner "SETF")
                  (list "SETF" (plain-token (progn (incf *at*) (skip-blanks) (skip-token)
                                                   (skip-blanks) (skip-token))))
                  (list inner)))
            (list (plain-token (skip-token))))))))

(defun plain-token (token)
  "TOKEN, a symbol as it is written, without package, bars and sharp sign, in upper case."
  (string-upcase (remove #\| (string-left-trim "#" (without-package token)))))

(defun shown-name (name)
  "NAME in the form of `named-text' as people write it."
  (format nil "~:[~{~(~A~)~}~;(~{~(~A~)~^ ~})~]" (rest name) name))

(defun asked-name (name)
  "NAME of a caller in the form of `named-text'."
  (if (and (plusp (length name)) (char= (char name 0) #\())
      (named-text (concatenate 'string "(def " name ")") 0)
      (list (plain-token name))))

(defun past-condition (text start)
  "Where the form begins that stands behind #+feature or #-feature at START of TEXT; NIL where
that leaves it out; START where no such thing stands there. And where all of it ends."
  (let* ((*text* text) (*at* start) (*starts* nil))
    (if (and (eql (text-char) #\#) (find (or (text-char 1) #\Space) "+-"))
        (let ((wanted (eql (text-char 1) #\+)))
          (incf *at* 2)
          (skip-blanks)
          (let ((from *at*))
            (walk-form nil)
            (let ((holds (featurep (subseq text from *at*))))
              (skip-blanks)
              (let ((form *at*))
                (walk-form nil)
                (values (and (if wanted holds (not holds)) form) *at*)))))
        (progn (walk-form nil) (values start (max (1+ start) *at*))))))

(defun file-definitions (text)
  "What TEXT defines at its top level: lists of name, start, end, and where the package was set
last, a position or NIL."
  (let ((at 0) (setting '()) (found '()))
    (loop
      (let ((start (next-form-start text at)))
        (when (>= start (length text)) (return (nreverse found)))
        (multiple-value-bind (form end) (past-condition text start)
          (setf at end)
          (let ((head (and form (form-head text form))))
            (cond ((null head))
                  ((member head '("IN-PACKAGE" "IN-READTABLE") :test #'string=)
                   (push form setting))
                  ((eql 0 (search "DEF" head))
                   (push (list (named-text text form) form end setting) found)))))))))

(defun definitions-asked-for (file text names)
  "Those of TEXT that NAMES name, in the order of the text. Signals an error where one of NAMES is
not defined there."
  (let* ((all (file-definitions text))
         (asked (mapcar #'asked-name names))
         (missing (loop for name in names
                        for wanted in asked
                        unless (assoc wanted all :test #'equal) collect name)))
    (when missing
      (error "~A does not define ~{~A~^, ~} at its top level. Nothing was loaded.~
              ~@[ It defines ~{~A~^, ~}.~]"
             file missing
             (let ((known (remove-duplicates (mapcar (lambda (one) (shown-name (first one))) all)
                                             :test #'string=)))
               (or (nearest (first missing) known)
                   (subseq known 0 (min 10 (length known)))))))
    (remove-if-not (lambda (one) (member (first one) asked :test #'equal)) all)))

(defun load-definitions (file text names)
  "Compiles and loads the definitions of FILE that NAMES name, in its package, each at its place."
  (let ((*package* *package*) (*readtable* *readtable*) (done '()))
    (dolist (definition (definitions-asked-for file text names))
      (destructuring-bind (name start end setting) definition
        (declare (ignore name))
        ;; What sets the package before it is obeyed, once.
        (dolist (position (reverse (set-difference setting done)))
          (push position done)
          (eval (read-from-string text t nil :start position)))
        (compile-and-load (subseq text start end)
                          (make-origin file (line-of text start) (1+ start)))))))
