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

;;; Errors

(define-derived-mode imago-errors-mode tabulated-list-mode "Imago-Errors"
  "Errors of the programs of a project; `next-error' goes through them.
\\{imago-errors-mode-map}"
  (setq tabulated-list-format [("Program" 12 t) ("Place" 30 t) ("Times" 6 nil) ("Error" 0 t)]
        next-error-function #'imago-errors-next)
  (tabulated-list-init-header))
(define-key imago-errors-mode-map (kbd "RET") #'imago-errors-visit)
(define-key imago-errors-mode-map (kbd "v") #'imago-errors-values)

(defun imago-errors--draw (project)
  "Draw the errors of PROJECT, where they are shown."
  (let ((buffer (get-buffer "*imago errors*")))
    (when (and buffer (equal (buffer-local-value 'imago--of buffer) (imago-project-root project)))
      (with-current-buffer buffer
        (setq tabulated-list-entries
              (mapcar
               (lambda (row)
                 (let ((file (plist-get row :file)))
                   (list row (vector (imago-line (plist-get row :kernel))
                                     (if file (imago-line
                                               (format "%s:%s" (file-name-nondirectory file)
                                                       (plist-get row :line)))
                                       "")
                                     (number-to-string (plist-get row :times))
                                     (imago-line (plist-get row :what))))))
               (imago-rows project "errors")))
        (tabulated-list-print t)))))
(add-hook 'imago-changed-hook #'imago-errors--draw)

;;;###autoload
(defun imago-errors ()
  "Show the errors that programs of this project noted."
  (interactive)
  (let ((project (imago-project)))
    (with-current-buffer (get-buffer-create "*imago errors*")
      (imago-errors-mode)
      (setq imago--of (imago-project-root project))
      (imago-errors--draw project)
      (pop-to-buffer (current-buffer)))))

(defun imago-errors-visit ()
  "Go to the line where the error of this line happened."
  (interactive)
  (let* ((row (or (tabulated-list-get-id) (user-error "No error here")))
         (file (or (plist-get row :file) (user-error "This error has no place in a file"))))
    ;; A name from a program opens no connection to another machine.
    (when (file-remote-p file) (user-error "%s is not of this machine" file))
    (pop-to-buffer (find-file-noselect (expand-file-name file imago--of)))
    (goto-char (point-min))
    (forward-line (1- (plist-get row :line)))))

(defun imago-errors-next (by &optional reset)
  "Go BY errors on, from the first where RESET is true."
  (when reset (goto-char (point-min)))
  (unless (zerop (forward-line (if reset (1- by) by))) (user-error "No more errors"))
  (imago-errors-visit))

(defun imago-errors-values ()
  "Show the error of this line with the values of that moment."
  (interactive)
  (let ((row (or (tabulated-list-get-id) (user-error "No error here"))))
    (imago-call (imago-project) "get_last_error"
                (list :number (plist-get row :number) :kernel (plist-get row :kernel))
                (lambda (envelope)
                  (imago-show-text "*imago error*" (imago-value--shown envelope))))))

;;; The suspended evaluation

(defvar-local imago-debug--row nil "The row of the suspension that is shown.")

(define-derived-mode imago-debug-mode special-mode "Imago-Debug"
  "An evaluation that an error has suspended.
\\{imago-debug-mode-map}")
(define-key imago-debug-mode-map (kbd "e") #'imago-debug-evaluate)
(define-key imago-debug-mode-map (kbd "v") #'imago-debug-frame)
(define-key imago-debug-mode-map (kbd "r") #'imago-debug-restart)

(defun imago-debug--call (tool arguments)
  "Have TOOL, with ARGUMENTS, work on this suspension; show its answer."
  (let ((row imago-debug--row))
    (imago-call (imago-project) tool
                `( :suspension ,(plist-get row :id) :kernel ,(plist-get row :kernel) ,@arguments)
                (lambda (envelope)
                  (imago-show-text "*imago result*" (imago-value--shown envelope))))))

;;;###autoload
(defun imago-debug ()
  "Show the evaluation that is suspended, the newest where there are several."
  (interactive)
  (let* ((project (imago-project))
         (rows (imago-rows project "suspensions"
                           (lambda (row)
                             (not (equal (plist-get (plist-get row :news) :type) "ended")))))
         (row (or (car (last rows)) (user-error "Nothing is suspended"))))
    (imago-call project "debug_state"
                (list :suspension (plist-get row :id) :kernel (plist-get row :kernel))
                (lambda (envelope)
                  (with-current-buffer (imago-show-text "*imago debug*"
                                                        (imago-value--shown envelope)
                                                        #'imago-debug-mode)
                    (setq imago-debug--row row)
                    (pop-to-buffer (current-buffer)))))))

(defun imago-debug-frame (number)
  "Show the frame NUMBER with its variables."
  (interactive "nFrame: ")
  (imago-debug--call "debug_frame" (list :frame number)))

(defun imago-debug-evaluate (number code)
  "Evaluate CODE in the frame NUMBER."
  (interactive "nFrame: \nsEvaluate: ")
  (imago-debug--call "debug_eval" (list :frame number :expr code)))

(defun imago-debug-restart (restart)
  "Resume by RESTART, a name or a number."
  (interactive "sRestart: ")
  (imago-debug--call "debug_restart" (list :restart restart)))

;;; Definitions

(defun imago-xref-backend ()
  "Return our xref backend, where a program of this project is there."
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
  "Return the place of the definition of NAME in the program."
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
