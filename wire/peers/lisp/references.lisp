;;;; Who calls, binds, sets, expands or specializes a name.

(in-package #:imago)
