import { useState } from 'preact/hooks'
import { inLine, marked } from './marks.ts'
import {
  Acts,
  Code,
  Failure,
  FrameList,
  type Frames,
  List,
  Pending,
  useAnswer,
  type ViewProps,
} from './parts.tsx'
import type { Envelope, Page } from './state.ts'

/** What `get_last_error` tells of one error. */
interface Told {
  readonly error: {
    readonly type: { readonly name: string }
    readonly message: string
    readonly frames: Frames
    readonly traceback: string
  } | null
  readonly at: string | null
  readonly program?: { readonly said?: string | null; readonly first: string; readonly times: number }
}

/** So many are listed. */
const MOST = 100

/** The errors of the programs as they come, the newest first; and those of processes that have gone. */
export function Errors({ page }: ViewProps) {
  const [opened, open] = useState<{ kernel: string; number: number }>()
  const [isGone, showGone] = useState(false)
  // A call joins the program that listens; its errors come as rows then.
  useAnswer(() => page.call('get_last_error', {}), [page.state])
  if (opened !== undefined) return <OneError page={page} of={opened} back={() => open(undefined)} />
  const rows = [...page.rows.of('errors')].sort((one, other) => (one.at < other.at ? 1 : -1)).slice(0, MOST)
  return (
    <>
      <List
        label="Errors of the programs"
        none="None was noted."
        rows={rows.map(({ kernel, number, what, file, line, times, at }) => ({
          key: `${kernel} ${number}`,
          lead: kernel,
          title: what,
          more: `${file === null ? '' : `${file.split('/').at(-1)}:${line} `}${times > 1 ? `× ${times} ` : ''}${new Date(at).toLocaleTimeString()}`,
          open: () => open({ kernel, number }),
        }))}
      />
      <Acts of={[['Those of processes that have gone', '', () => showGone(!isGone)]]} />
      {isGone && <Gone page={page} />}
    </>
  )
}

function Gone({ page }: ViewProps) {
  const answer = useAnswer(() => asText(page, 'get_last_error', { whose: 'gone' }), [])
  return (
    <>
      <Pending answer={answer} what="errors of processes that have gone" />
      {answer !== undefined && 'result' in answer && <Code text={answer.result} />}
    </>
  )
}

/** What a tool answers, as a model is shown it. */
async function asText(page: Page, tool: string, args: object): Promise<string> {
  const envelope = await page.call(tool, args)
  return (await page.client.request('show', { tool, envelope })).text
}

interface OneProps extends ViewProps {
  readonly of: { readonly kernel: string; readonly number: number }
  back(): void
}

function OneError({ page, of: { kernel, number }, back }: OneProps) {
  const answer = useAnswer<Envelope>(() => page.call('get_last_error', { kernel, number }), [kernel, number])
  const envelope = answer !== undefined && 'result' in answer ? answer.result : undefined
  const told = envelope?.ok ? (envelope.result as Told) : undefined
  return (
    <article aria-label="Error">
      <Pending answer={answer} what="the error" />
      {envelope !== undefined && <Failure envelope={envelope} />}
      {told?.error && (
        <>
          <h2>
            {inLine(told.error.type.name)}: {marked(told.error.message)}
          </h2>
          <p class="quiet">
            in {inLine(kernel)}
            {told.at !== null && `, ${new Date(told.at).toLocaleString()}`}
            {(told.program?.times ?? 1) > 1 && `, ${told.program?.times} times by then`}
            {told.program?.said && `; it was logged as: ${inLine(told.program.said)}`}
          </p>
          <FrameList frames={told.error.frames} />
          <details>
            <summary>As the program prints it</summary>
            <Code text={told.error.traceback} />
          </details>
        </>
      )}
      <Acts of={[['Back', 'q', back]]} />
    </article>
  )
}
