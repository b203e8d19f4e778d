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
import { type AttachRequest, attachKernel, rejoinKernel } from '../../wire/kernels/attach.ts'
import type { FramedKernel } from '../../wire/kernels/framed.ts'
import { isReachable, readAnnouncements, secretOf } from '../../wire/kernels/programs.ts'
import { startOf } from '../../wire/process-start.ts'
import { blackHole } from '../support/black-hole.ts'
import type { FakePeer, Script } from '../support/fake-peer.ts'
import {
  endPrograms,
  type FakeProgram,
  type FakeProgramOptions,
  fakeProgram,
} from '../support/fake-program.ts'
import { DONE, until } from '../support/framed-pair.ts'
import { assert, suite } from '../support/harness.ts'
import { codeOf, evaluate } from '../support/heard.ts'

const test = suite('announcements')
const ofJoining = suite('joining programs')

const joined: FramedKernel[] = []
let runtimeDir = ''

for (const one of [test, ofJoining]) {
  one.before.each(() => {
    runtimeDir = mkdtempSync(join(tmpdir(), 'imago-programs-'))
  })
  one.after.each(async () => {
    for (const kernel of joined.splice(0)) await kernel.close()
    await endPrograms()
    rmSync(runtimeDir, { recursive: true, force: true })
  })
}

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

test('the start of a process tells the one that announced itself from another of that number (threat 29)', async () => {
  await fakeProgram({ runtimeDir, name: 'gone', announced: { pid: await deadPid() } })
  await fakeProgram({ runtimeDir, name: 'recycled', announced: { started: 'another-boot:1' } })
  await fakeProgram({ runtimeDir, name: 'untold', announced: { started: '' } })
  const said = Object.fromEntries(read().programs.map(({ name, process }) => [name, process]))
  assert.equal(said, { gone: 'gone', recycled: 'recycled', untold: 'lives' })
})

test('programs are by name, and of one name in the order in which they began, also where process numbers began again', async () => {
  for (const [name, pid, minute] of [
    ['web', 307, 2],
    ['web', 32_761, 1],
    ['jobs', 500, 3],
  ] as const) {
    const announced_at = new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString()
    await fakeProgram({ runtimeDir, name, announced: { pid, announced_at } })
  }
  assert.equal(
    read().programs.map(({ pid }) => pid),
    [500, 32_761, 307],
  )
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

// Joining them

const LOOK = { deadlineMs: 2_000 }
/** So short that a test need not wait for it. */
const LIMITS = { againMs: 5, mostMs: 20, heartbeatMs: 40, awaitLinkMs: 50 }

const listening = (options: Partial<FakeProgramOptions> = {}) => fakeProgram({ runtimeDir, ...options })

const requestFor = ({ address, secret }: Pick<FakeProgram, 'address' | 'secret'>): AttachRequest => ({
  name: 'web',
  reach: () => ({ address, secret }),
  limits: LIMITS,
})

async function attached(program: FakeProgram, more: Partial<AttachRequest> = {}): Promise<FramedKernel> {
  const kernel = await attachKernel({ ...requestFor(program), ...more })
  joined.push(kernel)
  return kernel
}

/** The first daemon that a program has let in. */
async function peerOf({ peers }: FakeProgram): Promise<FakePeer> {
  await until(() => peers.length > 0)
  const [peer] = peers
  if (peer === undefined) throw new Error('nobody was let in')
  return peer
}

/** Remembers calls by name, as a peer does: what runs once is asked for again and again. */
function remembering(): { script: Script; ran: string[] } {
  const ran: string[] = []
  return {
    ran,
    script: {
      evaluate: ({ params }) => void ran.push((params as { call: string }).call),
      recall: ({ id, params }, peer) => {
        const { call } = params as { call: string }
        if (ran.includes(call)) peer.answer(id, DONE)
        else peer.fail(id, 'unknown_call')
      },
      globals: ({ id }, peer) => peer.answer(id, { type: 'found', value: { globals: [], total: 0 } }),
    },
  }
}

ofJoining(
  'a program that listens is joined over either kind of address, and says that it is not ours',
  async () => {
    for (const address of [undefined, 'tcp:127.0.0.1:0']) {
      const program = await listening({ script: remembering().script, ...(address && { address }) })
      const kernel = await attached(program)
      assert.is(kernel.identity.attached, true)
      assert.is(kernel.identity.epoch, '0badcafe')
      assert.is(kernel.health, 'responsive')
      assert.is((await kernel.look('globals', { modules: false, limit: 5 }, LOOK)).type, 'found')
    }
  },
)

ofJoining('closing lets go of the program: it is asked for nothing, and goes on listening', async () => {
  const program = await listening()
  const kernel = await attached(program)
  const peer = await peerOf(program)
  await kernel.close()
  assert.is((await kernel.ended).reason, 'closed')
  await peer.ended
  assert.equal(
    peer.received.map(({ type }) => type),
    ['bye'],
  )
  assert.is((await attached(program)).health, 'responsive')
})

ofJoining('a program that serves another daemon says so, in its own words', async () => {
  const program = await listening()
  program.refuse({ code: 'occupied', message: 'another daemon is attached' })
  const error = await attachKernel(requestFor(program)).catch(error => error)
  assert.is(error.code, 'REMOTE_FAULT')
  assert.equal(error.remote, { code: 'occupied', message: 'another daemon is attached', data: undefined })
})

ofJoining(
  'a program that cannot be reached for a while is tried again, wherever it then listens',
  async () => {
    const program = await listening({ script: remembering().script })
    const news: (string | null)[] = []
    const reach = { address: program.address, secret: program.secret }
    const kernel = await attached(program, { reach: () => reach, away: why => news.push(why) })
    await program.crash()
    await until(() => news.length >= 4)
    assert.match(news.at(-1) ?? '', 'cannot be connected to')
    const moved = await listening({ script: remembering().script, address: 'tcp:127.0.0.1:0' })
    Object.assign(reach, { address: moved.address, secret: moved.secret })
    await until(() => news.at(-1) === null)
    assert.is((await kernel.look('globals', { modules: false, limit: 5 }, LOOK)).type, 'found')
  },
)

ofJoining(
  'an evaluation that comes while the link is broken waits a little, and then says that nothing was sent',
  async () => {
    const { script, ran } = remembering()
    const program = await listening({ script })
    const broken = new Promise<void>(resolve => {
      void attached(program, { away: () => resolve() }).then(() => program.crash())
    })
    await broken
    const [kernel] = joined
    if (!kernel) throw new Error('it was not attached')
    assert.is(await codeOf(evaluate(kernel, '1').result), 'UNRESPONSIVE')
    assert.equal(ran, [])
    await program.listen()
    const late = evaluate(kernel, '2')
    await until(() => ran.length === 1)
    program.peers.at(-1)?.die()
    assert.is((await late.result).type, 'done')
  },
)

ofJoining(
  'a program that was started again is another image: it is told, and not joined by itself',
  async () => {
    const program = await listening()
    const reach = { address: program.address, secret: program.secret }
    const kernel = await attached(program, { reach: () => reach })
    const other = await listening({ epoch: '11112222' })
    Object.assign(reach, { address: other.address, secret: other.secret })
    await program.crash()
    const { reason, message } = await kernel.ended
    assert.is(reason, 'lost')
    assert.match(message, 'another image')
    await (await peerOf(other)).ended
  },
)

ofJoining(
  'a program that is known to have ended is lost, with how, and its evaluations with it',
  async () => {
    const { script, ran } = remembering()
    const program = await listening({ script })
    let gone: string | undefined
    const kernel = await attached(program, { gone: () => gone })
    const heard = evaluate(kernel, 'work()')
    await until(() => ran.length === 1)
    gone = 'web has ended (process 42).'
    await program.crash()
    assert.equal(await kernel.ended, { reason: 'exited', message: gone })
    assert.is(await codeOf(heard.result), 'LINK_CLOSED')
  },
)

ofJoining(
  'a link through which nothing comes any more is given up, and the evaluation is asked for over another (fault 15)',
  async () => {
    const { script, ran } = remembering()
    const program = await listening({ script, address: 'tcp:127.0.0.1:0' })
    const hole = await blackHole({ to: program.address })
    const news: (string | null)[] = []
    const through = { address: hole.address, secret: program.secret }
    const kernel = await attached(program, { reach: () => through, away: why => news.push(why) })
    const heard = evaluate(kernel, 'work()')
    await until(() => ran.length === 1)
    hole.swallow()
    assert.is((await heard.result).type, 'done')
    assert.equal(ran, [heard.call])
    assert.match(news[0] ?? '', 'nothing came for 80 ms')
    hole.close()
  },
)

ofJoining('an image of before is joined as soon as it is there, and only that one', async () => {
  const program = await listening()
  await program.crash()
  const news: (string | null)[] = []
  const { signal } = new AbortController()
  const again = { ...requestFor(program), away: (why: string | null) => void news.push(why), signal }
  const joining = rejoinKernel({ ...again, epoch: '0badcafe' })
  await until(() => news.length >= 2)
  await program.listen()
  const kernel = await joining
  if (typeof kernel === 'string') throw new Error(kernel)
  joined.push(kernel)
  assert.is(kernel.identity.epoch, '0badcafe')
  await kernel.close()
  const other = await rejoinKernel({ ...again, epoch: '99999999' })
  assert.match(String(other), 'another image')
})

ofJoining('joining again ends where it never can succeed, or is not wanted any more', async () => {
  const program = await listening()
  const { signal } = new AbortController()
  const again = { ...requestFor(program), epoch: '0badcafe', signal }
  assert.is(await rejoinKernel({ ...again, gone: () => 'It has ended.' }), 'It has ended.')
  const wrong = { address: program.address, secret: 'f'.repeat(64) }
  assert.match(String(await rejoinKernel({ ...again, reach: () => wrong })), 'another secret')
  await program.crash()
  const stop = new AbortController()
  const trying = rejoinKernel({ ...again, signal: stop.signal, away: () => stop.abort() })
  assert.is(await trying, 'web was let go of.')
})
