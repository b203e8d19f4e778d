;;;; How a piece of code might go on, from stored names alone.

(in-package #:imago-peer)

;;; Where the cursor stands, by the text before it

(defun open-forms (text)
  "What of TEXT is not closed at its end: where the lists begin, the innermost first; and T where
the end stands in a string or a comment."
  (let ((text (simple-text text)) (open '()) (index 0))
    (loop
      (multiple-value-bind (kind start end closed) (next-token text index)
        (case kind
          ((nil) (return (values open nil)))
          (:open (push start open))
          (:close (pop open))
          ((:string :line-comment :block-comment)
           (unless closed (return (values open t)))))
        (setf index end)))))

(defun prefix-start (text)
  "Where the name begins that TEXT ends with."
  (let ((last (position-if-not #'token-char-p text :from-end t)))
    (let ((start (if last (1+ last) 0)))
      ;; #'name and #:name
      (if (and (< start (length text)) (char= (char text start) #\#)) (1+ start) start))))

;;; Names

(defun begins-p (prefix name)
  (let ((length (length prefix)))
    (and (<= length (length name)) (string-equal prefix name :end2 length))))

(defun words-between-hyphens (name)
  "The parts of NAME between its hyphens."
  (loop for start = 0 then (1+ end)
        for end = (position #\- name :start start)
        collect (subseq name start end)
        while end))

(defun abbreviates-p (short name)
  "Whether SHORT stands for NAME as SLIME reads abbreviations: m-v-b, or mvb."
  (let ((words (words-between-hyphens name)) (parts (words-between-hyphens short)))
    (if (rest parts)
        (and (<= (length parts) (length words))
             (every #'begins-p parts words))
        (and (> (length short) 1)
             (begins-p short (map 'string (lambda (word) (if (string= word "") #\- (char word 0)))
                                  words))))))

(defun plain-case (name)
  "NAME, letters in the case in which they would be written, as a prefix to compare with whatever
its case."
  (remove #\| name))

(defun completion-tree (text symbol)
  (destructuring-bind (kind . type) (first-role symbol)
    (object "text" text "kind" kind "type_name" type)))

(defun symbols-meant (prefix package statuses)
  "The symbols of PACKAGE that begin with PREFIX and are there as one of STATUSES; where there is
none, those that PREFIX abbreviates."
  (or (symbols-among prefix package statuses #'begins-p)
      (symbols-among prefix package statuses #'abbreviates-p)))

(defun symbols-among (prefix package statuses meant-p)
  "The symbols of PACKAGE for whose names and PREFIX the function MEANT-P holds, and that are there
as one of STATUSES."
  (let ((found '()) (count 0))
    (flet ((take (symbol status)
             (when (zerop (mod (incf count) 1000)) (check-deadline))
             (when (and (funcall meant-p prefix (symbol-name symbol))
                        (member status statuses)
                        (or (eq status :external) (known-p symbol)))
               (push symbol found))))
      (if (equal statuses '(:external))
          (do-external-symbols (symbol package) (take symbol :external))
          (do-symbols (symbol package)
            (take symbol (nth-value 1 (find-symbol (symbol-name symbol) package))))))
    (remove-duplicates-of found)))

(defun completions-in (written package statuses prefix)
  "Conses of text and symbol for the names in PACKAGE that PREFIX may go on to, each after WRITTEN,
its package as it was written."
  (loop for symbol in (symbols-meant prefix package statuses)
        for count from 1
        when (zerop (mod count 1000)) do (check-deadline)
        collect (cons (concatenate 'string written (bare-text symbol)) symbol)))

(defun package-completions (prefix)
  "The same for the names of packages."
  (loop for package in (list-all-packages)
        append (loop for name in (cons (package-name package) (package-nicknames package))
                     when (begins-p prefix name)
                       collect (cons (format nil "~A:" (string-downcase name)) package))))

(defun completions-of (text)
  "Conses of text and what it names, for all names that TEXT may go on to."
  (let ((colon (position #\: text)))
    (cond ((null colon)
           (let ((prefix (plain-case text)))
             (append (loop for symbol in (symbols-meant prefix (reading-package)
                                                        '(:external :internal :inherited))
                           collect (cons (symbol-text symbol (reading-package)) symbol))
                     (package-completions prefix))))
          ((zerop colon)
           (completions-in "" (find-package "KEYWORD") '(:external)
                           (plain-case (string-left-trim ":" text))))
          (t (let* ((last (position #\: text :from-end t))
                    (package (package-or-nil (plain-case (subseq text 0 colon)))))
               (and package
                    (<= (- last colon) 1)
                    (completions-in (subseq text 0 (1+ last)) package
                                    (if (= last colon) '(:external) '(:external :internal))
                                    (plain-case (subseq text (1+ last))))))))))

;;; The call around the cursor

(defun call-at (text open)
  "The innermost of the lists of TEXT that begin at OPEN whose first word names a function or
macro: the word as it is written, its symbol, and the words before the cursor that follow it; or
NIL."
  (loop for start in open
        repeat 4
        do (let* ((word (form-start text (1+ start)))
                  (end (and word (token-end text word)))
                  (name (and end (> end word) (< end (length text)) (subseq text word end)))
                  (symbol (and name (quiet-symbol name))))
             (when (and symbol (fboundp symbol))
               (return (list name symbol (arguments-before text end)))))))

(defun quiet-symbol (name)
  "The symbol that NAME names, or NIL where it names none or is no name."
  (let ((found nil))
    (catch 'answer
      (setf found (find-named name)))
    found))

(defun arguments-before (text start)
  "The forms of TEXT from START on, the last of which may not be complete; an empty text last
where a new one begins."
  (let ((found '()) (index start))
    (loop
      (let ((next (form-start text index)))
        (unless next (return))
        (setf index (form-end text next))
        (push (subseq text next index) found)))
    (let ((last (char text (1- (length text)))))
      (when (or (null found) (not (token-char-p last)))
        (unless (and found (find last "'`,\"")) (push "" found))))
    (nreverse found)))

(defun parameter-at (symbol arguments)
  "Which of the parameters of SYMBOL the last of ARGUMENTS is for, counted from 0; NIL where that
is not known."
  (multiple-value-bind (list known) (lambda-list-of symbol)
    (let* ((trees (and known (parameters-of list (lambda-list-home symbol))))
           (kinds (loop for (nil . keys) in trees collect (argument "kind" keys)))
           (place (1- (length arguments)))
           (keys (position "keyword" kinds :test #'string=))
           (rest (position "rest" kinds :test #'string=))
           (first-open (or rest keys (length kinds))))
      (cond ((< place first-open) place)
            ((null keys) rest)
            (t (let ((before (and (> place (min keys first-open)) (car (last arguments 2)))))
                 (or (and before
                          (begins-p ":" before)
                          (position-if (lambda (tree)
                                         (and (string= (argument "kind" (rest tree)) "keyword")
                                              (string-equal (argument "name" (rest tree))
                                                            (subseq before 1))))
                                       trees))
                     rest)))))))

(defun class-given (arguments)
  "The class that the first of ARGUMENTS, texts, quotes the name of; or NIL."
  (let ((text (or (first arguments) "")))
    (when (and (> (length text) 1) (char= (char text 0) #\'))
      (let ((symbol (quiet-symbol (subseq text 1))))
        (and symbol (find-class symbol nil))))))

(defun keywords-of-call (text open)
  "The names of the keywords that the call around the end of TEXT takes."
  (destructuring-bind (&optional name symbol arguments) (call-at text open)
    (let* ((class (and (member symbol '(make-instance make-condition)) (class-given arguments)))
           (list (cond (class (initargs-list class))
                       (name (values (lambda-list-of symbol))))))
      (loop for (nil . tree) in (and list (parameters-of list (reading-package)))
            when (string= (argument "kind" tree) "keyword")
              collect (format nil ":~A" (argument "name" tree))))))

(defun completion< (keywords)
  "The order of completions: those that are among KEYWORDS, those of the call, first."
  (flet ((of-call-p (one) (member (car one) keywords :test #'string=)))
    (lambda (one other)
      (let ((first (of-call-p one)) (second (of-call-p other)))
        (if (eq (null first) (null second))
            (string< (car one) (car other))
            first)))))

(defun call-tree (text open)
  (let ((call (call-at text open)))
    (when call
      (destructuring-bind (name symbol arguments) call
        (let ((signature (signature-of symbol)))
          (and signature
               (object "name" name
                       "signature" signature
                       "call" (if (char= (char signature (1- (length signature))) #\))
                                  (format nil "(~A~:[ ~;~]~A" name (string= signature "()")
                                          (subseq signature 1))
                                  :absent)
                       "parameter" (parameter-at symbol arguments))))))))

;;; The answer

(define-call "complete" (text cursor limit)
  (let ((before (coerce (subseq text 0 (min cursor (length text))) 'simple-string)))
    (multiple-value-bind (open quoted) (open-forms before)
      (let* ((start (prefix-start before))
             (all (if (or quoted (= start (length before)))
                      '()
                      (completions-of (subseq before start))))
             (first (first-in-order all limit
                                    (completion< (and all (keywords-of-call before open))))))
        (found (object "from" (if quoted (length before) start)
                       "to" (length before)
                       "completions" (array-of
                                      (loop for (text . thing) in first
                                            collect (if (packagep thing)
                                                        (object "text" text "kind" "module"
                                                                "type_name" "package")
                                                        (completion-tree text thing))))
                       "total" (length all)
                       "call" (if quoted nil (call-tree before open))
                       "because" nil))))))
