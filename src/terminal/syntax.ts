import { advance, indentOf, isInside, newScan, opensBlock, type Scan } from '../front/blocks.ts'
import { isLispWhole, type LispScan, type OpenList, scanLisp } from '../front/lisp-blocks.ts'
import { isWolframWhole, scanWolfram } from '../front/wolfram-blocks.ts'

/** What the editor must know of a language. All of it is by how text looks, and nothing is run. */
export interface Syntax {
  /** Whether Enter at the end of this text goes on to another line, because something in it is not complete. */
  goesOn(text: string): boolean
  /** Whether text that came as a whole, from a paste or from earlier, can be run as it stands. */
  isWhole(text: string): boolean
  /** What a new line is set in by, behind this text. */
  indent(before: string): string
  /** What is left of the blanks that a line begins with, one step less; undefined where there is something else. */
  dedent(before: string): string | undefined
  /**
   * Names the argument that the end of this text stands in, of the innermost call: another name for another one. It
   * is empty outside of calls.
   */
  call(before: string): string
  /** One step. */
  readonly step: string
  /** What a line asks about in the language's own way, besides `name?` and `name??`, which are asked in any. */
  asked?(line: string): Asked | undefined
  /** What was typed in a session that was copied with its prompts; left out: it has those of Python. */
  typed?(lines: readonly string[]): readonly string[]
}

/** What a line asks about. */
export type Asked =
  | { readonly type: 'name'; readonly name: string; readonly source: boolean }
  /** Names that a pattern matches, each of which has `part` in it; `module`: those of one. */
  | {
      readonly type: 'names'
      readonly pattern: string
      readonly part: string
      readonly module?: string
      matches(name: string): boolean
    }

const PYTHON_STEP = '    '

/** How Python is written at the console. */
export const PYTHON: Syntax = {
  goesOn(text) {
    const { lines, scan, first, last } = read(text)
    const blank = lines.length > 1 && isBlank(lines.at(-1))
    if (scan.quotes !== undefined || scan.continued) return true
    // Two empty lines end whatever is open: a bracket too many must not hold a person captive.
    if (scan.open.length > 0 || opensBlock(last, scan)) return !(blank && isBlank(lines.at(-2)))
    return !blank && indentOf(last).length > indentOf(first).length
  },

  isWhole(text) {
    const { scan, last } = read(text)
    return !isInside(scan) && !opensBlock(last, scan)
  },

  indent(before) {
    const { lines, scan, last } = read(before)
    const here = indentOf(lines.at(-1) ?? '')
    if (scan.quotes !== undefined || (lines.length > 1 && isBlank(lines.at(-1)))) return here
    const bracket = scan.open.at(-1)
    if (bracket !== undefined)
      return bracket.last ? bracket.indent + PYTHON_STEP : ' '.repeat(bracket.column + 1)
    if (scan.continued) return here === '' ? PYTHON_STEP : here
    const outer = statementIndent(lines)
    if (scan.code.trimEnd().endsWith(':')) return outer + PYTHON_STEP
    return LEAVES.test(last) ? dedented(outer) : outer
  },

  dedent(before) {
    const indent = /^[ \t]+$/.exec(before)?.[0]
    return indent === undefined ? undefined : dedented(indent)
  },

  call(before) {
    const opener = openCall(before)
    if (opener === undefined) return ''
    const written = piecesAt(0, before.slice(opener + 1))
    const keyword = /^,?\s*([\p{L}_][\p{L}\p{N}_]*)\s*=(?!=)/u.exec(written.at(-1) ?? '')?.[1] ?? ''
    return `${opener}:${written.length}:${keyword}`
  },

  step: PYTHON_STEP,
}

/** Where the bracket of the innermost call stands that is not closed. */
function openCall(text: string): number | undefined {
  const scan = newScan()
  const starts: number[] = []
  let at = 0
  const lines = text.split('\n')
  for (const line of lines) {
    starts.push(at)
    advance(scan, line)
    at += line.length + 1
  }
  if (scan.quotes !== undefined && scan.open.length === 0) return undefined
  for (const { line, column } of scan.open.toReversed()) {
    const bracket = (starts[line] ?? 0) + column
    const head = text.slice(starts[line] ?? 0, bracket)
    if (text[bracket] === '(' && CALLED.test(head) && !DEFINED.test(head)) return bracket
  }
  return undefined
}

const CALLED = /[\p{L}\p{N}_)\]]$/u
const DEFINED =
  /(?:^|\s)(?:(?:def|class)\s+[\p{L}\p{N}_]+|if|while|for|in|and|or|not|return|yield|await|lambda|else|elif|assert|del|import|is|with|match|case)$/u

/**
 * The text in pieces, which begin with the commas that so many brackets stand around, and with the bracket that closes
 * the last of them. What stands in texts does not count.
 */
export function piecesAt(wanted: number, text: string): string[] {
  const pieces: string[] = []
  let [begin, depth, quotes] = [0, 0, '']
  for (let at = 0; at < text.length; at++) {
    const unit = text[at] ?? ''
    if (quotes !== '') {
      if (unit === '\\') at++
      else if (text.startsWith(quotes, at)) {
        at += quotes.length - 1
        quotes = ''
      }
    } else if (unit === '"' || unit === "'") {
      quotes = text.startsWith(unit.repeat(3), at) ? unit.repeat(3) : unit
      at += quotes.length - 1
    } else {
      if (depth === wanted && (unit === ',' || unit === ')')) {
        pieces.push(text.slice(begin, at))
        begin = at
      }
      if ('([{'.includes(unit)) depth++
      if (')]}'.includes(unit)) depth--
    }
  }
  return [...pieces, text.slice(begin)]
}

/** What a block ends with. */
const LEAVES = /^\s*(return|pass|raise|break|continue)\b/

const dedented = (indent: string) =>
  indent.endsWith('\t')
    ? indent.slice(0, -1)
    : indent.slice(0, Math.max(0, indent.length - PYTHON_STEP.length))

const isBlank = (line: string | undefined) => line?.trim() === ''

interface Read {
  readonly lines: readonly string[]
  readonly scan: Scan
  /** The first line that is not empty, and the last one. */
  readonly first: string
  readonly last: string
}

function read(text: string): Read {
  const lines = text.split('\n')
  const scan = newScan()
  for (const line of lines) {
    const { code } = scan
    advance(scan, line)
    // An empty line says nothing of whether a block is open.
    if (line.trim() === '') scan.code = code
  }
  const full = lines.filter(line => line.trim() !== '')
  return { lines, scan, first: full[0] ?? '', last: full.at(-1) ?? '' }
}

/** What the statement that ends with the last line is set in by: that of the line in which its brackets opened. */
function statementIndent(lines: readonly string[]): string {
  const scan = newScan()
  let indent = ''
  for (const line of lines) {
    if (!isInside(scan) && line.trim() !== '') indent = indentOf(line)
    advance(scan, line)
  }
  return indent
}

const BRACKET_STEP = '  '

/** What languages share in which brackets show what is complete. */
function bracketed(isWhole: Syntax['isWhole']) {
  return {
    isWhole,
    step: BRACKET_STEP,

    goesOn(text) {
      if (isWhole(text)) return false
      // Two empty lines end whatever is open: a bracket too few must not hold a person captive.
      const lines = text.split('\n')
      return !(lines.length > 2 && isBlank(lines.at(-1)) && isBlank(lines.at(-2)))
    },

    dedent(before) {
      const indent = /^ +$/.exec(before)?.[0]
      return indent === undefined
        ? undefined
        : indent.slice(0, Math.max(0, indent.length - BRACKET_STEP.length))
    },
  } satisfies Partial<Syntax>
}

/** How Common Lisp is written at the console: what is open goes on, and lines are set in as Emacs does it. */
export const LISP: Syntax = {
  ...bracketed(text => isLispWhole(scanLisp(text))),

  indent(before) {
    const scan = scanLisp(before)
    const list = scan.open.at(-1)
    if (list === undefined || scan.inside === 'text' || scan.inside === 'comment') return ''
    return ' '.repeat(columnIn(before, list, scan.open.at(-3)))
  },

  call(before) {
    const scan = scanLisp(before)
    const list = listOf(scan)
    if (list === undefined) return ''
    const written = list.elements.length - (/[\s(]$/.test(before) ? 0 : 1)
    const keyword = /(:[^\s()"';]+)\s+\S*$/.exec(before.slice(list.at))?.[1] ?? ''
    return written < 1 ? '' : `${list.at}:${written}:${keyword}`
  },
}

/** Operators whose body is set in by two, whatever stands in their first line, and how many forms come before it. */
const BODY = new Map(
  [
    'locally progn return',
    'block case catch ccase ctypecase dolist dotimes ecase etypecase eval-when flet handler-bind handler-case labels ' +
      'lambda let let* macrolet prog1 restart-case symbol-macrolet typecase unless unwind-protect when',
    'do do* multiple-value-bind destructuring-bind',
  ].flatMap((names, forms) => names.split(' ').map(name => [name, forms] as const)),
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

/** How Wolfram Language is written at the console: what is open goes on, set in one step further than its line. */
export const WOLFRAM: Syntax = {
  ...bracketed(text => isWolframWhole(scanWolfram(text)) || isAsked(text)),

  indent(before) {
    const { open, inside, wants } = scanWolfram(before)
    if (inside === 'text') return ''
    const bracket = open.at(-1)
    if (bracket !== undefined) return ' '.repeat(bracket.indent) + BRACKET_STEP
    return wants ? indentOf(before.split('\n').at(-1) ?? '') + BRACKET_STEP : ''
  },

  call(before) {
    const { open, inside } = scanWolfram(before)
    const inner = inside === 'code' ? open.at(-1) : undefined
    const isCall = inner?.bracket === '[' && /[\p{L}\p{N}$`\]]$/u.test(before.slice(0, inner.at))
    return inner !== undefined && isCall ? `${inner.at}:${inner.commas + 1}:` : ''
  },

  asked(line) {
    const [, marks, name = ''] = WOLFRAM_ASKED.exec(line) ?? []
    if (marks === undefined || !/^[\p{L}$*@\\]/u.test(name)) return undefined
    return /[*@]/.test(name) ? namesLike(name) : { type: 'name', name, source: marks === '??' }
  },

  typed(lines) {
    const first = lines.find(line => line.trim() !== '')
    if (first === undefined || !WOLFRAM_PROMPT.test(first)) return lines
    let margin: number | undefined
    return lines.flatMap(line => {
      const [prompt] = WOLFRAM_PROMPT.exec(line) ?? []
      if (prompt !== undefined) margin = prompt.length
      else if (margin === undefined || !/^[ .]*$/.test(line.slice(0, margin)) || line.trim() === '') {
        // An answer, or an empty line, ends what was typed.
        margin = undefined
        return []
      }
      return [line.slice(margin)]
    })
  },
}

const WOLFRAM_ASKED = /^(\?\??)\s*([\p{L}\p{N}$`*@]+|(?:[\p{L}\p{N}$`]|\\\[[A-Za-z]+\]|\\:[0-9a-fA-F]{4})+)$/u

/** Its `*` is no operator, behind which something has to follow. */
const isAsked = (text: string) => WOLFRAM_ASKED.test(text.trim())

const WOLFRAM_PROMPT = /^\s*(?:\[\d+\] )?In\[\d*\]:= ?/

/** Names that a pattern matches: `*` stands for any characters, `@` for some that are no capitals. */
function namesLike(pattern: string): Asked | undefined {
  const [, module, name = ''] = /^(.*`)?([^`]*)$/.exec(pattern) ?? []
  if (module !== undefined && /[*@]/.test(module)) return undefined
  const parts = name.split(/[*@]/).toSorted((one, other) => other.length - one.length)
  const like = new RegExp(
    `^${name.replaceAll('$', '\\$').replaceAll('*', '.*').replaceAll('@', '[^\\p{Lu}]+')}$`,
    'u',
  )
  return {
    type: 'names',
    pattern,
    part: parts[0] ?? '',
    ...(module !== undefined && { module }),
    matches(full) {
      const at = full.lastIndexOf('`') + 1
      return (at === 0 || full.slice(0, at) === module) && like.test(full.slice(at))
    },
  }
}
