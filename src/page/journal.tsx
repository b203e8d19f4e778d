import { Answered, Code, Lists, type ViewProps } from './parts.tsx'

/** So many of the last calls are shown. */
const COUNT = 200

/** Who asked, what was decided and by whom, and what came of it: the newest first. */
export function Journal({ page }: ViewProps) {
  if (page.seat.type !== 'seated')
    return <p class="quiet">The journal is of all projects, so it needs a seat: ask in Waits.</p>
  return (
    <Answered ask={() => page.client.request('journal', { count: COUNT })} of={[page.turn]}>
      {({ stories }) => {
        const rows = [...stories].reverse().map(text => {
          const [, mark = '', time = '', line = ''] = /^(.) (\S+ \S+) +(.*)/.exec(text) ?? []
          const isBad = '!x?'.includes(mark)
          const detail = () => <Code text={text} />
          return { key: text, lead: time, title: line, more: isBad ? 'LOOK' : '', isBad, detail }
        })
        return <Lists page={page} groups={[{ label: 'Journal', none: 'It has no call yet.', rows }]} />
      }}
    </Answered>
  )
}
