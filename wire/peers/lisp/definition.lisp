;;;; The source of a name and where it stands, of each thing that the name is.

(in-package #:imago)
