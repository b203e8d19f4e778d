;;; imago-program.el --- Look into a program, and run code there  -*- lexical-binding: t; -*-

;;; Commentary:

;; Evaluation, values, threads, errors, and the places of definitions.  A look runs nothing.

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

(defun imago-show (name envelope &optional mode again)
  "Show ENVELOPE in the buffer NAME, and with MODE go there; AGAIN is for g."
  (let ((root (imago--root)) (buffer (get-buffer-create name)) (inhibit-read-only t))
    (if mode (imago-select buffer) (display-buffer buffer))
    (set-buffer buffer)
    (funcall (or mode #'special-mode))
    (setq default-directory root)
    (when again (setq-local revert-buffer-function (lambda (&rest _) (funcall again))))
    (erase-buffer)
    (insert (imago-value--shown envelope))
    (goto-char (point-min))))

(defun imago-evaluate (code &optional place)
  "Evaluate CODE, with PLACE as `eval_expr' takes it, and show the result."
  (interactive "sEvaluate: ")
  (let ((waits (called-interactively-p 'interactive)))
    (imago-ask (imago-project) "call" `( :tool "eval_expr" :args (:expr ,code ,@place) :shown t
                                         :language ,(imago-language))
               (lambda (envelope)
                 (setq waits nil)
                 (let ((text (imago-value--shown envelope)))
                   (if (> (length text) 400) (imago-show "*imago result*" envelope)
                     (message "%s" text)))))
    ;; M-x then tells of keys, and puts back the message before that.  Any key ends the wait.
    (while (and waits (sit-for 0.1)))))

(defun imago-evaluate-region (from to)
  "Evaluate the text from FROM to TO in the program."
  (interactive "r")
  (or (imago-takers (imago-project)) (imago-error "No program here takes this code"))
  ;; Where the margin is taken off, it has to be that of the first line, too.
  (save-excursion (goto-char from) (skip-chars-backward " \t")
                  (when (and (bolp) (imago-language)) (setq from (point))))
  (imago-evaluate (buffer-substring-no-properties from to)
                  `( ,@(and buffer-file-name (list :file (file-truename buffer-file-name)))
                     :line ,(line-number-at-pos from t))))

(defun imago-evaluate-defun ()
  "Evaluate the definition around point."
  (interactive)
  (let ((bounds (or (bounds-of-thing-at-point 'defun) (imago-error "No definition here"))))
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

(defun imago-program--look (tool args &optional language)
  "The envelope of TOOL with ARGS for a program of LANGUAGE; its fault is an error."
  (let* ((asked `(:tool ,tool :args ,args :shown t :language ,language))
         (envelope (condition-case err
                       (jsonrpc-request (imago-project-connection (imago-project)) 'imago/call
                                        asked :timeout 5)
                     (jsonrpc-error
                      (imago-error "%s" (alist-get 'jsonrpc-error-message (cddr err))))))
         (fault (plist-get envelope :error)))
    (when fault
      (imago-error "%s %s" (plist-get fault :message)
                   (if (equal (plist-get fault :code) "needs_evaluation")
                       "M-x imago-evaluate runs it." (or (plist-get fault :next) ""))))
    envelope))

(defvar-local imago-value--past nil "The expressions that led here, the newest first.")
(defvar-local imago-value--kernel nil "The program that has them, where that is known.")

(define-derived-mode imago-value-mode special-mode "Imago-Value"
  "One value of the program; each part leads on.")
(define-key imago-value-mode-map (kbd "TAB") #'forward-button)
(define-key imago-value-mode-map (kbd "l") #'imago-value-back)

(defun imago-inspect (expr &optional past)
  "Look at EXPR without running anything; PAST is what was looked at before."
  (interactive
   (let ((name (thing-at-point 'symbol t)))
     (list (read-string (format-prompt "Look at" name) nil nil name))))
  (let* ((of (and imago-value--kernel (list :kernel imago-value--kernel)))
         (envelope (imago-program--look "inspect" `(:expr ,expr ,@of) (imago-language))))
    (imago-show "*imago value*" envelope #'imago-value-mode (lambda () (imago-inspect expr past)))
    (setq imago-value--past (cons expr past) imago-value--kernel (plist-get envelope :kernel))
    (save-excursion
      (seq-doseq (part (plist-get envelope :parts))
        (when (plist-get part :expr) (imago-value--button part imago-value--past))))))

(defun imago-value--button (part past)
  "Make the line of PART a button, or put one at the end; PAST led here."
  (let ((label (imago-line (plist-get part :label))) (inhibit-read-only t)
        (action (lambda (_) (imago-inspect (plist-get part :expr) past))))
    (if (re-search-forward (concat "^ *\\(" (regexp-quote label) "\\)$") nil t)
        (make-text-button (match-beginning 1) (match-end 1) 'action action)
      (goto-char (point-max))
      (insert "\n")
      (insert-text-button label 'action action))))

(defun imago-value-back ()
  "Look at the value before this one again."
  (interactive)
  (unless (cdr imago-value--past) (imago-error "This is the first one"))
  (imago-inspect (cadr imago-value--past) (cddr imago-value--past)))

;;; Threads and errors

(define-derived-mode imago-frames-mode special-mode "Imago-Frames"
  "Frames of the program, which lead to their places."
  (setq-local compilation-error-regexp-alist
              ;; The lines below a frame belong to it.
              '(("^  \\([^<: \n][^:\n]*\\):\\([0-9]+\\) in .*\\(?:\n    .*\\)*" 1 2))
              compilation-message-face nil)
  ;; Without the keys of its minor mode, which compile.
  (compilation-setup t))
(pcase-dolist (`(,key . ,command) '(("\r" . imago-frames-visit) ("n" . next-error-no-select)
                                    ("p" . previous-error-no-select)))
  (define-key imago-frames-mode-map key command))

(defun imago-frames-visit ()
  "Go to the place of the frame at point; elsewhere, to that of the next one."
  (interactive)
  (compilation--ensure-parse (point-max))
  (unless (get-text-property (point) 'compilation-message) (compilation-next-error 1))
  (compile-goto-error))

(defun imago-frames--show (name tool args)
  "Show in the buffer NAME the frames of TOOL with ARGS; g asks again."
  (imago-show name (imago-program--look tool args) #'imago-frames-mode
              (lambda () (imago-frames--show name tool args))))

(defun imago-threads ()
  "Show what each thread of the program does."
  (interactive)
  (imago-frames--show "*imago threads*" "threads" nil))

(defun imago-errors--ended ()
  "The errors of the programs of this project that have ended, as rows."
  (let* ((envelope (imago-program--look "get_last_error" '(:whose "gone")))
         (newest (plist-get envelope :result))
         (what (car (split-string (plist-get envelope :shown) "\n"))))
    (cl-loop for row in (cons `(:what ,what ,@(plist-get newest :program) ,@newest)
                              (append (plist-get newest :others) nil))
             for of = (plist-get row :of)
             when of collect
             `( :shown ,(format "%s (%s, process %d, ended, %s)" (plist-get row :what)
                                (plist-get of :name) (plist-get of :pid) (plist-get row :at))
                ,@row))))

(defun imago-errors ()
  "Show an error of a program, or of one that has ended, with its values then."
  (interactive)
  (let* ((rows (append (imago-rows (imago-project) "errors") (imago-errors--ended)))
         (row (imago-choose "Error" "No error is noted"
                            (seq-sort-by (lambda (row) (plist-get row :at)) #'string> rows)))
         (of (plist-get row :of)))
    (imago-frames--show "*imago error*" "get_last_error"
                        `( :number ,(plist-get row :number)
                           ,@(if of `(:process ,(plist-get of :pid))
                               `(:kernel ,(plist-get row :kernel)))))))

(defun imago-xref-backend ()
  "Return our xref backend, where a program of this project is there."
  (imago--where-of-use 'imago))

(cl-defmethod xref-backend-identifier-at-point ((_ (eql 'imago)))
  "The dotted name at point."
  (and (thing-at-point-looking-at "\\(?:\\sw\\|\\s_\\|[.]\\)+" 200)
       (match-string-no-properties 0)))

(cl-defmethod xref-backend-identifier-completion-table ((_ (eql 'imago)))
  "None: a program has too many names."
  nil)

(cl-defmethod xref-backend-definitions ((_ (eql 'imago)) name)
  "Return the place of the definition of NAME in the program."
  (let* ((place (and buffer-file-name (list :file (file-truename buffer-file-name))))
         (found (imago-program--look "symbol_definition" `(:symbols [,name] ,@place)
                                     (imago-language))))
    (cl-loop for symbol across (plist-get (plist-get found :result) :symbols)
             for file = (plist-get symbol :file)
             for path = (and file (expand-file-name file (imago--root)))
             ;; Nobody is taken to another machine.
             when (and path (not (file-remote-p path))) collect
             (xref-make name (xref-make-file-location path (or (plist-get symbol :line) 1) 0)))))

(provide 'imago-program)
;;; imago-program.el ends here
