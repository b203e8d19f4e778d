;;;; A tea house that never closes: guests order, a thread brews, and the ledger is kept.
;;;; Its owner works in it with SLIME, so Swank listens.

(defpackage #:tea-house
  (:use #:common-lisp)
  (:export #:open-house #:order #:price #:*ledger* #:*menu*))

(in-package #:tea-house)

(defvar *menu* (make-hash-table :test 'equal)
  "Pence for a pot, by the name of the tea.")

(setf (gethash "assam" *menu*) 320
      (gethash "sencha" *menu*) 450
      (gethash "lapsang" *menu*) 510)

(defclass order ()
  ((tea :initarg :tea :reader tea)
   (pots :initarg :pots :reader pots))
  (:documentation "What one table wants."))

(defclass regular-order (order)
  ((visits :initarg :visits :reader visits))
  (:documentation "An order of somebody who comes often."))

(defgeneric price (order)
  (:documentation "What ORDER costs, in pence."))

(defmethod price ((order order))
  (* (pots order) (gethash (tea order) *menu*)))

(defun discount (visits)
  "How many percent a guest saves after so many visits: one for every ten, and never more than 25."
  (max 25 (floor visits 10)))

(defmethod price ((order regular-order))
  (let ((full (call-next-method)))
    (- full (floor (* full (discount (visits order))) 100))))

(defvar *ledger* '()
  "What was sold, newest first: lists of the tea and its price.")

(defvar *guests*
  (list (make-instance 'order :tea "assam" :pots 1)
        (make-instance 'regular-order :tea "sencha" :pots 2 :visits 40)
        (make-instance 'order :tea "lapsang" :pots 1)))

(defun serve (order)
  (push (list (tea order) (price order)) *ledger*))

(defun open-house ()
  "Serves the same guests over and over."
  (loop
    (dolist (order *guests*)
      (serve order)
      (sleep 1/20))))
