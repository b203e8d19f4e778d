;;;; What is evaluated here: one at a time, in the package and readtable in force.

(in-package #:imago)
