import { existsSync, readFileSync } from 'node:fs'
import type { Disk } from '../../src/core/files/disk.ts'
import type { Files } from '../../src/core/files.ts'
import type { Failed } from '../../tools/outcome.ts'
import type { Committed, FileChange } from '../../tools/proposal.ts'
import {
  type DiskCall,
  FAST_DISK,
  refusal,
  shortWriting,
  type WatchedDisk,
  watchedDisk,
} from '../support/failing-disk.ts'
import { cameTo, FilesRig } from '../support/files-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('faults of the disk', { limitMs: 60_000 })

/** What is changed, and what each file holds before and after: null where it is not there. */
interface Story {
  readonly name: string
  begin(rig: FilesRig): Promise<void>
  plan(rig: FilesRig, files: Files): Promise<readonly FileChange[]>
  readonly before: Readonly<Record<string, string | null>>
  readonly after: Readonly<Record<string, string | null>>
}

const STORIES: readonly Story[] = [
  {
    name: 'an edit',
    begin: async rig => rig.put('a.py', 'old'),
    plan: async (rig, files) => [await rig.planned('a.py', 'new', files)],
    before: { 'a.py': 'old' },
    after: { 'a.py': 'new' },
  },
  {
    name: 'a new file',
    begin: async rig => rig.put('x', ''),
    plan: async (rig, files) => [await rig.planned('a.py', 'new', files)],
    before: { 'a.py': null },
    after: { 'a.py': 'new' },
  },
  {
    name: 'undoing a new file',
    begin: async rig => rig.write('a.py', 'old', 'plan-before'),
    plan: async (rig, files) => await changesBack(rig, files, 'plan-before'),
    before: { 'a.py': 'old' },
    after: { 'a.py': null },
  },
  {
    name: 'an edit and a new file in two folders',
    async begin(rig) {
      rig.put('a.py', 'old')
      rig.put('src/x', '')
    },
    plan: async (rig, files) => [
      await rig.planned('a.py', 'new', files),
      await rig.planned('src/b.py', 'new too', files),
    ],
    before: { 'a.py': 'old', 'src/b.py': null },
    after: { 'a.py': 'new', 'src/b.py': 'new too' },
  },
]

/** Some that the system gives, and some that mean something else at that call; all of them come up over a commit. */
const ODD = ['ENOSPC', 'EPERM', 'EACCES', 'EEXIST', 'ENOENT', 'ELOOP']
const oddOnes = (number: number) => [ODD[number % 6], ODD[(number + 1) % 6]].map(errno => errno ?? 'EIO')
const CHANGE = 'plan-faulty'

for (const story of STORIES)
  for (const when of ['before', 'after'] as const)
    test(`${story.name}: whichever call fails ${when === 'before' ? 'undone' : 'though done'}, it is as it was or as it was to be, and told so (fault 12)`, async () => {
      const calls = await callsOf(story)
      assert.ok(calls.length > 25, `only ${calls.length} calls`)
      for (const { number, name } of calls)
        for (const errno of ['EIO', ...oddOnes(number)]) {
          const told = `${errno} ${when} call ${number}, ${name}`
          const answer = await tried(story, {
            [when]: (call: DiskCall) => {
              if (call.number === number) throw refusal(errno)
            },
            check: ({ rig, answer }) => {
              checkHonest({ rig, story, answer, told })
              assert.equal(rig.leftOver(), [], told)
            },
          })
          if (errno === 'EIO') assert.is.not(cameTo(answer), 'file_failed unknown', told)
          if (name === 'fstat' || name === 'write' || name === 'chmod')
            assert.is.not(answer.type, 'committed', told)
        }
    })

for (const story of STORIES)
  test(`${story.name}: when every call from one on fails, nothing is torn, and nobody told otherwise (fault 12)`, async () => {
    for (const { number, name } of await callsOf(story)) {
      const told = `from call ${number}, ${name}`
      const before = (call: DiskCall) => {
        if (call.number >= number) throw refusal('EIO')
      }
      await tried(story, { before, check: ({ rig, answer }) => checkHonest({ rig, story, answer, told }) })
    }
  })

test('a folder that cannot be synced leaves the new content in place, and says what may become of it (fault 12)', async () => {
  const [story] = STORIES
  assert.ok(story)
  const last = (await callsOf(story)).findLast(({ name }) => name === 'sync')
  const answer = await tried(story, {
    before: call => {
      if (call.number === last?.number) throw refusal('EIO')
    },
    check: ({ rig }) => assert.is(rig.text('a.py'), 'new'),
  })
  assert.is(cameTo(answer), 'file_failed new')
  assert.match(
    answer.type === 'failed' ? answer.error.message : '',
    /a\.py could not be kept on the disk.*loss of power/s,
  )
})

test('what was there is on the disk before the new file is, and that before its name, and its name before the answer (fault 12)', async () => {
  const [story] = STORIES
  assert.ok(story)
  const opened = new Map<unknown, string>()
  const order: string[] = []
  await tried(story, {
    before({ name, args }) {
      if (name === 'sync') order.push(`sync ${opened.get(args[0])}`)
      else if (name === 'rename') order.push('rename')
    },
    opened: (fd, path) => opened.set(fd, path.replace(/^.*\//, '').replace(/[0-9a-f]{16}/, 'N')),
    check: () => {},
  })
  const kept = ['sync state', `sync ${CHANGE}.0.before`, `sync ${CHANGE}.json`, 'sync undo']
  assert.equal(order, [...kept, 'sync .imago-N.new', 'rename', 'sync project'])
})

test('short writes are gone on with, and one that takes nothing is a failure (fault 12)', async () => {
  const rig = new FilesRig({ disk: shortWriting() })
  rig.put('a.py', 'old')
  await rig.write('a.py', 'x'.repeat(100_000), 'plan-a')
  assert.is(rig.text('a.py').length, 100_000)
  const { disk } = watchedDisk()
  const files = rig.open({ disk: { ...disk, write: () => 0 } })
  const answer = await files.commit({ change: 'plan-b', changes: [await rig.planned('a.py', 'new', files)] })
  assert.is(cameTo(answer), 'file_failed old')
  assert.equal([rig.text('a.py').length, rig.leftOver()], [100_000, []])
  rig.close()
})

test('a disk that says that it wrote, and did not, is found out before anything is replaced (fault 12)', async () => {
  const rig = new FilesRig()
  rig.put('a.py', 'old')
  const { disk } = watchedDisk()
  const lying: Disk = { ...disk, write: (fd, bytes) => disk.write(fd, bytes.subarray(1)) + 1 }
  const files = rig.open({ disk: lying })
  const answer = await files.commit({ change: 'plan-a', changes: [await rig.planned('a.py', 'new', files)] })
  assert.is(cameTo(answer), 'file_failed old')
  assert.equal([rig.text('a.py'), rig.leftOver()], ['old', []])
  rig.close()
})

/** All calls of the disk that carrying the story out takes. */
async function callsOf(story: Story): Promise<readonly DiskCall[]> {
  let calls: readonly DiskCall[] = []
  const answer = await tried(story, {
    check: ({ watched }) => {
      calls = [...watched.calls]
    },
  })
  assert.is(answer.type, 'committed')
  return calls
}

interface Trial {
  before?(call: DiskCall): void
  after?(call: DiskCall): void
  /** Told of every file and folder that is opened. */
  opened?(fd: number, path: string): void
  check(o: { rig: FilesRig; watched: WatchedDisk; answer: Committed | Failed }): void
}

/** Plans it on a sound disk, and commits it on the one of the trial. */
async function tried(story: Story, { check, opened, ...on }: Trial): Promise<Committed | Failed> {
  const rig = new FilesRig()
  try {
    await story.begin(rig)
    const changes = await story.plan(rig, rig.files)
    const watched = watchedDisk(on, opened && telling(opened))
    const files = rig.open({ disk: watched.disk, throughProc: process.platform === 'linux' })
    const answer = await files.commit({ change: CHANGE, changes })
    check({ rig, watched, answer })
    await checkKept({ rig, story })
    return answer
  } finally {
    rig.close()
  }
}

function telling(opened: (fd: number, path: string) => void): Disk {
  return {
    ...FAST_DISK,
    open(path, how) {
      const fd = FAST_DISK.open(path, how)
      opened(fd, path)
      return fd
    },
  }
}

const heldIn = (rig: FilesRig, story: Story) =>
  Object.fromEntries(
    Object.keys(story.before).map(path => [path, existsSync(rig.at(path)) ? rig.text(path) : null]),
  )

/** The files are whole, and the answer says no more than is true. */
function checkHonest(o: { rig: FilesRig; story: Story; answer: Committed | Failed; told: string }): void {
  const { rig, story, answer, told } = o
  const held = heldIn(rig, story)
  for (const [path, text] of Object.entries(held)) {
    const whole = text === story.before[path] || text === story.after[path] || isAside(rig, path, story)
    assert.ok(whole, `${told}: ${path} holds ${text}`)
  }
  const came = cameTo(answer)
  if (came === 'committed' || came === 'file_failed new') assert.equal(held, story.after, told)
  else if (came === 'stale_plan' || came === 'file_failed old') assert.equal(held, story.before, told)
  else assert.is(came, 'file_failed unknown', told)
}

/** What was to go, and could neither go nor come back, is still whole under another name. */
function isAside(rig: FilesRig, path: string, story: Story): boolean {
  return rig.leftOver().some(name => readFileSync(rig.at(name), 'utf8') === story.before[path])
}

/** Wherever the new content is, what was there before can be had back. */
async function checkKept({ rig, story }: { rig: FilesRig; story: Story }): Promise<void> {
  const held = heldIn(rig, story)
  const isNew = Object.entries(held).filter(([path, text]) => text === story.after[path])
  if (isNew.length === 0) return
  const changes = await changesBack(rig, rig.open(), CHANGE)
  for (const [path] of isNew) {
    const back = changes.find(change => change.path === rig.at(path))
    const text = back?.after === null ? null : Buffer.from(back?.after ?? []).toString()
    assert.is(text, story.before[path] ?? null)
  }
}

async function changesBack(rig: FilesRig, files: Files, change: string): Promise<readonly FileChange[]> {
  const back = await files.of(rig.root).undone(change)
  if (back.type === 'failed') throw new Error(back.error.message)
  return back.changes
}
