import type { Registry } from '../registry/registry.ts'
import {
  argumentsOf,
  type Begun,
  type Call,
  fromJson,
  isJson,
  kindsOf,
  lineReader,
  Malformed,
  NOT_ENDED,
  noCall,
  short,
  type TextSyntax,
} from './syntax.ts'

const OPEN = '<tool_call>'
const CLOSE = '</tool_call>'
const BEGINS = /^<tool_call>\s*(?:<function=|$)/
const NO_FUNCTION = `Behind ${OPEN}, <function=name> has to follow.`
const NO_OPEN = `A call has to begin with ${OPEN} at the beginning of a line.`

/**
 * A call between marks, with each argument as it is between marks of its own, as Qwen3-Coder and the models after it write
 * it. Only a mark that begins a line ends a value, so that code which has one within a line needs no escape:
 *
 *     <tool_call>
 *     <function=inspect>
 *     <parameter=expr>
 *     orders[0]
 *     </parameter>
 *     </function>
 *     </tool_call>
 */
export const qwen3Xml: TextSyntax = {
  name: 'qwen3-xml',
  rules:
    `A call begins at the beginning of a line with ${OPEN} and <function=name>, and ends with </function> and ${CLOSE}, ` +
    'each on a line of its own. Between them, each argument is written as <parameter=name>, a line end, its value, a line ' +
    'end, and </parameter>. A text is written as it is, with all its lines, and what is not a text as JSON. A line of a value ' +
    'that begins with one of these marks has \\ before it. Several calls follow each other, each between marks of its own. ' +
    'Nothing else is on their lines, and no call in a fence runs.',

  renderCall(call, registry) {
    const tool = registry.find(call.tool)
    const kindOf = tool === undefined ? () => 'data' as const : kindsOf(tool, registry)
    const lines = argumentsOf(call, kindOf).flatMap(([name, value]) => {
      const text = kindOf(name) === 'text' ? String(value).replace(TAGGED, '\\$&') : JSON.stringify(value)
      return [`<parameter=${name}>`, text, END_VALUE]
    })
    return [OPEN, `<function=${call.tool}>`, ...lines, END_FUNCTION, CLOSE].join('\n')
  },

  reader: registry =>
    lineReader(
      {
        begin(line) {
          if (!line.startsWith(OPEN)) return undefined
          return BEGINS.test(line) ? callReader(registry) : noCall(NO_FUNCTION)
        },
        markAt: line => line.search(/<\/?tool_call>|<function=/),
        // What its value quotes is refused with it.
        stray: text => (text.startsWith('<function=') ? callReader(registry, NO_OPEN) : undefined),
        quotedEnd: /^<\/tool_call>(["'`])/,
      },
      registry,
    ),
}

/** What in a text would be read as a mark, and what has a backslash before it already. */
const TAGGED = /(?<![^\n])\\*<(?:\/?tool_call>|\/?function[=>]|\/?parameter[=>])/g
const TAG_LINE = /^(\\*)<(?:\/?tool_call>|\/?function[=>]|\/?parameter[=>])/
const ANY_TAG = /<(?:\/?tool_call>|\/?function[=>]|\/?parameter[=>])/

const FUNCTION = /<function=([A-Za-z_][\w.-]*)>/y
const PARAMETER = /<parameter=([A-Za-z_]\w*)>/y
const END_VALUE = '</parameter>'
const END_FUNCTION = '</function>'
const NO_PARAMETER = `In a function, there is nothing but <parameter=name>, values, ${END_VALUE} and ${END_FUNCTION}.`
const NO_CLOSE = `${CLOSE} is missing behind ${END_FUNCTION}.`
const BLANK = /\s*/y

/** Reads one call, a line at a time. `refused`: why it is none, for any content. */
function callReader(registry: Registry, refused?: string): Begun {
  let state: 'mark' | 'tool' | 'function' | 'value' | 'end' | 'broken' =
    refused === undefined ? 'mark' : 'tool'
  let isFirst = true
  let why = refused
  let endsSurely = true
  let tool = ''
  let name = ''
  let lines: string[] = []
  const values: { readonly name: string; readonly text: string }[] = []

  /** From here on, no reading is certain. It goes on to an end mark, or to the next call. */
  function broken(line: string, from: number, reason: string): number | undefined {
    why ??= reason
    endsSurely = false
    state = 'broken'
    const end = line.indexOf(CLOSE, from)
    return end < 0 ? undefined : end + CLOSE.length
  }

  function matched(pattern: RegExp, line: string, from: number): string | undefined {
    pattern.lastIndex = from
    return pattern.exec(line)?.[1]
  }

  /** Returns the index behind a value that is within this line; undefined if it goes on, or is broken. */
  function valueIn(line: string, from: number): number | undefined {
    const end = line.indexOf(END_VALUE, from)
    if (end < 0) {
      const begun = line.slice(from).replace(/\n$/, '')
      lines = begun.trim() === '' ? [] : [begun]
      state = 'value'
      return undefined
    }
    values.push({ name, text: line.slice(from, end) })
    return end + END_VALUE.length
  }

  /** The marks in a line, from its beginning. */
  function marks(line: string): number | undefined {
    let from = 0
    for (;;) {
      BLANK.lastIndex = from
      from += BLANK.exec(line)?.[0].length ?? 0
      if (from === line.length) return undefined
      if (state !== 'value' && line.startsWith(CLOSE, from)) {
        if (state !== 'end') why ??= state === 'function' ? `${END_FUNCTION} is missing in it.` : NO_FUNCTION
        return from + CLOSE.length
      }
      if (state === 'mark') {
        state = 'tool'
        from += OPEN.length
      } else if (state === 'tool') {
        const found = matched(FUNCTION, line, from)
        if (found === undefined && line.startsWith('<function', from)) return broken(line, from, NO_FUNCTION)
        if (found === undefined) {
          why ??= NO_FUNCTION
          return 0
        }
        tool = found
        state = 'function'
        from = FUNCTION.lastIndex
      } else if (state === 'function' && line.startsWith(END_FUNCTION, from)) {
        from += END_FUNCTION.length
        if (refused !== undefined) return from
        state = 'end'
      } else if (state === 'function') {
        const found = matched(PARAMETER, line, from)
        if (found === undefined) return broken(line, from, NO_PARAMETER)
        name = found
        const end = valueIn(line, PARAMETER.lastIndex)
        if (end === undefined) return undefined
        from = end
        if (ANY_TAG.test(values.at(-1)?.text ?? '')) return broken(line, from, TAG_IN(name))
      } else if (state === 'value' && line.startsWith(END_VALUE, from)) {
        values.push({ name, text: lines.join('\n') })
        state = 'function'
        from += END_VALUE.length
      } else return broken(line, from, state === 'value' ? TAG_IN(name) : NO_CLOSE)
    }
  }

  return {
    endIn(line) {
      const isNext = !isFirst && line.startsWith(OPEN)
      isFirst = false
      const slashes = state === 'value' ? TAG_LINE.exec(line)?.[1] : ''
      if (slashes !== '') {
        lines.push(line.slice(slashes === undefined ? 0 : 1).replace(/\n$/, ''))
        return undefined
      }
      if (isNext) {
        why ??= state === 'value' ? TAG_IN(name) : NOT_ENDED
        endsSurely &&= state !== 'value'
        return 0
      }
      return state === 'broken' ? broken(line, 0, '') : marks(line)
    },
    read() {
      if (why !== undefined) throw new Malformed(why, endsSurely)
      return [callOf(tool, values, registry)]
    },
  }
}

const TAG_IN = (name: string) =>
  `A mark is in ${short(name)}: its value ends with ${END_VALUE} on a line of its own, and a line in it that begins with a ` +
  'mark has \\ before it.'

/** Values by the schema of the tool. What is written as no JSON is a text, which the tool may refuse. */
function callOf(name: string, values: readonly { name: string; text: string }[], registry: Registry): Call {
  const tool = registry.find(name)
  // Its arguments are unknown, and it does not run.
  if (tool === undefined) return { tool: name, args: {} }
  const kindOf = kindsOf(tool, registry)
  const args = new Map<string, unknown>()
  for (const { name: called, text } of values) {
    const kind = kindOf(called)
    if (kind === undefined) throw new Malformed(`${name} has no argument ${short(called)}.`, true)
    if (args.has(called)) throw new Malformed(`${short(called)} is given twice.`, true)
    // The first templates of Qwen3-Coder showed these words to the model.
    const data = text
      .trim()
      .replace(/^(?:True|False)$/, word => word.toLowerCase())
      .replace(/^None$/, 'null')
    const isText = kind === 'text' || !isJson(data)
    args.set(called, isText ? text : fromJson(data, `${short(data)} is no JSON`, true))
  }
  return { tool: name, args: Object.fromEntries(args) }
}
