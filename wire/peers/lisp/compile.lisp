;;;; Code compiled as a file would be, with what the compiler says of it.

(in-package #:imago)
