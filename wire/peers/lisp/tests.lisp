;;;; Tests, run by the framework that knows them: FiveAM, Parachute, or the test operation of ASDF.

(in-package #:imago-peer)

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
                    (multiple-value-call #'add (parachute-told report)))))))
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
                   :next "load_system loads a system of tests with its framework."))
          ((null known)
           (refuse "not_found"
                   (format nil "No test, suite, package with tests or system is called ~A." target)
                   :what target
                   :nearest (suites-like target)
                   :next "Only what is loaded is known: load_system first."))
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
