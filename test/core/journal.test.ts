import { createHash } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JournalEntry } from '../../src/journal/entries.ts'
import { JournalError, openJournal } from '../../src/journal/journal.ts'
import type { JournalFiles } from '../../src/journal/segments.ts'
import { NODE_FILES } from '../../src/journal/writer.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { journalLines } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('journal')

let folder = ''

test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-journal-'))
})

test.after.each(() => rmSync(folder, { recursive: true, force: true }))

const file = () => join(folder, 'journal/000001.jsonl')

const calls = () => journalLines(folder).map(line => line.call)

function dispatched(call: string, args: unknown = {}): JournalEntry {
  const where = { level: 'cautious', kernel: 'main', epoch: 'e', decision: 'allow' } as const
  return { type: 'dispatched', call: call as CallId, tool: 't', caller: 'c', args, ...where }
}

function ended(call: string): JournalEntry {
  return { type: 'ended', call: call as CallId, outcome: 'ok', elapsed_ms: 1 }
}

/** Files that are asked `count` times in all, and fail, or take half, at the Nth write. */
function failingAt(
  n: number,
  how: 'fails' | 'takes half and fails' | 'takes half',
): JournalFiles & { count: number } {
  let halved = false
  return {
    ...NODE_FILES,
    count: 0,
    write(fd, bytes) {
      this.count++
      const due = this.count === n
      if (halved && how === 'takes half and fails') {
        halved = false
        throw new Error('ENOSPC: no space left on device')
      }
      if (!due) return NODE_FILES.write(fd, bytes)
      if (how === 'fails') throw new Error('EIO: i/o error')
      halved = true
      return NODE_FILES.write(fd, bytes.subarray(0, Math.ceil(bytes.length / 2)))
    },
  }
}

test('a line that was written is in the file when write returns, for its owner only', () => {
  const journal = openJournal({ stateDir: folder, now: () => new Date(0) })
  journal.write(dispatched('a', { expr: '1' }))
  const [header = '', line = ''] = readFileSync(file(), 'utf8').split('\n')
  assert.is(JSON.parse(header).type, 'segment')
  const { chain, ...entry } = JSON.parse(line)
  assert.match(chain, /^[0-9a-f]{32}$/)
  assert.equal(entry, {
    v: 2,
    time: '1970-01-01T00:00:00.000Z',
    type: 'dispatched',
    call: 'a',
    tool: 't',
    level: 'cautious',
    kernel: 'main',
    epoch: 'e',
    caller: 'c',
    args: { expr: '1' },
    decision: 'allow',
  })
  assert.is(statSync(file()).mode & 0o777, 0o600)
})

test('lines for later keep their place before those that are written at once', async () => {
  const journal = openJournal({ stateDir: folder })
  journal.later(ended('a'))
  journal.later(ended('b'))
  assert.equal(calls(), [])
  journal.write(dispatched('c'))
  assert.equal(calls(), ['a', 'b', 'c'])
  journal.later(ended('d'))
  await journal.close()
  assert.equal(calls(), ['a', 'b', 'c', 'd'])
})

test('lines for later are in the file soon by themselves', async () => {
  const journal = openJournal({ stateDir: folder })
  journal.later(ended('a'))
  while (calls().length === 0) await new Promise(resolve => setTimeout(resolve, 5))
})

test('long arguments are kept as their beginning, length and hash', () => {
  const long = 'é'.repeat(5_000)
  const journal = openJournal({ stateDir: folder })
  journal.write(dispatched('a', { expr: long, list: [long] }))
  const sha256 = createHash('sha256').update(long).digest('hex')
  const kept = { beginning: long.slice(0, 1_024), length: 5_000, sha256 }
  assert.equal(journalLines(folder)[0]?.args, { expr: kept, list: [kept] })
})

test('whatever a caller passes becomes one line of bounded length', () => {
  const circle: Record<string, unknown> = {}
  circle.self = circle
  const wide = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`k${index}`, 'x'.repeat(4_000)]))
  const trap = {
    get expr() {
      throw new Error('no')
    },
  }
  const journal = openJournal({ stateDir: folder })
  for (const args of [circle, wide, trap, 1n, 'a\nb', undefined, null, () => 1, Symbol('s'), { a: 1n }])
    journal.write(dispatched('a', args))
  assert.is(journalLines(folder).length, 10)
  for (const line of readFileSync(file(), 'utf8').split('\n')) assert.ok(line.length <= 64 * 1_024)
})

for (const how of ['fails', 'takes half and fails'] as const)
  for (const n of [1, 2, 3, 4, 5])
    test(`when write ${n} ${how}, it throws, nothing is counted as written, and the next one works (fault 12)`, async () => {
      const journal = openJournal({ stateDir: folder, files: failingAt(n, how) })
      const kept: string[] = []
      for (let index = 0; index < 6; index++) {
        const call = `call-${index}`
        try {
          journal.write(dispatched(call))
          kept.push(call)
          journal.later(ended(call))
          kept.push(call)
        } catch (error) {
          assert.instance(error, JournalError)
        }
      }
      await journal.close()
      assert.equal(calls(), kept)
      assert.is(kept.length, 10)
    })

test('a short write is carried on with, and is one whole line (fault 12)', () => {
  const journal = openJournal({ stateDir: folder, files: failingAt(1, 'takes half') })
  journal.write(dispatched('a'))
  assert.equal(calls(), ['a'])
})

test('while the disk is full, lines for later wait within bounds, and what was lost is counted (fault 11)', async () => {
  let full = true
  const files: JournalFiles = {
    ...NODE_FILES,
    write(fd, bytes) {
      if (full) throw new Error('ENOSPC: no space left on device')
      return NODE_FILES.write(fd, bytes)
    },
  }
  const journal = openJournal({ stateDir: folder, files })
  for (let index = 0; index < 20_000; index++) journal.later(ended(`call-${index}`))
  assert.throws(
    () => journal.write(dispatched('refused')),
    (error: unknown) => error instanceof JournalError && error.message.includes('Make room'),
  )
  full = false
  journal.write(dispatched('after'))
  const lines = journalLines(folder)
  const kept = lines.filter(({ type }) => type === 'ended').length
  assert.ok(kept > 1_000 && kept < 20_000)
  assert.equal(lines.at(-2)?.lines, 20_000 - kept)
  assert.is(lines.at(-1)?.call, 'after')
  await journal.close()
})

test('the single file of earlier versions is left alone', async () => {
  writeFileSync(join(folder, 'journal.jsonl'), 'as it was')
  const journal = openJournal({ stateDir: folder })
  journal.write(dispatched('new'))
  await journal.close()
  assert.is(readFileSync(join(folder, 'journal.jsonl'), 'utf8'), 'as it was')
  assert.equal(calls(), ['new'])
})

test('what looks like a secret is not in the file', async () => {
  const journal = openJournal({ stateDir: folder })
  const secret = 'hunter2-hunter2-hunter2'
  journal.write(dispatched('a', { password: secret, long: `password = "${secret}"${' '.repeat(10_000)}` }))
  await journal.close()
  const text = readFileSync(file(), 'utf8')
  assert.match(text, 'redacted')
  assert.not.match(text, secret)
})

test('a state directory that cannot be written is a clear error', () => {
  const inTheWay = join(folder, 'file')
  writeFileSync(inTheWay, '')
  assert.throws(
    () => openJournal({ stateDir: join(inTheWay, 'state') }),
    (error: unknown) =>
      error instanceof JournalError &&
      error.message.includes('cannot be opened for writing') &&
      error.message.includes('IMAGO_STATE_DIR'),
  )
  chmodSync(inTheWay, 0o600)
})

test('closing fails when what waits cannot be written', async () => {
  const journal = openJournal({ stateDir: folder, files: failingAt(1, 'fails') })
  journal.later(ended('a'))
  let caught: unknown
  await journal.close().catch(error => {
    caught = error
  })
  assert.instance(caught, JournalError)
})
