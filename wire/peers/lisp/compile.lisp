;;;; Code that is compiled or expanded, with what the compiler says of it.

(in-package #:imago-peer)

;;; Swank's hooks tell what any of its compilers says as `compiler-condition', with a place in the
;;; file that is compiled. Source text is compiled as a file of its own, so a place in that is one
;;; in the text.

(defparameter *note-limit* 2000
  "Characters of what a compiler says at once.")

(defun note-severity (note)
  "The severity of Swank's NOTE, as wire/contract/evaluation.ts names it."
  (case (swank/backend:severity note)
    (:error "error")
    (:read-error "read_error")
    ((:style-warning :early-deprecation-warning) "style_warning")
    (:redefinition "redefinition")
    (:note "note")
    (t "warning")))

(defun note-position (note)
  "The file that NOTE is about and where in it, counted from 0; or NIL."
  (let ((location (swank/backend:location note)))
    (when (and (consp location) (eq (first location) :location))
      (destructuring-bind (&optional buffer position &rest more) (rest location)
        (declare (ignore more))
        (when (and (consp buffer) (consp position) (member (first buffer) '(:file :buffer)))
          (case (first position)
            (:position (values (second buffer) (max 0 (1- (or (second position) 1)))))
            (:offset (values (second buffer) (or (third position) 0)))))))))

(defun noted-form (note)
  "The text of the form that NOTE is about, where that was no text but made by a program."
  (let ((location (swank/backend:location note)))
    (and (consp location)
         (consp (second location))
         (eq (first (second location)) :source-form)
         (one-line (second (second location))))))

(defun form-text (text position)
  "What stands in TEXT from POSITION to the end of the form that begins there, in a line."
  (one-line (subseq text position (form-end text (or (form-start text position) position)))))

(defun text-column (text position)
  (let ((newline (position #\Newline text :end position :from-end t)))
    (- position (or newline -1))))

(defun token-around (text position)
  "Where the token of TEXT begins that POSITION is in or behind; POSITION where there is none. A
reader tells how far it has read, which is the end of what it could not."
  (let ((text (simple-text text)) (index (or (enclosing-form-start text position) 0)))
    (loop
      (multiple-value-bind (kind start end) (next-token text index)
        (cond ((or (null kind) (> start position)) (return position))
              ((< position end) (return start))
              ;; Right behind it: a name has been read to its end, a parenthesis has not begun.
              ((and (= position end)
                    (or (member kind '(:sharp :close))
                        (and (not (member kind '(:open :line-comment :block-comment)))
                             (not (eql (nth-value 1 (next-token text end)) end)))))
               (return start)))
        (setf index end)))))

(defun enclosing-form-start (text position)
  "Where the top-level form of TEXT begins that POSITION is in."
  (loop with start = nil
        for next = (form-start text 0) then (form-start text (form-end text next))
        while (and next (<= next position))
        do (setf start next)
        finally (return start)))

(defun diagnostic-at (severity message text position &key file (line 1))
  "A `Diagnostic' about POSITION of TEXT, whose first line is LINE of FILE."
  (let* ((position (min position (length text)))
         (position (if (string= severity "read_error") (token-around text position) position)))
    (object "severity" severity
            "message" message
            "file" file
            "line" (+ line (line-of text position) -1)
            "column" (text-column text position)
            "source" (form-text text position))))

(defun diagnostic-nowhere (severity message &optional file form)
  (object "severity" severity "message" message
          "file" file "line" nil "column" nil "source" form))

(defun compiler-message (condition)
  "What CONDITION says, without the stream that a failure to read it speaks of."
  (let* ((text (condition-message condition))
         (body (if (eql 0 (search "READ error during" text))
                   (string-left-trim '(#\Newline #\Space)
                                     (subseq text (or (search (format nil "~%~%") text) 0)))
                   text))
         (end (if (eq body text) nil (search (format nil "~%~%") body)))
         (said (reader-said (subseq body 0 end))))
    (subseq said 0 (min *note-limit* (or (search " on #<" said) (length said))))))

(defun note-diagnosed (note place)
  "A diagnostic of what NOTE says, and whether it was about a place. PLACE is a function of a
severity, a message, a file and a position there; see `file-placer'."
  (let* ((severity (note-severity note))
         (message (compiler-message (swank/backend:original-condition note))))
    (multiple-value-bind (file position) (note-position note)
      (let ((placed (and position (funcall place severity message file position))))
        (values (or placed (diagnostic-nowhere severity message nil (noted-form note)))
                (and placed t))))))

(defun file-placer ()
  "Makes diagnostics about places in source files; each file is read once."
  (let ((texts '()))
    (lambda (severity message file position)
      (let ((known (or (assoc file texts :test #'string=)
                       (first (push (cons file (source-file-text file)) texts)))))
        (if (cdr known)
            (diagnostic-at severity message (cdr known) position :file file)
            (diagnostic-nowhere severity message file))))))

(defun call-with-notes (take function)
  "The values of FUNCTION. TAKE is called for each note of a compiler meanwhile, with the note and
whether it is certain; an error that passes by in the user's own code may be none of the
compiler's, until it says so itself by its condition. Where TAKE says T, what the compiler would
print is not printed."
  (let ((taken '()) (waiting '()))
    (labels ((note (note)
               (let ((condition (swank/backend:original-condition note)))
                 (if (typep condition '(and error (not reader-error)))
                     (push (cons condition note) waiting)
                     (take-note condition note))))
             (take-note (condition note)
               (when (call-with-our-code (lambda () (funcall take note)))
                 (push condition taken)))
             (certain (condition)
               (let ((known (assoc (real-condition condition) waiting)))
                 (when known
                   (setf waiting (remove known waiting))
                   (take-note (car known) (cdr known)))))
             (muffle (condition)
               ;; Swank signals a warning first to whoever may muffle it, and tells of it then.
               (when (member (real-condition condition) taken)
                 (let ((restart (find-restart 'muffle-warning condition)))
                   (when restart (invoke-restart restart))))))
      (handler-bind ((swank/backend:compiler-condition #'note)
                     (warning #'muffle))
        (call-hearing-compiler
         #'certain #'muffle
         (lambda () (swank/backend:call-with-compilation-hooks function)))))))

(defun call-loading-quietly (function)
  "The values of FUNCTION, which loads what was compiled just before: that its macros were made by
then is no news."
  (let ((redefinition (native-symbol "SB-KERNEL" "REDEFINITION-WITH-DEFMACRO")))
    (handler-bind ((warning (lambda (warning)
                              (when (and redefinition (typep warning redefinition))
                                (muffle-warning warning)))))
      (let ((*compile-verbose* nil) (*compile-print* nil) (*load-verbose* nil))
        (funcall function)))))

(defun call-noting-compilation (function &key (place (file-placer)) quietly)
  "The values of FUNCTION. What a compiler says meanwhile is told as diagnostics, and not printed
where its place is known; where QUIETLY, nowhere."
  (let ((previous (native-symbol "SWANK/SBCL" "*PREVIOUS-COMPILER-CONDITION*"))
        (*note-warnings* nil))
    (flet ((take (note)
             (multiple-value-bind (diagnostic placed) (note-diagnosed note place)
               ;; What is expanded twice is said twice.
               (unless (member diagnostic *diagnostics* :test #'equal)
                 (note-diagnostic diagnostic))
               (or placed quietly)))
           (run () (call-loading-quietly function)))
      (progv (and previous (list previous)) '(nil)
        (if quietly
            (call-past-errors (lambda () (call-with-notes #'take #'run)))
            (call-with-notes #'take #'run))))))

;;; Text

(defun unreadable-form (source)
  "The condition that reading SOURCE ends with, where the form begins that cannot be read, and what
in it: how far the reader had come. NIL where all can be, as far as can be told without interning or
running anything."
  (with-input-from-string (stream source)
    (let ((start 0))
      (loop (setf start (next-form-start source (file-position stream)))
            (when (>= start (length source)) (return nil))
            (handler-case (let ((*read-suppress* t)) (read stream))
              (end-of-file (condition) (return (values condition start start)))
              (reader-error (condition)
                (return (values condition start (file-position stream))))
              ;; A reader macro of the user's that was not made for this.
              (error () (return nil)))))))

(defun temporary-source (source)
  "Writes SOURCE to a file of its own, and returns its namestring."
  (let ((name (or (native ("SWANK/SBCL" "TEMP-FILE-NAME"))
                  (format nil "/tmp/~36R~36R" (random (expt 36 10) (make-random-state t))
                          (get-internal-real-time)))))
    (with-open-file (stream name :direction :output :if-exists :error
                                 :external-format :utf-8)
      (write-string source stream))
    name))

(defun compile-and-load (source origin)
  "Compiles SOURCE and loads it. Errors of the compiler are told; what loading raises is raised."
  (let ((name (temporary-source source)) (compiled nil))
    (flet ((place (severity message file position)
             (declare (ignore file))
             (diagnostic-at severity message source position
                            :file (origin-file origin) :line (origin-line origin))))
      (unwind-protect
           (progn
             (setf compiled (call-noting-compilation
                             (lambda () (compile-temporary name source origin))
                             ;; The compiler would name a file that nobody has heard of.
                             :place #'place :quietly t))
             (if compiled
                 (call-loading-quietly (lambda () (load compiled)))
                 (note-diagnostic
                  (diagnostic-nowhere "error" "The compiler gave up: nothing was loaded."
                                      (origin-file origin)))))
        (ignore-errors (delete-file name))
        (ignore-errors (delete-file (or compiled (compile-file-pathname name))))))))

(defun unreadable-text (condition source position origin)
  "A diagnostic of what CONDITION of the reader says of what stands at POSITION of SOURCE."
  (diagnostic-at "read_error"
                 (if (typep condition 'end-of-file)
                     "The text ends within the form that begins here."
                     (syntax-text condition))
                 source position :file (origin-file origin) :line (origin-line origin)))

(define-work "compile" (source file line)
  (let ((origin (origin-of source file line)))
    (multiple-value-bind (condition start position) (unreadable-form source)
      (declare (ignore start))
      (if condition
          (progn (note-diagnostic (unreadable-text condition source position origin))
                 (values '() '()))
          (let ((seen (call-seeing-definitions (lambda () (compile-and-load source origin)))))
            (values '() (list "loaded" (loaded-tree (origin-file origin) seen))))))))

(defun syntax-text (condition)
  "What is wrong with a text by CONDITION of the reader, without the stream it was read from."
  (let ((text (reader-said (condition-message condition))))
    (one-line (subseq text 0 (or (search (format nil "~%~%") text) (search " on #<" text)))
              *note-limit*)))

;;; Macro forms, expanded and not run. Reading and expanding them run code all the same.

(defparameter *expansion-limit* 20000
  "Characters of an expansion that are told at once.")

(defun second-form-start (source start)
  "Where in SOURCE a second form begins behind that at START, or NIL. Nothing is interned or run for
it; what that cannot tell is NIL."
  (ignore-errors
   (with-input-from-string (stream source :start start)
     (let ((*read-suppress* t)) (read stream))
     (let ((rest (next-form-start source (file-position stream))))
       (and (< rest (length source)) rest)))))

(defun the-form (source)
  "The one form that SOURCE holds; the work is refused where that is none or several."
  (check-syntax source)
  (let* ((start (next-form-start source 0))
         (second (and (< start (length source)) (second-form-start source start))))
    (cond ((>= start (length source))
           (refuse "malformed" "There is no form to expand: the text holds none."
                   :next "Give one form, such as (when a b)."))
          (second
           (refuse "malformed"
                   (format nil "The text holds more than one form: the second begins at ~A."
                           (form-place source second))
                   :next "Expand one form at a time.")))
    (with-input-from-string (stream source)
      (read-next stream source start))))

(defun expansion-text (form)
  "FORM as SLIME prints an expansion, under the settings that a person has made there."
  (let ((settings (native-symbol "SWANK" "*MACROEXPAND-PRINTER-BINDINGS*")))
    (flet ((text ()
             (let ((*print-readably* nil) (*print-right-margin* (or *print-right-margin* 100)))
               (with-output-to-string (stream) (write form :stream stream :pretty t)))))
      (if (and settings (boundp settings))
          (progv (mapcar #'car (symbol-value settings)) (mapcar #'cdr (symbol-value settings))
            (text))
          (text)))))

(defun expansion-tree (form expanded)
  "`Shown' of wire/contract/values.ts for what a form was expanded to."
  (object "repr" (text-tree (expansion-text form) :limit *expansion-limit*)
          "type" (type-tree (class-of form))
          "preview" (if expanded :absent "no macro form: this is the form as it was read")))

(define-work "expand" (source fully)
  (let ((form (the-form source)))
    (multiple-value-bind (once changed) (macroexpand-1 form)
      (let* ((expansion (if fully (swank/backend:macroexpand-all form) once))
             (expanded (or changed (and fully (not (eq (same-p expansion form) t))))))
        ;; The expansion is shown as it is printed here, in place of a value.
        (values '() (list "values" (array-of (list (expansion-tree expansion expanded)))))))))
