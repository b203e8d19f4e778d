;;;; Values that are reached from names through stored places alone, in Lisp's own words: (car x), (slot-value x 'y).

(in-package #:imago)
