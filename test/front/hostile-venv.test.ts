import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig } from '../support/rig.ts'

const test = suite('hostile venv', { limitMs: 60_000 })

test('a call that only looks runs nothing that came with the folder, and says why (threat 9)', async () => {
  const rig = openRig()
  try {
    const bin = join(rig.project, '.venv/bin')
    const mark = join(rig.folder, 'ran')
    mkdirSync(bin, { recursive: true })
    writeFileSync(join(bin, 'python'), `#!/bin/sh\ntouch ${mark}\nexec python3 "$@"\n`, { mode: 0o755 })
    const refused = await rig.imago(['call', 'list_globals', '--json'])
    const envelope = onlyEnvelope(refused)
    assert.is(envelope.ok, false)
    assert.match(JSON.stringify(envelope), 'holds no pyvenv.cfg')
    assert.match(JSON.stringify(envelope), 'trusted in [kernels]')
    assert.not.ok(existsSync(mark))
  } finally {
    await rig.close()
  }
})
