import { assert, suite } from '../support/harness.ts'
import { until, within } from '../support/rig.ts'
import { APPROVE, codeOf, type Watch, withWatch } from '../support/watching.ts'

const test = suite('seat and pauses')

type Parts = Parameters<Parameters<typeof withWatch>[0]>[0]

/** The same program connects anew for each call, as others would call themselves. */
async function asked({ rig }: Parts, n: number) {
  const client = await rig.connect({ name: `client ${n}` })
  const answer = within(client.call({ tool: 'eval_expr', args: { expr: `${n}` } }), `the answer to ${n}`)
  return { answer, over: () => client.close() }
}

async function refusedThrice(parts: Parts) {
  for (let n = 0; n < 3; n++) {
    const { answer, over } = await asked(parts, n)
    await parts.watch.screen.shows(new RegExp(`\\| ${n}\\n[\\s\\S]*Approve\\?`))
    parts.watch.screen.type('n\n')
    await until(() => parts.watch.screen.written.split('Why?').length > n + 1, 'the question why')
    parts.watch.screen.type('\n')
    assert.is(codeOf(await answer), 'denied')
    await over()
  }
}

const questions = ({ screen }: Watch) => screen.written.split(APPROVE).length - 1

test('a program that was refused three times is not put before a person again, however it connects (threat 36)', () =>
  withWatch(async parts => {
    await refusedThrice(parts)
    await parts.watch.screen.shows(/3 plans of client 2 were refused in a row without a reason: none of it/)
    for (let n = 3; n < 20; n++) {
      const { answer, over } = await asked(parts, n)
      const envelope = await answer
      assert.is(codeOf(envelope), 'busy')
      assert.match(JSON.stringify(envelope), /A person has refused 3 plans of yours in a row.*Stop here/)
      await over()
    }
    assert.is(questions(parts.watch), 3)
  }))
