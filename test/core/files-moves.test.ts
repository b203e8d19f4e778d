import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { NODE_DISK, type Stat } from '../../src/files/disk.ts'
import { type DiskCall, watchedDisk } from '../support/failing-disk.ts'
import { deleting, making, moving } from '../support/file-moves.ts'
import { type Raced, race } from '../support/file-races.ts'
import { changesBack } from '../support/file-stories.ts'
import { cameTo, FilesRig } from '../support/files-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('moving, deleting and making files with their folders', { limitMs: 60_000 })

test('two files are made in one new folder at once, and taken away with it', async () => {
  const rig = new FilesRig()
  const changes = [await making(rig, 'lib/a.py'), await making(rig, 'lib/deep/b.py')]
  assert.is(cameTo(await rig.files.commit({ change: 'plan-a', changes })), 'committed')
  assert.equal([rig.text('lib/a.py'), rig.text('lib/deep/b.py')], ['made', 'made'])
  const back = await changesBack(rig, rig.open(), 'plan-a')
  assert.is(cameTo(await rig.files.commit({ change: 'plan-b', changes: back })), 'committed')
  assert.is(existsSync(rig.at('lib')), false)
  rig.close()
})

test('however many folders are said to be kept of it, none that the project lies in goes with a file', async () => {
  const rig = new FilesRig()
  await rig.files.commit({ change: 'plan-a', changes: [await making(rig, 'lib/a.py')] })
  const record = join(rig.state, 'undo/plan-a.json')
  writeFileSync(record, readFileSync(record, 'utf8').replace('"folders":1', '"folders":9'))
  const back = await changesBack(rig, rig.open(), 'plan-a')
  assert.equal(back[0]?.identity?.folders, 1)
  assert.is(cameTo(await rig.files.commit({ change: 'plan-b', changes: back })), 'committed')
  assert.equal([existsSync(rig.at('lib')), existsSync(rig.root)], [false, true])
  rig.close()
})

/** What files are there with which content, when somebody else acted before a call. */
const MOVE = async (rig: FilesRig) => {
  rig.put('a.py', 'held')
  rig.put('src/x', '')
  return moving(rig, ['a.py', 'src/b.py'])
}

const DELETION = async (rig: FilesRig) => {
  rig.put('a.py', 'held')
  return deleting(rig, 'a.py')
}

const IN_NEW_FOLDERS = async (rig: FilesRig) => making(rig, 'lib/deep/a.py')

const at = (rig: FilesRig, path: string) => (existsSync(rig.at(path)) ? rig.text(path) : null)

const told = ({ came, call }: Raced) => `before call ${call.number}, ${call.name}: ${came}`

const WRITERS: Readonly<Record<string, (path: string) => void>> = {
  'writes into it': path => writeFileSync(path, 'theirs'),
  'puts another file in its place': path => {
    writeFileSync(`${path}.theirs`, 'theirs')
    renameSync(`${path}.theirs`, path)
  },
}

for (const [what, write] of Object.entries(WRITERS))
  test(`a move: whoever ${what} at the old path at any moment loses nothing, and never has half a move (threat 18) (fault 28)`, async () => {
    const cameOf: string[] = []
    const moments = await race({
      begin: MOVE,
      act: rig => write(rig.at('a.py')),
      check(raced) {
        const { rig, came } = raced
        assert.is(at(rig, 'a.py'), 'theirs', told(raced))
        assert.is(at(rig, 'src/b.py'), came === 'committed' ? 'held' : null, told(raced))
        assert.ok(came === 'committed' || came === 'stale_plan', told(raced))
        assert.equal(rig.leftOver(), [], told(raced))
        cameOf.push(came)
      },
    })
    assert.ok(moments > 40, `only ${moments} moments`)
    assert.is(cameOf.lastIndexOf('stale_plan') + 1, cameOf.indexOf('committed'))
  })

for (const [what, write] of Object.entries(WRITERS))
  test(`a move: whoever ${what} at the new path at any moment loses nothing, and the file is not lost (threat 18) (fault 28)`, async () => {
    await race({
      begin: MOVE,
      act: rig => write(rig.at('src/b.py')),
      check(raced) {
        const { rig, came } = raced
        assert.is(at(rig, 'src/b.py'), 'theirs', told(raced))
        assert.is(at(rig, 'a.py'), came === 'committed' ? null : 'held', told(raced))
        assert.ok(came === 'committed' || came === 'stale_plan', told(raced))
        assert.equal(rig.leftOver(), [], told(raced))
      },
    })
  })

for (const [what, write] of Object.entries(WRITERS))
  test(`a deletion: whoever ${what} at any moment loses nothing (threat 18) (fault 28)`, async () => {
    await race({
      begin: DELETION,
      act: rig => write(rig.at('a.py')),
      check(raced) {
        assert.is(raced.held, 'theirs', told(raced))
        assert.ok(raced.came === 'committed' || raced.came === 'stale_plan', told(raced))
        assert.equal(raced.rig.leftOver(), [], told(raced))
      },
    })
  })

for (const [what, begin] of [
  ['a move', MOVE],
  ['a deletion', DELETION],
] as const)
  test(`${what}: a link to elsewhere in place of the file is neither followed nor lost, at whichever moment (threat 21)`, async () => {
    await race({
      begin,
      act(rig) {
        writeFileSync(join(rig.outside, 'a.py'), 'held')
        rmSync(rig.at('a.py'), { force: true })
        symlinkSync(join(rig.outside, 'a.py'), rig.at('a.py'))
      },
      check(raced) {
        const { rig } = raced
        assert.is(readFileSync(join(rig.outside, 'a.py'), 'utf8'), 'held', told(raced))
        assert.is(at(rig, 'a.py'), 'held', told(raced))
        assert.equal(rig.leftOver(), [], told(raced))
      },
    })
  })

/** Before the first of the folders is there, and after. */
const FOLDER_ACTS: Readonly<Record<string, (rig: FilesRig) => void>> = {
  'makes the folder': rig => mkdirSync(rig.at('lib'), { recursive: true }),
  'makes a file of that name': rig => {
    if (!existsSync(rig.at('lib'))) writeFileSync(rig.at('lib'), 'theirs')
  },
  'puts a file into it': rig => {
    mkdirSync(rig.at('lib/deep'), { recursive: true })
    writeFileSync(rig.at('lib/deep/theirs'), 'theirs')
  },
  'puts a link out of the project in its place': rig => {
    if (existsSync(rig.at('lib'))) renameSync(rig.at('lib'), rig.at('was'))
    mkdirSync(join(rig.outside, 'deep'), { recursive: true })
    symlinkSync(rig.outside, rig.at('lib'))
  },
}

for (const [what, act] of Object.entries(FOLDER_ACTS))
  test(`a new file in new folders: whoever ${what} at any moment loses nothing, and nothing goes outside (threat 18) (threat 21)`, async () => {
    const cameOf = new Set<string>()
    await race({
      begin: IN_NEW_FOLDERS,
      act,
      check(raced) {
        const { rig, came } = raced
        cameOf.add(came.replace('file_failed old', 'stale_plan'))
        assert.equal(existsSync(join(rig.outside, 'deep/a.py')), false, told(raced))
        assert.equal(rig.leftOver(), [], told(raced))
        if (what.startsWith('puts a file')) assert.is(at(rig, 'lib/deep/theirs'), 'theirs', told(raced))
        if (what.startsWith('puts a link')) return
        if (came === 'committed') assert.is(at(rig, 'lib/deep/a.py'), 'made', told(raced))
        else assert.is(existsSync(rig.at('lib/deep/a.py')), false, told(raced))
      },
    })
    assert.equal([...cameOf].sort(), ['committed', 'stale_plan'])
  })

test('folders that were made for a file stay when the file goes, if somebody puts another one there at any moment (threat 18)', async () => {
  await race({
    async begin(rig) {
      await rig.files.commit({ change: 'plan-before', changes: [await making(rig, 'lib/a.py')] })
      return changesBack(rig, rig.files, 'plan-before')
    },
    act(rig) {
      mkdirSync(rig.at('lib'), { recursive: true })
      writeFileSync(rig.at('lib/theirs'), 'theirs')
    },
    check: raced => assert.is(at(raced.rig, 'lib/theirs'), 'theirs', told(raced)),
  })
})

/** The file that is being written, under its temporary name. */
const stagedIn = (rig: FilesRig) => rig.leftOver().find(name => name.endsWith('.new'))

const MEDDLERS: Readonly<Record<string, (path: string) => void>> = {
  'writes into': path => writeFileSync(path, 'evil'),
  'appends to': path => writeFileSync(path, 'evil', { flag: 'a' }),
  replaces: path => {
    rmSync(path)
    writeFileSync(path, 'evil')
  },
}

for (const [what, meddle] of Object.entries(MEDDLERS))
  for (const [of, begin] of [
    [
      'an edit',
      async (rig: FilesRig) => {
        rig.put('a.py', 'held')
        return rig.planned('a.py', 'good')
      },
    ],
    ['a new file', async (rig: FilesRig) => rig.planned('a.py', 'good')],
  ] as const)
    test(`${of}: what another program ${what} under the temporary name does not take the place of what was approved (threat 18)`, async () => {
      let stale = 0
      const slipped: number[] = []
      let [staged, inPlace] = [0, 0]
      await race({
        begin,
        act(rig, call) {
          const name = stagedIn(rig)
          if (name === undefined) return
          meddle(rig.at(name))
          staged = call.number
        },
        check(raced) {
          const { rig, came, call, held } = raced
          assert.equal(rig.leftOver(), [], told(raced))
          if (putsInPlace(call)) inPlace = call.number
          if (staged !== call.number) return
          if (came === 'stale_plan') stale++
          // Once it has its name, what is written into it is a write like any other.
          if (came === 'committed' && held !== 'good' && inPlace !== 0 && call.number > inPlace) return
          if (came === 'committed' && held !== 'good') slipped.push(call.number)
        },
      })
      assert.ok(stale > 10 && inPlace > 0, `${stale} stale, in place with ${inPlace}`)
      // After the last look at it come those at the folder and at the name, and then the rename.
      assert.ok(
        slipped.every(number => number > inPlace - 4),
        `${slipped}, in place with ${inPlace}`,
      )
    })

/** The call that gives the new file its name. */
const putsInPlace = ({ name, args }: DiskCall) =>
  (name === 'rename' || name === 'link') && String(args[0]).endsWith('.new')

test('a file that is moved keeps its owner, and so does one that comes back', async () => {
  const rig = new FilesRig()
  rig.put('a.py', 'held')
  const owners: (readonly [number, number])[] = []
  const theirs = <Found extends Stat | undefined>(stat: Found): Found =>
    stat?.kind === 'file' ? { ...stat, uid: 4_242, gid: 4_243 } : stat
  const { disk } = watchedDisk(
    {},
    {
      ...NODE_DISK,
      lstat: path => theirs(NODE_DISK.lstat(path)),
      fstat: fd => (made.has(fd) ? NODE_DISK.fstat(fd) : theirs(NODE_DISK.fstat(fd))),
      open(path, how) {
        const fd = NODE_DISK.open(path, how)
        if (how.for === 'making') made.add(fd)
        else made.delete(fd)
        return fd
      },
      chown: (_, uid, gid) => owners.push([uid, gid]),
    },
  )
  const made = new Set<number>()
  const files = rig.open({ disk })
  await files.commit({ change: 'plan-a', changes: await moving(rig, ['a.py', 'b.py'], files) })
  assert.equal(owners, [[4_242, 4_243]])
  rig.close()
})
