import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Envelope } from '../../tools/outcome.ts'
import { asMcpClient, openScene } from '../support/attacking.ts'
import { assert, suite } from '../support/harness.ts'

/**
 * A program in one project that guesses at what another one has: its kernel `web`, its jobs, and the handles of its texts.
 * What succeeds is a test too, and docs/attacks.md names each of them.
 */
const test = suite('attacker, from another project', { limitMs: 60_000 })
const scene = openScene()
const elsewhere = join(scene.rig.folder, 'elsewhere')

const KERNEL = 'web'
const JOB = 'job-2'
const SECRET = 'the-secret-of-the-project'

const resultIn = (envelope: Envelope): Readonly<Record<string, unknown>> => {
  if (!envelope.ok) throw new Error(JSON.stringify(envelope))
  return envelope.result as Readonly<Record<string, unknown>>
}

test.before(async () => {
  mkdirSync(elsewhere)
  await scene.begin()
  assert.is((await scene.imago('start', 'python', '--name', KERNEL)).code, 0)
  const ours = await scene.rig.connect()
  const evaluates = async (expr: string, more = {}) =>
    resultIn(await ours.call({ tool: 'eval_expr', args: { expr, kernel: KERNEL, ...more } }))
  const { output } = await evaluates(`print("${SECRET} " * 10_000)`)
  assert.match(String(output), '@out.1')
  const loop = 'import time\nwhile True: time.sleep(0.01)'
  assert.is((await evaluates(loop, { patience: 0 })).job, JOB)
})
test.after(() => scene.close())

/** What is tried, and the code of what comes of each. */
const GUESSES: readonly (readonly [tool: string, args: object, code: string])[] = [
  ['eval_expr', { expr: 'open("theirs.txt", "w")', kernel: KERNEL }, 'approval_unavailable'],
  ['inspect', { expr: 'x', kernel: KERNEL }, 'approval_unavailable'],
  ['threads', { kernel: KERNEL }, 'approval_unavailable'],
  ['get_last_error', { kernel: KERNEL }, 'approval_unavailable'],
  ['debug_state', { kernel: KERNEL }, 'approval_unavailable'],
  ['attach', { name: KERNEL }, 'approval_unavailable'],
  ['job', { job: JOB }, 'unknown_job'],
  ['job', { job: JOB, action: 'wait', seconds: 0 }, 'unknown_job'],
  ['job', { job: JOB, action: 'interrupt' }, 'unknown_job'],
  ['read_more', { handle: '@out.1' }, 'stale_handle'],
  ['kernels', {}, 'ok'],
  ['job', {}, 'ok'],
]

/** Nothing of the other project is in it but what was guessed. */
function assertTold(said: string, guess: object): void {
  for (const word of [SECRET, scene.rig.project, KERNEL, JOB])
    if (!JSON.stringify(guess).includes(word)) assert.not.match(said, word)
}

/** The job of the other project goes on. */
async function assertGoesOn(): Promise<void> {
  const ours = await scene.rig.connect()
  assert.is(resultIn(await ours.call({ tool: 'job', args: { job: JOB } })).status, 'running')
}

test('by the client protocol, kernels, jobs and handles of another project are not told, read or interrupted (threat 9)', async () => {
  const theirs = await scene.rig.connect({ root: elsewhere })
  for (const [tool, args, code] of GUESSES) {
    const envelope = await theirs.call({ tool, args })
    assert.is(envelope.ok ? 'ok' : envelope.error.code, code, `${tool}: ${JSON.stringify(envelope)}`)
    assertTold(JSON.stringify(envelope), args)
  }
  await assertGoesOn()
})

test('over MCP, kernels, jobs and handles of another project are not told, read or interrupted (threat 9)', async () => {
  const asks = await asMcpClient(scene, { cwd: elsewhere })
  for (const [tool, args, code] of GUESSES) {
    const said = await asks('tools/call', { name: tool, arguments: args })
    if (code === 'ok') assert.not.match(said, '"isError":true')
    else assert.match(said, `${code}: `)
    assertTold(said, args)
  }
  await assertGoesOn()
})

test('an attacker who calls from the folder of the other project succeeds: it is a caller there', async () => {
  const theirs = await scene.rig.connect({ root: scene.rig.project })
  assert.match(
    String(resultIn(await theirs.call({ tool: 'read_more', args: { handle: '@out.1' } })).text),
    SECRET,
  )
  assert.match((await scene.imago('kernels')).text, KERNEL)
})
