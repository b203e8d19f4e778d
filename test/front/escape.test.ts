import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { straysIn } from '../support/hostile-screen.ts'
import { openRig } from '../support/rig.ts'
import { ranIn } from '../support/terminal.ts'

const test = suite('what cannot be seen, in the output of every command', { limitMs: 120_000 })
const rig = openRig()
test.after(() => rig.close())

/** One of each kind that is in the table. */
const HOSTILE =
  'a\u200cb\u00adc\u{e0041}d\u3164e\u115ff\u034fg\u200dh\u206ai\u2800j\u00a0k\ufff9l\ue000m\u202en\x1b[31mo\x9bp\x07q'

const project = join(rig.folder, `project ${HOSTILE}`)
const every = [process.execPath, join(PACKAGE_ROOT, 'test/support/every-command.mjs'), HOSTILE]
const terminal = ['python3', join(PACKAGE_ROOT, 'test/support/terminal.py'), '[]']
/** The colours of `imago log`, and how far `imago log verify` is. */
const OWN = new RegExp(`${'\x1b'}\\[(?:0|1|2|1;31|1;33)m|\\r(?:\\d+ % read| +\\r)`, 'g')

test('no command prints it raw: not in a pipe, not at a terminal, not in an error (threat 16)', async () => {
  mkdirSync(project)
  writeFileSync(
    join(project, 'imago.toml'),
    `[[rule]]\ndecision = "deny"\npath = ${JSON.stringify(HOSTILE)}\n`,
  )
  const place = { ...rig, project }
  for (const [TERM, line] of [
    ['dumb', every],
    ['dumb', [...terminal, ...every]],
    ['xterm', [...terminal, ...every]],
  ] as const) {
    const { text } = await ranIn({ ...place, env: { ...rig.env, TERM } }, line)
    assert.equal(straysIn(text, OWN), [])
    for (const shown of ['\\u200c', '\\u{e0041}', '\\u202e', '\\x1b[31m']) assert.match(text, shown)
  }
})

test('imago log --json gives the lines of the journal as they are in a pipe, and the same escaped at a terminal (threat 16)', async () => {
  const line = [process.execPath, join(PACKAGE_ROOT, 'dist/src/main.cjs'), 'log', '--json']
  const place = { ...rig, project }
  const piped = await ranIn(place, line)
  const shown = await ranIn(place, [...terminal, ...line])
  const entries = (text: string) =>
    text
      .trimEnd()
      .split(/\r?\n/)
      .map(one => JSON.parse(one))
  assert.ok(
    entries(piped.text).some(entry => JSON.stringify(entry).includes(JSON.stringify(HOSTILE).slice(1, -1))),
  )
  assert.equal(entries(shown.text), entries(piped.text))
  assert.equal(straysIn(shown.text, OWN), [])
})

test('what code prints reaches a pipe as it is from imago alone, and its values are escaped', async () => {
  const input =
    'import sys\n_ = sys.stdout.write("a\\x1b[1m\\u202eb\\n")\nclass Odd:\n    def __repr__(self): return "\\x1b"\n\nOdd()\n'
  const { stdout } = await rig.imago([], { input })
  assert.is(stdout, 'a\x1b[1m\u202eb\n\\x1b\n')
})
