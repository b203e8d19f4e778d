import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { readAnnouncements } from '../../wire/kernels/programs.ts'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { type Program, startProgram } from '../support/program.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { venvPython } from '../support/runtimes.ts'

/** A rule about a kernel holds by whichever name a call says it, over whichever road the call comes. */
const test = suite('the names of a kernel', { limitMs: 120_000 })

const rule = (decision: string, tool: string, kernel: string) =>
  `[[rule]]\ndecision = "${decision}"\ntool = "${tool}"\nkernel = "${kernel}"\n`

interface Scene {
  readonly rig: Rig
  start(name?: string): Promise<Program>
  /** What a call came to over each road: `done`, or the code of its error. */
  roads(tool: string, args: object): Promise<readonly string[]>
  /** The kernels that live. */
  kernels(): Promise<readonly string[]>
}

async function withScene(policy: string, body: (scene: Scene) => Promise<void>): Promise<void> {
  const rig = openRig({ policy })
  const begun: Program[] = []
  const mcp = new Client({ name: 'test', version: '1' })
  try {
    await rig.serve()
    const program = await rig.connect()
    const [command, args] = [
      process.execPath,
      [join(PACKAGE_ROOT, 'dist/src/main.cjs'), 'mcp', '--profile', 'full'],
    ]
    await mcp.connect(new StdioClientTransport({ command, args, env: { ...rig.env }, cwd: rig.project }))
    await body({
      rig,
      async start(name = 'production') {
        begun.push(await startProgram({ folder: rig.project, runtimeDir: rig.paths.runtimeDir, name }))
        return begun.at(-1) as Program
      },
      async roads(tool, args) {
        const shell = onlyEnvelope(await rig.imago(['call', tool, JSON.stringify(args), '--json']))
        const client = await program.call({ tool, args })
        const answer = await mcp.callTool({ name: tool, arguments: args as Record<string, unknown> })
        const [said] = answer.content as readonly { readonly text?: string }[]
        const code = /^(?:error: )?(\w+)/.exec(said?.text ?? '')?.[1] ?? ''
        return [
          ...[shell, client].map(one => (one.ok ? 'done' : one.error.code)),
          answer.isError === true ? code : 'done',
        ]
      },
      kernels: async () => (await program.request('kernels', {})).kernels.map(({ name }) => name),
    })
  } finally {
    await mcp.close()
    for (const one of begun) one.signal('SIGKILL')
    await Promise.all(begun.map(({ ended }) => ended))
    await rig.close()
  }
}

const DENIED = ['denied', 'denied', 'denied']
const DONE = ['done', 'done', 'done']

/** Leaves a file in the project, wherever it runs. */
const RUNS = { expr: "open('ran', 'w')" }

test('what a rule denies on a program is denied by its name, its number, both and none, before it is attached', () =>
  withScene(rule('deny', 'eval_*', 'production'), async ({ rig, start, roads, kernels }) => {
    const { pid } = await start()
    for (const kernel of ['production', `production-${pid}`, String(pid), undefined])
      assert.equal(await roads('eval_expr', { ...RUNS, kernel }), DENIED, kernel)
    assert.equal(await kernels(), [])
    assert.not.ok(existsSync(join(rig.project, 'ran')))
    assert.equal(await roads('list_globals', { kernel: String(pid) }), DONE)
    assert.equal(await kernels(), ['production'])
  }))

test('and on every member of its group once they are attached, under a name of their own as well', () =>
  withScene(rule('deny', 'eval_*', 'production'), async ({ rig, start, roads, kernels }) => {
    const pids = [(await start()).pid, (await start()).pid, (await start()).pid]
    for (const pid of pids.slice(0, 2))
      assert.equal(await roads('list_globals', { kernel: `production-${pid}` }), DONE)
    const named = await rig.imago(['attach', String(pids[2]), '--name', 'harmless'])
    assert.is(named.code, 0, named.stderr)
    assert.equal((await kernels()).toSorted(), ['harmless', 'production', 'production/2'])
    const names = [
      'production',
      'production/2',
      'harmless',
      ...pids.flatMap(pid => [`production-${pid}`, String(pid)]),
    ]
    for (const kernel of names) assert.equal(await roads('eval_expr', { ...RUNS, kernel }), DENIED, kernel)
    assert.not.ok(existsSync(join(rig.project, 'ran')))
  }))

test('a rule that names one process, or all of a group, holds for the kernel by its other names', () =>
  withScene('', async ({ rig, start, roads }) => {
    const { pid } = await start()
    for (const kernel of [String(pid), `production-${pid}`, 'production/*', 'prod*']) {
      writeFileSync(join(rig.paths.configDir, 'policy.toml'), rule('deny', 'eval_*', kernel))
      for (const name of ['production', String(pid)])
        assert.equal(await roads('eval_expr', { ...RUNS, kernel: name }), DENIED, `${name} by ${kernel}`)
    }
    assert.not.ok(existsSync(join(rig.project, 'ran')))
  }))

test('a call to all of a group is judged by the name of the group, and each member by its own', () =>
  withScene(
    rule('deny', 'list_globals', 'production') + rule('deny', 'inspect', 'production/2'),
    async scene => {
      const { start, roads, rig } = scene
      const pids = [(await start()).pid, (await start()).pid]
      assert.equal(await roads('list_globals', { kernel: 'production/*' }), DENIED)
      for (const pid of pids) assert.equal(await roads('threads', { kernel: String(pid) }), DONE)
      const looked = await rig.imago([
        'call',
        'inspect',
        '{"expr": "__name__", "kernel": "production/*"}',
        '--json',
      ])
      const members = Object(onlyEnvelope(looked)).result.members as readonly {
        kernel: string
        error?: { code: string }
      }[]
      assert.equal(
        members.map(({ kernel, error }) => [kernel, error?.code]),
        [
          ['production', undefined],
          ['production/2', 'denied'],
        ],
      )
      const checked = await rig.imago(['policy', 'check', 'inspect', '--kernel', 'production/*'])
      assert.match(checked.stdout, /^allow: [\s\S]*In production\/2: deny, by rule 2 of /)
    },
  ))

test('what a rule denies of attach is denied by every name of the program, by its address and under another name', () =>
  withScene(rule('deny', 'attach', 'production'), async ({ rig, start, roads, kernels }) => {
    const { pid, address } = await start()
    for (const name of ['production', `production-${pid}`, String(pid)])
      assert.equal(await roads('attach', { name }), DENIED, name)
    for (const target of ['production', `production-${pid}`, String(pid), address]) {
      const { stderr } = await rig.imago(['attach', target, '--name', 'harmless'])
      assert.match(stderr, 'is denied by rule 1 of ')
    }
    assert.equal(await kernels(), [])
  }))

test('a call that is denied starts no kernel, and one that names none is judged by the one that it would get', () =>
  withScene(rule('deny', 'eval_*', 'project'), async ({ rig, roads, kernels }) => {
    for (const kernel of ['project', undefined])
      assert.equal(await roads('eval_expr', { ...RUNS, kernel }), DENIED)
    assert.equal(await kernels(), [])
    assert.not.ok(existsSync(join(rig.project, 'ran')))
  }))

test('a rule that allows holds by the name of the kernel alone', () =>
  withScene(rule('allow', '*', 'web'), async ({ rig, start }) => {
    const cwd = join(rig.folder, 'other')
    mkdirSync(cwd)
    const [first, second] = [await start('web'), await start('web')]
    for (const [{ pid }, more] of [
      [first, []],
      [second, ['--name', 'mine']],
    ] as const)
      assert.is((await rig.imago(['attach', String(pid), ...more])).code, 0)
    const from = (kernel: string) =>
      rig.imago(['call', 'eval_expr', JSON.stringify({ expr: '1', kernel }), '--json'], { cwd })
    assert.ok(onlyEnvelope(await from('web')).ok)
    assert.match((await from('mine')).stdout, '"approval_unavailable"')
  }))

test('imago policy check says of each name what the gate does', () =>
  withScene(rule('deny', 'eval_*', 'production'), async ({ rig, start }) => {
    const { pid } = await start()
    for (const kernel of ['production', `production-${pid}`, String(pid)]) {
      const checked = await rig.imago(['policy', 'check', 'eval_expr', '--kernel', kernel])
      assert.is(checked.code, 3, kernel)
      assert.match(checked.stdout, /^deny: eval_expr \(cautious\), in production\n/)
    }
    const unnamed = await rig.imago(['policy', 'check', 'eval_expr', 'expr=1'])
    assert.is(unnamed.code, 3)
    assert.match(unnamed.stdout, 'No kernel was named: production is what such a call gets')
  }))

const WORKS = `
import logging, multiprocessing, sys, threading, time
import imago

def work():
    while True:
        try:
            [][1]
        except IndexError:
            logging.exception("no order")
        time.sleep(0.1)

if __name__ == "__main__":
    imago.listen("production")
    context = multiprocessing.get_context(sys.argv[1])
    context.Process(target=work, daemon=True).start()
    threading.Event().wait()
`

for (const method of ['fork', 'spawn'])
  test(`what a rule denies on a program is denied on its worker (${method}) once the program was killed, and on what both have left`, () =>
    withScene(
      rule('deny', 'eval_*', 'production') + rule('deny', 'get_last_error', 'production'),
      async ({ rig, roads, kernels }) => {
        writeFileSync(join(rig.project, 'work.py'), WORKS)
        rig.begin(['run', '--', venvPython, 'work.py', method])
        const listening = () =>
          readAnnouncements(rig.paths.runtimeDir).programs.filter(one => one.process === 'lives')
        await until(() => listening().length === 2, 'both to listen')
        const [program, worker] = ['main', 'helper'].map(role => listening().find(one => one.role === role))
        if (program === undefined || worker === undefined) throw new Error('one of them does not listen')
        assert.is(program.name, 'production')
        const pid = String(worker.pid)
        process.kill(program.pid, 'SIGKILL')
        try {
          await until(() => listening().length === 1, 'the program to have ended')
          const names = [pid, `${worker.name}-${pid}`, worker.name]
          for (const kernel of names)
            assert.equal(await roads('eval_expr', { ...RUNS, kernel }), DENIED, kernel)
          assert.is((await rig.imago(['attach', pid, '--name', 'harmless'])).code, 0)
          assert.equal(await kernels(), ['harmless'])
          for (const kernel of ['harmless', ...names.slice(0, 2)])
            assert.equal(await roads('eval_expr', { ...RUNS, kernel }), DENIED, kernel)
          assert.equal(await roads('get_last_error', { kernel: 'harmless' }), DENIED)
        } finally {
          process.kill(worker.pid, 'SIGKILL')
        }
        await until(() => listening().length === 0, 'the worker to have ended')
        const left = readdirSync(join(rig.paths.stateDir, 'errors'))
        assert.ok(left.some(name => name.includes(`-${pid}-`)))
        assert.not.match((await rig.imago(['errors'])).stdout, 'IndexError')
        assert.not.ok(existsSync(join(rig.project, 'ran')))
      },
    ))
