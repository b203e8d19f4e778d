import { closeSync, mkdirSync, openSync, readSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DaemonClient } from '../../src/front/client.ts'
import { METHODS } from '../../src/front/methods.ts'
import type { Method, TerminalChallenge } from '../../src/front/protocol.ts'
import type { SuspensionEvent } from '../../src/suspensions/rows.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { WireError } from '../../wire/errors.ts'
import { assert, suite } from '../support/harness.ts'
import { type Program, startProgram } from '../support/program.ts'
import { hello, RawClient } from '../support/raw-client.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { CTRL_D, openTerminal } from '../support/terminal.ts'

/**
 * What a client in one project is told of another one, and can do there, method by method: as a program, and as a person
 * at a terminal. `zebra` is a kernel of the other project, and `okapi` a program that listens there.
 */
const test = suite('clients between projects', { limitMs: 120_000 })

const rig = openRig()
const other = join(rig.folder, 'other')
let okapi: Program
/** A client in the other project, and one in that of the rig. */
let theirs: DaemonClient
let program: DaemonClient

const resultIn = (envelope: Envelope) => {
  if (!envelope.ok) throw new Error(JSON.stringify(envelope))
  return envelope.result as Readonly<Record<string, unknown>>
}

const raises = { tool: 'eval_expr', args: { expr: '1 / 0', on_error: 'suspend', kernel: 'zebra' } }

test.before(async () => {
  mkdirSync(other)
  await rig.serve()
  assert.is((await rig.imago(['start', 'python', '--name', 'zebra'], { cwd: other })).code, 0)
  okapi = await startProgram({ folder: other, runtimeDir: rig.paths.runtimeDir, name: 'okapi' })
  theirs = await rig.connect({ root: other })
  program = await rig.connect()
  const printed = await theirs.call({
    tool: 'eval_expr',
    args: { expr: 'kept = 41\nprint("x" * 100_000)', kernel: 'zebra' },
  })
  assert.match(String(resultIn(printed).output), '@out.1')
  await theirs.call(raises)
  const loop = { expr: 'import time\nwhile True: time.sleep(0.01)', kernel: 'zebra', patience: 0 }
  assert.is(resultIn(await theirs.call({ tool: 'eval_expr', args: loop })).job, 'job-3')
})

test.after(async () => {
  okapi.signal('SIGKILL')
  await okapi.ended
  await rig.close()
})

interface Row {
  readonly params: unknown
  /** The code of its failure, or of that of its envelope; `done` where there is none. */
  readonly code: string
  /** It names the other project to whoever knows the name of a kernel there: it says whose rules hold. */
  readonly namesRoot?: true
}

const ZEBRA = { name: 'zebra' }

/** Each method, as a program in another project calls it. */
const ROWS: Readonly<Record<Method, Row>> = {
  call: {
    params: { tool: 'inspect', args: { expr: 'kept', kernel: 'zebra' } },
    code: 'approval_unavailable',
  },
  offer_buffers: { params: { path: 'zebra' }, code: 'invalid_params' },
  withdraw: { params: { call: 'zebra' }, code: 'done' },
  keep_key: { params: { run: 'run-1', variable: 'OPENAI_API_KEY', value: 'x' }, code: 'done' },
  show: { params: { tool: 'job', envelope: { ok: true, result: {} } }, code: 'done' },
  display: { params: { path: '/etc/passwd' }, code: 'no_such_display' },
  tools: { params: { name: 'job' }, code: 'done' },
  kernels: { params: {}, code: 'done' },
  start: { params: { language: 'python', name: 'zebra' }, code: 'kernel_unavailable' },
  trial: { params: { language: 'cobol' }, code: 'invalid_params' },
  stop: { params: ZEBRA, code: 'no_such_kernel' },
  restart: { params: ZEBRA, code: 'no_such_kernel' },
  interrupt: { params: ZEBRA, code: 'no_such_kernel' },
  attach: { params: { target: 'okapi' }, code: 'no_such_kernel' },
  detach: { params: ZEBRA, code: 'no_such_kernel' },
  sit: { params: {}, code: 'seat_refused' },
  admit: { params: { wanted: 'wanted-1', admit: true }, code: 'no_seat' },
  answer: { params: { plan: 'plan-aaaaaaaa', hash: '0', decision: 'approve' }, code: 'no_seat' },
  plan: { params: { plan: 'plan-aaaaaaaa' }, code: 'no_seat' },
  approvals: { params: {}, code: 'done' },
  approve: { params: { plan: 'plan-aaaaaaaa', code: '0000-0000-0000-0000' }, code: 'done' },
  deny: { params: { plan: 'plan-aaaaaaaa', code: '0000-0000-0000-0000' }, code: 'done' },
  acknowledge: { params: {}, code: 'no_seat' },
  lift: { params: {}, code: 'no_seat' },
  revoke: { params: { grant: 'grant-1' }, code: 'done' },
  policy: { params: {}, code: 'done' },
  check_policy: { params: { tool: 'eval_expr', kernel: 'zebra' }, code: 'done', namesRoot: true },
  accept_policy: { params: {}, code: 'done' },
  suspensions: { params: {}, code: 'done' },
  take: { params: { kernel: 'zebra', suspension: 's1' }, code: 'no_seat' },
  hand: { params: { kernel: 'zebra', suspension: 's1' }, code: 'no_seat' },
  theirs: { params: { kernel: 'zebra' }, code: 'no_seat' },
  adopt: { params: { kernel: 'zebra', id: 'last_exc' }, code: 'no_seat' },
  subscribe: { params: { topics: ['everything'] }, code: 'invalid_params' },
  describe: { params: { name: 'revoke' }, code: 'done' },
  status: { params: {}, code: 'done' },
  open_page: { params: {}, code: 'done' },
  journal: { params: { count: 1 }, code: 'no_seat' },
  runs: { params: {}, code: 'done' },
  run: { params: { run: 'run-1' }, code: 'invalid_params' },
  cancel_run: { params: { run: 'run-1' }, code: 'invalid_params' },
  shutdown: { params: { when: 'unused' }, code: 'in_use' },
}

/** What came of a method, and all that was said. */
async function answered(client: DaemonClient, method: Method, params: unknown) {
  try {
    // What a program sends need not be what the method takes.
    const result: unknown = await client.request(method as 'status', params as Record<string, never>)
    const failed = typeof result === 'object' && result !== null && 'ok' in result && result.ok === false
    const code = failed ? (result as unknown as { error: { code: string } }).error.code : 'done'
    return { code, said: JSON.stringify(result) }
  } catch (error) {
    if (!(error instanceof WireError) || error.remote === undefined) throw error
    return { code: error.remote.code, said: JSON.stringify(error.remote) }
  }
}

test('every method of the client protocol is among the rows', () => {
  assert.equal([...METHODS].sort(), Object.keys(ROWS).sort())
})

for (const method of METHODS)
  test(`${method}: a program is told of nothing in another project, and does nothing there`, async () => {
    const { params, code, namesRoot } = ROWS[method]
    const answer = await answered(program, method, params)
    assert.is(answer.code, code, answer.said)
    // What it says itself is no news to it.
    const given = JSON.stringify(params)
    const secrets = ['zebra', 'okapi', 'job-3', String(okapi.pid), ...(namesRoot ? [] : [other])]
    for (const secret of secrets) if (!given.includes(secret)) assert.not.match(answer.said, secret)
  })

test('what a program of another project does is refused in the words that it is refused in where there is no kernel', async () => {
  for (const method of ['stop', 'restart', 'interrupt', 'detach'] as const) {
    const there = await answered(program, method, ZEBRA)
    const nowhere = await answered(program, method, { name: 'quagga' })
    assert.is(nowhere.said.replaceAll('quagga', 'zebra'), there.said)
  }
  const { kernels } = await theirs.request('kernels', {})
  assert.equal(
    kernels.map(({ name, state }) => [name, state]),
    [['zebra', 'busy']],
  )
})

test('a program is not told what is suspended in other projects, also where it asks for news from everywhere', async () => {
  const told: SuspensionEvent[] = []
  const heard: SuspensionEvent[] = []
  const over = new AbortController()
  const { signal } = over
  const watching = program.watchSuspensions({ everywhere: true, signal, heard: event => told.push(event) })
  const known = theirs.watchSuspensions({ signal, heard: event => heard.push(event) })
  await theirs.request('interrupt', { name: 'zebra' })
  await theirs.call(raises)
  await until(() => heard.length > 0, 'the news in its own project')
  assert.equal(told, [])
  assert.is((await theirs.request('suspensions', {})).suspensions.length > 0, true)
  over.abort()
  await Promise.all([watching, known])
})

test('who follows a kernel is not told what another one prints that has its name later, in another project', async () => {
  const { signal } = new AbortController()
  const [told, heard]: [string[], string[]] = [[], []]
  await program.request('start', { language: 'python', name: 'lion' })
  void program.watch({ name: 'lion', signal, heard: text => told.push(text) })
  await program.request('stop', { name: 'lion' })
  await theirs.request('start', { language: 'python', name: 'lion' })
  void theirs.watch({ name: 'lion', signal, heard: text => heard.push(text) })
  const expr = [
    'import os, threading, time',
    'def later():',
    '    while not os.path.exists("go"): time.sleep(0.01)',
    '    print("by itself")',
    'threading.Thread(target=later).start()',
  ].join('\n')
  await theirs.call({ tool: 'eval_expr', args: { expr, kernel: 'lion' } })
  writeFileSync(join(other, 'go'), '')
  await until(() => heard.join('').includes('by itself'), 'the news in its own project')
  assert.equal(told, [])
  await theirs.request('stop', { name: 'lion' })
})

test('a call that names a program of another project is not told its process', async () => {
  for (const kernel of ['okapi', String(okapi.pid)]) {
    const envelope = await program.call({ tool: 'inspect', args: { expr: 'x', kernel } })
    assert.ok(!envelope.ok && envelope.error.code === 'no_such_kernel', JSON.stringify(envelope))
    const said = JSON.stringify(envelope)
    for (const secret of ['zebra', other]) assert.not.match(said, secret)
    if (kernel === 'okapi') assert.not.match(said, String(okapi.pid))
  }
})

test('a program that says it is at a terminal, and is not, is told nothing more', async () => {
  const client = await RawClient.dial(rig.paths.socket)
  client.send({ hello: { ...hello(rig.project), options: { terminal: true } } })
  await client.next()
  client.send({ type: 'call', id: 1, method: 'kernels', params: {} })
  const asked = await client.find(({ method }) => method === 'prove')
  const { file, position } = asked.params as TerminalChallenge
  const opened = openSync(file, 'r+')
  readSync(opened, Buffer.alloc(position))
  client.send({ type: 'return', id: asked.id, result: { pid: process.pid } })
  const { result } = await client.find(({ type }) => type === 'return')
  assert.not.match(JSON.stringify(result), /zebra|okapi/)
  closeSync(opened)
  client.close()
})

test('a person at a terminal lists, looks into, follows and interrupts what is of other projects', async () => {
  const terminal = openTerminal(rig)
  const listed = await terminal(['kernels'], [])
  assert.match(listed.text, /^zebra /m)
  assert.match(listed.text, 'imago attach okapi')
  const piped = await rig.imago(['kernels'])
  assert.not.match(piped.stdout, /zebra|okapi/)
  assert.match(piped.stdout, 'Others live in other projects: imago kernels lists them at a terminal.')
  const looked = await terminal(['call', 'inspect', '{"expr":"kept","kernel":"zebra"}'], [])
  assert.match(looked.text, '41')
  assert.is(looked.code, 0)
  assert.is((await terminal(['interrupt', 'zebra'], [])).code, 0)
  const unseen = await rig.imago(['interrupt', 'zebra'])
  assert.match(unseen.stderr, 'A person at a terminal lists those of all projects with: imago kernels')
})

test('imago --kernel NAME at a terminal is a person’s own console, on a kernel of another project too', async () => {
  const terminal = openTerminal(rig)
  const seen = await terminal(
    ['--kernel', 'zebra'],
    [
      ['>>> ', 'kept + 1\r'],
      ['42', CTRL_D],
    ],
  )
  assert.match(seen.text, /in kernel zebra[\s\S]*>>> kept \+ 1\s+42/)
  const piped = await rig.imago(['--kernel', 'zebra'], { input: 'kept + 1\n' })
  assert.match(piped.stderr, 'zebra is a kernel of another project')
})

test('what the project of a program says of attach holds for whoever attaches, and policy check shows both', async () => {
  const attach = ['attach', '{"name":"okapi"}']
  const asked = await rig.imago(['policy', 'check', ...attach])
  assert.is(asked.code, 0)
  assert.match(asked.stdout, /^ask: attach \(dangerous\)\nThe default for what is dangerous decides\./)
  assert.match(asked.stdout, `  ask   in ${rig.project}  (the default`)
  assert.match(asked.stdout, `  ask   in ${other}  (the default`)
  const file = join(other, 'imago.toml')
  for (const decision of ['ask', 'deny'] as const) {
    writeFileSync(file, `[[rule]]\ndecision = "${decision}"\ntool = "attach"\n`)
    const checked = await rig.imago(['policy', 'check', ...attach])
    assert.match(checked.stdout, `${decision}: attach (dangerous)\nRule 1 of ${file} decides.`)
    assert.match(checked.stdout, `  ${decision.padEnd(5)} in ${other}  (rule 1 of ${file})`)
    assert.match(checked.stdout, `  ask   in ${rig.project}  (the default for what is dangerous)`)
    const called = await rig.imago(['call', ...attach])
    assert.is(called.code, 3)
    assert.match(called.stderr, `Rule 1 of ${file} ${decision === 'deny' ? 'denies attach' : 'asks'}`)
  }
  // A program of its own project is bound by it as well, by the method and by the tool.
  const own = await rig.imago(['attach', 'okapi'], { cwd: other })
  assert.match(own.stderr, `To attach to "okapi" is denied by rule 1 of ${file}.`)
  assert.match((await rig.imago(['call', ...attach], { cwd: other })).stderr, `Rule 1 of ${file} denies`)
  // It is about calls. What a person types is theirs.
  assert.is((await openTerminal(rig)(['attach', 'okapi'], [])).code, 0)
})

test('a rule that names the kernel lets programs list and interrupt it, and end it only where it says so', async () => {
  const rules = ['safe', 'cautious'].map(
    level => `[[rule]]\ndecision = "allow"\nlevel = "${level}"\nkernel = "zebra"\n`,
  )
  await inRig({ policy: rules.join('') }, async rig => {
    const folder = join(rig.folder, 'other')
    mkdirSync(folder)
    await rig.serve()
    for (const name of ['zebra', 'quagga'])
      assert.is((await rig.imago(['start', 'python', '--name', name], { cwd: folder })).code, 0)
    assert.match((await rig.imago(['kernels'])).stdout, /^zebra (?![\s\S]*quagga)/m)
    assert.is((await rig.imago(['interrupt', 'zebra'])).code, 0)
    assert.match((await rig.imago(['stop', 'zebra'])).stderr, 'No kernel is named "zebra".')
    writeFileSync(join(folder, 'imago.toml'), '[[rule]]\ndecision = "deny"\nlevel = "cautious"\n')
    assert.match((await rig.imago(['interrupt', 'zebra'])).stderr, 'No kernel is named "zebra".')
  })
})

test('calls of a kernel whose rows a client is not told are followed where rules let it trace there', async () => {
  const rules = ['trace_function', 'trace_calls'].map(
    tool => `[[rule]]\ndecision = "allow"\ntool = "${tool}"\nkernel = "zebra"\n`,
  )
  await inRig({ policy: rules.join('') }, async rig => {
    const folder = join(rig.folder, 'other')
    mkdirSync(folder)
    await rig.serve()
    const cwd = { cwd: folder }
    assert.is((await rig.imago(['start', 'python', '--name', 'zebra'], cwd)).code, 0)
    await rig.imago(['eval', 'def trot(n): return n', '--kernel', 'zebra'], cwd)
    assert.not.match((await rig.imago(['kernels'])).stdout, 'zebra')
    const followed = rig.begin(['trace', 'trot', 'limit=2', '--follow', '--kernel', 'zebra'])
    await until(() => followed.so.stderr.includes('Ctrl-C'), 'the tracepoint')
    for (const n of [1, 2]) {
      await rig.imago(['eval', `trot(${n})`, '--kernel', 'zebra'], cwd)
      await followed.says(new RegExp(`^#${n} __main__\\.trot\\(n=${n}\\) → ${n}`, 'm'))
    }
    assert.is((await followed.ended).code, 0)
  })
})

async function inRig(options: Parameters<typeof openRig>[0], body: (rig: Rig) => Promise<void>) {
  const rig = openRig(options)
  try {
    await body(rig)
  } finally {
    await rig.close()
  }
}

test('what runs in a project below the home directory is of another project than the home directory and all above it', async () => {
  const shop = join(rig.env.HOME ?? '', 'work/shop')
  mkdirSync(shop, { recursive: true })
  const quoll = await startProgram({ folder: shop, runtimeDir: rig.paths.runtimeDir, name: 'quoll' })
  const look = (kernel?: string) => ({
    tool: 'list_globals',
    args: kernel === undefined ? {} : { kernel },
  })
  const codeOf = (envelope: Envelope) => (envelope.ok ? 'done' : envelope.error.code)
  try {
    const roots = ['/', rig.folder, rig.env.HOME ?? '']
    const above = await Promise.all(roots.map(root => rig.connect({ root })))
    for (const client of above) {
      assert.is(
        codeOf(await client.call({ tool: 'attach', args: { name: 'quoll' } })),
        'approval_unavailable',
      )
      for (const name of ['quoll', String(quoll.pid)])
        assert.is(codeOf(await client.call(look(name))), 'no_such_kernel')
      assert.is(codeOf(await client.call(look())), 'kernel_unavailable')
      const { announced } = await client.request('kernels', {})
      assert.equal(announced, [])
      const listed = await client.call({ tool: 'kernels', args: {} })
      assert.is(listed.ok, false)
      assert.not.match(JSON.stringify(listed), 'quoll')
    }
    const monorepo = await rig.connect({ root: join(shop, '..') })
    assert.is(codeOf(await monorepo.call(look('quoll'))), 'done')
    for (const client of above) assert.is(codeOf(await client.call(look('quoll'))), 'approval_unavailable')
  } finally {
    quoll.signal('SIGKILL')
    await quoll.ended
  }
})
