;;;; Some definitions of a file, found by their names in its text, and loaded each at its place.

(in-package #:imago-peer)

;;; The file is gone through without being read: a symbol of another package,
;;; or code for the reader in what is not asked for, is nobody's business.

(defun form-head (text start)
  "The first token of the list at START of TEXT, in upper case and without a package, and where it
ends; NIL where there is no list."
  (when (and (< start (length text)) (char= (char text start) #\())
    (let* ((from (or (form-start text (1+ start)) (length text))) (end (token-end text from)))
      (values (without-package (string-upcase (subseq text from end))) end))))

(defun without-package (token)
  "TOKEN, a symbol as it is written, from behind its last colon on."
  (subseq token (let ((colon (position #\: token :from-end t))) (if colon (1+ colon) 0))))

(defun named-text (text start)
  "The second element of the list at START of TEXT as its parts of a name: a list of tokens,
(\"setf\" \"area\") or (\"area\")."
  (multiple-value-bind (head at) (form-head text start)
    (let* ((from (and head (form-start text at)))
           (tree (and from (first (words-of (subseq text from (form-end text from))))))
           (first (if (consp tree) (first tree) tree)))
      (when (stringp first)
        (if (and (consp tree) (string-equal (without-package first) "SETF"))
            (list "SETF" (plain-token (if (stringp (second tree)) (second tree) "")))
            (list (plain-token first)))))))

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

(defun file-definitions (text)
  "What TEXT defines at its top level: lists of name, start, end, and where the package was set
last, a position or NIL."
  (let ((setting '()) (found '()) (end 0))
    (loop for start = (form-start text end)
          while start
          do (setf end (form-end text start))
             (let ((head (form-head text start)))
               (cond ((null head))
                     ((member head '("IN-PACKAGE" "IN-READTABLE") :test #'string=)
                      (push start setting))
                     ((eql 0 (search "DEF" head))
                      (push (list (named-text text start) start end setting) found)))))
    (nreverse found)))

(defun definitions-asked-for (file text names)
  "Those of TEXT that NAMES name, in the order of the text. The work is refused where one of NAMES
is not defined there."
  (let* ((all (file-definitions text))
         (asked (mapcar #'asked-name names))
         (missing (loop for name in names
                        for wanted in asked
                        unless (assoc wanted all :test #'equal) collect name)))
    (when missing
      (refuse "not_found"
              (format nil "~A does not define ~{~A~^, ~} at its top level." file missing)
              :what (format nil "~{~A~^, ~}" missing)
              :nearest (let ((known (remove-duplicates
                                     (mapcar (lambda (one) (shown-name (first one))) all)
                                     :test #'string=)))
                         (or (nearest (first missing) known)
                             (subseq known 0 (min 10 (length known)))))
              :next "Give names as the file defines them, or leave names out to load all of it."))
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
