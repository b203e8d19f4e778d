import { assert, isLong, suite } from '../support/harness.ts'
import * as outsiders from '../support/outsiders.ts'
import * as moments from '../support/whole-moments.ts'

const test = suite('a change, and others who write', { limitMs: 60_000 })

const { WRITES, REPLACES, REMOVES, REMAKES, LINKS, CHANGES_MODE, MOVES_FOLDER } = outsiders

/** Each change, and what others do to its files. */
const RACED: readonly (readonly [moments.Change, readonly outsiders.Outsider[]])[] = [
  [moments.EDIT, [WRITES, REPLACES, CHANGES_MODE, REMAKES, LINKS, REMOVES, MOVES_FOLDER]],
  [moments.NEW_FILE, [WRITES, REPLACES, LINKS, MOVES_FOLDER]],
  [moments.TAKING_BACK, [WRITES, REPLACES, REMOVES, LINKS, MOVES_FOLDER]],
  [moments.MOVING_AWAY, [WRITES, REPLACES, LINKS, MOVES_FOLDER]],
  [moments.MOVING_HERE, [REPLACES, LINKS]],
  [moments.DELETION, [WRITES, REPLACES, CHANGES_MODE]],
]

for (const [change, all] of RACED)
  for (const [turn, outsider] of all.entries())
    test(`${change.what}, while ${outsider.what}, is never called a success when that is lost, and never half done (threat 18) (fault 28)`, async () => {
      // In the normal run those who write share the moments of a change between them.
      const share = isLong ? { first: 1, stride: 1 } : { first: 1 + turn, stride: all.length }
      const { tried, answers, wrong, lost } = await moments.racedAtMoments({ change, outsider, ...share })
      console.log(
        `${change.what}, ${outsider.what}: ${tried} moments, ${JSON.stringify(answers)}, lost before ${lost}`,
      )
      // Who takes the name of an edited file loses that at most in the one system call between last look and rename.
      const mayLose = change === moments.EDIT && [REPLACES, REMOVES, LINKS].includes(outsider)
      assert.equal([wrong, lost.filter(step => !mayLose || step !== 'rename')], [[], []])
      const stale = (answers.stale_plan ?? 0) * share.stride
      assert.ok(tried * share.stride > 60 && stale > 20)
    })
