import { doubtOf } from '../../src/front/elicitation/doubt.ts'
import { assert, suite } from '../support/harness.ts'

/** Whose yes counts, by what is known of the program, of the client that it calls itself, and by the user's policy. */
const test = suite('doubt of a client')

const sure = { client: 'a-client', process: undefined, yes: undefined }
const barred = { why: 'its program was started by the kernel main (process 7)', liftable: false }
const untold = { why: 'this system does not tell which program answers', liftable: true }

test('a program that nothing speaks against is believed', () => {
  assert.is(doubtOf(sure), undefined)
})

test('a client that is known to answer by itself is doubted, whatever stands behind its name', () => {
  for (const client of ['codex', 'codex-mcp-client'])
    assert.match(doubtOf({ ...sure, client }) ?? '', /Codex accepts/)
  assert.match(doubtOf({ ...sure, client: 'claude-code' }) ?? '', /a hook in the settings/)
  assert.is(doubtOf({ ...sure, client: 'my-codex' }), undefined)
})

test('the policy says that the yes of such a client counts, or that of another one does not', () => {
  assert.is(doubtOf({ ...sure, client: 'codex', yes: 'counts' }), undefined)
  assert.match(doubtOf({ ...sure, yes: 'asks_a_seat' }) ?? '', /the policy has a seat asked/)
})

test('a name lets no program count that may not approve (threat 4)', () => {
  for (const yes of ['counts', 'asks_a_seat', undefined] as const)
    assert.is(doubtOf({ client: 'codex', process: barred, yes }), barred.why)
})

test('where a system tells nothing of programs, the policy decides, and without it nothing counts', () => {
  assert.is(doubtOf({ ...sure, process: untold }), untold.why)
  assert.is(doubtOf({ ...sure, process: untold, yes: 'counts' }), undefined)
})
