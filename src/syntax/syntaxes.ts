import { checkDescription, isRecord } from '../../tools/define.ts'
import { type Described, parameters } from '../registry/descriptions.ts'
import type { Registry } from '../registry/registry.ts'
import { emoji } from './emoji.ts'
import { pythonic } from './pythonic.ts'
import {
  type Call,
  fromJson,
  lineReader,
  Malformed,
  outsideStrings,
  type Piece,
  type SyntaxName,
  type TextSyntax,
} from './syntax.ts'

const OPEN = '<tool_call>'
const CLOSE = '</tool_call>'
const HERMES_MARKS = /"|<\/tool_call>/g

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
      line =>
        line.startsWith(OPEN)
          ? { endIn: outsideStrings(HERMES_MARKS, () => true), read: text => [hermesCall(text)] }
          : undefined,
      registry,
    ),
}

function hermesCall(text: string): Call {
  const read = fromJson(text.slice(OPEN.length, -CLOSE.length), 'It is no JSON')
  if (!isRecord(read) || typeof read.name !== 'string' || !isRecord(read.arguments))
    throw new Malformed('It has to be one object with "name", a text, and "arguments", an object.')
  const other = Object.keys(read).find(key => key !== 'name' && key !== 'arguments')
  if (other !== undefined) throw new Malformed(`"${other.slice(0, 40)}" is neither "name" nor "arguments".`)
  return { tool: read.name, args: read.arguments }
}

/** All syntaxes, each by its name. */
export const SYNTAXES: Readonly<Record<SyntaxName, TextSyntax>> = { emoji, hermes, pythonic }

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
  const first = pieces.findIndex(({ type }) => type !== 'text')
  const before = first < 0 ? pieces : pieces.slice(0, first)
  return { message: before.map(piece => (piece.type === 'text' ? piece.text : '')).join(''), pieces }
}

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
  const filled = tool.finalizeDocumentation(text, facts)
  checkFilled(tool.name, { filled, text })
  return filled
}

/** Refuses what hides something from its reader in lines that were filled. The emoji's variation selector is allowed. */
function checkFilled(tool: string, { filled, text }: { filled: string; text: string }): void {
  const written = new Set(text.split('\n'))
  for (const line of filled.split('\n'))
    if (!written.has(line) && line.trim() !== '')
      checkDescription(tool, line.replaceAll('\u{1F6E0}\u{FE0F}', ''))
}
