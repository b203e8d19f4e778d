import { createHash } from 'node:crypto'
import { chmodSync, closeSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { JournalEntry } from '../../src/journal/entries.ts'
import { type JournalFiles, NODE_FILES } from '../../src/journal/files.ts'
import { JournalError, type OpenJournal, openJournal } from '../../src/journal/journal.ts'
import { verifyJournal } from '../../src/journal/verify.ts'
import { journalLines } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'
import {
  type DiskCall,
  decided,
  dispatched,
  ended,
  journalsOf,
  systemError,
  watched,
} from '../support/journals.ts'

const test = suite('writing a journal', { limitMs: 60_000 })

const journals = journalsOf(test)

const file = () => join(journals.dir, '000001.jsonl')

const calls = () => journalLines(journals.folder).map(line => line.call)

test('a line that was written is in the file when write returns, for its owner only', () => {
  const journal = journals.open({ now: () => new Date(0) })
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

test('a look that only repeats the one before it of its caller, outcome included, is one line', async () => {
  const journal = journals.open()
  const look = (call: string, args: object, more: object = {}) =>
    journal.later({
      ...dispatched(call, args),
      outcome: 'ok',
      elapsed_ms: 1,
      ...more,
      type: 'looked',
    } as JournalEntry)
  look('a', { expr: '1' })
  look('b', { expr: '1' }, { elapsed_ms: 2 })
  look('c', { expr: '1' }, { caller: 'other' })
  look('d', { expr: '1' }, { outcome: 'not_found' })
  look('e', { expr: '2' })
  look('f', { expr: '1' })
  journal.write(dispatched('g', { expr: '1' }))
  look('h', { expr: '1' })
  await journal.close()
  assert.equal(calls(), ['a', 'c', 'd', 'e', 'f', 'g', 'h'])
})

test('lines for later keep their place before those that are written at once', async () => {
  const journal = journals.open()
  journal.later(ended('a'))
  journal.later(ended('b'))
  assert.equal(calls(), [])
  journal.write(dispatched('c'))
  assert.equal(calls(), ['a', 'b', 'c'])
  journal.later(ended('d'))
  await journal.close()
  assert.equal(calls(), ['a', 'b', 'c', 'd'])
})

test('long arguments are kept as their beginning, length and hash', () => {
  const long = 'é'.repeat(5_000)
  const journal = journals.open()
  journal.write(dispatched('a', { expr: long, list: [long] }))
  const sha256 = createHash('sha256').update(long).digest('hex')
  const kept = { beginning: long.slice(0, 1_024), length: 5_000, sha256 }
  assert.equal(journalLines(journals.folder)[0]?.args, { expr: kept, list: [kept] })
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
  const journal = journals.open()
  for (const args of [circle, wide, trap, 1n, 'a\nb', undefined, null, () => 1, Symbol('s'), { a: 1n }])
    journal.write(dispatched('a', args))
  assert.is(journalLines(journals.folder).length, 10)
  for (const line of readFileSync(file(), 'utf8').split('\n')) assert.ok(line.length <= 64 * 1_024)
})

test('a short write is carried on with, and is one whole line (fault 12)', () => {
  let halves = 1
  const write: JournalFiles['write'] = (fd, bytes) =>
    NODE_FILES.write(fd, halves-- > 0 ? bytes.subarray(0, Math.ceil(bytes.length / 2)) : bytes)
  const journal = journals.open({ files: { ...NODE_FILES, write } })
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
  const journal = journals.open({ files })
  for (let index = 0; index < 20_000; index++) journal.later(ended(`call-${index}`))
  assert.throws(
    () => journal.write(dispatched('refused')),
    (error: unknown) => error instanceof JournalError && error.message.includes('Make room'),
  )
  full = false
  journal.write(dispatched('after'))
  const lines = journalLines(journals.folder)
  const kept = lines.filter(({ type }) => type === 'ended').length
  assert.ok(kept > 1_000 && kept < 20_000)
  assert.equal(lines.at(-2)?.lines, 20_000 - kept)
  assert.is(lines.at(-1)?.call, 'after')
  await journal.close()
})

test('the single file of earlier versions is left alone', async () => {
  writeFileSync(join(journals.folder, 'journal.jsonl'), 'as it was')
  const journal = journals.open()
  journal.write(dispatched('new'))
  await journal.close()
  assert.is(readFileSync(join(journals.folder, 'journal.jsonl'), 'utf8'), 'as it was')
  assert.equal(calls(), ['new'])
})

test('what looks like a secret is not in the file', async () => {
  const journal = journals.open()
  const secret = 'hunter2-hunter2-hunter2'
  journal.write(dispatched('a', { password: secret, long: `password = "${secret}"${' '.repeat(10_000)}` }))
  await journal.close()
  const text = readFileSync(file(), 'utf8')
  assert.match(text, 'redacted')
  assert.not.match(text, secret)
})

test('a state directory that cannot be written is a clear error', () => {
  const inTheWay = join(journals.folder, 'file')
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
  let fails = true
  const files = watched(call => {
    if (call === 'write' && fails) throw systemError('EIO')
  })
  const journal = journals.open({ files })
  journal.later(ended('a'))
  let caught: unknown
  await journal.close().catch(error => {
    caught = error
  })
  assert.instance(caught, JournalError)
  fails = false
})

const verified = () => verifyJournal(journals.dir)

const callsOf = async (type: string) =>
  (await journals.entries()).filter(entry => entry.type === type).map(({ call }) => call)

/** Whether it was accepted; anything but a `JournalError` is a failure of the test. */
async function accepted(write: () => void | Promise<void>): Promise<boolean> {
  try {
    await write()
    return true
  } catch (error) {
    assert.instance(error, JournalError)
    return false
  }
}

interface Told {
  readonly kept: string[]
  readonly refused: string[]
  readonly certain: string[]
}

/** A life of a journal, with what its caller was told. */
async function life(open: () => OpenJournal): Promise<Told> {
  const told: Told = { kept: [], refused: [], certain: [] }
  let journal: OpenJournal | undefined
  await accepted(() => {
    journal = open()
  })
  if (journal === undefined) return told
  const { kept, refused, certain } = told
  for (let index = 0; index < 6; index++) {
    const call = `call-${index}`
    const begun = { ...dispatched(call), tool: 'written' } as const
    if (await accepted(() => journal?.write(begun))) kept.push(call)
    else refused.push(call)
    const synced = { ...dispatched(`${call}-sync`), tool: 'synced' } as const
    if (await accepted(() => journal?.sync(synced))) certain.push(`${call}-sync`)
  }
  await accepted(() => journal?.close())
  return told
}

/** What fails, as a system would: once, or from then on until the process ends. */
const FAILING: readonly DiskCall[] = ['create', 'open', 'write', 'stat', 'truncate', 'sync', 'syncDirectory']

for (const how of ['once', 'from then on'] as const)
  test(`whichever use of the disk fails ${how}, what was promised is there, once, and the rest is refused (fault 12)`, async () => {
    let failed = 0
    for (let at = 1; ; at++) {
      let count = 0
      const files = watched(call => {
        if (!FAILING.includes(call)) return
        count++
        if (how === 'once' ? count === at : count >= at) throw systemError('EIO')
      })
      const { folder, dir } = journals.another()
      const told = await life(() => journals.open({ stateDir: folder, files, segmentBytes: 700 }))
      const sound = journals.open({ stateDir: folder })
      await sound.verified
      await sound.close()
      const lines = (await journals.entries(dir)).filter(({ type }) => type === 'dispatched')
      const calls = lines.map(({ call }) => call)
      const where = `failing at ${at}`
      for (const call of [...told.kept, ...told.certain])
        assert.is(calls.filter(other => other === call).length, 1, `${where}: ${call}`)
      for (const call of told.refused) assert.not.ok(calls.includes(call), `${where}: ${call} was refused`)
      const { problem } = await verifyJournal(dir)
      assert.is(problem, undefined, `${where}: ${JSON.stringify(problem)}`)
      if (count < at) break
      failed++
    }
    assert.ok(failed > 20, `only ${failed} failures`)
  })

for (const cut of ['works', 'fails'] as const)
  test(`a line that was written by half is no line, also where cutting it off ${cut} (fault 12)`, async () => {
    let half = true
    const files = watched((call, args) => {
      if (call === 'truncate' && cut === 'fails' && half) throw systemError('EIO')
      const [fd, bytes] = args
      if (call !== 'write' || !half || typeof fd !== 'number' || !(bytes instanceof Uint8Array)) return
      if (bytes.length < 400) NODE_FILES.write(fd, bytes.subarray(0, bytes.length - 1))
      throw systemError('ENOSPC')
    })
    const journal = journals.open({ files })
    half = false
    journal.write(dispatched('before'))
    half = true
    assert.not.ok(await accepted(() => journal.write(dispatched('lost'))))
    assert.not.ok(await accepted(() => journal.write(dispatched('lost too'))))
    half = false
    journal.write(dispatched('after'))
    await journal.close()
    assert.equal(await callsOf('dispatched'), ['before', 'after'])
    assert.is((await verified()).problem, undefined)
  })

/** A disk whose syncing a test holds up, and makes fail. */
function slowDisk() {
  const waiting: { resolve: () => void; reject: (error: Error) => void }[] = []
  const synced: number[] = []
  const files = {
    ...NODE_FILES,
    sync(fd: number) {
      synced.push(fd)
      return new Promise<void>((resolve, reject) => waiting.push({ resolve, reject }))
    },
  }
  const next = async () => {
    for (;;) {
      const [one] = waiting.splice(0, 1)
      if (one !== undefined) return one
      await new Promise(resolve => setImmediate(resolve))
    }
  }
  return { files, synced, next }
}

test('those who wait for the disk at one time are served by one sync, and none by one that began before', async () => {
  const { files, synced, next } = slowDisk()
  const journal = journals.open({ files })
  let certain = 0
  const sync = (call: string) => journal.sync(dispatched(call)).then(() => certain++)
  const first = sync('first')
  const begun = await next()
  const others = Array.from({ length: 20 }, (_, index) => sync(`call-${index}`))
  assert.is((await callsOf('dispatched')).length, 21)
  begun.resolve()
  await first
  assert.is(certain, 1)
  ;(await next()).resolve()
  await Promise.all(others)
  assert.is(certain, 21)
  assert.is(synced.length, 2)
})

test('what the disk failed to keep is never claimed, and the next segment says from where on (fault 12)', async () => {
  const { files, synced, next } = slowDisk()
  const journal = journals.open({ files })
  const certain = journal.sync(dispatched('certain'))
  ;(await next()).resolve()
  await certain
  const size = journals.bytes('000001.jsonl').length
  const failing = accepted(() => journal.sync(dispatched('a')))
  const begun = await next()
  // It was written before the failure, so a later success would say nothing of it.
  const joined = accepted(() => journal.sync(dispatched('b')))
  begun.reject(systemError('EIO'))
  assert.equal([await failing, await joined], [false, false])
  const after = journal.sync(dispatched('c'))
  ;(await next()).resolve()
  await after
  assert.is(new Set(synced.slice(0, -1)).size, 1)
  assert.ok(synced.at(-1) !== synced[0])
  const [, header] = (await journals.entries()).filter(({ type }) => type === 'segment')
  assert.equal([header?.why, header?.uncertain], ['unsynced', { file: '000001.jsonl', byte: size }])
  assert.is((await verified()).problem, undefined)
})

test('nothing is claimed of a segment while the disk failed to keep the end of the one before (fault 12)', async () => {
  const names = new Map<number, string>()
  const files = {
    ...NODE_FILES,
    create(path: string) {
      const fd = NODE_FILES.create(path)
      names.set(fd, basename(path))
      return fd
    },
    sync: async (fd: number) => {
      if (names.get(fd) === '000001.jsonl') throw systemError('EIO')
      return NODE_FILES.sync(fd)
    },
  }
  const journal = journals.open({ files, segmentBytes: 300 })
  journal.write(dispatched('not on the disk'))
  assert.not.ok(await accepted(() => journal.sync(dispatched('a'))))
  assert.ok(await accepted(() => journal.sync(dispatched('b'))))
  assert.is((await verified()).problem, undefined)
})

test('where the uncertain end was lost indeed, verifying says so and finds no fault in it (fault 12)', async () => {
  let fails = false
  const files = watched(call => {
    if (call === 'sync' && fails) throw systemError('EIO')
  })
  const journal = journals.open({ files })
  await journal.sync(dispatched('certain'))
  const size = journals.bytes('000001.jsonl').length
  fails = true
  assert.not.ok(await accepted(() => journal.sync(dispatched('a'))))
  fails = false
  await journal.sync(decided('a'))
  await journal.close()
  const fd = openSync(join(journals.dir, '000001.jsonl'), 'r+')
  NODE_FILES.truncate(fd, size)
  closeSync(fd)
  const { problem, notes } = await verified()
  assert.is(problem, undefined)
  assert.match(notes[0] ?? '', 'The end of 000001.jsonl is missing')
})

test('on a full device, what is dangerous is refused and what looks goes on (fault 11)', async () => {
  const files = { ...NODE_FILES, create: () => openSync('/dev/full', 'a+') }
  const journal = journals.open({ files })
  assert.not.ok(await accepted(() => journal.sync(dispatched('dangerous'))))
  assert.not.ok(await accepted(() => journal.write(dispatched('cautious'))))
  journal.later(ended('looked'))
  assert.not.ok(await accepted(() => journal.close()))
})
