;;;; The threads of the image.

(in-package #:imago)
