import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DaemonClient } from '../../src/front/client.ts'
import { OPERATIONS } from '../../src/front/operations/index.ts'
import type { Method } from '../../src/front/protocol.ts'
import { assert, suite } from '../support/harness.ts'
import { type Program, startProgram } from '../support/program.ts'
import { openRig } from '../support/rig.ts'

/** The table of operations, as a client of a real daemon meets it. */
const test = suite('operations', { limitMs: 60_000 })

const rig = openRig({
  policy: '[[rule]]\ndecision = "deny"\ntool = "attach"\nkernel = "forbidden"\n',
})
let client: DaemonClient
let okapi: Program

test.before(async () => {
  await rig.serve()
  client = await rig.connect()
  okapi = await startProgram({ folder: rig.project, runtimeDir: rig.paths.runtimeDir, name: 'okapi' })
})

test.after(async () => {
  okapi.signal('SIGKILL')
  await okapi.ended
  await rig.close()
})

/** The lines of the journal about calls, oldest first. */
function journalled(): readonly Readonly<Record<string, unknown>>[] {
  const folder = join(rig.paths.stateDir, 'journal')
  const files = readdirSync(folder).filter(name => name.endsWith('.jsonl'))
  const lines = files.sort().flatMap(name => readFileSync(join(folder, name), 'utf8').trimEnd().split('\n'))
  return lines.map(line => JSON.parse(line))
}

test('describe lists each operation and each tool, with the schemas of its parameters and its result', async () => {
  const { operations } = await client.request('describe', {})
  const names = operations.map(({ name }) => name)
  for (const name of [...Object.keys(OPERATIONS), 'inspect', 'eval_expr'])
    assert.ok(names.includes(name), name)
  for (const { name, does, params, result } of operations) {
    assert.match(does, /\.$/, name)
    assert.is(params.type, 'object', name)
    assert.ok(Object.keys(result).length > 0, name)
  }
})

test('imago describe stop prints who may, the level, and both schemas', async () => {
  const { code, stdout } = await rig.imago(['describe', 'stop'])
  assert.is(code, 0)
  const { who, level, recorded, params, result } = JSON.parse(stdout)
  assert.equal({ who, level, recorded }, { who: ['project', 'person'], level: 'dangerous', recorded: true })
  assert.equal(Object.keys(params.properties), ['name'])
  assert.ok('state' in result.properties)
})

test('an operation that there is not is refused with the nearest', async () => {
  const { code, stderr } = await rig.imago(['describe', 'restrat'])
  assert.is(code, 2)
  assert.match(stderr, 'There is no operation "restrat". Did you mean restart')
})

test('what the daemon answers is what the table says', async () => {
  const asked: Readonly<Partial<Record<Method, object>>> = {
    status: {},
    kernels: {},
    approvals: {},
    suspensions: {},
    policy: {},
    describe: {},
    tools: {},
    start: { language: 'python', name: 'fresh' },
    trial: { language: 'python' },
    interrupt: { name: 'fresh' },
    revoke: { grant: 'grant-1' },
    check_policy: { tool: 'eval_expr' },
    call: { tool: 'eval_expr', args: { expr: '1 + 1', kernel: 'fresh' } },
  }
  for (const [method, params] of Object.entries(asked)) {
    const answer = await client.request(method as 'status', params as Record<string, never>)
    const read = OPERATIONS[method as Method].result.safeParse(answer)
    assert.ok(read.success, `${method}: ${read.error?.message} ${JSON.stringify(answer)}`)
  }
})

test('attach, detach, restart and stop are in the journal, each as a call of the client with its end', async () => {
  await client.request('attach', { target: 'okapi', key: 'not-to-be-told' }).catch(() => undefined)
  await client.request('attach', { target: 'okapi' })
  await client.request('detach', { name: 'okapi' })
  await client.request('restart', { name: 'fresh' })
  await client.request('stop', { name: 'fresh' })
  await client.request('attach', { target: 'nobody' }).catch(() => undefined)
  await client.request('attach', { target: 'forbidden' }).catch(() => undefined)
  await client.request('status', {})
  assert.is((await rig.imago(['shutdown', '--force'])).code, 0)
  const lines = journalled()
  const calls = lines.filter(({ type, tool }) => type === 'dispatched' && tool !== 'eval_expr')
  const told = calls.map(({ tool, kernel, call }) => {
    const end = lines.find(one => one.type === 'ended' && one.call === call)
    return [tool, kernel, end?.outcome]
  })
  const done = told.filter(([, , outcome]) => outcome === 'ok').map(([tool, kernel]) => [tool, kernel])
  assert.equal(done.slice(-4), [
    ['attach', 'okapi'],
    ['detach', 'okapi'],
    ['restart', 'fresh'],
    ['stop', 'fresh'],
  ])
  assert.equal(told.at(-1), ['attach', 'nobody', 'no_such_kernel'])
  const denied = lines.find(({ type, tool }) => type === 'refused' && tool === 'attach')
  assert.equal([denied?.kernel, denied?.decision, denied?.outcome], ['forbidden', null, 'kernel_unavailable'])
  for (const { who, caller } of calls) assert.ok(String(who) !== '' && String(caller).startsWith('client-'))
  assert.not.match(JSON.stringify(lines), 'not-to-be-told')
})
