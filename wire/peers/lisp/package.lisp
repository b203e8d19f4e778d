;;;; The package of these files, for people who load them by hand; see `bootstrap.lisp`.

(defpackage #:imago
  (:use #:common-lisp)
  (:export #:dispatch))

(in-package #:imago)
