;;; imago.el --- What runs, and what waits for an answer  -*- lexical-binding: t; -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, languages
;; URL: https://github.com/imago-dev/imago

;;; Commentary:

;; Imago lets an agent live inside a running program, and puts a person
;; in front of each change.  This package speaks to `imago lsp', one
;; process for each project.  The rows that it tells are all the state
;; there is.
;;
;; A plan that waits is a sign in the mode line, and never more than
;; that: M-x imago-plans shows it.

;;; Code:

(require 'cl-lib)
(require 'jsonrpc)
(require 'project)
(require 'subr-x)
(require 'url-util)

(defgroup imago nil
  "What runs in your programs, and what waits for an answer."
  :group 'tools
  :prefix "imago-")

(defcustom imago-command '("imago" "lsp")
  "The program that Emacs speaks to, and its arguments."
  :type '(repeat string))

(defcustom imago-modes '(python-mode python-ts-mode lisp-mode)
  "Major modes in whose buffers `global-imago-mode' connects."
  :type '(repeat symbol))

(defcustom imago-sit-at-start nil
  "Whether a seat is taken at once, and not by the first plan that is opened.
Without a seat, here or elsewhere, what needs a person is refused."
  :type 'boolean)

(cl-defstruct imago-project
  "A project, and the connection to its `imago lsp'."
  root connection
  (rows (make-hash-table :test #'equal)) ; (TOPIC . KEY) to a plist
  ready waiting                          ; functions that wait until it is ready
  seat code)

(defvar imago--projects nil "Those with a connection, by root.")

(defvar imago-changed-hook nil
  "Run with a project after its rows or its seat have changed.")

(defconst imago--topics ["approvals" "errors" "kernels" "seats" "suspensions"])

;;; A text from elsewhere

(defconst imago--unseen
  (concat "[\0-\10\13-\37\177-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e"
          "\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]")
  "Characters that a reader would not see, or that move the rest.")

(defun imago-marked (text)
  "Return TEXT, marked as ⟦U+202E⟧ where a reader would not see a character."
  (replace-regexp-in-string
   imago--unseen (lambda (found) (format "⟦U+%04X⟧" (aref found 0)))
   (substring-no-properties (or text "")) t t))

(defun imago-line (text)
  "Return TEXT as one line, marked likewise."
  (replace-regexp-in-string "[\n\t ]+" " " (imago-marked text)))

(defun imago-say (text &rest args)
  "Say TEXT, a format of ARGS, in the echo area."
  (message "%s" (concat "imago: " (imago-line (apply #'format text args)))))

;;; The connection

(defun imago--root ()
  "The root of the project of this buffer."
  (let ((project (project-current)))
    (when (file-remote-p default-directory)
      (user-error "Imago sees programs of this machine alone"))
    (expand-file-name
     (or (locate-dominating-file default-directory "imago.toml")
         ;; `project-root' is new in Emacs 28.
         (and project (project-root project))
         default-directory))))

(defun imago-project ()
  "Return the project of this buffer; start `imago lsp' where it has none."
  (let ((root (or (bound-and-true-p imago--of) (imago--root))))
    (or (cdr (assoc root imago--projects)) (imago--connect root))))

(defvar-local imago--of nil "The root of the project that this buffer shows.")

(defun imago--connect (root)
  "Start `imago lsp' for the project in ROOT, without waiting for it."
  (let* ((default-directory root)
         (project (make-imago-project :root root)))
    (unless (executable-find (car imago-command))
      (user-error "There is no %s on the path: see `imago-command'" (car imago-command)))
    (setf (imago-project-connection project)
          (make-instance
           'jsonrpc-process-connection
           :name "imago" :events-buffer-scrollback-size 0
           :process (lambda ()
                      (make-process :name "imago" :command imago-command :connection-type 'pipe
                                    :coding 'utf-8-emacs-unix :noquery t
                                    :stderr (get-buffer-create " *imago stderr*")))
           :notification-dispatcher (lambda (_ method params) (imago--heard project method params))
           :request-dispatcher #'ignore
           :on-shutdown (lambda (_) (imago--gone project))))
    (push (cons root project) imago--projects)
    (imago--send project 'initialize
                 `( :processId ,(emacs-pid) :clientInfo (:name "Emacs")
                    :rootUri ,(concat "file://" (url-hexify-string root url-path-allowed-chars))
                    :capabilities ,(make-hash-table))
                 (lambda (_)
                   (jsonrpc-notify (imago-project-connection project) 'initialized
                                   (make-hash-table))
                   (setf (imago-project-ready project) t)
                   (imago-ask project "subscribe" `(:topics ,imago--topics))
                   (mapc #'funcall (nreverse (imago-project-waiting project)))
                   (setf (imago-project-waiting project) nil)
                   (when imago-sit-at-start (imago-sit project #'ignore))))
    (add-to-list 'global-mode-string '(:eval (imago-sign)) t)
    project))

(defun imago--gone (project)
  "Forget PROJECT, whose `imago lsp' has ended until the next command."
  (setq imago--projects (rassq-delete-all project imago--projects))
  (clrhash (imago-project-rows project))
  (setf (imago-project-seat project) nil)
  (run-hook-with-args 'imago-changed-hook project)
  (force-mode-line-update t))

(defun imago--fault (fault)
  "Tell the person of FAULT, and what can be done."
  (imago-say "%s %s" (plist-get fault :message)
             (or (plist-get (plist-get fault :data) :next) "")))

(defun imago--send (project method params done &optional failed)
  "Send METHOD with PARAMS to PROJECT; go on with DONE, or with FAILED."
  (jsonrpc-async-request (imago-project-connection project) method params
                         :timeout nil :success-fn done :error-fn (or failed #'imago--fault)))

(defun imago-ask (project name &optional params done failed)
  "Ask PROJECT for the operation NAME with PARAMS, a plist.
DONE is given the result, FAILED the fault; without it, that is said."
  (let ((ask (lambda ()
               (imago--send project (intern (concat "imago/" name))
                            (or params (make-hash-table)) (or done #'ignore) failed))))
    (if (imago-project-ready project) (funcall ask)
      (push ask (imago-project-waiting project)))))

(defun imago--heard (project method params)
  "PROJECT has told METHOD with PARAMS."
  (pcase method
    ('imago/rows
     (let ((rows (imago-project-rows project)))
       (when (plist-member params :snapshot) (clrhash rows))
       (seq-doseq (row (or (plist-get params :snapshot) (plist-get params :changes)))
         (let ((key (cons (plist-get row :topic) (plist-get row :key)))
               (value (plist-get row :value)))
           (if value (puthash key value rows) (remhash key rows)))))
     (imago--changed project))
    ('imago/seat
     (pcase (plist-get params :type)
       ("asked" (setf (imago-project-code project) (plist-get params :code))
        (imago-say "a person has to let this Emacs sit, in a terminal: imago seat %s"
                   (plist-get params :code)))
       ("left" (let ((seat (imago-project-seat project)))
                 (setf (imago-project-seat project) nil)
                 (when (and seat (plist-get params :why))
                   (imago-sit project #'ignore (plist-get seat :resume))))))
     (imago--changed project))))

(defun imago--changed (project)
  "Draw the rows of PROJECT again, out of the filter of its process."
  (run-at-time 0 nil (lambda ()
                       (run-hook-with-args 'imago-changed-hook project)
                       (force-mode-line-update t))))

(defun imago-rows (project topic &optional fit)
  "Return the rows of TOPIC in PROJECT, all or those of the function FIT."
  (let (found)
    (maphash (lambda (key row)
               (when (and (equal (car key) topic) (or (null fit) (funcall fit row)))
                 (push row found)))
             (imago-project-rows project))
    (nreverse found)))

(defun imago-waiting (project)
  "The plans of PROJECT that wait."
  (imago-rows project "approvals" (lambda (row) (equal (plist-get row :state) "waits"))))

;;; The seat and the sign

(defun imago-sit (project done &optional resume)
  "Take a seat for PROJECT and go on with DONE.
RESUME is the secret of a seat that was lost."
  (interactive
   (list (imago-project) (lambda () (imago-say "this Emacs has a seat"))))
  (if (imago-project-seat project) (funcall done)
    (imago-ask project "sit" (and resume (list :resume resume))
               (lambda (seated)
                 (setf (imago-project-seat project) seated (imago-project-code project) nil)
                 (when (plist-get seated :trouble) (imago-say "%s" (plist-get seated :trouble)))
                 (funcall done)
                 (imago--changed project))
               (lambda (fault)
                 (setf (imago-project-code project) nil)
                 (if resume (imago-sit project done) (imago--fault fault))))))

(defun imago-leave ()
  "Leave the seat of this project; plans go on waiting."
  (interactive)
  (let ((project (imago-project)))
    (imago-ask project "leave" nil (lambda (_) (setf (imago-project-seat project) nil)))))

(defun imago-sign ()
  "What waits in all projects, for the mode line; an empty text where nothing does."
  (let ((plans 0) codes)
    (pcase-dolist (`(,_ . ,project) imago--projects)
      (cl-incf plans (length (imago-waiting project)))
      (when (imago-project-code project) (push (imago-project-code project) codes)))
    (concat (and codes (format " [imago seat %s]" (car codes)))
            (unless (zerop plans)
              (propertize (format " [imago: %d plan%s]" plans (if (= plans 1) " waits" "s wait"))
                          'face 'warning 'help-echo "M-x imago-plans")))))

(autoload 'imago-evaluate-defun "imago-value" nil t)
(autoload 'imago-evaluate-last "imago-value" nil t)
(autoload 'imago-xref-backend "imago-value")

(defun imago--unless-slime (command)
  "COMMAND, where SLIME and SLY leave its key to us."
  (unless (or (bound-and-true-p slime-mode) (bound-and-true-p sly-mode)) command))

(defvar imago-mode-map
  (let ((map (make-sparse-keymap)))
    (pcase-dolist (`(,key . ,command) '(("C-c C-c" . imago-evaluate-defun)
                                        ("C-x C-e" . imago-evaluate-last)))
      (define-key map (kbd key) `(menu-item "" ,command :filter imago--unless-slime)))
    map)
  "Keys for the code of a program.")

;;;###autoload
(define-minor-mode imago-mode
  "What runs in the program of this buffer, and what waits for an answer."
  :lighter " Imago"
  (if imago-mode (add-hook 'xref-backend-functions #'imago-xref-backend nil t)
    (remove-hook 'xref-backend-functions #'imago-xref-backend t))
  (when imago-mode
    (unless (file-remote-p default-directory)
      (condition-case err (imago-project)
        (user-error (imago-say "%s" (error-message-string err)))))))

(defun imago--turn-on ()
  "Turn `imago-mode' on where it is of use."
  (when (and buffer-file-name (apply #'derived-mode-p imago-modes)) (imago-mode)))

;;;###autoload
(define-globalized-minor-mode global-imago-mode imago-mode imago--turn-on)

(provide 'imago)
;;; imago.el ends here
