import { existsSync } from 'node:fs'
import { close, open } from 'node:inspector'
import { openDaemon } from '../../src/daemon.ts'
import { openSeat } from '../../src/front/seat/open-seat.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig } from '../support/rig.ts'

const test = suite('debugger', { limitMs: 60_000 })

const INSPECTED = { NODE_OPTIONS: '--inspect=127.0.0.1:0' }

for (const args of [['serve'], ['watch'], ['call', 'list_globals'], ['mcp']])
  test(`imago ${args.join(' ')} does nothing while a debugger can connect to it (threat 5)`, async () => {
    const rig = openRig()
    try {
      const { code, stderr } = await rig.imago(args, { env: INSPECTED })
      assert.is(code, 2, stderr)
      assert.match(stderr, /imago: A debugger listens in this process \(ws:.*Run it again without --inspect/)
      assert.is(existsSync(rig.paths.socket), false)
    } finally {
      await rig.close()
    }
  })

test('neither does a daemon, nor a seat, to which one can connect by the time that it begins (threat 5)', async () => {
  const rig = openRig()
  try {
    await rig.serve()
    const client = await rig.connect()
    open(0, '127.0.0.1')
    const refused = async (work: () => Promise<unknown>) => {
      const error = await work().catch((thrown: unknown) => thrown)
      assert.match(String(error), 'A debugger listens in this process')
    }
    await refused(() => openDaemon({ paths: rig.paths }))
    await refused(() => openSeat(client, { tell: () => {} }))
    assert.match((await rig.imago(['approvals'])).stdout, 'Nobody has a seat')
  } finally {
    close()
    await rig.close()
  }
})

test('a signal that opens a debugger in other programs opens none in a daemon (threat 5)', async () => {
  const rig = openRig()
  try {
    const { pid, process: daemon } = await rig.serve()
    process.kill(pid, 'SIGUSR1')
    assert.is((await rig.imago(['kernels'])).code, 0)
    assert.not.match(daemon.so.stderr, 'Debugger listening')
  } finally {
    await rig.close()
  }
})
