;;; An Emacs without a terminal, which sits through a program that it starts, as through a language server.

(defvar editor-told "" "All that the program has printed.")

(defvar editor-program
  (make-process :name "editor"
                :command (split-string (getenv "EDITOR_PROGRAM") "\n")
                :connection-type 'pipe
                :filter (lambda (_ text) (setq editor-told (concat editor-told text)))))

(defun editor-does (line)
  "Tell the program to do it, as a key in this Emacs would; all that it has printed by now."
  (process-send-string editor-program (concat line "\n"))
  editor-told)
