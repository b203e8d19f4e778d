import { join } from 'node:path'
import { errnoOf } from '../../wire/errors.ts'
import { type Disk, type Folder, type FolderAccess, pinFolder, readAll, type Stat } from './disk.ts'

/**
 * One line of an ignore file, or one glob, as git's `wildmatch` has it. It is never made a regular expression: what
 * matching costs is at most the characters of the line times those of one name, and where a `**` stands before other
 * names, times those of the whole path.
 */
interface Pattern {
  /** Begins with `!`: takes back what a line before it says. */
  readonly isNegative: boolean
  /** Whether a `**` stands before other names, so that it may begin anywhere in a path. */
  readonly isSpread: boolean
  /** Of a path in parts, and whether that is a folder; the folders above it are not asked about. */
  matches(parts: readonly string[], isFolder: boolean): boolean
}

/** Undefined where the line says nothing: it is empty, or a remark. */
function patternOf(line: string): Pattern | undefined {
  if (line.startsWith('#')) return undefined
  const isNegative = line.startsWith('!')
  const whole = trimmed(isNegative ? line.slice(1) : line)
  const onlyFolders = whole.endsWith('/')
  const body = onlyFolders ? whole.slice(0, -1) : whole
  if (body === '') return undefined
  const segments = segmentsOf(body)
  const [first, only, ...rest] = segments ?? []
  const about = { isNegative, isSpread: false }
  const fits = (isFolder: boolean) => isFolder || !onlyFolders
  const isName = (segment: Segment) => ({
    ...about,
    matches: (parts: readonly string[], isFolder: boolean) =>
      fits(isFolder) && segment.matches(parts.at(-1) ?? ''),
  })
  if (segments === undefined || first === undefined) return { ...about, matches: () => false }
  if (!body.includes('/')) return isName(first)
  if (first.isAnyDepth && only !== undefined && rest.length === 0 && !only.isAnyDepth) return isName(only)
  const path = pathOf(segments)
  return {
    ...about,
    isSpread: segments.slice(0, -1).some(each => each.isAnyDepth),
    matches: (parts, isFolder) => fits(isFolder) && matchesPath(path, parts),
  }
}

/** Without spaces at the end, but for one after a backslash. */
function trimmed(body: string): string {
  let end = 0
  for (let at = 0; at < body.length; at++) {
    if (body[at] === '\\') at++
    else if (body[at] === ' ') continue
    end = at + 1
  }
  return body.slice(0, end)
}

/** What stands between two slashes. */
interface Segment {
  /** It is `**`: any number of folders. */
  readonly isAnyDepth: boolean
  matches(name: string): boolean
}

/** `**` stands for none too, but at the end for one at least. */
function pathOf(segments: readonly Segment[]): readonly Segment[] {
  const path = segments.filter((each, index) => !(each.isAnyDepth && segments[index - 1]?.isAnyDepth))
  return path.at(-1)?.isAnyDepth ? [...path, ANY_NAME] : path
}

/** As `*` among characters: what follows a `**` begins as early as it can, and later where that does not do. */
function matchesPath(path: readonly Segment[], parts: readonly string[]): boolean {
  let [at, part, back, tried] = [0, 0, -1, 0]
  while (part < parts.length) {
    const segment = path[at]
    if (segment?.isAnyDepth) {
      back = ++at
      tried = part
    } else if (segment?.matches(parts[part] ?? '')) {
      at++
      part++
    } else {
      if (back === -1) return false
      at = back
      part = ++tried
    }
  }
  return at === path.length
}

const STAR = -1

const ONE = -2

/** A character by its code, what stands for some of them, or any number of any. */
type Token = number | CharacterClass

interface CharacterClass {
  readonly isNegative: boolean
  /** Pairs of codes, from and to. */
  readonly ranges: readonly (readonly [number, number])[]
}

const ANY_NAME = segmentOf([STAR])

/** Undefined where it matches nothing: a bracket or a backslash is left open. */
function segmentsOf(body: string): readonly Segment[] | undefined {
  const segments: Segment[] = []
  let tokens: Token[] = []
  for (let at = body.startsWith('/') ? 1 : 0; at < body.length; at++) {
    const character = body[at]
    if (character === '[') {
      const found = classAt(body, at)
      if (found === undefined) return undefined
      tokens.push(found.class)
      at = found.end
      continue
    }
    const isEscaped = character === '\\'
    if (isEscaped && ++at === body.length) return undefined
    if (body[at] === '/') {
      segments.push(segmentOf(tokens))
      tokens = []
    } else if (!isEscaped && character === '*') tokens.push(STAR)
    else tokens.push(!isEscaped && character === '?' ? ONE : body.charCodeAt(at))
  }
  return [...segments, segmentOf(tokens)]
}

function segmentOf(tokens: readonly Token[]): Segment {
  const isAnyDepth = tokens.length > 1 && tokens.every(token => token === STAR)
  const rest = tokens[0] === STAR ? tokens.slice(1) : tokens
  if (!rest.every(token => typeof token === 'number' && token >= 0))
    return { isAnyDepth, matches: name => matchesName(tokens, name) }
  const text = String.fromCharCode(...rest.filter(token => typeof token === 'number'))
  if (rest === tokens) return { isAnyDepth, matches: name => name === text && name !== '' }
  return { isAnyDepth, matches: name => name.endsWith(text) }
}

function matchesName(tokens: readonly Token[], name: string): boolean {
  let [at, unit, back, tried] = [0, 0, -1, 0]
  while (unit < name.length) {
    const token = tokens[at]
    if (token === STAR) {
      back = ++at
      tried = unit
    } else if (token !== undefined && isOne(token, name.charCodeAt(unit))) {
      at++
      unit++
    } else {
      if (back === -1) return false
      at = back
      unit = ++tried
    }
  }
  while (tokens[at] === STAR) at++
  return at === tokens.length
}

function isOne(token: Token, code: number): boolean {
  if (typeof token === 'number') return token === ONE || token === code
  return token.ranges.some(([from, to]) => code >= from && code <= to) !== token.isNegative
}

/** As git classifies, which knows ASCII only. */
const CLASSES: ReadonlyMap<string, string> = new Map([
  ['alnum', '09AZaz'],
  ['alpha', 'AZaz'],
  ['blank', '  \t\t'],
  ['cntrl', '\0\x1f\x7f\x7f'],
  ['digit', '09'],
  ['graph', '!~'],
  ['lower', 'az'],
  ['print', ' ~'],
  ['punct', '!/:@[`{~'],
  ['space', '  \t\n\r\r'],
  ['upper', 'AZ'],
  ['xdigit', '09AFaf'],
])

/** What stands in brackets from there on, and where they close; undefined where they do not, or name no class. */
function classAt(body: string, start: number): { class: CharacterClass; end: number } | undefined {
  const ranges: (readonly [number, number])[] = []
  const isNegative = body[start + 1] === '!' || body[start + 1] === '^'
  const first = start + (isNegative ? 2 : 1)
  let before: number | undefined
  for (let at = first; at < body.length; at++) {
    if (body[at] === ']' && at > first) return { class: { isNegative, ranges }, end: at }
    const named = body.startsWith('[:', at) ? namedClass(body, at) : null
    if (named === undefined) return undefined
    if (named !== null) {
      ranges.push(...named.ranges)
      at = named.end
      before = undefined
      continue
    }
    const isRange = body[at] === '-' && before !== undefined && at + 1 < body.length && body[at + 1] !== ']'
    if (isRange) at++
    if (body[at] === '\\') at++
    const code = body.charCodeAt(at)
    ranges.push([isRange ? (before ?? code) : code, code])
    before = isRange ? undefined : code
  }
  return undefined
}

/** `[:alpha:]` at that place; null where it is no such name, and undefined where there is no class of the name. */
function namedClass(body: string, at: number) {
  const end = body.indexOf(']', at + 2)
  if (end === -1) return undefined
  if (end === at + 2 || body[end - 1] !== ':') return null
  const pairs = CLASSES.get(body.slice(at + 2, end - 1))
  if (pairs === undefined) return undefined
  const ranges: (readonly [number, number])[] = []
  for (let from = 0; from < pairs.length; from += 2)
    ranges.push([pairs.charCodeAt(from), pairs.charCodeAt(from + 1)])
  return { ranges, end }
}

/** A line that is longer is not used. */
const LINE_LENGTH = 1_024

/**
 * Lines that hold at once, and their characters: of all, of those that have wildcards, and of those with `**` before
 * other names. What a name costs grows with them, whatever else the lines say; those beyond are not used.
 */
const MOST_RULES = 4_000

const MOST_CHARACTERS = 128 * 1024

const MOST_WILD = 16 * 1024

const MOST_SPREAD = 4 * 1024

/** Bytes of all ignore files that are read for one folder. */
const MOST_READ = 1024 * 1024

/** Folders whose verdict is remembered. */
const REMEMBERED = 1_000

const MOST_SHOWN = 160

export const GIT = '.git'

/**
 * What the ignore files from the root of a project down to one folder leave out, as git has it: the last line that
 * matches decides, and what is in a folder that is left out is not asked about.
 */
export interface IgnoreRules {
  /** The line that leaves that path out, such as `.gitignore:3: *.log`; a path from the root, `/` between its parts. */
  ignoredBy(path: string, isFolder: boolean): string | undefined
  /** With the lines of a further file, which counts from the folder that it is in (`` for the root). */
  with(file: IgnoreFile): IgnoreRules
  /** Without any: a repository inside another one begins anew. */
  fresh(): IgnoreRules
  /** Lines that are not used. */
  readonly unused: number
  /** Bytes that further files may have. */
  readonly room: number
}

interface IgnoreFile {
  readonly folder: string
  /** As it is shown beside a line of it. */
  readonly shown: string
  readonly text: string
  /** Whether its lines may be shown; else only their numbers are. */
  readonly isQuoted: boolean
}

interface Rule {
  readonly pattern: Pattern
  /** Parts of the path of the folder that it counts from. */
  readonly depth: number
  readonly mark: string
}

/** What lines cost. */
interface Cost {
  readonly rules: number
  readonly characters: number
  readonly wild: number
  readonly spread: number
}

interface Held {
  readonly rules: readonly Rule[]
  readonly cost: Cost
  readonly unused: number
  readonly read: number
}

const FREE: Cost = { rules: 0, characters: 0, wild: 0, spread: 0 }

const NOTHING: Held = { rules: [], cost: FREE, unused: 0, read: 0 }

export const NO_RULES: IgnoreRules = rulesOf(NOTHING)

function rulesOf(held: Held): IgnoreRules {
  const { unused, read } = held
  const ruleOn = lastOf(held.rules)
  return {
    unused,
    room: MOST_READ - read,
    ignoredBy(path, isFolder) {
      if (path === GIT || path.endsWith(`/${GIT}`)) return `${GIT} is never walked`
      return ruleOn(bytes(path), isFolder)?.mark
    },
    with: file => rulesOf(added(held, file)),
    fresh: () => rulesOf({ ...NOTHING, unused, read }),
  }
}

type RuleOn = (path: string, isFolder: boolean) => Rule | undefined

/** The rule that leaves a path out: the last one that matches it, or the folder above it that is left out. */
function lastOf(rules: readonly Rule[]): RuleOn {
  const remembered = new Map<string, Rule | undefined>()
  const ruleOn: RuleOn = (path, isFolder) => {
    const above = path.lastIndexOf('/')
    const before = above === -1 ? undefined : onFolder(path.slice(0, above))
    if (before !== undefined) return before
    const parts = path.split('/')
    const below: (readonly string[])[] = [parts]
    const last = rules.findLast(({ pattern, depth }) => {
      if (depth >= parts.length) return false
      below[depth] ??= parts.slice(depth)
      return pattern.matches(below[depth], isFolder)
    })
    return last?.pattern.isNegative ? undefined : last
  }
  const onFolder = (path: string): Rule | undefined => {
    if (remembered.has(path)) return remembered.get(path)
    if (remembered.size === REMEMBERED) remembered.clear()
    const rule = ruleOn(path, true)
    remembered.set(path, rule)
    return rule
  }
  return rules.length === 0 ? () => undefined : ruleOn
}

function added(held: Held, { folder, shown, text, isQuoted }: IgnoreFile): Held {
  const rules = [...held.rules]
  const depth = folder === '' ? 0 : folder.split('/').length
  let { cost, unused } = held
  for (const [index, raw] of text
    .replace(/^\ufeff/, '')
    .split('\n')
    .entries()) {
    const line = raw.replace(/\r$/, '')
    if (line.startsWith('#') || line.trim() === '') continue
    const afforded = withinCost(cost, line)
    if (afforded === undefined) {
      unused++
      continue
    }
    const { pattern } = afforded
    if (pattern === undefined) continue
    cost = afforded.cost
    const quoted = isQuoted ? `: ${line.slice(0, MOST_SHOWN)}` : ''
    rules.push({ pattern, depth, mark: `${shown}:${index + 1}${quoted}` })
  }
  return { rules, cost, unused, read: held.read + Buffer.byteLength(text) }
}

/** The pattern of a line, with what all cost then; undefined where that is too much. */
function withinCost(cost: Cost, line: string): { cost: Cost; pattern: Pattern | undefined } | undefined {
  const { length } = line
  if (length > LINE_LENGTH || cost.rules === MOST_RULES) return undefined
  const isWild = /[*?[]/.test(line)
  const characters = cost.characters + length
  const wild = cost.wild + (isWild ? length : 0)
  if (characters > MOST_CHARACTERS || wild > MOST_WILD) return undefined
  const pattern = patternOf(bytes(line))
  if (pattern === undefined) return { cost, pattern }
  const spread = cost.spread + (pattern.isSpread ? length : 0)
  return spread > MOST_SPREAD
    ? undefined
    : { cost: { rules: cost.rules + 1, characters, wild, spread }, pattern }
}

/** As git has it, a `?` in an ignore file is one byte: each byte of a text as one character. */
const bytes = (text: string): string =>
  /[^\0-\x7f]/.test(text) ? Buffer.from(text).toString('latin1') : text

/** Globs that a caller wrote, in the words of an ignore file, and `{a,b}` besides. */
export interface Globs {
  readonly type: 'globs'
  /** Whether one of them matches the path itself or a folder that it is in. */
  has(path: string, isFolder: boolean): boolean
}

/** Why one of the globs cannot be used, as a clause. */
export interface NoGlobs {
  readonly type: 'no_globs'
  readonly glob: string
  readonly why: string
}

/** As many as all globs of a call may be, with what their braces stand for. */
const MOST_GLOBS = 256

export function globsOf(globs: readonly string[]): Globs | NoGlobs {
  const rules: Rule[] = []
  let cost = FREE
  for (const glob of globs) {
    const all = alternatives(glob)
    if (all === undefined || rules.length + all.length > MOST_GLOBS)
      return { type: 'no_globs', glob, why: TOO_MANY }
    for (const one of all) {
      const afforded = withinCost(cost, one)
      if (afforded === undefined) return { type: 'no_globs', glob, why: TOO_LONG }
      cost = afforded.cost
      if (afforded.pattern !== undefined) rules.push({ pattern: afforded.pattern, depth: 0, mark: one })
    }
  }
  const ruleOn = lastOf(rules)
  return { type: 'globs', has: (path, isFolder) => ruleOn(path, isFolder) !== undefined }
}

const TOO_MANY = `with what braces stand for there are more than ${MOST_GLOBS} globs`

const TOO_LONG =
  `it has more than ${LINE_LENGTH} characters, or all globs with what braces stand for have more than ${MOST_WILD}, ` +
  `or more than ${MOST_SPREAD} where ** stands before other names`

/** `a.{ts,tsx}` as `a.ts` and `a.tsx`; undefined where they are too many. Braces without a comma stand for themselves. */
function alternatives(glob: string): readonly string[] | undefined {
  let all = [glob]
  for (let turn = 0; turn < MOST_GLOBS; turn++) {
    const next = all.flatMap(one => split(one) ?? [one])
    if (next.length > MOST_GLOBS) return undefined
    if (next.length === all.length) return all
    all = next
  }
  return undefined
}

/** The innermost braces with a comma taken apart; undefined where there are none. */
function split(glob: string): string[] | undefined {
  const found = /\{([^{},]*(?:,[^{},]*)+)\}/.exec(glob)
  if (found === null) return undefined
  const [whole, inner = ''] = found
  const [before, after] = [glob.slice(0, found.index), glob.slice(found.index + whole.length)]
  return inner.split(',').map(one => before + one + after)
}

const IGNORE_FILE = '.gitignore'

const EXCLUDE = ['info', 'exclude'] as const

/** A larger one is not used. */
const MOST_BYTES = 256 * 1024

/** A folder on the way down from the root whose ignore files are to hold. */
interface IgnoreFolder extends FolderAccess {
  readonly folder: Folder
  /** Its real path. */
  readonly path: string
  /** The same from the root of the project; empty for the root itself. */
  readonly above: string
  /** Whether a name in a folder, as it stands there, is not for tools. */
  isOwn(name: string, stat: Stat): boolean
  /** Whether the policy lets the call show what is in that file. */
  isShown(path: string): boolean
  /** Told of an ignore file that cannot be used. */
  unusable(shown: string): void
}

/**
 * The rules above, with those of the folder: its `.gitignore` and, at the top of a repository, `.git/info/exclude`.
 * As in git a link is not followed for either, and nothing from outside of a repository holds in it.
 */
export function rulesIn(entering: IgnoreFolder, rulesAbove: IgnoreRules): IgnoreRules {
  const { disk, folder, above } = entering
  const isRepository = quietly(() => disk.lstat(folder.at(GIT))) !== undefined
  let rules = isRepository ? rulesAbove.fresh() : rulesAbove
  const shown = (name: string) => (above === '' ? name : `${above}/${name}`)
  const use = (name: string, text: string | undefined) => {
    if (text === undefined) return
    const isQuoted = entering.isShown(join(entering.path, name))
    rules = rules.with({ folder: above, shown: shown(name), text, isQuoted })
  }
  const exclude = join(GIT, ...EXCLUDE)
  if (isRepository) use(exclude, excludeOf(entering, { shown: shown(exclude), room: rules.room }))
  const own = { name: IGNORE_FILE, shown: shown(IGNORE_FILE) }
  use(IGNORE_FILE, textIn(entering, { ...own, folder, room: rules.room }))
  return rules
}

/** Each folder on its way is held while the next is opened, so that no link leads elsewhere. */
function excludeOf(entering: IgnoreFolder, told: { shown: string; room: number }): string | undefined {
  const [info, name] = EXCLUDE
  const git = quietly(() => pinFolder(entering, join(entering.path, GIT)))
  const folder = git && quietly(() => pinFolder(entering, join(entering.path, GIT, info)))
  try {
    return folder && textIn(entering, { ...told, folder, name })
  } finally {
    folder?.close()
    git?.close()
  }
}

function textIn(
  { disk, isOwn, unusable }: IgnoreFolder,
  { folder, name, shown, room }: { folder: Folder; name: string; shown: string; room: number },
): string | undefined {
  const path = folder.at(name)
  const stat = quietly(() => disk.lstat(path))
  if (stat === undefined) return undefined
  const most = Math.min(MOST_BYTES, room)
  const isUsable = stat.kind === 'file' && !isOwn(name, stat) && stat.size <= most
  const text = isUsable ? quietly(() => textAt(disk, { path, id: stat.id, most })) : undefined
  if (text === undefined) unusable(shown)
  return text
}

function textAt(
  disk: Disk,
  { path, id, most }: { path: string; id: Stat['id']; most: number },
): string | undefined {
  const fd = disk.open(path, { for: 'reading' })
  try {
    const now = disk.fstat(fd)
    if (now.id !== id || now.kind !== 'file') return undefined
    const bytes = readAll(disk, { fd, most })
    return bytes === undefined ? undefined : Buffer.from(bytes).toString()
  } finally {
    disk.close(fd)
  }
}

/** What the system refuses is taken for missing. */
function quietly<Value>(look: () => Value): Value | undefined {
  try {
    return look()
  } catch (error) {
    if (errnoOf(error) === undefined) throw error
    return undefined
  }
}
