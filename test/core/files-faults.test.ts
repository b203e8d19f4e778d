import type { Disk } from '../../src/files/disk.ts'
import { refusal, shortWriting, watchedDisk } from '../support/failing-disk.ts'
import {
  CHANGE,
  callsOf,
  changesBack,
  failedAtEachCall,
  failedFromEachCall,
  type Story,
  tried,
} from '../support/file-stories.ts'
import { cameTo, FilesRig } from '../support/files-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('faults of the disk', { limitMs: 60_000 })

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

for (const story of STORIES)
  for (const when of ['before', 'after'] as const)
    test(`${story.name}: whichever call fails ${when === 'before' ? 'undone' : 'though done'}, it is as it was or as it was to be, and told so (fault 12)`, async () => {
      assert.ok((await failedAtEachCall(story, when)) > 25)
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
