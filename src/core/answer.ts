import type { Envelope, Outcome, ToolError } from '../../tools/outcome.ts'
import { failedInside } from '../../tools/outcome.ts'
import { bound } from './bounds.ts'
import { beginning } from './cut.ts'
import type { TextStore } from './texts.ts'

const MESSAGE_CHARS = 4 * 1024

/** How a call ended, once it has: a call that rises has not. */
export type Ended = Exclude<Outcome, { type: 'rises' }>

/** An outcome within the bounds of an answer. What is cut can be read by its handle. */
export function bounded(outcome: Outcome, texts: Pick<TextStore, 'keep'>): Ended {
  switch (outcome.type) {
    case 'ok':
      return { type: 'ok', result: bound(outcome.result, texts) }
    case 'failed':
      return { type: 'failed', error: boundedError(outcome.error, texts) }
    case 'rises':
      return failedInside('handler_fault', {
        message: `It rose to ${outcome.level} and no further.`,
      }) as Ended
    default:
      return outcome satisfies never
  }
}

function boundedError(error: ToolError, texts: Pick<TextStore, 'keep'>): ToolError {
  const details = bound(error.details, texts) as Readonly<Record<string, unknown>>
  return { ...error, message: beginning(error.message, MESSAGE_CHARS), details }
}

/** What is to be said of an image that was started in place of a lost one. */
export function noticeOf(place: { name: string; replaces?: string } | undefined): string | undefined {
  if (place?.replaces === undefined) return undefined
  const [how = ''] = place.replaces.split('\n')
  return `This is a new and empty image of ${place.name}. The one before was lost: ${how}`
}

/**
 * The first answer of an image that was started in place of a lost one says so, whatever else it says: names that
 * are gone are a riddle otherwise.
 */
export function noticed(outcome: Ended, notice: string | undefined): Ended {
  if (notice === undefined) return outcome
  if (outcome.type === 'failed') {
    const { details } = outcome.error
    const told = { ...details, notice: both(notice, details.notice) }
    return { type: 'failed', error: { ...outcome.error, details: told } }
  }
  const { result } = outcome
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return outcome
  return { type: 'ok', result: { ...result, notice: both(notice, Reflect.get(result, 'notice')) } }
}

/** The same for a call that may have to begin again, and then says nothing yet. */
export const withNotice = (outcome: Outcome, notice: string | undefined): Outcome =>
  outcome.type === 'rises' ? outcome : noticed(outcome, notice)

const both = (one: string, other: unknown): string => (typeof other === 'string' ? `${one}\n${other}` : one)

/** The one form in which every call is answered. */
export function enveloped(ended: Ended): Envelope {
  return ended.type === 'ok' ? { ok: true, result: ended.result } : { ok: false, error: ended.error }
}
