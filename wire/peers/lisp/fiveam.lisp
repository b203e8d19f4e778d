;;;; Tests of FiveAM. Its own `run' makes result objects, which are read here.

(in-package #:imago-peer)

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
                    (ignore-errors (of "TEST-LAMBDA" test))))))

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
                       (ignore-errors (call-named "TEST-LAMBDA" "FIVEAM" test)))))))))

(defun watched-counts (all)
  "How many checks of ALL, `watched's, passed, failed and were skipped; NIL where there is none."
  (when all
    (apply #'mapcar #'+
           (loop for watched in all
                 collect (rest (watched-mark watched))
                 collect (fiveam-counts (watched-results watched))))))
