/**
 * One line of an ignore file, or one glob, as git's `wildmatch` has it. It is never made a regular expression: what
 * matching costs is at most the characters of the line times those of one name, and where a `**` stands before other
 * names, times those of the whole path.
 */
export interface Pattern {
  /** Begins with `!`: takes back what a line before it says. */
  readonly isNegative: boolean
  /** Whether a `**` stands before other names, so that it may begin anywhere in a path. */
  readonly isSpread: boolean
  /** Of a path in parts, and whether that is a folder; the folders above it are not asked about. */
  matches(parts: readonly string[], isFolder: boolean): boolean
}

/** Undefined where the line says nothing: it is empty, or a remark. */
export function patternOf(line: string): Pattern | undefined {
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
