import { assert, suite } from '../support/harness.ts'
import * as outsiders from '../support/outsiders.ts'
import { EDIT, racedAtEveryMoment } from '../support/whole-moments.ts'

const test = suite('an edit, and others who write', { limitMs: 60_000 })

const { WRITES, CHANGES_MODE, REMAKES, MOVES_FOLDER } = outsiders

for (const outsider of [WRITES, CHANGES_MODE, REMAKES, MOVES_FOLDER])
  test(`an edit at any moment of which ${outsider.what} is never called a success when that is lost (threat 18) (fault 28)`, async () => {
    const { moments, answers, wrong, lost } = await racedAtEveryMoment(EDIT, outsider)
    console.log(`an edit, ${outsider.what}: ${moments} moments, ${JSON.stringify(answers)}`)
    assert.equal([wrong, lost], [[], []])
    assert.ok(moments > 60 && (answers.stale_plan ?? 0) > 20)
  })
