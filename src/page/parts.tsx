import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Fault } from './client.ts'
import { marked } from './marks.ts'
import type { Envelope, Page } from './state.ts'

export interface ViewProps {
  readonly page: Page
}

/** Code or output of somebody else: text, with marks. */
export const Code = ({ text }: { text: string }) => <pre class="code">{marked(text)}</pre>

interface ButtonProps {
  /** Shown as its key; the view has that key itself. */
  readonly hint?: string
  readonly kind?: 'main' | 'danger'
  readonly disabled?: boolean
  act(): void
  readonly children: ComponentChildren
}

export const Button = ({ hint, kind, disabled = false, act, children }: ButtonProps) => (
  <button type="button" class={kind ?? ''} disabled={disabled} onClick={act} aria-keyshortcuts={hint}>
    {children}
    {hint !== undefined && <kbd>{hint}</kbd>}
  </button>
)

/** What an answer came to: nothing yet, the answer, or why there is none. */
export type Answer<Result> = { result: Result } | { failed: string } | undefined

/** Asks when it is first drawn, and again where `of` has changed. What was there stays until the next is. */
export function useAnswer<Result>(
  ask: () => Promise<Result> | undefined,
  of: readonly unknown[],
): Answer<Result> {
  const [answer, set] = useState<Answer<Result>>(undefined)
  useEffect(() => {
    let isMeant = true
    ask()?.then(
      result => isMeant && set({ result }),
      (error: unknown) => {
        const failed = error instanceof Fault ? [error.message, error.next ?? ''].join(' ') : String(error)
        if (isMeant && !(error instanceof Fault && error.code === 'lost')) set({ failed })
      },
    )
    return () => {
      isMeant = false
    }
  }, of)
  return answer
}

/** Whether an answer is there, and else what is said in its place. */
export function Pending({ answer, what }: { answer: Answer<unknown>; what: string }) {
  if (answer === undefined) return <p class="quiet">Looking for {what} …</p>
  return 'failed' in answer ? <p class="bad">{marked(answer.failed)}</p> : null
}

/** What a tool answered, where it is a fault: with the next step. */
export function Failure({ envelope }: { envelope: Envelope }) {
  if (envelope.ok) return null
  const { code, message, next } = envelope.error
  return (
    <p class="bad" role="alert">
      <b>{code}</b> {marked(message)}
      {next !== null && <span class="quiet"> {marked(next)}</span>}
    </p>
  )
}

export interface Frame {
  readonly function: string
  readonly file: string
  readonly line: number
  readonly source: string
  readonly own: boolean
  readonly locals: readonly { name: string; type_name: string; repr: string }[]
}

export type Frames = readonly (Frame | { readonly folded: number; readonly libraries: readonly string[] })[]

/** Frames as a program has them, the innermost last; those of libraries are one line. */
export const FrameList = ({ frames }: { frames: Frames }) => (
  <ol class="frames">
    {frames.map((frame, at) =>
      'folded' in frame ? (
        <li key={at} class="quiet">
          {frame.folded} frames of {frame.libraries.join(', ')}
        </li>
      ) : (
        <li key={at} class={frame.own ? 'own' : 'library'}>
          <b>{marked(frame.function)}</b>{' '}
          <span class="quiet">
            {marked(frame.file)}:{frame.line}
          </span>
          {frame.source !== '' && <Code text={frame.source} />}
          {frame.locals?.length > 0 && (
            <dl class="values">
              {frame.locals.map(({ name, type_name, repr }) => (
                <div key={name}>
                  <dt>{marked(name)}</dt>
                  <dd title={type_name}>{marked(repr)}</dd>
                </div>
              ))}
            </dl>
          )}
        </li>
      ),
    )}
  </ol>
)

/** Seconds, minutes or hours, for a person. */
export function span(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (seconds < 120) return `${seconds} s`
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`
}
