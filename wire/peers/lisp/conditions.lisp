;;;; A condition as it stood: its restarts, and its frames with their locals.

(in-package #:imago)
