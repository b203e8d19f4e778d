import { useState } from 'preact/hooks'
import { inLine, marked } from './marks.ts'
import {
  Acts,
  Failure,
  FrameList,
  type Frames,
  List,
  Pending,
  span,
  useAnswer,
  useChanges,
  type ViewProps,
} from './parts.tsx'
import type { KernelRow } from './rows.ts'
import type { Envelope } from './state.ts'

/** What `threads` tells. */
interface Threads {
  readonly threads: readonly Thread[]
  readonly tasks: readonly Thread[]
  readonly deadlocks?: readonly (readonly string[])[]
  readonly likely_deadlocks?: readonly (readonly string[])[]
  readonly omitted: number
  readonly notes: readonly string[]
}

interface Thread {
  readonly names: readonly string[]
  readonly count: number
  readonly state: string
  readonly waits_for: string | null
  readonly frames: Frames
}

type Row = Omit<KernelRow, 'background'>

/** The programs and their families, and what each thread does. */
export function Programs({ page }: ViewProps) {
  const [opened, open] = useState<string>()
  // A program and the processes that it started are called `web`, `web/2` and so on.
  const rows = [...page.rows.of('kernels')].sort((one, other) =>
    one.name.localeCompare(other.name, undefined, { numeric: true }),
  )
  const changes = useChanges(page, ['kernels'])
  const answer = useAnswer(() => page.client.request('kernels', {}), [changes, page.state])
  const announced = answer !== undefined && 'result' in answer ? answer.result.announced : []
  const join = (target: string) =>
    void page.client.request('attach', { target }).catch(error => page.say(error.message))
  const row = rows.find(({ name }) => name === opened)
  if (row !== undefined) return <OneProgram page={page} row={row} back={() => open(undefined)} />
  const suspended = page.rows.of('suspensions').filter(({ news }) => news.type !== 'ended')
  return (
    <>
      <List
        label="Programs of this project"
        none="None runs. Start yours with: imago run -- COMMAND"
        rows={[
          ...announced.map(({ name, pid, program, attach }) => ({
            key: attach,
            lead: name,
            title: 'listens; open it to join it',
            more: `${program}, process ${pid}`,
            open: () => join(attach),
          })),
          ...rows.map(row => ({
            key: row.name,
            lead: row.name.includes('/') ? `  ${row.name}` : row.name,
            title: stateOf(row),
            more: `${row.implementation ?? row.language}${row.pid === null ? '' : `, process ${row.pid}`}${row.owned ? ', started by Imago' : ''}${row.attached?.helper ? ', a helper' : ''}`,
            open: () => open(row.name),
          })),
        ]}
      />
      {suspended.length > 0 && (
        <List
          label="Evaluations that wait where an error happened"
          rows={suspended.map(({ kernel, id, message, who }) => ({
            key: `${kernel} ${id}`,
            lead: `${kernel} ${id}`,
            title: message,
            more: `for ${who}`,
          }))}
        />
      )}
    </>
  )
}

function stateOf({ state, running, suspended, message }: Row): string {
  const runs = running === null ? '' : ` for ${span(running.elapsed_ms)}`
  const waits = suspended === 0 ? '' : `, ${suspended} suspended`
  return `${state}${runs}${waits}${message === null ? '' : `: ${message.split('\n')[0]}`}`
}

function OneProgram({ page, row, back }: ViewProps & { row: Row; back(): void }) {
  const [times, again] = useState(0)
  const answer = useAnswer<Envelope>(() => page.call('threads', { kernel: row.name }), [row.name, times])
  const envelope = answer !== undefined && 'result' in answer ? answer.result : undefined
  const told = envelope?.ok ? (envelope.result as Threads) : undefined
  const interrupt = () =>
    void page.client.request('interrupt', { name: row.name }).then(
      ({ message }) => page.say(message),
      error => page.say(error.message),
    )
  return (
    <article aria-label="Program">
      <h2>
        {inLine(row.name)} <span class="quiet">{row.state}</span>
      </h2>
      {row.message !== null && <p class="bad">{marked(row.message)}</p>}
      <Acts
        of={[
          ['Look again', 'r', () => again(times + 1)],
          row.running !== null && ['Interrupt what runs', '', interrupt],
          ['Back', 'q', back],
        ]}
      />
      <Pending answer={answer} what="its threads" />
      {envelope !== undefined && <Failure envelope={envelope} />}
      {told !== undefined && (
        <>
          {[...(told.deadlocks ?? []), ...(told.likely_deadlocks ?? [])].map(circle => (
            <p key={circle.join()} class="warning" role="alert">
              They wait, or are likely to wait, for each other: {circle.map(inLine).join(' → ')}
            </p>
          ))}
          <ThreadList title="Threads" all={told.threads} />
          <ThreadList title="Tasks" all={told.tasks} />
          {told.notes.map(note => (
            <p key={note} class="quiet">
              {marked(note)}
            </p>
          ))}
        </>
      )}
    </article>
  )
}

function ThreadList({ title, all }: { title: string; all: readonly Thread[] }) {
  if (all.length === 0) return null
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {all.map(({ names, count, state, waits_for, frames }) => (
        <details key={names.join()} open={frames.length > 0}>
          <summary>
            <b>{names.map(inLine).join(', ')}</b> {count > 1 && `(${count}) `}
            <span class="quiet">
              {state}
              {waits_for !== null && ` for ${inLine(waits_for)}`}
            </span>
          </summary>
          <FrameList frames={frames} />
        </details>
      ))}
    </section>
  )
}
