;;;; Runs of tests, with their failures as data.

(in-package #:imago)
