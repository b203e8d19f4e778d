;;; imago-plan.el --- Plans that wait, and their answers  -*- lexical-binding: t; -*-

;;; Commentary:

;; One plan is shown as a diff with a key for each decision.  Moving is as in
;; `diff-mode' and Magit: n and p.  Deciding is a (or y) to accept, r to refuse
;; with a reason, e to edit.  After the last decision, what will be applied is
;; shown once, and y or C-c C-c sends it.

;;; Code:

(require 'imago)
(require 'diff-mode)

(defvar-local imago-plan--row nil "The row of the plan that is shown.")
(defvar-local imago-plan--plan nil "Its preview.")
(defvar-local imago-plan--parts nil "A vector of its hunks, or of the plan itself.")
(defvar-local imago-plan--decided nil "A vector with the decision on each, or nil.")
(defvar-local imago-plan--places nil "A vector of markers, where each is shown.")
(defvar-local imago-plan--stage nil "One of choose, confirm, sent, over.")
(defvar-local imago-plan--news nil "What is to be said above all else.")

(defun imago-plan--keys (map &rest pairs)
  "Bind in MAP each key of PAIRS to the command behind it."
  (cl-loop for (key command) on pairs by #'cddr do (define-key map (kbd key) command))
  map)

(defvar imago-plan-mode-map
  (imago-plan--keys
   (let ((map (make-sparse-keymap))) (set-keymap-parent map special-mode-map) map)
   "n" #'imago-plan-next "p" #'imago-plan-previous "j" #'imago-plan-next-undecided
   "a" #'imago-plan-accept "y" #'imago-plan-accept "r" #'imago-plan-refuse
   "e" #'imago-plan-edit "A" #'imago-plan-accept-rest "R" #'imago-plan-refuse-rest
   "u" #'imago-plan-undecide "S" #'imago-plan-save "C-c C-c" #'imago-plan-send
   "RET" #'diff-goto-source)
  "Keys for one plan.")

(define-derived-mode imago-plan-mode diff-mode "Imago-Plan"
  "One plan that waits.
\\{imago-plan-mode-map}"
  ;; A hunk that is hidden would be sent all the same, and the text of a plan
  ;; is never given to the major mode of its file.  Refining a hunk of
  ;; thousands of lines takes seconds.
  (setq-local minor-mode-overriding-map-alist nil
              diff-font-lock-syntax nil
              diff-refine nil
              revert-buffer-function #'ignore)
  (setq buffer-read-only t))

(defun imago-plan--buffers (project)
  "The buffers that show plans of PROJECT."
  (seq-filter (lambda (buffer)
                (and (eq (buffer-local-value 'major-mode buffer) 'imago-plan-mode)
                     (equal (buffer-local-value 'imago--of buffer) (imago-project-root project))))
              (buffer-list)))

;;; Drawing

(defun imago-plan--unsaved ()
  "The buffers with unsaved text in files of this plan."
  (seq-filter (lambda (buffer) (and buffer (buffer-modified-p buffer)))
              (mapcar (lambda (file) (find-buffer-visiting (plist-get file :path)))
                      (plist-get imago-plan--plan :files))))

(defun imago-plan--put (text &rest args)
  "Put TEXT, a format of ARGS, as one line of ours."
  (insert (imago-line (apply #'format text args)) "\n"))

(defun imago-plan--head (n)
  "The line above part N, with its decision."
  (let* ((part (aref imago-plan--parts n))
         (decision (aref imago-plan--decided n))
         (reason (plist-get decision :reason)))
    (propertize
     (imago-line
      (format "━ %s · %s%s"
              (if (plist-get part :number)
                  (format "hunk %d of %d · %s:%d%s" (1+ n) (length imago-plan--parts)
                          (plist-get part :shown) (plist-get part :line)
                          (if (plist-get part :why) (concat ": " (plist-get part :why)) ""))
                "the whole plan")
              (pcase (plist-get decision :decision)
                ("accept" "✓ taken") ("refuse" "✗ refused") ("edit" "✎ edited") (_ "undecided"))
              (if reason (concat ": " reason) "")))
     'font-lock-face 'bold)))

(defun imago-plan--outside (body)
  "The lines of BODY that are in none of its diffs."
  (let ((within nil) (left 0) kept)
    (dolist (line (split-string body "\n"))
      (cond ((> left 0) (unless (string-prefix-p "\\" line)
                          (cl-decf left (if (string-prefix-p " " line) 2 1))))
            ((string-prefix-p "diff --git " line) (setq within t))
            ((and within (string-match
                          "\\`@@ -[0-9]+\\(?:,\\([0-9]+\\)\\)? \\+[0-9]+\\(?:,\\([0-9]+\\)\\)? @@"
                          line))
             (setq left (+ (string-to-number (or (match-string 1 line) "1"))
                           (string-to-number (or (match-string 2 line) "1")))))
            ((and within (string-match-p "\\`\\(?:[-+\\]\\|new file mode\\|index \\|$\\)" line))
             (when (equal line "") (setq within nil)))
            (t (setq within nil) (push line kept))))
    (string-join (nreverse kept) "\n")))

(defun imago-plan--draw ()
  "Draw the plan of this buffer from what is known of it."
  (let* ((inhibit-read-only t)
         (row imago-plan--row)
         (confirms (eq imago-plan--stage 'confirm))
         (hunks (plist-get (aref imago-plan--parts 0) :number)))
    (erase-buffer)
    (when imago-plan--news (imago-plan--put "● %s" imago-plan--news))
    (unless (eq imago-plan--stage 'over)
      (dolist (buffer (imago-plan--unsaved))
        (imago-plan--put "! %s has unsaved text here: S saves it" (buffer-name buffer))))
    (seq-doseq (warning (plist-get row :warnings)) (imago-plan--put "! LOOK: %s" warning))
    (imago-plan--put "%s" (plist-get row :title))
    (imago-plan--put "%s, asked by %s (%s)%s" (plist-get row :tool) (plist-get row :who)
                     (plist-get row :id)
                     (if (> (plist-get row :times) 1)
                         (format ", for the %dth time" (plist-get row :times)) ""))
    (seq-doseq (note (plist-get row :notes)) (imago-plan--put "%s" note))
    (if confirms
        (imago-plan--put
         "What will be applied: %d of %d, as one change. y sends it, u goes back."
         (seq-count (lambda (one) (not (equal (plist-get one :decision) "refuse")))
                    imago-plan--decided)
         (length imago-plan--decided))
      (when hunks
        (insert (imago-marked (imago-plan--outside (plist-get imago-plan--plan :body))) "\n")))
    (dotimes (n (length imago-plan--parts))
      (aset imago-plan--places n (copy-marker (point)))
      (insert (imago-plan--head n) "\n")
      (let* ((part (aref imago-plan--parts n))
             (decision (aref imago-plan--decided n))
             (edited (plist-get decision :text)))
        (cond (edited (imago-plan--side "-" (plist-get part :before)) (imago-plan--side "+" edited))
              ((and confirms (equal (plist-get decision :decision) "refuse")))
              (t (insert (imago-marked (or (plist-get part :diff)
                                           (plist-get imago-plan--plan :body)))
                         "\n")))))
    (imago-plan--put "")
    (imago-plan--put "For a script: imago approve %s --code %s" (plist-get row :id)
                     (plist-get imago-plan--plan :code))
    (set-buffer-modified-p nil)
    (goto-char (if confirms (point-min) (aref imago-plan--places 0)))))

(defun imago-plan--side (mark text)
  "Put each line of TEXT behind MARK."
  (dolist (line (split-string (string-remove-suffix "\n" text) "\n"))
    (unless (equal text "") (insert mark (imago-marked line) "\n"))))

;;; Moving and deciding

(defun imago-plan--at ()
  "The part that point is in."
  (let ((n (1- (length imago-plan--places))))
    (while (and (> n 0) (< (point) (aref imago-plan--places n))) (cl-decf n))
    n))

(defun imago-plan--go (n)
  "Go to part N."
  (goto-char (aref imago-plan--places (max 0 (min n (1- (length imago-plan--places)))))))

(defun imago-plan-next ()
  "Go to the next hunk."
  (interactive)
  (imago-plan--go (if (< (point) (aref imago-plan--places 0)) 0 (1+ (imago-plan--at)))))

(defun imago-plan-previous ()
  "Go to the previous hunk."
  (interactive)
  (imago-plan--go (1- (imago-plan--at))))

(defun imago-plan-next-undecided ()
  "Go to the next undecided hunk, round to the first."
  (interactive)
  (let* ((at (imago-plan--at)) (count (length imago-plan--parts))
         (n (cl-loop for by from 1 to count
                     for n = (mod (+ at by) count)
                     unless (aref imago-plan--decided n) return n)))
    (when n (imago-plan--go n))))

(defun imago-plan--decide (ns decision)
  "Write DECISION down for the parts NS; after the last one show what will be sent."
  (unless (eq imago-plan--stage 'choose) (user-error "There is nothing to decide here now"))
  (let ((inhibit-read-only t))
    (dolist (n ns)
      (aset imago-plan--decided n decision)
      (save-excursion
        (goto-char (aref imago-plan--places n))
        (delete-region (point) (line-end-position))
        (insert (imago-plan--head n))
        (set-marker (aref imago-plan--places n) (line-beginning-position))))
    (set-buffer-modified-p nil))
  (if (and decision (seq-every-p #'identity imago-plan--decided))
      (progn (setq imago-plan--stage 'confirm) (imago-plan--draw))
    (when decision (imago-plan-next-undecided))
    (when (plist-get decision :text) (imago-plan--draw))))

(defun imago-plan--rest ()
  "The undecided parts."
  (seq-filter (lambda (n) (null (aref imago-plan--decided n)))
              (number-sequence 0 (1- (length imago-plan--parts)))))

(defun imago-plan--refusal ()
  "A refusal, with a reason that the person is asked for."
  (let ((reason (read-string "Reason (empty gives none): ")))
    (list :decision "refuse" :reason (unless (string-blank-p reason) reason))))

(defun imago-plan-accept ()
  "Take the hunk at point; where all is decided, send the answer."
  (interactive)
  (cond ((eq imago-plan--stage 'confirm) (imago-plan-send))
        ((and (not (plist-get (aref imago-plan--parts 0) :number))
              (not (pos-visible-in-window-p (point-max))))
         (goto-char (point-max))
         (imago-say "this is its end; the same key takes it"))
        (t (imago-plan--decide (list (imago-plan--at)) '(:decision "accept")))))

(defun imago-plan-refuse ()
  "Refuse the hunk at point, with a reason."
  (interactive)
  (imago-plan--decide (list (imago-plan--at)) (imago-plan--refusal)))

(defun imago-plan-accept-rest ()
  "Take all undecided hunks."
  (interactive)
  (imago-plan--decide (imago-plan--rest) '(:decision "accept")))

(defun imago-plan-refuse-rest ()
  "Refuse all undecided hunks, with one reason."
  (interactive)
  (imago-plan--decide (imago-plan--rest) (imago-plan--refusal)))

(defun imago-plan-undecide ()
  "Take the decision on the hunk at point back."
  (interactive)
  (if (not (eq imago-plan--stage 'confirm)) (imago-plan--decide (list (imago-plan--at)) nil)
    (setq imago-plan--stage 'choose)
    (imago-plan--draw)
    (imago-plan--decide (list (1- (length imago-plan--parts))) nil)))

(defun imago-plan-save ()
  "Save the unsaved text of files of this plan."
  (interactive)
  (dolist (buffer (imago-plan--unsaved))
    (with-current-buffer buffer (save-buffer)))
  (imago-plan--draw))

;;; Editing a hunk

(defvar-local imago-plan--edits nil "The plan buffer, its row and the part that is edited here.")

(defvar imago-plan-edit-mode-map
  (imago-plan--keys (make-sparse-keymap)
                    "C-c C-c" #'imago-plan-edit-done "C-c C-k" #'kill-this-buffer)
  "Keys for the text of a hunk.")

;; No mode of the file: some run what they read.
(define-derived-mode imago-plan-edit-mode fundamental-mode "Imago-Edit"
  "The text that is to be there in place of a hunk.
\\{imago-plan-edit-mode-map}"
  (setq-local bidi-display-reordering nil)
  (setq-local glyphless-char-display (copy-sequence glyphless-char-display))
  (set-char-table-range glyphless-char-display '(#x200b . #x206f) 'hex-code))

(defun imago-plan-edit ()
  "Edit the text of the hunk at point.
\\<imago-plan-edit-mode-map>\\[imago-plan-edit-done] takes it."
  (interactive)
  (let* ((plan (current-buffer)) (row imago-plan--row) (n (imago-plan--at))
         (part (aref imago-plan--parts n)))
    (unless (plist-get part :number) (user-error "This plan has no hunks to edit"))
    (unless (eq imago-plan--stage 'choose) (user-error "There is nothing to decide here now"))
    (pop-to-buffer (generate-new-buffer "*imago edit*"))
    (insert (string-replace "\r\n" "\n" (plist-get part :after)))
    (imago-plan-edit-mode)
    (setq imago-plan--edits (list plan row n))
    (goto-char (point-min))
    (imago-say "C-c C-c takes this text, C-c C-k does not")))

(defun imago-plan-edit-done ()
  "Take the text of this buffer in place of the hunk."
  (interactive)
  (pcase-let ((`(,plan ,row ,n) imago-plan--edits)
              (text (buffer-substring-no-properties (point-min) (point-max))))
    (unless (and (buffer-live-p plan)
                 (eq row (buffer-local-value 'imago-plan--row plan))
                 (eq 'choose (buffer-local-value 'imago-plan--stage plan)))
      (user-error "That plan waits no more: nothing was answered"))
    (quit-window t)
    (pop-to-buffer plan)
    (imago-plan--decide (list n) (list :decision "edit" :text text))))

;;; The answer

(defun imago-plan--choice (n)
  "The choice for part N, as `answer' takes it."
  (append (list :hunk (plist-get (aref imago-plan--parts n) :number))
          (aref imago-plan--decided n)))

(defun imago-plan-send ()
  "Send the decisions, once they have been shown."
  (interactive)
  (unless (eq imago-plan--stage 'confirm)
    (user-error (if (eq imago-plan--stage 'choose) "Some of it is undecided" "It was answered")))
  (let* ((buffer (current-buffer)) (row imago-plan--row)
         (decided (aref imago-plan--decided 0))
         (back (lambda (why)
                 (when (buffer-live-p buffer)
                   (with-current-buffer buffer
                     (when (eq imago-plan--stage 'sent)
                       (setq imago-plan--stage 'confirm
                             imago-plan--news (format "It was not taken: %s" why))
                       (imago-plan--draw)))))))
    (setq imago-plan--stage 'sent imago-plan--news "The answer was sent.")
    (imago-plan--draw)
    (imago-ask (imago-project) "answer"
               `( :plan ,(plist-get row :id) :hash ,(plist-get row :hash)
                  ,@(cond ((plist-get (aref imago-plan--parts 0) :number)
                           `( :decision "choose"
                              :choices ,(vconcat (mapcar #'imago-plan--choice
                                                         (number-sequence
                                                          0 (1- (length imago-plan--parts)))))))
                          ((equal (plist-get decided :decision) "accept") '(:decision "approve"))
                          (t `( :decision "deny"
                                ,@(and (plist-get decided :reason)
                                       (list :reason (plist-get decided :reason)))))))
               (lambda (became)
                 (unless (equal (plist-get became :type) "taken")
                   (funcall back (or (plist-get became :why) (plist-get became :type)))))
               (lambda (fault) (funcall back (plist-get fault :message))))))

(defun imago-plan--ending (project row)
  "Why ROW of PROJECT needs no answer any more; nil while it does."
  (let* ((now (gethash (cons "approvals" (plist-get row :id)) (imago-project-rows project)))
         (ended (plist-get now :ended)))
    (cond ((null now) "This plan is not known any more.")
          ((equal (plist-get now :state) "waits")
           (unless (equal (plist-get now :hash) (plist-get row :hash))
             "This plan has changed: open it again."))
          (t (concat (plist-get now :why)
                     (and ended (format " It ended: %s." (plist-get ended :outcome)))
                     (and (plist-get ended :undo)
                          (format " To take it back: M-x imago-undo %s"
                                  (plist-get ended :undo))))))))

(defun imago-plan--update (project)
  "Say in the plans of PROJECT what became of them, and read files again."
  (dolist (buffer (imago-plan--buffers project))
    (with-current-buffer buffer
      (let ((why (imago-plan--ending project imago-plan--row)))
        (when (and why (not (equal why imago-plan--news)))
          (setq imago-plan--stage 'over imago-plan--news why)
          (imago-plan--draw)
          (goto-char (point-min))
          (seq-doseq (file (plist-get imago-plan--plan :files))
            (let ((other (find-buffer-visiting (plist-get file :path))))
              (when (and other (not (buffer-modified-p other))
                         (not (verify-visited-file-modtime other))
                         (file-exists-p (plist-get file :path)))
                (with-current-buffer other
                  (revert-buffer t t t))))))))))

(add-hook 'imago-changed-hook #'imago-plan--update)

(defun imago-plan-open (project row)
  "Show the plan of ROW of PROJECT; the first one takes a seat."
  (imago-sit
   project
   (lambda ()
     (imago-ask
      project "plan" (list :plan (plist-get row :id))
      (lambda (plan)
        (if (null (plist-get plan :body)) (imago-say "%s waits no more" (plist-get row :id))
          (with-current-buffer (get-buffer-create (format "*imago %s*" (plist-get row :id)))
            (imago-plan-mode)
            (let* ((hunks (plist-get plan :hunks))
                   (parts (if (seq-empty-p hunks) [nil] hunks)))
              (setq imago--of (imago-project-root project)
                    default-directory (imago-project-root project)
                    imago-plan--row row imago-plan--plan plan imago-plan--parts parts
                    imago-plan--decided (make-vector (length parts) nil)
                    imago-plan--places (make-vector (length parts) nil)
                    imago-plan--stage 'choose imago-plan--news nil))
            (imago-plan--draw)
            (goto-char (point-min))
            (pop-to-buffer (current-buffer)))))))))

;;; What waits

(define-derived-mode imago-plans-mode tabulated-list-mode "Imago-Plans"
  "The plans of a project that wait.
\\{imago-plans-mode-map}"
  (setq tabulated-list-format [("Plan" 14 nil) ("Asked by" 30 t) ("Title" 0 t)])
  (tabulated-list-init-header))

(define-key imago-plans-mode-map (kbd "RET") #'imago-plans-open)

(defun imago-plans--draw (project)
  "Draw the list of the plans of PROJECT, where it is shown."
  (let ((buffer (get-buffer "*imago plans*")))
    (when (and buffer (equal (buffer-local-value 'imago--of buffer) (imago-project-root project)))
      (with-current-buffer buffer
        (setq tabulated-list-entries
              (mapcar (lambda (row)
                        (list row (vconcat (mapcar (lambda (key) (imago-line (plist-get row key)))
                                                   '(:id :who :title)))))
                      (imago-waiting project)))
        (tabulated-list-print t)))))

(add-hook 'imago-changed-hook #'imago-plans--draw)

(defun imago-plans-open ()
  "Show the plan of this line."
  (interactive)
  (imago-plan-open (imago-project) (or (tabulated-list-get-id) (user-error "No plan here"))))

;;;###autoload
(defun imago-plans ()
  "Show the plan that waits, or a list where there are several, or none."
  (interactive)
  (let* ((project (imago-project)) (rows (imago-waiting project)))
    (if (= (length rows) 1) (imago-plan-open project (car rows))
      (with-current-buffer (get-buffer-create "*imago plans*")
        (imago-plans-mode)
        (setq imago--of (imago-project-root project))
        (imago-plans--draw project)
        (pop-to-buffer (current-buffer))))))

(provide 'imago-plan)
;;; imago-plan.el ends here
