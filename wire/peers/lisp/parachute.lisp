;;;; Tests of Parachute. Its report holds the result of each check.

(in-package #:imago-peer)

(defun parachute (name &rest arguments)
  (apply #'call-named name "PARACHUTE" arguments))

(defun parachute-target (target)
  "The test that TARGET names, by a symbol or as package and name; or a package with tests."
  (when (find-package "PARACHUTE")
    (let ((symbol (symbol-or-nil target)) (package (package-or-nil target)))
      (or (and symbol (symbol-package symbol)
               (parachute "FIND-TEST" symbol (symbol-package symbol)))
          (let ((colon (position #\: target)))
            (and colon
                 (package-or-nil (subseq target 0 colon))
                 (parachute "FIND-TEST" (string-upcase (string-left-trim ":" (subseq target colon)))
                            (package-or-nil (subseq target 0 colon)))))
          (and package (parachute "PACKAGE-TESTS" package) package)))))

(defun call-staying (function)
  "The values of FUNCTION, which runs tests; whatever fails in them, the image goes on."
  (let ((exiting (find-symbol "*EXIT-ON-TEST-FAILURES*" "COMMON-LISP-USER")))
    (progv (and exiting (list exiting)) '(nil)
      (funcall function))))

(defun run-parachute (tests)
  "The report of running TESTS; nothing is printed."
  (call-staying
   (lambda ()
     (parachute "TEST" tests
                (keyword-of "REPORT") (internal "PLAIN" "PARACHUTE")
                (keyword-of "OUTPUT") (make-broadcast-stream)))))

(defun parachute-status-p (result status)
  "Whether RESULT has the STATUS of that name."
  (string= (symbol-name (parachute "STATUS" result)) status))

(defun parachute-type-p (result name)
  (typep result (internal name "PARACHUTE")))

(defun parachute-checks (result)
  "The checks of the test whose RESULT this is, those in groups too, and not those of tests within
it."
  (loop for child in (coerce (parachute "RESULTS" result) 'list)
        append (cond ((parachute-type-p child "TEST-RESULT") '())
                     ((parachute-type-p child "PARENT-RESULT") (parachute-checks child))
                     (t (list child)))))

(defun parachute-name (test)
  "TEST as it is named from another package."
  (format nil "~(~A::~A~)" (package-name (parachute "HOME" test)) (string (parachute "NAME" test))))

(defun parachute-failures (result)
  "Trees for what failed in the test whose RESULT this is; the test itself, where it failed
outside of all checks."
  (let* ((test (parachute "EXPRESSION" result))
         (name (parachute-name test))
         (failed (remove-if-not (lambda (check) (parachute-status-p check "FAILED"))
                                (parachute-checks result))))
    (flet ((tree (failure expression)
             (failure-tree name
                           (or (ignore-errors
                            (string-trim '(#\Newline #\Space)
                                         (parachute "FORMAT-RESULT" failure
                                                    (keyword-of "EXTENSIVE"))))
                           "It failed.")
                           expression
                           (first (ignore-errors (parachute "TESTS" test))))))
      (cond (failed (loop for check in failed
                          collect (tree check (printed-form (parachute "EXPRESSION" check)))))
            ((and (parachute-status-p result "FAILED") (parachute "DESCRIPTION" result))
             (list (tree result nil)))))))

(defun parachute-told (report)
  "The counts of what passed, failed and was skipped by REPORT, and trees for what failed."
  (let* ((all (coerce (parachute "RESULTS" report) 'list))
         (runs (remove-if-not (lambda (result) (parachute-type-p result "TEST-RESULT")) all))
         (checks (remove-if (lambda (result) (parachute-type-p result "PARENT-RESULT")) all))
         (failures (loop for run in runs append (parachute-failures run))))
    (flet ((with-status (status results)
             (count-if (lambda (result) (parachute-status-p result status)) results)))
      (values (list (with-status "PASSED" checks)
                    (max (with-status "FAILED" checks) (length failures))
                    (with-status "SKIPPED" all))
              failures))))

(defun parachute-report (target tests)
  (multiple-value-call #'report-tree "parachute" target (parachute-told (run-parachute tests))))

(defun call-watching-parachute (function)
  "Calls FUNCTION, and returns the reports that Parachute makes in it, in this thread: each result
that is made is put into the one in whose extent that is."
  (let ((all (make-instance (internal "PARENT-RESULT" "PARACHUTE") (keyword-of "EXPRESSION") nil)))
    (progv (list (internal "*PARENT*" "PARACHUTE")) (list all)
      (call-staying function))
    (remove-if-not (lambda (result) (parachute-type-p result "REPORT"))
                   (coerce (parachute "RESULTS" all) 'list))))
