;;;; Tests, run by the framework that knows them.

(in-package #:imago-peer)

;;; What a run of tests came to, whoever has run them.

(defparameter *most-failures* 100
  "Failures that one answer tells.")

(defparameter *reason-limit* 2000
  "Characters of why one test failed.")

(defun failure-tree (test reason expression function &optional name)
  "`TestFailure' of wire/contract/evaluation.ts; FUNCTION is what the test runs. Its place is told,
of a test of FiveAM's by its NAME: what it is compiled from has no place in its file."
  (multiple-value-bind (file line) (function-place function)
    (when (and file name)
      (setf line (line-of-test name (or (source-file-text file) ""))))
    (object "test" test
            "reason" (subseq reason 0 (min *reason-limit* (length reason)))
            "expression" expression
            "file" file "line" line)))

(defun line-of-test (name text)
  "The line of TEXT on which the test NAME, a symbol, of FiveAM's is defined, or NIL."
  (loop with end = 0
        for start = (form-start text end)
        while start
        do (when (and (member (form-head text start) '("TEST" "DEF-TEST") :test #'equal)
                      (equal (first (definition-name text start "COMMON-LISP-USER"))
                             (symbol-name name)))
             (return (line-of text start)))
           (setf end (form-end text start))))

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

;;; Tests of FiveAM. Its own `run' makes result objects, which are read here.

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

(defun fiveam-test-of-name (target)
  "A list of the one test or suite that TARGET names without its package, where there is one."
  (unless (find #\: target)
    (let ((found (remove (string-upcase target) (fiveam-tests)
                         :key #'symbol-name :test-not #'string=)))
      (when (= (length found) 1) found))))

(defun fiveam-target (target)
  "The tests that TARGET names: a test or suite, or a package, whose tests are run that no suite
of it holds."
  (when (find-package "FIVEAM")
    (let ((symbol (symbol-or-nil target)) (package (package-or-nil target)))
      (cond ((and symbol (call-named "GET-TEST" "FIVEAM" symbol)) (list symbol))
            ((fiveam-test-of-name target))
            (package
             (let ((own (remove package (fiveam-tests) :key #'symbol-package :test-not #'eq)))
               (remove-if (lambda (name) (member (fiveam-suite-of name) own)) own)))))))

(defun call-apart-from-fiveam (dribble function)
  "The values of FUNCTION, which runs tests, with nothing of the person's last run, nor of how they
want to debug, changed. What FiveAM prints goes to DRIBBLE, a destination for `format'."
  (flet ((there (&rest names)
           (remove nil (mapcar (lambda (name) (internal name "FIVEAM")) names))))
    (let ((output (there "*TEST-DRIBBLE*"))
          (last (there "*!*" "*!!*" "*!!!*"))
          (debugging (there "*ON-ERROR*" "*ON-FAILURE*" "*DEBUG-ON-ERROR*" "*DEBUG-ON-FAILURE*")))
      (progv (append output last debugging)
          (append (list dribble)
                  (mapcar #'symbol-value last)
                  (mapcar (constantly nil) debugging))
        (funcall function)))))

(defun run-fiveam (names)
  "The results of running the tests NAMES; nothing is printed."
  (call-apart-from-fiveam
   (make-broadcast-stream)
   (lambda ()
     (loop for name in names append (call-named "RUN" "FIVEAM" name)))))

(defun fiveam-failure (result)
  (flet ((of (name object) (call-named name "FIVEAM" object)))
    (let* ((test (of "TEST-CASE" result))
           (expression (of "TEST-EXPR" result)))
      (failure-tree (static-text (of "NAME" test) 200)
                    (string-trim '(#\Newline #\Space) (princ-to-string (of "REASON" result)))
                    (and expression (printed-form expression))
                    (ignore-errors (of "TEST-LAMBDA" test))
                    (of "NAME" test)))))

(defun results-of-type (name results)
  (let ((type (internal name "FIVEAM")))
    (remove-if-not (lambda (result) (typep result type)) results)))

(defun fiveam-counts (results)
  "How many of RESULTS passed, failed and were skipped."
  (mapcar (lambda (name) (length (results-of-type name results)))
          '("TEST-PASSED" "TEST-FAILURE" "TEST-SKIPPED")))

(defun fiveam-report (target names)
  (let ((results (run-fiveam names)))
    (report-tree "fiveam" target (fiveam-counts results)
                 (mapcar #'fiveam-failure (results-of-type "TEST-FAILURE" results)))))

;;; Tests that somebody else's code runs, whose results it keeps. FiveAM writes a mark for each
;;; check before it puts the result where the earlier ones of the test are: so a stream that it
;;; writes to sees them all but the last of each test, and of that the mark.

(defparameter *marks* '((#\. 1 0 0) (#\f 0 1 0) (#\X 0 1 0) (#\s 0 0 1))
  "What FiveAM writes for a check, with the counts that it stands for.")

(define-record watched
  test
  mark                                  ; an entry of `*marks*'
  results)                              ; of the checks before that

(defun running-in-fiveam (name)
  "What FiveAM's own variable of that NAME has, while it runs a test in this thread; else NIL."
  (let ((symbol (internal name "FIVEAM")))
    (and symbol (boundp symbol) (symbol-value symbol))))

(defun call-watching-fiveam (function)
  "Calls FUNCTION, and returns what the tests came to that FiveAM ran in it, in this thread: a list
of `watched's. Of a test that ran twice the last run counts."
  (let ((watched '()) (before "") (destination (symbol-value (internal "*TEST-DRIBBLE*" "FIVEAM"))))
    (flet ((watch (text)
             (let ((test (running-in-fiveam "CURRENT-TEST"))
                   (mark (and (= 1 (length text)) (assoc (char text 0) *marks*))))
               ;; A test may be called X.
               (when (and test mark (string/= before "Running test "))
                 (let ((known (find test watched :key (lambda (one) (watched-test one)))))
                   (unless known
                     (push (setf known (make-watched test nil nil)) watched))
                   (setf (watched-mark known) mark
                         ;; FiveAM strings its lists together later.
                         (watched-results known) (copy-list (running-in-fiveam "RESULT-LIST")))))
               (setf before text))
             (if (eq destination t)
                 (write-string text)
                 (format destination "~A" text))))
      (let ((stream (swank/backend:make-output-stream #'watch)))
        (set-buffer-size stream 1)
        (call-apart-from-fiveam stream function)
        (finish-output stream))
      (reverse watched))))

(defun watched-failures (watched)
  "Trees for what failed in the test of WATCHED."
  (destructuring-bind (char passed failed skipped) (watched-mark watched)
    (declare (ignore passed skipped))
    (let ((test (watched-test watched)))
      (append (mapcar #'fiveam-failure
                      (reverse (results-of-type "TEST-FAILURE" (watched-results watched))))
              (when (plusp failed)
                (list (failure-tree
                       (static-text (call-named "NAME" "FIVEAM" test) 200)
                       (format nil "~:[A check failed~;It signalled an error~]. What FiveAM ~
                                    printed says more; so does run_tests of this test."
                               (char= char #\X))
                       nil
                       (ignore-errors (call-named "TEST-LAMBDA" "FIVEAM" test))
                       (call-named "NAME" "FIVEAM" test))))))))

(defun watched-counts (all)
  "How many checks of ALL, `watched's, passed, failed and were skipped; NIL where there is none."
  (when all
    (apply #'mapcar #'+
           (loop for watched in all
                 collect (rest (watched-mark watched))
                 collect (fiveam-counts (watched-results watched))))))

;;; Tests of Parachute. Its report holds the result of each check.

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

(defun parachute-results (report)
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
  (multiple-value-call #'report-tree "parachute" target (parachute-results (run-parachute tests))))

(defun call-watching-parachute (function)
  "Calls FUNCTION, and returns the reports that Parachute makes in it, in this thread: each result
that is made is put into the one in whose extent that is."
  (let ((all (make-instance (internal "PARENT-RESULT" "PARACHUTE") (keyword-of "EXPRESSION") nil)))
    (progv (list (internal "*PARENT*" "PARACHUTE")) (list all)
      (call-staying function))
    (remove-if-not (lambda (result) (parachute-type-p result "REPORT"))
                   (coerce (parachute "RESULTS" all) 'list))))

;;; Tests, run by the framework that knows them: FiveAM, Parachute, or the test operation of ASDF.

;;; ASDF: the operation is the system's own code, and most often says nothing but what it prints.
;;; What FiveAM and Parachute count in it is seen without anything of theirs being changed.

(defun asdf-symbol-p (symbol)
  "Whether SYMBOL is one of ASDF's own."
  (let* ((home (symbol-package symbol)) (name (and home (package-name home))))
    (and name (or (string= name "ASDF") (eql 0 (search "ASDF/" name))))))

(defun own-test-operation-p (system)
  "Whether somebody has said what testing SYSTEM is, and not ASDF, for which it is nothing."
  (let ((operation (call-asdf "MAKE-OPERATION" (internal "TEST-OP" "ASDF"))))
    (some (lambda (method)
            (let ((specializer (second (swank-mop:method-specializers method))))
              (not (and (typep specializer 'class)
                        (or (eq specializer (find-class t))
                            (asdf-symbol-p (class-name specializer)))))))
          (compute-applicable-methods (fdefinition (internal "PERFORM" "ASDF"))
                                      (list operation system)))))

(defun tested-with (system)
  "What ASDF does before it tests SYSTEM, as SYSTEM itself asks for it: the systems that it tests,
and whether there is something else."
  (let ((systems '()) (more nil) (test (internal "TEST-OP" "ASDF")))
    (loop for (operation . dependencies) in (call-named "COMPONENT-IN-ORDER-TO" "ASDF/COMPONENT"
                                                        system)
          when (eq operation test)
            do (loop for (first-operation . names) in dependencies
                     do (if (eq first-operation test)
                            (dolist (name names)
                              (let ((other (ignore-errors (call-asdf "FIND-SYSTEM" name nil))))
                                (if other (push other systems) (setf more t))))
                            (setf more t))))
    (values (reverse systems) more)))

(defun tested-systems (system)
  "SYSTEM and all that are tested with it; and whether a test operation of them does anything."
  (let ((found '()) (anything nil))
    (labels ((take (system)
               (unless (member system found)
                 (push system found)
                 (multiple-value-bind (others more) (tested-with system)
                   (when (or more (own-test-operation-p system)) (setf anything t))
                   (mapc #'take others)))))
      (take system))
    (values (reverse found) anything)))

(defun call-watching-frameworks (function)
  "Calls FUNCTION. Values: the counts of the checks that passed, failed and were skipped in it by
frameworks that we know, or NIL where there were none; and trees for what failed."
  (let ((counts '()) (failures '()))
    (flet ((add (some-counts some-failures)
             (when some-counts
               (setf counts (if counts (mapcar #'+ counts some-counts) some-counts)
                     failures (append failures some-failures))))
           (there-p (name package)
             (let ((symbol (internal name package))) (and symbol (boundp symbol)))))
      (when (there-p "*TEST-DRIBBLE*" "FIVEAM")
        (let ((inner function))
          (setf function
                (lambda ()
                  (let ((watched (call-watching-fiveam inner)))
                    (add (watched-counts watched) (mapcan #'watched-failures watched)))))))
      (when (there-p "*PARENT*" "PARACHUTE")
        (let ((inner function))
          (setf function
                (lambda ()
                  (dolist (report (call-watching-parachute inner))
                    (multiple-value-call #'add (parachute-results report)))))))
      (funcall function))
    (values counts failures)))

(defun asdf-report (target system)
  "Loads SYSTEM and runs its test operation. Where no framework that we know has counted checks in
it, only an error tells that a test has failed."
  (multiple-value-bind (systems anything) (tested-systems system)
    (unless anything
      (refuse "not_found"
              (format nil "The system ~A defines no test operation: there is nothing to test it by."
                      (call-asdf "COMPONENT-NAME" system))
              :what target
              :next (format nil "A system of its tests may: ~A/tests."
                            (call-asdf "COMPONENT-NAME" system))))
    ;; With them come the frameworks.
    (dolist (system systems) (load-system system nil)))
  (let ((failure nil))
    (multiple-value-bind (counts failures)
        (call-watching-frameworks
         (lambda ()
           (handler-case (call-noting-compilation (lambda () (call-asdf "TEST-SYSTEM" system)))
             (error (condition) (setf failure condition)))))
      (report-tree "asdf" target counts
                   (append failures
                           (when failure
                             (list (failure-tree (call-asdf "COMPONENT-NAME" system)
                                                 (condition-message failure) nil nil))))))))

;;; The work

(defun suites-like (target)
  "Names of tests and systems that are like TARGET."
  (nearest target
           (append (when (find-package "FIVEAM") (mapcar #'symbol-text (fiveam-tests)))
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

(defun other-frameworks ()
  "For people: which frameworks are loaded whose tests are not run here, and what runs them; or
NIL."
  (flet ((loaded-p (package)
           (some (lambda (name) (internal name package))
                 '("RUN" "RUN-TESTS" "RUN-SUITE" "RUN-PACKAGE-TESTS" "DO-TESTS" "FUNCALL-TEST"))))
    (let ((loaded (remove-if-not #'loaded-p '("ROVE" "FIASCO" "RT" "SB-RT" "PROVE" "LISP-UNIT"
                                              "LISP-UNIT2" "CLUNIT" "CLUNIT2" "STEFIL"))))
      (and loaded
           (format nil "Loaded: ~{~A~^, ~}, whose tests run_tests knows only as those of an ASDF ~
                        system: give its name, or run them by eval_expr." loaded)))))

(define-work "tests" (target framework)
  (let* ((asked (remove-if-not (lambda (one) (or (null framework) (string= framework (first one))))
                               (test-frameworks)))
         (found (tests-found target asked))
         ;; A system of the same name is tested by its tests, if they are known.
         (known (or (remove "asdf" found :key #'first :test #'string=) found)))
    (cond ((null (remove nil asked :key #'second))
           (refuse "not_found"
                   (format nil "~:[No test framework is~;~:*~A is not~] loaded in this image."
                           framework)
                   :what (or framework target)
                   :next (or (other-frameworks)
                             "load_system loads a system of tests with its framework.")))
          ((null known)
           (refuse "not_found"
                   (format nil "No test, suite, package with tests or system is called ~A." target)
                   :what target
                   :nearest (suites-like target)
                   :next (or (other-frameworks)
                             "Only what is loaded is known: load_system first.")))
          ((rest known)
           (refuse "malformed"
                   (format nil "~A is known to ~{~A~^ and ~}." target (mapcar #'first known))
                   :what target :next "Say which by framework."))
          (t (destructuring-bind (name tests run) (first known)
               (declare (ignore name))
               (values '() (list "tests" (call-with-user-tests run target tests))))))))

(defun call-with-user-tests (run target tests)
  (let ((*package* *package*) (*readtable* *readtable*))
    (funcall run target tests)))
