import { createHash } from 'node:crypto'
import { z } from 'zod'
import {
  ABILITIES,
  type Ability,
  type Epoch,
  type Evaluated,
  type KernelIdentity,
  type Look,
  type Work,
} from '../kernel.ts'
import type { Arguments } from '../swank/peer.ts'
import { inShort } from '../swank/short.ts'
import { count, orNull, text } from './shapes.ts'
import type { Turn } from './swank-evaluations.ts'
import { INTERRUPTED } from './swank-messages.ts'

/** What an image says of itself. */
export const identityShape = z.object({
  implementation: text.transform(name => inShort(name, 200)),
  style: orNull(text),
  pid: count,
  epoch_token: text,
  abilities: z.array(text),
})

/** Who an image says its kernel is. Words for abilities that we do not know are left out. */
export function identityOf(
  told: z.infer<typeof identityShape>,
  { attached, interruptible }: { attached: boolean; interruptible: boolean },
): KernelIdentity {
  const can = (ability: Ability) =>
    ability === 'interrupt' ? interruptible : told.abilities.includes(ability)
  return {
    language: 'lisp',
    implementation: told.implementation,
    pid: told.pid,
    epoch: createHash('sha256').update(told.epoch_token).digest('hex').slice(0, 8) as Epoch,
    abilities: new Set(ABILITIES.filter(can)),
    attached,
  }
}

/** A little is left for the answer, so that the image can still say that it ran out of time. */
export const shortened = (deadlineMs: number) => Math.round(deadlineMs - Math.min(100, deadlineMs / 5))

/** A query is flat: texts, numbers, truth, and lists of them. */
export const asked = (query: object, { deadlineMs }: Look): Arguments => ({
  ...(query as Arguments),
  deadline_ms: shortened(deadlineMs),
})

/** The work by its kind, and the parameters that it has in `wire/peers/lisp`. */
export function asSent(work: Work): Arguments {
  switch (work.type) {
    case 'source':
    case 'compile':
      return { work: work.type, source: work.source, ...work.place, package: work.package }
    case 'expand':
      return { work: work.type, source: work.source, fully: work.fully, package: work.package }
    case 'load':
      return { work: work.type, file: work.file, names: work.names }
    case 'reload':
      return { work: work.type, module: work.module }
    case 'system':
      return { work: work.type, system: work.system, force: work.force }
    case 'tests':
      return { work: work.type, target: work.target, framework: work.framework }
    default:
      return work satisfies never
  }
}

/** What an evaluation came to whose thread went to its top level, or ended, instead of answering. */
export function leftBy({ entered, asked, elapsedMs: elapsed_ms }: Turn): Evaluated {
  if (entered?.message === INTERRUPTED) return { type: 'interrupted', exception: entered, elapsed_ms }
  if (entered !== undefined) return { type: 'raised', exception: entered, elapsed_ms }
  if (asked > 0) return { type: 'interrupted', elapsed_ms }
  const message = 'The code left to the top level of the thread that it ran on, or ended that thread.'
  return { type: 'left', message, elapsed_ms }
}
