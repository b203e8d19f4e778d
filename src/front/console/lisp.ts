import { isLispWhole, type LispScan, type OpenList, scanLisp } from '../lisp-scan.ts'
import type { Syntax } from './syntax.ts'

const STEP = '  '

/** How Common Lisp is written at the console: what is open goes on, and lines are set in as Emacs does it. */
export const LISP: Syntax = {
  goesOn(text) {
    if (isLispWhole(scanLisp(text))) return false
    // Two empty lines end whatever is open: a bracket too few must not hold a person captive.
    const lines = text.split('\n')
    return !(lines.length > 2 && isBlank(lines.at(-1)) && isBlank(lines.at(-2)))
  },

  isWhole: text => isLispWhole(scanLisp(text)),

  indent(before) {
    const scan = scanLisp(before)
    const list = scan.open.at(-1)
    if (list === undefined || scan.inside === 'text' || scan.inside === 'comment') return ''
    return ' '.repeat(columnIn(before, list, scan.open.at(-3)))
  },

  dedent(before) {
    const indent = /^ +$/.exec(before)?.[0]
    return indent === undefined ? undefined : indent.slice(0, Math.max(0, indent.length - STEP.length))
  },

  call(before) {
    const scan = scanLisp(before)
    const list = listOf(scan)
    if (list === undefined) return ''
    const written = list.elements.length - (/[\s(]$/.test(before) ? 0 : 1)
    const keyword = /(:[^\s()"';]+)\s+\S*$/.exec(before.slice(list.at))?.[1] ?? ''
    return written < 1 ? '' : `${list.at}:${written}:${keyword}`
  },

  step: STEP,
}

/** Operators whose body is set in by two, whatever stands in their first line, and how many forms come before it. */
const BODY = new Map(
  Object.entries({
    block: 1,
    case: 1,
    catch: 1,
    ccase: 1,
    ctypecase: 1,
    do: 2,
    'do*': 2,
    dolist: 1,
    dotimes: 1,
    ecase: 1,
    etypecase: 1,
    'eval-when': 1,
    flet: 1,
    'handler-bind': 1,
    'handler-case': 1,
    labels: 1,
    lambda: 1,
    let: 1,
    'let*': 1,
    locally: 0,
    macrolet: 1,
    'multiple-value-bind': 2,
    'destructuring-bind': 2,
    prog1: 1,
    progn: 0,
    'restart-case': 1,
    return: 0,
    'symbol-macrolet': 1,
    typecase: 1,
    unless: 1,
    'unwind-protect': 1,
    when: 1,
  }),
)

/** Where a line goes that begins with the next element of `list`, which `outer` is two lists around. */
function columnIn(text: string, list: OpenList, outer: OpenList | undefined): number {
  const [operator, first] = list.elements
  if (operator === undefined || text[operator.at] === '(') return list.column + 1
  const name = /^[^\s()"';]*/.exec(text.slice(operator.at))?.[0]?.toLowerCase() ?? ''
  const forms = formsBefore(name, text, outer)
  if (forms !== undefined) return list.column + (list.elements.length - 1 < forms ? 4 : 2)
  if (/^["':#\d]/.test(name)) return list.column + 1
  return first !== undefined && first.line === list.line ? first.column : list.column + 1
}

/** How many forms stand before the body of that operator; undefined where it is an ordinary function. */
function formsBefore(name: string, text: string, outer: OpenList | undefined): number | undefined {
  const bare = name.slice(name.lastIndexOf(':') + 1)
  if (BODY.has(bare)) return BODY.get(bare)
  if (bare.startsWith('with-') || bare.startsWith('do-')) return 1
  if (bare.startsWith('def')) return bare === 'defun' || bare === 'defmacro' ? 2 : 1
  // The local functions of `flet` and its like are written as definitions are.
  const within = outer?.elements[0]
  const binder = within && /^[^\s()]*/.exec(text.slice(within.at))?.[0]
  return binder === 'flet' || binder === 'labels' || binder === 'macrolet' ? 1 : undefined
}

/** The innermost list that is open; none in a text or a comment. */
const listOf = ({ inside, open }: LispScan): OpenList | undefined =>
  inside === 'code' || inside === 'bars' ? open.at(-1) : undefined

const isBlank = (line: string | undefined) => line?.trim() === ''
