;;;; Systems of definitions, by ASDF.

(in-package #:imago)
