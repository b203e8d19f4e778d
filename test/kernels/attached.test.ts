import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Attach } from '../../src/kernels/attach.ts'
import { openAttachmentStore } from '../../src/kernels/attachment-store.ts'
import { Families } from '../../src/kernels/families.ts'
import type { Kernels } from '../../src/kernels/kernels.ts'
import { findTarget } from '../../src/kernels/programs.ts'
import type { KernelNews } from '../../src/kernels/rows.ts'
import { WireError } from '../../wire/errors.ts'
import type { Program } from '../../wire/programs.ts'
import { FakeLauncher, refusal } from '../support/fake-launcher.ts'
import { FakePrograms } from '../support/fake-programs.ts'
import { assert, suite } from '../support/harness.ts'
import { openKernels } from '../support/kernels-alone.ts'

const test = suite('attached kernels')

let folder = ''

let shop = ''

let launcher = new FakeLauncher()

let programs = new FakePrograms()

let logged: string[] = []

let news: unknown[] = []

let now = 0

let kernels: Kernels = openKernels({ launch: launcher.launch })

/** Another daemon on the same state. */
function open(): Kernels {
  launcher = new FakeLauncher()
  const noted = ({ kernel, epoch, what }: KernelNews) => news.push([kernel, epoch, what])
  const attachments = openAttachmentStore({ stateDir: folder, log: sentence => logged.push(sentence) })
  return openKernels({
    launch: launcher.launch,
    home: join(folder, 'home'),
    programs,
    attachments,
    noted,
    now: () => now,
  })
}

test.before.each(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-attaching-')))
  shop = join(folder, 'shop')
  for (const name of ['shop', 'home']) mkdirSync(join(folder, name))
  programs = new FakePrograms()
  logged = []
  news = []
  now = 0
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
      attached: {
        address,
        announced: 'web',
        program: '/srv/shop/server.py',
        cwd: '/srv/shop',
        errors: true,
        helper: false,
      },
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

test('a program belongs to the project it was attached for and to the one it runs in', async () => {
  programs.announce()
  programs.announce({ name: 'own', cwd: shop })
  for (const name of ['web', 'own']) await attach(name)
  assert.equal(kernels.rootsOf('web'), [shop, '/srv/shop'])
  assert.equal(kernels.rootsOf('own'), [shop])
})

test('what has announced itself is listed until it is attached, with the word that stands for it alone', async () => {
  programs.announce({ name: 'jobs', pid: 500 })
  programs.announce({ pid: 501 })
  programs.announce({ pid: 502 })
  programs.skipped.push({ file: '/run/programs/x.json', reason: 'is a symbolic link' })
  const listed = await kernels.announced('/')
  assert.equal(
    listed.announced.map(({ attach }) => attach),
    ['jobs', 'web-501', 'web-502'],
  )
  assert.equal(listed.skipped, programs.skipped)
  assert.is('secret' in (listed.announced[0] ?? {}), false)
  await attach('jobs')
  assert.equal(
    (await kernels.announced('/')).announced.map(({ name }) => name),
    ['web', 'web'],
  )
  await kernels.detach('jobs')
  assert.is((await kernels.announced('/')).announced.length, 3)
})

test('a call for a program that nobody has attached says how to', async () => {
  programs.announce()
  for (const work of [
    () => kernels.resolve({ ...here('web'), byPerson: true }),
    () => kernels.stop('web'),
    () => kernels.interrupt('web-500'),
  ]) {
    const { code, message, next } = await refusal(work())
    assert.is(code, 'no_such_kernel')
    assert.match(message, 'process 500')
    assert.is(next, 'attach {"name": "web"}   or at a terminal: imago attach web')
  }
})

test('the process of a program of another project is told to a person alone, however many are called so', async () => {
  programs.announce()
  const told = await refusal(kernels.resolve(here('web')))
  assert.is(told.code, 'no_such_kernel')
  assert.match(told.next ?? '', 'attach {"name": "web"} has a person asked')
  programs.announce({ pid: 501 })
  const several = await refusal(kernels.choose('web', { root: here('web').root, elsewhere: true }))
  assert.match(several.message, '2 programs of other projects are called "web".')
  for (const refused of [told, several])
    assert.not.match(JSON.stringify([refused.message, refused.next, refused.details]), /50[01]|srv/)
})

test('a name that nobody announced is refused with what there is, and with what was passed over', async () => {
  programs.announce()
  programs.silent.add(programs.announce({ name: 'dead', process: 'gone' }).address)
  programs.skipped.push({ file: '/run/programs/x.json', reason: 'is a symbolic link' })
  const { code, message, next } = await refusal(attach('wob'))
  assert.is(code, 'no_such_kernel')
  assert.is(
    message,
    'No program has announced itself as "wob" (looked in /run/programs). There are: web. /run/programs/x.json is a symbolic link, and is not looked at.',
  )
  assert.is(next, 'Did you mean web?')
  programs.announced = []
  assert.match(
    (await refusal(attach('wob'))).next ?? '',
    /imago run -- COMMAND .*imago\.listen\(\) .*: imago attach swank:/,
  )
})

test('a process that lives and does not listen is told as such, with the folder that was searched', async () => {
  programs.announce()
  const { message, next } = await refusal(attach('4711'))
  assert.is(message, 'Process 4711 lives and does not listen (looked in /run/programs). There are: web.')
  assert.match(next ?? '', 'imago run -- COMMAND')
  programs.gone.add(4711)
  assert.match((await refusal(attach('4711'))).message, 'No program has announced itself as "4711"')
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
  assert.equal((await kernels.announced('/')).announced, [])
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
  assert.equal(row.attached, {
    address: 'tcp:127.0.0.1:7000',
    announced: null,
    program: null,
    cwd: null,
    errors: true,
    helper: false,
  })
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

test('a program that was started again has its name back, though the end of the link to the one before is told later', async () => {
  const { pid } = programs.announce()
  await attach('web')
  programs.end(pid)
  programs.gone.add(programs.latest.identity.pid)
  programs.announce({ pid: 501 })
  const again = attach('web')
  await turn()
  programs.latest.die({ reason: 'exited', message: `web has ended (process ${pid}).` })
  assert.is((await again).name, 'web')
  assert.equal(
    kernels.list().map(({ name, state }) => [name, state]),
    [['web', 'ready']],
  )
})

test('a name that a program shares with one that is attached is not said to be free to attach to', async () => {
  programs.announce({ cwd: shop })
  await attach('web', { name: 'server' })
  const { message } = await refusal(kernels.resolve(here('web')))
  assert.match(message, 'No kernel is named "web".')
  assert.not.match(message, 'can be attached to')
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
  assert.equal(news, [
    ['web', '00000001', 'attached'],
    ['web', '00000001', 'was let go of'],
  ])
  await attach('web')
  programs.latest.die({ reason: 'exited', message: 'web has ended.' })
  await turn()
  assert.is((await kernels.detach('web')).state, 'ended')
  assert.equal(kernels.list(), [])
})

test('a row of what has ended goes when it is attached to again by whatever name, and after ten minutes beside another of its project', async () => {
  const rows = () => kernels.list().map(({ name, state }) => `${name} ${state}`)
  const join = (announced: string, as: string, root = shop) => {
    programs.announced = []
    const { pid } = programs.announce({ name: announced, pid: 500 + programs.joinings.length, program: '' })
    return attach(String(pid), { name: as, root })
  }
  const end = async () => {
    programs.latest.die({ reason: 'exited', message: 'it has ended.' })
    await turn()
  }
  for (const as of ['one', 'two', 'web']) {
    await join('web', as)
    assert.equal(rows(), [`${as} ready`])
    await end()
    assert.equal(rows(), [`${as} ended`])
  }
  now += 3_600_000
  // Nor does what is attached to elsewhere have a call of this project begin an empty kernel in its place.
  await join('web', 'elsewhere', folder)
  assert.equal(rows(), ['elsewhere ready', 'web ended'])
  assert.is((await refusal(kernels.resolve(here()))).details.reason, 'ended')
  await join('web', 'web')
  await end()
  now += 600_000
  await join('jobs', 'jobs')
  assert.equal(rows(), ['elsewhere ready', 'jobs ready', 'web ended'])
  now += 1
  await join('mail', 'mail')
  assert.equal(rows(), ['elsewhere ready', 'jobs ready', 'mail ready'])
})

// Which are meant

const family = () => new Families(programs, () => false).read()
const parents = () => programs.announced.map(one => family().parentOf(one)?.pid)
const target = (name: string) => findTarget(name, { programs, family: family() })

test('of programs of one name it is told which has started which, and one that only starts the other is not meant', async () => {
  programs.announce({ pid: 500, parent: 3, role: 'main' })
  programs.announce({ pid: 501, parent: 500, role: 'serves' })
  assert.equal(parents(), [undefined, 500])
  assert.is((await target('web')).program?.pid, 501)
  programs.announce({ pid: 502, parent: 500, role: 'serves' })
  const refused = await refusal(target('web'))
  assert.match(
    refused.message,
    'web-501 (in /srv/shop, child of 500), web-502 (in /srv/shop, child of 500), web-500',
  )
  assert.is(refused.code, 'no_such_kernel')
  assert.is(refused.next, 'Name one: imago attach web-501')
})

test('a process that has the number of a parent which is gone is not taken for it, nor is one that began later', () => {
  programs.announce({ pid: 500, process: 'recycled' })
  programs.announce({ pid: 501, parent: 500, role: 'serves' })
  programs.announce({ pid: 600, started: 'boot:900' })
  programs.announce({ pid: 601, parent: 600, role: 'serves' })
  assert.equal(parents(), [undefined, undefined, undefined, undefined])
  assert.is(family().placeOf(programs.announced[2] as Program).standing, 'program')
})

test('announcements that name each other as parents, or themselves, are each a family of its own', () => {
  programs.announce({ pid: 500, started: 'boot:1', parent: 501, role: 'helper' })
  programs.announce({ pid: 501, started: 'boot:1', parent: 500, role: 'helper' })
  programs.announce({ pid: 502, parent: 502, role: 'helper' })
  assert.equal(
    programs.announced.map(one => family().placeOf(one).standing),
    ['helper', 'helper', 'helper'],
  )
})

// AttachmentStore for the next daemon

test('the next daemon joins the same images again; what it needs for that holds no secret (fault 8)', async () => {
  programs.announce()
  await attach('web', { name: 'server' })
  await kernels.close()
  const path = join(folder, 'attached.json')
  assert.is(statSync(path).mode & 0o777, 0o600)
  assert.not.match(readFileSync(path, 'utf8'), /key|[0-9a-f]{32}/)
  programs.rejoined.push('joined')
  kernels = open()
  assert.is(kernels.list()[0]?.state, 'away')
  assert.is((await kernels.resolve(here())).name, 'server')
  const { name, epoch, process, address } = programs.joinings.at(-1) ?? {}
  assert.equal(
    { name, epoch, process, address },
    {
      name: 'server',
      epoch: '00000001',
      process: { pid: 500, started: 'boot:500', seen: true },
      address: 'unix:/run/programs/500.sock',
    },
  )
})

test('an image that is not there any more is told once by the next daemon, with the way back, and not again', async () => {
  programs.announce()
  await attach('web')
  await kernels.close()
  programs.rejoined.push('web has begun anew, and what listens there now is another image.')
  kernels = open()
  const { details } = await refusal(kernels.resolve(here()))
  assert.is(details.reason, 'ended')
  assert.match(kernels.list()[0]?.message ?? '', /another image\. Once it listens again: imago attach web$/)
  await kernels.close()
  kernels = open()
  assert.equal(kernels.list(), [])
})

test('the key of a program is read again from its file, and is asked for where a person had given it', async () => {
  const file = join(folder, 'key')
  writeFileSync(file, `${'k'.repeat(32)}\n`, { mode: 0o600 })
  await attach('tcp:127.0.0.1:7000', { name: 'filed', key: 'k'.repeat(32), keyFile: file })
  await attach('tcp:127.0.0.1:7001', { name: 'typed', key: 'secret-of-a-person-0123456789abcd' })
  assert.not.match(readFileSync(join(folder, 'attached.json'), 'utf8'), /kkkk|secret-of/)
  await kernels.close()
  programs.rejoined.push('joined')
  kernels = open()
  await kernels.resolve(here('filed'))
  assert.is(programs.joinings.at(-1)?.key, 'k'.repeat(32))
  const typed = await refusal(kernels.resolve(here('typed')))
  assert.match(typed.message, 'The key was not kept; give it again.')
})

test('a file of what was attached that cannot be read costs no more than that', async () => {
  writeFileSync(join(folder, 'attached.json'), '{"attached": [{"name": "web"')
  kernels = open()
  assert.equal(kernels.list(), [])
  assert.match(logged[0] ?? '', 'cannot be read')
  programs.announce()
  assert.is((await attach('web')).state, 'ready')
})

test('a daemon that ends while it still tries to join one stops trying, and the next one tries again', async () => {
  programs.announce()
  await attach('web')
  await kernels.close()
  kernels = open()
  await kernels.close()
  assert.is(programs.joinings.at(-1)?.signal?.aborted, true)
  assert.is(kept().length, 1)
})
