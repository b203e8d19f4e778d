import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { FileChange } from '../../tools/contract.ts'
import { type DiskCall, refusal, watchedDisk } from '../support/failing-disk.ts'
import { cameTo, changesBack, FilesRig, making, moving } from '../support/files-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('races for a file', { limitMs: 60_000 })

interface Raced {
  readonly rig: FilesRig
  readonly came: string
  /** Of the call before which somebody else acted, and what it was to do. */
  readonly call: DiskCall
}

interface Race {
  begin(rig: FilesRig): Promise<FileChange | readonly FileChange[]>
  /** `call` is the next one. */
  act(rig: FilesRig, call: DiskCall): void
  check(raced: Raced): void
  /** Whether the file system gives files no second names. */
  readonly linkless?: boolean
}

/** Commits as often as there are calls in a commit; each time somebody else acts before another call. */
async function race({ begin, act, check, linkless = false }: Race): Promise<number> {
  for (let number = 1; ; number++) {
    const rig = new FilesRig()
    try {
      const begun = await begin(rig)
      const { disk, calls } = watchedDisk({
        before(call) {
          if (call.number === number) act(rig, call)
          if (linkless && call.name === 'link') throw refusal('EPERM')
        },
      })
      const changes = 'path' in begun ? [begun] : begun
      const answer = await rig.open({ disk }).commit({ change: 'plan-raced', changes })
      const call = calls[number - 1]
      if (call === undefined) return number - 1
      check({ rig, came: cameTo(answer), call })
    } finally {
      rig.close()
    }
  }
}

const at = (rig: FilesRig, path: string) => (existsSync(rig.at(path)) ? rig.text(path) : null)

const told = ({ came, call }: Raced) => `before call ${call.number}, ${call.name}: ${came}`

const EDIT = async (rig: FilesRig) => {
  rig.put('a.py', 'old content')
  return rig.planned('a.py', 'new content')
}

const MOVE = async (rig: FilesRig) => {
  rig.put('a.py', 'old content')
  rig.put('src/x', '')
  return moving(rig, ['a.py', 'src/b.py'])
}

/** Each is about `a.py`. */
const CHANGES: Readonly<Record<string, Race['begin']>> = {
  'an edit': EDIT,
  'a new file': rig => rig.planned('a.py', 'new content'),
  async 'a deletion'(rig) {
    await rig.write('a.py', 'old content', 'plan-before')
    return changesBack(rig, rig.files, 'plan-before')
  },
  'a move': MOVE,
}

/** The rename that puts the new file in its place. */
const isExchange = ({ name, args }: DiskCall) => name === 'rename' && String(args[1]).endsWith('/a.py')

/** As many other bytes, with the times set back: only the bytes tell. */
function overwrite(path: string): void {
  const before = statSync(path, { throwIfNoEntry: false })
  writeFileSync(path, 'their bytes')
  if (before !== undefined) utimesSync(path, before.atime, before.mtime)
}

const WRITERS: Readonly<Record<string, (path: string) => void>> = {
  'writes into it': overwrite,
  'puts another file in its place': path => {
    overwrite(`${path}.theirs`)
    renameSync(`${path}.theirs`, path)
  },
}

for (const [what, begin] of Object.entries(CHANGES))
  for (const [how, write] of Object.entries(WRITERS))
    test(`${what}: whoever ${how} at any moment loses nothing, but by a rename right before our own, and it is never half done (threat 18) (fault 28)`, async () => {
      const cameOf: string[] = []
      const lost: DiskCall[] = []
      const moments = await race({
        begin,
        act: rig => write(rig.at('a.py')),
        check(raced) {
          const { rig, came, call } = raced
          if (at(rig, 'a.py') !== 'their bytes') lost.push(call)
          if (what === 'a move')
            assert.is(at(rig, 'src/b.py'), came === 'committed' ? 'old content' : null, told(raced))
          assert.ok(came === 'committed' || came === 'stale_plan', told(raced))
          assert.equal(rig.leftOver(), [], told(raced))
          cameOf.push(came)
        },
      })
      assert.ok(moments > 25, `only ${moments} moments`)
      assert.equal(
        lost.map(isExchange),
        what === 'an edit' && how.startsWith('puts') ? [true] : [],
        JSON.stringify(lost),
      )
      // Once it is committed, later writers write after it: from stale to committed there is one change.
      assert.is(cameOf.lastIndexOf('stale_plan') + 1, cameOf.indexOf('committed'))
      assert.ok(cameOf.indexOf('committed') > 20)
    })

for (const [how, write] of Object.entries(WRITERS))
  test(`a move: whoever ${how} at the new path at any moment loses nothing, and the file is not lost (threat 18) (fault 28)`, async () => {
    await race({
      begin: MOVE,
      act: rig => write(rig.at('src/b.py')),
      check(raced) {
        const { rig, came } = raced
        assert.is(at(rig, 'src/b.py'), 'their bytes', told(raced))
        assert.is(at(rig, 'a.py'), came === 'committed' ? null : 'old content', told(raced))
        assert.ok(came === 'committed' || came === 'stale_plan', told(raced))
        assert.equal(rig.leftOver(), [], told(raced))
      },
    })
  })

test('where files have no second names, a write is lost only between the last comparison and the rename (threat 18)', async () => {
  const lost: DiskCall[] = []
  const names: string[] = []
  await race({
    begin: EDIT,
    act: rig => overwrite(rig.at('a.py')),
    linkless: true,
    check({ rig, call, came }) {
      names[call.number] = isExchange(call) ? 'exchange' : call.name
      if (at(rig, 'a.py') !== 'their bytes') lost.push(call)
      else assert.ok(came === 'stale_plan' || call.number > names.indexOf('exchange'))
      assert.equal(rig.leftOver(), [])
    },
  })
  const exchange = names.indexOf('exchange')
  assert.is(lost.at(-1)?.number, exchange)
  // The last read only finds the end of the file, and what comes after it waits for nothing.
  const read = names.lastIndexOf('read', exchange)
  assert.ok((lost[0]?.number ?? 0) >= read, `lost before call ${lost[0]?.number} of ${exchange}`)
  assert.ok(read > names.lastIndexOf('sync', exchange))
  assert.ok(exchange - read < 8)
})

test('another mode, another file of the same content and a deletion are all reasons not to write (threat 18)', async () => {
  const acts: readonly ((rig: FilesRig) => void)[] = [
    rig => chmodSync(rig.at('a.py'), 0o600),
    rig => {
      writeFileSync(rig.at('theirs'), 'old content')
      renameSync(rig.at('theirs'), rig.at('a.py'))
    },
    rig => rmSync(rig.at('a.py'), { force: true }),
  ]
  for (const act of acts) {
    let done = false
    await race({
      begin: EDIT,
      act,
      check({ came, call }) {
        done ||= isExchange(call)
        if (!done) assert.is(came, 'stale_plan', `before call ${call.number}, ${call.name}`)
      },
    })
    assert.ok(done)
  }
})

for (const [what, begin] of Object.entries(CHANGES))
  test(`${what}: a link to elsewhere in place of the file is never written through, at whichever moment (threat 21)`, async () => {
    await race({
      begin,
      act(rig) {
        writeFileSync(join(rig.outside, 'a.py'), 'old content')
        rmSync(rig.at('a.py'), { force: true })
        symlinkSync(join(rig.outside, 'a.py'), rig.at('a.py'))
      },
      check(raced) {
        assert.equal(contentsOf(raced.rig.outside), { 'a.py': 'old content' }, told(raced))
        assert.equal(raced.rig.leftOver(), [], told(raced))
      },
    })
  })

for (const deep of [false, true])
  test(`${deep ? 'a folder further up' : 'the folder'} that is swapped for a link redirects nothing, at whichever moment (threat 21)`, async () => {
    await race({
      async begin(rig) {
        rig.put('x/y/a.py', 'old content')
        return rig.planned('x/y/a.py', 'new content')
      },
      act(rig) {
        const folder = rig.at(deep ? 'x' : 'x/y')
        renameSync(folder, rig.at('was'))
        symlinkSync(rig.outside, folder)
        const bait = deep ? 'y' : '.'
        writeFileSync(join(rig.outside, 'a.py'), 'old content')
        if (deep) symlinkSync('.', join(rig.outside, bait))
      },
      check({ rig, came, call }) {
        const told = `before call ${call.number}, ${call.name}: ${came}`
        assert.is(contentsOf(rig.outside)['a.py'], 'old content', told)
        assert.equal(
          readdirSync(rig.outside).filter(name => name.startsWith('.imago-')),
          [],
          told,
        )
        const inside = readFileSync(rig.at(deep ? 'was/y/a.py' : 'was/a.py'), 'utf8')
        assert.is(inside, came === 'committed' ? 'new content' : 'old content', told)
      },
    })
  })

test('a folder that is moved out of the project takes no new content with it, but right before our own rename (threat 21)', async () => {
  const written: DiskCall[] = []
  let exchange = 0
  await race({
    async begin(rig) {
      rig.put('sub/a.py', 'old content')
      return rig.planned('sub/a.py', 'new content')
    },
    act: rig => renameSync(rig.at('sub'), join(rig.outside, 'sub')),
    check({ rig, came, call }) {
      if (isExchange(call)) exchange = call.number
      const text = readFileSync(join(rig.outside, 'sub/a.py'), 'utf8')
      if (text !== 'old content' && exchange === 0) written.push(call)
      assert.is(text, came === 'committed' ? 'new content' : 'old content')
      assert.equal(
        readdirSync(join(rig.outside, 'sub')).filter(name => name !== 'a.py'),
        [],
      )
    },
  })
  assert.ok(exchange > 60)
  // The look at the folder, and the one at the name, are the two calls before the rename.
  assert.ok((written[0]?.number ?? exchange) >= exchange - 2)
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
      begin: rig => making(rig, 'lib/deep/a.py'),
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
  for (const of of ['an edit', 'a new file'])
    test(`${of}: what another program ${what} under the temporary name does not take the place of what was approved (threat 18)`, async () => {
      let stale = 0
      const slipped: number[] = []
      let [staged, inPlace] = [0, 0]
      await race({
        async begin(rig) {
          if (of === 'an edit') rig.put('a.py', 'held')
          return rig.planned('a.py', 'good')
        },
        act(rig, call) {
          const name = stagedIn(rig)
          if (name === undefined) return
          meddle(rig.at(name))
          staged = call.number
        },
        check(raced) {
          const { rig, came, call } = raced
          const held = at(rig, 'a.py')
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

function contentsOf(folder: string): Record<string, string> {
  const names = readdirSync(folder).filter(name => lstatSync(join(folder, name)).isFile())
  return Object.fromEntries(names.map(name => [name, readFileSync(join(folder, name), 'utf8')]))
}
