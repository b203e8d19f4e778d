;;; emacs-plans.el --- lets a test have plans drawn  -*- lexical-binding: t -*-

(require 'imago-plan)

(defun imago-test-lines ()
  "The lines of this buffer, each behind the rule that is drawn before it."
  (save-excursion
    (goto-char (point-min))
    (let (lines)
      (while (not (eobp))
        (push (concat (get-text-property (point) 'line-prefix)
                      (buffer-substring-no-properties (point) (line-end-position)))
              lines)
        (forward-line))
      (vconcat (nreverse lines)))))

(defun imago-test-drawn (plan)
  "The lines of PLAN as it waits, refused with its `:raw', edited to that or taken, and over."
  (imago-plan--show (imago-project) plan nil)
  (let ((raw (plist-get plan :raw)))
    (with-current-buffer (format "*imago %s*" (plist-get plan :id))
      (prog1
          (list :waits (imago-test-lines)
                :refused (progn (imago-plan--decide imago-plan--parts
                                                    (list :decision "refuse" :reason raw))
                                (imago-test-lines))
                :edited (progn (setq imago-plan--stage 'choose)
                               (imago-plan--decide imago-plan--parts
                                                   (if (imago-part-hunk (car imago-plan--parts))
                                                       (list :decision "edit" :text raw)
                                                     (list :decision "accept")))
                               (imago-test-lines))
                :over (progn (setq imago-plan--stage 'over imago-plan--news raw)
                             (imago-plan--draw)
                             (imago-test-lines)))
        (kill-buffer)))))

(defun imago-test-draw (file)
  "Replace the plans in FILE by how each is drawn."
  (let ((plans (with-temp-buffer
                 (insert-file-contents file)
                 (json-parse-buffer :object-type 'plist :null-object nil :false-object :json-false))))
    (with-temp-file file
      (json-insert (vconcat (mapcar #'imago-test-drawn plans))))))

;;; emacs-plans.el ends here
