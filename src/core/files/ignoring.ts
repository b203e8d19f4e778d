import ignore, { type Ignore, type PatternParams } from 'ignore'

/** A line that is longer, or has more `**` between other names, is not used: what it would cost has no bound. */
const LINE_LENGTH = 1_024
const MOST_WILD = 2
/** Lines that hold at once, and those of them with `**` between other names. */
const MOST_RULES = 4_000
const MOST_WILD_RULES = 64
/** A matcher remembers every path that it was asked about; a new one begins without them. */
const REMEMBERED = 10_000
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
}

export interface IgnoreFile {
  readonly folder: string
  /** As it is shown beside a line of it. */
  readonly shown: string
  readonly text: string
}

interface Held {
  readonly matcher: Ignore | undefined
  readonly rules: number
  readonly wild: number
  readonly unused: number
}

const NOTHING: Held = { matcher: undefined, rules: 0, wild: 0, unused: 0 }

export const NO_RULES: IgnoreRules = rulesOf(NOTHING)

function rulesOf(held: Held): IgnoreRules {
  let { matcher } = held
  let asked = 0
  return {
    unused: held.unused,
    ignoredBy(path, isFolder) {
      if (path === GIT || path.endsWith(`/${GIT}`)) return `${GIT} is never walked`
      if (matcher === undefined) return undefined
      if (++asked % REMEMBERED === 0) matcher = openMatcher().add(matcher)
      const { rule } = matcher.test(bytes(isFolder ? `${path}/` : path))
      return rule === undefined ? undefined : (rule.mark ?? rule.pattern)
    },
    with: file => rulesOf(added(held, file)),
    fresh: () => rulesOf({ ...NOTHING, unused: held.unused }),
  }
}

function added(held: Held, { folder, shown, text }: IgnoreFile): Held {
  const patterns: PatternParams[] = []
  let { rules, wild, unused } = held
  for (const [index, raw] of text
    .replace(/^\ufeff/, '')
    .split('\n')
    .entries()) {
    const line = raw.replace(/\r$/, '')
    const pattern = placed(line, folder)
    if (pattern === undefined) continue
    const isWild = wildParts(line) > 0
    if (!isBounded(line) || rules === MOST_RULES || (isWild && wild === MOST_WILD_RULES)) {
      unused++
      continue
    }
    rules++
    if (isWild) wild++
    patterns.push({ pattern: bytes(pattern), mark: `${shown}:${index + 1}: ${line.slice(0, MOST_SHOWN)}` })
  }
  const matcher = openMatcher()
  if (held.matcher !== undefined) matcher.add(held.matcher)
  return { matcher: matcher.add(patterns), rules, wild, unused }
}

/** As git has it, a `?` in an ignore file is one byte: each byte of a text as one character. */
const bytes = (text: string): string =>
  /[^\0-\x7f]/.test(text) ? Buffer.from(text).toString('latin1') : text

const openMatcher = () => ignore({ ignoreCase: false })

/** A line of the ignore file of a folder, as one that counts from the root; undefined where it says nothing. */
function placed(line: string, folder: string): string | undefined {
  if (line.startsWith('#') || line.trim() === '') return undefined
  if (folder === '') return line
  const [, mark = '', rest = ''] = /^(!?)(.*)$/s.exec(line) ?? []
  const body = trimmed(rest)
  if (body === '' || body === '/') return undefined
  const isAnchored = body.slice(0, -1).includes('/')
  const within = isAnchored ? body.replace(/^\//, '') : `**/${body}`
  return `${mark}/${escaped(folder)}/${within}`
}

/** Without spaces at the end, but for one after a backslash. */
function trimmed(body: string): string {
  let end = body.length
  while (body[end - 1] === ' ' && body[end - 2] !== '\\') end--
  return body.slice(0, end)
}

const escaped = (folder: string): string => folder.replace(/[\\*?[\]!# ]/g, '\\$&')

/** Parts of a pattern that stand for any number of folders, but for the first and the last, which cost nothing. */
function wildParts(pattern: string): number {
  return pattern
    .split('/')
    .slice(1, -1)
    .filter(part => /^\*{2,}$/.test(part)).length
}

const isBounded = (pattern: string): boolean =>
  pattern.length <= LINE_LENGTH && wildParts(pattern) <= MOST_WILD

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
  const patterns: string[] = []
  for (const glob of globs) {
    const all = alternatives(glob)
    const why = all === undefined ? TOO_MANY : faultOf(all, patterns)
    if (all === undefined || why !== undefined) return { type: 'no_globs', glob, why: why ?? TOO_MANY }
    patterns.push(...all)
  }
  let matcher = openMatcher().add(patterns.map(pattern => ({ pattern })))
  let asked = 0
  return {
    type: 'globs',
    has(path, isFolder) {
      if (patterns.length === 0) return false
      if (++asked % REMEMBERED === 0) matcher = openMatcher().add(matcher)
      return matcher.ignores(isFolder ? `${path}/` : path)
    },
  }
}

const TOO_MANY = `with what braces stand for there are more than ${MOST_GLOBS} globs`

function faultOf(all: readonly string[], others: readonly string[]): string | undefined {
  if (!all.every(isBounded))
    return `it is longer than ${LINE_LENGTH} characters, or has ** more than ${MOST_WILD} times between other names`
  const both = [...others, ...all]
  if (both.length > MOST_GLOBS) return TOO_MANY
  const wild = both.filter(pattern => wildParts(pattern) > 0).length
  return wild > MOST_WILD_RULES ? `more than ${MOST_WILD_RULES} globs have ** between other names` : undefined
}

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
