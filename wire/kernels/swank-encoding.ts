import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Evaluated, Work } from '../contract/evaluation.ts'
import type { Look } from '../contract/looks.ts'
import { count, type Epoch, orNull, text } from '../contract/values.ts'
import type { KernelIdentity } from '../kernel.ts'
import type { Arguments } from '../swank/peer.ts'
import { inShort } from '../swank/short.ts'
import { abilitiesAmong, partsOf, shortened } from './answers.ts'
import type { Turn } from './swank-evaluations.ts'
import { INTERRUPTED } from './swank-messages.ts'

/** What an image says of itself. */
export const identityShape = z.object({
  implementation: text.transform(name => inShort(name, 200)),
  style: orNull(text),
  pid: count,
  epoch_token: text,
  abilities: z.array(text),
  /** Those of the program whose errors are noted from now on. */
  servers: z.array(text),
})

/** Who an image says its kernel is. Words for abilities that we do not know are left out. */
export function identityOf(
  told: z.infer<typeof identityShape>,
  { attached, interruptible }: { attached: boolean; interruptible: boolean },
): KernelIdentity {
  const abilities = abilitiesAmong(told.abilities)
  // Known here, whatever it says: where it hears nothing while code runs, nothing can stop that.
  if (interruptible) abilities.add('interrupt')
  else abilities.delete('interrupt')
  return {
    language: 'lisp',
    implementation: told.implementation,
    pid: told.pid,
    epoch: createHash('sha256').update(told.epoch_token).digest('hex').slice(0, 8) as Epoch,
    abilities,
    attached,
    errorsSuspend: true,
    serversNoted: told.servers,
  }
}

/** A query is flat: texts, numbers, truth, and lists of them. */
export const queryArguments = (query: object, { deadlineMs }: Look): Arguments => ({
  ...(query as Arguments),
  deadline_ms: shortened(deadlineMs),
})

/** The work by its kind, and the parameters that it has in `wire/peers/lisp`. */
export function workArguments(work: Work): Arguments {
  const { key, about, rest } = partsOf(work)
  return { work: work.type, [key]: about, ...rest }
}

/** What an evaluation came to whose thread went to its top level, or ended, instead of answering. */
export function leftResult({ entered, asked, elapsedMs: elapsed_ms }: Turn): Evaluated {
  if (entered?.message === INTERRUPTED) return { type: 'interrupted', exception: entered, elapsed_ms }
  if (entered !== undefined) return { type: 'raised', exception: entered, elapsed_ms }
  if (asked > 0) return { type: 'interrupted', elapsed_ms }
  const message = 'The code left to the top level of the thread that it ran on, or ended that thread.'
  return { type: 'left', message, elapsed_ms }
}
