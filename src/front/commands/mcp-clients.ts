import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  applyEdits,
  type Edit,
  type FormattingOptions,
  findNodeAtLocation,
  getNodeValue,
  modify,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser'
import { parse, stringify } from 'smol-toml'
import { z } from 'zod'
import { messageOf } from '../../../wire/errors.ts'
import { Failure } from '../../failure.ts'
import { bytesOf, tomlOf } from '../../policy/file.ts'
import { nameMatches } from '../../policy/rules.ts'

/** One way of starting the MCP server: a program and its arguments. */
export interface Server {
  readonly command: string
  readonly args: readonly string[]
}

/** One MCP client: where its configuration is, and what an entry in it looks like. */
export interface Host {
  readonly name: string
  readonly label: string
  readonly format: 'json' | 'toml'
  /** Whether the file belongs to one project or to the user. */
  readonly scope: 'project' | 'user'
  /** Where the entry stands in the file. */
  readonly place: readonly string[]
  /** Whether the client starts its servers in the project; where it does not, the entry names the project. */
  readonly startsInProject: boolean
  /**
   * What it calls itself over MCP, where it has a dialog for questions of servers whose yes counts only if the policy
   * says so.
   */
  readonly client?: string
  file(where: Where): string
  entry(server: Server): Readonly<Record<string, unknown>>
}

export interface Where {
  readonly root: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly platform: NodeJS.Platform
}

const plain = ({ command, args }: Server) => ({ command, args })
const home = ({ env }: Where) => env.HOME || homedir()
const configHome = (where: Where) => where.env.XDG_CONFIG_HOME || join(home(where), '.config')

/** By these the daemon and a Python are found; Codex passes none of them on by itself. */
const FINDING = [
  ...['RUNTIME', 'STATE', 'CONFIG'].map(folder => `IMAGO_${folder}_DIR`),
  ...['XDG_RUNTIME_DIR', 'XDG_STATE_HOME', 'XDG_CONFIG_HOME', 'VIRTUAL_ENV', 'CONDA_PREFIX'],
]

/** The clients whose configuration is known, as their documentation describes it (docs/mcp.md). */
export const HOSTS: readonly Host[] = [
  {
    name: 'claude-code',
    label: 'Claude Code',
    format: 'json',
    scope: 'project',
    place: ['mcpServers', 'imago'],
    startsInProject: true,
    client: 'claude-code',
    file: ({ root }) => join(root, '.mcp.json'),
    entry: plain,
  },
  {
    name: 'claude-desktop',
    label: 'Claude Desktop',
    format: 'json',
    scope: 'user',
    place: ['mcpServers', 'imago'],
    startsInProject: false,
    file: where =>
      where.platform === 'darwin'
        ? join(home(where), 'Library/Application Support/Claude/claude_desktop_config.json')
        : join(configHome(where), 'Claude/claude_desktop_config.json'),
    entry: plain,
  },
  {
    name: 'codex',
    label: 'Codex',
    format: 'toml',
    scope: 'user',
    place: ['mcp_servers', 'imago'],
    startsInProject: true,
    client: 'codex-mcp-client',
    file: where => join(where.env.CODEX_HOME || join(home(where), '.codex'), 'config.toml'),
    entry: server => ({ ...plain(server), env_vars: FINDING }),
  },
  {
    name: 'cursor',
    label: 'Cursor',
    format: 'json',
    scope: 'project',
    place: ['mcpServers', 'imago'],
    startsInProject: false,
    file: ({ root }) => join(root, '.cursor/mcp.json'),
    entry: plain,
  },
  {
    name: 'gemini',
    label: 'Gemini CLI',
    format: 'json',
    scope: 'project',
    place: ['mcpServers', 'imago'],
    startsInProject: true,
    file: ({ root }) => join(root, '.gemini/settings.json'),
    entry: plain,
  },
  {
    name: 'vscode',
    label: 'VS Code',
    format: 'json',
    scope: 'project',
    place: ['servers', 'imago'],
    startsInProject: false,
    file: ({ root }) => join(root, '.vscode/mcp.json'),
    entry: server => ({ type: 'stdio', ...plain(server) }),
  },
  {
    name: 'zed',
    label: 'Zed',
    format: 'json',
    scope: 'user',
    place: ['context_servers', 'imago'],
    startsInProject: false,
    file: where => join(configHome(where), 'zed/settings.json'),
    entry: plain,
  },
]

/** The entry of one client for one project: what it starts, and where. */
export function entryFor(host: Host, { root, server }: { root: string; server: Server }) {
  const args = host.startsInProject ? server.args : [...server.args, '--root', root]
  return host.entry({ ...server, args })
}

/** Claude Code keeps a few megabytes in its own. */
const SETTINGS_BYTES = 64 * 1024 * 1024

/** The text of a file as UTF-8, or `undefined` where there is no file. Throws a `Failure` for anything else. */
export function readIfThere(path: string): string | undefined {
  try {
    const bytes = bytesOf(path, { most: SETTINGS_BYTES })
    return bytes && new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    throw new Failure(`${path} cannot be read as text: ${messageOf(error)}. Nothing was changed.`, {
      cause: error,
    })
  }
}

/**
 * Replaces a file as a whole, or makes it. A link is followed, as people keep their settings elsewhere; the mode stays.
 * Returns the outermost folder that had to be made for it.
 */
export function replaceFile(path: string, text: string): string | undefined {
  const target = targetOf(path)
  const made = mkdirSync(dirname(target), { recursive: true })
  const mode = statSync(target, { throwIfNoEntry: false })?.mode ?? 0o600
  const draft = join(dirname(target), `.imago-${randomBytes(6).toString('hex')}`)
  try {
    const file = openSync(draft, 'wx', 0o600)
    try {
      writeSync(file, text)
      fchmodSync(file, mode & 0o777)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(draft, target)
    return made
  } catch (error) {
    rmSync(draft, { force: true })
    throw new Failure(`${path} cannot be written: ${messageOf(error)}. It is as it was.`, { cause: error })
  }
}

/**
 * The file that a change of `path` would reach: where it leads, for a link. Throws a `Failure` where nothing may be
 * written there: the owner has made it read-only, or it leads to nothing.
 */
export function targetOf(path: string): string {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return path
  const target = followed(path)
  // Replacing it by another file would succeed all the same.
  if ((statSync(target).mode & 0o200) === 0)
    throw new Failure(`${target} is read-only. Nothing was changed. To let it be changed: chmod u+w`)
  return target
}

function followed(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    throw new Failure(`${path} is a link to nothing. Nothing was changed: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

/** Removes a file, and the folders up to and with `outermost` that are empty then. */
export function removeFile(path: string, outermost: string | undefined): void {
  rmSync(path)
  if (outermost === undefined) return
  for (let folder = dirname(path); folder.startsWith(outermost); folder = dirname(folder)) {
    if (readdirSync(folder).length > 0) return
    rmdirSync(folder)
  }
}

/** An entry as data; `undefined` where there is none. */
export type Entry = Readonly<Record<string, unknown>> | undefined

/** One replaced piece of a text: `was` stood at `offset`, and `is` stands there now. In UTF-16 units. */
export interface Change {
  readonly offset: number
  readonly was: string
  readonly is: string
}

/** The entry of a client in the text of its configuration. Throws a `Failure` where the text is not of its format. */
export function readEntry(text: string, { format, place }: Shape): Entry {
  const whole = format === 'json' ? readJson(text) : readToml(text)
  return at(whole, place)
}

/**
 * What has to be changed in a text so that the entry is `entry`, with everything else, comments and layout included,
 * left as it is. The result has been read again and compared. Throws a `Failure` where that cannot be done.
 */
export function changeEntry(text: string, shape: Shape, entry: Entry): Change {
  const change = shape.format === 'json' ? changeJson(text, shape, entry) : changeToml(text, shape, entry)
  checkOnly({ text, changed: applied(text, change), shape, entry })
  return change
}

type Shape = Pick<Host, 'format' | 'place'>

export function applied(text: string, { offset, was, is }: Change): string {
  return text.slice(0, offset) + is + text.slice(offset + was.length)
}

/** What takes a change back. */
export const inverse = ({ offset, was, is }: Change): Change => ({ offset, was: is, is: was })

function readJson(text: string): unknown {
  const errors: ParseError[] = []
  const tree = parseTree(body(text), errors, { allowTrailingComma: true, allowEmptyContent: true })
  const [first] = errors
  if (first !== undefined) {
    const line = body(text).slice(0, first.offset).split('\n').length
    throw new Failure(`it is not JSON: ${printParseErrorCode(first.error)} on line ${line}`)
  }
  const whole = tree === undefined ? {} : getNodeValue(tree)
  if (typeof whole !== 'object' || whole === null || Array.isArray(whole))
    throw new Failure('it holds no object, and so no settings')
  return whole
}

/** Without a byte order mark, which the parser takes for a mistake; offsets are the same after `MARK`. */
const body = (text: string) => (text.startsWith(MARK) ? ` ${text.slice(1)}` : text)
const MARK = '\ufeff'

function readToml(text: string): unknown {
  try {
    return parse(text, { integersAsBigInt: 'asNeeded' })
  } catch (error) {
    throw new Failure(`it is not TOML: ${messageOf(error).split('\n')[0]}`)
  }
}

function changeJson(text: string, { place }: Shape, entry: Entry): Change {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const formattingOptions = { ...indentation(text), eol }
  const edits = modifyJson(text, { path: outermost(text, place, entry), entry, formattingOptions })
  const change = asOne(text, edits)
  return text === '' ? { ...change, is: `${change.is}\n` } : change
}

function modifyJson(
  text: string,
  o: { path: string[]; entry: Entry; formattingOptions: FormattingOptions },
): Edit[] {
  try {
    return modify(body(text), o.path, o.entry, o)
  } catch (error) {
    throw new Failure(`${o.path[0]} is there, and is not an object`, { cause: error })
  }
}

/** Taking away the only server takes its group away as well, if that is then empty. */
function outermost(text: string, place: readonly string[], entry: Entry): string[] {
  const path = [...place]
  const tree = parseTree(body(text))
  while (entry === undefined && tree !== undefined && path.length > 1) {
    const group = findNodeAtLocation(tree, path.slice(0, -1))
    if (group?.children?.length !== 1) break
    path.pop()
  }
  return path
}

function indentation(text: string): { insertSpaces: boolean; tabSize: number } {
  const indent = /^([ \t]+)\S/m.exec(text)?.[1] ?? '  '
  return indent.startsWith('\t')
    ? { insertSpaces: false, tabSize: 1 }
    : { insertSpaces: true, tabSize: indent.length }
}

/** Several edits of the same text as the one piece that holds all of them. */
function asOne(text: string, edits: readonly Edit[]): Change {
  const offset = Math.min(...edits.map(edit => edit.offset))
  const end = Math.max(...edits.map(edit => edit.offset + edit.length))
  const changed = applyEdits(text, [...edits])
  return {
    offset,
    was: text.slice(offset, end),
    is: changed.slice(offset, changed.length - (text.length - end)),
  }
}

/** The table of the entry stands by itself, from its header to its last key, or is added at the end. */
function changeToml(text: string, { place }: Shape, entry: Entry): Change {
  const table = entry === undefined ? '' : `${stringify(nested(place, entry)).trim()}\n`
  const found = findTable(text, place)
  if (found !== undefined) {
    const { start, end } = entry === undefined ? withBlankLines(text, found) : found
    return { offset: start, was: text.slice(start, end), is: table }
  }
  if (table === '') return { offset: text.length, was: '', is: '' }
  const before = text === '' ? '' : text.endsWith('\n') ? '\n' : '\n\n'
  return { offset: text.length, was: '', is: `${before}${table}` }
}

/** What has to be added to the text of a policy so that the yes of this client counts; undefined where it stands there. */
export function addYes(text: string, client: string): Change | undefined {
  const said = clientsIn(text).filter(({ name }) => nameMatches(name, client))
  const asking = said.find(({ yes }) => yes === 'asks_a_seat')
  if (asking !== undefined)
    throw new Failure(`it has a seat asked whatever ${asking.name} answers; take that out first`)
  if (said.length > 0) return undefined
  const before = text === '' ? '' : text.endsWith('\n') ? '\n' : '\n\n'
  return onlyClients(text, { offset: text.length, was: '', is: `${before}${yesLines(client)}` })
}

/** What has to go from the text of a policy, for the lines of `addYes`; undefined where they do not stand there. */
export function takeYes(text: string, client: string): Change | undefined {
  const lines = yesLines(client)
  const start = text.lastIndexOf(lines)
  if (start < 0 || (start > 0 && text[start - 1] !== '\n')) return undefined
  // The empty line before them came with them.
  const offset = text.slice(0, start).endsWith('\n\n') ? start - 1 : start
  return onlyClients(text, { offset, was: text.slice(offset, start + lines.length), is: '' })
}

const yesLines = (client: string) => `${tomlOf({ decision: 'allow', client }).join('\n')}\n`

/** Refuses a change after which anything but clients is another. */
function onlyClients(text: string, change: Change): Change {
  const rest = (whole: string) => asText(without(readToml(whole), ['client']))
  const group = { read: readToml, place: ['client', ''] }
  readAgain(applied(text, change), group)
  if (rest(text) !== rest(applied(text, change)))
    throw new Failure('the lines for the client cannot be changed there without touching something else')
  return change
}

const CLIENTS = z.object({ client: z.array(z.object({ name: z.string(), yes: z.string() })).default([]) })

function clientsIn(text: string): z.output<typeof CLIENTS>['client'] {
  const read = CLIENTS.safeParse(readToml(text))
  if (!read.success) throw new Failure('what it says of clients is not understood')
  return read.data.client
}

interface Stretch {
  readonly start: number
  readonly end: number
}

/** Comments after the last key are somebody else's. */
function findTable(text: string, place: readonly string[]): Stretch | undefined {
  const name = place.map(key => `(?:${key}|"${key}"|'${key}')`).join('\\s*\\.\\s*')
  const header = new RegExp(`^[ \\t]*\\[\\s*${name}\\s*(?:\\.[^\\]]*)?\\]`)
  let [start, end, offset] = [-1, -1, 0]
  for (const line of text.split(/(?<=\n)/)) {
    const ours = header.test(line)
    if (ours && start < 0) start = offset
    if (start >= 0 && !ours && /^[ \t]*\[/.test(line)) break
    offset += line.length
    if (start >= 0 && !/^[ \t]*(#|\r?\n|$)/.test(line)) end = offset
  }
  return start < 0 ? undefined : { start, end }
}

/** And the empty lines that part it from what follows. */
function withBlankLines(text: string, { start, end }: Stretch): Stretch {
  const blank = /^(?:[ \t]*\r?\n)*/.exec(text.slice(end))?.[0].length ?? 0
  return { start, end: end + blank }
}

const nested = (place: readonly string[], entry: Entry): Record<string, unknown> =>
  place.reduceRight<unknown>((inner, key) => ({ [key]: inner }), entry) as Record<string, unknown>

function at(whole: unknown, place: readonly string[]): Entry {
  let found = whole
  for (const key of place) {
    if (typeof found !== 'object' || found === null) return undefined
    found = (found as Record<string, unknown>)[key]
  }
  return typeof found === 'object' && found !== null ? (found as Entry) : undefined
}

/** Reads the changed text again: the entry is what it should be, and nothing else is different. */
function checkOnly({ text, changed, shape, entry }: Edited): void {
  const read = shape.format === 'json' ? readJson : readToml
  const before = read(text)
  const after = readAgain(changed, { read, place: shape.place })
  const same = asText(without(before, shape.place)) === asText(without(after, shape.place))
  if (!same || asText(at(after, shape.place)) !== asText(entry))
    throw new Failure('the entry cannot be changed there without touching something else')
}

/** A table cannot be added to one that is written in braces, or by keys with dots. */
function readAgain(
  changed: string,
  { read, place }: { read(text: string): unknown; place: readonly string[] },
) {
  try {
    return read(changed)
  } catch (error) {
    const group = place.slice(0, -1).join('.')
    throw new Failure(`${group} is written in a form to which no entry can be added by itself`, {
      cause: error,
    })
  }
}

interface Edited {
  readonly text: string
  readonly changed: string
  readonly shape: Shape
  readonly entry: Entry
}

const asText = (value: unknown): string | undefined =>
  JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? `${one}n` : one))

/** A copy without the entry, and without the groups that are empty then. */
function without(whole: unknown, [key = '', ...rest]: readonly string[]): unknown {
  if (typeof whole !== 'object' || whole === null || !(key in whole)) return whole
  const { [key]: inner, ...others } = whole as Record<string, unknown>
  const left = rest.length === 0 ? undefined : without(inner, rest)
  const empty =
    left === undefined || (typeof left === 'object' && left !== null && Object.keys(left).length === 0)
  return empty ? others : { ...others, [key]: left }
}
