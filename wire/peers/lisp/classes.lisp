;;;; What instances of a class hold, and what it inherits from.

(in-package #:imago)
