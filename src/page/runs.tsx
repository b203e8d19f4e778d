import type { Methods } from '../front/protocol.ts'
import { when } from './marks.ts'
import { Acts, Answered, Code, Lists, type ViewProps } from './parts.tsx'

type Run = Methods['runs']['result']['runs'][number]

/** The runs of the agent: what they did, and what they wait for. */
export const Runs = ({ page }: ViewProps) => (
  <Answered isPolled ask={() => page.client.request('runs', {})} of={[page.turn]}>
    {({ runs }) => {
      const rows = runs.map(run => ({
        key: run.run,
        lead: `${run.run} ${run.state}`,
        title: run.waits_for === null ? run.text : `${run.text} — waits for ${run.waits_for}`,
        more: when(run.at),
        detail: () => <OneRun page={page} run={run} />,
      }))
      const none = 'There is no run. Begin one with: imago ask TEXT'
      return <Lists page={page} groups={[{ label: 'Runs of the agent', none, rows }]} />
    }}
  </Answered>
)

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
      <Answered isPolled ask={() => page.client.request('run', { run })} of={[page.turn]}>
        {({ text }) => <Code text={text} />}
      </Answered>
    </>
  )
}
