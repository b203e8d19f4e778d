;;;; The last file: its last value is the name of the function that `bootstrap.lisp' keeps.

(in-package #:imago)

'dispatch
