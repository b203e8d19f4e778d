;;;; The one package of this system.

(defpackage #:imago-peer
  (:documentation "Imago's end in a Lisp image. It stays until the image ends; what belongs to one
connection is in that connection's session.")
  (:use #:common-lisp)
  (:export #:begin-connection #:dispatch #:open-session))
