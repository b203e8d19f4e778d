;;;; The function that a tracepoint is asked for, and what is not seen of its calls.

(in-package #:imago-peer)

(defun named-function (subject text)
  "The name of the function that SUBJECT stands for, and a note where it is more than that. Ends the
look where it is none."
  (let ((thing (subject-thing subject)))
    (flet ((generic-name (method)
             (values (name-of-generic (function-of-method method))
                     "The calls of all methods of the generic function are seen.")))
      (ecase (subject-kind subject)
        ((symbol function) thing)
        (method (generic-name thing))
        (package (malformed "~A is a package, and no function." (one-line text 80)))
        (value (case (kind-of-value thing)
                 (symbol thing)
                 (method (generic-name thing))
                 (function (name-of-value thing text))
                 (t (malformed "~A is no function." (one-line text 80)))))))))

(defun name-of-value (function text)
  (let ((name (if (generic-p function)
                  (name-of-generic function)
                  (native ("SB-KERNEL" "%FUN-NAME") function))))
    (if (and (or (and name (symbolp name)) (typep name '(cons (eql setf) (cons symbol null))))
             (fboundp name)
             (eq (function-of name) function))
        name
        (malformed "The function of ~A goes by no name: only calls by a name can be traced."
                   (one-line text 80)))))

(defun check-traceable (name)
  "Ends the look where calls of NAME cannot be taken down, or must not be."
  (let* ((symbol (if (consp name) (second name) name))
         (text (function-name-text name))
         (package (symbol-package symbol)))
    (cond ((and (symbolp name) (special-operator-p name))
           (malformed "~A is a special operator, which is compiled and never called." text))
          ((macro-or-nil name)
           (malformed "~A is a macro, which is expanded and never called. Trace a function that ~
                       its expansion calls." text))
          ((not (fboundp name))
           (not-found (format nil "~A as a function" text)
                      (remove (symbol-text symbol) (nearest-symbols (symbol-text symbol) nil)
                              :test #'string=)))
          ((and package
                (or (system-package-p package)
                    (eql 0 (search "SWANK" (package-name package)))))
           (malformed "~A belongs to the Lisp itself or to Swank, which need it while a call is ~
                       taken down: it is not traced. Trace a function of the program that calls it."
                      text)))))

(defun block-compiled-p (function)
  "Whether FUNCTION was compiled in one block with other functions that have names."
  (ignore-errors
   (let* ((code (native ("SB-KERNEL" "FUN-CODE-HEADER") function))
          (name (native ("SB-KERNEL" "%FUN-NAME") function)))
     (loop for index from 0 below (native ("SB-KERNEL" "CODE-N-ENTRIES") code)
           for other = (native ("SB-KERNEL" "%FUN-NAME")
                               (native ("SB-KERNEL" "%CODE-ENTRY-POINT") code index))
           thereis (and other (symbolp other) (fboundp other) (not (equal other name)))))))

(defun unseen-calls (name)
  "Sentences about the calls of NAME that are not taken down."
  (let ((function (function-of name)) (text (function-name-text name)))
    (remove
     nil
     (list
      (when (member (info-of :function :inlinep name)
                    (list 'inline (native-symbol "SB-EXT" "MAYBE-INLINE")))
        "It is declaimed inline: code that has its body in place of a call does not call it.")
      (when (and (symbolp name) (info-of :function :source-transform name))
        "Compiled code reads and makes its structure without calling it.")
      (when (and (symbolp name) (compiler-macro-function name))
        "It has a compiler macro: a call that this has replaced is none of it.")
      (unless (generic-p function)
        (format nil "Calls of a function object that was taken before, by #'~A, go past it." text))
      (when (and (not (generic-p function)) (block-compiled-p function))
        "It was compiled in one block with other functions: calls among these go past it.")))))
