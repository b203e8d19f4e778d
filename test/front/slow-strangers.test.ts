import { once } from 'node:events'
import { assert, suite } from '../support/harness.ts'
import { openRig, until, within } from '../support/rig.ts'

const test = suite('slow strangers', { limitMs: 60_000 })

test('200 who never end their hello are gone when their time is up, and keep no client and no seat out (fault 22)', async () => {
  const rig = openRig()
  try {
    await rig.serve()
    const strangers = await Promise.all(Array.from({ length: 200 }, () => rig.dial()))
    const evicted = strangers.map(stranger => {
      stranger.on('error', () => {})
      // The length of a frame, and the beginning of a hello.
      stranger.write(Buffer.concat([Buffer.from([0, 0, 0, 200]), Buffer.from('{"hello":')]))
      return once(stranger.resume(), 'close')
    })
    const client = await rig.connect()
    const called = await client.call({ tool: 'eval_expr', args: { expr: '1 + 2' } })
    assert.ok(called.ok)
    await within(Promise.all(evicted), 'the strangers to be gone')
    await until(async () => (await client.request('status', {})).clients === 1, 'one client')
    assert.ok((await client.call({ tool: 'eval_expr', args: { expr: '1 + 2' } })).ok)
  } finally {
    await rig.close()
  }
})
