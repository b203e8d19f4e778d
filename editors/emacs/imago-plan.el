;;; imago-plan.el --- Plans that wait, and their answers  -*- lexical-binding: t; -*-

;;; Commentary:

;; One plan is shown as a diff with a key for each decision.  Moving is as in
;; `diff-mode' and Magit: n and p.  Deciding is a (or y) to accept, r to refuse
;; with a reason, e to edit.  After the last decision, what will be applied is
;; shown once, and y or C-c C-c sends it.

;;; Code:

(require 'imago)
(require 'diff-mode)
(require 'subr-x)

(cl-defstruct imago-part
  "A hunk of a plan; or all of a plan without hunks, whose hunk is nil."
  hunk choice  ; as `answer' takes it
  place)       ; where it is shown

(defvar-local imago-plan--row nil "The row of the plan that is shown.")
(defvar-local imago-plan--plan nil "Its preview.")
(defvar-local imago-plan--parts nil "Its parts, in order.")
(defvar-local imago-plan--stage nil "One of choose, confirm, sent, over.")
(defvar-local imago-plan--news nil "What is to be said above all else.")

(defun imago-plan--keys (map &rest pairs)
  "Bind in MAP each key of PAIRS to the command behind it."
  (cl-loop for (key command) on pairs by #'cddr do (define-key map (kbd key) command))
  map)

(defvar imago-plan-mode-map
  (imago-plan--keys
   (make-sparse-keymap)
   "n" #'imago-plan-next "p" #'imago-plan-previous
   "j" #'imago-plan-next-undecided "k" #'imago-plan-previous-undecided
   "a" #'imago-plan-accept "y" #'imago-plan-accept "r" #'imago-plan-refuse
   "e" #'imago-plan-edit "A" #'imago-plan-accept-rest "R" #'imago-plan-refuse-rest
   "d" #'imago-plan-refuse-rest "u" #'imago-plan-undo "S" #'imago-plan-save
   "C-c C-c" #'imago-plan-send "RET" #'imago-plan-visit)
  "Keys for one plan.")

(defconst imago-plan--faces
  '(("^\\+.*" . 'diff-added) ("^-.*" . 'diff-removed) ("^@@.*" . 'diff-hunk-header)
    ("^[!●].*" . 'warning) ("^━.*" . 'bold))
  "How the lines of a plan look.")

;; Not `diff-mode': it opens the files that a text names, hides hunks that would
;; be sent all the same, and looks for seconds at a hunk of thousands of lines.
(define-derived-mode imago-plan-mode special-mode "Imago-Plan"
  "One plan that waits.
\\{imago-plan-mode-map}"
  (setq-local font-lock-defaults '(imago-plan--faces t)
              revert-buffer-function #'ignore))

;;; Drawing

(defun imago-plan--visiting ()
  "The buffers that visit files of this plan."
  (let ((paths (mapcar (lambda (file) (plist-get file :path)) (plist-get imago-plan--plan :files))))
    (seq-filter (lambda (buffer)
                  (let ((name (buffer-local-value 'buffer-file-truename buffer)))
                    (and name (member (expand-file-name name) paths))))
                (buffer-list))))

(defun imago-plan--put (text &rest args)
  "Put TEXT, a format of ARGS, as one line of ours."
  (insert (imago-line (apply #'format text args)) "\n"))

(defun imago-plan--head (part)
  "The line above PART, with its decision."
  (let* ((hunk (imago-part-hunk part)) (choice (imago-part-choice part))
         (why (plist-get hunk :why)) (reason (plist-get choice :reason)))
    (imago-line
     (concat "━ "
             (if (null hunk) "the whole plan"
               (format "hunk %d of %d · %s:%d" (plist-get hunk :number)
                       (length imago-plan--parts) (plist-get hunk :shown) (plist-get hunk :line)))
             (and why ": ") why
             (pcase (plist-get choice :decision)
               ("accept" " · ✓ taken") ("refuse" " · ✗ refused") ("edit" " · ✎ edited")
               (_ " · undecided"))
             (and reason ": ") reason))))

(defun imago-plan--refused (part)
  "Whether PART is refused."
  (equal (plist-get (imago-part-choice part) :decision) "refuse"))

(defun imago-plan--draw ()
  "Draw the plan of this buffer from what is known of it."
  (let* ((inhibit-read-only t) (row imago-plan--row) (parts imago-plan--parts)
         (body (plist-get imago-plan--plan :body))
         (confirms (eq imago-plan--stage 'confirm)))
    (erase-buffer)
    (when imago-plan--news (imago-plan--put "● %s" imago-plan--news))
    (unless (eq imago-plan--stage 'over)
      (dolist (buffer (seq-filter #'buffer-modified-p (imago-plan--visiting)))
        (imago-plan--put "! %s has unsaved text here: S saves it" (buffer-name buffer))))
    (seq-doseq (warning (plist-get row :warnings)) (imago-plan--put "! LOOK: %s" warning))
    (imago-plan--put "%s" (plist-get row :title))
    (imago-plan--put "%s, asked by %s (%s)%s" (plist-get row :tool) (plist-get row :who)
                     (plist-get row :id)
                     (if (> (plist-get row :times) 1)
                         (format ", %d times by now" (plist-get row :times)) ""))
    (seq-doseq (note (plist-get row :notes)) (imago-plan--put "%s" note))
    (if confirms
        (imago-plan--put
         "What will be applied: %d of %d, as one change. y sends it, u goes back."
         (length (seq-remove #'imago-plan--refused parts)) (length parts))
      ;; Behind the lines that lead it, each of one line, the body is the hunks again.
      (when (imago-part-hunk (car parts))
        (insert (imago-marked (substring body 0 (string-match "\n\ndiff --git " body))) "\n")))
    (dolist (part parts)
      (setf (imago-part-place part) (copy-marker (point)))
      (insert (imago-plan--head part) "\n")
      (let* ((hunk (imago-part-hunk part)) (edited (plist-get (imago-part-choice part) :text)))
        (cond (edited (imago-plan--side "-" (plist-get hunk :before)) (imago-plan--side "+" edited))
              ((and confirms (imago-plan--refused part)))
              (hunk (insert (imago-marked (plist-get hunk :diff)) "\n"))
              ;; It may look like lines of ours.
              (t (insert (propertize (imago-marked body) 'line-prefix "│ ") "\n")))))
    (unless (eq imago-plan--stage 'over)
      (imago-plan--put "")
      (imago-plan--put "For a script: imago approve %s --code %s" (plist-get row :id)
                       (plist-get imago-plan--plan :code)))
    (set-buffer-modified-p nil)
    (goto-char (point-min))))

(defun imago-plan--side (mark text)
  "Put each line of TEXT behind MARK."
  (unless (equal text "")
    (dolist (line (split-string (string-remove-suffix "\n" text) "\n"))
      (insert mark (imago-marked line) "\n"))))

;;; Moving

(defun imago-plan--before (position parts)
  "The last of PARTS that begins before POSITION, if any."
  (cl-find-if (lambda (part) (< (imago-part-place part) position)) parts :from-end t))

(defun imago-plan--after (position parts)
  "The first of PARTS that begins after POSITION, if any."
  (cl-find-if (lambda (part) (> (imago-part-place part) position)) parts))

(defun imago-plan--at ()
  "The part that point is in; above all of them, the first."
  (or (imago-plan--before (1+ (point)) imago-plan--parts) (car imago-plan--parts)))

(defun imago-plan--undecided ()
  "The undecided parts."
  (seq-remove #'imago-part-choice imago-plan--parts))

(defun imago-plan--go (part)
  "Go to PART, if any."
  (when part (goto-char (imago-part-place part))))

(defun imago-plan-next ()
  "Go to the next hunk."
  (interactive)
  (imago-plan--go (imago-plan--after (point) imago-plan--parts)))

(defun imago-plan-previous ()
  "Go to the previous hunk."
  (interactive)
  (imago-plan--go (imago-plan--before (line-beginning-position) imago-plan--parts)))

(defun imago-plan-next-undecided ()
  "Go to the next undecided hunk, round to the first."
  (interactive)
  (let ((parts (imago-plan--undecided)))
    (imago-plan--go (or (imago-plan--after (point) parts) (car parts)))))

(defun imago-plan-previous-undecided ()
  "Go to the previous undecided hunk, round to the last."
  (interactive)
  (let ((parts (imago-plan--undecided)))
    (imago-plan--go (or (imago-plan--before (line-beginning-position) parts) (car (last parts))))))

(defun imago-plan-visit ()
  "Go to the line of the file that the hunk at point is about."
  (interactive)
  (let ((hunk (or (imago-part-hunk (imago-plan--at)) (user-error "This plan has no hunks"))))
    (find-file-other-window (imago-file (plist-get hunk :shown) (imago-project)))
    (goto-char (point-min))
    (forward-line (1- (plist-get hunk :line)))))

;;; Deciding

(defun imago-plan--choosing ()
  "Signal an error where nothing can be decided."
  (unless (eq imago-plan--stage 'choose) (user-error "There is nothing to decide here now")))

(defun imago-plan--decide (parts choice)
  "Write CHOICE down for PARTS; after the last one show what will be sent."
  (imago-plan--choosing)
  (let ((inhibit-read-only t))
    (dolist (part parts)
      (setf (imago-part-choice part) choice)
      (save-excursion
        (imago-plan--go part)
        (delete-region (point) (line-end-position))
        (insert (imago-plan--head part))))
    (set-buffer-modified-p nil))
  (cond ((null (imago-plan--undecided))
         (setq imago-plan--stage 'confirm)
         (imago-plan--draw)
         ;; A key that was typed before this was shown does not send it.
         (discard-input))
        ((plist-get choice :text) (imago-plan--draw) (imago-plan--go (car parts)))
        (choice (imago-plan-next-undecided))))

(defun imago-plan--refusal ()
  "A refusal, with a reason that the person is asked for."
  (imago-plan--choosing)
  (let ((reason (read-string "Reason (empty gives none): ")))
    (list :decision "refuse" :reason (unless (string-blank-p reason) reason))))

(defun imago-plan--shown-p (part)
  "Whether the end of PART is on the screen; where it is not, read on."
  (let ((next (cadr (memq part imago-plan--parts))))
    (or (pos-visible-in-window-p (1- (if next (imago-part-place next) (point-max))))
        (ignore (scroll-up-command)
                (imago-say "there is more below; %s again at its end"
                           (key-description (this-command-keys)))))))

(defun imago-plan-accept ()
  "Take the hunk at point; where all is decided, send the answer."
  (interactive)
  (let ((part (imago-plan--at)))
    (cond ((eq imago-plan--stage 'confirm) (imago-plan-send))
          ((imago-plan--shown-p part) (imago-plan--decide (list part) '(:decision "accept"))))))

(defun imago-plan-refuse ()
  "Refuse the hunk at point, with a reason."
  (interactive)
  (imago-plan--decide (list (imago-plan--at)) (imago-plan--refusal)))

(defun imago-plan-accept-rest ()
  "Take all undecided hunks, once they have been shown."
  (interactive)
  (when (imago-plan--shown-p (car (last imago-plan--parts)))
    (imago-plan--decide (imago-plan--undecided) '(:decision "accept"))))

(defun imago-plan-refuse-rest ()
  "Refuse all undecided hunks, with one reason."
  (interactive)
  (imago-plan--decide (imago-plan--undecided) (imago-plan--refusal)))

(defun imago-plan-undo ()
  "Take the decision on the hunk at point back; of a plan that is over, the change."
  (interactive)
  (pcase imago-plan--stage
    ('over (imago-undo (or (imago-plan--undone-by (imago-plan--now (imago-project)))
                           (user-error "It changed nothing that could be taken back"))))
    ('confirm (setq imago-plan--stage 'choose)
              (imago-plan--draw)
              (imago-plan--decide (last imago-plan--parts) nil)
              (imago-plan--go (car (last imago-plan--parts))))
    (_ (imago-plan--decide (list (imago-plan--at)) nil))))

(defun imago-plan-save ()
  "Save the unsaved text of files of this plan."
  (interactive)
  (dolist (buffer (seq-filter #'buffer-modified-p (imago-plan--visiting)))
    (with-current-buffer buffer (save-buffer)))
  (imago-plan--draw))

;;; Editing a hunk

(defvar-local imago-plan--edits nil "The plan buffer and the part that is edited here.")

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
  (imago-plan--choosing)
  (let* ((plan (current-buffer)) (part (imago-plan--at))
         (hunk (or (imago-part-hunk part) (user-error "This plan has no hunks to edit"))))
    (pop-to-buffer (generate-new-buffer "*imago edit*"))
    (insert (string-replace "\r\n" "\n" (plist-get hunk :after)))
    (imago-plan-edit-mode)
    (setq imago-plan--edits (cons plan part))
    (goto-char (point-min))
    (imago-say "C-c C-c takes this text, C-c C-k does not")))

(defun imago-plan-edit-done ()
  "Take the text of this buffer in place of the hunk."
  (interactive)
  (pcase-let ((`(,plan . ,part) imago-plan--edits)
              (text (buffer-substring-no-properties (point-min) (point-max))))
    (unless (and (buffer-live-p plan)
                 (memq part (buffer-local-value 'imago-plan--parts plan))
                 (eq 'choose (buffer-local-value 'imago-plan--stage plan)))
      (user-error "That plan waits no more: nothing was answered"))
    (quit-window t)
    (pop-to-buffer plan)
    (imago-plan--decide (list part) (list :decision "edit" :text text))))

;;; The answer

(defun imago-plan--answer ()
  "The decisions as `answer' takes them."
  (let* ((first (car imago-plan--parts)) (reason (plist-get (imago-part-choice first) :reason)))
    (if (imago-part-hunk first)
        (list :decision "choose"
              :choices (vconcat (mapcar (lambda (part)
                                          `( :hunk ,(plist-get (imago-part-hunk part) :number)
                                             ,@(imago-part-choice part)))
                                        imago-plan--parts)))
      `( :decision ,(if (imago-plan--refused first) "deny" "approve")
         ,@(and reason (list :reason reason))))))

(defun imago-plan--confirming ()
  "Signal an error where there is nothing to send."
  (unless (eq imago-plan--stage 'confirm)
    (user-error (if (eq imago-plan--stage 'choose) "Some of it is undecided" "It was answered"))))

(defun imago-plan-send ()
  "Send the decisions, once they have been shown."
  (interactive)
  (imago-plan--confirming)
  (let ((unsaved (seq-filter #'buffer-modified-p (imago-plan--visiting))))
    (unless (or (null unsaved) (seq-every-p #'imago-plan--refused imago-plan--parts))
      (discard-input)
      (unless (y-or-n-p (imago-line (format "%s has unsaved text; send all the same? "
                                            (mapconcat #'buffer-name unsaved ", "))))
        (user-error "Nothing was sent"))
      ;; Somebody else may have answered meanwhile.
      (imago-plan--confirming)))
  (setq imago-plan--stage 'sent imago-plan--news "The answer was sent.")
  (imago-plan--draw)
  (let ((buffer (current-buffer)))
    (imago-ask (imago-project) "answer"
               `( :plan ,(plist-get imago-plan--row :id) :hash ,(plist-get imago-plan--row :hash)
                  ,@(imago-plan--answer))
               (lambda (became)
                 (unless (equal (plist-get became :type) "taken")
                   (imago-plan--back buffer (or (plist-get became :why) (plist-get became :type)))))
               (lambda (fault) (imago-plan--back buffer (plist-get fault :message))))))

(defun imago-plan--back (buffer why)
  "Say in BUFFER WHY its answer was not taken; it can be sent again."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (when (eq imago-plan--stage 'sent)
        (setq imago-plan--stage 'confirm imago-plan--news (format "It was not taken: %s" why))
        (imago-plan--draw)))))

(defun imago-plan--now (project)
  "The row of this plan as PROJECT has it now."
  (car (imago-rows project "approvals" (lambda (row) (equal (plist-get row :id)
                                                            (plist-get imago-plan--row :id))))))

(defun imago-plan--undone-by (row)
  "The name to undo the change of ROW by, if any."
  (plist-get (plist-get row :ended) :undo))

(defun imago-plan--ending (now)
  "Why this plan, whose row is NOW, needs no answer any more; nil while it does."
  (let ((ended (plist-get now :ended)))
    (cond ((null now) "This plan is not known any more.")
          ((equal (plist-get now :state) "waits")
           (unless (equal (plist-get now :hash) (plist-get imago-plan--row :hash))
             "This plan has changed: open it again."))
          (t (concat (plist-get now :why)
                     (and ended (format " It ended: %s." (plist-get ended :outcome)))
                     (and (plist-get ended :undo) " u takes it back."))))))

(defun imago-plan--update (project)
  "Say in the plans of PROJECT what became of them, and read files again."
  (dolist (buffer (imago-buffers project 'imago-plan-mode))
    (with-current-buffer buffer
      (let ((why (imago-plan--ending (imago-plan--now project))))
        (when (and why (not (equal why imago-plan--news)))
          (setq imago-plan--stage 'over imago-plan--news why)
          (imago-plan--draw)
          (dolist (other (imago-plan--visiting))
            (with-current-buffer other
              (unless (or (buffer-modified-p) (verify-visited-file-modtime)
                          (not (file-exists-p buffer-file-name)))
                (revert-buffer t t t)))))))))

(add-hook 'imago-changed-hook #'imago-plan--update)

;;; What waits

(defun imago-plan-open (project row &optional keys)
  "Show the plan of ROW of PROJECT; the first one takes a seat.
The cursor stays where it is if the person has typed on meanwhile, since
KEYS, a count of theirs, or since now."
  (let ((keys (or keys num-input-keys)))
    (imago-sit
     project
     (lambda ()
       (imago-ask
        project "plan" (list :plan (plist-get row :id))
        (lambda (plan)
          (if (null (plist-get plan :body)) (imago-say "%s waits no more" (plist-get row :id))
            (imago-plan--show project row plan (= keys num-input-keys)))))))))

(defun imago-plan--show (project row plan select)
  "Show PLAN, the preview of ROW of PROJECT; go there where SELECT is true."
  (with-current-buffer (get-buffer-create (format "*imago %s*" (plist-get row :id)))
    ;; Decisions stay for as long as the plan is the same.
    (unless (and (memq imago-plan--stage '(choose confirm sent))
                 (equal (plist-get row :hash) (plist-get imago-plan--row :hash)))
      (imago-plan-mode)
      (setq imago--of (imago-project-root project) default-directory imago--of
            imago-plan--row row imago-plan--plan plan
            imago-plan--parts (mapcar (lambda (hunk) (make-imago-part :hunk hunk))
                                      (or (append (plist-get plan :hunks) nil) '(nil)))
            imago-plan--stage 'choose imago-plan--news nil))
    (imago-plan--draw)
    (if (and select (not (input-pending-p))) (pop-to-buffer (current-buffer))
      (imago-say "the plan is in the buffer %s" (buffer-name)))))

(defun imago-plans ()
  "Show a plan that waits, of several the one that is chosen."
  (interactive)
  (let ((project (imago-project)))
    (imago-plan-open project (imago-choose "Plan" (reverse (imago-waiting project))
                                           (lambda (row)
                                             (format "%s %s, asked by %s" (plist-get row :id)
                                                     (plist-get row :title)
                                                     (plist-get row :who)))))))

;;; Undo

(defvar imago-plan--undoing nil "The call that takes a change back, and what was typed by then.")

(defun imago-plan--changes (project)
  "Return the rows for `imago-undo' in PROJECT, the newest first and undos last."
  (let ((rows (imago-rows project "approvals" #'imago-plan--undone-by))
        (undo (lambda (row) (equal (plist-get row :tool) "undo_change"))))
    (append (or (seq-remove undo rows) (user-error "There is no change to take back"))
            (seq-filter undo rows))))

(defun imago-undo (change)
  "Take CHANGE back by a plan of its own, which is shown."
  (interactive
   (list (imago-plan--undone-by
          (imago-choose "Take back" (imago-plan--changes (imago-project))
                        (lambda (row)
                          (format "%s %s" (imago-plan--undone-by row) (plist-get row :title)))))))
  (let ((call (secure-hash 'md5 (format "%d %f %d" (emacs-pid) (float-time) (random)))))
    (setq imago-plan--undoing (cons call num-input-keys))
    (imago-call (imago-project) "undo_change" (list :change change)
                (lambda (envelope)
                  (imago-say "%s" (car (split-string (plist-get envelope :shown) "\n"))))
                call)))

(defun imago-plan--show-undo (project)
  "Show the plan of PROJECT that takes a change back, once it waits."
  (pcase-let* ((`(,call . ,keys) imago-plan--undoing)
               (id (plist-get (car (imago-rows project "calls"
                                               (lambda (row) (equal (plist-get row :call) call))))
                              :plan))
               (row (car (seq-filter (lambda (row) (equal (plist-get row :id) id))
                                     (imago-waiting project)))))
    (when (and call row)
      (setq imago-plan--undoing nil)
      (imago-plan-open project row keys))))

(add-hook 'imago-changed-hook #'imago-plan--show-undo)

(provide 'imago-plan)
;;; imago-plan.el ends here
