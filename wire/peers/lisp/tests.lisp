;;;; Tests, run by the framework that knows them: FiveAM, Parachute, or the test operation of ASDF.

(in-package #:imago)

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
  "`TestReport'. COUNTS are those of what passed, failed and was skipped; NIL where nobody counts."
  (destructuring-bind (&optional passed failed skipped) counts
    (object "framework" framework
            "target" target
            "ok" (truth (and (null failures) (member failed '(nil 0))))
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

;;; FiveAM. Its own `run' makes result objects, which are read here; nothing is printed.

(defun fiveam-tests ()
  "The names of all tests and suites that FiveAM knows."
  (let ((names (call-named "TEST-NAMES" "FIVEAM")))
    (remove nil names)))

(defun fiveam-suite-of (name)
  "The name of the suite that the test or suite NAME is in, or NIL."
  (loop for suite in (fiveam-tests)
        for object = (call-named "GET-TEST" "FIVEAM" suite)
        do (when (and (typep object (internal "TEST-SUITE" "FIVEAM"))
                      (gethash name (call-named "TESTS" "FIVEAM" object)))
             (return suite))))

(defun fiveam-target (target)
  "The tests that TARGET names: a test or suite, or a package, whose tests are run that no suite
of it holds."
  (when (find-package "FIVEAM")
    (let ((symbol (symbol-or-nil target)) (package (package-or-nil target)))
      (cond ((and symbol (call-named "GET-TEST" "FIVEAM" symbol)) (list symbol))
            (package
             (let ((own (remove package (fiveam-tests) :key #'symbol-package :test-not #'eq)))
               (remove-if (lambda (name) (member (fiveam-suite-of name) own)) own)))))))

(defun run-fiveam (names)
  "The results of running the tests NAMES, with nothing of the person's last run, nor of how they
want to debug, changed."
  (let ((package "FIVEAM"))
    (flet ((there (&rest names)
             (remove nil (mapcar (lambda (name) (internal name package)) names))))
      (let ((quiet (there "*TEST-DRIBBLE*"))
            (last (there "*!*" "*!!*" "*!!!*"))
            (debugging (there "*ON-ERROR*" "*ON-FAILURE*" "*DEBUG-ON-ERROR*" "*DEBUG-ON-FAILURE*")))
        (progv (append quiet last debugging)
            (append (list (make-broadcast-stream))
                    (mapcar #'symbol-value last)
                    (mapcar (constantly nil) debugging))
          (loop for name in names
                append (call-named "RUN" package name)))))))

(defun fiveam-failure (result)
  (flet ((of (name object) (call-named name "FIVEAM" object)))
    (let* ((test (of "TEST-CASE" result))
           (expression (of "TEST-EXPR" result)))
      (failure-tree (static-text (of "NAME" test) 200)
                    (string-trim '(#\Newline #\Space) (princ-to-string (of "REASON" result)))
                    (and expression (printed-form expression))
                    (ignore-errors (of "TEST-LAMBDA" test))))))

(defun fiveam-report (target names)
  (let ((results (run-fiveam names)))
    (flet ((of-type (name)
             (let ((type (internal name "FIVEAM")))
               (remove-if-not (lambda (result) (typep result type)) results))))
      (let ((failures (of-type "TEST-FAILURE")))
        (report-tree "fiveam" target
                     (list (length (of-type "TEST-PASSED")) (length failures)
                           (length (of-type "TEST-SKIPPED")))
                     (mapcar #'fiveam-failure failures))))))

;;; Parachute. Its report holds the result of each check.

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

(defun run-parachute (tests)
  "The report of running TESTS; nothing is printed, and the image goes on whatever fails."
  (let ((exiting (find-symbol "*EXIT-ON-TEST-FAILURES*" "COMMON-LISP-USER")))
    (progv (and exiting (list exiting)) '(nil)
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

(defun parachute-report (target tests)
  (let* ((report (run-parachute tests))
         (all (coerce (parachute "RESULTS" report) 'list))
         (runs (remove-if-not (lambda (result) (parachute-type-p result "TEST-RESULT")) all))
         (checks (remove-if (lambda (result) (parachute-type-p result "PARENT-RESULT")) all)))
    (flet ((with-status (status results)
             (count-if (lambda (result) (parachute-status-p result status)) results)))
      (let ((failures (loop for run in runs append (parachute-failures run))))
        (report-tree "parachute" target
                     (list (with-status "PASSED" checks)
                           (max (with-status "FAILED" checks) (length failures))
                           (with-status "SKIPPED" all))
                     failures)))))

;;; ASDF

(defun test-operation-p (system)
  "Whether a test operation of SYSTEM could do anything."
  (let ((operation (internal "TEST-OP" "ASDF")))
    (flet ((of (name) (ignore-errors (call-named name "ASDF/COMPONENT" system))))
      (or (assoc operation (of "COMPONENT-IN-ORDER-TO"))
          (of "COMPONENT-INLINE-METHODS")
          (not (eq (class-name (class-of system)) (internal "SYSTEM" "ASDF")))))))

(defun asdf-report (target system)
  "Loads SYSTEM and runs its test operation, of which only an error tells that a test has failed."
  (load-system system nil)
  (unless (test-operation-p system)
    (error "The system ~A defines no test operation; nothing was tested. ~
            A system of its tests may: ~A/tests."
           target (call-asdf "COMPONENT-NAME" system)))
  (let ((failure (handler-case
                     (call-noting-compilation
                      (lambda () (call-asdf "TEST-SYSTEM" system) nil))
                   (error (condition) condition))))
    (report-tree "asdf" target '()
                 (and failure (list (failure-tree (call-asdf "COMPONENT-NAME" system)
                                                  (condition-message failure) nil nil))))))

;;; The work

(defun suites-like (target)
  "Names of tests and systems that are like TARGET."
  (nearest target
           (append (when (find-package "FIVEAM") (mapcar #'symbol-text (fiveam-tests)))
                   (when (find-package "FIVEAM") (mapcar #'symbol-name (fiveam-tests)))
                   (when (find-package "PARACHUTE")
                     (loop for package in (parachute "TEST-PACKAGES")
                           append (cons (package-name package)
                                        (mapcar #'parachute-name
                                                (parachute "PACKAGE-TESTS" package)))))
                   (when (find-package "ASDF") (known-systems)))))

(defun test-frameworks ()
  "By name, whether a framework is there, what finds its tests, and what runs them."
  (list (list "fiveam" (find-package "FIVEAM") #'fiveam-target #'fiveam-report)
        (list "parachute" (find-package "PARACHUTE")
              #'parachute-target #'parachute-report)
        (list "asdf" (find-package "ASDF") #'system-or-nil #'asdf-report)))

(defun tests-found (target frameworks)
  "Those of FRAMEWORKS that know TARGET, each with its tests."
  (loop for (name there find run) in frameworks
        for tests = (and there (funcall find target))
        when tests collect (list name tests run)))

(define-work "tests" (target framework)
  (let* ((asked (remove-if-not (lambda (one) (or (null framework) (string= framework (first one))))
                               (test-frameworks)))
         (found (tests-found target asked))
         ;; A system of the same name is tested by its tests, if they are known.
         (known (or (remove "asdf" found :key #'first :test #'string=) found)))
    (cond ((null (remove nil asked :key #'second))
           (error "~@[~A is not~]~:*~:[No test framework is~;~] loaded in this image. ~
                   load_system loads a system of tests with its framework." framework))
          ((null known)
           (error "No test, suite, package with tests or system is called ~A.~
                   ~@[ Nearest: ~{~A~^, ~}.~] ~
                   Only what is loaded is known: load_system first." target (suites-like target)))
          ((rest known)
           (error "~A is known to ~{~A~^ and ~}. Say which by framework."
                  target (mapcar #'first known)))
          (t (destructuring-bind (name tests run) (first known)
               (declare (ignore name))
               (values '() (list "tests" (call-with-user-tests run target tests))))))))

(defun call-with-user-tests (run target tests)
  (let ((*package* *package*) (*readtable* *readtable*))
    (funcall run target tests)))
