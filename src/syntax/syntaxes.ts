import { checkDescription } from '../../tools/define.ts'
import { isRecord } from '../../tools/record.ts'
import { type Described, parameters } from '../registry/descriptions.ts'
import type { Registry } from '../registry/registry.ts'
import { emoji } from './emoji.ts'
import { pythonic } from './pythonic.ts'
import { qwen3Xml } from './qwen3-xml.ts'
import {
  type Call,
  fromJson,
  lineReader,
  Malformed,
  NOT_ENDED,
  noCall,
  outsideStrings,
  type Piece,
  type SyntaxName,
  type TextSyntax,
} from './syntax.ts'

const OPEN = '<tool_call>'
const CLOSE = '</tool_call>'
/** Anything else behind the mark begins no call. */
const BEGINS = /^<tool_call>\s*(?:\{|$)/
const NO_OBJECT = `Behind ${OPEN}, one object with "name", a text, and "arguments" has to follow.`
/** From brace to brace: in a text that was not escaped, no end mark can be there. */
const ONE_LINE = /^<tool_call>\s*\{(?:(?!<\/?tool_call>).)*\}\s*<\/tool_call>$/

/** One JSON object with `name` and `arguments` between marks, as models of Hermes and Qwen write it. */
const hermes: TextSyntax = {
  name: 'hermes',
  rules:
    `A call is one JSON object with "name" and "arguments" between ${OPEN}, which begins a line, and ${CLOSE}. Several ` +
    'calls follow each other, each between marks of its own. Nothing else stands on their lines, and no call in a fence runs.',
  // Other readers look for the end mark inside strings, too, and must not find one there.
  renderCall: ({ tool, args }) =>
    `${OPEN}\n${JSON.stringify({ name: tool, arguments: args }).replaceAll('</', '<\\/')}\n${CLOSE}`,
  reader: registry =>
    lineReader(
      {
        begin(line) {
          if (!line.startsWith(OPEN)) return undefined
          return BEGINS.test(line)
            ? { endIn: hermesEnd(), read: text => [hermesCall(text)] }
            : noCall(NO_OBJECT)
        },
        markAt: line => line.search(/<\/?tool_call>/),
        quotedEnd: /<\/tool_call>(["'`])/,
      },
      registry,
    ),
}

/** Behind the end mark, or before the next call: no text in JSON has a line end, so that mark can be in none. */
function hermesEnd() {
  const endIn = outsideStrings(/"|<\/tool_call>/g, () => true)
  let isFirst = true
  let isEmpty = true
  return (line: string) => {
    if (!isFirst && BEGINS.test(line)) return 0
    const written = isFirst ? line.slice(OPEN.length) : line
    isFirst = false
    // The mark alone is no call, and takes none with it.
    if (isEmpty && !/^\s*(?:\{|<\/tool_call>|$)/.test(written)) return 0
    isEmpty &&= written.trim() === ''
    return endIn(line)
  }
}

function hermesCall(text: string): Call {
  const json = text.slice(OPEN.length).replace(/<\/tool_call>$/, '')
  if (json.trim() === '') throw new Malformed(NO_OBJECT, true)
  const read = fromJson(json, 'It is no JSON', ONE_LINE.test(text))
  // A text that was not escaped can make it whole over several lines, and quote what follows.
  if (!text.endsWith(CLOSE)) throw new Malformed(NOT_ENDED, !/[\r\n]/.test(json.trim()))
  if (!isRecord(read) || typeof read.name !== 'string') throw new Malformed(NO_OBJECT, true)
  const { name, arguments: given = {}, ...others } = read
  const [other] = Object.keys(others)
  if (other !== undefined)
    throw new Malformed(`"${other.slice(0, 40)}" is neither "name" nor "arguments".`, true)
  // Servers that speak to models by OpenAI's format have shown them such a text.
  const args = typeof given === 'string' ? fromJson(given, 'Its "arguments" are no JSON', true) : given
  if (!isRecord(args)) throw new Malformed('Its "arguments" are no object.', true)
  return { tool: name, args }
}

/** All syntaxes, each by its name. */
export const SYNTAXES: Readonly<Record<SyntaxName, TextSyntax>> = {
  emoji,
  hermes,
  pythonic,
  'qwen3-xml': qwen3Xml,
}

interface Parsed {
  /** The text before the first call, or before what was meant as one. */
  readonly message: string
  readonly pieces: readonly Piece[]
}

/** Reads a whole text. */
export function parse(
  text: string,
  { syntax, registry }: { syntax: TextSyntax; registry: Registry },
): Parsed {
  const reader = syntax.reader(registry)
  const pieces = [...reader.push(text), ...reader.end()]
  const first = pieces.findIndex(({ type }) => type === 'call' || type === 'bad')
  const before = first < 0 ? pieces : pieces.slice(0, first)
  return { message: before.map(piece => (piece.type === 'text' ? piece.text : '')).join(''), pieces }
}

/**
 * What a call returned, or why it did not run, for a message to the model, as models of Hermes and Qwen were trained. No text
 * in it ends it, or is a mark of a chat template.
 */
export const renderResult = (text: string): string =>
  `<tool_response>\n${text.replaceAll(/<(?=\/?tool_response>|[|\uff5c][^|\uff5c\s]{1,40}[|\uff5c]>)/g, '<\\')}\n</tool_response>`

interface DocumentRequest {
  readonly syntax: TextSyntax
  readonly registry: Registry
  /** Values for placeholders, which are filled once all is written. */
  readonly facts?: Readonly<Record<string, string>>
}

/** The rules of a syntax and tools in it: what each is for, its arguments, how a call looks, and examples. */
export function documentation(tools: readonly Described[], request: DocumentRequest): string {
  return [request.syntax.rules, ...tools.map(tool => documented(tool, request))].join('\n\n')
}

function documented({ tool, schema }: Described, { syntax, registry, facts = {} }: DocumentRequest): string {
  const known = parameters(schema)
  const render = (args: Call['args']) => syntax.renderCall({ tool: tool.name, args }, registry)
  const places = known.map(({ name, required }) => [name, required ? `<${name}>` : `[${name}]`])
  const text = [
    `# ${tool.name}`,
    tool.description,
    ...(known.length === 0
      ? []
      : [
          '',
          'Arguments:',
          ...known.map(({ name, type, description }) => `- ${name}: ${type}. ${description}`),
        ]),
    '',
    // A placeholder stands for a value of any type, so it has no quotes.
    'Usage:',
    render(Object.fromEntries(places)).replace(/"([<[]\w+[>\]])"/g, '$1'),
    '',
    'Examples:',
    ...tool.examples.flatMap(({ args, shows }) => [`- ${shows}:`, render(args)]),
  ].join('\n')
  // What is filled in hides nothing from its reader.
  for (const fact of Object.values(facts)) if (fact !== '') checkDescription(tool.name, fact)
  return tool.finalizeDocumentation(text, facts)
}
