import { assert, suite } from '../support/harness.ts'
import { CHANGES_MODE, LINKS, REPLACES, WRITES } from '../support/outsiders.ts'
import { DELETION, MOVING_HERE, racedAtEveryMoment } from '../support/whole-moments.ts'

const test = suite('where a file is moved, a deletion, and others who write', { limitMs: 60_000 })

for (const [change, all] of [
  [MOVING_HERE, [REPLACES, LINKS]],
  [DELETION, [WRITES, REPLACES, CHANGES_MODE]],
] as const)
  for (const outsider of all)
    test(`${change.what}, at any moment of which ${outsider.what}, is never called a success when that is lost, and never half done (threat 18) (fault 28)`, async () => {
      const { moments, answers, wrong, lost } = await racedAtEveryMoment(change, outsider)
      console.log(`${change.what}, ${outsider.what}: ${moments} moments, ${JSON.stringify(answers)}`)
      assert.equal([wrong, lost], [[], []])
      assert.ok(moments > 60 && (answers.stale_plan ?? 0) > 20)
    })
