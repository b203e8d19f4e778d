import { z } from 'zod'
import type { Of } from '../wire/kernel.ts'
import { ENTRY_KINDS, type FileInfo, type SeenFile, TEXT_ENCODINGS } from './contract.ts'
import { defineTool } from './define.ts'
import { minute } from './folders.ts'
import { linesOf, NEWLINES, type Newline, newlineWord, unspelled } from './newlines.ts'
import { type Failed, failed, type Outcome, ok } from './outcome.ts'
import { LOOKS_AT_PATH, OF_LOOK, PATH } from './parameters.ts'
import { encodingWord, isText, nothingThere, notText } from './rewrite.ts'
import { counted, oneLine } from './text.ts'
import { beginningWithin, PAGE_TOKENS, tokensAtMost } from './tokens.ts'

const MOST_LINES = 2_000

/** Both counted from 1. `column` is there where a line was cut. */
const place = z.object({ from: z.number(), column: z.number().exactOptional() })
type Place = Of<typeof place>

/** What `read_file` answers with. */
export const fileRead = z.object({
  /** From the project's root. */
  path: z.string(),
  /** Lines end with LF where all lines of the file end alike; otherwise as they stand there. */
  text: z.string(),
  encoding: z.enum(TEXT_ENCODINGS),
  /** How they end in the file. */
  newline: z.enum(NEWLINES),
  /** Of the whole file. */
  lines: z.number(),
  bytes: z.number(),
  first_line: z.number(),
  /** Whether the file goes on after `text`. */
  truncated: z.boolean(),
  /** The arguments that read on; null at the end. */
  next: place.nullable(),
})
export type ReadFile = Of<typeof fileRead>

/** The parameters that say which part of a text is read. */
export const PART = {
  from: z.int().min(1).default(1).describe('The line to begin at, counted from 1.'),
  limit: z.int().min(1).max(MOST_LINES).default(MOST_LINES).describe('How many lines to read at most.'),
  column: z
    .int()
    .min(1)
    .default(1)
    .describe('Where in that line to begin, counted from 1: to read on in a line that was cut.'),
}

export const readFile = defineTool({
  name: 'read_file',
  description:
    'Read a text file of the project, or a part of one. The answer says where it was cut and how to read on; ' +
    'its text can be passed to edit_file as it is. For what the running program has loaded use ' +
    'symbol_definition. Runs no code.',
  parameters: { path: PATH, ...PART },
  parameterAliases: { line: 'from' },
  result: fileRead,
  ...LOOKS_AT_PATH,
  examples: [
    { args: { path: 'shop/orders.py' }, shows: 'a whole file' },
    { args: { path: 'shop/orders.py', from: 120, limit: 40 }, shows: 'forty lines of it' },
  ],

  async handler({ path, ...part }, { files }) {
    const file = await files.look(path)
    if (file.type === 'failed') return file
    if (!file.exists) return nothingThere(file)
    if (!isText(file)) return notText(file)
    return readPart(file, part)
  },

  show: showFile,
})

interface Part {
  readonly from: number
  readonly limit: number
  readonly column: number
}

/** A part of a file, as much as an answer holds. */
export function readPart(file: SeenFile & { readonly text: string }, part: Part): Outcome<ReadFile> {
  const { newline } = file
  const lines = linesOf(unspelled(file.text, newline))
  const { from: first_line } = part
  if (first_line > Math.max(1, lines.length)) return pastTheEnd(file, lines.length)
  const { text, next } = taken(lines, part)
  return ok<ReadFile>({
    path: file.shown,
    text,
    encoding: file.encoding,
    newline,
    lines: lines.length,
    bytes: file.bytes,
    first_line,
    truncated: next !== null,
    next,
  })
}

/** As many whole lines as fit; of a line that is longer than an answer, as much as fits. */
function taken(
  lines: readonly string[],
  { from, limit, column }: Part,
): { text: string; next: Place | null } {
  const first = (lines[from - 1] ?? '').slice(column - 1)
  const fits = beginningWithin(first, PAGE_TOKENS)
  if (fits.length < first.length) return { text: fits, next: { from, column: column + fits.length } }
  let text = first
  let left = PAGE_TOKENS - tokensAtMost(first)
  let at = from
  for (; at < lines.length && at < from - 1 + limit; at++) {
    const line = lines[at] ?? ''
    left -= tokensAtMost(line, left)
    if (left < 0) break
    text += line
  }
  return { text, next: at < lines.length ? { from: at + 1 } : null }
}

function pastTheEnd({ shown }: SeenFile, lines: number): Failed {
  return failed('invalid_args', {
    message: `${oneLine(shown)} has ${lines} lines, so that there is nothing to read after them.`,
    details: { parameter: 'from', lines },
    next: `Give a from of ${Math.max(1, lines)} at most.`,
  })
}

/** A heading, and then the text as it is: without line numbers, so that it can be passed on to `edit_file`. */
export function showFile({ path, text, encoding, newline, lines, first_line, next }: ReadFile): string {
  const last = first_line + Math.max(1, linesOf(text).length) - 1
  const part = lines === 0 ? 'empty' : `lines ${first_line} to ${last} of ${lines}`
  const facts = [part, encodingWord(encoding), newlineFact(newline), unended(text, next)]
  const more = next === null ? [] : [`for more: ${argumentsOf(next)}`]
  const heading = `${oneLine(path)}: ${[...facts.filter(fact => fact !== null), ...more].join('; ')}`
  return text === '' ? heading : `${heading}\n${text.replace(/\n$/, '')}`
}

function newlineFact(newline: Newline): string | null {
  if (newline === '\n' || newline === 'none') return null
  return newline === 'mixed' ? `lines end ${newlineWord(newline)}` : `lines end with ${newlineWord(newline)}`
}

function unended(text: string, next: Place | null): string | null {
  return next === null && text !== '' && !text.endsWith('\n') ? 'no line end after the last line' : null
}

function argumentsOf({ from, column }: Place): string {
  return column === undefined ? `from ${from}` : `from ${from}, column ${column}`
}

/** What `get_file_info` answers with. */
const fileFacts = z.object({
  /** From the project's root; links are resolved. */
  path: z.string(),
  /** Absolute. */
  real_path: z.string(),
  kind: z.enum(ENTRY_KINDS),
  /** Of a file; null otherwise. */
  bytes: z.number().nullable(),
  /** Permissions in octal digits, as in `chmod`. */
  mode: z.string(),
  /** When its content last changed, in UTC. */
  modified: z.string(),
  /** Of a file that is text and not too large to be looked at; null otherwise, as are the next two. */
  encoding: z.enum(TEXT_ENCODINGS).nullable(),
  newline: z.enum(NEWLINES).nullable(),
  lines: z.number().nullable(),
  /** Names in a folder; null otherwise, and where they are too many to be counted in time. */
  names: z.number().nullable(),
  ignored: z.boolean(),
  /** The line that leaves it out: `.gitignore:3: *.log`. */
  ignored_by: z.string().nullable(),
  /** Whether tools can change its text, with approval. */
  editable: z.boolean(),
  not_editable_because: z.string().nullable(),
  notes: z.array(z.string()),
})
type FileFacts = Of<typeof fileFacts>

export const getFileInfo = defineTool({
  name: 'get_file_info',
  description:
    'Tell about one file or folder of the project without its content: kind, size, permissions, time of the ' +
    'last change, encoding, line ends, number of lines, whether an ignore file leaves it out, and whether ' +
    'tools can edit it. Pipes, sockets and devices are not opened. Runs no code.',
  parameters: {
    path: PATH.describe('The file or folder; a relative path is one from the root of the project.'),
  },
  ...LOOKS_AT_PATH,
  result: fileFacts,
  examples: [{ args: { path: 'shop/orders.py' }, shows: 'what kind of text a file holds' }],

  async handler({ path }, { files, signal, lookMs }) {
    const info = await files.info(path, { signal, ms: lookMs * OF_LOOK })
    return info.type === 'failed' ? info : ok(factsOf(info))
  },

  show: showFacts,
})

function factsOf(info: FileInfo): FileFacts {
  const { shown, path, kind, bytes, mode, changedMs, content, names, ignoredBy, unchangeable } = info
  return {
    path: shown,
    real_path: path,
    kind,
    bytes,
    mode: mode.toString(8).padStart(3, '0'),
    modified: new Date(changedMs).toISOString(),
    encoding: content?.encoding ?? null,
    newline: content?.newline ?? null,
    lines: content?.lines ?? null,
    names,
    ignored: ignoredBy !== null,
    ignored_by: ignoredBy,
    editable: unchangeable === null,
    not_editable_because: unchangeable,
    notes: info.remarks,
  }
}

function showFacts(facts: FileFacts): string {
  const { path, kind, bytes, mode, modified, names, ignored_by, not_editable_because, notes } = facts
  const size = bytes === null ? [] : [counted(bytes, 'byte')]
  const inside = names === null ? [] : [counted(names, 'name')]
  const first = [
    kind,
    ...size,
    ...inside,
    ...contentFacts(facts),
    `mode ${mode}`,
    `changed ${minute(Date.parse(modified))} UTC`,
  ]
  return [
    `${oneLine(path)}: ${first.join('; ')}`,
    ...(ignored_by === null ? [] : [`ignored: ${oneLine(ignored_by)}`]),
    ...(not_editable_because === null ? [] : [`not editable: ${not_editable_because}`]),
    ...notes,
  ].join('\n')
}

function contentFacts({ encoding, newline, lines }: FileFacts): string[] {
  if (encoding === null || newline === null || lines === null) return []
  const ends = newline === 'none' ? 'no line end' : `lines end with ${newlineWord(newline)}`
  return [encodingWord(encoding) ?? 'UTF-8', counted(lines, 'line'), ends]
}

/** What `get_project_root` answers with. */
const projectRoot = z.object({
  /** Absolute, links resolved. Relative paths count from here. */
  root: z.string(),
  /** Folders besides it that the user let tools work in. */
  further_roots: z.array(z.string()),
})
type ProjectRoot = Of<typeof projectRoot>

export const getProjectRoot = defineTool({
  name: 'get_project_root',
  description:
    'Tell the folder from which relative paths count, and the other folders that file tools may work in. ' +
    'Runs no code.',
  parameters: {},
  level: 'safe',
  profile: 'full',
  categories: ['files'],
  needs: [],
  result: projectRoot,
  examples: [{ args: {}, shows: 'where relative paths begin' }],

  async handler(_, { files }) {
    const roots = await files.roots()
    if (roots.type === 'failed') return roots
    return ok<ProjectRoot>({ root: roots.root, further_roots: roots.further })
  },

  show: showRoots,
})

function showRoots({ root, further_roots }: ProjectRoot): string {
  return [oneLine(root), ...further_roots.map(each => `also: ${oneLine(each)}`)].join('\n')
}
