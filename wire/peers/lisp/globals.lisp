;;;; The variables and functions of a package, a page at a time.

(in-package #:imago)
