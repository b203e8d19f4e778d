import type { Snippets } from './snippets.ts'

/** A text as Lisp writes it. */
const literal = (text: string) => `"${text.replace(/[\\"]/g, '\\$&')}"`

const SHOP =
  '(defpackage #:suite-shop (:use #:cl) (:export #:fee #:extra #:parcel))\n(in-package #:suite-shop)\n'

export const LISP: Snippets = {
  language: 'lisp',
  qualified: name => `cl-user::${name}`,
  // A file is loaded anew: there are no modules that know their own source.
  cannot: ['reload', 'sections', 'live_frames', 'hold', 'scope', 'kept_text'],
  expression: { source: '(+ 1 2)', repr: '3', type: 'fixnum' },
  assign: (name, expression) => `(progn (defparameter ${name} ${expression}) (values))`,
  oneMore: name => `(1+ ${name})`,
  print: (stream, text) =>
    `(progn (write-line ${literal(text)} ${stream === 'stdout' ? '*standard-output*' : '*error-output*'}) (values))`,
  printBelow: text => `(sb-ext:run-program "echo" '(${literal(text)}) :search t :output t)`,
  inOrder: (...sources) => sources.join('\n'),
  raises: {
    // Calls in tail position leave no frame behind.
    source: message =>
      `(defun suite-inner ()\n  (list (error ${literal(message)})))\n\n(defun suite-outer () (list (suite-inner)))\n\n(list (suite-outer))`,
    type: 'simple-error',
    functions: ['suite-outer', 'suite-inner'],
  },
  malformed: '(+ 1',
  forever: '(loop (sleep 0.01))',
  readLine: {
    source: prompt => `(progn (write-string ${literal(prompt)}) (values (read-line)))`,
    repr: literal,
  },
  longText: {
    source: length => `(make-string ${length} :initial-element #\\x)`,
    reprLength: length => length + 2,
  },
  call: { source: "(sort (list 3 1 2) #'<)", repr: '(1 2 3)' },
  container: { source: '(loop for i below 1000 collect i)', kind: 'sequence', length: 1000 },
  world: {
    source: `
(defun suite-total (orders &key (rate 19))
  "Adds up what orders cost."
  (values (floor (* (reduce #'+ orders) (+ 100 rate)) 100)))

(defun suite-report (orders)
  (list (suite-total orders :rate 7)))

(defparameter *suite-handlers* (list (cons "total" #'suite-total)))

(defclass suite-order ()
  ((lines :initarg :lines :reader suite-lines))
  (:documentation "What one customer wants."))

(defgeneric suite-price (order))

(defmethod suite-price ((order suite-order))
  (list (suite-total (suite-lines order))))

(defclass suite-gift (suite-order) ())
`,
    function: {
      name: 'suite-total',
      text: "(values (floor (* (reduce #'+ orders) (+ 100 rate)) 100))",
    },
    user: 'suite-report',
    holder: '*suite-handlers*',
    class: {
      name: 'suite-order',
      method: 'suite-price',
      methodKind: 'generic_function',
    },
  },
  module: {
    name: 'suite-shop',
    named: member => `suite-shop:${member}`,
    into: 'SUITE-SHOP',
    loaded: member => `suite-shop:${member}`,
    file: 'suite-shop.lisp',
    before: `${SHOP}
(defun fee ()
  "What it costs."
  1)

(defun hidden ()
  0)

(defclass parcel () ())
`,
    after: `${SHOP}
(defun fee ()
  (+ 2 0))

(defun extra ()
  3)

(defclass parcel ()
  ((size :initform 4)))
`,
    load: folder => `(load ${literal(`${folder}/suite-shop.lisp`)})`,
    offers: 'fee',
    internal: 'hidden',
    comes: 'extra',
    class: 'parcel',
    lives: "(defparameter suite-parcel (make-instance 'suite-shop:parcel))",
    call: '(suite-shop:fee)',
    reprs: ['1', '2'],
  },
  waiter: {
    source: `
(defun suite-waits (gate)
  (list (sb-thread:wait-on-semaphore gate)))

(sb-thread:make-thread #'suite-waits :name "suite-waiter" :arguments (list (sb-thread:make-semaphore)))
`,
    thread: 'suite-waiter',
    function: 'suite-waits',
    seen: false,
  },
}

/** The same in ECL, which keeps neither the texts of what it runs nor who calls whom. */
export const ECL: Snippets = {
  ...LISP,
  cannot: [
    'reload',
    'callers',
    'sections',
    'live_frames',
    'hold',
    'errors',
    'scope',
    'definition',
    'kept_text',
    'references',
    'theirs',
    'adopt',
    'trace',
    'untrace',
    'traces',
  ],
  printBelow: text => `(ext:system ${literal(`echo ${text}`)})`,
  raises: { ...LISP.raises, unplaced: true },
  waiter: {
    ...LISP.waiter,
    source: `
(defun suite-waits (gate)
  (list (mp:wait-on-semaphore gate)))

(mp:process-run-function 'suite-waiter #'suite-waits (mp:make-semaphore))
`,
    // A symbol names it.
    thread: 'SUITE-WAITER',
  },
}
