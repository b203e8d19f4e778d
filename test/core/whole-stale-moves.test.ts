import { assert, suite } from '../support/harness.ts'
import { LINKS, MOVES_FOLDER, REPLACES, WRITES } from '../support/outsiders.ts'
import { MOVING_AWAY, racedAtEveryMoment } from '../support/whole-moments.ts'

const test = suite('a move, and others who write', { limitMs: 60_000 })

for (const outsider of [WRITES, REPLACES, LINKS, MOVES_FOLDER])
  test(`a move, at any moment of which ${outsider.what}, is never called a success when that is lost, and never half done (threat 18) (fault 28)`, async () => {
    const { moments, answers, wrong, lost } = await racedAtEveryMoment(MOVING_AWAY, outsider)
    console.log(`a move, ${outsider.what}: ${moments} moments, ${JSON.stringify(answers)}`)
    assert.equal([wrong, lost], [[], []])
    assert.ok(moments > 60 && (answers.stale_plan ?? 0) > 20)
  })
