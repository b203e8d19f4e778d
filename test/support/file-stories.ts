import { existsSync, readFileSync } from 'node:fs'
import type { Disk } from '../../src/files/disk.ts'
import type { Files } from '../../src/files/files.ts'
import type { Committed, FileChange } from '../../tools/contract.ts'
import type { Failed } from '../../tools/outcome.ts'
import { type DiskCall, FAST_DISK, refusal, type WatchedDisk, watchedDisk } from './failing-disk.ts'
import { cameTo, FilesRig } from './files-rig.ts'
import { assert } from './harness.ts'

/**
 * What is changed, and what each file holds before and after: null where it is not there. A path that ends with `/` is
 * of a folder, which is there or not.
 */
export interface Story {
  readonly name: string
  begin(rig: FilesRig): Promise<void>
  plan(rig: FilesRig, files: Files): Promise<readonly FileChange[]>
  readonly before: Readonly<Record<string, string | null>>
  readonly after: Readonly<Record<string, string | null>>
}

/** Some that the system gives, and some that mean something else at that call; all of them come up over a commit. */
const ODD = ['ENOSPC', 'EPERM', 'EACCES', 'EEXIST', 'ENOENT', 'ELOOP']

const oddOnes = (number: number) => [ODD[number % 6], ODD[(number + 1) % 6]].map(errno => errno ?? 'EIO')

export const CHANGE = 'plan-faulty'

/**
 * Fails each call of the commit in turn, with several errors each. Answers how many calls there are. `begun`: only from
 * where the change is begun; up to there, while it is kept what was there, one story is as another.
 */
export async function failedAtEachCall(
  story: Story,
  when: 'before' | 'after',
  { begun = false } = {},
): Promise<number> {
  const all = await callsOf(story)
  const calls = begun ? all.slice(beginOf(all)) : all
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

/** Where the note of an unfinished change is written. */
const beginOf = (calls: readonly DiskCall[]) =>
  calls.findIndex(({ name, args }) => name === 'open' && String(args[0]).includes('/unfinished/'))

/** Fails each call of the commit in turn, and all that come after it; `begun` as above. */
export async function failedFromEachCall(story: Story, { begun = false } = {}): Promise<void> {
  const all = await callsOf(story)
  for (const { number, name } of begun ? all.slice(beginOf(all)) : all) {
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
export async function callsOf(story: Story): Promise<readonly DiskCall[]> {
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
export async function tried(story: Story, { check, opened, ...on }: Trial): Promise<Committed | Failed> {
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
export function heldIn(rig: FilesRig, { before }: Pick<Story, 'before'>): Held {
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

export async function changesBack(
  rig: FilesRig,
  files: Files,
  change: string,
): Promise<readonly FileChange[]> {
  const back = await files.of(rig.root).undone(change)
  if (back.type === 'failed') throw new Error(back.error.message)
  return back.changes
}
