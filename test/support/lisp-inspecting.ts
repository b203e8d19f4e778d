import { LOOK_ANSWERS as LOOKED } from '../../wire/contract/looks.ts'
import type { Inspected, Looked, Piece, Section } from '../../wire/kernel.ts'
import { parseAnswer } from '../../wire/kernels/answers.ts'
import { type LispListener, openListener } from './lisp-listener.ts'
import type { RealSwank } from './swank.ts'

/** A connection over which values are looked at. */
export interface Inspecting {
  readonly lisp: LispListener
  /** Evaluates forms that have to succeed. */
  define(source: string): Promise<void>
  looked(expr: string, evaluate?: boolean): Promise<Looked<Inspected>>
  /** The value that `expr` leads to without evaluating anything. */
  inspect(expr: string): Promise<Inspected>
  /** The text of the value of `source`, which was evaluated beforehand; nothing of it runs when it is looked at. */
  printed(source: string): Promise<string>
  more(handle: string, from: number, count: number): Promise<Looked<Piece>>
}

const DEADLINE_MS = 10_000

export async function openInspecting(swank: RealSwank): Promise<Inspecting> {
  const lisp = await openListener(swank)
  const looked: Inspecting['looked'] = async (expr, evaluate = false) => {
    const query = { expr, evaluate, call: `look-${expr.length}`, deadline_ms: DEADLINE_MS }
    return parseAnswer(LOOKED.inspect, await lisp.peer.call('inspect', query), expr) as Looked<Inspected>
  }
  const inspect: Inspecting['inspect'] = async expr => {
    const found = await looked(expr)
    if (found.type !== 'found') throw new Error(`${expr} was answered ${JSON.stringify(found)}`)
    return found.value
  }
  const define: Inspecting['define'] = async source => {
    const ended = await lisp.run(source)
    if (ended.type !== 'done') throw new Error(`${source} has ended as ${JSON.stringify(ended)}`)
  }
  return {
    lisp,
    define,
    looked,
    inspect,
    async printed(source) {
      await define(`(defparameter cl-user::*printed* ${source})`)
      return contents((await inspect('cl-user::*printed*')).repr).text
    },
    async more(handle, from, count) {
      const query = { handle, from, count, deadline_ms: DEADLINE_MS }
      return parseAnswer(LOOKED.more, await lisp.peer.call('more', query), handle) as Looked<Piece>
    },
  }
}

/** What a section holds; throws where it is not there or has failed. */
export function contents<Contents extends object>(section: Section<Contents> | undefined): Contents {
  if (section === undefined || ('error' in section && Object.keys(section).length === 1))
    throw new Error(`the section is ${JSON.stringify(section)}`)
  return section as Contents
}

/** Some of each kind of thing that a Lisp holds. */
export const ORDERS = `
    (defclass order ()
      ((customer :initarg :customer :initform "Ada") (lines :initform (list :tea :milk)) (total))
      (:documentation "What one customer wants."))
    (defstruct point x (y 2))
    (define-condition refused (error) ((by :initarg :by :initform :us)))
    (defun area (width height &key (unit :m))
      "Multiplies them."
      (list (* width height) unit))
    (defparameter *order* (make-instance 'order))
    (defparameter *point* (make-point :x nil))
    (defparameter *numbers* (loop for i below 100 collect i))
    (defparameter *table* (make-hash-table :test 'equal))
    (loop for i below 30 do (setf (gethash (format nil "key ~D" i) *table*) (list i (* i i))))
    (setf (gethash :other *table*) *order*)
    (defparameter *grid* (make-array '(2 3) :initial-contents '((1 2 3) (4 5 6))))
    (defparameter *plist* (list :a 1 :b *point*))
    (setf (get 'order :colour) :green)
    (define-symbol-macro here (first *numbers*))
    (defparameter order-count 3)
    (defun both () :function)
    (defparameter both :value)`
