import { type Pattern, patternOf } from './wildmatch.ts'

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

export interface IgnoreFile {
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
