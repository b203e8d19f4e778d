import { z } from 'zod'
import type { Suspension } from '../wire/kernel.ts'
import type { Holder, KernelContext } from './define.ts'
import { idsOf, isShortId } from './ids.ts'
import { anExpression, type Looking, lookUp, type Words } from './looked.ts'
import { type Failed, failed } from './outcome.ts'
import { oneLine } from './wording.ts'

/** Which suspended evaluation a call is about, and whose it is. */

/** The parameter that says which. */
export const SUSPENSION = z
  .string()
  .min(1)
  .max(200)
  .optional()
  .describe(
    'The suspended evaluation, as the answer that told of it names it: `s3@ab12`, or `s3`. Left out: your newest.',
  )

/** The parameter that says in which frame. */
export const FRAME = z
  .int()
  .min(0)
  .max(1_000_000)
  .describe('The number of a frame: 0 is where the error happened, 1 is its caller.')

/** What it takes to find one. */
export type Finding = Looking & Pick<KernelContext, 'kernelName' | 'leases' | 'others'>

export interface Meant {
  readonly type: 'meant'
  readonly id: string
  /** All that are suspended, newest first, where that had to be asked. */
  readonly all?: readonly Suspension[]
}

/**
 * The suspension that is meant by a parameter. That there is one of that id is not looked at for a full id. Where none is
 * named, one that is not the caller's own is only looked at: what acts on it has to name it.
 */
export async function suspensionMeant(
  given: string | undefined,
  context: Finding,
  to: 'look' | 'act' = 'act',
): Promise<Meant | Failed> {
  if (given !== undefined && !isShortId(given)) return { type: 'meant', id: given }
  const looked = await lookUp({ look: 'suspensions', query: {} }, context)
  if (looked.type === 'failed') return looked
  const all = looked.result.suspensions
  if (all.length === 0) return noneSuspended(given, context)
  return given === undefined
    ? newest(all, context, to)
    : shortOf(given, { all, kernelName: context.kernelName })
}

/** The caller's newest; else, to be looked at, the newest that is for whoever comes first. */
function newest(
  all: readonly Suspension[],
  { leases, kernelName }: Finding,
  to: 'look' | 'act',
): Meant | Failed {
  const held = (by: Holder['type']) => all.find(({ id }) => leases.holderOf(id).type === by)
  const found = held('you') ?? (to === 'look' ? held('anyone') : undefined)
  if (found !== undefined) return { type: 'meant', id: found.id, all }
  const others = all.map(({ id }) => `${id}, which ${holderWords(leases.holderOf(id))}`)
  return failed('not_found', {
    message: `Nothing of yours is suspended in ${kernelName}. There are ${others.join('; ')}.`,
    details: { suspensions: all.map(({ id }) => id) },
    next: `debug_state ${JSON.stringify({ suspension: all[0]?.id })} looks at that one all the same.`,
  })
}

function shortOf(
  given: string,
  { all, kernelName }: { readonly all: readonly Suspension[]; readonly kernelName: string },
): Meant | Failed {
  const ids = all.map(({ id }) => id)
  const [found, ...more] = idsOf(given, ids)
  if (found === undefined)
    return failed('not_found', {
      message: `${absent(given)} Suspended in ${kernelName} are: ${ids.join(', ')}.`,
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

function noneSuspended(given: string | undefined, { kernelName }: Finding): Failed {
  return failed('not_found', {
    message: `Nothing is suspended in ${kernelName}${given === undefined ? '' : `, and so no ${asId(given)}`}.`,
    details: { ...(given !== undefined && { what: given }), nearest: [] },
    next:
      'An error of eval_expr suspends it, until somebody has it go on or nobody came in time. ' +
      'get_last_error shows the last error, suspended or not.',
  })
}

/** A sentence about one that is not there, by whatever was given for its id. */
export const absent = (what: string): string =>
  `There is no suspended evaluation ${asId(what)}: it has ended, or there never was one.`

/** What was given for an id. All ids are plain ASCII: what is not is written as escapes, for it could be anything. */
const asId = (given: string): string =>
  oneLine(given).replace(/[^\x20-\x7e]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Where its frames and restarts are. */
export const listing = (id: string): string =>
  `debug_state ${JSON.stringify({ suspension: id })} lists its frames and restarts.`

/** How a tool speaks of one suspension and of what is in it; `parameter` is what may be out of its range. */
export function aSuspension(id: string, { kernel }: Looking, parameter = 'frame'): Words {
  return {
    ...anExpression(kernel),
    parameter,
    wanted: `one of ${oneLine(id)}`,
    reread: listing(id),
    search: 'debug_state without arguments shows your newest; get_last_error shows the last error.',
    narrow: 'Try again when the image has less to do.',
    absent,
    occupied: oneLine(id),
  }
}

/** The failure of a call that would have another's evaluation go on, or run code in it. */
export function heldByOther(
  id: string,
  {
    leases,
    kernelName,
  }: { readonly leases: Pick<Finding['leases'], 'holderOf'>; readonly kernelName: string },
): Failed | undefined {
  const holder = leases.holderOf(id)
  if (holder.type !== 'other') return undefined
  const { who, person } = holder
  return failed('held_by_other', {
    message: `${oneLine(id)} in ${kernelName} ${holderWords(holder)}, who alone has it go on or runs code in it. Nothing was run.`,
    details: { suspension: id, holder: who, person },
    next:
      'Anybody may look: debug_state, debug_frame. A person can hand it over at the console, imago: ' +
      `:hand ${oneLine(id)} there, or :take to take it themselves. Tell them why you want it.`,
  })
}

/** `is held by claude-code 2.1`: what comes after the name of a suspension. */
export function holderWords(holder: Holder): string {
  switch (holder.type) {
    case 'you':
      return 'is yours'
    case 'anyone':
      return 'is for whoever comes first'
    case 'other':
      return `is held by ${oneLine(holder.who)}${holder.person ? ', a person' : ''}`
    default:
      return holder satisfies never
  }
}
