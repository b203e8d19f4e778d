import type { SuspendedState } from '../wire/kernel.ts'
import type { Told } from './languages.ts'
import { lookUp } from './looked.ts'
import { type Failed, failed } from './outcome.ts'
import type { PlanContext, PlanImage, Planned, Preview } from './proposal.ts'
import { aSuspension, type Finding, heldByOther, listing, suspensionMeant } from './suspended.ts'
import { conditionLine, frameWord } from './suspension-text.ts'
import { beginning, oneLine } from './wording.ts'

/** What a person is shown of a call that would run code in a suspended evaluation, or have it go on. */

/** What is shown, and the name of the suspension that it was computed from. */
export interface ShownPlan extends Preview {
  readonly what: string
}

/**
 * A proposal that binds what was shown: where the same call would show anything else, such as another restart under that
 * number, or another suspension as the newest, it is out of date.
 */
export async function proposed(
  { image }: PlanContext,
  drawn: (image: PlanImage) => Promise<ShownPlan | Failed>,
): Promise<Planned> {
  if (image === undefined) throw new Error('a plan for a suspended evaluation was asked for without an image')
  const shown = await drawn(image)
  if ('type' in shown) return shown
  const { title, body, what } = shown
  const evidence = image.seen({
    what,
    text: textOf(shown),
    async moved() {
      const now = await drawn(image)
      if ('type' in now) return now.error.message.replace(/\.$/, '')
      return textOf(now) === textOf(shown) ? undefined : `by now it would be: ${now.title}`
    },
  })
  return { type: 'proposal', preview: { title, body }, evidence: [evidence], changes: [] }
}

const textOf = ({ title, body, what }: ShownPlan): string => JSON.stringify([what, title, body])

/** A suspension that the caller may have go on, as it is now. */
export interface Stopped {
  readonly type: 'stopped'
  readonly id: string
  readonly state: SuspendedState & Told
  /** `s3@ab12, which was suspended by ZeroDivisionError: division by zero` */
  readonly stopped: string
}

/** The suspension that is meant, with its restarts and the frame of that number; a failure where it is another's. */
export async function stoppedOf(
  {
    given,
    frame,
    parameter,
  }: { readonly given: string | undefined; readonly frame: number; readonly parameter: string },
  context: Finding,
): Promise<Stopped | Failed> {
  const meant = await suspensionMeant(given, context)
  if (meant.type === 'failed') return meant
  const { id } = meant
  const refused = heldByOther(id, context)
  if (refused !== undefined) return refused
  const query = { suspension: id, from: frame, count: 1 }
  const looked = await lookUp(
    { look: 'suspension', query, words: aSuspension(id, context, parameter) },
    context,
  )
  if (looked.type === 'failed') return looked
  const state = looked.result
  const why = beginning(oneLine(conditionLine(state.suspension)), WHY_LENGTH)
  return { type: 'stopped', id, state, stopped: `${oneLine(id)}, which was suspended by ${why}` }
}

/** Characters of an error in the title of what a person approves. */
const WHY_LENGTH = 300

/** The same with one of its frames, in words. */
export async function stoppedAt(
  {
    given,
    frame,
    parameter = 'frame',
  }: { readonly given: string | undefined; readonly frame: number; readonly parameter?: string },
  context: Finding,
): Promise<(Stopped & { readonly frame: string }) | Failed> {
  const found = await stoppedOf({ given, frame, parameter }, context)
  if (found.type === 'failed') return found
  const { id, state } = found
  const at = state.frames.find(({ number }) => number === frame)
  if (at !== undefined) return { ...found, frame: frameWord(at) }
  return failed('invalid_args', {
    message: `${parameter} is not one of ${id}: there is no frame ${frame}${state.frames_total === null ? '' : `; it has ${state.frames_total}`}.`,
    details: { parameter },
    next: listing(id),
  })
}
