import { useState } from 'preact/hooks'
import type { Methods } from '../front/protocol.ts'
import { Acts, List, Pending, useAnswer, useChanges, type ViewProps } from './parts.tsx'

type Story = Methods['journal']['result']['stories'][number]

const MOST = 500
const STEP = 100

/** Who asked, what was decided and by whom, and what came of it: the newest first. */
export function Journal({ page }: ViewProps) {
  const [looks, show] = useState(false)
  const [count, more] = useState(STEP)
  const [opened, open] = useState<string>()
  const isSeated = page.seat.type === 'seated'
  const changes = useChanges(page, ['approvals', 'calls', 'kernels', 'seats'])
  const answer = useAnswer(
    () => (isSeated ? page.client.request('journal', { count, looks }) : undefined),
    [isSeated, count, looks, changes],
  )
  const stories = answer !== undefined && 'result' in answer ? [...answer.result.stories].reverse() : []
  if (!isSeated)
    return (
      <>
        <h2>Journal</h2>
        <p>The journal is of all projects, so it needs a seat. Ask for one where plans wait.</p>
        <Acts of={[['Show that', '', () => page.show('waits')]]} />
      </>
    )
  return (
    <>
      <Pending answer={answer} what="the journal" />
      <label class="beside">
        <input
          type="checkbox"
          checked={looks}
          onChange={({ currentTarget }) => show(currentTarget.checked)}
        />
        with calls that only looked
      </label>
      <List
        label="Journal"
        rows={stories.map(story => ({
          key: keyOf(story),
          lead: `${new Date(story.time).toLocaleString()} ${story.tool ?? ''}`,
          title: story.decided === null ? story.what : `${story.what} — ${story.decided}`,
          more: [story.who, story.outcome].filter(word => word !== null).join(', '),
          isBad: story.outcome !== 'ok' && story.outcome !== null,
          open: () => open(keyOf(story) === opened ? undefined : keyOf(story)),
          below: keyOf(story) === opened ? story.text : undefined,
        }))}
      />
      {stories.length === count && count < MOST && (
        <Acts of={[['Earlier ones, too', '', () => more(Math.min(count + STEP, MOST))]]} />
      )}
    </>
  )
}

const keyOf = ({ time, tool, what }: Story): string => `${time} ${tool} ${what}`
