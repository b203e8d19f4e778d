import { existsSync } from 'node:fs'
import { type DeathStory, killedAtEachCall } from '../support/deadly-changes.ts'
import { moving } from '../support/file-moves.ts'
import type { FilesRig } from '../support/files-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('a daemon killed in the middle of a move', { limitMs: 120_000 })

const STORIES: readonly DeathStory[] = [
  {
    name: 'a move into a new folder',
    begin: async rig => rig.put('a.py', 'held'),
    wanted: [{ path: 'a.py', to: 'lib/b.py' }],
    before: { 'a.py': 'held', 'lib/b.py': null, 'lib/': null },
    after: { 'a.py': null, 'lib/b.py': 'held', 'lib/': 'a folder' },
    from: 10,
  },
  {
    name: 'taking such a move back',
    async begin(rig) {
      rig.put('a.py', 'held')
      await rig.files.commit({ change: 'plan-before', changes: await moving(rig, ['a.py', 'lib/b.py']) })
    },
    wanted: 'plan-before',
    before: { 'a.py': null, 'lib/b.py': 'held', 'lib/': 'a folder' },
    after: { 'a.py': 'held', 'lib/b.py': null, 'lib/': null },
    from: 9,
  },
]

for (const story of STORIES)
  test(`${story.name}: killed at any call of the disk, the file has a name and is whole, and after the next start all is old or new, and can be undone (fault 7)`, async () => {
    const { deaths, left } = await killedAtEachCall(story, contentIsThere)
    assert.ok(deaths >= 6, `${deaths} deaths`)
    assert.ok(left >= 1, `${left} left temporary names behind`)
  })

/** Whenever it dies: what moves has one of its two names, and under each of them it is whole. */
function contentIsThere(rig: FilesRig, told: string): void {
  const names = ['a.py', 'lib/b.py'].filter(path => existsSync(rig.at(path)))
  assert.ok(names.length > 0, told)
  for (const name of names) assert.is(rig.text(name), 'held', told)
}
