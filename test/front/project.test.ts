import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Client as Newest } from '@modelcontextprotocol/client'
import { StdioClientTransport as NewestTransport } from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { startProgram } from '../support/program.ts'
import { openRig, type Rig, until } from '../support/rig.ts'

/** Which project the calls of an MCP client are of, wherever its host starts the server. */
const test = suite('whose project', { limitMs: 60_000 })

let rig: Rig
test.before.each(() => {
  rig = openRig()
  for (const name of ['one', 'two']) {
    mkdirSync(join(rig.folder, name))
    writeFileSync(join(rig.folder, name, 'imago.toml'), '')
  }
})
test.after.each(() => rig.close())

const at = (name: string) => join(rig.folder, name)

interface Host {
  readonly cwd?: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** What the client answers when it is asked for its roots; without, it has none. */
  readonly roots?: readonly string[]
}

interface Opened {
  call(tool: string, args?: Record<string, unknown>): Promise<string>
  /** The project that a look without a program names. */
  project(): Promise<string | undefined>
  /** The client works elsewhere from now on. */
  move(...folders: string[]): Promise<void>
  /** It gives its next answer about its roots, as they are when it is asked, only then. */
  hold(until: Promise<void>): void
  /** How often it was asked for its roots. */
  readonly asked: number
}

async function withHost(host: Host, body: (opened: Opened) => Promise<void>): Promise<void> {
  let { roots } = host
  let held: Promise<void> | undefined
  let asked = 0
  const capabilities = roots === undefined ? {} : { roots: { listChanged: true } }
  const client = new Client({ name: 'host', version: '1' }, { capabilities })
  if (roots !== undefined)
    client.setRequestHandler(ListRootsRequestSchema, async () => {
      asked++
      const [told, until] = [roots, held]
      held = undefined
      await until
      return { roots: (told ?? []).map(uri => ({ uri: uri.includes(':') ? uri : pathToFileURL(uri).href })) }
    })
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [join(PACKAGE_ROOT, 'dist/src/main.cjs'), 'mcp', ...(host.args ?? [])],
      env: { ...rig.env, ...host.env },
      cwd: host.cwd ?? rig.project,
    }),
  )
  const call = async (tool: string, args: Record<string, unknown> = {}) =>
    JSON.stringify((await client.callTool({ name: tool, arguments: args })).content)
  try {
    await body({
      call,
      project: async () => /No program of (\S+) listens/.exec(await call('inspect', { expr: 'x' }))?.[1],
      async move(...folders) {
        roots = folders
        await client.sendRootsListChanged()
      },
      hold(until) {
        held = until
      },
      get asked() {
        return asked
      },
    })
  } finally {
    await client.close()
  }
}

const projectOf = async (host: Host): Promise<string | undefined> => {
  let found: string | undefined
  await withHost(host, async ({ project }) => {
    found = await project()
  })
  return found
}

test('--root, CLAUDE_PROJECT_DIR, the roots of the client and the working folder count in this order', async () => {
  const env = { CLAUDE_PROJECT_DIR: at('two') }
  const roots = [at('one')]
  assert.is(await projectOf({ args: ['--root', at('one')], env, roots: [at('two')] }), at('one'))
  assert.is(await projectOf({ env, roots }), at('two'))
  assert.is(await projectOf({ roots }), at('one'))
  assert.is(await projectOf({}), rig.project)
})

test('a project directory that is none, and roots that are none, count as if they had not been named', async () => {
  symlinkSync(at('two'), at('link'))
  assert.is(await projectOf({ env: { CLAUDE_PROJECT_DIR: at('link') } }), at('two'))
  for (const folder of ['', '/', '../two', at('gone'), at('one/imago.toml')])
    assert.is(await projectOf({ env: { CLAUDE_PROJECT_DIR: folder } }), rig.project, folder)
  const none = ['file:///', 'https://example.org/x', 'file://other-machine/x', at('gone'), 'untitled:x']
  assert.is(await projectOf({ roots: none }), rig.project)
  assert.is(await projectOf({ roots: [] }), rig.project)
})

test('of several roots it is the one that the server was started in, or else the first', async () => {
  const roots = ['file:///', at('one'), at('two')]
  assert.is(await projectOf({ roots }), at('one'))
  assert.is(await projectOf({ roots, cwd: at('two') }), at('two'))
})

test('the client is asked for its roots once, and again when they have changed', () =>
  withHost({ roots: [at('one')] }, async host => {
    assert.is(await host.project(), at('one'))
    assert.is(await host.project(), at('one'))
    assert.is(host.asked, 1)
    await host.move(at('two'))
    await until(async () => (await host.project()) === at('two'), 'the other project')
    assert.is(host.asked, 2)
    await host.move()
    await until(async () => (await host.project()) === rig.project, 'the working folder')
  }))

test('roots that change in the course of a call leave the call and its job where they began, and of two changes the later counts', () =>
  withHost({ roots: [at('one')] }, async host => {
    const evaluate = (expr: string, patience: number) => host.call('eval_expr', { expr, patience })
    assert.match(await evaluate('import os, time; os.getcwd()', 60), at('one'))
    const wait = 'while not os.path.exists("go"): time.sleep(0.01)\nos.getcwd()'
    const pending = evaluate(wait, 60)
    const job = /job (job-\d+)/.exec(await evaluate(wait, 0))?.[1]
    await host.move(at('two'))
    await until(async () => (await host.project()) === at('two'), 'the other project')
    writeFileSync(join(at('one'), 'go'), '')
    assert.match(await pending, at('one'))
    assert.match(await host.call('job', { job, action: 'wait' }), at('one'))
    let answer = () => {}
    host.hold(new Promise(resolve => (answer = resolve)))
    const asked = host.asked
    await host.move(at('one'))
    await until(() => host.asked > asked, 'the client to be asked')
    await host.move(at('two'))
    await until(() => host.asked > asked + 1, 'the client to be asked again')
    const during = host.project()
    answer()
    assert.is(await during, at('two'))
    assert.is(await host.project(), at('two'))
  }))

test('what a client has attached is chosen for the project that it did so in, and not for those that it moves to', async () => {
  const { runtimeDir } = rig.paths
  const programs = [
    await startProgram({ folder: at('one'), runtimeDir, name: 'ra', source: 'step = 71' }),
    await startProgram({ folder: at('two'), runtimeDir, name: 'rb', source: 'step = 72' }),
  ]
  try {
    await withHost({ roots: [at('one')] }, async host => {
      const step = () => host.call('inspect', { expr: 'step' })
      assert.match(await host.call('attach', { name: 'ra' }), 'attached: ')
      assert.match(await step(), '71')
      const answers = async (value: string, why: string) => {
        let said = ''
        const isThat = async () => {
          said = await step()
          return said.includes(value) || /approval_unavailable/.test(said)
        }
        await until(isThat, why)
        assert.match(said, value)
      }
      await host.move(at('two'))
      await answers('72', 'the program of the other project')
      await host.move()
      await answers(`No program of ${rig.project} listens`, 'the working folder')
      await host.move(at('one'))
      await answers('71', 'the program that was chosen')
    })
  } finally {
    for (const program of programs) {
      program.signal('SIGKILL')
      await program.ended
    }
  }
})

test('a server that was started in / finds the program of the root of its client', async () => {
  const { runtimeDir } = rig.paths
  const program = await startProgram({ folder: at('one'), runtimeDir, source: 'step = 7' })
  try {
    await withHost({ cwd: '/', roots: [at('one')] }, async ({ call }) => {
      assert.match(await call('inspect', { expr: 'step' }), '7')
    })
  } finally {
    program.signal('SIGKILL')
    await program.ended
  }
})

test('in / nothing is found or begun by the folder, and each answer says so and how to name a project', async () => {
  const { runtimeDir } = rig.paths
  const program = await startProgram({ folder: at('one'), runtimeDir, source: 'step = 7' })
  try {
    await withHost({ cwd: '/' }, async ({ call }) => {
      for (const said of [
        await call('kernels'),
        await call('inspect', { expr: 'step' }),
        await call('eval_expr', { expr: 'step' }),
      ]) {
        assert.match(said, '/ is a folder that your home directory lies in, and no project')
        assert.match(said, 'imago mcp --root FOLDER')
      }
      assert.not.match(await call('eval_expr', { expr: 'step', kernel: 'web' }), /"7"|>7</)
      assert.not.match(await call('attach', { name: 'web' }), 'attached: ', 'a person is asked')
    })
    assert.match((await rig.imago(['kernels'], { cwd: '/' })).stdout, 'No kernels')
  } finally {
    program.signal('SIGKILL')
    await program.ended
  }
})

test('a client of the newest revision is asked once for its roots, by the answer to its first call', async () => {
  let asked = 0
  const options = { capabilities: { roots: {} }, versionNegotiation: { mode: 'auto' } } as const
  const client = new Newest({ name: 'host', version: '1' }, options)
  client.setRequestHandler('roots/list', () => {
    asked++
    return { roots: [{ uri: pathToFileURL(at('one')).href }] }
  })
  const [command, args] = [process.execPath, [join(PACKAGE_ROOT, 'dist/src/main.cjs'), 'mcp']]
  await client.connect(new NewestTransport({ command, args, env: { ...rig.env }, cwd: rig.project }))
  try {
    assert.is(client.getNegotiatedProtocolVersion(), '2026-07-28')
    for (let turn = 0; turn < 3; turn++) {
      const { content } = await client.callTool({ name: 'inspect', arguments: { expr: 'x' } })
      assert.match(JSON.stringify(content), `No program of ${at('one')} listens`)
    }
    assert.is(asked, 1)
  } finally {
    await client.close()
  }
})

test('a folder in the home directory may be named with ~', async () => {
  const home = { HOME: rig.folder }
  assert.is(await projectOf({ args: ['--root', '~/one'], env: home }), at('one'))
  assert.is(await projectOf({ env: { ...home, CLAUDE_PROJECT_DIR: '~/two' } }), at('two'))
  assert.is(await projectOf({ env: { ...home, CLAUDE_PROJECT_DIR: '~' } }), rig.project)
})
