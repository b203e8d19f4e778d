import type { SuspensionNews } from '../../wire/kernel.ts'
import type { FramedKernel } from '../../wire/kernels/framed.ts'
import { FAKE_HELLO, type FakePeer } from '../support/fake-peer.ts'
import { suspendedAs } from '../support/fake-suspensions.ts'
import { closePairs, comeBack, DONE, pair, until } from '../support/framed-pair.ts'
import { assert, suite } from '../support/harness.ts'
import { codeOf, evaluate, newCall } from '../support/heard.ts'

const test = suite('suspensions over a framed link')
test.after.each(closePairs)

const hello = { abilities: [...FAKE_HELLO.abilities, 'suspend', 'hold', 'suspensions'] }
const LOOK = { deadlineMs: 5_000 }

const note = (id: string, how = 'resumed') => ({
  type: 'note',
  name: 'suspension',
  params: { id, how, message: 'It has ended.' },
})

function newsOf(kernel: FramedKernel): string[] {
  const told: string[] = []
  const as = (news: SuspensionNews) =>
    news.type === 'suspended' ? `suspended ${news.suspension.id}` : `${news.id} ${news.how}`
  kernel.watchSuspensions(news => told.push(as(news)))
  return told
}

async function suspend({ kernel, peer }: { kernel: FramedKernel; peer: FakePeer }, id: string) {
  const heard = evaluate(kernel, 'ship()')
  peer.answer((await peer.next('call')).id, suspendedAs(id))
  assert.is((await heard.result).type, 'suspended')
  return heard
}

/** Waits until all that the peer has sent has been taken in: an answer comes after it. */
async function takenIn({ kernel, peer }: { kernel: FramedKernel; peer: FakePeer }): Promise<void> {
  const asked = kernel.status(LOOK)
  peer.answer((await peer.next('call')).id, { running: null, queued: 0 })
  await asked
}

test('work is sent under the names of docs/wire.md, and only a peer that can is asked to suspend', async () => {
  const { kernel, peer } = await pair({ hello })
  const plain = await pair()
  const suspending = { leaseMs: 900_000, hold: true }
  const sent = async (one: { kernel: FramedKernel; peer: FakePeer }, work: object) => {
    const asked = one.kernel.evaluate(
      { call: newCall(), who: 'test', work: work as never, suspend: suspending },
      {},
    )
    const { id, params } = await one.peer.next('call')
    one.peer.answer(id, DONE)
    await asked
    const { call: _call, who: _who, ...rest } = params as Record<string, unknown>
    return rest
  }
  const suspendedFor = { suspend: { lease_ms: 900_000, hold: true } }
  assert.equal(await sent({ kernel, peer }, { type: 'source', source: '1' }), {
    source: '1',
    ...suspendedFor,
  })
  assert.equal(await sent({ kernel, peer }, { type: 'frame', suspension: 's1@ab', frame: 2, source: 'x' }), {
    suspension: 's1@ab',
    frame: 2,
    source: 'x',
    ...suspendedFor,
  })
  const way = { type: 'restart', restart: 1, value: '42' }
  assert.equal(await sent({ kernel, peer }, { type: 'resume', suspension: 's1@ab', way }), {
    resume: 's1@ab',
    way: 'restart',
    restart: 1,
    value: '42',
    ...suspendedFor,
  })
  assert.equal(await sent(plain, { type: 'source', source: '1' }), { source: '1' })
})

test('a suspension is told of once, and its end once, in whatever order they come', async () => {
  const one = await pair({ hello })
  const { kernel, peer } = one
  const news = newsOf(kernel)
  const heard = await suspend(one, 's1@ab')
  assert.is((await kernel.interrupt(heard.call)).outcome, 'not_running')
  peer.send(note('s1@ab'), note('s1@ab', 'lost'), { ...note('s9@ab'), params: { id: 7 } })
  // Both in one piece: the end is read before whoever asked has gone on.
  const second = evaluate(kernel, 'ship()')
  const { id } = await peer.next('call')
  peer.send({ type: 'return', id, result: suspendedAs('s2@ab') }, note('s2@ab', 'expired'))
  await second.result
  await takenIn(one)
  assert.equal(news, ['suspended s1@ab', 's1@ab resumed', 'suspended s2@ab', 's2@ab expired'])
})

test('all that is suspended is lost with its image, and told so once', async () => {
  const one = await pair({ hello })
  const news = newsOf(one.kernel)
  await suspend(one, 's1@ab')
  await suspend(one, 's2@ab')
  one.peer.die()
  await one.kernel.ended
  await one.kernel.close()
  assert.equal(news.slice(2), ['s1@ab lost', 's2@ab lost'])
})

test('after a break, what the peer does not list any more is lost, and the rest is as it was (fault 16)', async () => {
  const one = await pair({ hello, rejoinMs: 5_000 })
  const { kernel } = one
  const news = newsOf(kernel)
  await suspend(one, 's1@ab')
  await suspend(one, 's2@ab')
  one.peer.die()
  const listed = { type: 'found', value: { suspensions: [suspendedAs('s2@ab').suspension] } }
  const { peer } = await comeBack(kernel, {
    hello,
    script: { suspensions: ({ id }, back) => back.answer(id, listed) },
  })
  await until(() => news.length > 2)
  assert.equal(news.slice(2), ['s1@ab lost'])
  peer.send(note('s1@ab', 'expired'), note('s2@ab', 'left'))
  await until(() => news.length > 3)
  assert.equal(news.slice(2), ['s1@ab lost', 's2@ab left'])
})

test('what is recalled as suspended and is there no more begins and ends for whoever watches', async () => {
  const { kernel, peer } = await pair({
    hello,
    script: { suspensions: ({ id }, one) => one.answer(id, { type: 'found', value: { suspensions: [] } }) },
  })
  const news = newsOf(kernel)
  const source = { type: 'source', source: 'ship()' } as const
  const recalled = kernel.evaluate({ call: newCall(), who: 'test', work: source, again: true }, {})
  const asked = await peer.next('call')
  assert.is(asked.method, 'recall')
  peer.answer(asked.id, suspendedAs('s1@ab'))
  assert.is((await recalled).type, 'suspended')
  await until(() => news.length > 1)
  assert.equal(news, ['suspended s1@ab', 's1@ab lost'])
})

test('one that is adopted is told of, too, and a suspension that is none is MESSAGE_INVALID', async () => {
  const { kernel, peer } = await pair({ hello })
  const news = newsOf(kernel)
  const adopting = kernel.look('adopt', { id: 'sys.last_exc', lease_ms: 1_000 }, LOOK)
  peer.answer((await peer.next('call')).id, { type: 'found', value: suspendedAs('s4@ab').suspension })
  assert.is((await adopting).type, 'found')
  const heard = evaluate(kernel, 'ship()')
  peer.answer((await peer.next('call')).id, { type: 'suspended', elapsed_ms: 1 })
  assert.is(await codeOf(heard.result), 'MESSAGE_INVALID')
  peer.send(note('s4@ab', 'left'))
  await until(() => news.length > 1)
  assert.equal(news, ['suspended s4@ab', 's4@ab left'])
})
