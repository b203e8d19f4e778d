import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LIMITS } from '../../wire/codec/messages.ts'
import { WireError } from '../../wire/errors.ts'
import { provePeer } from '../../wire/link/handshake.ts'
import { connect } from '../../wire/link/transport.ts'
import { assert, suite } from '../support/harness.ts'
import { Playground } from '../support/owned.ts'
import { startProgram } from '../support/program.ts'
import { type Daemon, openRig } from '../support/rig.ts'
import { evaluating, openAsking, openSeatTerminal } from '../support/watching.ts'

/** Whatever gives a right to something goes with what gave it: what was good for one life is not for the next. */
const test = suite('what rotates', { limitMs: 60_000 })

const killed = async ({ process }: Daemon) => {
  process.child.kill('SIGKILL')
  await process.ended
}

test('a connection, a seat, a plan and its code of a daemon that was killed do nothing in the next (threat 8)', async () => {
  const rig = openAsking()
  try {
    const first = await rig.serve()
    const seat = await openSeatTerminal(rig)
    assert.is((await seat.says('sit')).seated, 'seat-1')
    const old = await evaluating(rig, '1')
    const lost = old.answer.catch(error => error)
    const { plan } = (await seat.hears('type', 'plan')) as { plan: Record<string, string> }
    const { id = '', hash = '', code = '' } = plan
    const { instance } = await old.client.request('status', {})
    await killed(first)
    assert.ok((await lost) instanceof WireError)
    await rig.serve()

    const failing = await old.client.request('status', {}).catch(error => error)
    assert.ok(failing instanceof WireError && failing.code === 'LINK_CLOSED', String(failing))
    const given = { plan: id, hash, decision: 'approve' }
    const answered = await seat.says('answer', given)
    assert.ok('failed' in answered && !('answer' in answered), JSON.stringify(answered))
    assert.match(String(answered.said), /daemon/)
    seat.screen.close()
    const client = await rig.connect()
    assert.is.not((await client.request('status', {})).instance, instance)
    const nothing = { seats: [], approvals: [], grants: [], pauses: [], ends: [], held: [] }
    assert.equal(await client.request('approvals', {}), nothing)

    // The same plan again, before somebody else who sits: nothing of the first one answers it.
    const next = await openSeatTerminal(rig)
    assert.is((await next.says('sit')).seated, 'seat-1')
    const same = await evaluating(rig, '1')
    const answer = same.answer.catch(error => error)
    const shown = ((await next.hears('type', 'plan')) as { plan: Record<string, string> }).plan
    assert.is.not(shown.id, id)
    assert.is.not(shown.code, code)
    assert.equal(await client.request('approve', { plan: id, code }), { type: 'unknown' })
    assert.equal(await client.request('approve', { plan: shown.id ?? '', code }), { type: 'wrong_code' })
    const refused = await client
      .request('answer', { plan: shown.id ?? '', hash: shown.hash ?? '', decision: 'approve' })
      .catch(error => error)
    assert.is(refused instanceof WireError && refused.remote?.code, 'no_seat')
    assert.is((await client.request('approvals', {})).approvals.length, 1)
    next.screen.close()
    await same.client.close()
    void answer
  } finally {
    await rig.close()
  }
})

test('the key of a kernel is of one life of it: the next one lets nobody in with it (threat 8)', async () => {
  const ground = new Playground()
  try {
    const keys: string[] = []
    const secret = (value: string) => {
      keys.push(value)
      return () => {}
    }
    const first = await ground.launch({ secret })
    await first.stop()
    const second = await ground.launch({ secret })
    const [old = '', fresh = ''] = keys
    assert.is.not(old, fresh)
    const socket = readdirSync(ground.runtimeDir).find(name => name.endsWith('.sock')) ?? ''
    const proves = async (secret: string) => {
      const transport = await connect(`unix:${join(ground.runtimeDir, socket)}`)
      transport.on('error', () => {})
      try {
        await provePeer({ transport, secret, side: 'opener', limits: LIMITS })
        return 'let in'
      } catch {
        return 'turned away'
      } finally {
        transport.destroy()
      }
    }
    assert.is(await proves(old), 'turned away')
    assert.is(await proves(fresh), 'let in')
    assert.is(second.kernel.health, 'responsive')
  } finally {
    await ground.clear()
  }
})

test('the key that a program announced is of one life of it: started again, it knows another (threat 8)', async () => {
  const rig = openRig()
  const { runtimeDir } = rig.paths
  const start = () => startProgram({ folder: rig.project, runtimeDir })
  const announced = () => {
    const folder = join(runtimeDir, 'programs')
    const [file = ''] = readdirSync(folder).filter(name => name.endsWith('.json'))
    return JSON.parse(readFileSync(join(folder, file), 'utf8')) as { secret: string; pid: number }
  }
  let program = await start()
  try {
    await rig.serve()
    const { secret: old } = announced()
    assert.is((await rig.imago(['attach', 'web'])).code, 0)
    program.signal('SIGTERM')
    await program.ended
    await rig.imago(['shutdown', '--force'])
    program = await start()
    await rig.serve()
    // What was started again takes the place of what was attached, by what it announces; here a person says the key.
    await rig.imago(['detach', 'web'])
    writeFileSync(join(rig.project, 'old.key'), old, { mode: 0o600 })
    const refused = await rig.imago(['attach', program.address, '--key-file', 'old.key', '--json'])
    assert.is(JSON.parse(refused.stdout).error.details.reason, 'NOT_AUTHENTICATED')
    assert.is((await rig.imago(['attach', String(program.pid)])).code, 0)
  } finally {
    program.signal('SIGKILL')
    await program.ended
    await rig.close()
  }
})
