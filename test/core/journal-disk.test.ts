import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { JournalError, type OpenJournal } from '../../src/journal/journal.ts'
import { verifyJournal } from '../../src/journal/verify.ts'
import { NODE_FILES } from '../../src/journal/writer.ts'
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

const test = suite('journal disk', { limitMs: 60_000 })

const journals = journalsOf(test)

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

/** What a process says, line by line. */
function saying(child: ChildProcess): (word: string) => Promise<string> {
  let text = ''
  let over = false
  child.stdout?.on('data', data => {
    text += data
  })
  child.stderr?.on('data', data => {
    text += data
  })
  child.on('close', () => {
    over = true
  })
  return async word => {
    for (;;) {
      const line = text.split('\n').find(line => line.startsWith(word))
      if (line !== undefined) return line
      if (over) throw new Error(`it ended without saying ${word}:\n${text}`)
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  }
}

test('a daemon that finds no more room refuses, loses nothing it promised, and goes on when there is room (fault 11)', async () => {
  const script = join(import.meta.dirname, '../support/journal-daemon.ts')
  const command = 'ulimit -S -f 16 && exec "$@"'
  const child = spawn(
    '/bin/sh',
    ['-c', command, 'sh', process.execPath, ...process.execArgv, script, 'full', journals.folder],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  try {
    const said = saying(child)
    const written = Number((await said('full')).split(' ')[1])
    assert.ok(written > 0)
    assert.ok(readFileSync(join(journals.dir, '000001.jsonl')).at(-1) === 0x0a)
    const room = spawnSync('prlimit', ['--pid', String(child.pid), '--fsize=unlimited'])
    assert.is(room.status, 0, String(room.stderr))
    await said('room')
    const calls = await callsOf('dispatched')
    assert.is(calls.length, written + 1)
    assert.is(calls.at(-1), 'again')
    assert.equal(await callsOf('ended'), ['looked'])
    assert.is((await verified()).problem, undefined)
  } finally {
    child.kill('SIGKILL')
  }
})
