import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { openClient } from '../../wire/link/handshake.ts'
import { assert, suite } from '../support/harness.ts'
import { hello } from '../support/raw-client.ts'
import { openRig, until } from '../support/rig.ts'
import { codeOf } from '../support/watching.ts'
import { sitOverWeb, type WebSeat } from '../support/web-seat.ts'
import { dialWeb, webOf } from '../support/web-socket.ts'

/** A person who sits over a WebSocket, and others who ask over WebSockets. */
const test = suite('a seat over a WebSocket', { limitMs: 60_000 })
const rig = openRig({ config: '[web]\nport = 0\n' })
let seat: WebSeat
test.before(async () => {
  await rig.serve()
  seat = await sitOverWeb(rig)
})
test.after(async () => {
  await seat?.close()
  await rig.close()
})

const at = (path: string) => join(rig.project, path)

/** A client over a WebSocket of its own, that asks to create files. */
async function asking() {
  const transport = await dialWeb(webOf(rig), 'msgpack')
  const { link } = await openClient({
    transport,
    hello: { ...hello(rig.project), encodings: ['msgpack'] } as never,
  })
  const over = new AbortController()
  const calls: Promise<unknown>[] = []
  return {
    creates(path: string, content = 'x'): Promise<Envelope> {
      const params = { tool: 'create_file', args: { path, content } }
      const answer = link.call('call', params, { signal: over.signal }) as Promise<Envelope>
      calls.push(answer)
      return answer
    },
    /** What it asked for is withdrawn before its link ends: a call goes on without that. */
    async leaves() {
      over.abort()
      await Promise.all(calls)
      await link.close()
    },
  }
}

/** Resolves to the plan that waits for that file. */
async function planOf(path: string) {
  const found = () => seat.waits().find(({ title }) => title.includes(path))
  await until(() => found() !== undefined, `the plan of ${path}`)
  return found() ?? { id: '', hash: '' }
}

test('of 100 who ask at once over WebSockets, a seat over one is shown eight; three bare refusals keep the rest from it, until it says otherwise (threat 36)', async () => {
  const all = await Promise.all(Array.from({ length: 101 }, () => asking()))
  const codes: string[] = []
  const answers = all.slice(1).map(async (one, n) => codes.push(codeOf(await one.creates(`flood-${n}`))))
  await until(() => seat.waits().length === 8 && codes.length === 92, '8 plans, and 92 refusals')
  assert.equal([...new Set(codes)], ['busy'])
  for (const plan of seat.waits().slice(0, 3))
    assert.equal(await seat.answers(plan, 'deny'), { type: 'taken' })
  await until(() => codes.length === 95, 'the three to be told')
  assert.equal(codes.slice(92), ['denied', 'denied', 'denied'])
  assert.is(seat.waits().length, 5)
  const [late] = all
  const paused = await late?.creates('late')
  assert.match(JSON.stringify(paused), /"busy".*A person has refused 3 plans of yours in a row/)
  assert.is(seat.plans.size, 8)
  assert.equal(await seat.link.call('lift', {}), { lifted: 1 })
  void late?.creates('late')
  await until(() => seat.plans.size === 9, 'the ninth')
  await Promise.all(all.map(one => one.leaves()))
  await Promise.all(answers)
  await until(() => seat.waits().length === 0, 'nothing to wait')
  for (const name of ['late', ...all.map((_, n) => `flood-${n}`)]) assert.not.ok(existsSync(at(name)), name)
})

test('an answer with the hash of another plan counts for neither over a WebSocket, in both directions (threat 20)', async () => {
  const one = await asking()
  const answers = [one.creates('first'), one.creates('second')]
  const [first, second] = [await planOf('first'), await planOf('second')]
  for (const [plan, other] of [
    [first, second],
    [second, first],
  ] as const) {
    const crossed = await seat.answers({ id: plan.id, hash: other.hash }, 'approve')
    assert.is((crossed as { type: string }).type, 'wrong_hash')
  }
  assert.is(seat.waits().length, 2)
  assert.equal(await seat.answers(second, 'approve'), { type: 'taken' })
  assert.equal(await seat.answers(first, 'deny'), { type: 'taken' })
  assert.equal((await Promise.all(answers)).map(codeOf), ['denied', 'ok'])
  assert.equal([existsSync(at('first')), existsSync(at('second'))], [false, true])
  await one.leaves()
})

test('a plan of 10,000 lines comes whole over a WebSocket, and what was read is what is written', async () => {
  const one = await asking()
  const content = Array.from({ length: 10_000 }, (_, line) => `line ${line} of the plan\n`).join('')
  const answer = one.creates('long', content)
  const plan = await planOf('long')
  const shown = (await seat.link.call('plan', { plan: plan.id })) as {
    readonly body: string
    readonly files: readonly { readonly after: string }[]
  }
  assert.is(shown.files[0]?.after, content)
  assert.is(shown.body.match(/^.*line \d+ of the plan$/gm)?.length, 10_000)
  assert.equal(await seat.answers(plan, 'approve'), { type: 'taken' })
  assert.is(codeOf(await answer), 'ok')
  assert.is(readFileSync(at('long'), 'utf8'), content)
  await one.leaves()
})

test('code in a kernel that opens a page, and says its code at a terminal of its own, gets no seat over a WebSocket (threat 5)', async () => {
  const { env, project } = rig
  const script = join(PACKAGE_ROOT, 'test/support/page-intruder.ts')
  const words = [process.execPath, ...process.execArgv, script, JSON.stringify({ env, project })]
  const expr = [
    'import json, subprocess',
    `given = json.loads(${JSON.stringify(JSON.stringify({ args: words, env, cwd: PACKAGE_ROOT }))})`,
    'ran = subprocess.run(**given, capture_output=True, text=True)',
    'print(ran.stdout + ran.stderr)',
  ].join('\n')
  await using client = await rig.connect()
  const said = JSON.stringify(await client.call({ tool: 'eval_expr', args: { expr, patience: 100 } }))
  assert.match(said, /inside a kernel/)
  assert.not.match(said, 'It has a seat')
  assert.is((await client.request('approvals', {})).seats.length, 1)
})
