;;;; The books of a year, which are closed once, in one long run that nobody wants to begin again.

(in-package #:tea-house)

(export '(close-books *year* *books*))

(defvar *year*
  (loop with teas = #("assam" "sencha" "lapsang")
        for number below 1000
        collect (make-instance 'order
                               :tea (if (= number 733) "oolong" (aref teas (mod number 3)))
                               :pots (1+ (mod number 4))))
  "All orders of the year, one of them for a tea that is on the menu only in spring.")

(defvar *spring-menu* (make-hash-table :test 'equal)
  "Pence for a pot of the teas that there are only in spring.")

(setf (gethash "oolong" *spring-menu*) 610)

(defvar *books* '()
  "What was entered, newest first: each order once.")

(defun pence-for (tea)
  "What a pot of TEA costs."
  (gethash tea *menu*))

(defun enter (order)
  "Enters ORDER, and answers what it came to."
  (loop
    (with-simple-restart (retry "Enter the order for ~A again." (tea order))
      (let ((sum (* (pots order) (pence-for (tea order)))))
        (push (list (tea order) sum) *books*)
        (return sum)))))

(defun close-books ()
  "The takings of the year, in pence."
  (loop for order in *year* sum (enter order)))
