import { ownedPython } from '../../test/support/real-kernels.ts'
import { type RealSwank, startSwank } from '../../test/support/swank.ts'
import { openSwankKernel } from '../../test/support/swank-kernel.ts'
import type { CallId, Kernel } from '../../wire/kernel.ts'
import type { Row } from '../row.ts'

const TRACED = 1000
const UNTRACED = 200_000

interface Language {
  readonly name: string
  readonly world: string
  /** Calls the function so many times; its value is the processor time that took, in whole nanoseconds. */
  timed(calls: number): string
}

const PYTHON: Language = {
  name: 'area',
  world: `
import time
class Order:
    def __init__(self):
        self.lines = ['tea', 'cups']
def area(order, width):
    return width
def timed(calls):
    order, now = Order(), time.thread_time_ns
    begun = now()
    for number in range(calls):
        area(order, number)
    return now() - begun
`,
  timed: calls => `timed(${calls})`,
}

const LISP: Language = {
  name: 'cl-user::area',
  world: `
(defclass order () ((lines :initform (list "tea" "cups"))))
(declaim (notinline area))
(defun area (order width) (declare (ignore order)) width)
(defun nanoseconds ()
  (floor (* 1000000000 (get-internal-run-time)) internal-time-units-per-second))
(defun timed (calls)
  (let ((order (make-instance 'order)) (begun (nanoseconds)))
    (dotimes (number calls) (area order number))
    (- (nanoseconds) begun)))
`,
  timed: calls => `(cl-user::timed ${calls})`,
}

let image: RealSwank
let calls = 0
const opened: [string, Language, Kernel][] = []

async function numberOf(kernel: Kernel, source: string): Promise<number> {
  const work = { type: 'source', source } as const
  const evaluated = await kernel.evaluate({ call: `bench-${++calls}` as CallId, who: 'bench', work }, {})
  if (evaluated.type === 'raised') throw new Error(evaluated.exception.message)
  if (evaluated.type !== 'done') throw new Error(evaluated.type)
  return Number(evaluated.values[0]?.repr.text)
}

/** Microseconds of the processor for one call before it is traced, while it is, and once the tracepoint is full. */
async function timesOf(kernel: Kernel, { name, timed }: Language) {
  const untraced = (await numberOf(kernel, timed(UNTRACED))) / UNTRACED / 1000
  const query = { name, calls: TRACED, expires_ms: 60_000, who: 'bench' }
  const on = await kernel.look('trace', query, { deadlineMs: 10_000 })
  if (on.type !== 'found') throw new Error(JSON.stringify(on))
  const traced = (await numberOf(kernel, timed(TRACED))) / TRACED / 1000
  const { id } = on.value
  const over = await kernel.look('untrace', { tracepoint: id }, { deadlineMs: 10_000 })
  if (over.type !== 'found' || over.value.state !== 'full') throw new Error(JSON.stringify(over))
  const after = (await numberOf(kernel, timed(UNTRACED))) / UNTRACED / 1000
  return { untraced, traced, after }
}

export const tracepointCost: Row = {
  what: 'a call that a tracepoint takes down: processor time added, in the slower of SBCL and Python',
  how: 'a function of two arguments, an object and a number, that returns the number; the processor time of one call, taken in the program itself, so that what else the machine does counts little: 200,000 calls before it is traced, 1,000 that are taken down, and 200,000 after. Stated, and held only to what a person would not notice in a page of calls',
  bar: { relation: '≤', limit: 250, unit: 'µs' },
  async setUp() {
    image = await startSwank()
    opened.push(['sbcl', LISP, await openSwankKernel(image)], ['python', PYTHON, await ownedPython()])
    for (const [, { world }, kernel] of opened) await numberOf(kernel, world)
  },
  async tearDown() {
    for (const [, , kernel] of opened) await kernel.close()
    image.kill()
  },
  async measure() {
    const parts: Record<string, number> = {}
    let figure = 0
    for (const [runtime, language, kernel] of opened) {
      const { untraced, traced, after } = await timesOf(kernel, language)
      parts[`${runtime}_untraced_us`] = untraced
      parts[`${runtime}_traced_us`] = traced
      parts[`${runtime}_after_us`] = after
      figure = Math.max(figure, traced - untraced)
    }
    return { figure, parts }
  },
}
