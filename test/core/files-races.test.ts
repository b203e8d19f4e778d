import { spawn } from 'node:child_process'
import {
  chmodSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { DiskCall } from '../support/failing-disk.ts'
import { race } from '../support/file-races.ts'
import { cameTo, FilesRig } from '../support/files-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('races for a file', { limitMs: 60_000 })

const EDIT = async (rig: FilesRig) => {
  rig.put('a.py', 'old content')
  return rig.planned('a.py', 'new content')
}
const CREATION = async (rig: FilesRig) => rig.planned('a.py', 'new content')
const DELETION = async (rig: FilesRig) => {
  await rig.write('a.py', 'old content', 'plan-before')
  const back = await rig.files.of(rig.root).undone('plan-before')
  const [change] = back.type === 'undone' ? back.changes : []
  if (change === undefined) throw new Error('nothing to undo')
  return change
}

/** The rename that puts the new file in its place. */
const isExchange = ({ name, args }: DiskCall) => name === 'rename' && String(args[1]).endsWith('/a.py')

const overwrite = (rig: FilesRig) => writeFileSync(rig.at('a.py'), 'their bytes')
const putInPlace = (rig: FilesRig) => {
  writeFileSync(rig.at('theirs'), 'their bytes')
  renameSync(rig.at('theirs'), rig.at('a.py'))
}

for (const [what, begin] of [
  ['an edit', EDIT],
  ['a new file', CREATION],
  ['a deletion', DELETION],
] as const)
  test(`${what}: what somebody else writes into the file is never lost, at whichever moment (threat 18) (fault 28)`, async () => {
    const cameOf: string[] = []
    const moments = await race({
      begin,
      act: overwrite,
      check({ rig, came, call, held }) {
        const told = `before call ${call.number}, ${call.name}: ${came}`
        assert.is(held, 'their bytes', told)
        assert.ok(came === 'stale_plan' || came === 'committed', told)
        assert.equal(rig.leftOver(), [], told)
        cameOf.push(came)
      },
    })
    assert.ok(moments > 25, `only ${moments} moments`)
    // Once it is committed, later writers write after it: from stale to committed there is one change.
    assert.is(cameOf.lastIndexOf('stale_plan') + 1, cameOf.indexOf('committed'))
    assert.ok(cameOf.indexOf('committed') > 20)
  })

for (const [what, begin] of [
  ['an edit', EDIT],
  ['a new file', CREATION],
  ['a deletion', DELETION],
] as const)
  test(`${what}: a file that somebody else puts in place is never lost, but right before our own rename (threat 18)`, async () => {
    const lost: string[] = []
    await race({
      begin,
      act: putInPlace,
      check({ rig, came, call, held }) {
        const told = `before call ${call.number}, ${call.name}: ${came}`
        if (held !== 'their bytes') lost.push(isExchange(call) ? 'at the exchange' : told)
        assert.ok(came === 'stale_plan' || came === 'committed', told)
        assert.equal(rig.leftOver(), [], told)
      },
    })
    assert.equal(lost, what === 'an edit' ? ['at the exchange'] : [])
  })

test('where files have no second names, a write is lost only between the last comparison and the rename (threat 18)', async () => {
  const lost: DiskCall[] = []
  const names: string[] = []
  await race({
    begin: EDIT,
    act: overwrite,
    linkless: true,
    check({ rig, call, held, came }) {
      names[call.number] = isExchange(call) ? 'exchange' : call.name
      if (held !== 'their bytes') lost.push(call)
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

for (const [what, begin] of [
  ['an edit', EDIT],
  ['a new file', CREATION],
  ['a deletion', DELETION],
] as const)
  test(`${what}: a link to elsewhere in place of the file is never written through, at whichever moment (threat 21)`, async () => {
    await race({
      begin,
      act(rig) {
        writeFileSync(join(rig.outside, 'a.py'), 'old content')
        rmSync(rig.at('a.py'), { force: true })
        symlinkSync(join(rig.outside, 'a.py'), rig.at('a.py'))
      },
      check: ({ rig, call }) =>
        assert.equal(
          contentsOf(rig.outside),
          { 'a.py': 'old content' },
          `before call ${call.number}, ${call.name}`,
        ),
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

test('while another process swaps file and folder for links without end, no byte goes outside (threat 21)', async () => {
  const rig = new FilesRig({})
  rig.put('sub/a.py', '0')
  writeFileSync(join(rig.outside, 'a.py'), 'theirs')
  const racer = spawn(process.execPath, ['-e', RACER, rig.at('sub'), rig.outside], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const gone = new Promise(resolve => racer.once('close', resolve))
  let said = ''
  racer.stdout.on('data', (data: Buffer) => {
    said += data.toString()
  })
  while (!said.includes('racing')) await new Promise(resolve => racer.stdout.once('data', resolve))

  const came = new Map<string, number>()
  for (let turn = 0; turn < 400; turn++) {
    const answer = await attempt(rig, turn)
    came.set(answer, (came.get(answer) ?? 0) + 1)
  }
  racer.stdin.end()
  await gone
  assert.match(said, /swapped [1-9]/)
  assert.equal(contentsOf(rig.outside), { 'a.py': 'theirs' })
  const odd = [...came.keys()].filter(each => !POSSIBLE.test(each))
  assert.equal(odd, [], JSON.stringify(Object.fromEntries(came)))
  rig.close()
})

const POSSIBLE = /^(committed|stale_plan|path_refused|not_found|file_failed)/

/** Swaps until its standard input ends, and leaves everything as it was. */
const RACER = `
const fs = require('node:fs')
const [sub, outside] = process.argv.slice(1)
const quietly = work => { try { work(); return 1 } catch { return 0 } }
let swapped = 0
let going = true
process.stdin.on('end', () => { going = false }).resume()
process.stdout.write('racing\\n')
function burst() {
  for (let turn = 0; turn < 20; turn++) {
    quietly(() => fs.renameSync(sub, sub + '.real'))
    swapped += quietly(() => fs.symlinkSync(outside, sub))
    quietly(() => fs.unlinkSync(sub))
    quietly(() => fs.renameSync(sub + '.real', sub))
    quietly(() => fs.renameSync(sub + '/a.py', sub + '/a.real'))
    swapped += quietly(() => fs.symlinkSync(outside + '/a.py', sub + '/a.py'))
    quietly(() => fs.unlinkSync(sub + '/a.py'))
    quietly(() => fs.renameSync(sub + '/a.real', sub + '/a.py'))
  }
  if (going) setTimeout(burst, 1)
  else process.stdout.write('swapped ' + swapped + '\\n')
}
burst()
`

async function attempt(rig: FilesRig, turn: number): Promise<string> {
  const project = rig.files.of(rig.root)
  const seen = await project.look('sub/a.py')
  if (seen.type === 'failed') return seen.error.code
  assert.is.not(seen.text, 'theirs')
  const change = project.changed(seen, String(turn))
  if ('type' in change) return change.error.code
  return cameTo(await rig.files.commit({ change: `plan-${turn}`, changes: [change] }))
}

function contentsOf(folder: string): Record<string, string> {
  const names = readdirSync(folder).filter(name => lstatSync(join(folder, name)).isFile())
  return Object.fromEntries(names.map(name => [name, readFileSync(join(folder, name), 'utf8')]))
}
