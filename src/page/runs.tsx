import type { TopicRows } from '../front/protocol.ts'
import { when } from './marks.ts'
import { Acts, Answered, Code, Lists, type ViewProps } from './parts.tsx'

type Run = TopicRows['runs']

/** The runs of the agent: what they did, and what they wait for. */
export function Runs({ page }: ViewProps) {
  const rows = page.rows('runs').map(run => ({
    key: run.run,
    lead: `${run.run} ${run.state}`,
    title: run.waits_for === null ? run.text : `${run.text} — waits for ${run.waits_for}`,
    more: when(run.at),
    detail: () => <OneRun page={page} run={run} />,
  }))
  rows.sort((one, other) => other.key.localeCompare(one.key, undefined, { numeric: true }))
  const none = 'There is no run. Begin one with: imago ask TEXT'
  return <Lists page={page} groups={[{ label: 'Runs of the agent', none, rows }]} />
}

function OneRun({ page, run: { run, state, waits_for } }: ViewProps & { run: Run }) {
  const isOver = ['done', 'partial', 'cancelled'].includes(state)
  const cancel = () =>
    page.act(page.client.request('cancel_run', { run }), () => `${run} is being cancelled.`)
  return (
    <>
      <Acts
        of={[
          waits_for !== null && ['Show what waits', '', () => page.show('Waits')],
          !isOver && ['Cancel it', '', cancel],
        ]}
      />
      <Answered ask={() => page.client.request('run', { run })} of={[page.turn]}>
        {({ text }) => <Code text={text} />}
      </Answered>
    </>
  )
}
