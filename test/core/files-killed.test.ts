import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DeathStory, killedAtEachCall, lived } from '../support/deadly-changes.ts'
import { watchedDisk } from '../support/failing-disk.ts'
import { FilesRig } from '../support/files-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('a daemon killed in the middle of a change', { limitMs: 120_000 })

const STORIES: readonly DeathStory[] = [
  {
    name: 'an edit',
    begin: async rig => rig.put('a.py', 'old'),
    wanted: [{ path: 'a.py', text: 'new' }],
    before: { 'a.py': 'old' },
    after: { 'a.py': 'new' },
    from: 1,
  },
  {
    name: 'undoing a new file',
    begin: async rig => rig.write('a.py', 'old', 'plan-before'),
    wanted: 'plan-before',
    before: { 'a.py': 'old' },
    after: { 'a.py': null },
    from: 7,
  },
  {
    name: 'an edit and a new file in two folders',
    async begin(rig) {
      rig.put('a.py', 'old')
      rig.put('src/x', '')
    },
    wanted: [
      { path: 'a.py', text: 'new' },
      { path: 'src/b.py', text: 'new too' },
    ],
    before: { 'a.py': 'old', 'src/b.py': null },
    after: { 'a.py': 'new', 'src/b.py': 'new too' },
    from: 8,
  },
]

for (const story of STORIES)
  test(`${story.name}: killed at any call of the disk, it leaves files old or new, that can be undone, and after the next start nothing else (fault 7)`, async () => {
    const { deaths, left } = await killedAtEachCall(story)
    assert.ok(deaths >= 6, `${deaths} deaths`)
    assert.ok(left >= 1, `${left} left temporary names behind`)
  })

test('what somebody else wrote into the old file stays beside the new one, and is told (threat 18)', async () => {
  const rig = new FilesRig()
  const [story] = STORIES
  assert.ok(story)
  await story.begin(rig)
  // The first name that goes is that of the old file, once the new one is in place.
  assert.is(await lived(rig, story, 'unlink'), false)
  const [aside = ''] = rig.leftOver()
  assert.equal([rig.text('a.py'), rig.text(aside)], ['new', 'old'])
  writeFileSync(rig.at(aside), 'theirs')
  const said: string[] = []
  await rig.open({ log: sentence => said.push(sentence) }).tidied
  assert.equal([rig.text('a.py'), rig.text(aside)], ['new', 'theirs'])
  assert.match(
    said.join('\n'),
    /^What .*a\.py held .* in \.imago-[0-9a-f]{16}\.old: it is kept nowhere else\.$/,
  )
  assert.equal(readdirSync(join(rig.state, 'unfinished')), [])
  rig.close()
})

test('a start after changes that came to their end looks at none of them', async () => {
  const rig = new FilesRig()
  for (let number = 0; number < 20; number++) await rig.write('a.py', `text ${number}`, `plan-${number}`)
  const { disk, calls } = watchedDisk()
  await rig.open({ disk }).tidied
  const kept = calls.filter(({ args }) => String(args[0]).startsWith(rig.state))
  assert.equal(
    kept.map(({ name, args }) => `${name} ${args[0]}`),
    [`readdir ${join(rig.state, 'unfinished')}`],
  )
  rig.close()
})

test('whatever is found where a daemon died, opening files does not fail, and touches nothing else', async () => {
  const rig = new FilesRig()
  rig.put('.imago-0123456789abcdef.new', 'mine')
  await rig.write('a.py', 'old', 'plan-a')
  const dir = join(rig.state, 'unfinished')
  const notes = ['', '{', '{"v":1}', note('../../project'), note('.imago-0123456789abcdef/../a.py'), note('')]
  for (const [number, text] of notes.entries()) writeFileSync(join(dir, `plan-${number}`), text)
  await rig.open().tidied
  assert.equal([rig.leftOver(), rig.text('a.py')], [['.imago-0123456789abcdef.new'], 'old'])
  assert.equal(readdirSync(dir), [])

  function note(stem: string): string {
    return JSON.stringify({ v: 1, change: 'plan-a', files: [{ path: rig.at('a.py'), stem }] })
  }
})
