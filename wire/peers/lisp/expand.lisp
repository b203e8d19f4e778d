;;;; Macro forms, expanded.

(in-package #:imago)
