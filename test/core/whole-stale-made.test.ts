import { assert, suite } from '../support/harness.ts'
import * as outsiders from '../support/outsiders.ts'
import { NEW_FILE, racedAtEveryMoment, TAKING_BACK } from '../support/whole-moments.ts'

const test = suite('a new file, and others who write', { limitMs: 60_000 })

const { WRITES, REPLACES, REMOVES, LINKS, MOVES_FOLDER } = outsiders

for (const [change, all] of [
  [NEW_FILE, [WRITES, REPLACES, LINKS, MOVES_FOLDER]],
  [TAKING_BACK, [WRITES, REPLACES, REMOVES, LINKS, MOVES_FOLDER]],
] as const)
  for (const outsider of all)
    test(`${change.what}, at any moment of which ${outsider.what}, is never called a success when that is lost (threat 18) (fault 28)`, async () => {
      const { moments, answers, wrong, lost } = await racedAtEveryMoment(change, outsider)
      console.log(`${change.what}, ${outsider.what}: ${moments} moments, ${JSON.stringify(answers)}`)
      assert.equal([wrong, lost], [[], []])
      assert.ok(moments > 60 && (answers.stale_plan ?? 0) > 20)
    })
