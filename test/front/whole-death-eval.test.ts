import { dieAt, dieAtEveryStep, type Wanted } from '../support/deaths.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('the daemon is killed while code runs', { limitMs: 150_000 })

const RUN = 'with open("ran.txt", "a") as ran: ran.write("x")'

const evaluated = (expr: string): Wanted => ({
  tool: 'eval_expr',
  args: { expr },
  kind: 'evaluation',
  prepare: () => undefined,
  timesDone: ground => ground.text('ran.txt')?.length ?? 0,
})

test('a daemon killed at any step of a cautious call has run it or not, and the next one does not run it again (fault 7)', async () => {
  const { deaths, answers, wrong } = await dieAtEveryStep(evaluated(RUN))
  console.log(`an evaluation: ${deaths} deaths, then answered with ${JSON.stringify(answers)}`)
  assert.equal(wrong, [])
  assert.ok(deaths > 3)
})

test('a daemon killed while code runs leaves a call of which nobody knows how it ended (fault 7)', async () => {
  const { said, wrong } = await dieAt(0, {
    ...evaluated(`${RUN}\nimport time\ntime.sleep(60)`),
    endsWhen: ground => ground.text('ran.txt') === 'x',
  })
  assert.equal([said, wrong], ['outcome_unknown (outcome_unknown)', []])
})
