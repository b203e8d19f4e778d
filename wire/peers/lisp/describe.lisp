;;;; What one name is, in a few facts, and how one function is called.

(in-package #:imago)
