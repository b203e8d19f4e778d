import { useEffect, useState } from 'preact/hooks'
import type { ErrorShown, ErrorSummary } from '../../tools/activity.ts'
import { exceptionLine } from '../../tools/text.ts'
import type { Fault } from './client.ts'
import { inLine, when } from './marks.ts'
import { Answered, Code, FrameList, type ListRow, Lists, type ViewProps } from './parts.tsx'

type Whose = { readonly kernel?: string; readonly process?: number | undefined }

/** The errors of the programs as they come, the newest first; and those of processes that have gone. */
export function Errors({ page }: ViewProps) {
  const [past, tell] = useState<readonly ErrorSummary[]>([])
  const errors = [...page.rows('errors')].sort((one, other) => (one.at < other.at ? 1 : -1))
  useEffect(() => {
    if (page.state !== 'open') return
    // A call joins the program that listens; its errors come as rows then.
    page.call('get_last_error', {}).catch(() => {})
    page
      .tool<ErrorShown>('get_last_error', { whose: 'gone' })
      .then(gone => tell(summaries(gone)))
      .catch((fault: Fault) => page.say(fault.message))
  }, [page.state, errors.length])
  const row = (error: Omit<ErrorSummary, 'where'>, lead: string, args: Whose): ListRow => ({
    key: `${lead} ${error.number}`,
    lead,
    title: error.what,
    more: `${error.file === null ? '' : `${error.file.split('/').at(-1)}:${error.line} `}${error.times > 1 ? `× ${error.times} ` : ''}${when(error.at)}`,
    detail: () => <OneError page={page} args={{ ...args, number: error.number }} />,
  })
  const noted = errors.map(error => row(error, error.kernel, { kernel: error.kernel }))
  const gone = past.map(error =>
    row(error, `${error.of?.name}, process ${error.of?.pid}`, { process: error.of?.pid }),
  )
  const groups = [
    { label: 'Errors of the programs', none: 'No error was noted.', rows: noted },
    { label: 'Errors of processes that have gone', none: 'No error was left.', rows: gone },
  ]
  return <Lists page={page} groups={groups} />
}

/** The one that is shown, and the others. */
function summaries({ error, at, program, of, others }: ErrorShown): readonly ErrorSummary[] {
  if (error === null || at === null || program === undefined || of === undefined) return others
  const { file = null, line = null } = error.misread ?? error.frames?.at(-1) ?? {}
  return [{ ...program, at, what: exceptionLine(error), file, line, of }, ...others]
}

function OneError({ page, args }: ViewProps & { args: Whose & { number: number } }) {
  const { kernel, process, number } = args
  const within = `in error ${number}${process === undefined ? '' : ` of process ${process}`}`
  return (
    <Answered ask={() => page.tool<ErrorShown>('get_last_error', args)} of={[]}>
      {({ error, at, program }) => (
        <>
          <p class="quiet">
            {at !== null && when(at)}
            {program?.said && `; it was logged as: ${inLine(program.said)}`}
          </p>
          <FrameList page={page} frames={error?.frames ?? []} kernel={kernel} within={within} />
          <details>
            <summary>As the program prints it</summary>
            <Code text={error?.traceback ?? 'Its text was not kept.'} />
          </details>
        </>
      )}
    </Answered>
  )
}
