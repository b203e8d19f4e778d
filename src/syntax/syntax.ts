import type { Registry } from '../registry/registry.ts'

export const SYNTAX_NAMES = ['emoji', 'hermes', 'pythonic'] as const

export type SyntaxName = (typeof SYNTAX_NAMES)[number]

/** A call as data. A person is shown the preview of its tool, whatever syntax it was written in. */
export interface Call {
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
}

/**
 * How calls are written as text. A syntax reads the registry of tools; no tool knows a syntax. Whoever uses one names it:
 * nothing guesses it from a text.
 */
export interface TextSyntax {
  readonly name: SyntaxName
  /** How a call is written, in words for a model. */
  readonly rules: string
  renderCall(call: Call, registry: Registry): string
  reader(registry: Registry): Reader
}

/** Reads a text that comes in parts, cut anywhere. Each method returns the pieces that are certain by now, in order. */
export interface Reader {
  push(text: string): Piece[]
  /** What is left. A call that is still open is `bad`. */
  end(): Piece[]
}

interface Place {
  /** Where the call begins in the whole text, in UTF-16 units. */
  readonly at: number
  /** The line in which it begins. The first is 1. */
  readonly line: number
}

/** `text`: no call. `call`: one of a known tool; only that may run. `bad`: it was meant as a call, and is none. */
export type Piece =
  | { readonly type: 'text'; readonly text: string }
  | ({ readonly type: 'call'; readonly call: Call } & Place)
  | ({ readonly type: 'bad'; readonly why: string; readonly raw: string } & Place)

/**
 * Why a text that was meant as a call is none, as a sentence. The line reader makes a `bad` piece of it. Unless the call
 * `endsSurely` where it seems to, what follows may be a text in it that was not escaped, and runs no more.
 */
export class Malformed extends Error {
  override readonly name = 'Malformed'
  readonly endsSurely: boolean

  constructor(why: string, endsSurely = false) {
    super(why)
    this.endsSurely = endsSurely
  }
}

/** A call that has begun, as the line reader asks its syntax about it. */
interface Begun {
  /** Asked with each line, the first included. Returns the index behind the call's end, or undefined if it goes on. */
  endIn(line: string): number | undefined
  /** The calls in the whole of it. Throws `Malformed`. */
  read(text: string): readonly Call[]
  /** Whether it surely ends where it seems to, even if it cannot be read. */
  readonly endsSurely?: boolean
  /** Whether text may stand behind it on its last line. If not, such a line is a sentence about a call. */
  readonly textBehind?: boolean
}

export const NOT_ENDED = 'It was begun and not ended, so it did not run.'

/** Returns the call that begins with this line, if one does. */
type Begin = (line: string) => Begun | undefined

/** A line that begins or ends a fence, also within quotations and lists. Nothing in a fence runs. */
const FENCE =
  /^(?<before>[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*)(?:(?<ticks>`{3,})(?<info>[^`]*)$|(?<tildes>~{3,})(?<words>[\s\S]*))/

/** The line that begins or ends a fence. */
interface Mark {
  readonly before: string
  /** How far it is indented, and how deep in quotations. */
  readonly width: number
  readonly depth: number
  readonly sign: string
  /** Only such a one ends a fence. */
  readonly isBare: boolean
}

const widthOf = (before = '') => before.replaceAll('\t', '    ').length

function markIn(line: string): Mark | undefined {
  const { before = '', ticks, info, tildes = '', words = '' } = FENCE.exec(line)?.groups ?? {}
  const sign = ticks ?? tildes
  if (sign === '') return undefined
  const isBare = (info ?? words).trim() === ''
  return { before, width: widthOf(before), depth: before.split('>').length, sign, isBare }
}

/** Whether a mark ends a fence: it is bare, as long, as deep, and no less indented. */
function ends({ before, width, depth, sign, isBare }: Mark, fence: Mark): boolean {
  if (!isBare || !sign.startsWith(fence.sign)) return false
  if (before === fence.before) return true
  const isIndented = width >= fence.width && width <= Math.max(3, fence.width)
  return isIndented && depth === fence.depth && /^[ \t>]*$/.test(before)
}

/**
 * Says of each line whether it is in a fence. CommonMark ends a fence where its list or quotation ends, and no lists
 * are read here: whether a mark that is indented by up to three blanks stands in one is assumed.
 */
function fenceReader(isInList: boolean): (line: string, mark: Mark | undefined) => boolean {
  let fence: Mark | undefined
  let isLeft = false
  return (line, mark) => {
    const isFenced = fence !== undefined || mark !== undefined
    const isOuter = mark !== undefined && /^ {0,3}$/.test(mark.before)
    if (
      fence === undefined ||
      (isOuter && (isLeft || fence.depth > mark.depth || fence.width > mark.width))
    ) {
      fence = isOuter && !isInList ? { ...mark, width: 0 } : mark
      isLeft = false
    } else if (mark !== undefined && ends(mark, fence)) fence = undefined
    else isLeft ||= line.trim() !== '' && widthOf(/^[ \t]*/.exec(line)?.[0]) < fence.width
    return isFenced
  }
}

/**
 * Reads lines, for all syntaxes. A call begins at the beginning of a line or right behind another call, and never in a
 * fence. So nothing runs that is quoted or part of a sentence. Each character is read a fixed number of times.
 */
export function lineReader(begin: Begin, registry: Registry): Reader {
  let at = 0
  let line = 1
  /** The parts of the line that is not complete yet. */
  let parts: string[] = []
  const readings = [fenceReader(true), fenceReader(false)]
  let isLost = false
  let open: (Begun & Place & { readonly lines: string[] }) | undefined

  /** Text, or the beginning of a call. Returns what is still to be read of the line. */
  function outside(rest: string, out: Piece[]): string {
    const mark = markIn(rest)
    const isFenced = readings.map(reading => reading(rest, mark)).includes(true)
    const begun = isFenced ? undefined : begin(rest)
    if (begun !== undefined) {
      open = { ...begun, at, line, lines: [] }
      return rest
    }
    const last = out.at(-1)
    if (last?.type === 'text') out[out.length - 1] = { type: 'text', text: last.text + rest }
    else out.push({ type: 'text', text: rest })
    at += rest.length
    return ''
  }

  function inside(begun: NonNullable<typeof open>, rest: string, out: Piece[]): string {
    const end = begun.endIn(rest)
    if (end === undefined) {
      begun.lines.push(rest)
      at += rest.length
      return ''
    }
    open = undefined
    const behind = rest.slice(end)
    const next = behind.replace(/^[ \t]+/, '')
    const isBlank = /^[\r\n]*$/.test(next)
    const isNext = begin(next) !== undefined
    const mayFollow = isBlank || isNext || begun.textBehind === true
    const whole = [...begun.lines, rest.slice(0, end)].join('')
    const pieces = read(begun, whole)
    if (mayFollow) for (const piece of pieces) out.push(piece)
    else out.push(bad(begun, whole + behind, 'Something else stands behind it on its line.'))
    const left = isBlank || !mayFollow ? '' : isNext ? next : behind
    at += rest.length - left.length
    return left
  }

  function read(begun: Begun & Place, raw: string): Piece[] {
    if (isLost)
      return [bad(begun, raw, 'A call before it could not be read, so where it ended is not known.')]
    try {
      return begun.read(raw).map(call => {
        if (registry.find(call.tool) !== undefined)
          return { type: 'call', call, at: begun.at, line: begun.line } as const
        const nearest = registry.nearest(call.tool)
        const hint = nearest.length === 0 ? '' : ` Did you mean ${nearest.join(' or ')}?`
        return bad(begun, raw, `There is no tool ${call.tool.slice(0, 64)}.${hint}`)
      })
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      isLost = begun.endsSurely !== true && !error.endsSurely
      return [bad(begun, raw, error.message)]
    }
  }

  function take(whole: string, out: Piece[]): void {
    for (let rest = whole; rest !== ''; )
      rest = open === undefined ? outside(rest, out) : inside(open, rest, out)
    line++
  }

  return {
    push(text) {
      const out: Piece[] = []
      let from = 0
      // Only what is new is searched, so that a long line in many pieces costs no more than in one.
      for (let to = text.indexOf('\n'); to >= 0; to = text.indexOf('\n', from)) {
        const end = text.slice(from, to + 1)
        take(parts.length === 0 ? end : [...parts, end].join(''), out)
        parts = []
        from = to + 1
      }
      if (from < text.length) parts.push(text.slice(from))
      return out
    },
    end() {
      const out: Piece[] = []
      take(parts.join(''), out)
      parts = []
      if (open !== undefined) out.push(bad(open, open.lines.join(''), NOT_ENDED))
      open = undefined
      return out
    },
  }
}

function bad({ at, line }: Place, raw: string, why: string): Piece {
  return { type: 'bad', at, line, why, raw }
}

/** Of a text that a sentence names. */
export const short = (text: string) => text.slice(0, 40)

/** What a call is rendered with. Throws for a name that no parameter can have: it would not read back. */
export function argumentsOf({ args }: Call): (readonly [name: string, value: unknown])[] {
  const given = Object.entries(args).filter(([, value]) => value !== undefined)
  const odd = given.find(([name]) => !/^[A-Za-z_]\w*$/.test(name))
  if (odd !== undefined) throw new TypeError(`${JSON.stringify(short(odd[0]))} is no name of an argument.`)
  return given
}

const QUOTES: readonly string[] = ['"', "'", '"""', "'''"]

/** The index behind a string whose content begins at `from`; -1 if it does not end in this text. */
export function endOfString(text: string, quote: string, from: number): number {
  for (let at = text.indexOf(quote, from); at >= 0; at = text.indexOf(quote, at + 1)) {
    let before = at
    while (before > from && text[before - 1] === '\\') before--
    if ((at - before) % 2 === 0) return at + quote.length
  }
  return -1
}

/**
 * Finds where a call ends that may hold strings. A string may hold anything, line ends too. `marks` matches quotes, and what
 * `isEnd` is asked about.
 */
export function outsideStrings(marks: RegExp, isEnd: (mark: string) => boolean): Begun['endIn'] {
  let quote: string | undefined
  return line => {
    let from = 0
    for (;;) {
      if (quote !== undefined) {
        from = endOfString(line, quote, from)
        if (from < 0) return undefined
        quote = undefined
      }
      marks.lastIndex = from
      const [mark] = marks.exec(line) ?? []
      if (mark === undefined) return undefined
      from = marks.lastIndex
      if (QUOTES.includes(mark)) quote = mark
      else if (isEnd(mark)) return from
    }
  }
}

/** The value of a JSON text. Throws `Malformed`, whose message begins with `what`. */
export function fromJson(text: string, what: string, endsSurely = false): unknown {
  try {
    if (!/(?<!\d)\d{200}|\d[eE]\+?\d{3}/.test(text)) return JSON.parse(text)
    return JSON.parse(text, (_, value) => {
      if (typeof value === 'number' && !Number.isFinite(value))
        throw new RangeError('a number in it is too large')
      return value
    })
  } catch (error) {
    throw new Malformed(`${what}: ${(error as Error).message}.`, endsSurely)
  }
}
