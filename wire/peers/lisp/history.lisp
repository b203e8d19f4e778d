;;;; What was evaluated in this image, and the error that was signalled last.

(in-package #:imago)
