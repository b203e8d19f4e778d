import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { changedDefinitions } from '../../src/calls/old-text.ts'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { startProgram } from '../support/program.ts'
import { openRig, type Rig } from '../support/rig.ts'

/** After an approved change of a file: which programs have its old text, and how the new one is loaded. */
const test = suite('the text that runs after an edit', { limitMs: 60_000 })

const POLICY = '[[rule]]\ndecision = "allow"\ntool = "edit_file"\nlevel = "dangerous"\n'
const FILES = { 'shop.py': 'rate = 1\n', 'other.py': 'rate = 1\n', 'notes.txt': 'rate = 1\n' }

let rig: Rig
test.before.each(() => {
  rig = openRig({ policy: POLICY, files: FILES })
})
test.after.each(() => rig.close())

const start = (name: string) =>
  startProgram({ folder: rig.project, runtimeDir: rig.paths.runtimeDir, name, source: 'import shop' })

async function noticeOf(path: string, [from, to]: readonly [string, string]) {
  const args = JSON.stringify({ path, old_str: from, new_str: to })
  const envelope = onlyEnvelope(await rig.imago(['call', 'edit_file', args, '--json']))
  assert.ok(envelope.ok, JSON.stringify(envelope))
  return (envelope.result as { notice?: string }).notice
}

test('a program that has loaded the file is named with the call that loads the new text; nothing is said of others', async () => {
  assert.is(await noticeOf('shop.py', ['1', '2']), undefined)
  const web = await start('web')
  await rig.imago(['attach', 'web'])
  assert.is(
    await noticeOf('shop.py', ['2', '3']),
    'web still runs what it loaded before of shop.py: load_file {"path":"shop.py","names":["rate"]} loads rate.',
  )
  assert.match(
    (await noticeOf('web.py', ['import shop', 'import shop  # it sells'])) ?? '',
    'web still runs what it loaded before of web.py until started again: to load the file would run its top level a second time.',
  )
  for (const file of ['other.py', 'notes.txt']) assert.is(await noticeOf(file, ['1', '2']), undefined)
  const loaded = await rig.imago(['call', 'load_file', 'path=shop.py'])
  assert.is(loaded.code, 0, loaded.stderr)
  assert.match((await rig.imago(['inspect', 'shop.rate'])).stdout, 'repr: 3')
  const worker = await start('worker')
  await rig.imago(['attach', 'worker'])
  assert.is(
    await noticeOf('shop.py', ['rate = 3', 'rate = 4\nprint(rate)']),
    'web, worker still run what they loaded before of shop.py: load_file {"path":"shop.py","kernel":"web"} loads the file.',
  )
  for (const one of [web, worker]) one.signal('SIGKILL')
  await Promise.all([web.ended, worker.ended])
  writeFileSync(join(rig.project, 'shop.py'), 'rate = 5\n')
  assert.is(await noticeOf('shop.py', ['5', '6']), undefined)
})

test('a program that listens and is not attached is named as one that may run the old text, and is not attached', async () => {
  const programs = [await start('web')]
  assert.is(
    await noticeOf('shop.py', ['1', '2']),
    'web listens and was not looked at: it may run the old text of shop.py. ' +
      'attach {"name":"web"} joins it; load_file {"path":"shop.py","names":["rate"]} then loads rate.',
  )
  assert.is(await noticeOf('notes.txt', ['1', '2']), undefined)
  assert.match((await rig.imago(['kernels'])).stdout, 'imago attach web')
  for (let index = 0; index < 6; index++) programs.push(await start('web'))
  assert.match(
    (await noticeOf('shop.py', ['rate = 2', 'print(rate)'])) ?? '',
    /^(web-\d+, ){4}web-\d+ and 2 more listen and were not looked at: they may run the old text of shop\.py\. attach \{"name":"web-\d+"\} joins one\.$/,
  )
  for (const one of programs) one.signal('SIGKILL')
  await Promise.all(programs.map(one => one.ended))
})

for (const [what, { words = [], variable, isReloader }] of [
  ['says so in its command', { words: ['--reload'], variable: 'CHILD', isReloader: true }],
  ['tells its child so, as Django and Werkzeug do', { variable: 'RUN_MAIN', isReloader: true }],
  ['only keeps it alive', { variable: 'CHILD', isReloader: false }],
] as const)
  test(`of a program whose parent ${what} the notice says ${isReloader ? 'that it is started again' : 'what loads the text'}`, async () => {
    const source = [
      'import os, subprocess, sys, time',
      `if "${variable}" not in os.environ:`,
      `    sys.exit(subprocess.run([sys.executable, *sys.argv], env={**os.environ, "${variable}": "yes"}).returncode)`,
      'import shop',
      'print("there", os.getpid(), flush=True)',
      'time.sleep(60)',
    ]
    writeFileSync(join(rig.project, 'serve.py'), source.join('\n'))
    const begun = rig.begin(['run', '--', 'python3', 'serve.py', ...words])
    await begun.says(/there \d+/)
    const inspected = await rig.imago(['inspect', 'shop.rate'])
    assert.is(inspected.code, 0, inspected.stderr)
    assert.match(
      (await noticeOf('shop.py', ['1', '2'])) ?? '',
      `project still runs what it loaded before of shop.py${
        isReloader
          ? ' until started again, which a reloader does by itself.'
          : ': load_file {"path":"shop.py","names":["rate"]} loads rate.'
      }`,
    )
    process.kill(Number(/\d+/.exec(begun.so.stdout)?.[0]), 'SIGKILL')
    await begun.ended
  })

test('where functions alone have changed the notice names them, and its call does not run a script a second time', async () => {
  const source = 'runs = globals().get("runs", 0) + 1\ndef price(): return 1\ndef tax(): return 2\n'
  const program = await startProgram({
    folder: rig.project,
    runtimeDir: rig.paths.runtimeDir,
    name: 'web',
    source,
  })
  await rig.imago(['attach', 'web'])
  assert.is(
    await noticeOf('web.py', ['def price(): return 1', 'def price(): return 10']),
    'web still runs what it loaded before of web.py: load_file {"path":"web.py","names":["price"]} loads price.',
  )
  const loaded = await rig.imago(['call', 'load_file', '{"path":"web.py","names":["price"]}'])
  assert.is(loaded.code, 0, loaded.stderr)
  assert.match((await rig.imago(['eval', 'price() + runs'])).stdout, /\b11\b/)
  assert.match((await noticeOf('web.py', ['return 2', 'return 20'])) ?? '', 'loads tax.')
  assert.is(await noticeOf('web.py', ['return 20', 'return 2']), undefined)
  program.signal('SIGKILL')
  await program.ended
})

test('a change names the definitions that it changes, where it changes nothing else', () => {
  const text =
    '@cache\ndef price(\n    order,\n):\n    return 1\n\n# tax\nclass Tax:\n    rate = 2\n\nRATE = 1\n'
  const named = (from: string, to: string) => changedDefinitions(text, text.replace(from, to))
  assert.equal(named('return 1', 'return 2'), ['price'])
  assert.equal(named('@cache', '@lru_cache'), ['price'])
  assert.equal(named('rate = 2', 'rate = 3\n\n    def of(self): ...'), ['Tax'])
  assert.equal(named('RATE', 'def fee(): ...\nRATE'), ['fee'])
  assert.equal(named('RATE = 1', 'RATE: int = 2'), ['RATE'])
  assert.is(named('RATE = 1', 'RATE += 1'), undefined)
  assert.is(named('RATE = 1', 'RATE = 1\nRATE = 2'), undefined)
  assert.is(named('class Tax:\n    rate = 2\n', ''), undefined)
  assert.is(named('# tax', '# taxes'), undefined)
  assert.is(named('class Tax', 'def price(): ...\nclass Tax'), undefined)
  assert.is(named('return 1', 'return 1\n\nprint(2)'), undefined)
})

const FORKED = `import os, threading, shop
r, w = os.pipe()
for _ in range(2):
    if os.fork() == 0:
        os.close(w)
        threading.Thread(target=lambda: (os.read(r, 1), os._exit(0)), daemon=True).start()
        break`

test('what is loaded into one of several workers is said not to run in the others, until it is loaded there too', async () => {
  const { runtimeDir } = rig.paths
  const file = join(rig.project, 'shop.py')
  const web = await startProgram({ folder: rig.project, runtimeDir, source: FORKED })
  await rig.imago(['inspect', 'shop.rate', '--kernel', 'web/*'])
  const noticeAfter = async (...call: string[]) => {
    const envelope = onlyEnvelope(await rig.imago(['call', ...call, '--json']))
    assert.ok(envelope.ok, JSON.stringify(envelope))
    return (envelope.result as { notice?: string }).notice
  }
  const old = (who: string, kernel: string) =>
    `${who} what was loaded there before: load_file ${JSON.stringify({ path: file, kernel })} loads this text.`
  for (const text of ['rate = 2\n', 'rate = 3\ndef price(): return rate\n']) {
    writeFileSync(file, text)
    const load = (kernel: string) => noticeAfter('load_file', 'path=shop.py', `kernel=${kernel}`)
    assert.is(await load('web/2'), old('web, web/3 still run', 'web'))
    assert.is(await load('web'), old('web/3 still runs', 'web/3'))
    assert.is(await noticeAfter('reload', 'package=shop', 'kernel=web/3'), undefined)
  }
  writeFileSync(file, 'rate = 3\ndef price(): return 4 * rate\n')
  const price = ['load_file', 'path=shop.py', 'names=["price"]', 'kernel=web']
  assert.is(await noticeAfter(...price), old('web/2, web/3 still run', 'web/2'))
  web.signal('SIGKILL')
  await web.ended
})
