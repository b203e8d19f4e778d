import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { JournalError } from '../../src/journal/journal.ts'
import { verifyJournal } from '../../src/journal/verify.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { assert, suite } from '../support/harness.ts'
import { dispatched, ended, journalsOf, systemError, watched } from '../support/journals.ts'

const test = suite('journal corruption', { limitMs: 60_000 })

const journals = journalsOf(test)

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

test('a file that was cut while it is written is trouble, and certainty is not claimed for it (fault 10)', async () => {
  const journal = journals.open()
  journal.write(dispatched('a'))
  truncateSync(path('000001.jsonl'), 10)
  let caught: unknown
  await journal.sync(dispatched('b')).catch(error => {
    caught = error
  })
  assert.match(String(caught), 'JournalError')
  assert.match(journal.trouble ?? '', '000001.jsonl: It is shorter than what was written to it')
  await journal.sync(dispatched('c'))
  assert.ok(journals.bytes('000002.jsonl').toString().includes('"call":"c"'))
})

test('a file that was removed while it is written is trouble too (fault 10)', async () => {
  const journal = journals.open()
  journal.write(dispatched('a'))
  rmSync(path('000001.jsonl'))
  await journal.sync(dispatched('b')).catch(() => undefined)
  assert.match(journal.trouble ?? '', 'or gone')
  await journal.sync(dispatched('c'))
  assert.equal(journals.names(), ['000002.jsonl'])
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

test('acknowledging what is in order writes nothing', async () => {
  const journal = journals.open()
  await journal.acknowledge('seat-1')
  await journal.close()
  assert.is(journals.bytes('000001.jsonl').length, 0)
})
