;;; imago-value.el --- Evaluate, look at values, errors and threads  -*- lexical-binding: t; -*-

;;; Commentary:

;; The result of code stands behind its line and, where it is short, in the
;; echo area; a long one has a buffer.  A look runs nothing of the program.

;;; Code:

(require 'imago)
(require 'thingatpt)
(require 'xref)

(defun imago-call (project tool args done)
  "Have PROJECT run TOOL with ARGS; DONE is given its envelope."
  (imago-ask project "call" (list :tool tool :args (or args (make-hash-table)) :shown t) done))

(defun imago-value--shown (envelope)
  "The text of ENVELOPE for a person."
  (string-trim-right (imago-marked (plist-get envelope :shown))))

;;; Evaluate

(defvar-local imago--overlays nil "Results that stand behind lines of this buffer.")

(defun imago-clear ()
  "Take the results away that stand behind lines."
  (interactive)
  (mapc #'delete-overlay imago--overlays)
  (setq imago--overlays nil))

(defun imago--clear-at (overlay after &rest _)
  "Remove OVERLAY once the text below it is changed; AFTER is as of its hook."
  (unless after (delete-overlay overlay)))

(defun imago--result (buffer end envelope)
  "Show ENVELOPE behind END in BUFFER, in the echo area, or in a buffer of its own."
  (let* ((text (imago-value--shown envelope)) (line (imago-line text))
         (short (truncate-string-to-width line 120 nil nil "…")))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (save-excursion
          (goto-char end)
          (let* ((at (line-beginning-position))
                 (overlay (make-overlay at (line-end-position) nil t)))
            (dolist (old (overlays-in at (line-end-position)))
              (when (memq old imago--overlays) (delete-overlay old)))
            (push overlay imago--overlays)
            (overlay-put overlay 'modification-hooks (list #'imago--clear-at))
            (overlay-put overlay 'after-string
                         (propertize (concat "  ⇒ " short) 'face 'shadow 'cursor t))))))
    (if (> (length text) 400) (imago-show-text "*imago result*" text)
      (message "%s" text))))

(defun imago--evaluate (from to)
  "Evaluate the text from FROM to TO in the program of this buffer."
  (let ((buffer (current-buffer)) (end (copy-marker (save-excursion
                                                      (goto-char to) (skip-chars-backward " \n\t")
                                                      (point)))))
    (imago-call (imago-project) "eval_expr"
                `( :expr ,(buffer-substring-no-properties from to)
                   ,@(and buffer-file-name (list :file (file-truename buffer-file-name)))
                   :line ,(line-number-at-pos from t))
                (lambda (envelope) (imago--result buffer end envelope)))))

(defun imago-evaluate-region (from to)
  "Evaluate the region from FROM to TO."
  (interactive "r")
  (imago--evaluate from to))

(defun imago-evaluate-defun ()
  "Evaluate the definition around point."
  (interactive)
  (let ((bounds (bounds-of-thing-at-point 'defun)))
    (unless bounds (user-error "No definition here"))
    (imago--evaluate (car bounds) (cdr bounds))))

(defun imago-evaluate-last ()
  "Evaluate the form before point, or the statement of this line."
  (interactive)
  (if (derived-mode-p 'lisp-mode)
      (imago--evaluate (save-excursion (backward-sexp) (point)) (point))
    (imago--evaluate (save-excursion (back-to-indentation) (point)) (line-end-position))))

(defun imago-evaluate (code)
  "Evaluate CODE, as typed."
  (interactive "sEvaluate: ")
  (let ((buffer (current-buffer)) (end (copy-marker (point))))
    (imago-call (imago-project) "eval_expr" (list :expr code)
                (lambda (envelope) (imago--result buffer end envelope)))))

;;; Texts and values

(defun imago-show-text (name text &optional mode)
  "Show TEXT in the buffer NAME, in MODE or `special-mode'."
  (let ((of (or imago--of (imago--root))))
    (with-current-buffer (get-buffer-create name)
      (funcall (or mode #'special-mode))
      (setq imago--of of)
      (let ((inhibit-read-only t)) (erase-buffer) (insert text) (goto-char (point-min)))
      (display-buffer (current-buffer))
      (current-buffer))))

(defvar-local imago-value--past nil "The expressions that led here, the newest first.")

(define-derived-mode imago-value-mode special-mode "Imago-Value"
  "One value of the program; each part leads on."
  (setq-local revert-buffer-function
              (lambda (&rest _) (imago-inspect (car imago-value--past)))))
(define-key imago-value-mode-map (kbd "TAB") #'forward-button)
(define-key imago-value-mode-map (kbd "l") #'imago-value-back)

(defun imago-value--leads (result)
  "The parts of RESULT that lead on: their names with their expressions."
  (let ((sample (plist-get result :sample)))
    (append (cl-mapcar #'cons (plist-get sample :items) (plist-get sample :exprs))
            (cl-loop for (name expr) on (plist-get result :exprs) by #'cddr
                     collect (cons (substring (symbol-name name) 1) expr)))))

;;;###autoload
(defun imago-inspect (expr &optional past)
  "Look at EXPR without running anything; PAST is what was looked at before."
  (interactive (list (read-string "Look at: " (thing-at-point 'symbol t))))
  (imago-call
   (imago-project) "inspect" (list :expr expr)
   (lambda (envelope)
     (with-current-buffer (imago-show-text "*imago value*" (imago-value--shown envelope)
                                           #'imago-value-mode)
       (setq imago-value--past (cons expr past))
       (let ((inhibit-read-only t) (past imago-value--past))
         (save-excursion
           (goto-char (point-max))
           (insert "\n\n")
           (pcase-dolist (`(,name . ,next) (imago-value--leads (plist-get envelope :result)))
             (when next
               (insert-text-button (imago-line name)
                                   'action (lambda (_) (imago-inspect next past)))
               (insert "\n")))))
       (pop-to-buffer (current-buffer))))))

(defun imago-value-back ()
  "Look at the value before this one again."
  (interactive)
  (unless (cdr imago-value--past) (user-error "This is the first one"))
  (imago-inspect (cadr imago-value--past) (cddr imago-value--past)))

;;;###autoload
(defun imago-threads ()
  "Show what each thread of the program does."
  (interactive)
  (imago-call (imago-project) "threads" nil
              (lambda (envelope) (imago-show-text "*imago threads*" (imago-value--shown envelope)))))

;;; Definitions

(defun imago-xref-backend ()
  "The xref backend, where a program of this project runs and SLIME is not here."
  (and (imago--unless-slime t)
       (let ((project (cdr (assoc (imago--root) imago--projects))))
         (and project (imago-project-ready project) (imago-rows project "kernels") 'imago))))

(cl-defmethod xref-backend-identifier-at-point ((_ (eql 'imago)))
  "The dotted name at point."
  (save-excursion
    (skip-chars-backward "[:alnum:]_.")
    (and (looking-at "[[:alnum:]_.]+") (match-string-no-properties 0))))

(cl-defmethod xref-backend-identifier-completion-table ((_ (eql 'imago)))
  "None: `imago lsp' completes."
  nil)

(cl-defmethod xref-backend-definitions ((_ (eql 'imago)) name)
  "Where the program says that NAME is defined."
  (let* ((arguments (list :symbols (vector name)
                          :file (and buffer-file-name (file-truename buffer-file-name))))
         (envelope (jsonrpc-request (imago-project-connection (imago-project)) 'imago/call
                                    (list :tool "symbol_definition" :args arguments) :timeout 5)))
    (cl-loop for symbol across (plist-get (plist-get envelope :result) :symbols)
             for file = (plist-get symbol :file)
             when file collect
             (xref-make name (xref-make-file-location
                              (expand-file-name file (imago-project-root (imago-project)))
                              (or (plist-get symbol :line) 1) 0)))))

;;; Undo

;;;###autoload
(defun imago-undo (change)
  "Take CHANGE back, which is a plan of its own."
  (interactive
   (list (let ((names (cl-loop for row in (imago-rows (imago-project) "approvals")
                               for undo = (plist-get (plist-get row :ended) :undo)
                               when undo collect undo)))
           (completing-read "Take back: " names nil nil nil nil (car (last names))))))
  (imago-call (imago-project) "undo_change" (list :change change)
              (lambda (envelope) (imago-say "%s" (plist-get envelope :shown)))))

(provide 'imago-value)
;;; imago-value.el ends here
