import { useState } from 'preact/hooks'
import type { Evaluation } from '../../tools/evaluate.ts'
import type { Methods } from '../front/protocol.ts'
import { inLine } from './marks.ts'
import { Acts, Answered, Code, Tree, type ViewProps } from './parts.tsx'
import type { Page } from './state.ts'

/** One expression that was run, or looked at. */
interface Asked {
  readonly expr: string
  readonly kernel: object
  looks: boolean
  /** What it printed by now, and then what came of it. */
  text: string
  result: Partial<Evaluation>
  /** While it runs, or waits. */
  stop?: (() => void) | undefined
  isBehind?: boolean
}

/** The newest first. They stay while the tab is there. */
const past: Asked[] = []
const MOST = 50
/** What is typed and not run yet. */
let draft = ''

/** A flood of output is not drawn whole. */
const OUTPUT_CHARS = 100_000

/** One expression after the other: run in a program, or looked at without running anything. */
export function Expression({ page }: ViewProps) {
  const [expr, show] = useState(draft)
  const set = (text: string) => {
    draft = text
    show(text)
  }
  const [kernel, choose] = useState('')
  const [back, go] = useState(0)
  const ask = (looks: boolean) => {
    if (expr.trim() === '') return
    const asked = { expr, kernel: kernel === '' ? {} : { kernel }, looks, text: '', result: {} }
    past.unshift(asked)
    past.splice(MOST)
    if (!looks) void run(page, asked)
    set('')
    go(0)
  }
  /** Puts an older one, or a newer one, in the place of one that was not changed. */
  const recall = (at: number) => {
    if (at < 0 || at > past.length || expr !== (past[back - 1]?.expr ?? '')) return
    go(at)
    set(past[at - 1]?.expr ?? '')
  }
  return (
    <>
      <label>
        An expression, or statements; ↑ and ↓ recall the last ones
        <textarea
          rows={3}
          spellcheck={false}
          value={expr}
          onInput={({ currentTarget }) => set(currentTarget.value)}
          onKeyDown={({ key, ctrlKey, shiftKey }) => {
            if (key === 'Enter' && ctrlKey) ask(shiftKey)
            if (key === 'ArrowUp') recall(back + 1)
            if (key === 'ArrowDown') recall(back - 1)
          }}
        />
      </label>
      <label>
        in{' '}
        <select value={kernel} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          <option value="">the program of the project</option>
          {page.rows('kernels').map(({ name }) => (
            <option key={name} value={name} label={inLine(name)} />
          ))}
        </select>
      </label>
      <Acts
        of={[
          ['Run (Ctrl-Enter)', '', () => ask(false), true],
          ['Look, and run nothing (Ctrl-Shift-Enter)', '', () => ask(true)],
        ]}
      />
      {past.map((asked, index) => (
        <article key={past.length - index} aria-label="Expression">
          <Code text={asked.expr} />
          {asked.looks ? <Tree page={page} {...asked} isOpen /> : <Came page={page} asked={asked} />}
          <Acts of={[asked.looks && ['Run it', '', () => void run(page, asked)]]} />
        </article>
      ))}
    </>
  )
}

async function run(page: Page, asked: Asked): Promise<void> {
  const { expr, kernel } = asked
  asked.looks = false
  const params = { tool: 'eval_expr', args: { expr, ...kernel }, call: crypto.randomUUID(), follow: true }
  const { answer, cancel } = page.client.call('call', params, (event: { text?: string; behind?: string }) => {
    asked.text = (asked.text + (event.text ?? '')).slice(-OUTPUT_CHARS)
    asked.isBehind = event.behind !== undefined
    page.drawSoon()
  })
  asked.stop = cancel
  page.drawSoon()
  try {
    const envelope = await answer
    if (envelope.ok) asked.result = envelope.result as Partial<Evaluation>
    const { value_repr, output = '' } = asked.result
    asked.text =
      value_repr === undefined ? await page.text('eval_expr', envelope) : `${output}${value_repr ?? ''}`
  } catch (error) {
    asked.text += String(error)
  }
  asked.stop = undefined
  page.draw()
}

function Came({ page, asked: { text, result, kernel, stop, isBehind } }: ViewProps & { asked: Asked }) {
  const { displays = [], handle } = result
  const does = isBehind ? 'waits for the one before' : 'runs'
  return (
    <>
      {text !== '' && <Code text={text} />}
      {stop !== undefined && <Acts of={[[`It ${does}: stop it`, '', stop]]} />}
      {displays
        .flatMap(({ files = [] }) => files)
        .map(({ path }) => (
          <Answered key={path} ask={() => page.client.request('display', { path })} of={[]}>
            {display => <Shown display={display} />}
          </Answered>
        ))}
      {handle !== undefined && <Tree page={page} expr={handle} kernel={kernel} short="Look into it" />}
    </>
  )
}

function Shown({ display: { data, media_type, bytes } }: { display: Methods['display']['result'] }) {
  if (data === null) return <p class="quiet">{bytes} bytes are too many to be shown here.</p>
  if (media_type === 'image/png') return <img alt="A figure" src={`data:image/png;base64,${data}`} />
  const html = Uint8Array.from(atob(data), character => character.charCodeAt(0))
  return <Tables html={new TextDecoder().decode(html)} />
}

/** So many rows of a table are drawn. */
const ROWS = 200

/** Of a page that the program made, the tables, cell by cell as text: none of its markup becomes a part of this page. */
function Tables({ html }: { html: string }) {
  const made = new DOMParser().parseFromString(html, 'text/html')
  const tables = [...made.querySelectorAll('table')]
  if (tables.length === 0) return <Code text={made.body.textContent} />
  return tables.map(({ rows }, at) => (
    <table key={at}>
      {[...rows].slice(0, ROWS).map(({ cells }, at) => (
        <tr key={at}>
          {[...cells].map(({ tagName, textContent }, at) => {
            const Cell = tagName === 'TH' ? 'th' : 'td'
            return <Cell key={at}>{inLine(textContent)}</Cell>
          })}
        </tr>
      ))}
      {rows.length > ROWS && <caption>{rows.length - ROWS} more rows</caption>}
    </table>
  ))
}
