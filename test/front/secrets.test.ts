import { hash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { assert, suite } from '../support/harness.ts'
import { startProgram } from '../support/program.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { APPROVE, openWatch } from '../support/watching.ts'

const test = suite('secrets', { limitMs: 60_000 })

async function withRig(use: (rig: Rig) => Promise<void>) {
  const rig = openRig()
  try {
    await use(rig)
  } finally {
    await rig.close()
  }
}

/** All that the daemon writes of its own accord: the journal, its log, and its error stream. */
function written({ paths }: Rig): string {
  const journal = join(paths.stateDir, 'journal')
  const files = [paths.log, paths.errorLog, ...readdirSync(journal).map(name => join(journal, name))]
  return files
    .filter(existsSync)
    .map(file => readFileSync(file, 'utf8'))
    .join('\n')
}

const evaluate = (rig: Rig, expr: string, options: { env?: Record<string, string>; kernel?: string } = {}) =>
  rig.imago(
    ['call', 'eval_expr', JSON.stringify({ expr }), ...(options.kernel ? ['--kernel', options.kernel] : [])],
    options.env ? { env: options.env } : {},
  )

/** Once this call is in the journal, so are all before it. */
async function settled(rig: Rig) {
  await evaluate(rig, '"the last of all"')
  await until(() => written(rig).includes('the last of all'), 'the journal to be written')
}

/** Each is put together here, so that nobody takes this file for a leak. */
const canary = (name: string) => ['canary', name, '4Xq9'].join('-')
const TOKEN = ['ghp', 'aB3dE6gH1jK2mN4pQ7rS8tU9vW5xY0zAbCdE'].join('_')

const marked = (kind: string, secret: string) =>
  `[redacted: ${kind}, ${secret.length} characters, sha256 ${hash('sha256', secret)}]`

test('no secret in arguments, errors or an environment reaches journal or log (threat 7)', () =>
  withRig(async rig => {
    await rig.serve()
    const env = { DEPLOY_TOKEN: canary('environment') }
    const ran = await evaluate(rig, `password = "${canary('argument')}"\nx = "${TOKEN}"; print(x)`)
    assert.match(ran.stdout, TOKEN)
    await evaluate(rig, `raise ValueError("postgres://me:${canary('url')}@db ${TOKEN}")`)
    await evaluate(rig, `"${canary('environment')}"`, { env })
    await rig.imago(['call', 'eval_expr', JSON.stringify({ expr: '1', api_key: canary('key') })])
    await rig.imago(['call', 'inspect', JSON.stringify({ expr: `f(token="${canary('look')}")` })])
    await settled(rig)
    const all = written(rig)
    for (const secret of [
      TOKEN,
      canary('argument'),
      canary('url'),
      canary('environment'),
      canary('key'),
      canary('look'),
    ])
      assert.is(all.includes(secret), false, secret)
    assert.match(all, '[redacted: github token, 40 characters, sha256 ')
    assert.match(all, marked('environment variable', canary('environment')))
    assert.match(all, marked('password', canary('argument')))
    // What was printed is the caller's, and what is no secret is kept.
    assert.match(all, 'raise ValueError(')
  }))

test('the key of a kernel and that of a program that was joined are marked, whoever has found them (threat 7)', () =>
  withRig(async rig => {
    await rig.serve()
    const found = await evaluate(
      rig,
      "import gc\nnext(o._secret for o in gc.get_objects() if type(o).__module__ == 'imago.connection' and hasattr(o, '_secret'))",
    )
    const [, kernelKey = ''] = /'([0-9a-f]{64})'/.exec(found.stdout) ?? []
    assert.is(kernelKey.length, 64, found.stdout + found.stderr)
    await startProgram({ folder: rig.project, runtimeDir: rig.paths.runtimeDir })
    await rig.imago(['attach', 'web'])
    const [, programKey = ''] = /"secret": ?"([^"]{32,})"/.exec(announcements(rig)) ?? []
    assert.ok(programKey.length >= 32, announcements(rig))
    await evaluate(rig, `sent = "${kernelKey} ${programKey}"`)
    await settled(rig)
    const all = written(rig)
    assert.match(
      all,
      `sent = \\"${marked('key of a kernel', kernelKey)} ${marked('key of a program', programKey)}`,
    )
    assert.is(all.includes(kernelKey), false)
    assert.is(all.includes(programKey), false)
  }))

/** What programs tell of themselves, for their user only. */
function announcements({ paths }: Rig): string {
  const files = readdirSync(paths.runtimeDir, { recursive: true, encoding: 'utf8' })
    .map(name => join(paths.runtimeDir, name))
    .filter(path => path.endsWith('.json') && statSync(path).isFile())
  return files.map(file => readFileSync(file, 'utf8')).join('\n')
}

test('no mark in journal or log tells that a text held the code of a plan, or a part of it (threat 5)', () =>
  withRig(async rig => {
    await rig.serve()
    const { screen } = await openWatch(rig)
    const call = rig.begin(['call', 'write_file', JSON.stringify({ path: 'new.py', content: 'x = 1\n' })])
    await screen.shows(APPROVE)
    const [, code = ''] = /--code (\S+)/.exec(screen.text()) ?? []
    assert.match(code, /^[0-9a-z-]{19}$/)
    assert.is(written(rig).includes(code), false)
    await evaluate(rig, `guessed = "${code} ${code.replaceAll('-', '')} ${code.slice(0, 8)}"`)
    await settled(rig)
    assert.match(written(rig), `guessed = \\"${code} ${code.replaceAll('-', '')} ${code.slice(0, 8)}\\"`)
    screen.type('n\n')
    await screen.shows(/reason/i)
    screen.type(`it has ${TOKEN} in it\n`)
    await call.ended
    await settled(rig)
    await until(() => written(rig).includes('"decided"'), 'the decision to be written')
    assert.is(written(rig).includes(TOKEN), false)
    screen.type('q\n')
  }))

test('what the log is told has its secrets marked, and stays one object in a line (threat 7)', async () => {
  const { openLog } = await import(pathToFileURL(join(import.meta.dirname, '../../src/log.ts')).href)
  const rig = openRig()
  const path = join(rig.folder, 'some.log')
  writeFileSync(path, '')
  const log = openLog({ path, level: 'info' })
  const error = new Error(`cannot reach postgres://me:${canary('log')}@db`, { cause: new Error(TOKEN) })
  log.error(
    { error, client: `name ${TOKEN}` },
    `It said "password": "${canary('sentence')}".\n-----BEGIN PRIVATE KEY-----`,
  )
  log.info({ token: canary('field'), running: 3 }, 'Nothing is wrong.')
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  assert.is(lines.length, 2)
  assert.equal(lines.map(line => JSON.parse(line).msg).slice(1), ['Nothing is wrong.'])
  for (const secret of [TOKEN, canary('log'), canary('sentence'), canary('field')])
    assert.is(lines.join().includes(secret), false, secret)
  await rig.close()
})
