import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '../support/harness.ts'
import { openRig } from '../support/rig.ts'

const test = suite('the cache of compiled Lisp', { limitMs: 60_000 })

test('no tool reads or writes what Imago keeps in its cache, wherever that is (threat 10)', async () => {
  const rig = openRig()
  const env = { XDG_CACHE_HOME: join(rig.project, 'cache') }
  const folder = join(rig.project, 'cache/imago/lisp')
  const file = join(folder, 'imago-peer.fasl')
  mkdirSync(folder, { recursive: true })
  writeFileSync(file, 'compiled')
  try {
    for (const [tool, args] of [
      ['read_file', { path: 'cache/imago/lisp/imago-peer.fasl' }],
      ['write_file', { path: 'cache/imago/lisp/other.fasl', content: 'x' }],
      ['read_file', { path: 'cache/imago/code/x-call.bin' }],
    ] as const) {
      const { stdout } = await rig.imago(['call', tool, JSON.stringify(args), '--json'], { env })
      assert.match(stdout, 'path_refused')
    }
    assert.is(readFileSync(file, 'utf8'), 'compiled')
  } finally {
    await rig.close()
  }
})
