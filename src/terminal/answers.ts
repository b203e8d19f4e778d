import { homedir } from 'node:os'
import { z } from 'zod'
import type { Envelope } from '../../tools/outcome.ts'
import { isRunning } from '../../tools/outcome.ts'
import { isSuspendedDetails, withoutRestarts } from '../../tools/suspension-text.ts'
import { duration, linesOf, oneLine, REPORT_MARGIN, setIn } from '../../tools/text.ts'
import { messageOf } from '../../wire/errors.ts'
import { kernelsText } from '../front/commands/kernels.ts'
import type { Image } from '../front/image.ts'
import { noteText } from '../front/log/lines.ts'
import { type CallStory, EVERYTHING, type Note, type Story, showStories } from '../front/log/stories.ts'
import { commandFor, withoutOutput } from '../front/print.ts'
import type { EntryRead } from '../journal/reader.ts'
import { journalDir } from '../journal/segments.ts'
import { highlightTraceback, type Language, terminalLanguage } from './languages.ts'
import {
  afterOf,
  beforeOf,
  endOfRows,
  fitted,
  flowed,
  looking,
  plain,
  prose,
  type Span,
  textOf,
  widthOf,
} from './layout.ts'
import { Pager } from './pager.ts'
import type { Stage } from './screen.ts'
import type { Spoken } from './spoken.ts'
import type { Asked } from './syntax.ts'

/** How texts that may be long are shown: on the screen as far as they fit, and all of it a screen at a time. */
export interface Display {
  /** What came of an evaluation; of what is longer than the screen, the beginning. */
  answer(answer: Answer): void
  /** All of what was last shown only in part. */
  more(): Promise<void>
  /** A text that was asked for: a screen at a time where it is longer than one. */
  page(title: string, spans: readonly Span[]): Promise<void>
  /** What a tool has answered, as a person is shown it. */
  tool(tool: string, envelope: Envelope): Promise<void>
  /** What a name stands for, or its source. */
  describe(name: string, options: { readonly source: boolean; readonly call: CallTool }): Promise<void>
  /** The names that a pattern matches; of a single one, what it is for. */
  names(asked: Extract<Asked, { type: 'names' }>, call: CallTool): Promise<void>
  kernels(): Promise<void>
}

/** Calls a tool, and can be interrupted; undefined where it was left to itself. */
type CallTool = (tool: string, args: Readonly<Record<string, unknown>>) => Promise<Envelope | undefined>

/** Characters of one value that are fetched for reading at most. */
const MOST = 4_000_000

const STEP = 40_000

export function openDisplay(stage: Stage, image: Image, spoken: Spoken): Display {
  const highlight = (text: string) => spoken.language.highlight(text)
  let whole: (() => Promise<readonly Span[]>) | undefined

  async function page(title: string, spans: readonly Span[]) {
    const { columns, rows } = stage.size
    if (endOfRows(textOf(spans).trimEnd(), { columns, rows: rows - 1 }) === undefined) stage.print(spans)
    else await stage.page(new Pager({ title, spans, palette: stage.palette, size: stage.size }))
  }

  async function show({ title, tool, envelope }: { title: string; tool: string; envelope: Envelope }) {
    if (!envelope.ok) return stage.print(failureSpans(envelope))
    const { text } = await image.request('show', { tool, envelope: withoutOutput(envelope) })
    await page(title, shownSpans(tool, text, highlight))
  }

  async function rest({ begun, handle }: Rest): Promise<string> {
    let text = begun
    for (let from = [...begun].length; text.length < MOST; ) {
      const envelope = await image.call({ tool: 'read_more', args: { handle, from, limit: STEP } })
      const part = envelope.ok ? (envelope.result as { text?: unknown; next?: unknown }) : {}
      if (typeof part.text !== 'string') return text
      text += part.text
      if (typeof part.next !== 'number') return text
      from = part.next
    }
    return text
  }

  return {
    answer({ spans, rest: longer, failed }) {
      const { columns, rows } = stage.size
      // Of a failure, the end says the most.
      const end = failed
        ? undefined
        : endOfRows(textOf(spans).trimEnd(), { columns, rows: Math.max(3, rows - 4) })
      if (longer !== undefined) whole = async () => highlight(await rest(longer))
      else if (end !== undefined) whole = async () => spans
      if (end === undefined) stage.print(spans)
      else stage.print(ended(beforeOf(spans, end)))
      const hidden = end === undefined ? '' : textOf(afterOf(spans, end))
      const note = longer === undefined ? hiddenNote(hidden) : wholeNote(longer)
      if (note !== '') stage.print([looking('hint', `… ${note}; :more shows all of it\n`)])
    },

    async more() {
      if (whole === undefined) stage.print([looking('hint', 'Nothing was cut short.\n')])
      else await page('all of it', await whole())
    },

    page,

    tool: (tool, envelope) => show({ title: tool, tool, envelope }),

    describe,

    async names({ pattern, part, module, matches }, call) {
      const found: string[] = []
      let after: string | undefined
      do {
        const query = {
          filter: part,
          limit: NAMES,
          ...(module && { package: module }),
          ...(after && { after }),
        }
        const envelope = await call('apropos_search', query)
        if (envelope === undefined) return
        if (!envelope.ok) return stage.print(failureSpans(envelope))
        const answer = MATCHES.parse(envelope.result)
        found.push(...answer.matches.map(({ name }) => name).filter(matches))
        after = answer.next
      } while (after !== undefined)
      const [only] = found
      if (only === undefined) stage.print([looking('hint', `No name is like ${pattern}.\n`)])
      else if (found.length === 1) await describe(only, { source: false, call })
      else await page(pattern, [plain(inColumns(found, stage.size.columns))])
    },

    async kernels() {
      const known = await image.request('kernels', {})
      const text = kernelsText(known, homedir())
      await page('kernels', [plain(`${sentencesBroken(text, stage.size.columns)}\n`)])
    },
  }

  async function describe(name: string, { source, call }: { source: boolean; call: CallTool }) {
    if (spoken.language.tellsUsage) return await tellUsage(name, { source, call })
    const sought = source ? await call('symbol_definition', { symbols: [name] }) : undefined
    const definition = sought?.ok ? sought : undefined
    const tool = definition === undefined ? 'inspect' : 'symbol_definition'
    const envelope = definition ?? (await call('inspect', { expr: name }))
    if (envelope !== undefined) await show({ title: name, tool, envelope })
  }

  async function tellUsage(name: string, { source, call }: { source: boolean; call: CallTool }) {
    const envelope = await call('inspect', { expr: name, detail: 'brief' })
    if (envelope === undefined) return
    if (!envelope.ok) return stage.print(failureSpans(envelope))
    const { qualified, doc } = ABOUT.parse(envelope.result)
    const spans = [looking('title', `${qualified}\n`)]
    if (doc !== null) spans.push(plain(`${doc.text.trimEnd()}\n`))
    if (source || doc === null) {
      const definition = await call('symbol_definition', { symbols: [qualified] })
      if (definition === undefined) return
      const { text } = await image.request('show', { tool: 'symbol_definition', envelope: definition })
      // The name stands above it already.
      spans.push(...markdownSpans(text.replace(/^# .*\n/, '')))
    }
    await page(name, spans)
  }
}

/** Names that are asked for at once. */
const NAMES = 200

const MATCHES = z.object({ matches: z.array(z.object({ name: z.string() })), next: z.string().optional() })

const ABOUT = z.object({ qualified: z.string(), doc: z.object({ text: z.string() }).nullable() })

/** One below the other as far as that saves rows, in as many columns as there is room for. */
function inColumns(names: readonly string[], columns: number): string {
  const cell = Math.max(...names.map(widthOf)) + 2
  const rows = Math.ceil(names.length / Math.max(1, Math.floor(columns / cell)))
  return Array.from({ length: rows }, (_, row) => {
    const line = names.filter((_, index) => index % rows === row)
    return `${line
      .map(name => name + ' '.repeat(cell - widthOf(name)))
      .join('')
      .trimEnd()}\n`
  }).join('')
}

const ended = (spans: readonly Span[]) => (textOf(spans).endsWith('\n') ? spans : [...spans, plain('\n')])

function hiddenNote(hidden: string): string {
  const lines = hidden.trim().split('\n').length
  return hidden.trim() === ''
    ? ''
    : lines > 1
      ? `${lines} more lines`
      : `${hidden.trim().length} more characters`
}

const wholeNote = ({ begun, length }: Rest) =>
  length === null ? `cut at ${begun.length} characters` : `${length} characters`

/** A table whose sentences, which stand set in or behind it, are broken between words. */
export function sentencesBroken(table: string, columns: number): string {
  const broken = (line: string) => {
    const [margin = ''] = /^ {4}/.exec(line) ?? []
    if (margin === '' && !line.startsWith('Passed over:')) return line
    const flow = flowed([prose(undefined, line.slice(margin.length))], columns - margin.length)
    return textOf(flow).replace(/^/gm, margin)
  }
  return table.split('\n').map(broken).join('\n')
}

type Highlighter = (text: string) => Span[]

function shownSpans(tool: string, text: string, highlight: Highlighter): Span[] {
  if (tool === 'inspect') return inspectedSpans(text, highlight)
  return tool === 'symbol_definition' ? markdownSpans(text) : [plain(`${text.trimEnd()}\n`)]
}

/** Fenced code is coloured, and its fences are left out; headings stand out. */
function markdownSpans(text: string): Span[] {
  return text.split(/^(```[\s\S]*?^```$)/m).flatMap(part => {
    const [, language = '', code] = /^```(\w*)\n([\s\S]*?)\n?```$/.exec(part) ?? []
    if (code !== undefined) return [...terminalLanguage(language).highlight(code), plain('\n')]
    const lines = part.split('\n').filter(line => line.trim() !== '' && line !== '## Definition')
    return lines.map(line =>
      line.startsWith('#') ? looking('title', `${line.replace(/^#+ /, '')}\n`) : plain(`${line}\n`),
    )
  })
}

/** Headings stand out, and the source is coloured. */
function inspectedSpans(text: string, highlight: Highlighter): Span[] {
  return text
    .split('\n')
    .flatMap((line, index) => {
      const heading = /^(\w[\w ]*:)(.*)$/.exec(line)
      const end = index === 0 ? [] : [plain('\n')]
      if (heading === null) return [...end, ...(/^\s/.test(line) ? highlight(line) : [plain(line)])]
      return [...end, looking('title', heading[1] ?? ''), plain(heading[2] ?? '')]
    })
    .concat(plain('\n'))
}

/** What the console shows of an answer, and what of it was too long to be shown. */
interface Answer {
  readonly spans: readonly Span[]
  /** There is no value. */
  readonly failed: boolean
  /** A value of which the image holds more. */
  readonly rest?: Rest
}

interface Rest {
  readonly handle: string
  readonly begun: string
  /** Characters of the whole, where that is known. */
  readonly length: number | null
}

const TEXT = z.object({
  text: z.string(),
  truncated: z.boolean().optional(),
  original_len: z.number().nullable().optional(),
  handle: z.string().optional(),
})

const SHOWN = z.object({ repr: TEXT, type: z.object({ name: z.string(), module: z.string().nullable() }) })

const EVALUATION = z.object({
  values: z.array(SHOWN),
  input_line: z.number().optional(),
  displays: z
    .array(z.object({ text: z.string().optional(), for_people: z.boolean().optional() }))
    .default([]),
})

const LEFT = z.object({
  status: z.literal('left'),
  acted_on: z.string(),
  newest: z.object({ id: z.string() }).nullish(),
})

const RETURNED = z.object({ acted_on: z.string(), returned_to_owner: z.literal(true) })

const NOTICE = z.object({ notice: z.string() })

const RAISED = z.object({
  exception: z.object({ traceback: z.string().min(1) }),
})

/** What came of an evaluation, in that language. */
export function evaluated(envelope: Envelope, language: Pick<Language, 'highlight' | 'numbering'>): Answer {
  const notice = NOTICE.safeParse(envelope.ok ? envelope.result : envelope.error.details)
  const first = notice.success ? [prose('hint', `${notice.data.notice}\n`)] : []
  if (!envelope.ok) return { spans: [...first, ...failureSpans(envelope)], failed: true }
  if (isRunning(envelope.result)) {
    const { job, kernel } = envelope.result
    return { spans: [...first, prose('error', stillRuns(job, kernel))], failed: true }
  }
  const left = LEFT.safeParse(envelope.result)
  if (left.success) return { spans: [...first, prose('hint', `${leftLine(left.data)}\n`)], failed: false }
  const returned = RETURNED.safeParse(envelope.result)
  if (returned.success) first.push(prose('hint', `${returned.data.acted_on} ${ELSEWHERE}\n`))
  const read = EVALUATION.safeParse(envelope.result)
  const values = read.success ? read.data.values.filter(value => !isNothing(value)) : []
  const cut = values.find(({ repr }) => repr.truncated && repr.handle !== undefined)?.repr
  return {
    failed: false,
    spans: [...first, ...values.flatMap(value => valueSpans(value, read.data ?? {}, language))],
    ...(cut?.handle !== undefined && {
      rest: { handle: cut.handle, begun: cut.text, length: cut.original_len ?? null },
    }),
  }
}

/** A value as it is read, or its text for people; behind its number, if it has one. */
function valueSpans(
  { repr, type }: z.output<typeof SHOWN>,
  { input_line: number, displays }: Partial<Pick<z.output<typeof EVALUATION>, 'input_line' | 'displays'>>,
  { highlight, numbering }: Pick<Language, 'highlight' | 'numbering'>,
): Span[] {
  const printed = displays?.find(one => one.for_people)
  const label = number === undefined ? '' : (numbering?.label(number, type.name) ?? '')
  const text = printed?.text ?? repr.text
  // What has columns of its own begins at the margin.
  const lead = label !== '' && text.includes('\n') ? `${label.trimEnd()}\n` : label
  const spans = printed === undefined ? highlight(text) : [plain(text)]
  return [...(lead === '' ? [] : [looking('prompt', lead)]), ...spans, plain('\n')]
}

/** Which one it was, and which the newest is now. */
function leftLine(left: z.output<typeof LEFT>): string {
  const next = left.newest?.id === undefined ? '' : ` ${left.newest.id} is the newest now.`
  return `${left.acted_on} was given up.${next}`
}

const ELSEWHERE = 'goes on where it was called; what it comes to is shown there.'

const stillRuns = (job: string, kernel: string | null) =>
  `It was interrupted and still runs (${job}). ` +
  `:job ${job} action=wait waits for it, :restart ${kernel ?? 'NAME'} ends the image and all that is in it.\n`

/** Python's `None` says nothing. */
const isNothing = ({ type }: z.output<typeof SHOWN>) => type.name === 'NoneType' && type.module === 'builtins'

/** The language's own report, where there is one; it says more than our sentence does. */
export function failureSpans({ error }: Extract<Envelope, { ok: false }>): Span[] {
  const raised = RAISED.safeParse(error.details)
  const { suspension } = error.details
  const restarts = isSuspendedDetails(suspension) ? suspension.restarts : []
  const text = raised.success ? withoutRestarts(raised.data.exception.traceback.trimEnd(), restarts) : ''
  // Its messages are the program's: set in, none of their lines reads as one of ours.
  const report = text === '' ? [] : highlightTraceback(linesOf(text).join('\n'), REPORT_MARGIN)
  if (report.length > 0 && error.code === 'exception') return [...report, plain('\n')]
  const message = error.code === 'exception' ? setIn(error.message) : error.message
  const next = commandFor(error)
  return [
    ...report,
    ...(report.length > 0 ? [plain('\n')] : []),
    ...(error.code === 'interrupted'
      ? [prose('hint', `${message}\n`)]
      : [looking('failure', error.code), prose(undefined, `: ${message}\n`)]),
    ...(next === null ? [] : [prose('hint', `${next}\n`)]),
  ]
}

/** Characters of the arguments that a line shows. */
const ARGUMENTS = 200

interface TailOptions {
  readonly stateDir: string
  readonly count: number
  readonly columns: number
}

/**
 * The last calls of the journal and what became of suspended evaluations, one in a line, oldest first. What the console
 * asks while one types is left out.
 */
export async function journalSpans({ stateDir, count, columns }: TailOptions): Promise<Span[]> {
  const place = { dir: journalDir(stateDir), signal: new AbortController().signal }
  const spans: Span[] = []
  const show = (story: Story) => {
    if (isCall(story)) spans.push(...lineSpans(story, columns))
    else if (isNews(story)) spans.push(...newsSpans(story.entry, columns))
  }
  const also = (story: Story) => isCall(story) || isNews(story)
  try {
    await showStories(place, { filter: { ...EVERYTHING, count, also }, show })
  } catch (error) {
    return [looking('error', `The journal cannot be read: ${messageOf(error)}\n`)]
  }
  return spans.length === 0 ? [looking('hint', 'Nothing was called yet.\n')] : spans
}

const isCall = (story: Story): story is CallStory =>
  story.type === 'call' && story.began !== undefined && story.began.tool !== 'complete'

const isNews = (story: Story): story is Note => story.type === 'note' && story.entry.type === 'suspension'

/** What became of a suspended evaluation, and by whom. */
function newsSpans(entry: EntryRead, columns: number): Span[] {
  const time = `${clock(entry.time)} `
  const text = fitted(oneLine(noteText(entry).text), Math.max(8, columns - time.length - 1))
  return [looking('hint', time), plain(`${text}\n`)]
}

/** Characters of the name of whoever has called. */
const CALLER = 14

function lineSpans(story: CallStory, columns: number): Span[] {
  const { time, began, elapsedMs } = story
  const tool = began?.tool ?? ''
  const outcome = story.outcome ?? (story.dispatched ? 'under way' : (story.decided?.answer ?? 'asks'))
  const good = outcome === 'ok' || outcome === 'under way'
  const took = elapsedMs === undefined ? '' : duration(elapsedMs)
  const kernel = began?.kernel ?? '-'
  const caller = fitted(oneLine(began?.who ?? began?.caller ?? '-'), CALLER).padEnd(CALLER)
  const head = `${clock(time)} ${tool.padEnd(14)} ${outcome.padEnd(9)} ${took.padStart(7)} ${kernel} ${caller} `
  const room = Math.max(8, columns - widthOf(head) - 1)
  return [
    looking('hint', head.slice(0, 9)),
    plain(head.slice(9, 9 + tool.padEnd(14).length + 1)),
    looking(good ? 'hint' : 'error', head.slice(9 + tool.padEnd(14).length + 1)),
    plain(`${fitted(shortened(began?.args), room)}\n`),
  ]
}

/** A single text stands for itself. */
function shortened(args: unknown): string {
  const values = typeof args === 'object' && args !== null ? Object.values(args) : []
  const text = typeof values[0] === 'string' && isAlone(args) ? values[0] : (JSON.stringify(args) ?? '')
  return oneLine(text.slice(0, ARGUMENTS))
}

/** How it was called, and not what with. */
const BESIDES = ['patience', 'kernel', 'on_error']

const isAlone = (args: unknown) =>
  Object.keys(args as object).filter(name => !BESIDES.includes(name)).length === 1

/** In the person's own time. */
function clock(time: string): string {
  const date = new Date(time)
  return Number.isNaN(date.getTime()) ? time : date.toTimeString().slice(0, 8)
}
