;;;; Names in the whole image, and those of one package.

(in-package #:imago)
