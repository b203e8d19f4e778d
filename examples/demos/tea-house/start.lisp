;;;; How its owner starts it.

(require :asdf)
(asdf:load-system :swank)
(load (merge-pathnames "tea-house.lisp" *load-truename*))
(load (merge-pathnames "books.lisp" *load-truename*))
(format t "~D~%" (swank:create-server :port 0 :dont-close t))
(finish-output)
(tea-house:open-house)
