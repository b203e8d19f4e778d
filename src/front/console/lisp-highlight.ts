import { type Look, looking, plain, restyled, type Span } from './style.ts'

/** Longer text is shown without colours: it is data, not something that a person reads. */
const MOST = 50_000

/** One token: comment, text, bars, character, quote or bracket, or a run of anything else. */
const TOKEN =
  /;[^\n]*|#\|[\s\S]*?(?:\|#|$)|"(?:\\[\s\S]|[^"\\])*(?:"|$)|#\\(?:[^\s()]+|[\s\S])|[()'`,]|\s+|[^\s()'`,";]+/g

const SPECIAL = new Set(
  (
    'block case catch ccase cond ctypecase declare destructuring-bind do do* do-symbols dolist dotimes ecase etypecase ' +
    'eval-when flet function go handler-bind handler-case if in-package labels lambda let let* locally loop macrolet ' +
    'multiple-value-bind multiple-value-prog1 or and not prog1 prog2 progn quote return return-from setf setq ' +
    'symbol-macrolet tagbody the throw typecase unless unwind-protect when'
  ).split(' '),
)

/** Common Lisp, coloured by how it looks. */
export function highlightLisp(text: string): Span[] {
  if (text.length > MOST) return [plain(text)]
  const spans: Span[] = []
  let before = ''
  let defining = false
  for (const [token] of text.matchAll(TOKEN)) {
    const look = lookOf(token, { before, defining })
    spans.push(look === undefined ? plain(token) : looking(look, token))
    if (token.trim() === '') continue
    defining = before === '(' && /^def\w/i.test(bareName(token))
    before = token
  }
  return spans
}

interface Around {
  /** The token before it that is not blank. */
  readonly before: string
  /** That token begins a definition, whose name this is. */
  readonly defining: boolean
}

function lookOf(token: string, { before, defining }: Around): Look | undefined {
  if (token.startsWith(';') || token.startsWith('#|')) return 'comment'
  if (token.startsWith('"') || token.startsWith('#\\')) return 'text'
  if (/^[+-]?\d+(?:[/.]\d+)?(?:[esfdl][+-]?\d+)?$/i.test(token)) return 'number'
  if (/^(?:nil|t)$/i.test(token)) return 'number'
  if (token.startsWith(':') || token.startsWith('&')) return 'builtin'
  if (/^#[+-]/.test(token)) return 'decorator'
  if (defining && !/^[('`,]$/.test(token)) return 'definition'
  const name = bareName(token)
  const isOperator = before === '(' && (SPECIAL.has(name) || /^(?:def\w|with-|do-)/.test(name))
  return isOperator ? 'keyword' : undefined
}

const bareName = (token: string) => token.slice(token.lastIndexOf(':') + 1).toLowerCase()

/** The same, and the bracket at the cursor with its other half. */
export function highlightLispAt(text: string, cursor: number): Span[] {
  const spans = highlightLisp(text)
  if (text.length > MOST) return spans
  return bracketsAt(text, cursor).reduce(
    (done, from) => restyled(done, { from, to: from + 1, look: 'bracket' }),
    spans,
  )
}

/** Where the bracket before or under the cursor stands, and its other half. */
function bracketsAt(text: string, cursor: number): number[] {
  const pairs = new Map<number, number>()
  const open: number[] = []
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token === '(') open.push(index)
    else if (token === ')') {
      const other = open.pop()
      if (other !== undefined) pairs.set(index, other).set(other, index)
    }
  }
  for (const at of [cursor - 1, cursor]) {
    const other = pairs.get(at)
    if (other !== undefined) return [at, other]
  }
  return []
}
