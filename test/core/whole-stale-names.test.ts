import { assert, suite } from '../support/harness.ts'
import * as outsiders from '../support/outsiders.ts'
import { EDIT, racedAtEveryMoment } from '../support/whole-moments.ts'

const test = suite('an edit, and others who take its name', { limitMs: 60_000 })

for (const outsider of [outsiders.REPLACES, outsiders.REMOVES, outsiders.LINKS])
  test(`an edit at any moment of which ${outsider.what} loses that at most in the one system call between last look and rename (threat 18) (fault 28)`, async () => {
    const { moments, answers, wrong, lost } = await racedAtEveryMoment(EDIT, outsider)
    console.log(
      `an edit, ${outsider.what}: ${moments} moments, ${JSON.stringify(answers)}, lost before ${lost}`,
    )
    assert.equal([wrong, lost.filter(step => step !== 'rename')], [[], []])
    assert.ok(moments > 60 && (answers.stale_plan ?? 0) > 20)
  })
