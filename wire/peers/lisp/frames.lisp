;;;; The stack of a thread as it stands: frames with their places and their locals.

(in-package #:imago-peer)

(defparameter *innermost-frames* 40
  "Frames that are told of the inner end of a stack.")

(defparameter *outermost-frames* 15
  "Frames that are told of the outer end of a longer stack.")

(defparameter *most-locals* 20
  "Locals of one frame that are told.")

(defparameter *local-limit* 200
  "Characters of one local's text.")

;;; What SBCL does not know of a frame, it signals by conditions that are no errors.

(defmacro if-known (form &optional otherwise)
  "The values of FORM, or of OTHERWISE where an implementation does not know enough of a frame."
  `(handler-case ,form
     ((or error #+sbcl sb-di:debug-condition) () ,otherwise)))

;;; Places

(defun place-in-text (text start number)
  "The position in TEXT of the part of that NUMBER of the form at START."
  (subform-start text start (or number 0)))

(defun place-in-buffer (plist form number)
  "File, line and source line of a part of a text that was compiled with PLIST, which Swank or we
have given it; and the text, with the position in it."
  (let* ((text (property plist :emacs-string))
         (position (place-in-text text (or (nth-form text (or form 0)) 0) number))
         (file (property plist :emacs-filename))
         (line (property plist :line))
         (whole (and file (not line) (file-text file))))
    (values file
            (cond (line (+ line (count #\Newline text :end (min position (length text)))))
                  (whole (line-of whole (+ (or (property plist :emacs-position) 1) position -1))))
            (line-text text position)
            text position)))

(defun place-in-source-file (file written starts form number)
  "The same, of a part of a file, which has been changed since where WRITTEN, a universal time, is
not its date."
  (let ((text (and form
                   (eql written (ignore-errors (file-write-date file)))
                   (file-text file))))
    (if text
        (let* ((start (if (and starts (< form (length starts)))
                          (aref starts form)
                          (or (nth-form text form) 0)))
               (position (place-in-text text start number)))
          (values file (line-of text position) (line-text text position) text position))
        (values file nil nil))))

(defun system-file-text-p (file)
  "Whether FILE, a namestring, is one of the implementation's own, as it names them."
  (and (> (length file) 4) (string-equal "SYS:" file :end2 4)))

(defun place-in-system-file (file form number)
  "The same, of a part of one of the implementation's own files, whose dates are of the day they
were installed."
  (let* ((there (native-name file)) (written (and there (ignore-errors (file-write-date there)))))
    (if written (place-in-source-file there written nil form number) (values file nil nil))))

(defun frame-place (frame)
  "The file in which FRAME stands, a namestring, its line, and the text of that; and a text that
this line is part of, with its position in it. Each is NIL where not known."
  (declare (ignorable frame))
  #+sbcl (if-known (compiled-place frame)))

#+sbcl
(defun compiled-place (frame)
  "The same, or an error where nothing is known of FRAME."
  (let* ((location (sb-di:frame-code-location frame))
         (source (sb-di:code-location-debug-source location))
         (plist (sb-c::debug-source-plist source))
         (file (sb-di:debug-source-namestring source))
         (start (or (if-known (sb-debug::maybe-block-start-location location)) location))
         (form (if-known (sb-di::code-location-toplevel-form-offset start)))
         (number (if-known (sb-di::code-location-form-number start))))
    (cond ((stringp (property plist :emacs-string)) (place-in-buffer plist form number))
          ((null file) (values nil nil nil))
          ((system-file-text-p file) (place-in-system-file file form number))
          (t (place-in-source-file file (sb-c::debug-source-created source)
                            (if-known
                             (native ("SB-C" "DEBUG-SOURCE-START-POSITIONS") source))
                            form number)))))

;;; Functions and their locals

(defun function-text (name)
  "NAME, a symbol, a list such as (setf area), or a text, as it is written in the package in force."
  (cond ((stringp name) name)
        ((symbolp name) (symbol-text name (reading-package)))
        ((and (consp name)
              (member (first name) (list :method
                                         (native-symbol "SB-PCL" "FAST-METHOD")
                                         (native-symbol "SB-PCL" "SLOW-METHOD"))))
         (static-text (cons 'method (rest name)) 200))
        (t (static-text name 200))))

(defun local-tree (name value)
  (object "name" name
          "type_name" (let ((class (class-name (class-of value))))
                        (if (symbolp class) (string-downcase (symbol-name class)) "unnamed"))
          "repr" (static-text value *local-limit*)))

#+sbcl
(defun lost-value-p (value)
  "Whether VALUE stands for one that the machine does not have any more."
  (eq value :invalid-value-for-unescaped-register-storage))

#+sbcl
(defun variable-tree (variable frame)
  "The local of FRAME that VARIABLE is, or NIL where its value is lost."
  (let ((value (sb-di:debug-var-value variable frame)))
    (unless (lost-value-p value)
      (local-tree (string-downcase (symbol-name (sb-di:debug-var-symbol variable))) value))))

(defun valid-variables (frame)
  "The variables of FRAME that have a value where it stands, and a name that somebody gave."
  (declare (ignorable frame))
  #+sbcl
  (let ((location (sb-di:frame-code-location frame)))
    (flet ((valid-p (variable)
             (and (sb-di:debug-var-symbol variable)
                  (symbol-package (sb-di:debug-var-symbol variable))
                  (not (native ("SB-DI" "DEBUG-VAR-INFO") variable))
                  ;; CLOS has some of its own in each method.
                  (not (eq (symbol-package (sb-di:debug-var-symbol variable))
                           (find-package "SB-PCL")))
                  (eq (sb-di:debug-var-validity variable location) :valid))))
      (if-known
       (remove-if-not #'valid-p
                      (coerce (sb-di::debug-fun-debug-vars (sb-di:frame-debug-fun frame))
                              'list))))))

#+sbcl
(defun frame-locals (frame)
  "Trees for the variables that FRAME has a value of, and how many more there are."
  (let ((variables (valid-variables frame)))
    (values (loop for variable in variables
                  repeat *most-locals*
                  for tree = (if-known (variable-tree variable frame))
                  when tree collect tree)
            (max 0 (- (length variables) *most-locals*)))))

(defun frame-name (frame)
  "What FRAME runs: a symbol, list or text."
  #+sbcl (sb-di:debug-fun-name (sb-di:frame-debug-fun frame))
  #+ecl (native ("SWANK/ECL" "FRAME-NAME") frame)
  #-(or sbcl ecl) (let ((text (if-known
                               (with-output-to-string (stream)
                                 (swank/backend:print-frame frame stream)))))
                    (one-line (or text "?"))))

(defun generated-name-p (name)
  "Whether NAME is that of a function that CLOS has made by itself while the program ran."
  (let ((first (if (consp name) (first name) name)))
    (and (symbolp first)
         (eq (symbol-package first) (find-package "SB-PCL"))
         (not (member (symbol-name first) '("FAST-METHOD" "SLOW-METHOD") :test #'string=)))))

(defun implementation-frame-p (frame)
  "Whether what FRAME runs is the implementation's own, and not the program's."
  (or (foreign-frame-p (frame-name frame))
      (generated-name-p (frame-name frame))
      #+sbcl
      (if-known
       (let* ((location (sb-di:frame-code-location frame))
              (source (sb-di:code-location-debug-source location))
              (file (sb-di:debug-source-namestring source)))
         (and file (system-file-text-p file)))
       t)))

(defun frame-tree (frame)
  "FRAME as `Frame' of wire/contract/values.ts."
  #+sbcl
  (multiple-value-bind (file line source) (frame-place frame)
    (multiple-value-bind (locals more) (frame-locals frame)
      (object "function" (function-text (frame-name frame))
              "file" file "line" line "source" source
              "locals" (array-of locals) "locals_omitted" more
              "implementation" (if (implementation-frame-p frame) t :absent))))
  #-sbcl
  (object "function" (function-text (frame-name frame)) "file" nil "line" nil "source" nil
          "locals" (array-of '()) "locals_omitted" 0))

(defun brief-frame-tree (frame)
  "The same, without what takes time: its line, and its locals."
  (object "function" (function-text (frame-name frame))
          "file" (frame-file frame) "line" nil "source" nil
          "locals" (array-of '()) "locals_omitted" 0
          "implementation" (if (implementation-frame-p frame) t :absent)))

(defun frame-file (frame)
  "The namestring of the file in which FRAME stands, or NIL."
  (declare (ignorable frame))
  #+sbcl (if-known
          (let ((source (sb-di:code-location-debug-source (sb-di:frame-code-location frame))))
            (or (property (sb-c::debug-source-plist source) :emacs-filename)
                (sb-di:debug-source-namestring source)))))

(defun call-text (frame)
  "The call in FRAME with its arguments, as a backtrace shows it."
  #-sbcl (format nil "(~A)" (function-text (frame-name frame)))
  #+sbcl
  (multiple-value-bind (name arguments)
      (if-known (sb-debug::frame-call frame)
                (values (frame-name frame) '()))
    (format nil "(~A~{ ~A~})"
            (function-text name)
            (mapcar (lambda (argument)
                      (if (typep argument '(satisfies unprintable-p))
                          "?"
                          (static-text argument 60)))
                    (if (listp arguments) arguments '())))))

(defun unprintable-p (value)
  "Whether VALUE stands for an argument that the machine no longer has."
  (let ((type (native-symbol "SB-DEBUG" "UNPRINTABLE-OBJECT")))
    (and type (if-known (typep value type)))))
