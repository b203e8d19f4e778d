;;; imago-plan.el --- Plans that wait, and their answers  -*- lexical-binding: t; -*-

;;; Commentary:

;; One plan is shown as a diff; after the last decision, what will be applied, before it is sent.

;;; Code:

(require 'imago)
(require 'diff-mode)
(require 'subr-x)

(cl-defstruct imago-part
  "A hunk of a plan; or all of a plan without hunks, whose hunk is nil."
  hunk choice)  ; as `answer' takes it

(defvar-local imago-plan--plan nil "The plan that is shown, as `imago/plan' tells it.")
(defvar-local imago-plan--parts nil "Its parts, in order.")
(defvar-local imago-plan--stage nil "One of choose, confirm, sent, over.")
(defvar-local imago-plan--news nil "What is to be said above all else.")

(defconst imago-plan--faces
  '(("^\\(?:│ \\)?\\+.*" . 'diff-added) ("^\\(?:│ \\)?-.*" . 'diff-removed)
    ("^\\(?:│ \\)?@@.*" . 'diff-hunk-header) ("^[!●].*" . 'warning) ("^━.*" . 'bold))
  "How the lines of a plan look.")

;; Not `diff-mode': it opens the files that a text names, hides hunks that would
;; be sent all the same, and looks for seconds at a hunk of thousands of lines.
(define-derived-mode imago-plan-mode special-mode "Imago-Plan"
  "One plan that waits."
  (setq-local font-lock-defaults '(imago-plan--faces t)
              ;; Nothing of a line is beyond the edge or on the other side of the
              ;; window, and a row that a long line is broken into is none of ours.
              truncate-lines nil truncate-partial-width-windows nil
              bidi-paragraph-direction 'left-to-right wrap-prefix "┃ "
              header-line-format '(:eval (imago-plan--keys))))

(pcase-dolist (`(,key . ,command)
               '(("n" . imago-plan-next) ("p" . imago-plan-previous) ("a" . imago-plan-accept)
                 ("y" . imago-plan-accept) ("r" . imago-plan-refuse) ("e" . imago-plan-edit)
                 ("u" . imago-plan-undo) ("S" . imago-plan-save) ("\C-c\C-c" . imago-plan-send)))
  (define-key imago-plan-mode-map key command))

;;; Drawing and moving

(defun imago-plan--visiting (&optional fit)
  "The buffers that visit files of this plan, all or those of FIT."
  (cl-loop with names = (mapcar (lambda (file) (abbreviate-file-name (plist-get file :path)))
                                (plist-get imago-plan--plan :files))
           for buffer in (buffer-list)
           when (and (member (buffer-local-value 'buffer-file-truename buffer) names)
                     (funcall (or fit #'identity) buffer)) collect buffer))

(defun imago-plan--keys ()
  "The header line: the files with unsaved text, and the keys of this stage."
  (let ((unsaved (mapconcat #'buffer-name (imago-plan--visiting #'buffer-modified-p) ", ")))
    (pcase imago-plan--stage
      ('sent "The answer is on its way · q leaves")
      ('over "This plan waits no more; below is what was chosen in this Emacs · q leaves")
      (stage
       (concat
        (unless (string-empty-p unsaved)
          (string-replace "%" "%%" (concat "! " (imago-line unsaved)
                                           ": unsaved; S saves, and ends this plan · ")))
        (cond ((eq stage 'confirm) "y sends what is shown below · u goes back")
              ((imago-part-hunk (car imago-plan--parts))
               "y take · r refuse · e edit · u undo · n p next, previous · C-u y all")
              (t "y take · r refuse")))))))

(defun imago-plan--head (part)
  "The line above PART, with what was chosen for it."
  (let* ((choice (imago-part-choice part)) (reason (plist-get choice :reason)))
    (imago-line
     (concat "━ " (or (plist-get (imago-part-hunk part) :head) "the whole plan") " · "
             (pcase (plist-get choice :decision)
               ("accept" "✓ take") ("refuse" "✗ refuse") ("edit" "✎ edit") (_ "undecided"))
             (and reason ": ") reason))))

(defun imago-plan--refused (part)
  "Whether PART is refused."
  (equal (plist-get (imago-part-choice part) :decision) "refuse"))

(defun imago-plan--edited (part)
  "The text that was written in place of PART."
  (plist-get (imago-part-choice part) :text))

(defun imago-plan--draw ()
  "Draw the plan of this buffer from what is known of it."
  (let ((inhibit-read-only t) (parts imago-plan--parts))
    (erase-buffer)
    (when imago-plan--news (insert "● " (imago-line imago-plan--news) "\n"))
    (when (eq imago-plan--stage 'confirm)
      (insert (format "What will be applied: %d of %d, as one change.\n"
                      (length (seq-remove #'imago-plan--refused parts)) (length parts))))
    (seq-doseq (line (plist-get imago-plan--plan :heading)) (insert (imago-marked line) "\n"))
    (mapc #'imago-plan--put-part parts)
    (goto-char (point-min))))

(defun imago-plan--put-part (part)
  "Put PART as it has been decided."
  (let ((hunk (imago-part-hunk part)) (edited (imago-plan--edited part)) (from (point)))
    (insert (imago-plan--head part) "\n")
    (cond (edited (imago-plan--side "-" (plist-get hunk :before)) (imago-plan--side "+" edited))
          ((and (eq imago-plan--stage 'confirm) (imago-plan--refused part)))
          (hunk (insert (imago-marked (plist-get hunk :diff)) "\n")))
    (put-text-property from (point) 'imago-part part)))

(defun imago-plan--side (mark text)
  "Put each line of TEXT behind MARK."
  (unless (equal text "")
    (dolist (line (split-string (string-remove-suffix "\n" text) "\n"))
      (insert mark (imago-marked line) "\n"))))

(defun imago-plan--at ()
  "The part that point is in; above all of them, the first."
  (or (get-text-property (min (point) (1- (point-max))) 'imago-part) (car imago-plan--parts)))

(defun imago-plan--go (part)
  "Go to PART."
  (goto-char (text-property-any (point-min) (point-max) 'imago-part part)))

(defun imago-plan-next ()
  "Go to the next hunk."
  (interactive)
  (goto-char (or (next-single-property-change (point) 'imago-part) (point))))

(defun imago-plan-previous ()
  "Go to the previous hunk."
  (interactive)
  (goto-char (or (previous-single-property-change (point) 'imago-part) (point))))

;;; Deciding

(defun imago-plan--undecided (&optional parts)
  "The undecided of PARTS, or of all."
  (seq-remove #'imago-part-choice (or parts imago-plan--parts)))

(defun imago-plan--choosing ()
  "Signal an error where nothing can be decided."
  (unless (eq imago-plan--stage 'choose) (imago-error "There is nothing to decide here now")))

(defun imago-plan--decide (parts choice)
  "Write CHOICE down for PARTS; after the last one show what will be sent."
  (imago-plan--choosing)
  (let ((inhibit-read-only t))
    (dolist (part parts)
      (setf (imago-part-choice part) choice)
      (save-excursion
        (imago-plan--go part)
        (delete-region (point) (next-single-property-change (point) 'imago-part nil (point-max)))
        (imago-plan--put-part part))))
  (cond ((null (imago-plan--undecided))
         (setq imago-plan--stage 'confirm)
         (imago-plan--draw)
         ;; A key that was typed before this was shown does not send it.
         (discard-input))
        (choice (imago-plan--go
                 (car (or (imago-plan--undecided (memq (car parts) imago-plan--parts))
                          (imago-plan--undecided)))))))

(defun imago-plan--shown-p (part)
  "Whether the end of PART is on the screen; where it is not, read on."
  (let ((from (text-property-any (point-min) (point-max) 'imago-part part)))
    (or (null part)
        (pos-visible-in-window-p
         (1- (next-single-property-change from 'imago-part nil (point-max))))
        (ignore (scroll-up-command) (imago-say "there is more below: once more at its end")))))

(defun imago-plan-accept (&optional all)
  "Take the hunk at point, with ALL each undecided one; then send the answer."
  (interactive "P")
  (if (eq imago-plan--stage 'confirm) (imago-plan-send)
    (let* ((parts (if all (imago-plan--undecided) (list (imago-plan--at))))
           (edit (and parts (imago-plan--edited (car parts)))))
      (when (imago-plan--shown-p (car (last parts)))
        (imago-plan--decide parts (if edit (imago-part-choice (car parts)) '(:decision "accept")))
        (when edit (imago-say "your text is kept; u or r at it drops it"))))))

(defun imago-plan-refuse (&optional all)
  "Refuse the hunk at point, with ALL each undecided one, and give a reason."
  (interactive "P")
  (imago-plan--choosing)
  (let ((parts (if all (imago-plan--undecided) (list (imago-plan--at))))
        (reason (read-string "Reason (empty gives none): ")))
    (imago-plan--decide
     parts (list :decision "refuse" :reason (unless (string-blank-p reason) reason)))))

(defun imago-plan-undo ()
  "Take the decision on the hunk at point back; or go back to the last hunk."
  (interactive)
  (let ((part (imago-plan--at)))
    (if (not (eq imago-plan--stage 'confirm)) (imago-plan--decide (list part) nil)
      (setq imago-plan--stage 'choose part (car (last imago-plan--parts)))
      (imago-plan--draw))
    (imago-plan--go part)))

(defun imago-plan-save ()
  "Save the unsaved text of files of this plan, which is out of date then."
  (interactive)
  (dolist (buffer (imago-plan--visiting #'buffer-modified-p))
    (with-current-buffer buffer (save-buffer))
    (imago-say "%s is saved; this plan is out of date: it has to be asked for again" buffer))
  (force-mode-line-update))

;;; Editing a hunk

(defvar-local imago-plan--edits nil "The plan buffer and the part that is edited here.")
;; No mode of the file: some run what they read.
(define-derived-mode imago-plan-edit-mode fundamental-mode "Imago-Edit"
  "The text that is to be there in place of a hunk."
  (setq-local bidi-display-reordering nil
              glyphless-char-display (copy-sequence glyphless-char-display))
  (set-char-table-range glyphless-char-display '(#x200b . #x206f) 'hex-code))
(define-key imago-plan-edit-mode-map "\C-c\C-c" #'imago-plan-edit-done)
(define-key imago-plan-edit-mode-map "\C-c\C-k" #'kill-buffer-and-window)

(defun imago-plan-edit ()
  "Edit the text of the hunk at point."
  (interactive)
  (imago-plan--choosing)
  (let* ((plan (current-buffer)) (part (imago-plan--at))
         (hunk (or (imago-part-hunk part) (imago-error "This plan has no hunks to edit"))))
    (pop-to-buffer (generate-new-buffer "*imago edit*"))
    (insert (or (imago-plan--edited part) (string-replace "\r\n" "\n" (plist-get hunk :after))))
    (imago-plan-edit-mode)
    (setq imago-plan--edits (cons plan part))
    (goto-char (point-min))
    (imago-say "C-c C-c takes this text, C-c C-k does not")))

(defun imago-plan-edit-done ()
  "Take the text of this buffer in place of the hunk."
  (interactive)
  (pcase-let ((`(,plan . ,part) imago-plan--edits)
              (text (buffer-substring-no-properties (point-min) (point-max))))
    (unless (and (buffer-live-p plan) (memq part (buffer-local-value 'imago-plan--parts plan))
                 (eq 'choose (buffer-local-value 'imago-plan--stage plan)))
      (imago-error "That plan waits no more: nothing was answered"))
    (quit-window t)
    (pop-to-buffer plan)
    (imago-plan--decide (list part) (list :decision "edit" :text text))))

(defun imago-plan--answer ()
  "The decisions as `answer' takes them."
  (let* ((first (car imago-plan--parts)) (reason (plist-get (imago-part-choice first) :reason)))
    (if (null (imago-part-hunk first))
        `( :decision ,(if (imago-plan--refused first) "deny" "approve")
           ,@(and reason (list :reason reason)))
      (cl-flet ((told (part) `( :hunk ,(plist-get (imago-part-hunk part) :number)
                                ,@(imago-part-choice part))))
        (list :decision "choose" :choices (vconcat (mapcar #'told imago-plan--parts)))))))

(defun imago-plan-send ()
  "Send the decisions, once they have been shown."
  (interactive)
  (unless (eq imago-plan--stage 'confirm) (imago-error "There is nothing to send now"))
  ;; The rest has been on the screen as it was taken.
  (when (imago-plan--shown-p (car (last (seq-filter #'imago-plan--edited imago-plan--parts))))
    (setq imago-plan--stage 'sent imago-plan--news "The answer was sent.")
    (imago-plan--draw)
    (let ((told (apply-partially #'imago-plan--told (current-buffer))))
      (imago-ask (imago-project) "answer"
                 `( :plan ,(plist-get imago-plan--plan :id)
                    :hash ,(plist-get imago-plan--plan :hash) ,@(imago-plan--answer))
                 told told))))

(defun imago-plan--told (buffer became)
  "Note in BUFFER what BECAME of its answer; one not taken can be sent again."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (unless (or (not (eq imago-plan--stage 'sent)) (equal (plist-get became :type) "taken"))
        (setq imago-plan--stage 'confirm imago-plan--news (imago-sentence became))
        (imago-plan--draw)))))

(defun imago-plan--update (project)
  "Say in the plans of PROJECT what became of them, and read files again."
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (when (and (derived-mode-p 'imago-plan-mode)
                 (equal default-directory (imago-project-root project)))
        (let* ((row (alist-get (cons "approvals" (plist-get imago-plan--plan :id))
                               (imago-project-rows project) nil nil #'equal))
               (why (or (plist-get row :shown) "This plan is not known any more.")))
          (unless (or (plist-get row :waits) (equal why imago-plan--news))
            (setq imago-plan--stage 'over imago-plan--news why)
            (imago-plan--draw)
            (dolist (other (imago-plan--visiting))
              (with-current-buffer other
                (when (funcall buffer-stale-function) (revert-buffer t t t))))))))))
(add-hook 'imago-changed-hook #'imago-plan--update)

(defun imago-plan-open (project id)
  "Show the plan ID of PROJECT; the first one takes a seat.
Go there if the person has asked for it and typed nothing since."
  (imago-sit project
             (lambda ()
               (imago-ask project "plan" (list :plan id :shown t)
                          (lambda (plan)
                            (imago-plan--show project plan
                                              (eql num-input-keys (imago-project-keys project)))
                            (setf (imago-project-keys project) nil))))))

(defun imago-plan--await (project)
  "Wait for the plan that PROJECT was asked for, some seconds at most."
  (setf (imago-project-keys project) num-input-keys)
  (condition-case nil
      (with-timeout (5)
        (while (and (imago-project-keys project) (not (imago-project-asked project)))
          (accept-process-output nil 0.1)))
    (quit (setf (imago-project-keys project) nil))))

(defun imago-plan--show (project plan select)
  "Show PLAN of PROJECT, and go there where SELECT is true."
  (with-current-buffer (get-buffer-create (format "*imago %s*" (plist-get plan :id)))
    ;; Decisions stay for as long as the plan waits.
    (unless (memq imago-plan--stage '(choose confirm sent))
      (imago-plan-mode)
      (setq default-directory (imago-project-root project)
            imago-plan--plan plan imago-plan--stage 'choose imago-plan--news nil
            imago-plan--parts (mapcar (lambda (hunk) (make-imago-part :hunk hunk))
                                      (or (append (plist-get plan :hunks) nil) '(nil)))))
    (imago-plan--draw)
    (if select (imago-select (current-buffer))
      (display-buffer (current-buffer))
      (imago-say "the plan is in the buffer %s" (buffer-name)))))

(defun imago-plans ()
  "Show a plan that waits, of several the one that is chosen."
  (interactive)
  (let* ((project (imago-project))
         (row (imago-choose "Plan" "No plan waits" (imago-waiting project "approvals"))))
    ;; What waits for somebody to sit is a plan then.
    (if (null (plist-get row :id)) (imago-sit project)
      (imago-plan-open project (plist-get row :id))
      (imago-plan--await project))))

(defun imago-undo ()
  "Take the newest change back by a plan of its own, which is shown."
  (interactive)
  (let ((project (imago-project)) (keys num-input-keys))
    (imago-ask project "call" '(:tool "undo_change" :shown t :follow t)
               (lambda (envelope)
                 (when (eql keys (imago-project-keys project)) (setf (imago-project-keys project) nil))
                 (imago-say "%s" (car (split-string (plist-get envelope :shown) "\n")))))
    (imago-plan--await project)))

(provide 'imago-plan)
;;; imago-plan.el ends here
