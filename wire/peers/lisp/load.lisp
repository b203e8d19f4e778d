;;;; Files, and some definitions of a file.

(in-package #:imago)
