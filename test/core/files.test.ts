import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { NO_FILES } from '../../src/files/files.ts'
import { decode, encode } from '../../src/files/look.ts'
import type { TextEncoding } from '../../tools/contract.ts'
import { cameTo, FilesRig } from '../support/files-rig.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('files')

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

test('how the lines of a file end is told', async () => {
  const known = [
    ['a', 'none'],
    ['a\n', '\n'],
    ['a\r\nb\r\n', '\r\n'],
    ['a\rb', '\r'],
    ['a\r\nb\n', 'mixed'],
    ['\r\r\n', 'mixed'],
  ] as const
  for (const [text, newline] of known) {
    rig.put('a', text)
    assert.is((await rig.seen('a')).newline, newline, JSON.stringify(text))
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

test('the hash of evidence is of identity and content, and differs with either', async () => {
  const hashes = new Set<string>()
  rig.put('a', 'x')
  rig.put('b', 'x')
  hashes.add((await rig.seen('a')).evidence.hash)
  assert.is((await rig.seen('a')).evidence.hash, [...hashes][0])
  hashes.add((await rig.seen('b')).evidence.hash)
  hashes.add((await rig.seen('none')).evidence.hash)
  chmodSync(rig.at('a'), 0o600)
  hashes.add((await rig.seen('a')).evidence.hash)
  rig.put('a', 'y')
  hashes.add((await rig.seen('a')).evidence.hash)
  assert.is(hashes.size, 5)
  for (const hash of hashes) assert.match(hash, /^[0-9a-f]{64}$/)
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

test('without files everything is refused, and says so', async () => {
  const seen = await NO_FILES.of('/x').look('a')
  assert.is(seen.type === 'failed' && seen.error.details.reason, 'no_files')
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
