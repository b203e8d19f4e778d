import { z } from 'zod'
import type { SuspendedState, Suspension, WorkRefusal } from '../wire/kernel.ts'
import type {
  KernelContext,
  Leases,
  LookContext,
  Ownership,
  PlanContext,
  PlanImage,
  Planned,
  Preview,
} from './contract.ts'
import type { Told } from './languages.ts'
import { anExpression, idsOf, isShortId, lookUp, type Words } from './look.ts'
import { type Failed, failed } from './outcome.ts'
import { conditionLine, frameWord } from './suspension-text.ts'
import { beginning, oneLine } from './text.ts'

/** The parameter that says which. */
export const SUSPENSION = z
  .string()
  .min(1)
  .max(200)
  .optional()
  .describe('Such as `s3`; left out: your newest.')

/** The parameter that says in which frame. */
export const FRAME = z
  .int()
  .min(0)
  .max(1_000_000)
  .describe('Its number: 0 is where the error happened, 1 its caller.')

/** What it takes to find one. */
export type SuspensionContext = LookContext & Pick<KernelContext, 'kernelName' | 'leases' | 'others'>

export interface Meant {
  readonly type: 'meant'
  readonly id: string
  /** All that are suspended, newest first, where that had to be asked. */
  readonly all?: readonly Suspension[]
}

/**
 * The suspension that is meant by a parameter. That there is one of that id is not looked at for a full id. Where none is
 * named, one that a person handed over is only looked at, or code runs in its frames: what resumes it has to name it.
 */
export async function suspensionMeant(
  given: string | undefined,
  context: SuspensionContext,
  to: Purpose = 'resume',
): Promise<Meant | Failed> {
  if (given !== undefined && !isShortId(given)) return { type: 'meant', id: given }
  const looked = await lookUp({ look: 'suspensions', query: {} }, context)
  if (looked.type === 'failed') return looked
  const all = looked.result.suspensions
  if (all.length === 0) return noneSuspended(given, context)
  return given === undefined ? newest(all, context, to) : shortOf(given, { all, ...context })
}

/** What a suspension is wanted for: to be looked at, to run code in one of its frames, or to have it go on. */
type Purpose = 'look' | 'evaluate' | 'resume'

/** The caller's newest; else, unless it is to go on, the newest of the agents of the project. */
function newest(
  all: readonly Suspension[],
  { leases, kernelName }: SuspensionContext,
  to: Purpose,
): Meant | Failed {
  const owned = (by: Ownership['type']) => all.find(({ id }) => leases.ownershipOf(id)?.type === by)
  const found = owned('you') ?? (to === 'resume' ? undefined : owned('anyone'))
  if (found !== undefined) return { type: 'meant', id: found.id, all }
  const others = all.map(({ id }) => `${id}, which ${ownerWords(leases.ownershipOf(id))}`)
  return failed('not_found', {
    message: `Nothing of yours is suspended in ${kernelName}. There are ${others.join('; ')}.${endText(leases)}`,
    details: { suspensions: all.map(({ id }) => id) },
    next: `debug_state ${JSON.stringify({ suspension: all[0]?.id })} looks at that one all the same.`,
  })
}

function shortOf(
  given: string,
  {
    all,
    kernelName,
    leases,
  }: { readonly all: readonly Suspension[] } & Pick<SuspensionContext, 'kernelName' | 'leases'>,
): Meant | Failed {
  const ids = all.map(({ id }) => id)
  const [found, ...more] = idsOf(given, ids)
  if (found === undefined)
    return failed('not_found', {
      message: `${absent(given, leases)} Suspended in ${kernelName} are: ${ids.join(', ')}.`,
      details: { what: given, nearest: ids },
      next: 'Name one of those.',
    })
  if (more.length === 0) return { type: 'meant', id: found, all }
  return failed('invalid_args', {
    message: `suspension is not one alone: ${[found, ...more].join(', ')} begin so.`,
    details: { parameter: 'suspension' },
    next: 'Give the whole name.',
  })
}

function noneSuspended(given: string | undefined, { kernel, kernelName, leases }: SuspensionContext): Failed {
  const asked = kernel.identity.errorsSuspend ? '' : ' with on_error "suspend"'
  return failed('not_found', {
    message: `Nothing is suspended in ${kernelName}${given === undefined ? '' : `, and so no ${asId(given)}`}.${endText(leases, given)}`,
    details: { ...(given !== undefined && { what: given }), nearest: [] },
    next:
      `An error of eval_expr${asked} suspends it, until it is resumed or given up. ` +
      'get_last_error shows the last error, suspended or not.',
  })
}

function endText(leases: Pick<Leases, 'endOf'>, id?: string): string {
  const end = leases.endOf(id)
  return end === undefined ? '' : ` ${end}`
}

/** About one that is not there, by the text that was given for its id: how it has ended, where that is known. */
const absent = (what: string, leases: Pick<Leases, 'endOf'>): string =>
  leases.endOf(what) ??
  `There is no suspended evaluation ${asId(what)}: it has ended, or there never was one.`

/** What was given for an id. All ids are plain ASCII: what is not is written as escapes, for it could be anything. */
const asId = (given: string): string =>
  oneLine(given).replace(/[^\x20-\x7e]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Where its frames and restarts are. */
export const listing = (id: string): string =>
  `debug_state ${JSON.stringify({ suspension: id })} lists its frames and restarts.`

/** How a tool speaks of one suspension and of what is in it; `parameter` is what may be out of its range. */
export function aSuspension(id: string, { kernel, leases }: SuspensionContext, parameter = 'frame'): Words {
  return {
    ...anExpression(kernel),
    parameter,
    wanted: `one of ${oneLine(id)}`,
    reread: listing(id),
    search: 'debug_state without arguments shows your newest; get_last_error shows the last error.',
    narrow: 'Try again when the image has less to do.',
    absent: what => absent(what, leases),
    occupied: oneLine(id),
  }
}

/** The failure of a call that would resume what is somebody else's, or run code in it; undefined where it may. */
export function heldByOther(
  id: string,
  { leases, kernelName }: Pick<SuspensionContext, 'leases' | 'kernelName'>,
): Failed | undefined {
  const owner = leases.ownershipOf(id)
  if (owner?.type !== 'other') return undefined
  const { who, person } = owner
  return failed('held_by_other', {
    message: `${oneLine(id)} in ${kernelName} ${ownerWords(owner)}, who alone resumes it or runs code in it. Nothing was run.`,
    details: { suspension: id, holder: who, person },
    next:
      'Anybody may look: debug_state, debug_frame. A person can put it before the agents of the project at the ' +
      `console, imago: :hand ${oneLine(id)} there, or :take to take it themselves. Tell them why you want it.`,
  })
}

/** Why nothing is run in one that has ended, that never was, or that this daemon has not seen stop. */
export const unknownSuspension = (id: string, leases: Pick<Leases, 'endOf'>): WorkRefusal => ({
  type: 'refused',
  reason: 'not_found',
  message: absent(id, leases),
  what: id,
  next: 'debug_state without arguments shows what is suspended.',
})

/** `is owned by claude-code 2.1`: what comes after the name of a suspension. */
export function ownerWords(owner: Ownership | undefined): string {
  switch (owner?.type) {
    case undefined:
      return 'is owned by nobody here'
    case 'you':
      return 'is yours'
    case 'anyone':
      return 'is for the agents of this project'
    case 'other':
      return `is owned by ${oneLine(owner.who)}${owner.person ? ', a person' : ''}`
    default:
      return owner satisfies never
  }
}

/** What is shown, and the name of the suspension that it was computed from. */
export interface SuspensionPlan extends Preview {
  readonly what: string
}

/**
 * A proposal that binds what was shown: where the same call would show anything else, such as another restart under that
 * number, or another suspension as the newest, it is out of date.
 */
export async function proposed(
  { image }: PlanContext,
  drawn: (image: PlanImage) => Promise<SuspensionPlan | Failed>,
): Promise<Planned<never>> {
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

const textOf = ({ title, body, what }: SuspensionPlan): string => JSON.stringify([what, title, body])

/** A suspension that the caller may have go on, as it is now. */
export interface SuspensionState {
  readonly type: 'stopped'
  readonly id: string
  readonly state: SuspendedState & Told
  /** `s3@ab12, which was suspended by ZeroDivisionError: division by zero` */
  readonly stopped: string
}

/** Which suspension and frame a parameter means, and which parameter that is. */
interface Sought {
  readonly given: string | undefined
  readonly frame: number
  readonly parameter: string
  readonly to?: Purpose
}

/** The suspension that is meant, with its restarts and the frame of that number; a failure where it is another's. */
export async function stoppedOf(
  { given, frame, parameter, to }: Sought,
  context: SuspensionContext,
): Promise<SuspensionState | Failed> {
  const meant = await suspensionMeant(given, context, to)
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
  context.leases.looked(id)
  const state = looked.result
  const why = beginning(oneLine(conditionLine(state.suspension)), WHY_LENGTH)
  return { type: 'stopped', id, state, stopped: `${oneLine(id)}, which was suspended by ${why}` }
}

/** Characters of an error in the title of what a person approves. */
const WHY_LENGTH = 300

/** The same with one of its frames, in words, for a person who is asked. */
export async function stoppedAt(
  sought: Sought,
  context: SuspensionContext,
): Promise<(SuspensionState & { readonly frame: string }) | Failed> {
  const { frame, parameter } = sought
  const found = await stoppedOf(sought, context)
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
