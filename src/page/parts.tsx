import { useEffect, useState } from 'preact/hooks'
import { Fault } from './client.ts'
import { useKeys } from './keys.ts'
import { inLine, marked } from './marks.ts'
import type { Topic } from './rows.ts'
import type { Envelope, Page } from './state.ts'

export interface ViewProps {
  readonly page: Page
}

/** Code or output of somebody else: text, with marks. */
export const Code = ({ text }: { text: string }) => <pre class="code">{marked(text)}</pre>

/** What a person can do: its label, its key, or '' for none, what it does, and whether it is meant most. */
export type Act = readonly [label: string, key: string, act: () => void, isMain?: true]

/** Buttons in a row, and their keys. */
export function Acts({ of, depth = 1 }: { of: readonly (Act | false)[]; depth?: number }) {
  const acts = of.filter(act => act !== false)
  useKeys(depth, Object.fromEntries(acts.filter(([, key]) => key !== '').map(([, key, act]) => [key, act])))
  return (
    <p class={depth > 1 ? 'buttons' : ''}>
      {acts.map(([label, key, act, isMain]) => (
        <button key={label} type="button" class={isMain ? 'main' : ''} onClick={act} aria-keyshortcuts={key}>
          {label}
          {key !== '' && <kbd>{key}</kbd>}
        </button>
      ))}
    </p>
  )
}

/** One row of a list. */
export interface ListRow {
  readonly key: string
  /** What it is of, what it is, and what is said besides. */
  readonly lead: string
  readonly title: string
  readonly more?: string
  /** It is to be looked at. */
  readonly isBad?: boolean
  /** Left out: it cannot be opened. */
  readonly open?: () => void
  /** Shown below it. */
  readonly below?: string | undefined
}

/** Rows to walk through with `j` and `k`, and to open with Enter. */
export function List({ label, rows, none }: { label: string; rows: readonly ListRow[]; none?: string }) {
  const [at, move] = useState(0)
  const here = Math.min(at, rows.length - 1)
  const [down, up] = [() => move(Math.min(here + 1, rows.length - 1)), () => move(Math.max(here - 1, 0))]
  useKeys(1, { j: down, k: up, ArrowDown: down, ArrowUp: up, Enter: () => rows[here]?.open?.() })
  return (
    <section aria-label={label}>
      <h2>{label}</h2>
      {rows.length === 0 && <p class="quiet">{none}</p>}
      <ul class="rows">
        {rows.map(({ key, lead, title, more = '', isBad, open, below }, index) => (
          <li key={key} class={index === here ? 'here' : ''}>
            <button type="button" class="row" onClick={open} disabled={open === undefined}>
              <code>{inLine(lead)}</code>
              <span>{inLine(title)}</span>
              <span class={isBad ? 'bad' : 'quiet'}>{inLine(more)}</span>
            </button>
            {below !== undefined && <Code text={below} />}
          </li>
        ))}
      </ul>
    </section>
  )
}

/** What an answer came to: nothing yet, the answer, or why there is none. */
export type Answer<Result> = { result: Result } | { failed: string } | undefined

/** Asks when it is first drawn, and again where `of` has changed. What was there stays until the next is. */
export function useAnswer<Result>(
  ask: () => Promise<Result> | undefined,
  of: readonly unknown[],
): Answer<Result> {
  const [answer, set] = useState<Answer<Result>>(undefined)
  useEffect(() => {
    let isMeant = true
    ask()?.then(
      result => isMeant && set({ result }),
      (error: unknown) => {
        const failed = error instanceof Fault ? [error.message, error.next ?? ''].join(' ') : String(error)
        if (isMeant && !(error instanceof Fault && error.code === 'lost')) set({ failed })
      },
    )
    return () => {
      isMeant = false
    }
  }, of)
  return answer
}

/** How long rows have to stand still before what depends on them is asked for again, in milliseconds; at least so often all the same. */
const [QUIET_MS, OFTEN_MS] = [300, 4_000]

/** Another number once rows of these topics have changed, but not with each change. */
export function useChanges(page: Page, topics: readonly Topic[]): number {
  const changes = page.rows.changesOf(topics)
  const [settled, settle] = useState(changes)
  const [since] = useState(() => ({ at: performance.now() }))
  useEffect(() => {
    if (changes === settled) {
      since.at = performance.now()
      return
    }
    const left = Math.max(0, Math.min(QUIET_MS, since.at + OFTEN_MS - performance.now()))
    const timer = setTimeout(() => settle(changes), left)
    return () => clearTimeout(timer)
  }, [changes, settled])
  return settled
}

/** Whether an answer is there, and else what is said in its place. */
export function Pending({ answer, what }: { answer: Answer<unknown>; what: string }) {
  if (answer === undefined) return <p class="quiet">Looking for {what} …</p>
  return 'failed' in answer ? <p class="bad">{marked(answer.failed)}</p> : null
}

/** What a tool answered, where it is a fault: with the next step. */
export function Failure({ envelope }: { envelope: Envelope }) {
  if (envelope.ok) return null
  const { code, message, next } = envelope.error
  return (
    <p class="bad" role="alert">
      <b>{code}</b> {marked(message)}
      {next !== null && <span class="quiet"> {marked(next)}</span>}
    </p>
  )
}

export interface Frame {
  readonly function: string
  readonly file: string
  readonly line: number
  readonly source: string
  readonly own: boolean
  readonly locals: readonly { name: string; type_name: string; repr: string }[]
}

export type Frames = readonly (Frame | { readonly folded: number; readonly libraries: readonly string[] })[]

/** Frames as a program has them, the innermost last; those of libraries are one line. */
export const FrameList = ({ frames }: { frames: Frames }) => (
  <ol class="frames">
    {frames.map((frame, at) =>
      'folded' in frame ? (
        <li key={at} class="quiet">
          {frame.folded} frames of {frame.libraries.join(', ')}
        </li>
      ) : (
        <li key={at} class={frame.own ? 'own' : 'library'}>
          <b>{marked(frame.function)}</b>{' '}
          <span class="quiet">
            {marked(frame.file)}:{frame.line}
          </span>
          {frame.source !== '' && <Code text={frame.source} />}
          {frame.locals?.length > 0 && (
            <dl class="values">
              {frame.locals.map(({ name, type_name, repr }) => (
                <div key={name}>
                  <dt>{marked(name)}</dt>
                  <dd title={type_name}>{marked(repr)}</dd>
                </div>
              ))}
            </dl>
          )}
        </li>
      ),
    )}
  </ol>
)

/** Seconds, minutes or hours, for a person. */
export function span(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (seconds < 120) return `${seconds} s`
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`
}
