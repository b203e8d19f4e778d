;;; imago.el --- What runs, and what waits for an answer  -*- lexical-binding: t; -*-

;; Version: 0.2.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, languages
;; URL: https://github.com/imago-agent/imago

;;; Commentary:

;; Imago lets an agent live inside a running program, and puts a person in front of each change.
;; This package speaks to `imago lsp', one process for each project, whose rows are all the
;; state there is.  A plan that waits is a sign in the mode line: M-x imago-plans shows it.

;;; Code:

(require 'cl-lib)

(defgroup imago nil "What runs in your programs, and what waits for an answer." :group 'tools)

(defcustom imago-command '("imago" "lsp")
  "The program that Emacs speaks to, and its arguments."
  :type '(repeat string))

(defcustom imago-sit-at-start t
  "Whether Emacs takes the seat of a project where nobody sits, once it connects.
Without a seat, here or elsewhere, what needs a person is refused."
  :type 'boolean)

(dolist (command '(imago-plans imago-undo)) (autoload command "imago-plan" nil t))
(dolist (command '(imago-evaluate imago-evaluate-last imago-evaluate-defun imago-inspect
                         imago-threads imago-errors imago-xref-backend))
  (autoload command "imago-program" nil t))

(cl-defstruct imago-project
  "A project, and the connection to its `imago lsp'."
  root connection
  texts        ; that it was told of, as `imago--texts' has them
  rows         ; ((TOPIC . KEY) . PLIST), the last to change first
  (waits "")   ; what waits, in words
  seat asked   ; what was told of the seat that it has, and of one that it asked for
  keys)        ; how many had been typed, while a plan is on its way that the person asked for

(defvar imago--projects nil "Those with a connection, by root.")
(defvar imago-changed-hook nil "Run with a project after its rows or its seat have changed.")

;;; A text from elsewhere

(defconst imago--unseen
  (concat "[^[:graph:] \n\t]\\|[\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f"
          "\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
          "\ue000-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffc\x110bd\x110cd\x13430-\x13442"
          "\x16fe4\x1bca0-\x1bca3\x1d159\x1d173-\x1d17a\xe0000-\xe0fff]")
  "Characters that a reader would not see, or that move the rest.")

(defun imago-marked (text)
  "Return TEXT, marked as ⟦U+202E⟧ where a reader would not see a character."
  (replace-regexp-in-string
   imago--unseen (lambda (found) (format "⟦U+%04X⟧" (aref found 0))) (or text "") t t))

(defun imago-line (text)
  "Return TEXT as one line, marked likewise."
  (replace-regexp-in-string "[\n\t ]+" " " (imago-marked text)))

(defun imago-say (text &rest args)
  "Say TEXT, a format of ARGS, in the echo area."
  (message "%s" (concat "imago: " (imago-line (apply #'format text args)))))

(defun imago-error (text &rest args)
  "Signal TEXT, a format of ARGS, as an error of the person's."
  ;; From a function, for *Messages* names the form that signals.
  (user-error "%s" (imago-line (apply #'format text args))))

(defun imago-select (buffer)
  "Go to BUFFER; keys that were typed before it was there are for nothing in it."
  (pop-to-buffer buffer)
  (discard-input))

;;; The connection

(declare-function make-instance "eieio")
(declare-function jsonrpc-async-request "jsonrpc")
(declare-function jsonrpc-notify "jsonrpc")
(declare-function imago-plan-open "imago-plan")
(declare-function project-root "project")

(defun imago--root ()
  "The root of the project of this buffer."
  (when (file-remote-p default-directory) (imago-error "Imago sees programs of this machine alone"))
  (expand-file-name (or (locate-dominating-file default-directory "imago.toml")
                        (let ((project (project-current))) (and project (project-root project)))
                        default-directory)))

(defun imago-project ()
  "Return the project of this buffer; start `imago lsp' where it has none."
  (let ((root (imago--root)))
    (or (cdr (assoc root imago--projects)) (imago--connect root))))

(defun imago--connect (root)
  "Start `imago lsp' for the project in ROOT, without waiting for it."
  ;; Loaded late: it takes longer than all else of Emacs' start.
  (require 'jsonrpc)
  (let* ((default-directory root) (project (make-imago-project :root root)))
    (setf (imago-project-connection project)
          (apply
           #'make-instance 'jsonrpc-process-connection :name "imago"
           :process (lambda ()
                      (make-process :name "imago" :command imago-command :connection-type 'pipe
                                    :coding 'utf-8-emacs-unix :noquery t
                                    :stderr (get-buffer-create " *imago stderr*")))
           :notification-dispatcher (lambda (_ method params) (imago--heard project method params))
           :request-dispatcher #'ignore
           :on-shutdown (lambda (_) (imago--gone project))
           ;; No log of what is said: secrets of seats are in it.
           (if (< emacs-major-version 30) '(:events-buffer-scrollback-size 0)
             '(:events-buffer-config (:size 0)))))
    (push (cons root project) imago--projects)
    (add-to-list 'global-mode-string '(:eval (imago-sign)) t)
    ;; It takes requests in their order, and need not have answered this one before the next.
    (jsonrpc-async-request (imago-project-connection project) 'initialize
                           `( :processId ,(emacs-pid) :clientInfo (:name "Emacs")
                              :rootUri nil :capabilities ,(make-hash-table)
                              :initializationOptions
                              (:sit ,(or (and imago-sit-at-start (not noninteractive))
                                         :json-false)))
                           :timeout nil)
    (jsonrpc-notify (imago-project-connection project) 'initialized (make-hash-table))
    (imago-ask project "subscribe" '(:topics ["approvals" "errors" "kernels" "seats"]))
    (imago--texts-changed)
    project))

(defun imago--gone (project)
  "Forget PROJECT, whose `imago lsp' has ended, until the next command."
  (setq imago--projects (rassq-delete-all project imago--projects))
  (setf (imago-project-rows project) nil)
  (imago--changed project))

(defun imago-sentence (told)
  "The sentence of TOLD, an answer that did not count or a fault."
  (or (plist-get told :shown) (plist-get (plist-get told :data) :shown) (plist-get told :message)))

(defun imago--fault (project fault)
  "Tell the person of FAULT of PROJECT, and what can be done."
  (setf (imago-project-keys project) nil)
  (imago-say "%s" (imago-sentence fault)))

(defun imago-ask (project name &optional params done failed)
  "Ask PROJECT for NAME with PARAMS; DONE has the result, FAILED the fault."
  (jsonrpc-async-request (imago-project-connection project) (intern (concat "imago/" name))
                         (or params (make-hash-table)) :timeout nil
                         :success-fn (or done #'ignore)
                         :error-fn (or failed (lambda (fault) (imago--fault project fault)))))

(defun imago--heard (project method params)
  "PROJECT has told METHOD with PARAMS."
  (pcase method
    ('imago/rows
     (when (plist-member params :snapshot) (setf (imago-project-rows project) nil))
     (seq-doseq (row (or (plist-get params :snapshot) (plist-get params :changes)))
       (let ((key (cons (plist-get row :topic) (plist-get row :key))))
         (setf (alist-get key (imago-project-rows project) nil 'remove #'equal) nil)
         (when (plist-get row :value)
           (push (cons key (plist-get row :value)) (imago-project-rows project))))))
    ('imago/waits
     (let ((text (plist-get params :text)))
       (when (and (string-search "seat" text)
                  (not (string-search "seat" (imago-project-waits project))))
         (imago-say "%s: M-x imago-admit" text))
       (setf (imago-project-waits project) text)))
    ;; A call waits that the person has asked for here.
    ('imago/event (and (plist-get params :plan) (imago-plan-open project (plist-get params :plan))))
    ('imago/seat
     (let ((code (plist-get params :code)))
       (setf (imago-project-seat project) (and (equal (plist-get params :type) "seated") params)
             (imago-project-asked project) (and code params))
       (when (or code (plist-get params :trouble) (plist-get params :why))
         (imago-say "%s" (plist-get params :shown))))))
  (imago--changed project))

(defun imago--changed (project)
  "Draw the rows of PROJECT again, out of the filter of its process."
  (run-at-time 0 nil #'run-hook-with-args 'imago-changed-hook project)
  (run-at-time 0 nil #'force-mode-line-update t))

(defun imago-rows (project topic &optional fit)
  "Return the rows of TOPIC in PROJECT, the last first, all or those of FIT."
  (cl-loop for ((of) . row) in (imago-project-rows project)
           when (and (equal of topic) (or (null fit) (funcall fit row))) collect row))

(defun imago-waiting (project topic)
  "The rows of TOPIC in PROJECT that wait for a person, the oldest first."
  (reverse (imago-rows project topic (lambda (row) (plist-get row :waits)))))

(defun imago-language ()
  "The language of this buffer, as editors spell it."
  (cond ((derived-mode-p 'python-mode 'python-ts-mode) "python")
        ((derived-mode-p 'lisp-mode) "lisp")))

(defun imago-takers (project)
  "The programs of PROJECT that take the code of this buffer."
  (let ((language (imago-language)))
    (imago-rows project "kernels"
                (lambda (row) (and (not (member (plist-get row :state) '("ended" "crash_loop")))
                                   (member language (list nil (plist-get row :language))))))))

(defun imago-choose (prompt none rows)
  "Ask with PROMPT which of ROWS is meant, the first by default.
Where there is one alone it is that, and without any the error NONE."
  (let* ((labels (cl-loop for row in rows for at from 1
                          for text = (format "%d %s" at (plist-get row :shown))
                          collect (cons (imago-line text) row)))
         (first (caar labels)))
    (if (null (cdr labels)) (or (car rows) (imago-error "%s" none))
      (cdr (assoc (completing-read (format-prompt prompt first) labels nil t nil nil first)
                  labels)))))

;;; The texts of buffers

(defvar imago--texts-timer nil "Waits until no text changes any more.")

(defun imago--texts-changed (&rest _)
  "Tell the texts of buffers once none has changed for half a second."
  (when imago--texts-timer (cancel-timer imago--texts-timer))
  (setq imago--texts-timer
        (run-at-time 0.5 nil (lambda ()
                               (mapc #'imago--tell-texts (mapcar #'cdr imago--projects))))))

(defun imago--texts (project)
  "The texts of files of PROJECT that are open here, as ((URI TICK BUFFER) ...)."
  (cl-loop with root = (file-truename (imago-project-root project))
           for buffer in (buffer-list)
           for name = (and (buffer-local-value 'imago-mode buffer) (buffer-file-name buffer))
           for file = (and name (file-truename name))
           when (and file (string-prefix-p root file))
           collect (list (concat "file://" (mapconcat #'url-hexify-string (split-string file "/")
                                                      "/"))
                         (buffer-chars-modified-tick buffer) buffer)))

(defun imago--tell-texts (project)
  "Tell PROJECT which of its texts are open no more, are open now, or have changed."
  (let ((before (imago-project-texts project)) (now (imago--texts project)))
    (setf (imago-project-texts project) now)
    (cl-flet ((tell (event document &rest params)
                (jsonrpc-notify (imago-project-connection project) event
                                `(:textDocument ,document ,@params))))
      (pcase-dolist (`(,uri . ,_) before)
        (unless (assoc uri now) (tell 'textDocument/didClose `(:uri ,uri))))
      (pcase-dolist (`(,uri ,tick ,buffer) (cl-set-difference now before :test #'equal))
        (with-current-buffer buffer
          (let ((text (imago--text)))
            (if (assoc uri before)
                (tell 'textDocument/didChange `(:uri ,uri :version ,tick)
                      :contentChanges `[(:text ,text)])
              (tell 'textDocument/didOpen `( :uri ,uri :languageId ,(imago-language)
                                             :version ,tick :text ,text)))))))))

(defun imago--text ()
  "The text of this buffer, with U+FFFD for what no JSON can hold."
  (save-restriction
    (widen)
    (replace-regexp-in-string "[^\x00-\xd7ff\xe000-\x10ffff]" "\ufffd" (buffer-string))))

;;; The seat and the sign

(defun imago-sit (project &optional done)
  "Take a seat for PROJECT, then call DONE."
  (interactive (list (imago-project) (lambda () (imago-say "this Emacs has a seat"))))
  (if (imago-project-seat project) (when done (funcall done))
    (when (imago-project-asked project)
      (imago-say "%s" (plist-get (imago-project-asked project) :shown)))
    (imago-ask project "sit" nil
               (lambda (_) (when done (funcall done)))
               (lambda (fault)
                 (setf (imago-project-asked project) nil)
                 (imago--fault project fault)
                 (imago--changed project)))))

(defun imago-leave ()
  "Leave the seat of this project."
  (interactive)
  (imago-ask (imago-project) "leave" nil (lambda (_) (imago-say "this Emacs has no seat now"))))

(defun imago-admit ()
  "Let the others who ask sit in this project too, or not, one after the other."
  (interactive)
  (dolist (row (or (imago-waiting (imago-project) "seats") (imago-error "Nobody asks for a seat")))
    (let ((admits (yes-or-no-p (concat (imago-line (plist-get row :shown)) ".  Let it sit? "))))
      (imago-ask (imago-project) "admit"
                 `(:wanted ,(plist-get row :id) :admit ,(or admits :json-false))))))

(defun imago-sign ()
  "What waits in all projects, for the mode line; an empty text where nothing does."
  (mapconcat (lambda (project)
               (let ((code (plist-get (imago-project-asked project) :code))
                     (waits (imago-project-waits project)))
                 (concat (and code (format " [imago seat %s]" code))
                         (unless (equal waits "")
                           (propertize (format " [imago: %s]" waits) 'face 'warning
                                       'help-echo "M-x imago-plans, M-x imago-admit")))))
             (mapcar #'cdr imago--projects) ""))

(defun imago--where-of-use (command)
  "COMMAND, where a program takes this code and SLIME and SLY leave its key to us."
  (let ((project (cdr (assoc (ignore-errors (imago--root)) imago--projects))))
    (and project (imago-takers project)
         (not (or (bound-and-true-p slime-mode) (bound-and-true-p sly-mode))) command)))

(defvar imago-mode-map (make-sparse-keymap) "Keys for the code of a program.")
(dolist (bound '(("\C-c\C-c" . imago-evaluate-defun) ("\C-x\C-e" . imago-evaluate-last)))
  (define-key imago-mode-map (car bound) `(menu-item "" ,(cdr bound) :filter imago--where-of-use)))

;;;###autoload
(define-minor-mode imago-mode
  "What runs in the program of this buffer, and what waits for an answer."
  :lighter " Imago"
  (dolist (hook '(xref-backend-functions after-change-functions change-major-mode-hook
                  after-set-visited-file-name-hook kill-buffer-hook))
    (let ((call (if (eq hook 'xref-backend-functions) 'imago-xref-backend #'imago--texts-changed)))
      (if imago-mode (add-hook hook call nil t) (remove-hook hook call t))))
  (imago--texts-changed)
  ;; Opening a file does not wait for it.
  (when imago-mode (run-with-idle-timer 0.1 nil #'imago--begin (current-buffer))))

(defun imago--begin (buffer)
  "Connect to the project of BUFFER, once a person can see a frame."
  (cond ((equal (terminal-name) "initial_terminal")
         (letrec ((begin (lambda ()
                           (remove-hook 'server-after-make-frame-hook begin)
                           (imago--begin buffer))))
           (add-hook 'server-after-make-frame-hook begin)))
        ((buffer-live-p buffer)
         (with-current-buffer buffer
           (condition-case err (imago-project)
             (error (imago-say "%s" (error-message-string err))))))))

(defun imago--turn-on ()
  "Turn `imago-mode' on where it is of use."
  (when (and buffer-file-name (not (file-remote-p buffer-file-name))) (imago-mode)))

;;;###autoload
(define-globalized-minor-mode global-imago-mode imago-mode imago--turn-on
  :predicate '(python-mode python-ts-mode lisp-mode))

(provide 'imago)
;;; imago.el ends here
