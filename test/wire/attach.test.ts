import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AttachRequest } from '../../wire/kernels/attach.ts'
import { attachKernel, rejoinKernel } from '../../wire/kernels/attach.ts'
import type { FramedKernel } from '../../wire/kernels/framed.ts'
import { blackHole } from '../support/black-hole.ts'
import type { FakePeer, Script } from '../support/fake-peer.ts'
import {
  endPrograms,
  type FakeProgram,
  type FakeProgramOptions,
  fakeProgram,
} from '../support/fake-program.ts'
import { DONE, until } from '../support/framed-pair.ts'
import { assert, suite } from '../support/harness.ts'
import { codeOf, evaluate } from '../support/heard.ts'

const test = suite('attaching')

const LOOK = { deadlineMs: 2_000 }
/** So short that a test need not wait for it. */
const LIMITS = { againMs: 5, mostMs: 20, heartbeatMs: 40, awaitLinkMs: 50 }

let runtimeDir = ''
const kernels: FramedKernel[] = []

test.before.each(() => {
  runtimeDir = mkdtempSync(join(tmpdir(), 'imago-attach-'))
})
test.after.each(async () => {
  for (const kernel of kernels.splice(0)) await kernel.close()
  await endPrograms()
  rmSync(runtimeDir, { recursive: true, force: true })
})

const listening = (options: Partial<FakeProgramOptions> = {}) => fakeProgram({ runtimeDir, ...options })

const requestFor = ({ address, secret }: Pick<FakeProgram, 'address' | 'secret'>): AttachRequest => ({
  name: 'web',
  reach: () => ({ address, secret }),
  limits: LIMITS,
})

async function attached(program: FakeProgram, more: Partial<AttachRequest> = {}): Promise<FramedKernel> {
  const kernel = await attachKernel({ ...requestFor(program), ...more })
  kernels.push(kernel)
  return kernel
}

/** The first daemon that a program has let in. */
async function peerOf({ peers }: FakeProgram): Promise<FakePeer> {
  await until(() => peers.length > 0)
  const [peer] = peers
  if (peer === undefined) throw new Error('nobody was let in')
  return peer
}

/** Remembers calls by name, as a peer does: what runs once is asked for again and again. */
function remembering(): { script: Script; ran: string[] } {
  const ran: string[] = []
  return {
    ran,
    script: {
      evaluate: ({ params }) => void ran.push((params as { call: string }).call),
      recall: ({ id, params }, peer) => {
        const { call } = params as { call: string }
        if (ran.includes(call)) peer.answer(id, DONE)
        else peer.fail(id, 'unknown_call')
      },
      globals: ({ id }, peer) => peer.answer(id, { type: 'found', value: { globals: [], total: 0 } }),
    },
  }
}

test('a program that listens is joined over either kind of address, and says that it is not ours', async () => {
  for (const address of [undefined, 'tcp:127.0.0.1:0']) {
    const program = await listening({ script: remembering().script, ...(address && { address }) })
    const kernel = await attached(program)
    assert.is(kernel.identity.attached, true)
    assert.is(kernel.identity.epoch, '0badcafe')
    assert.is(kernel.health, 'responsive')
    assert.is((await kernel.look('globals', { modules: false, limit: 5 }, LOOK)).type, 'found')
  }
})

test('closing lets go of the program: it is asked for nothing, and goes on listening', async () => {
  const program = await listening()
  const kernel = await attached(program)
  const peer = await peerOf(program)
  await kernel.close()
  assert.is((await kernel.ended).reason, 'closed')
  await peer.ended
  assert.equal(
    peer.received.map(({ type }) => type),
    ['bye'],
  )
  assert.is((await attached(program)).health, 'responsive')
})

test('a wrong secret is NOT_AUTHENTICATED on this end too, and the program hears nothing of it', async () => {
  const program = await listening()
  const wrong = { address: program.address, secret: 'f'.repeat(64) }
  assert.is(await codeOf(attachKernel(requestFor(wrong))), 'NOT_AUTHENTICATED')
  assert.equal(program.peers, [])
})

test('a program that serves another daemon says so, in its own words', async () => {
  const program = await listening()
  program.refuse({ code: 'occupied', message: 'another daemon is attached' })
  const error = await attachKernel(requestFor(program)).catch(error => error)
  assert.is(error.code, 'REMOTE_FAULT')
  assert.equal(error.remote, { code: 'occupied', message: 'another daemon is attached', data: undefined })
})

test('where nobody listens, and where somebody else does, nothing is attached to', async () => {
  const program = await listening()
  await program.crash()
  assert.is(await codeOf(attachKernel(requestFor(program))), 'LINK_REFUSED')
  assert.is(
    await codeOf(attachKernel(requestFor({ address: 'tcp:10.0.0.1:80', secret: 'x' }))),
    'LINK_REFUSED',
  )
})

test('a link that breaks is made again by itself, and the evaluation under way is asked for by name', async () => {
  const { script, ran } = remembering()
  const program = await listening({ script })
  const news: (string | null)[] = []
  const kernel = await attached(program, { away: why => news.push(why) })
  const heard = evaluate(kernel, 'work()')
  await until(() => ran.length === 1)
  program.peers[0]?.die()
  assert.is((await heard.result).type, 'done')
  assert.equal(ran, [heard.call])
  assert.is(program.peers.length, 2)
  assert.match(news[0] ?? '', /web|kernel/)
  assert.is(news.at(-1), null)
})

test('a program that cannot be reached for a while is tried again, wherever it then listens', async () => {
  const program = await listening({ script: remembering().script })
  const news: (string | null)[] = []
  const reach = { address: program.address, secret: program.secret }
  const kernel = await attached(program, { reach: () => reach, away: why => news.push(why) })
  await program.crash()
  await until(() => news.length >= 4)
  assert.match(news.at(-1) ?? '', 'cannot be connected to')
  const moved = await listening({ script: remembering().script, address: 'tcp:127.0.0.1:0' })
  Object.assign(reach, { address: moved.address, secret: moved.secret })
  await until(() => news.at(-1) === null)
  assert.is((await kernel.look('globals', { modules: false, limit: 5 }, LOOK)).type, 'found')
})

test('an evaluation that comes while the link is broken waits a little, and then says that nothing was sent', async () => {
  const { script, ran } = remembering()
  const program = await listening({ script })
  const broken = new Promise<void>(resolve => {
    void attached(program, { away: () => resolve() }).then(() => program.crash())
  })
  await broken
  const [kernel] = kernels
  if (!kernel) throw new Error('it was not attached')
  assert.is(await codeOf(evaluate(kernel, '1').result), 'UNRESPONSIVE')
  assert.equal(ran, [])
  await program.listen()
  const late = evaluate(kernel, '2')
  await until(() => ran.length === 1)
  program.peers.at(-1)?.die()
  assert.is((await late.result).type, 'done')
})

test('a program that was started again is another image: it is told, and not joined by itself', async () => {
  const program = await listening()
  const reach = { address: program.address, secret: program.secret }
  const kernel = await attached(program, { reach: () => reach })
  const other = await listening({ epoch: '11112222' })
  Object.assign(reach, { address: other.address, secret: other.secret })
  await program.crash()
  const { reason, message } = await kernel.ended
  assert.is(reason, 'lost')
  assert.match(message, 'another image')
  await (await peerOf(other)).ended
})

test('a program that is known to have ended is lost, with how, and its evaluations with it', async () => {
  const { script, ran } = remembering()
  const program = await listening({ script })
  let gone: string | undefined
  const kernel = await attached(program, { gone: () => gone })
  const heard = evaluate(kernel, 'work()')
  await until(() => ran.length === 1)
  gone = 'web has ended (process 42).'
  await program.crash()
  assert.equal(await kernel.ended, { reason: 'exited', message: gone })
  assert.is(await codeOf(heard.result), 'LINK_CLOSED')
})

test('a link through which nothing comes any more is given up, and the evaluation is asked for over another (fault 15)', async () => {
  const { script, ran } = remembering()
  const program = await listening({ script, address: 'tcp:127.0.0.1:0' })
  const hole = await blackHole({ to: program.address })
  const news: (string | null)[] = []
  const through = { address: hole.address, secret: program.secret }
  const kernel = await attached(program, { reach: () => through, away: why => news.push(why) })
  const heard = evaluate(kernel, 'work()')
  await until(() => ran.length === 1)
  hole.swallow()
  assert.is((await heard.result).type, 'done')
  assert.equal(ran, [heard.call])
  assert.match(news[0] ?? '', 'nothing came for 80 ms')
  hole.close()
})

test('a program that answers is never given up, however long it is silent by itself', async () => {
  const program = await listening({ script: remembering().script, address: 'tcp:127.0.0.1:0' })
  const news: (string | null)[] = []
  const kernel = await attached(program, { away: why => news.push(why) })
  const { received } = await peerOf(program)
  await until(() => received.filter(({ type }) => type === 'ping').length >= 4)
  assert.equal(news, [])
  assert.is(kernel.health, 'responsive')
})

test('nothing is sent over a socket of this machine while nobody asks', async () => {
  const program = await listening()
  await attached(program)
  const { received } = await peerOf(program)
  await new Promise(resolve => setTimeout(resolve, 5 * LIMITS.heartbeatMs))
  assert.equal(received, [])
})

test('an image of before is joined as soon as it is there, and only that one', async () => {
  const program = await listening()
  await program.crash()
  const news: (string | null)[] = []
  const { signal } = new AbortController()
  const again = { ...requestFor(program), away: (why: string | null) => void news.push(why), signal }
  const joining = rejoinKernel({ ...again, epoch: '0badcafe' })
  await until(() => news.length >= 2)
  await program.listen()
  const kernel = await joining
  if (typeof kernel === 'string') throw new Error(kernel)
  kernels.push(kernel)
  assert.is(kernel.identity.epoch, '0badcafe')
  await kernel.close()
  const other = await rejoinKernel({ ...again, epoch: '99999999' })
  assert.match(String(other), 'another image')
})

test('joining again ends where it never can succeed, or is not wanted any more', async () => {
  const program = await listening()
  const { signal } = new AbortController()
  const again = { ...requestFor(program), epoch: '0badcafe', signal }
  assert.is(await rejoinKernel({ ...again, gone: () => 'It has ended.' }), 'It has ended.')
  const wrong = { address: program.address, secret: 'f'.repeat(64) }
  assert.match(String(await rejoinKernel({ ...again, reach: () => wrong })), 'another secret')
  await program.crash()
  const stop = new AbortController()
  const trying = rejoinKernel({ ...again, signal: stop.signal, away: () => stop.abort() })
  assert.is(await trying, 'web was let go of.')
})
