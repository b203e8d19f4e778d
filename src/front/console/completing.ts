import { z } from 'zod'
import type { Image } from '../image.ts'
import type { Edit } from './edit.ts'
import type { Callee } from './editor.ts'
import type { Offers } from './menu.ts'

/** What the live image knows of how a text may go on. It is asked without waiting for, and the last question counts. */
export interface Completing {
  /** Resolves with undefined where nobody knows, and where something else was asked meanwhile. */
  complete(edit: Edit): Promise<Known | undefined>
}

export interface Known {
  readonly offers: Offers
  readonly callee: Callee | undefined
  /** Why nothing is offered, where running code would have to tell. */
  readonly because: string | null
}

/** How many ways to go on are asked for. */
const MOST = 500
/** Longer text is not asked about. */
const LONGEST = 100_000

const ANSWER = z.object({
  from: z.number(),
  to: z.number(),
  completions: z.array(z.object({ text: z.string(), kind: z.string(), type_name: z.string().nullable() })),
  total: z.number(),
  call: z.object({ name: z.string(), signature: z.string(), parameter: z.number().nullable() }).nullable(),
  because: z.string().nullable(),
})

export function openCompleting(image: Pick<Image, 'call'>): Completing {
  let asked = 0
  /** This daemon has no such tool, and need not be asked again. */
  let absent = false
  return {
    async complete({ text, cursor }) {
      const mine = ++asked
      if (absent || text.length > LONGEST) return undefined
      const args = { text, cursor: pointsIn(text.slice(0, cursor)), limit: MOST }
      const envelope = await image.call({ tool: 'complete', args }).catch(() => undefined)
      if (envelope === undefined) return undefined
      if (!envelope.ok) {
        absent = envelope.error.code === 'unknown_function'
        return undefined
      }
      const answer = ANSWER.safeParse(envelope.result)
      return mine === asked && answer.success ? known(text, answer.data) : undefined
    },
  }
}

function known(
  text: string,
  { from, to, completions, total, call, because }: z.output<typeof ANSWER>,
): Known {
  // Names with underscores are for those who ask for them.
  const begun = text.slice(unitsIn(text, from)).startsWith('_')
  const wanted = completions.filter(({ text }) => begun || !text.startsWith('_'))
  const hidden = wanted.length === 0 ? 0 : completions.length - wanted.length
  const offers = (wanted.length === 0 ? completions : wanted).map(({ text, kind, type_name }) => ({
    text,
    detail: kind === 'variable' && type_name ? type_name : kind.replaceAll('_', ' '),
  }))
  return {
    offers: { from: unitsIn(text, from), to: unitsIn(text, to), offers, total: total - hidden },
    callee: call ?? undefined,
    because,
  }
}

/** The wire counts characters; what is typed here is counted as JavaScript counts. */
function pointsIn(text: string): number {
  let points = 0
  for (const _ of text) points++
  return points
}

function unitsIn(text: string, points: number): number {
  let units = 0
  let left = points
  for (const character of text) {
    if (left-- <= 0) break
    units += character.length
  }
  return units
}
