import { appendFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JournalEntry } from '../../src/journal/entries.ts'
import { verifyJournal } from '../../src/journal/verify.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { assert, suite } from '../support/harness.ts'
import { decided, dispatched, ended, journalsOf, requested } from '../support/journals.ts'

const test = suite('journal recovery', { limitMs: 60_000 })

const journals = journalsOf(test)

const path = (name: string) => join(journals.dir, name)

const id = (call: string) => call as CallId

const problem = async () => (await verifyJournal(journals.dir)).problem

test('whatever byte an end was torn at, the whole lines before it are kept, and the rest is said and cut off (fault 9)', async () => {
  await journals.earlierDaemon(3)
  const whole = journals.bytes('000001.jsonl')
  for (let size = 0; size < whole.length; size++) {
    writeFileSync(path('000001.jsonl'), whole.subarray(0, size))
    const kept = whole.subarray(0, whole.subarray(0, size).lastIndexOf(0x0a) + 1)
    const journal = journals.open()
    journal.write(dispatched('new'))
    await journal.close()
    assert.is(journal.trouble, undefined)
    const now = journals.bytes('000001.jsonl')
    assert.ok(now.subarray(0, kept.length).equals(kept), `cut at ${size}`)
    const entries = await journals.entries()
    const recovered = entries.filter(({ type }) => type === 'recovered')
    assert.equal(
      recovered.map(({ bytes }) => bytes),
      size === kept.length ? [] : [size - kept.length],
    )
    assert.ok(entries.some(({ call }) => call === 'new'))
    assert.is(await problem(), undefined)
    rmSync(path('000001.jsonl'))
  }
})

test('a torn end without any newline, and longer than what is read at once, is cut off too (fault 9)', async () => {
  await journals.earlierDaemon(2)
  const before = journals.bytes('000001.jsonl')
  appendFileSync(path('000001.jsonl'), Buffer.alloc(300_000))
  const journal = journals.open()
  journal.write(dispatched('new'))
  await journal.close()
  assert.ok(journals.bytes('000001.jsonl').subarray(0, before.length).equals(before))
  assert.ok(journals.bytes('000001.jsonl').length < before.length + 1_000)
  assert.is(await problem(), undefined)
})

test('a line longer than what is read at once is found whole', async () => {
  const first = journals.open()
  const args = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`k${index}`, 'x'.repeat(4_000)]))
  for (const call of ['a', 'b']) {
    first.write(dispatched(call, args))
    first.write(ended(call))
  }
  first.write(dispatched('c', args))
  await first.close()
  const second = journals.open()
  assert.equal(await second.earlier(id('c')), { tool: 't', outcome: 'outcome_unknown', epoch: 'e' })
  await second.close()
  assert.is(second.trouble, undefined)
  assert.is(await problem(), undefined)
})

test('a daemon that was killed between making a segment and writing its first line is followed by one that writes it', async () => {
  await journals.earlierDaemon(8, ['open'], 1_000)
  const count = journals.names().length
  const name = `${String(count + 1).padStart(6, '0')}.jsonl`
  for (const begun of ['', '{"v":2,"ti']) {
    writeFileSync(path(name), begun)
    const journal = journals.open()
    journal.write(dispatched('new'))
    journal.write(ended('new'))
    await journal.close()
    assert.is(await problem(), undefined)
    rmSync(path(name))
  }
})

test('what was dispatched and never ended gets one end that says so, over any number of restarts', async () => {
  await journals.earlierDaemon(2, ['open-1', 'open-2'])
  for (let restart = 0; restart < 3; restart++) {
    const journal = journals.open()
    assert.equal(await journal.earlier(id('open-1')), { tool: 't', outcome: 'outcome_unknown', epoch: 'e' })
    assert.equal(await journal.earlier(id('call-0')), { tool: 't', outcome: 'ok', epoch: 'e' })
    assert.is(await journal.earlier(id('never')), undefined)
    await journal.close()
  }
  const ends = (await journals.entries()).filter(({ type }) => type === 'ended')
  assert.equal(
    ends.map(({ call, outcome }) => [call, outcome]),
    [
      ['call-0', 'ok'],
      ['call-1', 'ok'],
      ['open-1', 'outcome_unknown'],
      ['open-2', 'outcome_unknown'],
    ],
  )
})

test('what was asked for and never dispatched ends as withdrawn; what was refused has its end', async () => {
  const first = journals.open()
  first.write(requested('waiting'))
  first.write(requested('answered'))
  await first.sync(decided('answered'))
  first.write(requested('denied'))
  first.write(decided('denied', 'denied'))
  first.write({ ...requested('denied'), type: 'refused', decision: 'ask', outcome: 'denied' } as never)
  first.write(requested('begun'))
  first.write(decided('begun'))
  await first.sync(dispatched('begun'))
  await first.close()
  const second = journals.open()
  assert.equal(await second.earlier(id('denied')), { tool: 't', outcome: 'denied', epoch: 'e' })
  await second.close()
  const ends = (await journals.entries()).filter(({ type }) => type === 'ended')
  assert.equal(
    ends.map(({ call, outcome }) => [call, outcome]),
    [
      ['waiting', 'withdrawn'],
      ['answered', 'withdrawn'],
      ['begun', 'outcome_unknown'],
    ],
  )
})

test('a call that was open many segments ago is carried along, and ended once', async () => {
  const first = journals.open({ segmentBytes: 1_000 })
  first.write(dispatched('long'))
  for (let index = 0; index < 30; index++) {
    first.write(dispatched(`call-${index}`))
    first.write(ended(`call-${index}`))
  }
  await first.close()
  assert.ok(journals.names().length > 5)
  for (let restart = 0; restart < 2; restart++) {
    const next = journals.open({ segmentBytes: 1_000 })
    await next.earlier(id('none'))
    for (let index = 0; index < 4; index++) next.write(ended(`more-${index}`))
    await next.close()
  }
  const headers = (await journals.entries()).filter(({ type }) => type === 'segment')
  assert.equal(headers.at(-1)?.open, [])
  const ends = (await journals.entries()).filter(({ type, call }) => type === 'ended' && call === 'long')
  assert.equal(
    ends.map(({ outcome }) => outcome),
    ['outcome_unknown'],
  )
  assert.is(await problem(), undefined)
})

test('a segment that is begun before earlier calls are known does not hide them', async () => {
  await journals.earlierDaemon(1, ['open'])
  const hasty = journals.open({ segmentBytes: 100 })
  hasty.write(dispatched('a'))
  hasty.write(ended('a'))
  // It ends before it has looked.
  await hasty.close()
  const next = journals.open()
  assert.equal(await next.earlier(id('open')), { tool: 't', outcome: 'outcome_unknown', epoch: 'e' })
  await next.close()
  assert.is(await problem(), undefined)
})

const suspension = (what: string, more: object = {}) =>
  ({
    type: 'suspension',
    what,
    suspension: 's1@ab12',
    kernel: 'main',
    epoch: 'e',
    root: '/shop',
    call: 'a',
    who: 'claude-code',
    holder: 'claude-code',
    by: null,
    ...more,
  }) as JournalEntry

test('what was suspended under a daemon that was lost is written to be lost, with whose it was at last', async () => {
  const first = journals.open()
  first.later(suspension('suspended', { why: 'KeyError: 42' }))
  first.later(suspension('taken', { holder: 'seat-1', by: 'seat-1' }))
  first.later(suspension('suspended', { suspension: 's2@ab12' }))
  first.later(suspension('expired', { suspension: 's2@ab12' }))
  first.later(suspension('suspended', { epoch: 'another' }))
  first.later(suspension('within', { epoch: 'another' }))
  await first.close()
  const second = journals.open()
  const lost = await second.lost
  assert.equal(
    lost.map(one => [one.suspension, one.root, one.who, one.holder, one.why]),
    [['s1@ab12', '/shop', 'claude-code', 'seat-1', 'KeyError: 42']],
  )
  await second.close()
  const said = (await journals.entries()).filter(({ what }) => what === 'lost')
  assert.equal(
    said.map(({ type, suspension, kernel, epoch, call, holder, by }) => [
      type,
      suspension,
      kernel,
      epoch,
      call,
      holder,
      by,
    ]),
    [['suspension', 's1@ab12', 'main', 'e', 'a', 'seat-1', null]],
  )
  assert.match(String(said[0]?.why), /The daemon that kept it has ended/)
  assert.equal(await journals.open().lost, [])
})

test('what was suspended many segments ago is carried along without its secrets, and lost once', async () => {
  const secret = 'ghp_'.padEnd(40, 'a1B2c3')
  const first = journals.open({ segmentBytes: 1_500 })
  first.later(suspension('suspended', { why: `KeyError: ${secret}` }))
  first.later(suspension('suspended', { suspension: 's2@ab12' }))
  for (let index = 0; index < 30; index++) {
    if (index === 15) first.later(suspension('left', { suspension: 's2@ab12' }))
    first.write(dispatched(`call-${index}`))
    first.write(ended(`call-${index}`))
  }
  await first.close()
  assert.ok(journals.names().length > 5)
  const hasty = journals.open({ segmentBytes: 100 })
  hasty.write(dispatched('a'))
  hasty.write(ended('a'))
  // It ends before it has looked.
  await hasty.close()
  const next = journals.open({ segmentBytes: 1_500 })
  const lost = await next.lost
  assert.equal(
    lost.map(one => [one.suspension, one.root, one.who]),
    [['s1@ab12', '/shop', 'claude-code']],
  )
  for (let index = 0; index < 20; index++) next.write(ended(`more-${index}`))
  await next.close()
  assert.equal(await journals.open().lost, [])
  const entries = await journals.entries()
  const headers = entries.filter(({ type }) => type === 'segment')
  assert.equal(headers.at(-1)?.suspended, [])
  assert.not.match(JSON.stringify(entries), secret)
  assert.is(entries.filter(({ what }) => what === 'lost').length, 1)
  assert.is(await problem(), undefined)
})
