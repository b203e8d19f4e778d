import { deleting, making, moving } from '../support/file-moves.ts'
import { changesBack, failedAtEachCall, failedFromEachCall, type Story } from '../support/file-stories.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('moving, deleting and making files on a failing disk', { limitMs: 60_000 })

const STORIES: readonly Story[] = [
  {
    name: 'a move into a new folder',
    begin: async rig => rig.put('a.py', 'held'),
    plan: (rig, files) => moving(rig, ['a.py', 'lib/b.py'], files),
    before: { 'a.py': 'held', 'lib/b.py': null, 'lib/': null },
    after: { 'a.py': null, 'lib/b.py': 'held', 'lib/': 'a folder' },
  },
  {
    name: 'taking such a move back',
    async begin(rig) {
      rig.put('a.py', 'held')
      await rig.files.commit({ change: 'plan-before', changes: await moving(rig, ['a.py', 'lib/b.py']) })
    },
    plan: (rig, files) => changesBack(rig, files, 'plan-before'),
    before: { 'a.py': null, 'lib/b.py': 'held', 'lib/': 'a folder' },
    after: { 'a.py': 'held', 'lib/b.py': null, 'lib/': null },
  },
  {
    name: 'a deletion',
    begin: async rig => rig.put('a.py', 'held'),
    plan: async (rig, files) => [await deleting(rig, 'a.py', files)],
    before: { 'a.py': 'held' },
    after: { 'a.py': null },
  },
  {
    name: 'a new file in new folders',
    begin: async rig => rig.put('x', ''),
    plan: async (rig, files) => [await making(rig, 'lib/deep/a.py', files)],
    before: { 'lib/deep/a.py': null, 'lib/deep/': null, 'lib/': null },
    after: { 'lib/deep/a.py': 'made', 'lib/deep/': 'a folder', 'lib/': 'a folder' },
  },
]

for (const story of STORIES)
  for (const when of ['before', 'after'] as const)
    test(`${story.name}: whichever call fails ${when === 'before' ? 'undone' : 'though done'}, all is as it was or as it was to be, and told so (fault 12)`, async () => {
      assert.ok((await failedAtEachCall(story, when, { begun: true })) > 10)
    })

for (const story of STORIES)
  test(`${story.name}: when every call from one on fails, nothing is torn, and nobody told otherwise (fault 12)`, async () => {
    await failedFromEachCall(story, { begun: true })
  })
