import { hash } from 'node:crypto'
import {
  appendFileSync,
  copyFileSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { JournalError } from '../../src/journal/journal.ts'
import { type Verification, verifyJournal } from '../../src/journal/verify.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import { dispatched, ended, journalsOf, remembered, systemError, watched } from '../support/journals.ts'

const test = suite('the chain of a journal, and its corruption', { limitMs: 60_000 })

const journals = journalsOf(test)

const verified = () => verifyJournal(journals.dir)

/** A journal of several segments with so many calls. */
async function written(calls: number, segmentBytes = 1_000): Promise<void> {
  const journal = journals.open({ segmentBytes })
  for (let index = 0; index < calls; index++) {
    journal.write(dispatched(`call-${index}`, { expr: index % 3 === 0 ? 'é → 日本' : '1 + 2' }))
    journal.later(ended(`call-${index}`))
  }
  await journal.close()
}

test('each line ends with a hash over the chain of the line before and all of its own bytes', async () => {
  await written(2)
  let previous = '0'.repeat(32)
  const lines = journals.bytes('000001.jsonl').toString().trimEnd().split('\n')
  assert.is(lines.length, 5)
  for (const line of lines) {
    const cut = line.lastIndexOf(',"chain":"')
    const chain = hash('sha256', previous + line.slice(0, cut)).slice(0, 32)
    assert.is(line.slice(cut), `,"chain":"${chain}"}`)
    assert.ok(line.startsWith('{"v":2,"time":"'))
    previous = chain
  }
})

test('a full segment is followed by the next, which says what it follows and what is open', async () => {
  const journal = journals.open({ segmentBytes: 1_000, version: '1.2.3' })
  await journal.earlier('none' as never)
  journal.write(dispatched('long'))
  for (let index = 0; index < 8; index++) {
    journal.write(dispatched(`call-${index}`))
    journal.write(ended(`call-${index}`))
  }
  await journal.close()
  assert.ok(journals.names().length >= 3)
  for (const name of journals.names()) {
    const lines = journals.bytes(name).toString().trimEnd().split('\n')
    assert.ok(statSync(join(journals.dir, name)).size < 1_500)
    assert.is(statSync(join(journals.dir, name)).mode & 0o777, 0o600)
    assert.is(lines.filter(line => line.includes('"type":"segment"')).length, 1)
    assert.match(lines[0] ?? '', '"type":"segment"')
  }
  const headers = (await journals.entries()).filter(({ type }) => type === 'segment')
  assert.equal(headers.map(({ number, why, version }) => [number, why, version]).slice(0, 2), [
    [1, 'first', '1.2.3'],
    [2, 'full', '1.2.3'],
  ])
  assert.match(JSON.stringify(headers[1]), '"open":[{"call":"long","tool":"t","since":"dispatched"')
  assert.is(statSync(journals.dir).mode & 0o777, 0o700)
  const found = await verified()
  assert.is(found.problem, undefined)
  assert.is(found.segments, journals.names().length)
  assert.is(found.entries, (await journals.entries()).length)
})

test('any flipped byte is found, in whichever segment, and the line that it is in is named (threat 37)', async () => {
  await written(12)
  const names = journals.names()
  assert.ok(names.length >= 3)
  const contents = new Map(names.map(name => [name, journals.bytes(name)]))
  const check = () => verifyJournal('', { files: remembered(contents) })
  assert.is((await check()).problem, undefined)
  for (const [name, bytes] of contents) {
    let line = 1
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0
      const masks = [0x01, 0x80, byte ^ 0x0a, byte ^ 0x20].filter(mask => mask !== 0)
      for (const mask of masks.filter((_, turn) => isLong || turn === at % masks.length)) {
        bytes[at] = byte ^ mask
        const { problem } = await check()
        if (problem?.file !== name || problem.line !== line)
          assert.unreachable(`${name}, byte ${at} of line ${line}, mask ${mask}: ${JSON.stringify(problem)}`)
      }
      bytes[at] = byte
      if (byte === 0x0a) line++
    }
  }
  assert.is((await check()).problem, undefined)
})

/** What a change of the files of a journal of several segments leads to. */
async function after(change: () => void): Promise<Verification> {
  await written(12)
  assert.is((await verified()).problem, undefined)
  change()
  return verified()
}

test('lines that were removed, added, repeated or put in another order are found (threat 37)', async () => {
  await written(3)
  const path = join(journals.dir, '000001.jsonl')
  const whole = journals.bytes('000001.jsonl').toString()
  const lines = whole.split(/(?<=\n)/)
  const [header = '', first = '', second = '', ...rest] = lines
  const changes: [string[], number][] = [
    [[header, second, ...rest], 2],
    [[header, first, first, second, ...rest], 3],
    [[header, second, first, ...rest], 2],
    [[header, '\n', first, second, ...rest], 2],
    [[header, '{"v":2,"time":"x","type":"ended"}\n', first, second, ...rest], 2],
    [[first, second, ...rest], 1],
  ]
  for (const [changed, line] of changes) {
    writeFileSync(path, changed.join(''))
    assert.is((await verified()).problem?.line, line)
  }
})

test('a segment that is missing, that lost its end, or that has the name of another is found (threat 37)', async () => {
  const gone = await after(() => rmSync(join(journals.dir, '000002.jsonl')))
  assert.equal([gone.problem?.file, gone.problem?.what], ['000002.jsonl', 'It is missing'])
  rmSync(journals.dir, { recursive: true })
  const cut = await after(() => {
    const text = journals.bytes('000001.jsonl').toString()
    const lines = text.split(/(?<=\n)/).slice(0, -1)
    writeFileSync(join(journals.dir, '000001.jsonl'), lines.join(''))
  })
  assert.match(cut.problem?.what ?? '', 'Lines are missing at its end')
  rmSync(journals.dir, { recursive: true })
  const renamed = await after(() => {
    renameSync(join(journals.dir, '000002.jsonl'), join(journals.dir, 'kept'))
    renameSync(join(journals.dir, '000003.jsonl'), join(journals.dir, '000002.jsonl'))
  })
  assert.match(renamed.problem?.what ?? '', 'is the beginning of segment 3')
})

test('what no chain can show is said: an end that was cut off, and a beginning that is gone', async () => {
  const none = await verified()
  assert.equal([none.segments, none.entries, none.bytes], [0, 0, 0])
  const found = await after(() => {
    rmSync(join(journals.dir, '000001.jsonl'))
    const name = journals.names().at(-1) ?? ''
    const lines = journals
      .bytes(name)
      .toString()
      .split(/(?<=\n)/)
    writeFileSync(join(journals.dir, name), lines.slice(0, -1).join(''))
  })
  assert.is(found.problem, undefined)
  assert.match(found.notes[0] ?? '', 'What came before 000002.jsonl is not here')
  assert.match(found.notes.at(-1) ?? '', 'cannot show that lines at the very end were removed')
})

const DAY = 24 * 60 * 60 * 1000

test('the oldest segments are removed beyond a size, the last one never, and the chain of the rest holds', async () => {
  const kept = { bytes: 3_000, ms: 100 * DAY }
  const journal = journals.open({ segmentBytes: 1_000, kept })
  await journal.verified
  for (let index = 0; index < 40; index++) {
    journal.write(dispatched(`call-${index}`))
    journal.write(ended(`call-${index}`))
    await new Promise(resolve => setImmediate(resolve))
  }
  await journal.close()
  const names = journals.names()
  const total = names.reduce((sum, name) => sum + journals.bytes(name).length, 0)
  assert.ok(total < 5_000, `${total} bytes in ${names}`)
  assert.not.ok(names.includes('000001.jsonl'))
  const found = await verified()
  assert.is(found.problem, undefined)
  assert.match(found.notes[0] ?? '', 'taken on trust')
  const removed = (await journals.entries()).filter(({ type }) => type === 'removed')
  assert.ok(removed.length > 0)
})

test('a segment that ended more days ago than are kept is removed when the journal is opened', async () => {
  let time = 0
  const now = () => new Date(time)
  const kept = { bytes: 1_000_000, ms: 7 * DAY }
  const first = journals.open({ segmentBytes: 400, now, kept: { ...kept, ms: 100 * DAY } })
  for (const call of ['a', 'b', 'c']) {
    first.write(dispatched(call))
    first.write(ended(call))
    time += 5 * DAY
  }
  await first.close()
  const before = journals.names()
  const second = journals.open({ segmentBytes: 400, now, kept })
  await second.verified
  await second.close()
  const left = journals.names()
  assert.ok(before.includes('000001.jsonl') && !left.includes('000001.jsonl'))
  assert.ok(left.includes(before.at(-1) ?? ''))
  assert.is((await verified()).problem, undefined)
  assert.ok((await journals.entries()).some(({ call }) => call === 'c'))
})

const path = (name: string) => join(journals.dir, name)

const id = (call: string) => call as CallId

const problem = async () => (await verifyJournal(journals.dir)).problem

/** Changes one byte of one line, counted from 1. */
function spoil(name: string, line: number) {
  const bytes = readFileSync(path(name))
  let at = 0
  for (let skipped = 1; skipped < line; skipped++) at = bytes.indexOf(0x0a, at) + 1
  at += 40
  bytes[at] = (bytes[at] ?? 0) ^ 1
  writeFileSync(path(name), bytes)
}

for (const [what, line] of [
  ['in its middle', 4],
  ['in its first line', 1],
  ['in its last line', 9],
] as const)
  test(`a last segment that is corrupt ${what} is set aside, and that is known until a person acknowledges (fault 10)`, async () => {
    await journals.earlierDaemon(4)
    spoil('000001.jsonl', line)
    const spoilt = journals.bytes('000001.jsonl')
    const first = journals.open()
    await first.verified
    assert.match(first.trouble ?? '', new RegExp(`^000001\\.jsonl, byte \\d+: Line ${line} `))
    first.write(dispatched('after'))
    first.write(ended('after'))
    await first.close()
    assert.equal(journals.names(), ['000001.quarantined.jsonl', '000002.jsonl'])
    assert.ok(journals.bytes('000001.quarantined.jsonl').equals(spoilt))
    assert.is((await problem())?.line, line)

    // It is known at once, and is not found a second time.
    const second = journals.open()
    assert.match(second.trouble ?? '', '000001.jsonl')
    await second.verified
    await second.acknowledge('seat-1')
    assert.is(second.trouble, undefined)
    await second.close()
    const third = journals.open()
    await third.verified
    assert.is(third.trouble, undefined)
    await third.close()
    const entries = (await rest()).filter(({ type }) => type === 'quarantined' || type === 'acknowledged')
    assert.equal(
      entries.map(({ type, line, kept, by }) => [type, line ?? by, kept]),
      [
        ['quarantined', line, '000001.quarantined.jsonl'],
        ['acknowledged', 'seat-1', undefined],
      ],
    )
    const found = await verifyJournal(journals.dir)
    assert.is(found.problem, undefined)
    assert.ok(
      found.notes.some(note => note.includes('000001.quarantined.jsonl') && note.includes('acknowledged')),
    )
  })

/** The entries of what was not set aside. */
async function rest(): Promise<Record<string, unknown>[]> {
  const names = journals.names().filter(name => !name.includes('quarantined'))
  return names.flatMap(name =>
    journals
      .bytes(name)
      .toString()
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line)),
  )
}

test('a corrupt segment far back is found in the background, and the rest goes on (fault 10)', async () => {
  await journals.earlierDaemon(30, [], 1_000)
  const before = journals.names().length
  assert.ok(before > 5)
  spoil('000002.jsonl', 2)
  const journal = journals.open({ segmentBytes: 1_000 })
  assert.is(journal.trouble, undefined)
  journal.write(dispatched('a'))
  await journal.verified
  assert.match(journal.trouble ?? '', '000002.jsonl')
  journal.write(ended('a'))
  await journal.acknowledge('seat-2')
  await journal.close()
  assert.ok(journals.names().includes('000002.quarantined.jsonl'))
  const reopened = journals.open()
  await reopened.verified
  assert.is(reopened.trouble, undefined)
  await reopened.close()
  assert.is(await problem(), undefined)
})

test('a missing segment is trouble once, until it is acknowledged (fault 10)', async () => {
  await journals.earlierDaemon(30, [], 1_000)
  rmSync(path('000003.jsonl'))
  const journal = journals.open()
  await journal.verified
  assert.is(journal.trouble, '000003.jsonl: It is missing.')
  await journal.acknowledge('seat-1')
  await journal.close()
  const reopened = journals.open()
  await reopened.verified
  assert.is(reopened.trouble, undefined)
})

test('a newline of the last line that became something else is corruption, not a torn end (fault 10)', async () => {
  await journals.earlierDaemon(2)
  const bytes = journals.bytes('000001.jsonl')
  bytes[bytes.length - 1] = 0x0b
  writeFileSync(path('000001.jsonl'), bytes)
  const journal = journals.open()
  assert.match(journal.trouble ?? '', 'Line 5 does not end as a line does')
  await journal.verified
  assert.is(await journal.earlier(id('call-0')).then(earlier => earlier?.outcome), 'ok')
})

test('calls in a corrupt segment are not forgotten: what can be read of them counts (fault 10)', async () => {
  await journals.earlierDaemon(4, ['open'])
  spoil('000001.jsonl', 3)
  const journal = journals.open()
  assert.equal(await journal.earlier(id('call-3')), { tool: 't', outcome: 'ok', epoch: 'e' })
  assert.equal(await journal.earlier(id('open')), { tool: 't', outcome: 'outcome_unknown', epoch: 'e' })
  await journal.close()
  const again = journals.open()
  await again.earlier(id('none'))
  await again.close()
  const ends = (await rest()).filter(({ type }) => type === 'ended')
  // The end of one cannot be read any more, so nobody knows how it ended.
  assert.equal(
    ends.map(({ call, outcome }) => [call, outcome]),
    [
      ['call-0', 'outcome_unknown'],
      ['open', 'outcome_unknown'],
    ],
  )
})

/** How the file that is written stops being the one of its name, while the daemon has it open. */
const TAKEN: Readonly<Record<string, (file: string) => void>> = {
  'was cut': file => truncateSync(file, 10),
  'was written to by another': file => appendFileSync(file, '{}\n'),
  'was removed': file => rmSync(file),
  'was removed with its directory': file => rmSync(join(file, '..'), { recursive: true }),
  'has a copy in its place': file => {
    copyFileSync(file, `${file}.copy`)
    renameSync(`${file}.copy`, file)
  },
  'became a link to a device': file => {
    rmSync(file)
    symlinkSync('/dev/full', file)
  },
  'became a link to itself elsewhere': file => {
    renameSync(file, join(journals.folder, 'elsewhere'))
    symlinkSync(join(journals.folder, 'elsewhere'), file)
  },
}

for (const [how, take] of Object.entries(TAKEN))
  test(`a file that ${how} while it is written is written no more: the next one says so (threat 37) (fault 10)`, async () => {
    const journal = journals.open()
    journal.write(dispatched('a'))
    take(path('000001.jsonl'))
    await journal.sync(dispatched('b'))
    assert.match(journal.trouble ?? '', '000001.jsonl: It is not the file that was written')
    journal.write(dispatched('c'))
    const lines = journals.bytes('000002.jsonl').toString()
    assert.match(
      lines,
      /"why":"quarantine".*"trouble":\[\{"file":"000001.jsonl"[\s\S]*"call":"b"[\s\S]*"quarantined"[\s\S]*"call":"c"/,
    )
    assert.is((await verified()).problem?.file, '000001.jsonl')
    await journal.acknowledge('seat-1')
    assert.is(journal.trouble, undefined)
    await journal.close()
    const { problem, notes } = await verified()
    assert.is(problem, undefined)
    assert.match(notes.join(' '), /000001.jsonl.* A person has acknowledged this/)
  })

test('certainty is not claimed for a file that was cut between the write and the disk (fault 10)', async () => {
  let last = ''
  const files = watched(call => {
    if (call === 'stat' && last === 'write') truncateSync(path('000001.jsonl'), 10)
    last = call
  })
  const journal = journals.open({ files })
  let caught: unknown
  await journal.sync(dispatched('a')).catch(error => {
    caught = error
  })
  assert.match(String(caught), 'JournalError')
  assert.match(journal.trouble ?? '', '000001.jsonl: It is not the file that was written')
  await journal.sync(dispatched('b'))
  assert.ok(journals.bytes('000002.jsonl').toString().includes('"call":"b"'))
})

test('what cannot be written down is not acknowledged', async () => {
  await journals.earlierDaemon(2)
  spoil('000001.jsonl', 2)
  let full = false
  const files = watched(call => {
    if (full && call === 'write') throw systemError('ENOSPC')
  })
  const journal = journals.open({ files })
  await journal.verified
  full = true
  let caught: unknown
  await journal.acknowledge('seat-1').catch(error => {
    caught = error
  })
  assert.instance(caught, JournalError)
  assert.match(journal.trouble ?? '', '000001.jsonl')
  full = false
  journal.write(dispatched('a'))
  await journal.close()
  const reopened = journals.open()
  assert.match(reopened.trouble ?? '', '000001.jsonl')
  await reopened.acknowledge('seat-1')
  assert.is(reopened.trouble, undefined)
})
