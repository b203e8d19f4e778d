;;; imago-program.el --- Look into a program, and run code there  -*- lexical-binding: t; -*-

;;; Commentary:

;; Evaluation, values, threads, errors, and the places of definitions.  The result of
;; code is shown in the echo area, a long one in a buffer.  A look runs nothing.

;;; Code:

(require 'imago)
(require 'compile)
(require 'jsonrpc)
(require 'subr-x)
(require 'thingatpt)
(require 'xref)

(defun imago-value--shown (envelope)
  "The text of ENVELOPE for a person; of an error its message alone."
  (string-trim-right (imago-marked (or (plist-get (plist-get envelope :error) :message)
                                       (plist-get envelope :shown)))))

(defun imago-show (name envelope &optional mode)
  "Show ENVELOPE in the buffer NAME, in MODE or `special-mode'; return that."
  (let ((root (imago--root)))
    (with-current-buffer (get-buffer-create name)
      (funcall (or mode #'special-mode))
      (setq default-directory root)
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert (imago-value--shown envelope))
        (goto-char (point-min)))
      (display-buffer (current-buffer))
      (current-buffer))))

;;; Evaluate

(defun imago-evaluate (code &optional place)
  "Evaluate CODE in the program, and show the result.
PLACE are arguments of `eval_expr' that say where it is."
  (interactive "sEvaluate: ")
  (imago-call (imago-project) "eval_expr" `(:expr ,code ,@place)
              (lambda (envelope)
                (let ((text (imago-value--shown envelope)))
                  (if (> (length text) 400) (imago-show "*imago result*" envelope)
                    (message "%s" text))))))

(defun imago-evaluate-region (from to)
  "Evaluate the text from FROM to TO in the program."
  (interactive "r")
  (imago-evaluate (buffer-substring-no-properties from to)
                  `( ,@(and buffer-file-name (list :file (file-truename buffer-file-name)))
                     :line ,(line-number-at-pos from t))))

(defun imago-evaluate-defun ()
  "Evaluate the definition around point."
  (interactive)
  (let ((bounds (or (bounds-of-thing-at-point 'defun) (user-error "No definition here"))))
    (imago-evaluate-region (car bounds) (cdr bounds))))

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

(define-derived-mode imago-error-mode special-mode "Imago-Error"
  "An error; RET and `next-error' go to its places."
  (setq-local compilation-error-regexp-alist '(("^  \\([^: \n][^:\n]*\\):\\([0-9]+\\) in " 1 2)))
  (compilation-minor-mode))

(defun imago-errors ()
  "Show an error that a program noted, with the values of that moment."
  (interactive)
  (let* ((project (imago-project))
         (row (imago-choose "Error" (imago-rows project "errors")
                            (lambda (row)
                              (let ((file (plist-get row :file)))
                                (concat (plist-get row :kernel)
                                        (and file (format " %s:%d" (file-name-nondirectory file)
                                                          (plist-get row :line)))
                                        ": " (plist-get row :what)))))))
    (imago-call project "get_last_error"
                (list :number (plist-get row :number) :kernel (plist-get row :kernel))
                (lambda (envelope) (imago-show "*imago error*" envelope #'imago-error-mode)))))

;;; Definitions

(defun imago-xref-backend ()
  "Return our xref backend, where a program of this project is there."
  (and (imago--unless-slime t)
       (let ((project (cdr (assoc (imago--root) imago--projects))))
         (and project (imago-rows project "kernels") 'imago))))

(cl-defmethod xref-backend-identifier-at-point ((_ (eql 'imago)))
  "The dotted name at point."
  (and (thing-at-point-looking-at "\\(?:\\sw\\|\\s_\\|[.]\\)+" 200)
       (match-string-no-properties 0)))

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

(provide 'imago-program)
;;; imago-program.el ends here
