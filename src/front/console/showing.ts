import { homedir } from 'node:os'
import type { Envelope } from '../../../tools/outcome.ts'
import { withoutOutput } from '../envelopes.ts'
import type { Image } from '../image.ts'
import { kernelsText } from '../kernel-table.ts'
import { type Answer, failureSpans, type Rest } from './answers.ts'
import { languageNamed, type Spoken } from './languages.ts'
import { endOfRows, flowed } from './layout.ts'
import { Pager } from './pager.ts'
import type { Stage } from './stage.ts'
import { afterOf, beforeOf, looking, plain, prose, type Span, textOf } from './style.ts'

/** How texts that may be long are shown: on the screen as far as they fit, and all of it a screen at a time. */
export interface Showing {
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
  kernels(): Promise<void>
}

/** Calls a tool, and can be interrupted; undefined where it was left to itself. */
export type CallTool = (
  tool: string,
  args: Readonly<Record<string, unknown>>,
) => Promise<Envelope | undefined>

/** Characters of one value that are fetched for reading at most. */
const MOST = 4_000_000
const STEP = 40_000

export function openShowing(stage: Stage, image: Image, spoken: Spoken): Showing {
  const highlight = (text: string) => spoken.language.highlight(text)
  let whole: (() => Promise<readonly Span[]>) | undefined

  async function page(title: string, spans: readonly Span[]) {
    const { columns, rows } = stage.size
    if (endOfRows(textOf(spans).trimEnd(), { columns, rows: rows - 1 }) === undefined) stage.print(spans)
    else await stage.page(new Pager({ title, spans, palette: stage.palette, size: stage.size }))
  }

  async function rest({ begun, handle }: Rest): Promise<string> {
    let text = begun
    for (let from = [...begun].length; text.length < MOST; ) {
      const envelope = await image.call({ tool: 'read_more', args: { handle, from, count: STEP } })
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

    async tool(tool, envelope) {
      if (!envelope.ok) return stage.print(failureSpans(envelope))
      const { text } = await image.request('show', { tool, envelope: withoutOutput(envelope) })
      await page(tool, shownSpans(tool, text, highlight))
    },

    async describe(name, { source, call }) {
      const sought = source ? await call('symbol_definition', { symbols: [name] }) : undefined
      const definition = sought?.ok ? sought : undefined
      const tool = definition === undefined ? 'inspect' : 'symbol_definition'
      const envelope = definition ?? (await call('inspect', { expr: name }))
      if (envelope === undefined) return
      if (!envelope.ok) return stage.print(failureSpans(envelope))
      const { text } = await image.request('show', { tool, envelope: withoutOutput(envelope) })
      await page(name, shownSpans(tool, text, highlight))
    },

    async kernels() {
      const known = await image.request('kernels', {})
      const text = kernelsText(known, homedir())
      await page('kernels', [plain(`${sentencesBroken(text, stage.size.columns)}\n`)])
    },
  }
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

type Colouring = (text: string) => Span[]

function shownSpans(tool: string, text: string, highlight: Colouring): Span[] {
  if (tool === 'inspect') return inspectedSpans(text, highlight)
  return tool === 'symbol_definition' ? markdownSpans(text) : [plain(`${text.trimEnd()}\n`)]
}

/** Fenced code is coloured, and its fences are left out; headings stand out. */
function markdownSpans(text: string): Span[] {
  return text.split(/^(```[\s\S]*?^```$)/m).flatMap(part => {
    const [, language = '', code] = /^```(\w*)\n([\s\S]*?)\n?```$/.exec(part) ?? []
    if (code !== undefined) return [...languageNamed(language).highlight(code), plain('\n')]
    const lines = part.split('\n').filter(line => line.trim() !== '' && line !== '## Definition')
    return lines.map(line =>
      line.startsWith('#') ? looking('title', `${line.replace(/^#+ /, '')}\n`) : plain(`${line}\n`),
    )
  })
}

/** Headings stand out, and the source is coloured. */
function inspectedSpans(text: string, highlight: Colouring): Span[] {
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
