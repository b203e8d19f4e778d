;;;; How a piece of code might go on, from stored names alone.

(in-package #:imago)
