import type { FileSince, Frame, NamedThing, Place, Raised, Stack, Text, TypeName } from '../wire/kernel.ts'
import type { Terms } from './languages.ts'
import { PAGE_TOKENS, tokensAtMost } from './tokens.ts'

/** `int`, `numpy.ndarray`: the module is left out where everybody knows it. */
export function typeWord({ name, module, qualified }: TypeName): string {
  return module === null || module === 'builtins' ? name : qualified
}

/** Without blanks around it, and with one wherever there are some. */
export const oneSpaced = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** `840 ms`, `2.5 s`, `3 min 20 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${Number((ms / 1_000).toFixed(1))} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1_000)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** `ZeroDivisionError: division by zero`, as a language prints the last line of its report. */
export function exceptionLine({ type, message }: Raised): string {
  return message === '' ? typeWord(type) : `${typeWord(type)}: ${message}`
}

/** The report without what the first line of the answer has said: all of it, or a message and type that it begins with. */
export function reportOf(raised: Raised): string {
  const { message, traceback } = raised
  const report = traceback.trimEnd()
  if (report === exceptionLine(raised)) return ''
  if (message === '' || !report.startsWith(`${message}\n`)) return report
  return report.slice(message.length + 1).replace(/^ *\[Condition of type [^\n]*\]\n*/, '')
}

/** `load, app.py:12`, or as much of it as is known. */
export function frameLine({ function: name, file, line }: Frame): string {
  if (file === null) return name
  return line === null ? `${name}, ${file}` : `${name}, ${file}:${line}`
}

/** ` (line 16 now)`, where that is known. */
export const sinceWord = ({ now, differs }: FileSince): string =>
  differs === true ? ' (the file has another text now)' : now === undefined ? '' : ` (line ${now} now)`

/** The innermost frame that is the program's own; the innermost of all where none is. */
export function programFrame(frames: readonly Frame[]): Frame | undefined {
  const all = frames.filter(frame => frame.implementation !== true)
  return all.findLast(isOwn) ?? all.at(-1) ?? frames.at(-1)
}

/** Whether its code is the program's, rather than of a library or the language; true where the image does not tell. */
export const isOwn = ({ own }: Pick<Frame, 'own'>): boolean => own !== false

/** Runs of frames in their order: each of the program's own alone, and those of libraries together. */
export function runsOf<Shown extends Pick<Frame, 'own'>>(
  frames: readonly Shown[],
): readonly (readonly [Shown, ...Shown[]])[] {
  const runs: [Shown, ...Shown[]][] = []
  for (const frame of frames) {
    const last = runs.at(-1)
    if (last !== undefined && !isOwn(frame) && !isOwn(last[0])) last.push(frame)
    else runs.push([frame])
  }
  return runs
}

/** Frames of libraries in a row, of which a stack tells no more than this. */
export interface FoldedFrames {
  readonly folded: number
  readonly libraries: readonly string[]
}

/** The frames of a stack in their order: those of the program, and what stands for each run of a library's. */
export const foldedStack = <Shown extends Frame>(
  frames: readonly Shown[],
): readonly (Shown | FoldedFrames)[] => runsOf(frames).map(run => (isOwn(run[0]) ? run[0] : foldedRun(run)))

export function foldedRun(run: readonly Pick<Frame, 'library' | 'repeated'>[]): FoldedFrames {
  const libraries = new Set(run.map(({ library = 'a library' }) => oneLine(library)))
  return { folded: run.reduce((sum, { repeated = 1 }) => sum + repeated, 0), libraries: [...libraries] }
}

/** `6 frames of starlette, anyio` */
export const foldedWords = ({ folded, libraries }: FoldedFrames): string =>
  `${counted(folded, 'frame')} of ${libraries.join(', ')}`

/** `Thread "MainThread" (main), waiting for a lock`. */
export function stackLine(
  kind: 'Thread' | 'Task',
  { names, count, role, state, waits_for }: Omit<Stack, 'frames'>,
): string {
  const quoted = names.map(name => JSON.stringify(name)).join(', ')
  const more = count > names.length ? ', …' : ''
  const who = count === 1 ? `${kind} ${quoted}` : `${count} ${kind.toLowerCase()}s ${quoted}${more}`
  const whose = ROLES[role] === '' ? '' : ` (${ROLES[role]})`
  const what = waits_for === null || state !== 'waiting' ? state : `waiting for ${oneLine(waits_for)}`
  return `${who}${whose}, ${what}`
}

const ROLES: Readonly<Record<Stack['role'], string>> = {
  main: 'main',
  evaluating: 'evaluates for a caller',
  imago: '',
  user: '',
}

/** The ways to go on that stood where it was raised, innermost first; nothing where the report has them, or none were. */
export function restartLines({ restarts = [], traceback }: Raised): string[] {
  if (restarts.every(({ name, description }) => traceback.includes(description || name))) return []
  const lines = restarts.map(({ name, description }) => {
    const said = description === '' || description === name ? '' : `: ${oneLine(description)}`
    return indent(`${oneLine(name)}${said}`)
  })
  return ['restarts that stood there, none taken:', ...lines]
}

/** Characters that would break a line are written as escapes, so that one name stays one line. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, mark =>
    JSON.stringify(mark)
      .slice(1, -1)
      .replace(/[^\x20-\x7e]/, escaped),
  )
}

const escaped = (mark: string): string => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Each line set in, so that a long text reads as part of what is above it. */
export function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '  ')
}

/**
 * A text of the program's, in the lines that it has: those after the first are set in, whatever breaks them, so that none
 * of them reads as a line of ours.
 */
export function setIn(text: string): string {
  return text.replace(LINE_BREAK, '\n    ')
}

const LINE_BREAK = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/g

/**
 * A report of the language's, every line of it set in: its messages, those of causes and notes among them, are the
 * program's, and none of their lines can then stand where one of ours does.
 */
export function reportSetIn(report: string): string {
  return linesOf(report)
    .map(line => (line === '' ? '' : `${REPORT_MARGIN}${line}`))
    .join('\n')
}

export const REPORT_MARGIN = '  '

/** The lines of a text, whatever breaks them. */
export const linesOf = (text: string): string[] => text.split(LINE_BREAK)

/** `cut at 4096 of 20000 characters`, or without the whole where that is not known. */
export function cutNote({ text, original_len }: Text): string {
  return `cut at ${text.length}${original_len === null ? '' : ` of ${original_len}`} characters`
}

/** The first characters of a text, at most so many UTF-16 units, with no character cut in two. */
export function beginning(text: string, most: number): string {
  if (text.length <= most) return text
  const last = text.charCodeAt(most - 1)
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? most - 1 : most)
}

/** A query without what was left out. */
export function given<Query extends object>(query: { [Key in keyof Query]: Query[Key] | undefined }): Query {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)) as Query
}

/** `shop.Order.total  method: First line of its documentation.` */
export function nameLine({ name, kind, type_name, doc }: NamedThing, terms: Terms): string {
  const valued = kind === 'variable' || kind === 'constant'
  const what = valued ? `${kind}, ${oneLine(type_name)}` : terms.kind(kind)
  return `${oneLine(name)}  ${what}${doc === null || doc === '' ? '' : `: ${oneLine(doc)}`}`
}

/** Tokens of a name with its line. */
export function nameSize({ name, type_name, doc }: NamedThing): number {
  return tokensAtMost(`${name} ${type_name} ${doc ?? ''}`) + 4
}

/** `shop/orders.py:12`, or as much of it as is known; empty where nothing is. */
export function placeOf({ file, line }: Place): string {
  if (file === null) return ''
  return line === null ? oneLine(file) : `${oneLine(file)}:${line}`
}

/** `40 of 120 names; for more: after "shop.z"`. A total that is not known is null. */
export function pageLine(page: {
  readonly shown: number
  readonly total: number | null
  readonly what: readonly [one: string, many: string]
  readonly next: string | undefined
}): string {
  const { shown, total, what, next } = page
  const count = total === null ? `the first ${shown}` : shown === total ? `${total}` : `${shown} of ${total}`
  const more = next === undefined ? '' : `; for more: after ${JSON.stringify(next)}`
  return `${count} ${what[(total ?? shown) === 1 ? 0 : 1]}${more}`
}

/** With one mark at its end, whether or not it brought one. */
export const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

/** `1 subclass`, `3 subclasses`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

/**
 * The first of these whose sizes, in tokens, fit on a page together; one at least, however long it is. A page is
 * shorter than an answer, so that it is not cut in its middle and `next` leads on from the last thing that was shown.
 */
export function fitting<Item>(items: readonly Item[], sizeOf: (item: Item) => number): readonly Item[] {
  let size = 0
  const over = items.findIndex((item, index) => {
    size += sizeOf(item)
    return size > PAGE_TOKENS && index > 0
  })
  return over === -1 ? items : items.slice(0, over)
}

/** The same of a page of names; where it ends early, `next` leads on from the last name on it. */
export function fittingNames<Item extends { readonly name: string }>(
  page: { readonly items: readonly Item[]; readonly next?: string | undefined },
  sizeOf: (item: Item) => number,
): { items: readonly Item[]; next: { readonly next?: string } } {
  const items = fitting(page.items, sizeOf)
  const next = items.length === page.items.length ? page.next : items.at(-1)?.name
  return { items, next: next === undefined ? {} : { next } }
}

/** A value's tokens as data. */
export const dataTokens = (value: unknown): number => tokensAtMost(JSON.stringify(value) ?? '', PAGE_TOKENS)

/** A value's characters as data. */
export const dataSize = (value: unknown): number => JSON.stringify(value)?.length ?? 0
