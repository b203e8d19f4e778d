import type { ThreadsShown } from '../../tools/activity.ts'
import type { TopicRows } from '../front/protocol.ts'
import { inLine, marked, when } from './marks.ts'
import { Acts, Answered, FrameList, Lists, type ViewProps } from './parts.tsx'

type Row = TopicRows['kernels'] & { readonly heard: number }

/** The programs and their families, and what each thread does. A call joins one that only listens. */
export function Programs({ page }: ViewProps) {
  const kernels = page.rows('kernels')
  const isJoined = (pid: number) => kernels.some(row => row.pid === pid && row.state !== 'ended')
  const others = page.rows('programs').filter(({ pid }) => !isJoined(pid))
  const listening = others.map(({ name, attach, program, pid }) => {
    const more = `${program}, process ${pid}`
    const title = 'listens; open it to join it'
    return { key: attach, kernel: attach, lead: name, title, more, row: undefined }
  })
  const joined = kernels.map(row => {
    const more = `${row.implementation ?? row.language}, process ${row.pid ?? 'none'}${row.owned ? ', started by Imago' : ''}${row.attached?.helper ? ', a helper' : ''}`
    // It may have been opened under another name, NAME-PID.
    const key = page.opened?.endsWith(`-${row.pid}`) ? page.opened : row.name
    return { key, kernel: row.name, lead: row.name, title: stateOf(row), more, row }
  })
  // A program and the processes that it started are called `web`, `web/2` and so on.
  const rows = [...listening, ...joined]
    .sort((one, other) => one.lead.localeCompare(other.lead, undefined, { numeric: true }))
    .map(each => ({ ...each, detail: () => <OneProgram page={page} {...each} /> }))
  const none = 'No program runs. Start yours with: imago run -- COMMAND'
  return <Lists page={page} groups={[{ label: 'Programs of this project', none, rows }]} />
}

function stateOf({ state, running, suspended, message, heard }: Row): string {
  const runs = running === null ? '' : ` since ${when(heard - running.elapsed_ms)}`
  const waits = suspended === 0 ? '' : `, ${suspended} suspended`
  return `${state}${runs}${waits}${message === null ? '' : `: ${message.split('\n')[0]}`}`
}

function OneProgram({ page, kernel, row }: ViewProps & { kernel: string; row: Row | undefined }) {
  const interrupt = () =>
    page.act(page.client.request('interrupt', { name: kernel }), ({ message }) => message)
  return (
    <>
      {row?.message && <p class="bad">{marked(row.message)}</p>}
      <Acts
        of={[
          ['Look again', 'r', () => page.again()],
          row?.running != null && ['Interrupt what runs', '', interrupt],
        ]}
      />
      <Answered ask={() => page.tool<ThreadsShown>('threads', { kernel })} of={[page.turn]}>
        {({ threads, tasks, deadlocks = [], likely_deadlocks = [], notes }) => (
          <>
            {[...deadlocks, ...likely_deadlocks].map((circle, at) => (
              <p key={at} class="warning" role="alert">
                They {at < deadlocks.length ? 'wait' : 'are likely to wait'} for each other:{' '}
                {[...circle, ...circle.slice(0, 1)].map(inLine).join(' → ')}
              </p>
            ))}
            {[...threads, ...tasks].map(({ names, count, state, waits_for, frames }, at) => (
              <details key={at} open={frames.length > 0}>
                <summary>
                  <b>{names.map(inLine).join(', ')}</b> {count > 1 && `(${count}) `}
                  {state}
                  {waits_for !== null && ` for ${inLine(waits_for)}`}
                </summary>
                <FrameList page={page} frames={frames} kernel={kernel} within={`in ${names[0]}`} />
              </details>
            ))}
            {notes.map(note => (
              <p key={note}>{marked(note)}</p>
            ))}
          </>
        )}
      </Answered>
    </>
  )
}
