import { useEffect } from 'preact/hooks'
import type { ErrorShown } from '../../tools/activity.ts'
import { inLine } from './marks.ts'
import { Answered, Code, FrameList, Lists, type ViewProps } from './parts.tsx'

/** So many are listed. */
const MOST = 100

/** The errors of the programs as they come, the newest first; and those of processes that have gone. */
export function Errors({ page }: ViewProps) {
  // A call joins the program that listens; its errors come as rows then.
  useEffect(() => void page.call('get_last_error', {}).catch(() => {}), [page.state])
  const errors = [...page.rows('errors')].sort((one, other) => (one.at < other.at ? 1 : -1)).slice(0, MOST)
  return (
    <Lists
      page={page}
      groups={[
        {
          label: 'Errors of the programs',
          none: 'None was noted.',
          rows: errors.map(({ kernel, number, what, file, line, times, at }) => ({
            key: `${kernel} ${number}`,
            lead: kernel,
            title: what,
            more: `${file === null ? '' : `${file.split('/').at(-1)}:${line} `}${times > 1 ? `× ${times} ` : ''}${new Date(at).toLocaleTimeString()}`,
            detail: () => <OneError page={page} args={{ kernel, number }} />,
          })),
        },
        {
          label: 'Earlier',
          none: '',
          rows: [
            {
              key: 'gone',
              lead: '',
              title: 'Errors of processes that have gone',
              detail: () => (
                <Answered ask={() => gone(page)} of={[]}>
                  {text => <Code text={text} />}
                </Answered>
              ),
            },
          ],
        },
      ]}
    />
  )
}

async function gone(page: ViewProps['page']): Promise<string> {
  return page.text('get_last_error', await page.call('get_last_error', { whose: 'gone' }))
}

function OneError({ page, args }: ViewProps & { args: { kernel: string; number: number } }) {
  return (
    <Answered ask={() => page.tool<ErrorShown>('get_last_error', args)} of={[]}>
      {({ error, at, program }) => (
        <>
          <p class="quiet">
            in {inLine(args.kernel)}
            {at !== null && `, ${new Date(at).toLocaleString()}`}
            {program?.said && `; it was logged as: ${inLine(program.said)}`}
          </p>
          <FrameList frames={error?.frames ?? []} />
          <details>
            <summary>As the program prints it</summary>
            <Code text={error?.traceback ?? 'It was forgotten.'} />
          </details>
        </>
      )}
    </Answered>
  )
}
