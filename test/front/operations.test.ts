import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { z } from 'zod'
import type { DaemonClient } from '../../src/front/client.ts'
import { OPERATIONS } from '../../src/front/operations/index.ts'
import type { Method } from '../../src/front/protocol.ts'
import { TOOLS } from '../../tools/index.ts'
import { assert, suite } from '../support/harness.ts'
import { type Program, startProgram } from '../support/program.ts'
import { openRig } from '../support/rig.ts'

/** The table of operations, as a client of a real daemon meets it. */
const test = suite('operations', { limitMs: 60_000 })

const rig = openRig({
  files: { 'shop.py': 'RATE = 3\n' },
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
  assert.match(stderr, 'There is no operation or tool "restrat". Did you mean restart')
  const far = await rig.imago(['describe', 'zzzzzzzz'])
  assert.match(far.stderr, 'There is no operation or tool "zzzzzzzz". Without a name, all are described.')
})

test('each tool that can be called is described by each of its names, also one for the host of a model', async () => {
  for (const { name, aliases } of TOOLS)
    for (const called of [name, ...aliases]) {
      const { operations } = await client.request('describe', { name: called })
      assert.ok(
        operations.some(one => one.name === name),
        called,
      )
    }
  const { code, stdout } = await rig.imago(['describe', 'permission_prompt'])
  assert.is(code, 0)
  assert.match(
    JSON.parse(stdout).does,
    'started with --permission-prompt-tool mcp__imago__permission_prompt.',
  )
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

/** The schemas of answers, by tool. */
async function answersDescribed(): Promise<ReadonlyMap<string, Readonly<Record<string, unknown>>>> {
  const { operations } = await client.request('describe', {})
  return new Map(
    operations.flatMap(({ name, who, result }) => (who.includes('model') ? [[name, result]] : [])),
  )
}

const shapesIn = (shape: unknown): readonly unknown[] =>
  shape instanceof z.ZodUnion ? shape.options.flatMap(shapesIn) : [shape]

test('describe has the shape of what each tool answers, and none of them may be anything', async () => {
  const described = await answersDescribed()
  assert.equal([...described.keys()].sort(), TOOLS.map(({ name }) => name).sort())
  for (const { name, result } of TOOLS) {
    for (const shape of shapesIn(result)) assert.ok(shape instanceof z.ZodObject, name)
    const isSo = new Ajv2020({ strict: false }).compile(described.get(name) ?? true)
    for (const other of [null, {}, 'done', [], { done: true }])
      assert.not.ok(isSo({ ok: true, result: other }), name)
  }
})

test('what a tool answers is what describe says of it', async () => {
  const described = await answersDescribed()
  const expr = [
    'import time',
    'class Shop:',
    '    """Sells."""',
    '    size = 3',
    '    def total(self, rate=1): return [rate]',
    'shop, many = Shop(), list(range(100))',
    'def caller(): return shop.total()',
    'print("x" * 9, flush=True)',
  ].join('\n')
  const asked: readonly (readonly [tool: string, args: Readonly<Record<string, unknown>>])[] = [
    ['eval_expr', { expr }],
    ['eval_expr', { expr: 'many' }],
    ['inspect', { expr: 'shop' }],
    ['inspect', { expr: 'Shop.total' }],
    ['inspect', { expr: 'Shop', detail: 'brief' }],
    ['inspect', { expr: 'Shop.total', detail: 'signature' }],
    ['list_globals', {}],
    ['list_globals', { package: 'time', detail: 'docs' }],
    ['apropos_search', { filter: 'total' }],
    ['class_slots', { name: 'Shop' }],
    ['class_hierarchy', { name: 'Shop' }],
    ['who_references', { name: 'shop' }],
    ['complete', { text: 'shop.to' }],
    ['get_repl_history', {}],
    ['trace_function', { name: 'Shop.total' }],
    ['eval_expr', { expr: 'caller()' }],
    ['trace_calls', {}],
    ['untrace_function', { tracepoint: 't1' }],
    ['threads', {}],
    ['get_last_error', {}],
    ['symbol_definition', { symbols: ['Shop', 'nothing'] }],
    ['load_file', { path: 'shop.py' }],
    ['kernels', {}],
    ['job', {}],
    ['get_project_root', {}],
    ['list_directory', {}],
    ['directory_tree', {}],
    ['search_files', { text: 'RATE' }],
    ['get_file_info', { path: 'shop.py' }],
    ['read_file', { path: 'shop.py' }],
    ['read_buffer', { path: 'shop.py' }],
    ['search_in_buffer', { path: 'shop.py', text: 'RATE' }],
  ]
  const ajv = new Ajv2020({ strict: false })
  for (const [tool, args] of asked) {
    const { needs = [] } = TOOLS.find(({ name }) => name === tool) ?? {}
    const inside = needs.length > 0 && { kernel: 'fresh' }
    const answer = await client.call({ tool, args: { ...args, ...inside } })
    assert.ok(answer.ok, `${tool}: ${JSON.stringify(answer)}`)
    const isSo = ajv.compile(described.get(tool) ?? false)
    assert.ok(isSo(answer), `${tool}: ${JSON.stringify([isSo.errors, answer])}`)
    const [field] = Object.keys(Object(answer.result))
    const { [String(field)]: _, ...rest } = Object(answer.result)
    assert.not.ok(isSo({ ok: true, result: rest }), `${tool} without ${field}`)
    const failed = await client.call({ tool, args: { ...args, kernel: 7 } })
    assert.ok(!failed.ok && isSo(failed), tool)
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
  await client.request('stop', { name: 'nobody' }).catch(() => undefined)
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
  const stopped = lines.find(({ type, tool }) => type === 'refused' && tool === 'stop')
  assert.equal([stopped?.kernel, stopped?.outcome], ['nobody', 'no_such_kernel'])
  for (const { who, caller } of calls) assert.ok(String(who) !== '' && String(caller).startsWith('client-'))
  assert.not.match(JSON.stringify(lines), 'not-to-be-told')
})
