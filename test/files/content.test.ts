import {
  chmodSync,
  chownSync,
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
import fc from 'fast-check'
import { NODE_DISK, type Stat } from '../../src/files/disk.ts'
import type { Files } from '../../src/files/files.ts'
import { decode, encode } from '../../src/files/look.ts'
import type { TextEncoding, Undone } from '../../tools/contract.ts'
import { watchedDisk } from '../support/failing-disk.ts'
import { cameTo, changesBack, codeOf, FilesRig, making, moving } from '../support/files-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('files, their content and what it was before')

let rig: FilesRig

test.before.each(() => {
  rig = new FilesRig()
})

test.after.each(() => rig.close())

const bytes = (...values: number[]) => Uint8Array.from(values)

const project = () => rig.files.of(rig.root)

test('the encoding of a file is told by its bytes, and nothing is guessed', async () => {
  const known: readonly (readonly [string | Uint8Array, TextEncoding, string | null])[] = [
    ['', 'utf-8', ''],
    ['añb\n', 'utf-8', 'añb\n'],
    ['\ufeffx', 'utf-8-bom', 'x'],
    [bytes(0xff, 0xfe, 0x61, 0, 0xe9, 0), 'utf-16le', 'aé'],
    [bytes(0xfe, 0xff, 0, 0x61, 0, 0xe9), 'utf-16be', 'aé'],
    [bytes(0x63, 0xe9, 0x0a), 'latin-1', 'cé\n'],
    // Windows puts quotes there; to call that Latin-1 would be a guess.
    [bytes(0x93, 0x61, 0x94), 'binary', null],
    [bytes(0x63, 0xe9, 0x07), 'binary', null],
    ['a\0b', 'binary', null],
    [bytes(0xff, 0xfe, 0x61), 'binary', null],
    [bytes(0xff, 0xfe, 0, 0xd8), 'binary', null],
    [bytes(0xff, 0xfe, 0, 0), 'binary', null],
    ['\u001b[31mred', 'utf-8', '\u001b[31mred'],
  ]
  for (const [content, encoding, text] of known) {
    rig.put('a', content)
    const seen = await rig.seen('a')
    assert.equal([seen.encoding, seen.text], [encoding, text], JSON.stringify(content))
  }
})

test('a text goes back in the encoding of its file, or is refused because that cannot spell it', () => {
  const encodings = ['utf-8', 'utf-8-bom', 'utf-16le', 'utf-16be', 'latin-1'] as const
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('é', 'Ã', '©', 'a', '\0', '\ud800', '\ufeff', '\r', '\n') }),
  )
  fc.assert(
    fc.property(fc.constantFrom(...encodings), texts, (encoding, text) => {
      const encoded = encode(text, encoding)
      if (encoded.type === 'encoded') assert.is(decode(encoded.bytes).text, text)
      else assert.ok(/[^\x20-\x7e\t\r\n]/.test(text))
    }),
    { numRuns: 2_000 },
  )
})

test('a change keeps encoding and newlines, and says what it cannot spell', async () => {
  rig.put('latin', bytes(0x63, 0xe9, 0x0d, 0x0a))
  assert.equal((await rig.planned('latin', 'é\r\n')).after, bytes(0xe9, 0x0d, 0x0a))
  rig.put('binary', 'a\0')
  for (const [path, text, why] of [
    ['latin', '→', /Latin-1, which has no U\+2192, at 0/],
    ['latin', 'Ã©', /read as another text/],
    ['binary', 'x', /not text/],
    ['new', 'a\0', /NUL/],
    ['new', '\ud800', /half of a character/],
  ] as const) {
    const change = project().changed(await rig.seen(path), text)
    assert.ok('type' in change && change.error.code === 'not_text', path)
    assert.match('type' in change ? change.error.message : '', why)
  }
})

test('a file that is too large is neither looked at nor written', async () => {
  const files = rig.open({ limits: { fileBytes: 10 } })
  rig.put('small', '0123456789')
  rig.put('large', '0123456789a')
  assert.is((await rig.seen('small', files)).text, '0123456789')
  assert.is(await rig.refusalOf('large', files), 'too_large')
  const change = files.of(rig.root).changed(await rig.seen('small', files), '0123456789a')
  assert.ok('type' in change && change.error.code === 'too_large')
})

test('evidence says the true cause of what moved (fault 28)', async () => {
  const instead = (put: () => void) => {
    rmSync(rig.at('a'))
    put()
  }
  const causes: readonly (readonly [string, () => void, RegExp])[] = [
    [
      'changed',
      () => rig.put('a', 'new'),
      /^a was changed: sha256 [0-9a-f]{12}… before, [0-9a-f]{12}… now, at \d{4}-/,
    ],
    ['deleted', () => rmSync(rig.at('a')), /^a was deleted$/],
    ['a link', () => instead(() => symlinkSync('b', rig.at('a'))), /^a was replaced by a link$/],
    ['a folder', () => instead(() => mkdirSync(rig.at('a'))), /^a was replaced by a folder$/],
    [
      'another',
      () => instead(() => renameSync(rig.at('b'), rig.at('a'))),
      /^a is another file of the same content$/,
    ],
    ['mode', () => chmodSync(rig.at('a'), 0o600), /^a has another mode: 644 before, 600 now$/],
  ]
  for (const [what, move, cause] of causes) {
    rmSync(rig.at('a'), { recursive: true, force: true })
    rig.put('a', 'old')
    chmodSync(rig.at('a'), 0o644)
    rig.put('b', 'old')
    const { evidence } = await rig.seen('a')
    assert.is(await evidence.moved(), undefined)
    move()
    assert.match((await evidence.moved()) ?? 'nothing', cause, what)
  }
})

test('evidence of a file that was not there says when it is, and of a folder when it is another (fault 28)', async () => {
  rig.put('sub/x', '')
  const { evidence } = await rig.seen('sub/new')
  assert.is(await evidence.moved(), undefined)
  rig.put('sub/new', 'x')
  assert.match((await evidence.moved()) ?? '', /^sub\/new now exists: 1 bytes, at/)
  renameSync(rig.at('sub'), rig.at('was'))
  mkdirSync(rig.at('sub'))
  assert.is(await evidence.moved(), 'sub/new is in another folder of the same name')
  symlinkSync(rig.at('was'), rig.at('link'))
  rmSync(rig.at('sub'), { recursive: true })
  renameSync(rig.at('link'), rig.at('sub'))
  assert.match((await evidence.moved()) ?? '', /^sub\/new is behind a link now, which leads to was\/new/)
  rmSync(rig.at('sub'))
  assert.is(await evidence.moved(), 'sub/new was deleted, and its folder with it')
})

test('a committed file keeps mode and owner, but not the mark to run as its owner', async () => {
  rig.put('a', 'old')
  const [uid, gid] = process.getuid?.() === 0 ? [1, 2] : [process.getuid?.() ?? 0, process.getgid?.() ?? 0]
  chownSync(rig.at('a'), uid, gid)
  chmodSync(rig.at('a'), 0o4751)
  const before = statSync(rig.at('a'))
  await rig.write('a', 'new', 'plan-a')
  const after = statSync(rig.at('a'))
  assert.equal([after.mode & 0o7777, after.uid, after.gid], [0o751, uid, gid])
  assert.is.not(after.ino, before.ino)
})

test('a new file has the mode that the umask leaves, and the state keeps what was there for its owner only', async () => {
  const umask = process.umask(0o027)
  await rig.write('new', 'new', 'plan-new')
  rig.put('a', 'old')
  await rig.write('a', 'new', 'plan-a')
  process.umask(umask)
  assert.is(statSync(rig.at('new')).mode & 0o777, 0o640)
  const undo = join(rig.state, 'undo')
  assert.is(lstatSync(undo).mode & 0o777, 0o700)
  assert.equal(readdirSync(undo).sort(), ['plan-a.0.before', 'plan-a.json', 'plan-new.json'])
  for (const name of readdirSync(undo)) assert.is(lstatSync(join(undo, name)).mode & 0o777, 0o600)
})

test('everything works alike where folders cannot be reached by their descriptors', async () => {
  const files = rig.open({ throughProc: false })
  rig.put('a', 'old')
  const changes = [await rig.planned('a', 'new', files), await rig.planned('b', 'made', files)]
  assert.is(cameTo(await files.commit({ change: 'plan-a', changes })), 'committed')
  assert.equal([rig.text('a'), rig.text('b'), rig.leftOver()], ['new', 'made', []])
  const late = await rig.planned('a', 'later', files)
  renameSync(rig.root, `${rig.root}.was`)
  mkdirSync(rig.root)
  rig.put('a', 'new')
  assert.is(cameTo(await files.commit({ change: 'plan-b', changes: [late] })), 'stale_plan')
  assert.is(rig.text('a'), 'new')
})

test('of several changes none is made where one is stale (threat 18)', async () => {
  rig.put('a', 'old')
  rig.put('b', 'old')
  const changes = [await rig.planned('a', 'new'), await rig.planned('b', 'new')]
  rig.put('b', 'theirs')
  const answer = await rig.files.commit({ change: 'plan-a', changes })
  assert.is(cameTo(answer), 'stale_plan')
  assert.match(String(answer.type === 'failed' && answer.error.details.causes), /^b was changed: sha256/)
  assert.equal([rig.text('a'), rig.text('b'), rig.leftOver()], ['old', 'theirs', []])
})

test('a change and its bytes are refused without the identity they were planned with', async () => {
  rig.put('a', 'old')
  const { identity: _, ...bare } = await rig.planned('a', 'new')
  assert.is(cameTo(await rig.files.commit({ change: 'plan-a', changes: [bare] })), 'stale_plan')
  const change = await rig.planned('a', 'new')
  let thrown: unknown
  await rig.files.commit({ change: 'plan-b', changes: [change, change] }).catch((error: unknown) => {
    thrown = error
  })
  assert.match(String(thrown), /one file twice/)
  assert.is(rig.text('a'), 'old')
})

test('turns at files are taken in order, and nobody waits for each other', async () => {
  const order: string[] = []
  const taken = async (name: string, paths: string[]) => {
    const leave = await rig.files.lock(paths)
    order.push(`${name} in`)
    await new Promise(resolve => setImmediate(resolve))
    order.push(`${name} out`)
    leave()
  }
  await Promise.all([
    taken('ab', ['/a', '/b']),
    taken('ba', ['/b', '/a']),
    taken('c', ['/c']),
    taken('A', ['/A', '/a']),
  ])
  const alone = order.filter(each => !each.startsWith('c'))
  assert.equal(alone, ['ab in', 'ab out', 'ba in', 'ba out', 'A in', 'A out'])
  assert.ok(order.indexOf('c in') < order.indexOf('ab out'))
})

test('what the state keeps is bytes as they were, whatever they are', async () => {
  rig.put('a', bytes(0xff, 0xfe, 0x61, 0))
  await rig.write('a', 'b', 'plan-a')
  assert.equal([...readFileSync(rig.at('a'))], [0xff, 0xfe, 0x62, 0])
  assert.equal([...readFileSync(join(rig.state, 'undo/plan-a.0.before'))], [0xff, 0xfe, 0x61, 0])
  writeFileSync(join(rig.state, 'undo/plan-a.0.before'), 'damaged')
  const back = await project().undone('plan-a')
  assert.match(
    back.type === 'failed' ? `${back.error.code}: ${back.error.message}` : '',
    /^not_found: .*lost what a held/,
  )
})

const undo = () => join(rig.state, 'undo')

async function back(change: string, files: Files = rig.files): Promise<Undone> {
  const undone = await files.of(rig.root).undone(change)
  if (undone.type === 'failed') throw new Error(undone.error.message)
  return undone
}

async function undoAs(name: string, change: string): Promise<string> {
  const { changes } = await back(change)
  return cameTo(await rig.files.commit({ change: name, changes }))
}

async function refusal(change: string, root = rig.root): Promise<string> {
  const undone = await rig.files.of(root).undone(change)
  return undone.type === 'failed' ? codeOf(undone) : 'undone'
}

test('an edit is undone byte for byte, and undoing it can be undone, by another daemon too', async () => {
  rig.put('a', 'old\r\n')
  await rig.write('a', 'new\r\n', 'plan-a')
  const { files, changes } = await back('plan-a', rig.open())
  assert.equal([files[0]?.shown, files[0]?.text], ['a', 'new\r\n'])
  assert.is(Buffer.from(changes[0]?.after ?? []).toString(), 'old\r\n')
  assert.is(await undoAs('plan-b', 'plan-a'), 'committed')
  assert.is(rig.text('a'), 'old\r\n')
  assert.is(await undoAs('plan-c', 'plan-b'), 'committed')
  assert.is(rig.text('a'), 'new\r\n')
})

test('a file that was made goes again, and comes back with its mode', async () => {
  await rig.write('a', 'made', 'plan-a')
  chmodSync(rig.at('a'), 0o751)
  assert.is(await undoAs('plan-b', 'plan-a'), 'committed')
  assert.is(existsSync(rig.at('a')), false)
  assert.is(await undoAs('plan-c', 'plan-b'), 'committed')
  assert.equal([rig.text('a'), statSync(rig.at('a')).mode & 0o777], ['made', 0o751])
})

test('a change is not undone where the file has moved on, and its name says what it is now (fault 28)', async () => {
  rig.put('a', 'old')
  await rig.write('a', 'new', 'plan-a')
  rig.put('a', 'later')
  const undone = await rig.files.of(rig.root).undone('plan-a')
  assert.is(undone.type === 'failed' && undone.error.code, 'stale_plan')
  assert.match(
    String(undone.type === 'failed' && undone.error.details.causes),
    /^a has moved on: plan-a left sha256 [0-9a-f]{12}…, and now it is sha256 [0-9a-f]{12}…$/,
  )
  rmSync(rig.at('a'))
  assert.is(await refusal('plan-a'), 'stale_plan')
  rig.put('a', 'old')
  assert.is(await refusal('plan-a'), 'stale_plan')
})

test('a change that is not known, or of another project, is not undone', async () => {
  rig.put('a', 'old')
  await rig.write('a', 'new', 'plan-a')
  for (const name of ['plan-b', '', '../state/undo/plan-a', 'plan-a.json', 'x'.repeat(5_000), '\0'])
    assert.is(await refusal(name), 'not_found', name)
  const other = join(rig.top, 'other')
  mkdirSync(other)
  assert.is(await refusal('plan-a', other), 'path_refused outside_project')
})

test('a change may have any name, and is kept under a plain one', async () => {
  rig.put('a', 'old')
  await rig.write('a', 'new', '../../é/\n')
  assert.is(await undoAs('plan-b', '../../é/\n'), 'committed')
  assert.is(rig.text('a'), 'old')
  assert.equal(
    readdirSync(undo()).filter(name => !/^(named-[0-9a-f]{64}|plan-b)\.(json|0\.before)$/.test(name)),
    [],
  )
})

test('one name is used for one change only', async () => {
  rig.put('a', 'old')
  await rig.write('a', 'new', 'plan-a')
  const change = await rig.planned('a', 'newer')
  let thrown: unknown
  await rig.files.commit({ change: 'plan-a', changes: [change] }).catch((error: unknown) => {
    thrown = error
  })
  assert.match(String(thrown), /carried out before/)
  assert.is(rig.text('a'), 'new')
  assert.equal((await back('plan-a')).changes.length, 1)
})

test('what is kept is bounded in bytes and in days, the oldest going first', async () => {
  const small = { undoBytes: 1_000, undoMs: 60_000, fileBytes: 1_000 }
  rig.close()
  rig = new FilesRig({ limits: small })
  const names = () => readdirSync(undo()).filter(name => name.endsWith('.json'))
  for (const [name, age] of [
    ['one', 50],
    ['two', 40],
    ['three', 10],
  ] as const) {
    rig.put('a', name.padEnd(250))
    await rig.write('a', 'x', name)
    const then = Date.now() / 1_000 - age
    for (const file of readdirSync(undo()).filter(each => each.startsWith(`${name}.`)))
      utimesSync(join(undo(), file), then, then)
  }
  assert.equal(names().sort(), ['three.json', 'two.json'])
  const later = rig.open({ limits: small, now: () => Date.now() + 25_000 })
  await later.commit({ change: 'four', changes: [await rig.planned('b', 'y')] })
  assert.equal(names().sort(), ['four.json', 'three.json'])
  assert.is(await refusal('one'), 'not_found')
  assert.is(await refusal('three'), 'undone')
})

test('two files are made in one new folder at once, and taken away with it', async () => {
  const changes = [await making(rig, 'lib/a.py'), await making(rig, 'lib/deep/b.py')]
  assert.is(cameTo(await rig.files.commit({ change: 'plan-a', changes })), 'committed')
  assert.equal([rig.text('lib/a.py'), rig.text('lib/deep/b.py')], ['made', 'made'])
  const back = await changesBack(rig, rig.open(), 'plan-a')
  assert.is(cameTo(await rig.files.commit({ change: 'plan-b', changes: back })), 'committed')
  assert.is(existsSync(rig.at('lib')), false)
})

test('however many folders are said to be kept of it, none that the project lies in goes with a file', async () => {
  await rig.files.commit({ change: 'plan-a', changes: [await making(rig, 'lib/a.py')] })
  const record = join(rig.state, 'undo/plan-a.json')
  writeFileSync(record, readFileSync(record, 'utf8').replace('"folders":1', '"folders":9'))
  const back = await changesBack(rig, rig.open(), 'plan-a')
  assert.equal(back[0]?.identity?.folders, 1)
  assert.is(cameTo(await rig.files.commit({ change: 'plan-b', changes: back })), 'committed')
  assert.equal([existsSync(rig.at('lib')), existsSync(rig.root)], [false, true])
})

test('a file that is moved keeps its owner, and so does one that comes back', async () => {
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
})
