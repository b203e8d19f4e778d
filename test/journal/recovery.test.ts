import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JournalEntry } from '../../src/journal/entries.ts'
import { NODE_FILES } from '../../src/journal/files.ts'
import { type LineRead, type ReadOptions, readEntries } from '../../src/journal/reader.ts'
import { keepSecret } from '../../src/journal/redaction.ts'
import { verifyJournal } from '../../src/journal/verify.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { assert, suite } from '../support/harness.ts'
import { decided, dispatched, ended, journalsOf, requested } from '../support/journals.ts'

const test = suite('recovering and reading a journal', { limitMs: 60_000 })

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

test('a call is known by its name though an environment holds that as a secret, and never runs twice (threat 7)', async () => {
  const [call, forget] = ['run-4Xq9-once', keepSecret('run-4Xq9-once', 'environment variable', 'c')]
  await journals.earlierDaemon(0, [call])
  const journal = journals.open()
  assert.is((await journal.earlier(id(call)))?.outcome, 'outcome_unknown')
  await journal.close()
  forget()
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

async function read(options: ReadOptions = {}): Promise<LineRead[]> {
  const lines: LineRead[] = []
  for await (const line of readEntries(journals.dir, options)) lines.push(line)
  return lines
}

const callOf = (line: LineRead) => (line.type === 'entry' ? (line.entry.call ?? line.entry.type) : line.type)

/** One call in each of so many segments. */
async function segments(count: number, now: () => Date = () => new Date()): Promise<void> {
  const journal = journals.open({ segmentBytes: 10, now, kept: { bytes: 1e9, ms: 1e12 } })
  for (let index = 0; index < count; index++) journal.write(dispatched(`call-${index}`))
  await journal.close()
}

test('a journal that is not there, or empty, has no lines', async () => {
  assert.equal(await read(), [])
  mkdirSync(journals.dir)
  writeFileSync(join(journals.dir, '000001.jsonl'), '')
  writeFileSync(join(journals.dir, 'notes.txt'), 'not ours\n')
  assert.equal(await read(), [])
})

test('all lines come in order, with the file, the line and the byte that each is at', async () => {
  await segments(3)
  const lines = await read()
  assert.equal(lines.map(callOf), ['segment', 'call-0', 'segment', 'call-1', 'segment', 'call-2'])
  for (const { file, line, byte } of lines) {
    const bytes = readFileSync(join(journals.dir, file))
    assert.is(bytes.subarray(0, byte).filter(byte => byte === 0x0a).length, line - 1)
    assert.is(bytes[byte], 0x7b)
  }
})

test('the last lines are read from where they begin, over several segments', async () => {
  await segments(5)
  const all = await read()
  for (const last of [0, 1, 2, 3, 5, 9, 10, 11]) {
    const expected = last === 0 ? [] : all.slice(-last)
    assert.equal(await read({ last }), expected, `the last ${last}`)
  }
})

test('what was written before a time is left out', async () => {
  let time = 0
  await segments(5, () => {
    time += 1_000
    return new Date(time)
  })
  const all = await read()
  for (let from = 0; from < time + 2_000; from += 500) {
    const expected = all.filter(line => line.type === 'entry' && new Date(line.entry.time).getTime() >= from)
    assert.equal(await read({ from: new Date(from) }), expected, `from ${from}`)
  }
})

test('a line that is no entry is given as it is, and a line that is being written is left out', async () => {
  await segments(1)
  appendFileSync(join(journals.dir, '000001.jsonl'), 'garbage\n{"v":2,"time":"now"')
  const lines = await read()
  assert.equal(lines.map(callOf), ['segment', 'call-0', 'unreadable'])
  const last = lines.at(-1)
  assert.is(last?.type === 'unreadable' && last.text, 'garbage')
  // With a later segment, it is not being written any more.
  writeFileSync(join(journals.dir, '000002.jsonl'), '')
  assert.equal((await read()).map(callOf), ['segment', 'call-0', 'unreadable', 'unreadable'])
})

test('a file that gets more lines, and a successor, just as it was read to its end is read to that end', async () => {
  const journal = journals.open({ segmentBytes: 500 })
  journal.write(dispatched('call-0'))
  let more = 1
  const readLater = async (...given: Parameters<typeof NODE_FILES.readLater>) => {
    const count = await NODE_FILES.readLater(...given)
    // The end was read; only now come the rest of this file, and the next one.
    if (count === 0) while (more < 10) journal.write(dispatched(`call-${more++}`))
    return count
  }
  const calls = (await read({ files: { ...NODE_FILES, readLater } })).map(callOf)
  assert.ok(journals.names().length > 1)
  const ran = calls.filter(call => call !== 'segment')
  assert.equal(
    ran,
    ran.map((_, index) => `call-${index}`),
  )
  await journal.close()
})

test('following goes on with what is written, from a journal that is not there yet on, over segments, until it is stopped', async () => {
  const stop = new AbortController()
  const seen: LineRead[] = []
  const reading = (async () => {
    const options = { follow: true, signal: stop.signal, pollMs: 1 }
    for await (const line of readEntries(journals.dir, options)) seen.push(line)
  })()
  const calls = () => seen.map(callOf).filter(call => call !== 'segment')
  const until = async (count: number) => {
    while (calls().length < count) await new Promise(resolve => setTimeout(resolve, 1))
  }
  const journal = journals.open({ segmentBytes: 500 })
  const expected: string[] = []
  for (let index = 0; index < 8; index++) {
    journal.write(dispatched(`call-${index}`))
    journal.write(ended(`call-${index}`))
    expected.push(`call-${index}`, `call-${index}`)
    if (index % 2 === 0) await until(expected.length)
  }
  await until(expected.length)
  const last = join(journals.dir, journals.names().at(-1) ?? '')
  const line = '{"v":2,"time":"2026-01-01T00:00:00.000Z","type":"ended","call":"by half"}\n'
  appendFileSync(last, line.slice(0, 30))
  await new Promise(resolve => setTimeout(resolve, 5))
  assert.equal(calls(), expected)
  appendFileSync(last, line.slice(30))
  await until(expected.length + 1)
  assert.is(calls().at(-1), 'by half')
  stop.abort()
  await reading
})
