;;;; One value in sections, each of which fails on its own.

(in-package #:imago)
