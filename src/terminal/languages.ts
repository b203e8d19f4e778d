import { NodeProp, type SyntaxNode, type Tree } from '@lezer/common'
import { highlightTree, tagHighlighter, tags } from '@lezer/highlight'
import { parser } from '@lezer/python'
import { type Look, looking, plain, restyled, type Span } from './layout.ts'
import { LISP, PYTHON, type Syntax, WOLFRAM } from './syntax.ts'

/** How one language is typed and coloured at the console, and how its answers are shown. */
export interface Language extends Manners {
  readonly syntax: Syntax
  highlight(text: string): Span[]
  /** The same, and the bracket at the cursor with its other half. */
  highlightAt(text: string, cursor: number): Span[]
}

interface Manners {
  /** The end of the names of its files. */
  readonly suffix: string
  /** Left out: its sessions number nothing. */
  readonly numbering?: Numbering
  /**
   * `name?` shows the usage of the name, and its definition if it has no usage. `name??` shows the definition. Left out:
   * `name?` looks at the value.
   */
  readonly tellsUsage?: true
}

/** How a session numbers its lines and their values. */
export interface Numbering {
  /** The symbol that holds the number of the last line. Looking at it runs nothing. */
  readonly last: string
  /** What stands before a line. Its number may be unknown. */
  prompt(number: number | undefined): string
  /** What stands before the value of a line. */
  label(number: number, type: string): string
}

interface Looks extends Manners {
  readonly syntax: Syntax
  spans(text: string): Span[]
  /** Where the bracket before or under the cursor stands, and its other half. Empty if there is none. */
  brackets(text: string, cursor: number): readonly number[]
}

const languageOfLooks = ({ syntax, spans, brackets, ...manners }: Looks): Language => {
  const highlight = (text: string) => (text.length > MOST ? [plain(text)] : spans(text))
  return {
    ...manners,
    syntax,
    highlight,
    highlightAt: (text, cursor) =>
      (text.length > MOST ? [] : brackets(text, cursor)).reduce(
        (done, from) => restyled(done, { from, to: from + 1, look: 'bracket' }),
        highlight(text),
      ),
  }
}

const FIRST = languageOfLooks({
  syntax: PYTHON,
  spans: pythonSpans,
  brackets: pythonBrackets,
  suffix: '.py',
})

const LANGUAGES: Readonly<Record<string, Language>> = {
  python: FIRST,
  lisp: languageOfLooks({
    syntax: LISP,
    spans: lispSpans,
    brackets: (text, cursor) => besides(cursor, matchedBrackets(text, TOKEN, '(', ')')),
    suffix: '.lisp',
  }),
  wolfram: languageOfLooks({
    syntax: WOLFRAM,
    spans: wolframSpans,
    brackets: (text, cursor) => besides(cursor, matchedBrackets(text, WOLFRAM_TOKEN, '[({', '])}')),
    suffix: '.wl',
    tellsUsage: true,
    numbering: {
      last: '$Line',
      prompt: number => `In[${number ?? ''}]:= `,
      label: (number, type) => `Out[${number}]${type.endsWith('Form') ? `//${type}` : ''}= `,
    },
  }),
}

/** Code of a kernel, coloured. */
export const { highlight } = FIRST

/** The language of that name, as a kernel or a fence tells it. Python for a name that is not known. */
export function terminalLanguage(name: string): Language {
  return (Object.hasOwn(LANGUAGES, name) ? LANGUAGES[name] : undefined) ?? FIRST
}

/** Longer text is shown without colours: it is data, not something that a person reads. */
const MOST = 50_000

const HIGHLIGHTER = tagHighlighter([
  { tag: tags.comment, class: 'comment' },
  { tag: [tags.string, tags.special(tags.string), tags.character], class: 'text' },
  { tag: [tags.number, tags.bool, tags.null], class: 'number' },
  {
    tag: [
      tags.keyword,
      tags.operatorKeyword,
      tags.controlKeyword,
      tags.definitionKeyword,
      tags.moduleKeyword,
    ],
    class: 'keyword',
  },
  {
    tag: [tags.definition(tags.className), tags.className, tags.function(tags.definition(tags.variableName))],
    class: 'definition',
  },
  { tag: tags.meta, class: 'decorator' },
])

/** Builtins of Python that everybody knows. */
const BUILTINS = new Set(
  (
    'abs all any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex delattr dict dir ' +
    'divmod enumerate eval exec filter float format frozenset getattr globals hasattr hash help hex id input int ' +
    'isinstance issubclass iter len list locals map max memoryview min next object oct open ord pow print property ' +
    'range repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip'
  ).split(' '),
)
const CONSTANTS = new Set(['None', 'True', 'False', 'Ellipsis', 'NotImplemented'])

let last: { readonly text: string; readonly tree: Tree } | undefined

function parsed(text: string): Tree {
  if (last?.text !== text) last = { text, tree: parser.parse(text) }
  return last.tree
}

function pythonSpans(text: string): Span[] {
  const spans: Span[] = []
  let at = 0
  const upTo = (to: number) => {
    if (to > at) spans.push(...words(text.slice(at, to)))
    at = to
  }
  highlightTree(parsed(text), HIGHLIGHTER, (from, to, name) => {
    upTo(from)
    const piece = text.slice(from, to)
    spans.push(looking(lookOf(piece, name as Look), piece))
    at = to
  })
  upTo(text.length)
  return spans
}

/** The grammar takes constants for keywords, and `print` for the statement that it once was. */
function lookOf(piece: string, look: Look): Look {
  if (CONSTANTS.has(piece)) return 'number'
  return look === 'keyword' && piece === 'print' ? 'builtin' : look
}

/** What no rule has coloured: names, some of them builtins. */
function words(text: string): Span[] {
  return text
    .split(/((?<![\p{L}\p{N}_.])[A-Za-z]+(?![\p{L}\p{N}_]))/u)
    .filter(piece => piece !== '')
    .map(piece => (BUILTINS.has(piece) ? looking('builtin', piece) : plain(piece)))
}

function pythonBrackets(text: string, cursor: number): number[] {
  const tree = parsed(text)
  for (const at of [cursor - 1, cursor]) {
    if (at < 0) continue
    const node = tree.resolveInner(at, 1)
    if (node.from !== at || node.to !== at + 1) continue
    const other = otherHalf(node)
    if (other !== undefined) return [at, other.from]
  }
  return []
}

function otherHalf(node: SyntaxNode): SyntaxNode | undefined {
  const closers = node.type.prop(NodeProp.closedBy)
  const openers = node.type.prop(NodeProp.openedBy)
  const names = closers ?? openers
  if (names === undefined) return undefined
  const step = (from: SyntaxNode) => (closers === undefined ? from.prevSibling : from.nextSibling)
  for (let sibling = step(node); sibling !== null; sibling = step(sibling))
    if (names.includes(sibling.name)) return sibling
  return undefined
}

const PLACE = /^(\s*File )("[^"\n]*")(, line )(\d+)(, in )?(.*)$/
const MARKERS = /^[\s~^]*[\^~][\s~^]*$/
const RAISED = /^([A-Za-z_][\w.]*)(: .*)?$/

/** A traceback: places, code and the message. `margin` stands before each line that is not empty. */
export function highlightTraceback(report: string, margin = ''): Span[] {
  let inMessage = false
  return report.split('\n').flatMap((line, index) => {
    const before = `${index === 0 ? '' : '\n'}${line === '' ? '' : margin}`
    const end = before === '' ? [] : [plain(before)]
    const place = PLACE.exec(line)
    if (place !== null) {
      const [, file = '', path = '', at = '', number = '', within = '', name = ''] = place
      inMessage = false
      return [
        ...end,
        plain(file),
        looking('place', path),
        plain(at),
        looking('number', number),
        plain(within),
        looking('definition', name),
      ]
    }
    if (MARKERS.test(line)) return [...end, looking('failure', line)]
    if (/^\s/.test(line) && !inMessage) return [...end, ...highlight(line)]
    const raised = inMessage ? null : RAISED.exec(line)
    if (raised === null || line.startsWith('Traceback')) return [...end, plain(line)]
    inMessage = true
    return [...end, looking('failure', raised[1] ?? ''), plain(raised[2] ?? '')]
  })
}

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
function lispSpans(text: string): Span[] {
  const spans: Span[] = []
  let before = ''
  let defining = false
  for (const [token] of text.matchAll(TOKEN)) {
    const look = lispLookOf(token, { before, defining })
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
  /** Whether that token begins a definition, so that this one is its name. */
  readonly defining: boolean
}

function lispLookOf(token: string, { before, defining }: Around): Look | undefined {
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

/** Where the brackets of a text stand, each with its other half. They are tokens of their own, each one character. */
function matchedBrackets(text: string, tokens: RegExp, open: string, close: string): Map<number, number> {
  const pairs = new Map<number, number>()
  const unclosed: number[] = []
  for (const { 0: token, index } of text.matchAll(tokens)) {
    if (open.includes(token)) unclosed.push(index)
    else if (close.includes(token)) {
      const other = unclosed.pop()
      if (other !== undefined) pairs.set(index, other).set(other, index)
    }
  }
  return pairs
}

/** The bracket before or under the cursor, and its other half. */
function besides(cursor: number, pairs: ReadonlyMap<number, number>): number[] {
  for (const at of [cursor - 1, cursor]) {
    const other = pairs.get(at)
    if (other !== undefined) return [at, other]
  }
  return []
}

/** One token: comment, text, number, name, pattern or slot, bracket, or a run of blanks or of anything else. */
const WOLFRAM_TOKEN =
  /\(\*[\s\S]*?(?:\*\)|$)|"(?:\\[\s\S]|[^"\\])*(?:"|$)|\d+(?:\.\d*)?(?:`+[\d.]*)?(?:\*\^-?\d+)?|[\p{L}$][\p{L}\p{N}$`]*|##?\w*|[[\](){}]|\s+|[^\s"[\](){}\p{L}\p{N}$#]+/gu

const WOLFRAM_KEYWORDS = new Set(
  (
    'Block Break Catch Check CheckAbort CompoundExpression Continue Do For Function If Module Quiet Return Scan Switch ' +
    'Table Throw Which While With WithCleanup Begin BeginPackage End EndPackage Needs Get'
  ).split(' '),
)
const WOLFRAM_CONSTANTS = new Set(
  'True False Null None All Automatic Infinity ComplexInfinity Indeterminate Pi E I'.split(' '),
)

/** Wolfram Language, coloured by how it looks. */
function wolframSpans(text: string): Span[] {
  const tokens = [...text.matchAll(WOLFRAM_TOKEN)]
  return tokens.map(({ 0: token, index }) => {
    const look = wolframLookOf(token, text.slice(index + token.length, index + token.length + 1))
    return look === undefined ? plain(token) : looking(look, token)
  })
}

function wolframLookOf(token: string, next: string): Look | undefined {
  if (token.startsWith('(*')) return 'comment'
  if (token.startsWith('"')) return 'text'
  if (/^\d/.test(token) || WOLFRAM_CONSTANTS.has(token)) return 'number'
  if (token.startsWith('#')) return 'decorator'
  if (WOLFRAM_KEYWORDS.has(token)) return 'keyword'
  return next === '[' && /^[A-Z]/.test(token) ? 'builtin' : undefined
}
