import type { Envelope } from '../../tools/outcome.ts'
import type { CallId } from '../../wire/kernel.ts'
import type { LightSignal } from '../../wire/signal.ts'
import type { Line } from './history.ts'
import { claimOf } from './whole-truth.ts'

/** One call, whose mark is nowhere else: where that is found, the call had its effect. */
export interface Call {
  readonly name: CallId
  readonly mark: string
  readonly tool: string
  readonly args: unknown
  readonly caller: string
  signal: LightSignal
  answer: Envelope | undefined
  /** How often it was sent. */
  sent: number
}

/** What a caller was told that is not so; that it waits, or that a person changed it, says nothing of its mark. */
export function falseIn({ name, answer, sent }: Call, done: boolean): string[] {
  if (answer === undefined) return [`${name} was never answered`]
  const { status, approval } = { ...(answer.ok && (answer.result as { status?: string; approval?: string })) }
  if (status !== undefined || approval !== undefined) return []
  const claim = claimOf(answer)
  if (claim === 'new' && !done) return [`${name} was called a success: ${JSON.stringify(answer)}`]
  // Sent again, it may have been refused by a daemon that did not know the answer of the one before.
  if (claim === 'old' && done && sent === 1)
    return [`${name} was refused, and done: ${JSON.stringify(answer)}`]
  return []
}

/** A call of which nothing ran may be sent again under its name: each time it is an attempt of its own. */
export function attempts(lines: readonly Line[]): Line[] {
  const over = new Map<unknown, number>()
  return lines.map(line => {
    const attempt = over.get(line.call) ?? 0
    if (line.type === 'refused' || line.type === 'looked') over.set(line.call, attempt + 1)
    return line.call === undefined ? line : { ...line, call: `${line.call}, attempt ${attempt}` }
  })
}
