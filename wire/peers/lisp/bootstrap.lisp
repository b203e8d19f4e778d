;;;; Makes the peer in an image, and leaves no trace of it there but one connection of Swank's.
;;;;
;;;; This is one form, whose value is a function. It is called with the other files of this folder,
;;;; their names and texts in turn. All names in it are those of COMMON-LISP, Swank or the
;;;; implementation, so that reading it interns nothing. It reads the files by a reader of its own,
;;;; whose symbols are in no package at all. Their functions are reached from the connection alone,
;;;; and all of it is garbage as soon as that is closed. The value is T, or a text that says which
;;;; file failed and how; then nothing is left, either.

(let (#+sbcl (sb-ext:*evaluator-mode* :compile))
  (eval
   '(lambda (list)
      (declare (optimize (speed 1) (safety 1) (debug 1)))
      (let* ((hash-table (make-hash-table :test 'equal))
             (standard (copy-readtable nil))
             (readtable (copy-readtable nil))
             (real *readtable*)             ; the user's, which the files may ask for
             (pathname nil)
             (last nil)
             (variable (list nil))
             ;; Whether a connection is open, or code of it runs. The cons begins with a weak pointer to
             ;; it; the rest are symbols that such code binds.
             #+sbcl
             (open
               (lambda (cons)
                 (let ((stream (and (car cons) (sb-ext:weak-pointer-value (car cons)))))
                   (or (and stream
                            (or (open-stream-p (swank::connection.socket-io stream))
                                (and (typep stream 'swank::multithreaded-connection)
                                     (some 'sb-thread:thread-alive-p
                                           (swank::mconn.active-threads stream)))))
                       (some (lambda (step)
                               (some (lambda (symbol)
                                       (nth-value 1 (sb-thread:symbol-value-in-thread
                                                     symbol step nil)))
                                     (cdr cons)))
                             (remove sb-thread:*current-thread* (sb-thread:list-all-threads)))))))
             ;; The symbol of that name, in upper case.
             (function (lambda (string)
                         (or (gethash string hash-table)
                             (multiple-value-bind (symbol type) (find-symbol string "COMMON-LISP")
                               (when type symbol))
                             (setf (gethash string hash-table) (make-symbol string)))))
             ;; The keyword of that name; one that Lisp does not have is no keyword, but has itself
             ;; for its value, too.
             (keyword (lambda (string)
                        (or (find-symbol string "KEYWORD")
                            (let ((string (concatenate 'string ":" string)))
                              (or (gethash string hash-table)
                                  (let ((symbol (make-symbol string)))
                                    (proclaim (list 'special symbol))
                                    (setf (symbol-value symbol) symbol
                                          (gethash string hash-table) symbol)))))))
             ;; A definition whose parameters have such keywords has to name them.
             (defun (lambda (list)
                      (destructuring-bind (defun symbol list &rest rest) list
                        (let ((last (member '&key list)))
                          `(,defun ,symbol
                               (,@(ldiff list last)
                                ,@(mapcar (lambda (list)
                                            (let ((symbol (if (consp list) (first list) list)))
                                              (if (or (consp symbol) (find symbol lambda-list-keywords))
                                                  list
                                                  `((,(funcall keyword (symbol-name symbol)) ,symbol)
                                                    ,@(and (consp list) (rest list))))))
                                          last))
                             ,@rest)))))
             ;; A symbol or number. Names with a package and numbers are left to the standard
             ;; reader.
             (read
               (lambda (stream character)
                 (do ((list (list character) (cons (read-char stream) list)))
                     ((find (peek-char nil stream nil #\Space) '(#\Space #\Newline #\Tab #\Page #\Return
                                                                 #\( #\) #\' #\" #\; #\` #\,))
                      (let* ((list (nreverse list)) (string (string-upcase (coerce list 'string))))
                        (cond (*read-suppress* nil)
                              ((eq *package* (find-package "KEYWORD")) ; in #+ and #-
                               (values (find-symbol string "KEYWORD")))
                              ((eql (first list) #\:) (funcall keyword (subseq string 1)))
                              ((or (member #\: list)
                                   (digit-char-p (first list))
                                   (and (rest list)
                                        (find (first list) "+-")
                                        (digit-char-p (second list))))
                               (let ((*readtable* standard)) (values (read-from-string string))))
                              ((string= string "NIL") nil)
                              (t (values (funcall function string))))))))))
        (do ((count 33 (1+ count)))
            ((= count 127))
          (unless (find (code-char count) "()'\";`,#.|\\")
            (set-macro-character (code-char count) read t readtable)))
        (set-dispatch-macro-character #\# #\x
                                      (lambda (stream character number)
                                        (declare (ignore character number))
                                        (let ((*readtable* standard) (*read-base* 16))
                                          (values (read stream t nil t))))
                                      readtable)
        ;; What macros of ours make by INTERN are symbols of this kind, too.
        (setf (gethash "INTERN" hash-table) (make-symbol "INTERN")
              (symbol-function (gethash "INTERN" hash-table)) function)
        ;; SBCL gives each symbol that is ever bound dynamically a place in the memory of all
        ;; threads. There are a few thousand of them, none is ever given back, and an image that has
        ;; used them up dies. So these few symbols are kept, and the next connection uses those of
        ;; one that is closed, and of which nothing runs any more: what was evaluated over one that
        ;; broke off goes on to its end, if it has any.
        #+sbcl
        (swank/backend:call-with-lock-held
         (symbol-value (find-symbol "*MAILBOX-LOCK*" "SWANK/SBCL"))
         (lambda ()
           (let ((list (get 'swank::*emacs-connection* 'swank::connection)))
             (setf variable
                   (or (find-if-not open list)
                       (if (< (length list) 40)
                           (first (push variable
                                        (get 'swank::*emacs-connection* 'swank::connection)))
                           variable)))
             (setf (car variable) (sb-ext:make-weak-pointer swank::*emacs-connection*)))))
        (dolist (symbol (cdr variable))
          (makunbound symbol)
          (setf (gethash (symbol-name symbol) hash-table) symbol))
        (unwind-protect
             (handler-case
                 (with-standard-io-syntax
                   #+sbcl
                   (unless (member variable (get 'swank::*emacs-connection* 'swank::connection))
                     (error "Code that was evaluated over 40 connections which broke off still runs here."))
                   (let ((*package* (find-package "COMMON-LISP"))
                         (*readtable* readtable)
                         (*read-eval* nil)
                         (*print-readably* nil)
                         #+sbcl (sb-ext:*evaluator-mode* :compile))
                     (handler-bind ((warning #'muffle-warning))
                       (with-compilation-unit (:override t)
                         (do ()
                             ((null list))
                           (setf pathname (pop list))
                           (with-input-from-string (stream (pop list))
                             (do ((list (read stream nil stream) (read stream nil stream)))
                                 ((eq list stream))
                               ;; These two are for people who load the files by hand.
                               (unless (and (consp list)
                                            (member (first list) '(defpackage in-package)))
                                 (let ((*readtable* real))
                                   (setf last
                                         (eval `(locally
                                                    (declare (optimize (speed 0) (safety 1) (debug 1)
                                                                       (space 1) (compilation-speed 3)
                                                                       #+sbcl (sb-ext:inhibit-warnings 3)))
                                                  ,(if (eq (car list) 'defun) (funcall defun list) list)))))))))))
                     (push (cons (funcall function "IMAGO-PEER") (symbol-function last))
                           (swank::connection.env swank::*emacs-connection*))
                     (progv (list (funcall function "IMAGO-PEER")) '(nil) t)))
               (serious-condition (condition)
                 (setf (car variable) nil)
                 (format nil "~@[~A.lisp: ~]~A" pathname condition)))
          #+sbcl
          (maphash (lambda (string symbol)
                     (declare (ignore string))
                     (unless (zerop (sb-kernel:symbol-tls-index symbol))
                       (pushnew symbol (cdr variable))))
                   hash-table))))))
