import type { Tool } from '../../tools/define.ts'
import type { JsonSchema, Registry } from '../registry/registry.ts'

export const SYNTAX_NAMES = ['emoji', 'hermes', 'pythonic', 'qwen3-xml'] as const

export type SyntaxName = (typeof SYNTAX_NAMES)[number]

/** A call as data. A person is shown the preview of its tool, in any syntax. */
export interface Call {
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
}

/**
 * How calls are written as text. A syntax reads the registry of tools; no tool knows a syntax. A user names one:
 * nothing guesses it from a text.
 */
export interface TextSyntax {
  readonly name: SyntaxName
  /** How a call is written, in words for a model. */
  readonly rules: string
  renderCall(call: Call, registry: Registry): string
  reader(registry: Registry): Reader
}

/**
 * Reads a reply that comes in parts, cut anywhere. Each method returns the pieces that are certain by now, in order. A reply
 * may begin within reasoning and show that only by `</think>`. So nothing is certain before that or the end, but of a reply
 * that begins with `<think>`; and no call is certain before the end.
 */
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

/**
 * `text`: no call. `reasoning`: what the model thought before it wrote the rest, with its marks; no call in it runs. `call`:
 * one of a known tool; only that may run. `bad`: it was meant as a call, and is none.
 */
export type Piece =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
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
export interface Begun {
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

/** How the line reader finds the calls of a syntax. */
interface Notation {
  /** Returns the call that begins with this line, if one does. */
  begin(line: string): Begun | undefined
  /** Where the first mark of a call is in this line; -1 if none is. */
  markAt(line: string): number
  /** What is refused together with a mark that begins this text and no call. Left out: the rest of its line. */
  stray?(text: string): Begun | undefined
  /** The end of a call, and in a group the quote behind it. No text in a call that is rendered matches it. */
  readonly quotedEnd: RegExp
}

/** A call that is being read. */
type Open = Begun & Place & { readonly lines: string[]; readonly isMisplaced: boolean }

const MAYBE_THOUGHT = 'Reasoning may have ended behind it, so it did not run.'
const MISPLACED = 'A call has to begin its line. In a sentence about a call, quote it.'
const STRAY = 'A mark of a call is here, and no call begins with it. In a sentence about a mark, quote it.'

/** The first of these marks in a line that is alone, or before the name of a tool; -1 if there is none. */
export function markOf(line: string, marks: RegExp, registry: Registry): number {
  for (const { index, 1: name } of line.matchAll(marks))
    if (name === undefined || registry.find(name) !== undefined) return index
  return -1
}

/** A mark that begins no call: the rest of its line is refused, and what follows is read as if it were not there. */
export const noCall = (why: string): Begun => ({
  endIn: line => line.replace(/[\r\n]+$/, '').length,
  read() {
    throw new Malformed(why, true)
  },
})

const THINK = /^[ \t]*<think(?:ing)?>/
/** The mark at the end of a line, where templates have it. */
const LATE_THINK = /<think(?:ing)?>[ \t]*\r?\n?$/
/** The end of reasoning, with the end of its line. A mark that has quotes of its own around it is none. */
export const THOUGHT = /<\/think(?:ing)?>(?!(?<=(["'`])<\/think(?:ing)?>)\1)(?:[ \t]*\r?\n)?/
const ENDS_THINKING = /<\/think(?:ing)?>[ \t]*\r?\n?$/

/** Whether a mark is in inline code, or behind a quote. */
const isQuoted = (line: string, mark: number) =>
  /["'`\u201c\u2018\u00ab]/.test(line[mark - 1] ?? '') ||
  (line.slice(0, mark).match(/`+/g) ?? []).length % 2 === 1

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

function fenceMark(line: string): Mark | undefined {
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
 * fence or in reasoning. So nothing runs that is quoted or part of a sentence. A mark that begins no call is refused; in a
 * fence or a quotation it is text. Each character is read a fixed number of times.
 */
export function lineReader({ begin, markAt, stray, quotedEnd }: Notation, registry: Registry): Reader {
  let at = 0
  let line = 1
  /** The parts of the line that is not complete yet. */
  let parts: string[] = []
  const readings = [fenceReader(true), fenceReader(false)]
  let isLost = false
  let open: Open | undefined
  /** The quote before a call of several lines, until it is closed. */
  let quote: string | undefined
  let isThinking = false
  let isBehindThought = false
  let mayHaveBegunThinking = true
  const out: Piece[] = []
  /** What turns out to be reasoning if its end mark comes. */
  let held: { piece: Piece; readonly raw: string }[] = []
  /** How many of them are doubted. */
  let doubted = 0

  function put(piece: Piece, raw: string): void {
    if (mayHaveBegunThinking || held.length > 0 || piece.type === 'call') held.push({ piece, raw })
    else add(out, piece)
  }

  function putText(text: string, type: 'text' | 'reasoning' = 'text'): string {
    if (text !== '') put({ type, text }, text)
    at += text.length
    return ''
  }

  function release(): void {
    for (const { piece } of held) add(out, piece)
    held = []
    doubted = 0
    mayHaveBegunThinking = false
  }

  /** With the text that ends it. */
  function releaseAsReasoning(end: string): void {
    const text = held.map(({ raw }) => raw).join('') + end
    held = [{ piece: { type: 'reasoning', text }, raw: text }]
    at += end.length
    isBehindThought = true
    release()
  }

  /** In a text that is fenced, quoted or malformed, an end of reasoning may be one: so the calls before it do not run. */
  function doubt(text: string): void {
    if (!THOUGHT.test(text)) return
    for (const one of held.slice(doubted))
      if (one.piece.type === 'call') one.piece = bad(one.piece, one.raw, MAYBE_THOUGHT)
    doubted = held.length
  }

  /** Text, reasoning, or the beginning of a call. Returns what is still to be read of the line. */
  function outside(rest: string): string {
    if (isThinking) return thinking(rest)
    // Templates leave out these blank lines, too.
    isBehindThought &&= rest.trim() === ''
    if (isBehindThought) return putText(rest, 'reasoning')
    const fence = fenceMark(rest)
    if (readings.map(reading => reading(rest, fence)).includes(true)) {
      doubt(rest)
      return putText(rest)
    }
    const [think] = (quote === undefined && THINK.exec(rest)) || []
    if (think !== undefined) {
      if (mayHaveBegunThinking && held.every(({ raw }) => raw.trim() === '')) release()
      isThinking = true
      putText(think, 'reasoning')
      return rest.slice(think.length)
    }
    const begun = begin(rest)
    if (begun === undefined) return inText(rest)
    open = { ...begun, at, line, lines: [], isMisplaced: false }
    return rest
  }

  function thinking(rest: string): string {
    const end = THOUGHT.exec(rest)
    const to = end === null ? rest.length : end.index + end[0].length
    isThinking = end === null
    isBehindThought = !isThinking
    putText(rest.slice(0, to), 'reasoning')
    return rest.slice(to)
  }

  /** A line that begins no call. What it quotes is text, reasoning may end in it, and any other mark in it is refused. */
  function inText(rest: string): string {
    if (quote !== undefined || /^[ \t]*>/.test(rest)) {
      if (quotedEnd.exec(rest)?.[1] === quote) quote = undefined
      doubt(rest)
      return putText(rest)
    }
    const thought = THOUGHT.exec(rest)
    const mark = markAt(thought === null ? rest : rest.slice(0, thought.index))
    const marked = rest.slice(Math.max(0, mark))
    const isQuotation = mark > 0 && isQuoted(rest, mark)
    if (isQuotation) quote = quoteBefore(marked, rest)
    if (thought !== null && quote === undefined && (mark < 0 || (isQuotation && ENDS_THINKING.test(rest)))) {
      const to = mark < 0 ? thought.index + thought[0].length : rest.length
      releaseAsReasoning(rest.slice(0, to))
      return rest.slice(to)
    }
    if (isQuotation) doubt(rest)
    if (mark >= 0 && !isQuotation) {
      putText(rest.slice(0, mark))
      const begun = begin(marked) ?? stray?.(marked) ?? noCall(STRAY)
      open = { ...begun, at, line, lines: [], isMisplaced: true }
      return marked
    }
    const think = LATE_THINK.exec(rest)?.index ?? 0
    const from = mark < 0 && think > 0 && !isQuoted(rest, think) ? think : rest.length
    putText(rest.slice(0, from))
    return rest.slice(from)
  }

  /** The quote that a line begins with, if the call behind it goes on in the next line. */
  function quoteBefore(marked: string, rest: string): string | undefined {
    const begun = begin(marked)
    if (begun === undefined || rest.trimStart().length > marked.length + 1 || quotedEnd.test(rest))
      return undefined
    return begun.endIn(marked) === undefined ? rest.at(-marked.length - 1) : undefined
  }

  function inside(begun: Open, rest: string): string {
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
    const isNext = !begun.isMisplaced && (begin(next) !== undefined || /^<\/?think/.test(next))
    const mayFollow = end === 0 || isBlank || isNext || (!begun.isMisplaced && begun.textBehind === true)
    const left = end === 0 ? rest : isBlank || !mayFollow ? '' : isNext ? next : behind
    const pieces = read(begun, [...begun.lines, rest.slice(0, end)].join(''))
    const raw = [...begun.lines, rest.slice(0, rest.length - left.length)].join('')
    at += rest.length - left.length
    // It may have ended in a text that was not escaped, and that goes on.
    if (!mayFollow && begun.endsSurely !== true && /["']/.test(behind)) isLost = true
    if (mayFollow) for (const [index, piece] of pieces.entries()) put(piece, index === 0 ? raw : '')
    else refuse(begun, raw, begun.isMisplaced ? MISPLACED : 'Something else stands behind it on its line.')
    return left
  }

  function read(begun: Open, raw: string): Piece[] {
    if (isLost) {
      doubt(raw)
      return [bad(begun, raw, 'A call before it could not be read, so where it ended is not known.')]
    }
    try {
      const calls = begun.read(raw)
      if (begun.isMisplaced) return [bad(begun, raw, MISPLACED)]
      return calls.map(call => {
        if (registry.find(call.tool) !== undefined)
          return { type: 'call', call, at: begun.at, line: begun.line } as const
        const nearest = registry.nearest(call.tool)
        const hint = nearest.length === 0 ? '' : ` Did you mean ${nearest.join(' or ')}?`
        return bad(begun, raw, `There is no tool ${call.tool.slice(0, 64)}.${hint}`)
      })
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      isLost = begun.endsSurely !== true && !error.endsSurely
      doubt(raw)
      return [bad(begun, raw, error.message)]
    }
  }

  function refuse(place: Place, raw: string, why: string): void {
    doubt(raw)
    put(bad(place, raw, why), raw)
  }

  function take(whole: string): void {
    for (let rest = whole; rest !== ''; ) rest = open === undefined ? outside(rest) : inside(open, rest)
    line++
  }

  return {
    push(text) {
      let from = 0
      // Only what is new is searched, so that a long line in many pieces costs no more than in one.
      for (let to = text.indexOf('\n'); to >= 0; to = text.indexOf('\n', from)) {
        const end = text.slice(from, to + 1)
        take(parts.length === 0 ? end : [...parts, end].join(''))
        parts = []
        from = to + 1
      }
      if (from < text.length) parts.push(text.slice(from))
      return out.splice(0)
    },
    end() {
      take(parts.join(''))
      parts = []
      if (open !== undefined) refuse(open, open.lines.join(''), NOT_ENDED)
      open = undefined
      release()
      return out.splice(0)
    },
  }
}

/** Adds a piece, to the last one if both are text. */
function add(pieces: Piece[], piece: Piece): void {
  const last = pieces.at(-1)
  if ((piece.type === 'text' || piece.type === 'reasoning') && last?.type === piece.type)
    pieces[pieces.length - 1] = { type: piece.type, text: last.text + piece.text }
  else pieces.push(piece)
}

function bad({ at, line }: Place, raw: string, why: string): Piece {
  return { type: 'bad', at, line, why, raw }
}

/** Of a text that a sentence names. */
export const short = (text: string) => text.slice(0, 40)

/**
 * What a call is rendered with. Throws `TypeError` for a name that no parameter can have, and where `kindOf` is given, for
 * one that this tool has not, and for a text that is none: they would not read back.
 */
export function argumentsOf(
  { tool, args }: Call,
  kindOf: (name: string) => Kind = () => 'data',
): (readonly [name: string, value: unknown])[] {
  const given = Object.entries(args).filter(([, value]) => value !== undefined)
  for (const [name, value] of given) {
    if (!/^[A-Za-z_]\w*$/.test(name))
      throw new TypeError(`${JSON.stringify(short(name))} is no name of an argument.`)
    if (kindOf(name) === undefined) throw new TypeError(`${tool} has no argument ${short(name)}.`)
    if (kindOf(name) === 'text' && typeof value !== 'string')
      throw new TypeError(`${name} of ${tool} is a text.`)
  }
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

/** What an argument is by the schema of its tool; undefined where the tool has none of that name. */
export type Kind = 'text' | 'data' | undefined

export function kindsOf(tool: Tool, registry: Registry): (name: string) => Kind {
  const { properties = {} } = registry.schema(tool) as {
    readonly properties?: Readonly<Record<string, JsonSchema>>
  }
  const kinds = new Map(
    Object.entries(properties).map(([one, { type }]) => [one, type === 'string' ? 'text' : 'data'] as const),
  )
  return called => kinds.get(called) ?? kinds.get(tool.parameterAliases[called] ?? '')
}

const SCALAR = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/

/** Whether what is written for an argument that is no text is JSON. Else it is a text. */
export const isJson = (value: string) => /^["[{]/.test(value) || SCALAR.test(value)
