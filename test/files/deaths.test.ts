import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LastChange } from '../support/dying-commit.ts'
import { watchedDisk } from '../support/failing-disk.ts'
import { cameTo, FilesRig, moving } from '../support/files-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { inOneFile } from '../support/one-file.ts'

const test = suite('a daemon killed in the middle of a change', { limitMs: 120_000 })

/** What a process changes that dies over it. A path that ends with `/` is of a folder, which is there or not. */
interface DeathStory {
  readonly name: string
  begin(rig: FilesRig): Promise<void>
  readonly wanted: LastChange['wanted']
  readonly before: Readonly<Record<string, string | null>>
  readonly after: Readonly<Record<string, string | null>>
  /** The first call at which it is killed. Up to there, while it is kept what was there, one story is as another. */
  readonly from: number
  /** The two names of one file. */
  readonly moves?: readonly string[]
}

const CHANGE = 'plan-last'
let dying = ''
test.before(async () => {
  dying = await inOneFile(join(import.meta.dirname, '../support/dying-commit.ts'))
})

/** Kills such a process before each call that may change the disk, and looks at what the next daemon makes of it. */
async function killedAtEachCall(story: DeathStory): Promise<{ deaths: number; left: number }> {
  let [deaths, left] = [0, 0]
  let survived = false
  const worker = async (first: number) => {
    for (let diesAt = first; !survived; diesAt += 2) {
      const rig = new FilesRig()
      try {
        await story.begin(rig)
        if (await lived(rig, story, diesAt)) survived = true
        else deaths++
        if (rig.leftOver().length > 0) left++
        if (story.moves !== undefined) contentIsThere(rig, story.moves, `killed at ${diesAt}`)
        await checkNext(rig, story, `killed at ${diesAt}`)
      } finally {
        rig.close()
      }
    }
  }
  await Promise.all([worker(story.from), worker(story.from + 1)])
  return { deaths, left }
}

/** Whether a process of its own got through the change. */
async function lived(rig: FilesRig, { wanted }: DeathStory, diesAt: LastChange['diesAt']): Promise<boolean> {
  const last: LastChange = { root: rig.root, state: rig.state, change: CHANGE, wanted, diesAt }
  const child = spawn(process.execPath, [dying, JSON.stringify(last)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => {
      said += data.toString()
    })
  const signal = await new Promise(resolve => child.once('close', (_, by) => resolve(by)))
  if (signal !== 'SIGKILL') assert.is(said, 'committed')
  return signal !== 'SIGKILL'
}

/** What the next daemon makes of it. */
async function checkNext(rig: FilesRig, story: DeathStory, told: string): Promise<void> {
  const said: string[] = []
  const next = rig.open({ log: (sentence, error) => said.push(`${sentence} ${error}`) })
  await next.tidied
  assert.equal([rig.leftOver(), said], [[], []], told)
  const unfinished = join(rig.state, 'unfinished')
  assert.equal(existsSync(unfinished) ? readdirSync(unfinished) : [], [], told)
  const held = heldIn(rig, story)
  for (const [path, text] of Object.entries(held))
    assert.ok(text === story.before[path] || text === story.after[path], `${told}: ${path} holds ${text}`)
  if (Object.entries(held).every(([path, text]) => text === story.before[path])) return
  const back = await next.of(rig.root).undone(CHANGE)
  if (back.type === 'failed') throw new Error(`${told}: ${back.error.message}`)
  assert.is(cameTo(await next.commit({ change: 'plan-back', changes: back.changes })), 'committed', told)
  assert.equal(heldIn(rig, story), story.before, told)
}

const heldIn = (rig: FilesRig, story: DeathStory) =>
  Object.fromEntries(
    Object.keys(story.before).map(path => [path, existsSync(rig.at(path)) ? contentOf(rig, path) : null]),
  )

const contentOf = (rig: FilesRig, path: string) =>
  path.endsWith('/') ? 'a folder' : readFileSync(rig.at(path), 'utf8')

/** Whenever it dies: what moves has one of its two names, and under each of them it is whole. */
function contentIsThere(rig: FilesRig, moves: readonly string[], told: string): void {
  const names = moves.filter(path => existsSync(rig.at(path)))
  assert.ok(names.length > 0, told)
  for (const name of names) assert.is(rig.text(name), 'held', told)
}

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
  {
    name: 'a move into a new folder',
    begin: async rig => rig.put('a.py', 'held'),
    wanted: [{ path: 'a.py', to: 'lib/b.py' }],
    before: { 'a.py': 'held', 'lib/b.py': null, 'lib/': null },
    after: { 'a.py': null, 'lib/b.py': 'held', 'lib/': 'a folder' },
    from: 10,
    moves: ['a.py', 'lib/b.py'],
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
    moves: ['a.py', 'lib/b.py'],
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
