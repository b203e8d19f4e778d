;;;; What a run of tests came to, whoever has run them.

(in-package #:imago-peer)

(defparameter *most-failures* 100
  "Failures that one answer tells.")

(defparameter *reason-limit* 2000
  "Characters of why one test failed.")

(defun failure-tree (test reason expression function)
  "`TestFailure' of wire/contract/reports.ts; FUNCTION is what the test runs, whose place is told."
  (multiple-value-bind (file line) (function-place function)
    (object "test" test
            "reason" (subseq reason 0 (min *reason-limit* (length reason)))
            "expression" expression
            "file" file "line" line)))

(defun function-place (function)
  "File and line of FUNCTION, as Swank finds it; NIL where it does not."
  (let ((location (and (functionp function)
                       (ignore-errors (swank/backend:find-source-location function)))))
    (when (and (consp location) (eq (first location) :location))
      (destructuring-bind (kind &optional name file) (second location)
        (let* ((file (case kind (:file name) (:buffer-and-file file)))
               (position (third location))
               (text (and file (source-file-text file))))
          (when file
            (values file
                    (and text
                         (case (first position)
                           (:position (line-of text (max 0 (1- (second position)))))
                           (:offset (line-of text
                                             (max 0 (+ (second position) (third position) -1))))
                           (t nil))))))))))

(defun report-tree (framework target counts failures)
  "`TestReport'. COUNTS are those of what passed, failed and was skipped; NIL where nobody counted.
Without a check that passed or failed, nobody can say that the tests have passed."
  (destructuring-bind (&optional passed failed skipped) counts
    (object "framework" framework
            "target" target
            "ok" (cond ((or failures (plusp (or failed 0))) :false)
                       ((plusp (or passed 0)) t)
                       (t nil))
            "passed" passed "failed" failed "skipped" skipped
            "failures" (array-of (subseq failures 0 (min *most-failures* (length failures))))
            "omitted" (max 0 (- (length failures) *most-failures*)))))

(defun printed-form (form)
  "FORM as the user's printer writes it, in a line; NIL where that fails."
  (ignore-errors
   (let ((*print-pretty* t) (*print-right-margin* 1000)
         (*print-readably* nil) (*print-length* 20) (*print-level* 8))
     (one-line (prin1-to-string form)))))

(defun symbol-or-nil (text)
  "The symbol that TEXT names, or NIL; a package that is missing is none."
  (let ((found nil))
    ;; What a look would end with is no end here.
    (catch 'answer (setf found (list (find-named text))))
    (first found)))
