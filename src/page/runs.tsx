import { useEffect, useState } from 'preact/hooks'
import { useKeys } from './keys.ts'
import { inLine } from './marks.ts'
import { Acts, Code, List, Pending, useAnswer, useChanges, type ViewProps } from './parts.tsx'

/** How often a run that works is read again, in milliseconds: what its model says changes no row. */
const AGAIN_MS = 2_000

/** The runs of the agent: what they did, and what they wait for. */
export function Runs({ page }: ViewProps) {
  const [opened, open] = useState<string>()
  const changes = useChanges(page, ['approvals', 'calls'])
  const [times, again] = useState(0)
  const answer = useAnswer(() => page.client.request('runs', {}), [changes, times, page.state])
  const runs = answer !== undefined && 'result' in answer ? answer.result.runs : []
  const works = runs.some(({ state }) => state === 'works')
  useEffect(() => {
    if (!works) return
    const timer = setInterval(() => again(before => before + 1), AGAIN_MS)
    return () => clearInterval(timer)
  }, [works])
  useKeys(0, { r: () => again(times + 1) })
  if (opened !== undefined)
    return <OneRun page={page} run={opened} changes={changes + times} back={() => open(undefined)} />
  return (
    <>
      <Pending answer={answer} what="runs" />
      <List
        label="Runs of the agent"
        none="There is none. Begin one with: imago ask TEXT"
        rows={runs.map(({ run, state, text, waits_for, at }) => ({
          key: run,
          lead: `${run} ${state}`,
          title: waits_for === null ? text : `${text} — waits for ${waits_for}`,
          more: new Date(at).toLocaleString(),
          open: () => open(run),
        }))}
      />
    </>
  )
}

interface OneProps extends ViewProps {
  readonly run: string
  readonly changes: number
  back(): void
}

function OneRun({ page, run, changes, back }: OneProps) {
  const answer = useAnswer(() => page.client.request('run', { run }), [run, changes, page.state])
  const row = answer !== undefined && 'result' in answer ? answer.result : undefined
  const act = (method: 'cancel_run' | 'resume_run', said: string) =>
    void page.client.request(method, { run }).then(
      () => page.say(said),
      error => page.say(error.message),
    )
  const isOpen = row !== undefined && !['done', 'partial', 'cancelled'].includes(row.state)
  return (
    <article aria-label="Run">
      <h2>
        {run} <span class="quiet">{row?.state}</span>
      </h2>
      <Pending answer={answer} what="the run" />
      {row?.waits_for != null && <p class="warning">It waits for {inLine(row.waits_for)}</p>}
      <Acts
        of={[
          row?.waits_for != null && ['Show what waits', '', () => page.show('waits')],
          isOpen && ['Cancel it', '', () => act('cancel_run', `${run} is being cancelled.`)],
          isOpen &&
            row.state !== 'works' && ['Go on with it', '', () => act('resume_run', `${run} goes on.`)],
          ['Back', 'q', back],
        ]}
      />
      {row?.entries.map(({ type, at, text }, index) => (
        <section key={index} class={`entry ${type}`} aria-label={type}>
          <p class="quiet">
            {type} {new Date(at).toLocaleTimeString()}
          </p>
          <Code text={text} />
        </section>
      ))}
    </article>
  )
}
