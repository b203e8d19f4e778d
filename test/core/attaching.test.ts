import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Attach } from '../../src/kernels/attach.ts'
import { KernelError } from '../../src/kernels/kernel-error.ts'
import { type Kernels, openKernels } from '../../src/kernels/kernels.ts'
import { openRemembered } from '../../src/kernels/remembered.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { WireError } from '../../wire/errors.ts'
import { FakeLauncher } from '../support/fake-launcher.ts'
import { FakePrograms } from '../support/fake-programs.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('attached kernels')

let folder = ''

let shop = ''

let launcher = new FakeLauncher()

let programs = new FakePrograms()

let logged: string[] = []

let kernels: Kernels = openKernels({ launch: launcher.launch })

/** Another daemon on the same state. */
function open(): Kernels {
  launcher = new FakeLauncher()
  const remembered = openRemembered({ stateDir: folder, log: sentence => logged.push(sentence) })
  return openKernels({ launch: launcher.launch, home: join(folder, 'home'), programs, remembered })
}

test.before.each(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-attaching-')))
  shop = join(folder, 'shop')
  for (const name of ['shop', 'home']) mkdirSync(join(folder, name))
  programs = new FakePrograms()
  logged = []
  kernels = open()
})

test.after.each(async () => {
  await kernels.close()
  rmSync(folder, { recursive: true, force: true })
})

const attach = (target: string, more: Partial<Attach> = {}) => kernels.attach({ target, root: shop, ...more })

const here = (name?: string) => ({ root: shop, env: {}, name })

const kept = () => JSON.parse(readFileSync(join(folder, 'attached.json'), 'utf8')).attached

const turn = () => new Promise(resolve => setImmediate(resolve))

async function refusal(work: Promise<unknown>): Promise<KernelError> {
  try {
    await work
  } catch (error) {
    if (error instanceof KernelError) return error
    throw error
  }
  throw new Error('it was not refused')
}

test('a program is attached to by its name, its process, both, or its address, and is then a kernel like others', async () => {
  const { pid, address } = programs.announce()
  const idle = { script: null, script_state: null, running: null, suspended: 0 }
  for (const target of ['web', String(pid), `web-${pid}`, address]) {
    const row = await attach(target)
    assert.equal(row, {
      name: 'web',
      language: 'python',
      implementation: 'CPython 3.11.7',
      state: 'ready',
      pid: 1000 + programs.kernels.length,
      epoch: `0000000${programs.kernels.length}`,
      owned: false,
      attached: { address, announced: 'web', program: '/srv/shop/server.py', cwd: '/srv/shop' },
      root: shop,
      ...idle,
      message: null,
      background: null,
    })
    assert.equal(kernels.list(), [row])
    await kernels.detach('web')
  }
  assert.is(launcher.requests.length, 0)
})

test('calls that name no kernel go to the program that was attached in their root', async () => {
  programs.announce()
  await attach('web')
  const { name, kernel } = await kernels.resolve(here())
  assert.is(name, 'web')
  assert.is(kernel.identity.epoch, programs.latest.identity.epoch)
  assert.is(kernels.living(here())?.name, 'web')
  assert.is((await kernels.resolve({ root: join(folder, 'home'), env: {}, name: 'web' })).name, 'web')
  assert.is(launcher.requests.length, 0)
  await kernels.start({ ...here(), language: 'python' })
  const { details } = await refusal(kernels.resolve(here()))
  assert.equal(details.kernels, ['python', 'web'])
})

test('two programs of one name are told apart by their processes, and neither is chosen', async () => {
  programs.announce({ pid: 500 })
  programs.announce({ pid: 501, cwd: '/srv/other' })
  const { code, message, next, details } = await refusal(attach('web'))
  assert.is(code, 'no_such_kernel')
  assert.is(message, '2 programs are called "web": web-500 (in /srv/shop), web-501 (in /srv/other).')
  assert.is(next, 'Name one: imago attach web-500')
  assert.equal(details.announced, ['web-500', 'web-501'])
  assert.is((await attach('web-501')).name, 'web')
  assert.is((await attach('500')).name, 'web-500')
  assert.is((await kernels.announced()).announced.length, 0)
})

test('a program that listens twice is one program, as it announced itself last', async () => {
  programs.announce({ pid: 500, address: 'unix:/old.sock' })
  const later = {
    pid: 500,
    epoch: '00000500',
    address: 'unix:/new.sock',
    announced_at: '2026-01-02T00:00:00Z',
  }
  programs.announce(later)
  assert.is((await attach('web')).attached?.address, 'unix:/new.sock')
})

test('what has announced itself is listed until it is attached, with the word that stands for it alone', async () => {
  programs.announce({ name: 'jobs', pid: 500 })
  programs.announce({ pid: 501 })
  programs.announce({ pid: 502 })
  programs.skipped.push({ file: '/run/programs/x.json', reason: 'is a symbolic link' })
  const listed = await kernels.announced()
  assert.equal(
    listed.announced.map(({ attach }) => attach),
    ['jobs', 'web-501', 'web-502'],
  )
  assert.equal(listed.skipped, programs.skipped)
  assert.is('secret' in (listed.announced[0] ?? {}), false)
  await attach('jobs')
  assert.equal(
    (await kernels.announced()).announced.map(({ name }) => name),
    ['web', 'web'],
  )
  await kernels.detach('jobs')
  assert.is((await kernels.announced()).announced.length, 3)
})

test('a call for a program that nobody has attached says how to', async () => {
  programs.announce()
  for (const work of [
    () => kernels.resolve(here('web')),
    () => kernels.stop('web'),
    () => kernels.interrupt('web-500'),
  ]) {
    const { code, next } = await refusal(work())
    assert.is(code, 'no_such_kernel')
    assert.is(next, 'imago attach web')
  }
})

test('a name that nobody announced is refused with what there is, and with what was passed over', async () => {
  programs.announce()
  programs.skipped.push({ file: '/run/programs/x.json', reason: 'is a symbolic link' })
  const { code, message, next } = await refusal(attach('wob'))
  assert.is(code, 'no_such_kernel')
  assert.is(
    message,
    'No program has announced itself as "wob". There are: web. /run/programs/x.json is a symbolic link, and is not looked at.',
  )
  assert.is(next, 'Did you mean web?')
  programs.announced = []
  assert.match((await refusal(attach('wob'))).next ?? '', /imago\.listen\(\) .*: imago attach swank:/)
})

test('a program whose process is gone, or has another one in its place, is not attached to and not signalled', async () => {
  const gone = programs.announce({ name: 'gone', process: 'gone' })
  const recycled = programs.announce({ name: 'recycled', process: 'recycled' })
  programs.silent.add(gone.address).add(recycled.address)
  const ended = await refusal(attach('gone'))
  assert.is(ended.code, 'no_such_kernel')
  assert.is(ended.details.reason, 'ended')
  assert.match(ended.message, 'process 500 is gone')
  const other = await refusal(attach('recycled'))
  assert.is(other.details.reason, 'recycled')
  assert.match(other.message, '501 is the number of another process now, which was left alone')
  assert.equal(programs.joinings, [])
  assert.equal((await kernels.announced()).announced, [])
})

test('a program in another process namespace is not seen, and is attached to all the same if it answers', async () => {
  programs.announce({ process: 'gone' })
  assert.is((await attach('web')).state, 'ready')
  assert.equal(programs.joinings[0]?.process, { pid: 500, started: 'boot:500', seen: false })
})

test('attaching twice is told as what it is attached already', async () => {
  programs.announce()
  await attach('web', { name: 'shop-server' })
  for (const target of ['web', '500', 'unix:/run/programs/500.sock']) {
    const { message, next, details } = await refusal(attach(target))
    assert.is(message, 'Process 1001 is attached already, as shop-server.')
    assert.is(next, 'Use it with: --kernel shop-server')
    assert.is(details.reason, 'attached_already')
  }
  assert.is(programs.joinings.length, 1)
})

test('why a program could not be attached to is said of that program, and leaves nothing behind', async () => {
  programs.announce()
  const faults: readonly (readonly [WireError, string, RegExp])[] = [
    [
      new WireError('REMOTE_FAULT', 'x', {
        remote: { code: 'occupied', message: 'another daemon', data: null },
      }),
      'occupied',
      /^web \(process 500\) is attached to another daemon, or under another address: another daemon$/,
    ],
    [new WireError('NOT_AUTHENTICATED', 'It hung up.'), 'NOT_AUTHENTICATED', /^web \(process 500\) was not/],
    [new WireError('LINK_REFUSED', 'ECONNREFUSED'), 'LINK_REFUSED', /cannot be reached/],
    [new WireError('HANDSHAKE_TIMEOUT', 'late'), 'HANDSHAKE_TIMEOUT', /frozen, or its interpreter is held/],
    [new WireError('VERSION_MISMATCH', 'update it'), 'VERSION_MISMATCH', /update it/],
  ]
  for (const [fault, reason, message] of faults) {
    programs.failures.push(fault)
    const error = await refusal(attach('web'))
    assert.is(error.code, 'kernel_unavailable')
    assert.is(error.details.reason, reason)
    assert.match(error.message, message)
    assert.ok(error.next)
  }
  assert.equal(kernels.list(), [])
})

test('an address that nobody announced, and a program with a key of its own, need the key', async () => {
  const { address } = programs.announce({ keyed: true })
  for (const target of ['web', address, 'tcp:localhost:7000']) {
    const { message, next, details } = await refusal(attach(target))
    assert.is(details.reason, 'needs_key')
    assert.match(message, 'that key is needed to attach')
    assert.is(next, 'Give it with --key-file FILE, or in $IMAGO_KEY')
  }
  const row = await attach('tcp:localhost:7000', { key: 'k'.repeat(32) })
  assert.is(row.name, 'program')
  assert.equal(row.attached, { address: 'tcp:127.0.0.1:7000', announced: null, program: null, cwd: null })
  assert.is(programs.joinings[0]?.key, 'k'.repeat(32))
  assert.is((await attach('web', { key: 'k'.repeat(32) })).name, 'web')
})

test('a key from the environment stands back behind what is announced; one in a file that was named does not', async () => {
  programs.announce()
  await attach('web', { key: 'environment' })
  await kernels.detach('web')
  programs.failures.push(new WireError('NOT_AUTHENTICATED', 'It hung up.'))
  const error = await refusal(attach('web', { key: 'file', keyFile: '/keys/web' }))
  assert.match(error.message, 'does not know the key that was given')
  assert.equal(
    programs.joinings.map(({ key }) => key),
    [undefined, 'file'],
  )
})

test('a name that is taken gets the process number behind it; one that a person gives is checked', async () => {
  await kernels.start({ ...here('web'), language: 'python' })
  programs.announce()
  assert.is((await attach('web')).name, 'web-500')
  programs.announce({ name: 'a b/c', pid: 501 })
  assert.is((await attach('501')).name, 'a-b-c')
  programs.announce({ pid: 502 })
  assert.is((await refusal(attach('502', { name: 'web' }))).details.reason, 'name_taken')
  assert.is((await refusal(attach('502', { name: '../x' }))).details.reason, 'bad_name')
})

test('an attached program is never stopped or restarted: that is refused, and detach is named', async () => {
  programs.announce()
  await attach('web')
  for (const work of [() => kernels.stop('web'), () => kernels.restart('web')]) {
    const { code, message, next, details, retryable } = await refusal(work())
    assert.is(code, 'kernel_unavailable')
    assert.is(details.reason, 'not_owned')
    assert.match(message, 'a program of yours that Imago is attached to, and Imago never ends such a program')
    assert.is(next, 'imago detach web lets go of it, and it runs on')
    assert.is(retryable, false)
  }
  assert.is(programs.latest.health, 'responsive')
  await kernels.start({ ...here('own'), language: 'python' })
  assert.is((await refusal(kernels.detach('own'))).details.reason, 'owned')
})

test('what runs in it is shown and can be interrupted, as in any kernel', async () => {
  programs.announce()
  await attach('web')
  const { kernel } = await kernels.resolve(here())
  const work = { type: 'source', source: '1' } as const
  const running = kernel.evaluate({ call: 'c1' as CallId, who: 'test', work }, {})
  assert.is(kernels.list()[0]?.state, 'busy')
  assert.is((await kernels.interrupt('web')).outcome, 'stopped')
  programs.latest.finish('c1' as CallId)
  await running
  assert.match((await kernels.interrupt('web')).message, 'what the program does by itself goes on')
})

test('while its link is made again it is away, calls wait for it, and the row says why', async () => {
  programs.announce()
  await attach('web')
  programs.joinings[0]?.away('the connection broke.')
  const [row] = kernels.list()
  assert.is(row?.state, 'away')
  assert.is(row?.message, 'Its link is being made again: the connection broke.')
  assert.is(kernels.living(here()), undefined)
  assert.match((await refusal(attach('web'))).message, 'Its link is being made again at this moment')
  assert.is((await refusal(kernels.interrupt('web'))).details.reason, 'away')
  const waiting = kernels.resolve(here())
  programs.joinings[0]?.away(null)
  assert.is((await waiting).name, 'web')
  assert.is(kernels.list()[0]?.state, 'ready')
})

test('a program that ends is told, is meant by no call in its place, and can be attached to when it runs again', async () => {
  programs.announce()
  await attach('web', { name: 'server' })
  programs.latest.die({ reason: 'exited', message: 'server has ended (process 500).' })
  await turn()
  const [row] = kernels.list()
  assert.is(row?.state, 'ended')
  assert.is(
    row?.message,
    'server has ended (process 500). Once it listens again: imago attach web --name server',
  )
  for (const name of [undefined, 'server']) {
    const { code, details, next } = await refusal(kernels.resolve(here(name)))
    assert.is(code, 'kernel_unavailable')
    assert.is(details.reason, 'ended')
    assert.is(next, 'Once it listens again: imago attach web --name server')
  }
  assert.is(launcher.requests.length, 0)
  assert.equal(kept(), [])
  programs.announced = []
  programs.announce({ pid: 600 })
  assert.is((await attach('web', { name: 'server' })).state, 'ready')
  assert.is(kernels.list().length, 1)
})

test('detaching forgets the name of what has ended, and lets go of what lives', async () => {
  programs.announce()
  await attach('web')
  const row = await kernels.detach('web')
  assert.is(row.state, 'ready')
  assert.is(programs.latest.health, 'ended')
  assert.equal(kernels.list(), [])
  assert.equal(kept(), [])
  await attach('web')
  programs.latest.die({ reason: 'exited', message: 'web has ended.' })
  await turn()
  assert.is((await kernels.detach('web')).state, 'ended')
  assert.equal(kernels.list(), [])
})
