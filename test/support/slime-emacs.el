;;; slime-emacs.el --- lets a test ask things of an Emacs  -*- lexical-binding: t -*-

;; Over the socket of the environment comes a line of a number and a form, as text, and back goes a
;; line of JSON. What is asked runs from a timer, in the buffer that is being looked at.

(require 'json)

(defvar imago-asking nil "The process of the socket.")

(defun imago-answer (line)
  (pcase-let ((`(,id ,text) (read line)))
    (process-send-string
     imago-asking
     (concat (json-encode
              (condition-case err
                  `((id . ,id) (value . ,(with-current-buffer (window-buffer)
                                       (format "%S" (eval (car (read-from-string text)) t)))))
                (error `((id . ,id) (error . ,(error-message-string err))))))
             "\n"))))

(defun imago-hear (process text)
  (let ((lines (split-string (concat (process-get process :rest) text) "\n")))
    (process-put process :rest (car (last lines)))
    (dolist (line (butlast lines))
      (run-at-time 0 nil #'imago-answer line))))

(setq imago-asking
      (make-network-process :name "imago-test" :family 'local :service (getenv "IMAGO_TEST_EMACS")
                            :filter #'imago-hear
                            ;; It does not outlive the test.
                            :sentinel (lambda (_process _event) (kill-emacs))
                            :coding 'utf-8-unix :noquery t))
(process-send-string imago-asking (format "{\"pid\":%d}\n" (emacs-pid)))

;;; slime-emacs.el ends here
