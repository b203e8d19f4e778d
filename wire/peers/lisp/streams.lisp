;;;; Standard streams of an evaluation, carried to whoever asked for it.

(in-package #:imago)
