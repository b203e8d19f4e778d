import type { Choice } from '../../tools/contract.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { assert, type Suite } from './harness.ts'
import { type Happened, invariantsOf, type Line, ofCalls } from './history.ts'
import type { Reply } from './seat.ts'
import { Steps } from './steps.ts'
import { afterwards, openGround, openWholePath, type WholeOptions, type WholePath } from './whole-path.ts'

/** What is proposed to a person, and what they choose: three hunks in two files. */

export const SHOP = 'def price(n):\n    return 1 / n\n\n\ndef total(n):\n    return n\n'

export const RATES = 'winter = 0.2\nsummer = 0.1\n'

export const EDITS = [
  { path: 'shop.py', old_str: '1 / n', new_str: '1 / (n or 1)', why: 'n can be nothing' },
  { path: 'rates.py', old_str: 'summer = 0.1', new_str: 'summer = 0.15' },
  { path: 'shop.py', old_str: '    return n\n', new_str: '    return round(n)\n' },
]

export const ACCEPT = (hunk: number): Choice => ({ hunk, decision: 'accept' })

export const REFUSE = (hunk: number, reason: string | null = null): Choice => ({
  hunk,
  decision: 'refuse',
  reason,
})

export const EDIT = (hunk: number, text: string, reason: string | null = null): Choice => ({
  hunk,
  decision: 'edit',
  text,
  reason,
})

/** What a scripted seat does that chooses so. */
export const choosing =
  (...choose: Choice[]) =>
  (): Reply => ({ choose })

/** A daemon in this process, in whose project both files are. */
export interface ChoosingRig extends Omit<WholePath, 'kernel' | 'files'> {
  readonly path: WholePath
  /** What both files hold. */
  texts(): (string | undefined)[]
  /** Proposes the three hunks. */
  propose(): Promise<Envelope>
}

/** Rigs for the tests of one suite, closed after each. */
export function choosingRigsOf(test: Suite): (steps?: Steps, limits?: WholeOptions['limits']) => ChoosingRig {
  const rigs: ChoosingRig[] = []
  test.after.each(async () => {
    for (const { path, ground } of rigs.splice(0)) {
      await path.close()
      ground.remove()
    }
  })
  return (steps = new Steps(), limits = {}) => {
    const ground = openGround()
    ground.put('shop.py', SHOP)
    ground.put('rates.py', RATES)
    const path = openWholePath(ground, { steps, limits, calls: { patienceMs: 10 * 60 * 60_000 } })
    const rig: ChoosingRig = {
      ...path,
      path,
      texts: () => [ground.text('shop.py'), ground.text('rates.py')],
      propose: () => path.run('propose_file_edit', { edits: EDITS }),
    }
    rigs.push(rig)
    return rig
  }
}

/** All lines of its journal about calls, which has to hold; `did` is what was done, by the names of plans. */
export async function historyOf(
  { path, ground }: Pick<ChoosingRig, 'path' | 'ground'>,
  did: readonly string[] = [],
): Promise<Line[]> {
  await path.close()
  const { lines, problems } = await afterwards(ground)
  const effects: Happened[] = did.map(change => ({ change }))
  assert.equal([...problems, ...invariantsOf(lines, effects)], [])
  return ofCalls(lines)
}
