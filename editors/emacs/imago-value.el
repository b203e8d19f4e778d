;;; imago-value.el --- Evaluate, look at values, errors and threads  -*- lexical-binding: t; -*-

;;; Commentary:

;; The result of code is shown behind its line and, where it is short, in the
;; echo area; a long one has a buffer.  A look runs nothing of the program.

;;; Code:

(require 'imago)
(require 'jsonrpc)
(require 'subr-x)
(require 'thingatpt)
(require 'transient)
(require 'xref)

(transient-define-prefix imago ()
  "What runs in the programs of this project, and what waits."
  [["What waits" ("p" "Plans" imago-plans) ("u" "Undo" imago-undo)
    ("s" "Take a seat" imago-sit) ("a" "Admit others" imago-admit)]
   ["What runs" ("e" "Errors" imago-errors) ("t" "Threads" imago-threads)
    ("i" "Look" imago-inspect) (":" "Evaluate" imago-evaluate)]])

(defun imago-value--shown (envelope)
  "The text of ENVELOPE for a person; of an error its message alone."
  (string-trim-right (imago-marked (or (plist-get (plist-get envelope :error) :message)
                                       (plist-get envelope :shown)))))

(defun imago-show (name envelope &optional mode)
  "Show ENVELOPE in the buffer NAME, in MODE or `special-mode'; return that."
  (let ((of (imago--root)))
    (with-current-buffer (get-buffer-create name)
      (funcall (or mode #'special-mode))
      (setq imago--of of)
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert (imago-value--shown envelope))
        (goto-char (point-min)))
      (display-buffer (current-buffer))
      (current-buffer))))

;;; Evaluate

(defvar-local imago--result nil "The overlay that shows the newest result in this buffer.")

(defun imago--behind (end text)
  "Show TEXT behind the line of END, a marker, as the result of its buffer."
  (when (marker-buffer end)
    (with-current-buffer (marker-buffer end)
      (when imago--result (delete-overlay imago--result))
      (save-excursion
        (goto-char end)
        (setq imago--result (make-overlay (line-beginning-position) (line-end-position) nil t)))
      (overlay-put imago--result 'modification-hooks
                   (list (lambda (overlay after &rest _) (unless after (delete-overlay overlay)))))
      (overlay-put imago--result 'after-string
                   (propertize (concat "  ⇒ " (truncate-string-to-width (imago-line text) 120
                                                                        nil nil "…"))
                               'face 'shadow 'cursor t)))))

(defun imago-evaluate (code &optional end place name)
  "Evaluate CODE in the program; show the result, behind END where it is given.
PLACE are arguments of `eval_expr' that say where it is, and NAME is said
where CODE defines it and has no value."
  (interactive "sEvaluate: ")
  (let ((end (and end (copy-marker end))))
    (imago-call (imago-project) "eval_expr" `(:expr ,code ,@place)
                (lambda (envelope)
                  (let ((text (imago-value--shown envelope)))
                    (when name
                      (setq text (replace-regexp-in-string
                                  "\\`no value, .*" (concat "defined " name) text t t)))
                    (when end (imago--behind end text))
                    (if (> (length text) 400) (imago-show "*imago result*" envelope)
                      (message "%s" text)))))))

(defun imago-evaluate-region (from to &optional name)
  "Evaluate the text from FROM to TO, of a definition of NAME, in the program."
  (interactive "r")
  (imago-evaluate (buffer-substring-no-properties from to)
                  (save-excursion (goto-char to) (skip-chars-backward " \n\t") (point))
                  `( ,@(and buffer-file-name (list :file (file-truename buffer-file-name)))
                     :line ,(line-number-at-pos from t))
                  name))

(defun imago-evaluate-defun ()
  "Evaluate the definition around point."
  (interactive)
  (let ((bounds (or (bounds-of-thing-at-point 'defun) (user-error "No definition here"))))
    (imago-evaluate-region (car bounds) (cdr bounds) (add-log-current-defun))))

(defun imago-evaluate-last ()
  "Evaluate the region, the form of Lisp before point, or this line."
  (interactive)
  (cond ((use-region-p) (imago-evaluate-region (region-beginning) (region-end)))
        ((derived-mode-p 'lisp-mode)
         (imago-evaluate-region (save-excursion (backward-sexp) (point)) (point)))
        (t (imago-evaluate-region (save-excursion (back-to-indentation) (point))
                                  (line-end-position)))))

;;; Values

(defvar-local imago-value--past nil "The expressions that led here, the newest first.")

(define-derived-mode imago-value-mode special-mode "Imago-Value"
  "One value of the program; each part leads on.
\\{imago-value-mode-map}"
  (setq-local revert-buffer-function
              (lambda (&rest _) (imago-inspect (car imago-value--past) (cdr imago-value--past)))))
(define-key imago-value-mode-map (kbd "TAB") #'forward-button)
(define-key imago-value-mode-map (kbd "l") #'imago-value-back)

(defun imago-value--leads (result)
  "The parts of RESULT that lead on: their names with their expressions."
  (let ((sample (plist-get result :sample)))
    (append (cl-mapcar #'cons (plist-get sample :items) (plist-get sample :exprs))
            (cl-loop for (name expr) on (plist-get result :exprs) by #'cddr
                     collect (cons (substring (symbol-name name) 1) expr)))))

(defun imago-inspect (expr &optional past)
  "Look at EXPR without running anything; PAST is what was looked at before."
  (interactive (list (read-string "Look at: " (thing-at-point 'symbol t))))
  (imago-call
   (imago-project) "inspect" (list :expr expr)
   (lambda (envelope)
     (pop-to-buffer (imago-show "*imago value*" envelope #'imago-value-mode))
     (setq imago-value--past (cons expr past))
     (let ((inhibit-read-only t) (past imago-value--past))
       (save-excursion
         (goto-char (point-max))
         (insert "\n\n")
         (pcase-dolist (`(,name . ,next) (imago-value--leads (plist-get envelope :result)))
           (when next
             (insert-text-button (imago-line name) 'action (lambda (_) (imago-inspect next past)))
             (insert "\n"))))))))

(defun imago-value-back ()
  "Look at the value before this one again."
  (interactive)
  (unless (cdr imago-value--past) (user-error "This is the first one"))
  (imago-inspect (cadr imago-value--past) (cddr imago-value--past)))

(defun imago-threads ()
  "Show what each thread of the program does."
  (interactive)
  (imago-call (imago-project) "threads" nil (apply-partially #'imago-show "*imago threads*")))

;;; Errors

(define-derived-mode imago-errors-mode tabulated-list-mode "Imago-Errors"
  "Errors of the programs of a project; `next-error' goes through them.
\\{imago-errors-mode-map}"
  (setq tabulated-list-format [("Program" 12 t) ("Place" 30 t) ("Times" 6 nil) ("Error" 0 t)]
        next-error-function #'imago-errors-next)
  (tabulated-list-init-header))
(define-key imago-errors-mode-map (kbd "RET") #'imago-errors-visit)
(define-key imago-errors-mode-map (kbd "v") #'imago-errors-values)

(defun imago-errors--entry (row)
  "The error of ROW for its list."
  (let ((file (plist-get row :file)))
    (list row (vconcat (mapcar #'imago-line
                               (list (plist-get row :kernel)
                                     (and file (format "%s:%d" (file-name-nondirectory file)
                                                       (plist-get row :line)))
                                     (number-to-string (plist-get row :times))
                                     (plist-get row :what)))))))

(defun imago-errors--draw (project)
  "Draw the errors of PROJECT, where they are shown."
  (dolist (buffer (imago-buffers project 'imago-errors-mode))
    (with-current-buffer buffer
      (setq tabulated-list-entries (mapcar #'imago-errors--entry (imago-rows project "errors")))
      (tabulated-list-print t))))
(add-hook 'imago-changed-hook #'imago-errors--draw)

(defun imago-errors ()
  "Show the errors that programs of this project noted."
  (interactive)
  (let ((project (imago-project)))
    (unless (imago-rows project "errors") (user-error "No program here has noted an error"))
    (pop-to-buffer (get-buffer-create "*imago errors*"))
    (imago-errors-mode)
    (setq imago--of (imago-project-root project))
    (imago-errors--draw project)))

(defun imago-errors--row ()
  "The error of this line."
  (or (tabulated-list-get-id) (user-error "No error here")))

(defun imago-errors-visit ()
  "Go to the line where the error of this line happened."
  (interactive)
  (let* ((row (imago-errors--row))
         (file (or (plist-get row :file) (user-error "This error has no place in a file"))))
    (pop-to-buffer (find-file-noselect (imago-file file (imago-project))))
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
  (let ((row (imago-errors--row)))
    (imago-call (imago-project) "get_last_error"
                (list :number (plist-get row :number) :kernel (plist-get row :kernel))
                (apply-partially #'imago-show "*imago error*"))))

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
  (let* ((project (imago-project))
         (arguments `( :symbols [,name]
                       ,@(and buffer-file-name (list :file (file-truename buffer-file-name)))))
         (envelope (jsonrpc-request (imago-project-connection project) 'imago/call
                                    (list :tool "symbol_definition" :args arguments) :timeout 5))
         (fault (plist-get envelope :error)))
    (when fault (user-error "%s" (imago-line (plist-get fault :message))))
    (cl-loop for symbol across (plist-get (plist-get envelope :result) :symbols)
             for file = (plist-get symbol :file)
             when file collect
             (xref-make name (xref-make-file-location (imago-file file project)
                                                      (or (plist-get symbol :line) 1) 0)))))

(provide 'imago-value)
;;; imago-value.el ends here
