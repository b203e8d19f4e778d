import { isAbsolute, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Diagnostic, DiagnosticSeverity, type InlayHint } from 'vscode-languageserver/node'
import type { ErrorShown, ErrorSummary } from '../../../tools/activity.ts'
import { beginning, isOwn, oneLine, programFrame } from '../../../tools/text.ts'
import type { Frame } from '../../../wire/kernel.ts'
import { realOf } from '../../files/roots.ts'
import type { Mark, TextLines } from './documents.ts'
import type { Project } from './project.ts'
import { errorFacts } from './row-lines.ts'

/** A frame of the program's own in an error, by the real path of its file. Lines are from 0. */
interface Place {
  readonly frame: Frame
  readonly path: string
  readonly line: number
  /** It is the innermost of the program's own: where the error happened. */
  readonly isOrigin: boolean
}

/** An error of a program, with its frames once they were asked for. */
interface Noted {
  row: ErrorSummary & { readonly kernel: string }
  places: readonly Place[]
  /** The time of the error whose frames these are; undefined while they are asked for. */
  at: string | undefined
}

/** A frame in an open document, where its line still has the text that ran. */
interface Shown {
  readonly noted: Noted
  readonly place: Place
  readonly mark: Mark
}

/** A frame of an error, as `inspect` takes it. */
export interface ErrorFrame {
  readonly kernel: string
  readonly frame: string
}

interface ErrorsOptions {
  documents(): Iterable<TextLines>
  /** What is said of that file may have changed. */
  changed(path: string): void
}

/** How often the values of an error are asked for again that keeps coming, in milliseconds. */
const AGAIN_MS = 3_000

/** Characters of a value and of a line of values */
const [VALUE_LENGTH, HINT_LENGTH] = [60, 160]

/** The errors of the programs of all projects, where they happened. */
export class ErrorsInPlace {
  readonly #options: ErrorsOptions
  readonly #noted = new Map<Project, Map<string, Noted>>()
  readonly #shown = new Map<TextLines, Shown[]>()
  #aging: NodeJS.Timeout | undefined

  constructor(options: ErrorsOptions) {
    this.#options = options
  }

  /** Rows of errors or kernels of a project have changed. */
  update(project: Project): void {
    const known = this.#noted.get(project) ?? new Map<string, Noted>()
    this.#noted.set(project, known)
    for (const [key, noted] of known)
      if (!project.rows.errors.has(key)) {
        known.delete(key)
        this.#replace(noted, [])
      }
    for (const [key, row] of project.rows.errors) {
      const noted = known.get(key) ?? { row, places: [], at: '' }
      known.set(key, noted)
      noted.row = row
      if (noted.at !== undefined && noted.at !== row.at) void this.#fetch(project, noted)
    }
  }

  async #fetch(project: Project, noted: Noted): Promise<void> {
    const { kernel, number, at } = noted.row
    noted.at = undefined
    const envelope = await project
      .call({ tool: 'get_last_error', args: { kernel, number } })
      .catch(() => undefined)
    const isThere = () => this.#noted.get(project)?.get(`${kernel}#${number}`) === noted
    const raised = envelope?.ok === true ? (envelope.result as ErrorShown).error : null
    if (isThere() && raised !== null) {
      const { frames, misread } = raised
      const there = misread === undefined ? [] : [{ ...misread, function: '', locals: [], locals_omitted: 0 }]
      const all: readonly Frame[] = [...frames, ...there]
      const origin = programFrame(all)
      const from = project.rows.kernels.get(kernel)?.attached?.cwd ?? project.root
      const places = all.flatMap((frame): Place[] => {
        const line = frame.now ?? frame.line
        if (frame.file === null || line === null || frame.differs || !isOwn(frame)) return []
        const path = realOf(isAbsolute(frame.file) ? frame.file : join(from, frame.file))
        return [{ frame, path, line: line - 1, isOrigin: frame === origin }]
      })
      this.#replace(noted, places)
    }
    setTimeout(() => {
      noted.at = at
      if (isThere() && noted.row.at !== at) void this.#fetch(project, noted)
    }, AGAIN_MS).unref()
  }

  #replace(noted: Noted, places: readonly Place[]): void {
    const paths = new Set([...noted.places, ...places].map(({ path }) => path))
    noted.places = places
    for (const document of this.#options.documents()) {
      if (document.path === undefined || !paths.has(document.path)) continue
      this.#drop(document, one => one.noted === noted)
      this.#show(document, noted)
    }
    for (const path of paths) this.#options.changed(path)
    this.#age()
  }

  /** Says all errors again once the age of one has other words. A clock that jumps makes none wrong for more than a minute. */
  #age(): void {
    clearTimeout(this.#aging)
    const all = [...this.#all()]
    if (all.length === 0) return
    const next = Math.min(MINUTE_MS, ...all.map(({ row }) => ageOf(row.at).nextMs))
    this.#aging = setTimeout(() => {
      for (const path of new Set(all.flatMap(({ places }) => places.map(({ path }) => path))))
        this.#options.changed(path)
      this.#age()
    }, next).unref()
  }

  #show(document: TextLines, noted: Noted): void {
    const shown = this.#shown.get(document) ?? []
    this.#shown.set(document, shown)
    for (const place of noted.places) {
      const { path, line, frame } = place
      const text = document.lines[line]
      if (path !== document.path || text === undefined || shown.some(one => one.place === place)) continue
      if (frame.source !== null && frame.source.trim() !== text.trim()) continue
      shown.push({ noted, place, mark: document.mark(line) })
    }
  }

  #drop(document: TextLines, isMeant: (shown: Shown) => boolean): void {
    const shown = this.#shown.get(document) ?? []
    document.forget(shown.filter(isMeant).map(({ mark }) => mark))
    this.#shown.set(
      document,
      shown.filter(one => !isMeant(one)),
    )
  }

  /** A document was opened or saved: what could not be shown before may have its place in it now. */
  place(document: TextLines): void {
    this.#drop(document, ({ mark }) => mark.line === undefined)
    for (const noted of this.#all()) this.#show(document, noted)
  }

  close(document: TextLines): void {
    this.#shown.delete(document)
  }

  /** The projects of the editor have become fewer. */
  forget(project: Project): void {
    const noted = [...(this.#noted.get(project)?.values() ?? [])]
    this.#noted.delete(project)
    for (const one of noted) this.#replace(one, [])
  }

  *#all(): Iterable<Noted> {
    for (const known of this.#noted.values()) yield* known.values()
  }

  /** Those that happened in a file; `document` where it is open. */
  diagnostics(path: string, document: TextLines | undefined): readonly Diagnostic[] {
    if (document !== undefined)
      return this.#shownIn(document)
        .filter(({ place }) => place.isOrigin)
        .map(({ noted, line }) => ({ ...about(noted), range: document.rangeOf(line) }))
    return [...this.#all()].flatMap(noted =>
      noted.places
        .filter(place => place.isOrigin && place.path === path)
        .map(({ line }) => ({
          ...about(noted),
          range: { start: { line, character: 0 }, end: { line: line + 1, character: 0 } },
        })),
    )
  }

  /** The newest error at each line, where it happened, and its values there, behind the line. */
  hints(document: TextLines, from: number, to: number): readonly InlayHint[] {
    const lines = new Map(this.#shownIn(document).map(shown => [shown.line, shown] as const))
    return [...lines].flatMap(([line, { noted, place }]): InlayHint[] => {
      if (line < from || line > to) return []
      const text = document.lines[line] ?? ''
      const name = place.isOrigin ? [short(oneLine(noted.row.what))] : []
      const label = [...name, ...valuesOn(text, place.frame)].join(' · ')
      if (label === '') return []
      const tooltip = [
        headOf(noted),
        ...place.frame.locals.map(one => `${one.name} = ${oneLine(one.repr)}`),
      ].join('\n')
      return [{ position: { line, character: text.length }, label, tooltip, paddingLeft: true }]
    })
  }

  /** What a name held when the error came whose frame is at that line. */
  heldAt(document: TextLines, line: number, name: string): string | undefined {
    const found = this.#shownIn(document).findLast(one => one.line === line)
    const local = found?.place.frame.locals.find(one => one.name === name)
    if (found === undefined || local === undefined) return undefined
    return `${name} = ${oneLine(local.repr)}\n${headOf(found.noted, true)}`
  }

  /** Where an expression is looked at whose first name is a variable of the newest error at that line. */
  frameAt(document: TextLines, line: number, expr: string): ErrorFrame | undefined {
    const [name] = /^[\p{L}_][\p{L}\p{N}_]*/u.exec(expr) ?? []
    const found = this.#shownIn(document).findLast(one => one.line === line)
    if (!found?.place.frame.locals.some(local => local.name === name)) return undefined
    const { kernel, number } = found.noted.row
    return { kernel, frame: `${found.place.frame.function} in error ${number}` }
  }

  /** The newest error last. */
  #shownIn(document: TextLines): readonly (Shown & { readonly line: number })[] {
    return (this.#shown.get(document) ?? [])
      .flatMap(shown => (shown.mark.line === undefined ? [] : [{ ...shown, line: shown.mark.line }]))
      .sort((one, other) => (one.noted.row.at < other.noted.row.at ? -1 : 1))
  }
}

/** `KeyError: None (request GET /orders/8, 2026-11-23 13:22:05, over 5 min ago, 12 times)`; the age where it is said again in time. */
function headOf({ row }: Noted, aged = false): string {
  return oneLine(`${row.what} (${errorFacts(row, aged ? ageOf(row.at).words : undefined).join(', ')})`)
}

const MINUTE_MS = 60_000

/** The ages that have words of their own: of 1 minute, 2 minutes, and so on. */
const AGES = (
  [
    ['min', MINUTE_MS, [1, 2, 5, 10, 30]],
    ['h', 60 * MINUTE_MS, [1, 2, 5, 12]],
    ['d', 24 * 60 * MINUTE_MS, [1, 2, 5, 10, 30]],
  ] as const
).flatMap(([unit, length, counts]) =>
  counts.map(count => ({ ms: count * length, words: `over ${count} ${unit} ago` })),
)

/** How long ago, in words that are true for `nextMs` more. None of what another clock puts into the future. */
function ageOf(at: string): { readonly words: string | undefined; readonly nextMs: number } {
  const age = Date.now() - Date.parse(at)
  const next = AGES.find(({ ms }) => ms > age)
  const words = AGES.findLast(({ ms }) => ms <= age)?.words ?? (age >= 0 ? 'under a minute ago' : undefined)
  return { words, nextMs: next === undefined ? Infinity : next.ms - age }
}

function about(noted: Noted): Omit<Diagnostic, 'range'> {
  const { row, places } = noted
  const callers = places.filter(({ isOrigin }) => !isOrigin).toReversed()
  return {
    severity: DiagnosticSeverity.Error,
    source: `imago, ${row.kernel}`,
    code: `#${row.number}`,
    message: headOf(noted, true),
    relatedInformation: callers.map(({ path, line, frame }) => ({
      location: {
        uri: pathToFileURL(path).href,
        range: { start: { line, character: 0 }, end: { line, character: 0 } },
      },
      message: `called from ${oneLine(frame.function)}`,
    })),
  }
}

/** `order={'id': 8, …}  rate=None`: the variables that the line names, if any. */
function valuesOn(text: string, { locals }: Frame): string[] {
  const words = new Set([...text.split(/[^\p{L}\p{N}_]+/u), ...text.split(/[\s()'`,]+/)])
  const named = locals.filter(({ name }) => words.has(name))
  const values = named.map(({ name, repr }) => `${name}=${short(oneLine(repr))}`)
  return values.length === 0 ? [] : [beginning(values.join('  '), HINT_LENGTH)]
}

const short = (text: string) => (text.length > VALUE_LENGTH ? `${beginning(text, VALUE_LENGTH)}…` : text)
