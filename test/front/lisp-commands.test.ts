import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { lives, openRig, type Ran, type Rig, type RigOptions, until } from '../support/rig.ts'
import { lispCache } from '../support/runtimes.ts'
import { type RealSwank, startSwank } from '../support/swank.ts'
import { openWatch } from '../support/watching.ts'

/** Lisps that are started, and attached to, by the commands. */
const test = suite('Lisp by command', { limitMs: 90_000 })

process.env.XDG_CACHE_HOME = lispCache
const SECRET = 'correct horse battery staple'

type Start = (port?: number, home?: string) => Promise<RealSwank>

function withRig(fact: string, body: (rig: Rig, start: Start) => Promise<void>, options: RigOptions = {}) {
  test(fact, async () => {
    const rig = openRig(options)
    const begun: RealSwank[] = []
    try {
      await body(rig, async (port = 0, home = rig.env.HOME ?? '') => {
        const swank = await startSwank({ home, port })
        begun.push(swank)
        return swank
      })
    } finally {
      for (const swank of begun) swank.kill()
      await rig.close()
    }
  })
}

function keep({ env }: Rig, mode = 0o600): void {
  const path = join(env.HOME ?? '', '.slime-secret')
  writeFileSync(path, `${SECRET}\n`)
  chmodSync(path, mode)
}

function resultOf(ran: Ran): Readonly<Record<string, unknown>> {
  const envelope = onlyEnvelope(ran)
  if (!envelope.ok) throw new Error(ran.stdout)
  return envelope.result as Readonly<Record<string, unknown>>
}

const evaluated = async (rig: Rig, expr: string) =>
  resultOf(await rig.imago(['call', 'eval_expr', JSON.stringify({ expr }), '--json'])).value_repr

/** The text of every file below a folder. */
function textsIn(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(name => join(folder, name))
    .filter(path => statSync(path).isFile())
    .map(path => readFileSync(path, 'utf8'))
    .join('\n')
}

withRig(
  'a Lisp is started with a program, listed, spoken to and stopped',
  async rig => {
    const started = await rig.imago(['start', 'lisp', '--name', 'shop', '--script', 'shop.lisp', '--', '-v'])
    assert.is(started.code, 0, started.stderr)
    assert.match(started.stdout, /^shop {2}(ready|busy) .* SBCL .*, shop\.lisp \(returned\)\n$/)
    assert.is(await evaluated(rig, '(twice 21)'), '42')
    assert.is(await evaluated(rig, '(first (last *args*))'), '"-v"')
    const [row] = resultOf(await rig.imago(['kernels', '--json'])).kernels as {
      language: string
      owned: boolean
      pid: number
    }[]
    assert.equal([row?.language, row?.owned], ['lisp', true])
    assert.match((await rig.imago(['stop', 'shop'])).stdout, /^shop {2}ended/)
    assert.is(lives(row?.pid ?? 0), false)
  },
  { files: { 'shop.lisp': '(defvar *args* sb-ext:*posix-argv*)\n(defun twice (x) (* 2 x))\n' } },
)

withRig('a start that takes long says what it does, to whoever waits and in the list', async rig => {
  const [home, go] = [rig.env.HOME ?? '', join(rig.folder, 'go')]
  writeFileSync(join(home, '.sbclrc'), `(loop until (probe-file ${JSON.stringify(go)}) do (sleep 0.01))`)
  const start = rig.begin(['start', 'lisp'])
  try {
    await until(
      () => /^lisp is loading .*\.sbclrc\n/m.test(start.so.stderr),
      'the command to say what the start does',
    )
    assert.match((await rig.imago(['kernels'])).stdout, /^lisp +starting .*\n +loading .*\.sbclrc\n/m)
  } finally {
    writeFileSync(go, '')
  }
  const { code, stdout } = await start.ended
  assert.is(code, 0)
  assert.match(stdout, /^lisp {2}ready/)
})

withRig('source that the compiler refuses is a result, and exit 1; what it takes is 0', async rig => {
  const compiled = (form: string, ...more: string[]) =>
    rig.imago(['call', 'compile_form', `form=${form}`, ...more])
  assert.is((await rig.imago(['start', 'lisp'])).code, 0)
  const refused = await compiled('(defun broken () (let 3))')
  assert.is(refused.code, 1, refused.stderr)
  assert.match(refused.stdout, 'not all of it could be compiled')
  const envelope = onlyEnvelope(await compiled('(defun broken () (let 3))', '--json'))
  assert.is(envelope.ok, true)
  assert.is((await compiled('(defun whole () 3)')).code, 0)
  assert.equal(await rig.imago(['eval', '(floor 7 2)']), { code: 0, stdout: '3\n1\n', stderr: '' })
})

withRig(
  'the Lisp that config.toml names is the one that is started',
  async rig => {
    const refused = await rig.imago(['start', 'lisp'])
    assert.is(refused.code, 1)
    assert.match(refused.stderr, '/nowhere/sbcl is not there')
  },
  { config: '[kernels]\nlisp = "/nowhere/sbcl"\n' },
)

withRig(
  'a person’s image is attached to, once, outlives the daemon, is joined again, and let go of',
  async (rig, start) => {
    keep(rig)
    const swank = await start()
    const joined = await rig.imago(['attach', `swank://${swank.port}`])
    assert.is(joined.code, 0, joined.stderr)
    assert.match(
      joined.stdout,
      new RegExp(`^lisp {2}ready {2}${swank.pid} .*SBCL .*, attached to swank://127.0.0.1:${swank.port}\n`),
    )
    assert.is(await evaluated(rig, '(defvar *mine* 42)'), '*mine*')
    const endless = rig.imago(['eval', '(loop)'])
    while (!(await rig.imago(['kernels'])).stdout.includes(' busy ')) await Promise.resolve()
    const behind = await rig.imago(['eval', '(+ 1 2)', '--patience', '3'])
    assert.match(behind.stderr, /^imago: it waits its turn behind job-2, which has run in lisp/)
    await rig.imago(['interrupt', 'lisp'])
    await endless
    const again = await rig.imago(['attach', `swank://localhost:${swank.port}`])
    assert.is(again.code, 0, again.stderr)
    assert.match(again.stdout, new RegExp(`^lisp {2}ready {2}${swank.pid} `))
    const ended = await rig.imago(['shutdown'])
    assert.match(ended.stdout, 'lisp')
    assert.is(lives(swank.pid), true)
    assert.is(await evaluated(rig, '*mine*'), '42')
    const detached = await rig.imago(['detach', 'lisp'])
    assert.is(
      detached.stdout,
      `Let go of lisp (process ${swank.pid}), which runs on. To join it again: imago attach swank://127.0.0.1:${swank.port}\n`,
    )
    assert.is(lives(swank.pid), true)
    const refused = await rig.imago(['call', 'attach', `{"name":"swank://${swank.port}"}`])
    assert.match(refused.stderr, 'only a person joins a server there')
    assert.match(
      refused.stderr,
      `A person types at a terminal: imago attach swank://127.0.0.1:${swank.port}\n`,
    )
  },
)

withRig(
  'a Lisp that was killed and listens again at its port is followed by the next call and by attach, over MCP; before, no Python starts',
  async (rig, start) => {
    keep(rig)
    const client = new Client({ name: 'a model', version: '1' })
    const env = Object.fromEntries(Object.entries(rig.env).filter(([, value]) => value !== undefined))
    const args = [join(PACKAGE_ROOT, 'dist/src/main.cjs'), 'mcp']
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args,
        env: env as Record<string, string>,
        cwd: rig.project,
      }),
    )
    const said = async (name: string, given: Record<string, unknown>) =>
      JSON.stringify((await client.callTool({ name, arguments: given })).content)
    const dies = async (swank: RealSwank) => {
      swank.kill()
      await until(() => !lives(swank.pid), 'it to have ended')
    }
    try {
      assert.match(await said('eval_expr', { expr: '(+ 1 2)' }), /shop\.asd.*No Python was started/)
      const first = await start()
      await rig.imago(['attach', `swank://${first.port}`])
      assert.match(await said('eval_expr', { expr: '(defvar *life* 1)' }), /\*life\*/)
      await dies(first)
      assert.match(await said('eval_expr', { expr: '*life*' }), /kernel_unavailable|outcome_unknown/)
      const second = await start(first.port)
      assert.match(await said('attach', { name: `swank://${first.port}` }), new RegExp(`lisp.*${second.pid}`))
      assert.match(await said('eval_expr', { expr: '(list (boundp (quote *life*)) :second)' }), /nil :second/)
      await dies(second)
      const third = await start(first.port)
      await until(
        async () => /nil :third/.test(await said('eval_expr', { expr: "(list (boundp '*life*) :third)" })),
        'the next call to find it',
      )
      assert.match((await rig.imago(['kernels'])).stdout, new RegExp(`lisp +ready +${third.pid} `))
    } finally {
      await client.close()
    }
  },
  { files: { 'shop.asd': '(asdf:defsystem "shop")\n' } },
)

withRig(
  'the secret is in no answer, log, journal or state, also where it is wrong (threat 26)',
  async (rig, start) => {
    keep(rig)
    const [swank, other] = [await start(), await start()]
    const said: string[] = []
    const run = async (args: string[], env = {}) => {
      const { stdout, stderr } = await rig.imago(args, { env: { ...rig.env, ...env } })
      said.push(stdout, stderr)
    }
    await run(['attach', `swank://${swank.port}`, '--json'])
    await run(['attach', `swank://${other.port}`, '--json'], { IMAGO_KEY: 'a wrong guess' })
    assert.match(said.join('\n'), 'NOT_AUTHENTICATED')
    await run([
      'call',
      'eval_expr',
      '{"expr": "(length (swank::slime-secret))"}',
      '--kernel',
      'lisp',
      '--json',
    ])
    await run(['kernels', '--json'])
    const { IMAGO_STATE_DIR = '' } = rig.env
    await until(() => textsIn(IMAGO_STATE_DIR).includes('swank://127.0.0.1'), 'it is remembered')
    for (const hidden of [SECRET, 'a wrong guess'])
      assert.not.match(`${said.join('\n')}\n${textsIn(IMAGO_STATE_DIR)}`, hidden)
  },
)

withRig(
  'without a secret, and for another machine, it says what to do, and connects to nothing (threat 26)',
  async (rig, start) => {
    const swank = await start()
    const none = await rig.imago(['attach', `swank://${swank.port}`])
    assert.is(none.code, 1)
    for (const line of [
      'touch ~/.slime-secret',
      'chmod 600 ~/.slime-secret',
      '> ~/.slime-secret',
      '--no-secret',
    ])
      assert.match(none.stderr, line)
    keep(rig, 0o644)
    assert.match(
      (await rig.imago(['attach', `swank://${swank.port}`])).stderr,
      'is open to others (mode 644)',
    )
    const far = await rig.imago(['attach', 'swank://lisp.example.org'])
    assert.match(far.stderr, 'ssh -L 4005:127.0.0.1:4005 lisp.example.org')
    assert.not.match(swank.printed(), 'password')
  },
)

withRig('nothing is to be installed for a Lisp, and doctor knows which there is', async rig => {
  const runtime = await rig.imago(['runtime', 'lisp'])
  assert.is(runtime.code, 2)
  assert.match(runtime.stderr, '(swank:create-server :dont-close t)')
  const doctor = await rig.imago(['doctor', 'lisp'])
  assert.is(doctor.code, 0, doctor.stdout)
  assert.match(doctor.stdout, /Common Lisp\n {2}ok {2}lisp +SBCL .* at \S+sbcl\n {2}ok {2}swank +\S+ from \//)
})

withRig(
  'a server that the project names is joined once a person has accepted it, also at first sight; python = false begins none',
  async (rig, start) => {
    keep(rig)
    const swank = await start()
    const file = join(rig.project, 'imago.toml')
    writeFileSync(file, 'python = false\nattach = ["swank://4005", "swank://lisp.example.org:4005"]\n')
    await rig.serve()
    const far = await rig.imago(['policy'])
    assert.match(far.stdout + far.stderr, 'attach 2, is no address of a server on this machine')
    const names = `attach = ["swank://${swank.port}"]\n`
    writeFileSync(file, names)
    // A file of rules may be read a moment after it was written.
    const told = async (asked: readonly string[], expected: RegExp) => {
      let last = ''
      const isSo = async () => {
        const { code, stderr } = await rig.imago([...asked])
        last = `${code}: ${stderr}`
        return code === 1 && expected.test(stderr)
      }
      await until(isSo, `${expected}`).catch((error: Error) => {
        throw new Error(`${error.message}; the last answer: ${last}`)
      })
    }
    await told(
      ['eval', '1+1'],
      /no Python is begun there\. [\s\S]*imago policy accept; or starts a Python: imago start python/,
    )
    writeFileSync(file, `python = false\n${names}`)
    const call = ['call', 'eval_expr', '{"expr": "(+ 40 2)"}']
    await told(call, /no Python is begun there: its imago\.toml says python = false/)
    const waits = `imago.toml names swank://${swank.port} to join, which waits until a person accepts it: imago policy accept`
    for (const asked of [call, ['inspect', 'x'], ['kernels'], ['call', 'kernels']]) {
      const { stdout, stderr } = await rig.imago(asked)
      assert.match(stdout + stderr, waits, asked.join(' '))
    }
    assert.match((await rig.imago(['policy'])).stdout, `calls to join swank://${swank.port}`)
    const { screen } = await openWatch(rig)
    const accepted = rig.begin(['policy', 'accept'])
    await screen.shows('Approve?')
    screen.type('y\n')
    assert.is((await accepted.ended).code, 0)
    screen.close()
    assert.not.match((await rig.imago(['kernels'])).stdout, 'waits')
    assert.is(await evaluated(rig, '(+ 40 2)'), '42')
    assert.match((await rig.imago(['kernels'])).stdout, new RegExp(`lisp +ready +${swank.pid} `))
    await rig.imago(['detach', 'lisp'])
    mkdirSync(rig.paths.configDir, { recursive: true })
    writeFileSync(
      join(rig.paths.configDir, 'policy.toml'),
      '[[rule]]\ndecision = "deny"\ntool = "eval_*"\nkernel = "lisp"\n',
    )
    assert.is((await rig.imago(call)).code, 3)
    assert.match((await rig.imago(['kernels'])).stdout, 'No kernels.')
  },
)

withRig(
  'a Lisp that was attached by a key and has ended is named by the next daemon, and no Python answers',
  async (rig, start) => {
    keep(rig)
    const [swank, key] = [await start(), join(rig.folder, 'key')]
    writeFileSync(key, `${SECRET}\n`, { mode: 0o600 })
    const attached = await rig.imago(['attach', `swank://${swank.port}`, '--key-file', key])
    assert.is(attached.code, 0, attached.stderr)
    assert.is(await evaluated(rig, '(+ 40 2)'), '42')
    swank.kill()
    await until(
      async () => /^lisp +ended/m.test((await rig.imago(['kernels'])).stdout),
      'the Lisp to be known to have ended',
    )
    for (const daemon of ['same', 'next', 'third']) {
      const asked = await rig.imago(['eval', '1+1'])
      assert.is(asked.code, 1, `${daemon}: ${asked.stdout}`)
      assert.match(
        asked.stderr,
        `imago attach swank://127.0.0.1:${swank.port} --name lisp --key-file ${key}\n`,
      )
      assert.is((await rig.imago(['shutdown', '--force'])).code, 0)
    }
  },
)

withRig(
  'a Lisp with a key file is followed by the same daemon and the next; the line for a person names the file, and no other secret is sent',
  async (rig, start) => {
    writeFileSync(join(rig.env.HOME ?? '', '.slime-secret'), 'of another server\n', { mode: 0o600 })
    const [home, key] = [join(rig.folder, 'served'), join(rig.folder, 'the key')]
    mkdirSync(home)
    for (const file of [key, join(home, '.slime-secret')]) writeFileSync(file, `${SECRET}\n`, { mode: 0o600 })
    let swank = await start(0, home)
    const address = `swank://127.0.0.1:${swank.port}`
    const how = ['attach', address, '--name', 'image', '--key-file', key]
    const again = async () => {
      swank.kill()
      await until(
        async () => /^image +ended/m.test((await rig.imago(['kernels'])).stdout),
        'its end to be known',
      )
      const { stdout } = await rig.imago(['kernels'])
      assert.match(stdout, `:dont-close t): imago attach ${address} --name image --key-file '${key}'`)
      swank = await start(swank.port, home)
    }
    assert.is((await rig.imago(how)).code, 0)
    await again()
    assert.is(await evaluated(rig, '(+ 1 2)'), '3')
    await again()
    assert.match((await rig.imago(['call', 'attach', 'name=image'])).stdout, String(swank.pid))
    await again()
    chmodSync(key, 0o644)
    const open = await rig.imago(['eval', '(+ 1 2)'])
    assert.match(open.stderr, 'has ended')
    assert.match(open.stderr, /The key file of image cannot be read: .* is open to others \(mode 644\)/)
    assert.is((await rig.imago(['shutdown', '--force'])).code, 0)
    assert.match((await rig.imago(['eval', '(+ 1 2)'])).stderr, 'The key file of image cannot be read')
    chmodSync(key, 0o600)
    assert.is(await evaluated(rig, '(+ 1 2)'), '3')
    const line = `imago attach ${address} --key-file '${key}'\n`
    assert.match((await rig.imago(['detach', 'image'])).stdout, `To join it again: ${line}`)
    assert.is((await rig.imago(how)).code, 0)
  },
)

withRig(
  'a Lisp with a key that was not kept is named by the next daemon with the place for its key',
  async (rig, start) => {
    keep(rig)
    const swank = await start()
    const attached = await rig.imago(['attach', `swank://${swank.port}`], {
      env: { ...rig.env, IMAGO_KEY: SECRET },
    })
    assert.is(attached.code, 0, attached.stderr)
    assert.is((await rig.imago(['shutdown', '--force'])).code, 0)
    const asked = await rig.imago(['eval', '(+ 1 2)'])
    assert.is(asked.code, 1, asked.stdout)
    assert.match(
      asked.stderr,
      `With its key, once it listens, (swank:create-server :dont-close t): imago attach swank://127.0.0.1:${swank.port} --name lisp --key-file FILE\n`,
    )
  },
)

withRig('a project whose Lisp ended with its daemon gets a Lisp again, and is told so', async rig => {
  assert.is((await rig.imago(['start', 'lisp', '--name', 'image'])).code, 0)
  assert.is(await evaluated(rig, '(defparameter *kept* 41)'), '*kept*')
  assert.is((await rig.imago(['shutdown', '--force'])).code, 0)
  const look = await rig.imago(['inspect', '*kept*'])
  assert.is(look.code, 4, look.stdout)
  const again = await rig.imago(['eval', '(boundp (quote *kept*))'])
  assert.is(again.code, 0, again.stderr)
  assert.match(again.stdout, /nil/i)
  assert.match(again.stdout + again.stderr, 'It ended with the daemon before this one')
  const { kernels } = resultOf(await rig.imago(['kernels', '--json'])) as {
    kernels: { name: string; language: string }[]
  }
  assert.equal(
    kernels.map(({ name, language }) => [name, language]),
    [['image', 'lisp']],
  )
})
