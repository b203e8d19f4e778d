import { spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { isReachable, readAnnouncements, secretOf } from '../../wire/kernels/programs.ts'
import { startOf } from '../../wire/process-start.ts'
import { endPrograms, fakeProgram } from '../support/fake-program.ts'
import { assert, suite } from '../support/harness.ts'
import { codeOf } from '../support/heard.ts'

const test = suite('announcements')

let runtimeDir = ''

test.before.each(() => {
  runtimeDir = mkdtempSync(join(tmpdir(), 'imago-announced-'))
})
test.after.each(async () => {
  await endPrograms()
  rmSync(runtimeDir, { recursive: true, force: true })
})

const read = () => readAnnouncements(runtimeDir)
const names = () => read().programs.map(({ name }) => name)

/** What is said of a file among the announcements. */
function reasonFor(file: string): string {
  return read().skipped.find(skipped => skipped.file === file)?.reason ?? 'it was not skipped'
}

/** A process number that nobody has. */
async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ['-e', ''])
  await new Promise(resolve => child.once('exit', resolve))
  return child.pid ?? 0
}

test('a program that listens is there with all it has announced, but for its secret', async () => {
  const { file, address, secret } = await fakeProgram({ runtimeDir })
  const { programs, skipped } = read()
  assert.equal(skipped, [])
  const [program] = programs
  if (!program) throw new Error('it is not there')
  assert.equal(
    { ...program, announced_at: '' },
    {
      file,
      name: 'web',
      language: 'python',
      implementation: 'CPython, played by a test',
      pid: process.pid,
      started: startOf(process.pid),
      address,
      epoch: '0badcafe',
      cwd: '/somewhere',
      program: 'web.py',
      announced_at: '',
      keyed: false,
      process: 'lives',
    },
  )
  assert.not.match(JSON.stringify(programs), secret)
  assert.is(secretOf(program), secret)
})

test('where nothing was ever announced there is nothing, and nothing is made', () => {
  assert.equal(read(), { programs: [], skipped: [] })
  assert.is(existsSync(join(runtimeDir, 'programs')), false)
})

test('programs come by name and process, however many there are', async () => {
  for (const name of ['web', 'jobs', 'web']) await fakeProgram({ runtimeDir, name })
  assert.equal(names(), ['jobs', 'web', 'web'])
})

test('the start of a process tells the one that announced itself from another of that number (threat 29)', async () => {
  await fakeProgram({ runtimeDir, name: 'gone', announced: { pid: await deadPid() } })
  await fakeProgram({ runtimeDir, name: 'recycled', announced: { started: 'another-boot:1' } })
  await fakeProgram({ runtimeDir, name: 'untold', announced: { started: '' } })
  const said = Object.fromEntries(read().programs.map(({ name, process }) => [name, process]))
  assert.equal(said, { gone: 'gone', recycled: 'recycled', untold: 'lives' })
})

test('what a program that has ended left over is removed, with its socket', async () => {
  for (const announced of [{ pid: await deadPid() }, { started: 'another-boot:1' }]) {
    const { file, crash } = await fakeProgram({ runtimeDir, announced })
    const socket = file.replace(/json$/, 'sock')
    await crash()
    writeFileSync(socket, '')
    const [program] = read().programs
    assert.is(program && (await isReachable(program)), false)
    assert.equal([existsSync(file), existsSync(socket)], [false, false])
  }
})

test('a port that refuses leaves nothing over of a program whose process has ended since this machine began', async () => {
  const [boot] = (startOf(process.pid) ?? '').split(':')
  for (const announced of [{ pid: await deadPid() }, { started: `${boot}:1` }]) {
    const { file, crash } = await fakeProgram({ runtimeDir, address: 'tcp:127.0.0.1:0', announced })
    await crash()
    const [program] = read().programs
    assert.is(program && (await isReachable(program)), false)
    assert.is(existsSync(file), false)
  }
})

test('an announcement is kept as long as its program may live: it answers, its process is there, or its port is of another boot', async () => {
  const answers = await fakeProgram({ runtimeDir, name: 'a', announced: { pid: await deadPid() } })
  const lives = await fakeProgram({ runtimeDir, name: 'b' })
  const port = await fakeProgram({
    runtimeDir,
    name: 'c',
    address: 'tcp:127.0.0.1:0',
    announced: { pid: await deadPid(), started: 'another-boot:1' },
  })
  await lives.crash()
  await port.crash()
  const reachable = await Promise.all(read().programs.map(isReachable))
  assert.equal(reachable, [true, false, false])
  assert.equal(
    [answers, lives, port].map(({ file }) => existsSync(file)),
    [true, true, true],
  )
})

test('a symbolic link is no announcement, wherever it leads (threat 28)', async () => {
  const { file } = await fakeProgram({ runtimeDir })
  const link = join(runtimeDir, 'programs', 'link.json')
  symlinkSync(file, link)
  assert.is(reasonFor(link), 'is a symbolic link')
  assert.equal(names(), ['web'])
})

test('an announcement that others can write or read is passed over (threat 28)', async () => {
  for (const mode of [0o620, 0o604, 0o640, 0o666]) {
    const { file } = await fakeProgram({ runtimeDir })
    chmodSync(file, mode)
    assert.is(reasonFor(file), `is open to others (mode ${mode.toString(8)}, and should be 600)`)
  }
  assert.equal(names(), [])
})

test('an announcement of another user is passed over (threat 28)', async () => {
  const { file } = await fakeProgram({ runtimeDir })
  const { getuid } = process
  if (getuid === undefined) throw new Error('there are no users here')
  process.getuid = () => 4_242
  try {
    // The folder is not that user's either, and is enough to be refused.
    assert.match(read().skipped[0]?.reason ?? '', /^belongs to user \d+, not to you$/)
    assert.equal(names(), [])
  } finally {
    process.getuid = getuid
  }
  assert.is(reasonFor(file), 'it was not skipped')
})

test('a folder that is open to others, or a link, holds no announcements at all (threat 28)', async () => {
  await fakeProgram({ runtimeDir })
  const folder = join(runtimeDir, 'programs')
  chmodSync(folder, 0o770)
  assert.is(reasonFor(folder), 'is open to others (mode 770, and should be 700)')
  assert.equal(names(), [])
  chmodSync(folder, 0o700)
  const other = join(runtimeDir, 'other')
  mkdirSync(other, { mode: 0o700 })
  symlinkSync(folder, join(other, 'programs'))
  assert.equal(readAnnouncements(other).programs, [])
  assert.is(readAnnouncements(other).skipped[0]?.reason, 'is a symbolic link')
})

test('what is malformed is passed over with its reason, and hides nothing else', async () => {
  await fakeProgram({ runtimeDir, name: 'sound' })
  const put = (name: string, text: string) => {
    const file = join(runtimeDir, 'programs', `${name}.json`)
    writeFileSync(file, text, { mode: 0o600 })
    return file
  }
  assert.is(reasonFor(put('empty', '')), 'is not JSON')
  assert.is(reasonFor(put('cut', '{"imago":1,"name":"we')), 'is not JSON')
  assert.is(reasonFor(put('null', 'null')).startsWith('is no announcement: '), true)
  assert.is(reasonFor(put('newer', '{"imago":2}')), 'is of version 2, and this Imago knows version 1')
  assert.is(reasonFor(put('large', ' '.repeat(20_000))).startsWith('is larger than 16384 bytes'), true)
  mkdirSync(join(runtimeDir, 'programs', 'folder.json'))
  assert.is(reasonFor(join(runtimeDir, 'programs', 'folder.json')), 'is no file')
  put('.new-1', '{}')
  writeFileSync(join(runtimeDir, 'programs', 'notes.txt'), 'not an announcement', { mode: 0o600 })
  for (const [field, value] of [
    ['name', ''],
    ['pid', 0],
    ['pid', '42'],
    ['address', 'tcp:10.0.0.1:80'],
    ['address', 'unix:relative'],
    ['secret', 'short'],
    ['epoch', 'ZZ'],
    ['cwd', undefined],
  ] as const) {
    const { file } = await fakeProgram({ runtimeDir, announced: { [field]: value } })
    assert.match(reasonFor(file), new RegExp(`^is no announcement: ${field}: `))
  }
  assert.equal(names(), ['sound'])
})

test('the announcement that docs/wire.md shows is one', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/wire.md'), 'utf8')
  const [, example = ''] = /^```json announcement\n(.*?)^```/ms.exec(page) ?? []
  mkdirSync(join(runtimeDir, 'programs'), { mode: 0o700 })
  writeFileSync(join(runtimeDir, 'programs', '4242-3f0a.json'), example, { mode: 0o600 })
  assert.equal(read().skipped, [])
  assert.equal(names(), ['web'])
})

test('a field that this version does not know changes nothing', async () => {
  await fakeProgram({ runtimeDir, announced: { mood: 'fine' } })
  assert.equal(names(), ['web'])
})

test('the secret is read anew: one taken back, of another life, or kept by its owner is told apart', async () => {
  const { file } = await fakeProgram({ runtimeDir })
  const [program] = read().programs
  if (!program) throw new Error('it is not there')
  assert.is(
    await codeOf(Promise.resolve().then(() => secretOf({ ...program, epoch: '00000000' }))),
    'LINK_REFUSED',
  )
  rmSync(file)
  assert.is(await codeOf(Promise.resolve().then(() => secretOf(program))), 'LINK_REFUSED')
  await fakeProgram({ runtimeDir, announced: { secret: undefined } })
  const [keyed] = read().programs
  if (!keyed) throw new Error('it is not there')
  assert.is(keyed.keyed, true)
  assert.is(await codeOf(Promise.resolve().then(() => secretOf(keyed))), 'NOT_AUTHENTICATED')
  assert.is(basename(keyed.file).endsWith('.json'), true)
})
