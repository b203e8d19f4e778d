import { existsSync, readFileSync } from 'node:fs'
import type { Disk } from '../../src/files/disk.ts'
import type { Files } from '../../src/files/files.ts'
import type { Committed, FileChange } from '../../tools/contract.ts'
import type { Failed } from '../../tools/outcome.ts'
import {
  type DiskCall,
  FAST_DISK,
  refusal,
  shortWriting,
  type WatchedDisk,
  watchedDisk,
} from '../support/failing-disk.ts'
import { cameTo, changesBack, FilesRig, moving } from '../support/files-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('faults of the disk', { limitMs: 60_000 })

/**
 * What is changed, and what each file holds before and after: null where it is not there. A path that ends with `/` is
 * of a folder, which is there or not.
 */
interface Story {
  readonly name: string
  begin(rig: FilesRig): Promise<void>
  plan(rig: FilesRig, files: Files): Promise<readonly FileChange[]>
  readonly before: Readonly<Record<string, string | null>>
  readonly after: Readonly<Record<string, string | null>>
  /** What is there before is kept the same way in each story: one has its calls for that fail too. */
  readonly isWhole?: true
}

/** Some that the system gives, and some that mean something else at that call; all of them come up over a commit. */
const ODD = ['ENOSPC', 'EPERM', 'EACCES', 'EEXIST', 'ENOENT', 'ELOOP']

const oddOnes = (number: number) => [ODD[number % 6], ODD[(number + 1) % 6]].map(errno => errno ?? 'EIO')

const CHANGE = 'plan-faulty'

/** Fails each call of the commit in turn, with several errors each. Answers how many calls there are. */
async function failedAtEachCall(story: Story, when: 'before' | 'after'): Promise<number> {
  const calls = await faultsOf(story)
  for (const { number, name } of calls)
    for (const errno of ['EIO', ...oddOnes(number)]) {
      const told = `${errno} ${when} call ${number}, ${name}`
      const answer = await tried(story, {
        [when]: (call: DiskCall) => {
          if (call.number === number) throw refusal(errno)
        },
        check: ({ rig, answer }) => {
          // Whose folder it is cannot be told where the disk says that it was there before.
          checkHonest({ rig, story, answer, told, ...(errno !== 'EIO' && { folders: false }) })
          assert.equal(rig.leftOver(), [], told)
        },
      })
      if (errno === 'EIO') assert.is.not(cameTo(answer), 'file_failed unknown', told)
      // When empty folders go, which is of no consequence, they are looked at too.
      const looks = name === 'fstat' && !Object.keys(story.before).some(isFolder)
      if (looks || name === 'write' || name === 'chmod') assert.is.not(answer.type, 'committed', told)
    }
  return calls.length
}

/** The calls that are to fail. */
async function faultsOf(story: Story): Promise<readonly DiskCall[]> {
  const all = await callsOf(story)
  const begun = all.findIndex(({ name, args }) => name === 'open' && String(args[0]).includes('/unfinished/'))
  return story.isWhole ? all : all.slice(begun)
}

/** Fails each call of the commit in turn, and all that come after it. */
async function failedFromEachCall(story: Story): Promise<void> {
  for (const { number, name } of await faultsOf(story)) {
    const told = `from call ${number}, ${name}`
    const before = (call: DiskCall) => {
      if (call.number >= number) throw refusal('EIO')
    }
    const check = ({ rig, answer }: { rig: FilesRig; answer: Committed | Failed }) =>
      checkHonest({ rig, story, answer, told, folders: false })
    await tried(story, { before, check })
  }
}

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

type Held = Readonly<Record<string, string | null>>

const isFolder = (path: string) => path.endsWith('/')

/** Of a folder, that it is one. */
function heldIn(rig: FilesRig, { before }: Pick<Story, 'before'>): Held {
  const held = (path: string) => (isFolder(path) ? 'a folder' : rig.text(path))
  return Object.fromEntries(
    Object.keys(before).map(path => [path, existsSync(rig.at(path)) ? held(path) : null]),
  )
}

const filesOnly = (held: Held): Held =>
  Object.fromEntries(Object.entries(held).filter(([path]) => !isFolder(path)))

interface Honest {
  readonly rig: FilesRig
  readonly story: Story
  readonly answer: Committed | Failed
  readonly told: string
  /** A disk that fails for good keeps the folders that it has. */
  readonly folders?: false
}

/** The files are whole, and the answer says no more than is true. */
function checkHonest({ rig, story, answer, told, folders }: Honest): void {
  const compared = folders === false ? filesOnly : (held: Held) => held
  const held = compared(heldIn(rig, story))
  const [before, after] = [compared(story.before), compared(story.after)]
  for (const [path, text] of Object.entries(held)) {
    const whole = text === story.before[path] || text === story.after[path] || isAside(rig, path, story)
    assert.ok(whole, `${told}: ${path} holds ${text}`)
  }
  const came = cameTo(answer)
  if (came === 'committed' || came === 'file_failed new') assert.equal(held, after, told)
  else if (came === 'stale_plan' || came === 'file_failed old') assert.equal(held, before, told)
  else assert.is(came, 'file_failed unknown', told)
}

/** What was to go, and could neither go nor come back, is still whole under another name. */
function isAside(rig: FilesRig, path: string, story: Story): boolean {
  return rig.leftOver().some(name => readFileSync(rig.at(name), 'utf8') === story.before[path])
}

/** Wherever the new content is, what was there before can be had back. */
async function checkKept({ rig, story }: { rig: FilesRig; story: Story }): Promise<void> {
  const held = filesOnly(heldIn(rig, story))
  const isNew = Object.entries(held).filter(([path, text]) => text === story.after[path])
  if (isNew.length === 0) return
  const changes = await changesBack(rig, rig.open(), CHANGE)
  for (const [path] of isNew) {
    const back = changes.find(change => change.path === rig.at(path))
    const text = back?.after === null ? null : Buffer.from(back?.after ?? []).toString()
    assert.is(text, story.before[path] ?? null)
  }
}

const STORIES: readonly Story[] = [
  {
    name: 'an edit',
    begin: async rig => rig.put('a.py', 'old'),
    plan: async (rig, files) => [await rig.planned('a.py', 'new', files)],
    before: { 'a.py': 'old' },
    after: { 'a.py': 'new' },
    isWhole: true,
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
  {
    name: 'a move into new folders',
    begin: async rig => rig.put('a.py', 'held'),
    plan: (rig, files) => moving(rig, ['a.py', 'lib/deep/b.py'], files),
    before: { 'a.py': 'held', 'lib/deep/b.py': null, 'lib/deep/': null, 'lib/': null },
    after: { 'a.py': null, 'lib/deep/b.py': 'held', 'lib/deep/': 'a folder', 'lib/': 'a folder' },
  },
  {
    name: 'taking a move into a new folder back',
    async begin(rig) {
      rig.put('a.py', 'held')
      await rig.files.commit({ change: 'plan-before', changes: await moving(rig, ['a.py', 'lib/b.py']) })
    },
    plan: (rig, files) => changesBack(rig, files, 'plan-before'),
    before: { 'a.py': null, 'lib/b.py': 'held', 'lib/': 'a folder' },
    after: { 'a.py': 'held', 'lib/b.py': null, 'lib/': null },
  },
]

for (const story of STORIES)
  for (const when of ['before', 'after'] as const)
    test(`${story.name}: whichever call fails ${when === 'before' ? 'undone' : 'though done'}, it is as it was or as it was to be, and told so (fault 12)`, async () => {
      assert.ok((await failedAtEachCall(story, when)) > 10)
    })

for (const story of STORIES)
  test(`${story.name}: when every call from one on fails, nothing is torn, and nobody told otherwise (fault 12)`, async () => {
    await failedFromEachCall(story)
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
