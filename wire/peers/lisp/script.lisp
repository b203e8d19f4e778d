;;;; The program that an image of ours was started with.

(in-package #:imago)
