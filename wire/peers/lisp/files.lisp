;;;; Source files, read without being held by what is no file: a caller may name anything.

(in-package #:imago-peer)

(defparameter *longest-file* (* 8 1024 1024)
  "Bytes of a source file that is read.")

(defun native-name (pathname)
  "PATHNAME, or what a namestring of Lisp's names, as the system names it; NIL where it is logical
and stands for no file."
  (handler-case
      (let ((physical (merge-pathnames (translate-logical-pathname pathname))))
        #+sbcl (sb-ext:native-namestring physical)
        #-sbcl (namestring physical))
    (error () nil)))

(defun octets-text (octets)
  "OCTETS as UTF-8, or as Latin-1 where they are not."
  #+sbcl (handler-case (sb-ext:octets-to-string octets :external-format :utf-8)
           (error () (sb-ext:octets-to-string octets :external-format :latin-1)))
  #-sbcl (handler-case (swank/backend:utf8-to-string octets)
           (error () (map 'string #'code-char octets))))

(defun not-plain (file)
  (format nil "~A is no plain file" file))

(defun too-long (file size)
  (format nil "~A is too long to be read: ~D bytes" file size))

(defun first-octets (stream size)
  (let ((octets (make-array size :element-type '(unsigned-byte 8))))
    (subseq octets 0 (read-sequence octets stream))))

#+sbcl
(defun opened-text (file)
  "As `read-plain-file'. What is opened is what is looked at: a pipe in its place would wait for a
writer."
  (let ((number nil))
    (unwind-protect
         (let* ((flags (logior sb-posix:o-rdonly sb-posix:o-nonblock sb-posix:o-noctty))
                (facts (sb-posix:fstat (setf number (sb-posix:open file flags))))
                (size (sb-posix:stat-size facts)))
           (cond ((not (sb-posix:s-isreg (sb-posix:stat-mode facts))) (values nil (not-plain file)))
                 ((> size *longest-file*) (values nil (too-long file size)))
                 (t (octets-text
                     (first-octets (sb-sys:make-fd-stream number :element-type '(unsigned-byte 8)
                                                                 :buffering :full)
                                   size)))))
      (when number (ignore-errors (sb-posix:close number))))))

(defun read-plain-file (file)
  "The text of FILE, a native name; or NIL and why there is none."
  (handler-case
      #+sbcl (opened-text file)
      #-sbcl
      (let ((kind (si:file-kind file t)))
        (cond ((null kind) (values nil (format nil "there is no file ~A" file)))
              ((not (eq kind :file)) (values nil (not-plain file)))
              (t (with-open-file (stream file :element-type '(unsigned-byte 8))
                   (let ((size (file-length stream)))
                     (if (> size *longest-file*)
                         (values nil (too-long file size))
                         (octets-text (first-octets stream size))))))))
    #+sbcl
    (sb-posix:syscall-error (condition)
      (values nil (if (= (sb-posix:syscall-errno condition) sb-posix:enoent)
                      (format nil "there is no file ~A" file)
                      (format nil "~A cannot be read: error ~D" file
                              (sb-posix:syscall-errno condition)))))
    (error () (values nil (format nil "~A cannot be read" file)))))

(defun source-file-text (file)
  "The text of FILE: a pathname, or a string as the system or as Lisp writes the name of a file. Or
NIL and why there is none: only plain files are read, up to `*longest-file*'."
  (multiple-value-bind (text why-not)
      (if (stringp file)
          (read-plain-file file)
          (values nil "it stands for no file"))
    (let ((native (and (null text) (native-name file))))
      (if (and native (not (equal native file)))
          (read-plain-file native)
          (values text why-not)))))

;;; One look, or one stack that is taken down, reads a file once

(defvar *file-texts* nil
  "What was read in this look: a list of lists (FILE TEXT WHY-NOT).")

(defmacro with-file-texts (&body body)
  "Reads each file once in BODY."
  `(let ((*file-texts* (list '()))) ,@body))

(defun file-text (file)
  "As `source-file-text', but a simple string, and once for each look."
  (let ((known (assoc file (rest *file-texts*) :test #'equal)))
    (unless known
      (multiple-value-bind (text why-not) (source-file-text file)
        (setf known (list file (and text (coerce text 'simple-string)) why-not))
        (when *file-texts* (push known (rest *file-texts*)))))
    (values (second known) (third known))))

(defun file-date (file)
  "When FILE, a native name, was written, as a universal time; NIL where that cannot be told."
  (ignore-errors (file-write-date #+sbcl (sb-ext:parse-native-namestring file) #-sbcl file)))
