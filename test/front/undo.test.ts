import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig } from '../support/rig.ts'

const test = suite('imago undo', { limitMs: 60_000 })
const rig = openRig({ files: { 'shop.py': 'rate = 1\r\n' } })
test.after(() => rig.close())

const ALLOWED = ['edit_file', 'undo_change']
  .map(tool => `[[rule]]\ndecision = "allow"\ntool = "${tool}"\nlevel = "dangerous"\n`)
  .join('\n')

const content = () => readFileSync(join(rig.project, 'shop.py'), 'utf8')
const EDIT = JSON.stringify({ path: 'shop.py', old_str: 'rate = 1\n', new_str: 'rate = 2\n' })

test.before(() => {
  mkdirSync(rig.paths.configDir, { recursive: true })
  writeFileSync(join(rig.paths.configDir, 'policy.toml'), ALLOWED)
})

test('a change is taken back by its name, and that by its own', async () => {
  const made = onlyEnvelope(await rig.imago(['call', 'edit_file', EDIT, '--json']))
  assert.is(made.ok, true, JSON.stringify(made))
  const { undo } = (made.ok ? made.result : {}) as { undo: string }
  assert.is(content(), 'rate = 2\r\n')
  const { code, stdout, stderr } = await rig.imago(['undo', undo])
  assert.is(code, 0, stderr)
  assert.is(content(), 'rate = 1\r\n')
  assert.ok(stdout.startsWith(`took back ${undo}\nshop.py changed: 1 line added, 1 removed\n`), stdout)
  const [, again = ''] = /undo_change (\S+)/.exec(stdout) ?? []
  const json = await rig.imago(['undo', again, '--json'])
  assert.is(json.code, 0)
  assert.is(onlyEnvelope(json).ok, true)
  assert.is(content(), 'rate = 2\r\n')
})

test('a change that nobody made, or whose file has moved on, is not taken back, with exit code 1', async () => {
  const none = await rig.imago(['undo', 'plan-qqqqqqqq', '--json'])
  const envelope = onlyEnvelope(none)
  assert.equal([none.code, envelope.ok ? '' : envelope.error.code], [1, 'not_found'])
  writeFileSync(join(rig.project, 'shop.py'), 'rate = 1\r\n')
  const made = onlyEnvelope(await rig.imago(['call', 'edit_file', EDIT, '--json']))
  const { undo } = (made.ok ? made.result : {}) as { undo: string }
  writeFileSync(join(rig.project, 'shop.py'), 'theirs\n')
  const { code, stderr } = await rig.imago(['undo', undo])
  assert.is(code, 1)
  assert.match(stderr, /^imago: /)
  assert.is(content(), 'theirs\n')
})

test('without a name it is a mistake of usage', async () => {
  assert.is((await rig.imago(['undo'])).code, 2)
})

test('with nobody to ask and no rule that allows it, nothing is taken back, with exit code 3', async () => {
  writeFileSync(join(rig.project, 'shop.py'), 'rate = 1\r\n')
  const made = onlyEnvelope(await rig.imago(['call', 'edit_file', EDIT, '--json']))
  const { undo } = (made.ok ? made.result : {}) as { undo: string }
  writeFileSync(join(rig.paths.configDir, 'policy.toml'), ALLOWED.replace('undo_change', 'write_file'))
  // Rules are read anew after a moment: what was judged just before is out of date then, and says so.
  const first = await rig.imago(['undo', undo])
  const { code, stderr } = first.stderr.includes('is out of date') ? await rig.imago(['undo', undo]) : first
  assert.is(code, 3, stderr)
  assert.match(stderr, /^imago: /)
  assert.is(content(), 'rate = 2\r\n')
})
