import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import {
  applyEdits,
  findNodeAtLocation,
  getNodeValue,
  modify,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser'
import { parse, stringify } from 'smol-toml'
import { z } from 'zod'
import { isRecord } from '../../../tools/record.ts'
import { messageOf } from '../../../wire/errors.ts'
import { Failure } from '../../failure.ts'
import { writeWhole } from '../../files/whole-file.ts'
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
  /** Its other place, if the group of that is in the file already. */
  readonly newerPlace?: readonly string[]
  /** Whether the client starts its servers in the project; where it does not, the entry names the project. */
  readonly startsInProject: boolean
  /**
   * What it calls itself over MCP, where it has a dialog for questions of servers whose yes counts only if the policy
   * says so.
   */
  readonly client?: string
  /** The command line by which it asks the profile `desk` before it acts itself, where it can. */
  readonly desk?: string
  /** What a person has to do there before the server is started, as a sentence. */
  readonly wants?: string
  /** Where it keeps the tools that it does not ask about: a list of texts in another file, or keys of the entry. */
  readonly allow?: RuleList | ((tools: readonly string[], now: Entry) => Readonly<Record<string, unknown>>)
  /** Where it keeps the commands that it runs before a tool, in another file. */
  readonly hook?: RuleList
  file(where: Where): string
  /** `now`: the entry that is there. */
  entry(server: Server, now: Entry): Readonly<Record<string, unknown>>
}

/** A list with an item for each tool, or for a command line. */
export interface RuleList extends Shape {
  file(where: Where): string
  rule(of: string): unknown
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

/** The items that are not there yet, and those that are. */
const inFront = (items: readonly string[], now: unknown = []): readonly unknown[] => {
  const there: readonly unknown[] = [now].flat()
  return [...items.filter(item => !there.includes(item)), ...there]
}

const USUAL = { format: 'json', place: ['mcpServers', 'imago'], entry: plain } as const
const IN_PROJECT = { ...USUAL, scope: 'project', startsInProject: true } as const
const FOR_YOU = { ...USUAL, scope: 'user', startsInProject: false } as const

/** The clients whose configuration is known, as their documentation describes it (docs/mcp.md). */
export const HOSTS: readonly Host[] = [
  {
    name: 'claude-code',
    label: 'Claude Code',
    ...IN_PROJECT,
    client: 'claude-code',
    desk: 'claude -p TEXT --permission-prompt-tool mcp__imago__permission_prompt',
    wants: 'Claude Code starts it once you have approved it there: at its next start, or with /mcp.',
    allow: {
      file: ({ root }) => join(root, '.claude/settings.local.json'),
      format: 'json',
      place: ['permissions', 'allow'],
      rule: tool => `mcp__imago__${tool}`,
    },
    hook: {
      file: ({ root }) => join(root, '.claude/settings.json'),
      format: 'json',
      place: ['hooks', 'PreToolUse'],
      rule: command => ({
        matcher: 'Bash|Edit|Write|NotebookEdit',
        hooks: [{ type: 'command', command }],
      }),
    },
    file: ({ root }) => join(root, '.mcp.json'),
  },
  {
    name: 'claude-desktop',
    label: 'Claude Desktop',
    ...FOR_YOU,
    file: where =>
      where.platform === 'darwin'
        ? join(home(where), 'Library/Application Support/Claude/claude_desktop_config.json')
        : join(configHome(where), 'Claude/claude_desktop_config.json'),
  },
  {
    name: 'cline',
    label: 'Cline',
    ...FOR_YOU,
    allow: (tools, now) => ({ autoApprove: inFront(tools, now?.autoApprove) }),
    file: where =>
      where.env.CLINE_MCP_SETTINGS_PATH ||
      join(where.env.CLINE_DATA_DIR || join(home(where), '.cline/data'), 'settings/cline_mcp_settings.json'),
  },
  {
    name: 'codex',
    label: 'Codex',
    format: 'toml',
    scope: 'user',
    place: ['mcp_servers', 'imago'],
    startsInProject: true,
    client: 'codex-mcp-client',
    allow: (tools, now) => ({
      tools: {
        ...Object.fromEntries(tools.map(tool => [tool, { approval_mode: 'approve' }])),
        ...(now?.tools as Entry),
      },
    }),
    file: where => join(where.env.CODEX_HOME || join(home(where), '.codex'), 'config.toml'),
    entry: (server, now) => ({ ...plain(server), env_vars: inFront(FINDING, now?.env_vars) }),
  },
  {
    name: 'continue',
    label: 'Continue',
    ...IN_PROJECT,
    file: ({ root }) => join(root, '.continue/mcpServers/imago.json'),
  },
  {
    name: 'copilot',
    label: 'GitHub Copilot CLI',
    ...FOR_YOU,
    startsInProject: true,
    file: where => join(where.env.COPILOT_HOME || join(home(where), '.copilot'), 'mcp-config.json'),
    entry: (server, now) => ({ type: 'local', ...plain(server), tools: now?.tools ?? ['*'] }),
  },
  {
    name: 'cursor',
    label: 'Cursor',
    ...IN_PROJECT,
    startsInProject: false,
    file: ({ root }) => join(root, '.cursor/mcp.json'),
  },
  {
    name: 'gemini',
    label: 'Gemini CLI',
    ...IN_PROJECT,
    wants: 'Gemini CLI starts it only in a folder that you trust there.',
    file: ({ root }) => join(root, '.gemini/settings.json'),
  },
  {
    name: 'opencode',
    label: 'opencode',
    ...IN_PROJECT,
    place: ['mcp', 'imago'],
    newerPlace: ['mcp', 'servers', 'imago'],
    file: ({ root }) => {
      const [strict, commented] = [join(root, 'opencode.json'), join(root, 'opencode.jsonc')]
      return existsSync(commented) && !existsSync(strict) ? commented : strict
    },
    entry: ({ command, args }) => ({ type: 'local', command: [command, ...args] }),
  },
  {
    name: 'qwen',
    label: 'Qwen Code',
    ...IN_PROJECT,
    file: ({ root }) => join(root, '.qwen/settings.json'),
  },
  {
    name: 'vscode',
    label: 'VS Code',
    ...IN_PROJECT,
    place: ['servers', 'imago'],
    startsInProject: false,
    file: ({ root }) => join(root, '.vscode/mcp.json'),
    entry: server => ({ type: 'stdio', ...plain(server) }),
  },
  {
    name: 'zed',
    label: 'Zed',
    ...FOR_YOU,
    place: ['context_servers', 'imago'],
    file: where => join(configHome(where), 'zed/settings.json'),
  },
]

/**
 * The entry of one client for one project: what it starts, and where. What `now` has besides stays, unless that is how
 * to reach a server of another kind.
 */
export function entryFor(
  host: Host,
  {
    root,
    server,
    now,
    allowed = [],
  }: { root: string; server: Server; now: Entry; allowed?: readonly string[] },
): Readonly<Record<string, unknown>> {
  const args = host.startsInProject ? server.args : [...server.args, '--root', root]
  const isRemote = ['url', 'httpUrl', 'serverUrl'].some(key => now?.[key] !== undefined)
  const kept = isRemote ? undefined : now
  const rules = typeof host.allow === 'function' && allowed.length > 0 ? host.allow(allowed, kept) : {}
  return { ...kept, ...host.entry({ ...server, args }, kept), ...rules }
}

/** The entry in a file; undefined also where the file cannot be read, which is told of with its plan. */
export function entryIn(file: string, shape: Shape): Entry {
  try {
    return readEntry(readIfThere(file) ?? '', shape)
  } catch {
    return undefined
  }
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
  try {
    writeWhole(target, text, mode)
    return made
  } catch (error) {
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

type Value = Entry | readonly unknown[]

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
export function changeEntry(text: string, shape: Shape, entry: Value): Change {
  const change = shape.format === 'json' ? changeJson(text, shape, entry) : changeToml(text, shape, entry)
  checkOnly(text, applied(text, change), { shape, entry })
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
  if (!isRecord(whole)) throw new Failure('it holds no object, and so no settings')
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

function changeJson(text: string, { place }: Shape, entry: Value): Change {
  const [before, after]: Entry[] = [at(readJson(text), place), { ...entry }]
  if (entry === undefined || before === undefined || Object.keys(before).length === 0) {
    const changed = modifyJson(text, outermost(text, place, entry), entry)
    return between(text, text === '' ? `${changed}\n` : changed)
  }
  if (Array.isArray(entry)) return changeList(text, place, entry)
  // Key by key, so that comments beside the others stay.
  const keys = Object.keys({ ...before, ...after }).filter(
    key => asText(before[key]) !== asText(after?.[key]),
  )
  const set = (changed: string, key: string) => modifyJson(changed, [...place, key], after?.[key])
  return between(text, keys.reduce(set, text))
}

function modifyJson(text: string, path: readonly string[], value: unknown): string {
  const formattingOptions = { ...indentation(text), eol: text.includes('\r\n') ? '\r\n' : '\n' }
  try {
    return applyEdits(text, modify(body(text), [...path], value, { formattingOptions }))
  } catch (error) {
    throw new Failure(`${path[0]} is there, and is not an object`, { cause: error })
  }
}

/** Taking away the only server takes its group away as well, if that is then empty. */
function outermost(text: string, place: readonly string[], entry: Value): string[] {
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

/** What differs, as one piece. */
function between(was: string, is: string): Change {
  let offset = 0
  while (offset < was.length && was[offset] === is[offset]) offset++
  let end = 0
  while (end < Math.min(was.length, is.length) - offset && was.at(-1 - end) === is.at(-1 - end)) end++
  return { offset, was: was.slice(offset, was.length - end), is: is.slice(offset, is.length - end) }
}

/** Item by item: new ones in front, where they part no comment from what it is about. */
function changeList(text: string, place: readonly string[], entry: readonly unknown[]): Change {
  const tree = parseTree(body(text))
  const list = tree && findNodeAtLocation(tree, [...place])
  const items = list?.children ?? []
  const there = items.map(item => asText(getNodeValue(item)))
  const wanted = entry.map(asText)
  const offset = (list?.offset ?? 0) + 1
  const gap = /\s*$/.exec(text.slice(offset, items[0]?.offset))?.[0] ?? ''
  const fresh = entry.filter((_, at) => !there.includes(wanted[at])).map(one => `${gap}${inOneLine(one)},`)
  const take = (left: string, item: { offset: number; length: number }) => {
    const [before, rest] = [left.slice(0, item.offset), left.slice(item.offset + item.length)]
    const comma = /^\s*,\s*/.exec(rest)?.[0]
    return comma === undefined ? before.replace(/,\s*$/, '') + rest : before + rest.slice(comma.length)
  }
  const left = items.filter((_, at) => !wanted.includes(there[at])).reduceRight(take, text)
  return between(text, left.slice(0, offset) + fresh.join('') + left.slice(offset))
}

const inOneLine = (value: unknown) => JSON.stringify(value, undefined, 1).replace(/\n\s*/g, ' ')

/** An entry is a table of its own, from its header to its last key. A new one is added at the end of the table `within`, or of the text. */
function changeToml(text: string, shape: Shape & { within?: readonly string[] }, entry: Value): Change {
  const { place } = shape
  const table = entry === undefined ? '' : `${stringify(nested(place, entry)).trim()}\n`
  const found = findTable(text, place)
  const outer = shape.within && findTable(text, shape.within)
  if (found !== undefined) {
    const kept = entry && keyByKey(text, { shape, entry })
    if (kept !== undefined) return between(text, kept)
    const { start, end } = entry === undefined ? withBlankLines(text, found) : found
    return { offset: start, was: text.slice(start, end), is: table }
  }
  if (table === '') return { offset: text.length, was: '', is: '' }
  const before = text === '' ? '' : text.endsWith('\n') ? '\n' : '\n\n'
  return { offset: outer?.end ?? text.length, was: '', is: `${before}${table}` }
}

/** With each key changed by itself, so that comments stay; undefined where keys are written in a way that forbids it. */
function keyByKey(text: string, { shape, entry }: { shape: Shape; entry: Value }): string | undefined {
  const { place } = shape
  const before = at(readToml(text), place) ?? {}
  const after: Record<string, unknown> = { ...entry }
  const keys = Object.keys({ ...before, ...after }).filter(key => asText(before[key]) !== asText(after[key]))
  try {
    const changed = keys.reduce((left, key) => {
      const [was, is] = [before[key], after[key]]
      return isRecord(was) || isRecord(is)
        ? applied(left, changeToml(left, { ...shape, place: [...place, key], within: place }, is as Value))
        : setKey(left, place, [key, was, is])
    }, text)
    checkOnly(text, changed, { shape, entry })
    return changed
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}

/** One key on lines of its own below the header of its table; a new one comes behind the last. */
function setKey(text: string, place: readonly string[], [key, was, is]: [string, unknown, unknown]): string {
  const { start, end } = findTable(text, place, 'alone') ?? { start: 0, end: 0 }
  const own = is === undefined ? '' : stringify({ [key]: is })
  const found = new RegExp(`^[ \\t]*(?:${key}|"${key}"|'${key}')[ \\t]*=[ \\t]*`, 'm').exec(
    text.slice(start, end),
  )
  if (found === null) return text.slice(0, end) + own + text.slice(end)
  const from = start + found.index
  const values = from + found[0].length
  const until = valueEnd(text, from)
  if (is === undefined) return text.slice(0, from) + text.slice(text.indexOf('\n', until) + 1 || text.length)
  const [more, less] = [frontOf(is, was), frontOf(was, is)]
  if (more) return text.slice(0, values + 1) + more + text.slice(values + 1)
  if (less && text.startsWith(less, values + 1))
    return text.slice(0, values + 1) + text.slice(values + 1 + less.length)
  return text.slice(0, values) + own.slice(own.indexOf('=') + 2).trimEnd() + text.slice(until)
}

/** What a list has in front of another one, as text; undefined where it does not end with that. */
function frontOf(list: unknown, rest: unknown): string | undefined {
  if (!Array.isArray(list) || !Array.isArray(rest) || rest.length === 0) return undefined
  const front = list.slice(0, -rest.length)
  if (asText(list.slice(front.length)) !== asText(rest)) return undefined
  return front.map(item => `${JSON.stringify(item)}, `).join('')
}

/** Where a value ends that begins behind `from`, before a comment of its line: at the first place where all of it is read. */
function valueEnd(text: string, from: number): number {
  for (const { index } of text.slice(from).matchAll(/[ \t]*(?:#|\r?\n|$)/g)) {
    try {
      parse(text.slice(from, from + index))
      return from + index
    } catch {
      // It goes on.
    }
  }
  return text.length
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

/** Comments after the last key are somebody else's; `alone`: without the tables within it. */
function findTable(text: string, place: readonly string[], how?: 'alone'): Stretch | undefined {
  const name = place.map(key => `(?:${key}|"${key}"|'${key}')`).join('\\s*\\.\\s*')
  const below = how === 'alone' ? '' : '(?:\\.[^\\]]*)?'
  const header = new RegExp(`^[ \\t]*\\[\\s*${name}\\s*${below}\\]`)
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

const nested = (place: readonly string[], entry: Value): Record<string, unknown> =>
  place.reduceRight<unknown>((inner, key) => ({ [key]: inner }), entry) as Record<string, unknown>

function at(whole: unknown, [key, ...rest]: readonly string[]): Entry {
  if (typeof whole !== 'object' || whole === null) return undefined
  const here = whole as Record<string, unknown>
  return key === undefined ? here : at(here[key], rest)
}

/** Reads the changed text again: the entry is what it should be, and nothing else is different. */
function checkOnly(text: string, changed: string, { shape, entry }: { shape: Shape; entry: Value }): void {
  const read = shape.format === 'json' ? readJson : readToml
  const before = read(text)
  const after = readAgain(changed, { read, place: shape.place })
  const same = asText(without(before, shape.place)) === asText(without(after, shape.place))
  if (!same || !isDeepStrictEqual(dataOf(at(after, shape.place)), dataOf(entry)))
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

const dataOf = (value: unknown): unknown => JSON.parse(asText(value) ?? 'null')

/** For what is compared: objects of parsers have no prototype. */
export const asText = (value: unknown): string | undefined =>
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
