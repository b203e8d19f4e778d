import type { Registry } from '../registry/registry.ts'
import {
  argumentsOf,
  type Call,
  endOfString,
  fromJson,
  isJson,
  type Kind,
  kindsOf,
  lineReader,
  Malformed,
  markOf,
  short,
  type TextSyntax,
  THOUGHT,
} from './syntax.ts'

const TOOL = '\u{1F6E0}\u{FE0F}'
const END = `${TOOL}\u{1F51A}`
/** The sign without its variation selector, which may be left out wherever it is read. */
const BARE = '\u{1F6E0}'

const HEADER = /^\u{1F6E0}\u{FE0F}? *([a-z][\w.-]*)(?=[ \t\r\n\u{1F6E0}]|$)/u
const SECTION = /^\u{1F6E0}\u{FE0F}? *([A-Za-z_]\w*):[ \t\r]*$/u
const ENDS_LINE = /\u{1F6E0}\u{FE0F}?\u{1F51A}[ \t\r]*\n?$/u
const MARKS = /\u{1F6E0}\u{FE0F}?(?:\u{1F51A}| *([a-z][\w.-]*)(?=[ \t\r\n\u{1F6E0}]|$))/gu
const IS_END = /^\u{1F6E0}\u{FE0F}?\u{1F51A}[ \t\r]*\n?$/u

/**
 * A call has a header with its short arguments, its long texts below that as they are, and an end, which is never left
 * out:
 *
 *     🛠️ write_file shop/rates.py
 *     RATE = 0.2
 *     🛠️🔚
 *
 * A header has the required arguments in their order, and others as `name=value`. A value is JSON if it has blanks or is
 * not a text. If a tool has several arguments of several lines, a line `🛠️ name:` begins each. In such a text, a
 * backslash behind a sign that would mean something makes it only a sign.
 */
export const emoji: TextSyntax = {
  name: 'emoji',
  rules:
    `A call begins at the beginning of a line with ${TOOL} and the name of the tool, and ends with ${END} at the end of ` +
    'the header or on a line of its own. In the header stand required arguments in their order, and others as ' +
    'name=value; what has blanks in it, and what is not a text, is JSON. An argument of several lines stands below the ' +
    `header as it is; where a tool has several such arguments, a line "${TOOL} name:" begins each. An empty line at its end ` +
    `gives it a last newline. At the beginning of its lines, and before \u{1F51A}, ${TOOL} is written ${TOOL}\\. ` +
    'Nothing else stands on the lines of a call, and no call in a fence runs.',

  renderCall(call, registry) {
    const { tool, args } = call
    const { inline, multiline, kindOf } = shapeOf(tool, registry)
    const given = argumentsOf(call, kindOf)
    const isBelow = ([name, value]: readonly [string, unknown]) =>
      multiline.includes(name) && typeof value === 'string'
    // If one is left out, those behind it are named: each would stand in the place of another.
    const missing = inline.findIndex(name => args[name] === undefined)
    const placed = missing < 0 ? inline : inline.slice(0, missing)
    const named = given.filter(one => !isBelow(one) && !placed.includes(one[0]))
    const words = [
      ...placed.map(name => word(args[name], kindOf(name))),
      ...named.map(([name, value]) => `${name}=${word(value, kindOf(name))}`),
    ]
    const below = given.filter(isBelow).flatMap(([name, value]) => {
      const lines = String(value).replace(MEANT, (_, sign: string) => `${sign}\\`)
      return multiline.length === 1 ? [lines] : [`${TOOL} ${name}:`, lines]
    })
    const header = [TOOL, tool, ...words].join(' ')
    return below.length === 0 ? `${header} ${END}` : [header, ...below, END].join('\n')
  },

  reader: registry =>
    lineReader(
      {
        begin(line) {
          const name = HEADER.exec(line)?.[1]
          if (name === undefined) return undefined
          // What is like the name of a tool may be one that is misspelt, with a text that quotes calls.
          const isProse = registry.find(name) === undefined && registry.nearest(name).length === 0
          return { endIn: endFinder(isProse), read: text => [callIn(text, registry)], endsSurely: true }
        },
        // The sign is in prose, too: only with the name of a tool, and as an end, it is a mark.
        markAt: line => markOf(line, MARKS, registry),
        quotedEnd: /\u{1F6E0}\u{FE0F}?\u{1F51A}(["'`])/u,
      },
      registry,
    ),
}

/** Where the sign would be read as one: at the beginning of a line, and before what makes an end of it. */
const MEANT = /((?<![^\n])\u{1F6E0}\u{FE0F}?|\u{1F6E0}\u{FE0F}?(?=\\*\u{1F51A}))/gu

const UNMEANT = /((?<![^\n])\u{1F6E0}\u{FE0F}?|\u{1F6E0}\u{FE0F}?(?=\\+\u{1F51A}))\\/gu

/**
 * The end stands at the end of the header, at the end of a text of one line, or on a line of its own. A line within a call
 * that looks like a header is counted, and has an end of its own. So a call that holds another one unescaped is malformed,
 * and neither of them runs. Prose that only looks like a header ends before the next one, and before the end of reasoning.
 */
function endFinder(isProse: boolean) {
  let depth = 0
  let sinceHeader = 0
  return (line: string) => {
    const thought = isProse && !ENDS_LINE.test(line) ? THOUGHT.exec(line) : null
    if (thought !== null) return thought.index
    if (!line.includes(BARE)) {
      sinceHeader++
      return undefined
    }
    const isHeader = HEADER.test(line)
    if (isHeader && isProse && depth > 0) return 0
    if (isHeader) depth++
    sinceHeader = isHeader ? 0 : sinceHeader + 1
    if (IS_END.test(line) || (sinceHeader <= 1 && ENDS_LINE.test(line))) depth--
    return depth === 0 ? line.length : undefined
  }
}

interface Shape {
  /** Arguments that stand in the header without their names, in this order. */
  readonly inline: readonly string[]
  readonly multiline: readonly string[]
  /** What an argument of this name is; undefined where the tool has none. */
  kindOf(name: string): Kind
}

function shapeOf(name: string, registry: Registry): Shape {
  const tool = registry.find(name)
  if (tool === undefined) return { inline: [], multiline: [], kindOf: () => 'data' }
  const { required = [] } = registry.schema(tool) as { readonly required?: readonly string[] }
  return {
    inline: required.filter(one => !tool.multiline.includes(one)),
    multiline: tool.multiline,
    kindOf: kindsOf(tool, registry),
  }
}

function callIn(text: string, registry: Registry): Call {
  const lines = text.replace(ENDS_LINE, '').replace(/\n$/, '').split('\n')
  const [header = '', ...below] = lines
  const [start, tool = ''] = HEADER.exec(header) ?? ['']
  // Its arguments are unknown, and it does not run.
  if (registry.find(tool) === undefined) return { tool, args: {} }
  const shape = shapeOf(tool, registry)
  const args = new Map<string, unknown>()
  const put = (name: string, value: unknown) => {
    if (args.has(name)) throw new Malformed(`${short(name)} is given twice.`)
    args.set(name, value)
  }
  putHeader(header.slice(start.length), shape, put)
  putBelow(below, shape, put, header.endsWith('\r'))
  return { tool, args: Object.fromEntries(args) }
}

type Put = (name: string, value: unknown) => void

function putHeader(header: string, { inline, kindOf }: Shape, put: Put): void {
  if (header.includes(BARE))
    throw new Malformed(`In a header, ${TOOL} stands only in JSON, as \\ud83d\\udee0.`)
  const words = wordsOf(header, kindOf)
  const placed = words.filter(({ name }) => name === undefined)
  for (const { name, value } of words) if (name !== undefined) put(name, valueIn(value, kindOf(name)))
  const [first, last] = [placed[0], placed.at(-1)]
  // A tool's only argument may have blanks: people type it so.
  if (inline[0] !== undefined && inline.length === 1 && first !== last && isUnbroken(words)) {
    const typed = header.slice(first?.from, last?.to)
    put(inline[0], kindOf(inline[0]) === 'text' ? typed : valueIn(typed, 'data'))
    return
  }
  for (const [index, { value }] of placed.entries()) {
    const name = inline[index]
    if (name === undefined)
      throw new Malformed(
        `"${short(value)}" is one word too many in the header: write name=value, and what has blanks in it as JSON.`,
      )
    put(name, valueIn(value, kindOf(name)))
  }
}

/** Whether the words without a name stand side by side. */
function isUnbroken(words: readonly Word[]): boolean {
  const changes = words.filter(
    (one, at) => at > 0 && (one.name === undefined) !== (words[at - 1]?.name === undefined),
  )
  return changes.length === 0 || (changes.length === 1 && words[0]?.name === undefined)
}

function putBelow(below: readonly string[], { multiline }: Shape, put: Put, isCrlf: boolean): void {
  let [name, lines]: [string | undefined, string[]] = [undefined, []]
  const done = () => {
    if (lines.length === 0 && name === undefined) return
    const target = name ?? (multiline.length === 1 ? multiline[0] : undefined)
    if (target !== undefined)
      put(
        target,
        lines
          .join('\n')
          .replace(isCrlf ? /\r$/ : '', '')
          .replace(UNMEANT, '$1'),
      )
    else if (lines.some(line => line.trim() !== ''))
      throw new Malformed(
        multiline.length === 0
          ? 'No argument of this tool stands below the header.'
          : `Below the header, begin each argument with a line "${TOOL} name:" (${multiline.join(', ')}).`,
      )
  }
  for (const line of below) {
    const section = line.startsWith(BARE) ? SECTION.exec(line)?.[1] : undefined
    if (section !== undefined) {
      done()
      ;[name, lines] = [section, []]
    } else if (/^\u{1F6E0}\u{FE0F}?(?!\u{FE0F}?\\)/u.test(line))
      throw new Malformed(`A line of its text begins with ${TOOL}; write ${TOOL}\\ there.`)
    else lines.push(line)
  }
  done()
}

interface Word {
  readonly name: string | undefined
  readonly value: string
  readonly from: number
  readonly to: number
}

/** The words of a header: blanks end one, but for those in a JSON text. */
function wordsOf(header: string, kindOf: Shape['kindOf']): Word[] {
  const words: Word[] = []
  const parts = /[^\s"]+|"|\s+/gu
  let from: number | undefined
  const done = (to: number) => {
    if (from === undefined) return
    const found = /^([A-Za-z_]\w*)=(?!=)/.exec(header.slice(from, to))?.[1]
    // Otherwise it belongs to a text, as in f(x, y=3).
    const name = found !== undefined && kindOf(found) !== undefined ? found : undefined
    words.push({
      name,
      value: header.slice(name === undefined ? from : from + name.length + 1, to),
      from,
      to,
    })
    from = undefined
  }
  for (let part = parts.exec(header); part !== null; part = parts.exec(header)) {
    if (/^\s/.test(part[0])) done(part.index)
    else from ??= part.index
    if (part[0] !== '"') continue
    parts.lastIndex = endOfString(header, '"', parts.lastIndex)
    if (parts.lastIndex < 0) throw new Malformed('A quote in the header is not closed.')
  }
  done(header.length)
  return words
}

const isQuoted = (value: string, kind: Kind) => (kind === 'text' ? value.startsWith('"') : isJson(value))

const valueIn = (value: string, kind: Kind): unknown =>
  isQuoted(value, kind) ? fromJson(value, `${short(value)} is no JSON`) : value

/** A text that reads back as itself stands as it is; all else is JSON. */
function word(value: unknown, kind: Kind): string {
  const isPlain = typeof value === 'string' && /^[^\s"=][^\s"]*$/u.test(value) && !isQuoted(value, kind)
  if (isPlain && !/^\w+=|\u{1F6E0}/u.test(value)) return value
  return JSON.stringify(value).replaceAll(BARE, '\\ud83d\\udee0')
}
