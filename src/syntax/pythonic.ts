import {
  argumentsOf,
  type Call,
  endOfString,
  fromJson,
  lineReader,
  Malformed,
  markOf,
  outsideStrings,
  short,
  type TextSyntax,
} from './syntax.ts'

/** The beginning of a list of calls: behind the bracket stands what can begin an argument. A link in Markdown is no call. */
const LIST = /^\[[ \t]*[A-Za-z_][\w.-]*\((?=\s*(?:\)|["'[{\d-]|[A-Za-z_]\w*(?:\s*=|$)|$))/
/** The first of the two marks that LFM and Llama 4 put around a list. */
const START = /^<\|(tool_call|python)_start\|>/
const MARKS = /<\|(?:tool_call|python)_(?:start|end)\|>|\[[ \t]*([A-Za-z_][\w.-]*)\(/g
const LIST_MARKS = /"""|'''|["'[\](){}]/g
const END_MARKS = /"""|'''|["']|<\|(?:tool_call|python)_end\|>/g

/**
 * A list of calls in Python's syntax, with named arguments that are literals: `[inspect(expr="orders[0]")]`. Llama
 * and LFM write it. LFM puts marks around it, and its text may go on behind them. A string may hold line ends.
 */
export const pythonic: TextSyntax = {
  name: 'pythonic',
  rules:
    'Calls are a list in the syntax of Python that begins at the beginning of a line, such as [first(name="value", ' +
    'count=2), second()]. All arguments are named and are literals: texts, numbers, True, False, None, lists, and dicts ' +
    'with texts for keys. Nothing else stands on its lines, and no call in a fence runs.',

  renderCall: call =>
    `[${call.tool}(${argumentsOf(call)
      .map(([name, value]) => `${name}=${literal(value)}`)
      .join(', ')})]`,

  reader: registry =>
    lineReader(
      {
        begin(line) {
          if (START.test(line))
            return {
              endIn: outsideStrings(END_MARKS, () => true),
              read: text => callsIn(text.replace(START, '').replace(/<\|(?:tool_call|python)_end\|>$/, '')),
              textBehind: true,
            }
          if (!LIST.test(line)) return undefined
          let depth = 0
          const isEnd = (mark: string) => {
            depth += '[({'.includes(mark) ? 1 : -1
            return depth === 0
          }
          return { endIn: outsideStrings(LIST_MARKS, isEnd), read: callsIn }
        },
        // A bracket is a mark only before the name of a tool.
        markAt: line => markOf(line, MARKS, registry),
        quotedEnd: /(?:\)\s*\]|_end\|>)(["'`])/,
      },
      registry,
    ),
}

/** Any value as Python writes it. A string in JSON is one in Python, too. */
function literal(value: unknown): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (typeof value === 'object')
    return `{${Object.entries(value)
      .map(([key, one]) => `${JSON.stringify(key)}: ${literal(one)}`)
      .join(', ')}}`
  return JSON.stringify(value)
}

interface Token {
  readonly source: string
  /** The same in JSON; undefined for what can be no part of a value. */
  readonly json: string | undefined
  readonly isWord: boolean
}

const TOKEN =
  /(?<string>"""|'''|["'])|(?<number>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?<word>[A-Za-z_][\w.-]*)|(?<mark>[[\]{}:,])|[()=]/y

/** Python's words for these, and JSON's, which models write as well. */
const WORDS: Readonly<Record<string, string>> = {
  True: 'true',
  False: 'false',
  None: 'null',
  true: 'true',
  false: 'false',
  null: 'null',
}

function* tokensOf(text: string): Generator<Token> {
  const blanks = /\s*/y
  let at = 0
  for (;;) {
    blanks.lastIndex = at
    blanks.test(text)
    TOKEN.lastIndex = at = blanks.lastIndex
    if (at === text.length) return
    const { 0: source, groups: { string, number, word, mark } = {} } = TOKEN.exec(text) ?? { 0: '' }
    if (source === '')
      throw new Malformed(`${JSON.stringify(text.slice(at, at + 20))} is no literal of Python.`)
    const from = at + source.length
    at = string === undefined ? from : endOfString(text, string, from)
    if (at < 0) throw new Malformed('A text in it is not closed.')
    const json =
      string === undefined
        ? (number ?? mark ?? (word !== undefined && Object.hasOwn(WORDS, word) ? WORDS[word] : undefined))
        : string === '"' && !NO_JSON.test(text.slice(from, at - 1))
          ? text.slice(from - 1, at)
          : JSON.stringify(unescaped(text.slice(from, at - string.length)))
    yield { source, json, isWord: word !== undefined }
  }
}

/** What a string of JSON cannot hold, and escapes that JSON reads otherwise than Python. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const NO_JSON = /[\0-\x1f]|\\[^"\\bfnrtu]/

const ESCAPED = /\\(?:[0-7]{1,3}|x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|\r\n|[\s\S])/g
const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
  v: '\v',
  a: '\x07',
  '\\': '\\',
  '"': '"',
  "'": "'",
  '\n': '',
  '\r\n': '',
}

/** Escapes as Python reads them. One that Python does not know stays as it is. */
function unescaped(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(ESCAPED, escaped => {
    const rest = escaped.slice(1)
    const code = /^[0-7]/.test(rest) ? Number.parseInt(rest, 8) : Number.parseInt(rest.slice(1), 16)
    if (/^(?:[0-7]|[xuU].)/.test(rest) && code <= 0x10ffff) return String.fromCodePoint(code)
    if (/^[xuUN]/.test(rest)) throw new Malformed(`${escaped} is no escape of Python.`)
    return ESCAPES[rest] ?? escaped
  })
}

function callsIn(text: string): Call[] {
  const tokens = tokensOf(text)
  let token = tokens.next().value
  const next = () => {
    const taken = token
    token = tokens.next().value
    return taken
  }
  const take = (source: string) => {
    if (token?.source !== source)
      throw new Malformed(
        `"${source}" is wanted where ${token === undefined ? 'it ends' : `"${short(token.source)}" stands`}.`,
      )
    next()
  }
  const wordBefore = (source: string) => {
    const taken = next()
    if (taken?.isWord !== true || token?.source !== source)
      throw new Malformed('Every argument needs a name: write tool(name=value).')
    next()
    return taken.source
  }

  /** What stands between two commas. It is read as JSON, which refuses what is not one value. */
  function value(name: string): unknown {
    const parts: string[] = []
    for (let depth = 0; token !== undefined; next()) {
      const { source, json } = token
      if (depth === 0 && (source === ',' || source === ')')) break
      if (json === undefined)
        throw new Malformed(`${short(name)} is no literal: "${short(source)}" is in it.`)
      if (source === '[' || source === '{') depth++
      if (source === ']' || source === '}') {
        depth--
        // Python lets a last comma stand.
        if (parts.at(-1) === ',' && !['[', '{'].includes(parts.at(-2) ?? '[')) parts.pop()
      }
      parts.push(json)
    }
    return fromJson(parts.join(' '), `${short(name)} is no literal`)
  }

  function call(): Call {
    const tool = wordBefore('(')
    const args = new Map<string, unknown>()
    while (token?.source !== ')') {
      const name = wordBefore('=')
      if (args.has(name)) throw new Malformed(`${short(name)} is given twice.`)
      args.set(name, value(name))
      if (token?.source !== ')') take(',')
    }
    next()
    return { tool, args: Object.fromEntries(args) }
  }

  take('[')
  const calls = [call()]
  while (token?.source === ',') {
    next()
    if (token?.source !== ']') calls.push(call())
  }
  take(']')
  if (token !== undefined) throw new Malformed(`"${short(token.source)}" stands behind the list.`)
  return calls
}
