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
    'web still runs the old text of shop.py: load_file {"path":"shop.py"} loads the new one.',
  )
  assert.match(
    (await noticeOf('web.py', ['import shop', 'import shop  # it sells'])) ?? '',
    'web still runs the old text of web.py',
  )
  for (const file of ['other.py', 'notes.txt']) assert.is(await noticeOf(file, ['1', '2']), undefined)
  const loaded = await rig.imago(['call', 'load_file', 'path=shop.py'])
  assert.is(loaded.code, 0, loaded.stderr)
  assert.match((await rig.imago(['inspect', 'shop.rate'])).stdout, 'repr: 3')
  const worker = await start('worker')
  await rig.imago(['attach', 'worker'])
  assert.is(
    await noticeOf('shop.py', ['3', '4']),
    'web, worker still run the old text of shop.py: load_file {"path":"shop.py","kernel":"web"} loads the new one.',
  )
  for (const one of [web, worker]) one.signal('SIGKILL')
  await Promise.all([web.ended, worker.ended])
  writeFileSync(join(rig.project, 'shop.py'), 'rate = 5\n')
  assert.is(await noticeOf('shop.py', ['5', '6']), undefined)
})
