;;; suite.el --- how SLIME's own tests are begun, beside what they bring  -*- lexical-binding: t -*-

;; The Lisp is the one that SLIME starts, with a second door: see door.lisp.
(setq slime-lisp-implementations
      `((sbcl ("sbcl" "--eval" "(require :sb-posix)"
               "--load" ,(expand-file-name "door.lisp" (file-name-directory load-file-name))))))

;; The first test begins once Imago is there, if it is to be there.
(defun imago-slime-await ()
  (remove-hook 'slime-connected-hook #'imago-slime-await)
  (let ((ready (getenv "IMAGO_SLIME_READY"))
        (tries 0))
    (while (and (not (file-exists-p ready)) (< (setq tries (1+ tries)) 1200))
      (accept-process-output nil 0.05))))
(add-hook 'slime-connected-hook #'imago-slime-await)

;; At a terminal, `slime-batch-test' runs its tests by `ert', which would show them in a buffer.
(unless noninteractive
  (defun imago-slime-run (selector)
    (let* ((told '())
           (stats (ert-run-tests
                   selector
                   (lambda (event &rest arguments)
                     (when (eq event 'test-ended)
                       (pcase-let ((`(,_stats ,test ,result) arguments))
                         (push (format "  %s 0/0  %s (0 sec)"
                                       (cond ((ert-test-skipped-p result) "skipped")
                                             ((ert-test-passed-p result) "passed")
                                             ((ert-test-result-expected-p test result) "failed")
                                             (t "FAILED"))
                                       (ert-test-name test))
                               told)))))))
      (with-temp-file (getenv "IMAGO_SLIME_TOLD")
        (dolist (line (nreverse told)) (insert line "\n"))
        (insert (format "Ran %d tests\n" (ert-stats-completed stats))))
      (let ((confirm-kill-processes nil)) (kill-emacs 0))))
  (fset 'ert #'imago-slime-run))

;;; suite.el ends here
