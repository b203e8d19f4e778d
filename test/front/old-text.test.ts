import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
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
    'web still runs what it loaded before of shop.py: load_file {"path":"shop.py"} loads the file.',
  )
  assert.match(
    (await noticeOf('web.py', ['import shop', 'import shop  # it sells'])) ?? '',
    'web still runs what it loaded before of web.py',
  )
  for (const file of ['other.py', 'notes.txt']) assert.is(await noticeOf(file, ['1', '2']), undefined)
  const loaded = await rig.imago(['call', 'load_file', 'path=shop.py'])
  assert.is(loaded.code, 0, loaded.stderr)
  assert.match((await rig.imago(['inspect', 'shop.rate'])).stdout, 'repr: 3')
  const worker = await start('worker')
  await rig.imago(['attach', 'worker'])
  assert.is(
    await noticeOf('shop.py', ['3', '4']),
    'web, worker still run what they loaded before of shop.py: load_file {"path":"shop.py","kernel":"web"} loads the file.',
  )
  for (const one of [web, worker]) one.signal('SIGKILL')
  await Promise.all([web.ended, worker.ended])
  writeFileSync(join(rig.project, 'shop.py'), 'rate = 5\n')
  assert.is(await noticeOf('shop.py', ['5', '6']), undefined)
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
