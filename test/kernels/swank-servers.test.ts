import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Attach } from '../../src/kernels/attach.ts'
import { openAttachmentStore } from '../../src/kernels/attachment-store.ts'
import { KernelError } from '../../src/kernels/kernel-error.ts'
import type { Kernels } from '../../src/kernels/kernels.ts'
import { serverAddress } from '../../src/kernels/servers.ts'
import { WireError } from '../../wire/errors.ts'
import { FakeLauncher } from '../support/fake-launcher.ts'
import { FakePrograms } from '../support/fake-programs.ts'
import { assert, suite } from '../support/harness.ts'
import { openKernels } from '../support/kernels-alone.ts'

/** What Imago makes of Swank's addresses and secrets, without any Swank. */
const test = suite('swank servers')

let folder = ''

let programs = new FakePrograms()

let kernels: Kernels = openKernels({ launch: new FakeLauncher().launch })

function open(): Kernels {
  const attachments = openAttachmentStore({ stateDir: folder, log: () => {} })
  return openKernels({ launch: new FakeLauncher().launch, home: join(folder, 'home'), programs, attachments })
}

test.before.each(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-servers-')))
  for (const name of ['shop', 'home']) mkdirSync(join(folder, name))
  programs = new FakePrograms()
  programs.secret = { type: 'there', path: '/home/user/.slime-secret' }
  kernels = open()
})

test.after.each(async () => {
  await kernels.close()
  rmSync(folder, { recursive: true, force: true })
})

const attach = (target: string, more: Partial<Attach> = {}) =>
  kernels.attach({ target, root: join(folder, 'shop'), ...more })

const kept = () => JSON.parse(readFileSync(join(folder, 'attached.json'), 'utf8')).attached

async function refusal(work: Promise<unknown>): Promise<KernelError> {
  try {
    await work
  } catch (error) {
    if (error instanceof KernelError) return error
    throw error
  }
  throw new Error('it was not refused')
}

test('an address is a port, a host, or both, and is spelled in one way', () => {
  for (const written of [
    'swank://4005',
    'swank://localhost:4005',
    'swank://LOCALHOST',
    'swank://127.0.0.1:4005/',
  ])
    assert.is(serverAddress(written), 'swank://127.0.0.1:4005')
  assert.is(serverAddress('swank://4711'), 'swank://127.0.0.1:4711')
  assert.is(serverAddress('swank://[::1]:4005'), 'swank://[::1]:4005')
  assert.is(serverAddress('swank://lisp.example.org'), 'swank://lisp.example.org:4005')
})

test('what is no address is refused, and never looked for as a name', async () => {
  for (const wrong of [
    'swank://',
    'swank:4005',
    'swank://0',
    'swank://70000',
    'swank://a b',
    'swank://u@h:1',
    'swank://h:1/x',
  ]) {
    const { details, next } = await refusal(attach(wrong))
    assert.is(details.reason, 'bad_address', wrong)
    assert.match(next ?? '', 'swank://4005')
  }
  assert.is(programs.joinings.length, 0)
})

test('a server is joined with the secret of the home directory, under a name of its own, and only once', async () => {
  const row = await attach('swank://4005')
  assert.is(row.name, 'lisp')
  assert.equal(row.attached, {
    address: 'swank://127.0.0.1:4005',
    announced: null,
    program: null,
    cwd: null,
    errors: false,
    helper: false,
  })
  const [joining] = programs.joinings
  assert.equal([joining?.key, joining?.open], [undefined, false])
  assert.equal(kept()[0].secret, { from: 'home' })
  const { details } = await refusal(attach('swank://localhost'))
  assert.is(details.reason, 'attached_already')
  assert.is((await attach('swank://4006')).name, 'lisp-2')
})

test('without a secret nothing is joined, and three commands make one (threat 26)', async () => {
  programs.secret = { type: 'missing', path: '/home/user/.slime-secret' }
  const { message, next, details } = await refusal(attach('swank://4005'))
  assert.is(details.reason, 'needs_secret')
  assert.match(message, '/home/user/.slime-secret is not there')
  const [first, second, third] = (next ?? '').split('\n')
  assert.equal([first, second], ['touch ~/.slime-secret', 'chmod 600 ~/.slime-secret'])
  assert.match(third ?? '', '> ~/.slime-secret')
  assert.match(next ?? '', 'imago attach swank://127.0.0.1:4005 --no-secret')
  programs.secret = {
    type: 'flawed',
    path: '/home/user/.slime-secret',
    why: 'is open to others (mode 644)',
    mend: 'chmod 600 /home/user/.slime-secret',
  }
  const open = await refusal(attach('swank://4005'))
  assert.is(open.details.reason, 'open_secret')
  assert.is(open.next, 'chmod 600 /home/user/.slime-secret')
  assert.is(programs.joinings.length, 0)
})

test('a person may insist on none, or give another one, which is not written down (threat 26)', async () => {
  programs.secret = { type: 'missing', path: '/home/user/.slime-secret' }
  await attach('swank://4005', { noSecret: true, key: 'of something else' })
  assert.equal([programs.joinings[0]?.key, programs.joinings[0]?.open], [undefined, true])
  await attach('swank://4006', { key: 'hush-hush' })
  assert.equal([programs.joinings[1]?.key, programs.joinings[1]?.open], ['hush-hush', false])
  const key = join(folder, 'key')
  writeFileSync(key, 'hush-again\n')
  await attach('swank://4007', { key: 'hush-again', keyFile: key })
  assert.equal(
    kept().map(({ secret }: { secret: unknown }) => secret),
    [{ from: 'none' }, { from: 'person' }, { from: 'file', path: key }],
  )
  assert.not.match(JSON.stringify(kept()), 'hush')
})

test('another machine is refused unless a person insists, with the way through ssh (threat 26)', async () => {
  for (const far of [
    'swank://10.0.0.7',
    'swank://lisp.example.org:4011',
    'swank://0.0.0.0',
    'swank://128.0.0.1',
    'swank://[::2]',
    'swank://127.0.0.1.example.org',
    // Names to be looked up, for no address has such a part.
    'swank://127.300.1.1',
    'swank://127.0.0.01',
  ]) {
    const { details, next } = await refusal(attach(far))
    assert.is(details.reason, 'not_loopback', far)
    assert.match(next ?? '', 'ssh -L')
    assert.match(next ?? '', '--anywhere')
  }
  assert.is(programs.joinings.length, 0)
  await attach('swank://lisp.example.org', { anywhere: true })
  assert.is(programs.joinings[0]?.address, 'swank://lisp.example.org:4005')
})

test('the next daemon joins it again with what was insisted on, and an end says how to come back', async () => {
  await attach('swank://lisp.example.org', { anywhere: true, noSecret: true })
  await attach('swank://4006')
  await kernels.close()
  programs.rejoined.push('joined', 'lisp-2 has ended (process 1).')
  kernels = open()
  const [, , first, second] = programs.joinings
  assert.equal([first?.address, first?.open], ['swank://lisp.example.org:4005', true])
  assert.equal([second?.address, second?.open, second?.key], ['swank://127.0.0.1:4006', false, undefined])
  while (kernels.list()[1]?.state !== 'ended') await new Promise(resolve => setImmediate(resolve))
  assert.is(
    kernels.list()[1]?.message,
    'lisp-2 has ended (process 1). Once it listens again, (swank:create-server :dont-close t): ' +
      'imago attach swank://127.0.0.1:4006 --name lisp-2',
  )
})

test('the process that was found there is watched by the next daemon', async () => {
  programs.seen = { pid: 700, started: 'boot:700', seen: true }
  await attach('swank://4005')
  assert.equal(kept()[0].process, programs.seen)
  await kernels.close()
  kernels = open()
  assert.equal(programs.joinings[1]?.process, programs.seen)
})

test('why a server cannot be joined is said in words about a Lisp, and not about Python', async () => {
  const faults = [
    ['LINK_REFUSED', ':dont-close t'],
    ['NOT_AUTHENTICATED', '--no-secret'],
    ['HANDSHAKE_TIMEOUT', 'debugger'],
    ['FRAME_MALFORMED', 'that Lisp'],
  ] as const
  for (const [code, expected] of faults) {
    programs.failures.push(new WireError(code, 'It says why.'))
    const { message, next, details } = await refusal(attach('swank://4005'))
    assert.equal([message, details.reason], ['It says why.', code])
    assert.match(next ?? '', expected)
    assert.not.match(next ?? '', 'import')
    assert.equal(kernels.list(), [])
  }
})

const wanted = (name?: string) => ({ root: join(folder, 'shop'), env: {}, name })

const end = async () => {
  programs.latest.die({ reason: 'exited', message: 'lisp has ended (process 1).' })
  await new Promise(resolve => setImmediate(resolve))
}

const reasonOf = (failed: Promise<unknown>) =>
  failed.then(
    () => 'none',
    error => (error instanceof KernelError ? error.details.reason : error),
  )

test('what listens again where a person attached is joined by the next call, under its name, and that is said', async () => {
  await attach('swank://4005')
  for (const name of [undefined, 'lisp', 'swank://4005', 'swank://127.0.0.1:4005']) {
    await end()
    programs.failures.push(new WireError('LINK_REFUSED', 'nobody listens'))
    assert.is(await reasonOf(kernels.resolve(wanted(name))), 'ended')
    const { kernel, ...found } = await kernels.resolve(wanted(name))
    assert.equal(found, { name: 'lisp', waited: true })
    assert.is(kernel.identity.epoch, programs.latest.identity.epoch)
    assert.is(programs.joinings.at(-1)?.process, null)
  }
  assert.is(kernels.list().length, 1)
})

test('attach by a model joins it again by its name or its address, also of the daemon before, and nothing else', async () => {
  await attach('swank://4005')
  await end()
  await kernels.close()
  programs.rejoined.push('lisp has ended (process 1).')
  kernels = open()
  while (kernels.list()[0]?.state !== 'ended') await new Promise(resolve => setImmediate(resolve))
  const how = { root: join(folder, 'shop'), elsewhere: false }
  const choice = await kernels.choose('swank://4005', how)
  assert.is(choice.type === 'chosen' && choice.kernel.name, 'lisp')
  assert.is(await reasonOf(kernels.choose('swank://6666', how)), 'not_announced')
  assert.is(await reasonOf(kernels.choose('swank://4005', { ...how, root: folder })), 'not_announced')
  await kernels.detach('lisp')
  assert.equal(kept(), [])
  assert.is(await reasonOf(kernels.choose('swank://4005', how)), 'not_announced')
})

test('what listens there and does not let us in is tried once, as a wrong secret does harm', async () => {
  await attach('swank://4005')
  await end()
  programs.failures.push(new WireError('NOT_AUTHENTICATED', 'it hung up'))
  const before = programs.joinings.length
  for (const _ of [1, 2]) assert.is(await reasonOf(kernels.resolve(wanted())), 'ended')
  assert.is(programs.joinings.length, before + 1)
  await kernels.close()
  kernels = open()
  assert.is(await reasonOf(kernels.resolve(wanted())), 'ended')
  assert.is(programs.joinings.length, before + 1, 'nor by the next daemon')
  assert.is((await attach('swank://4005')).name, 'lisp')
})

test('a server of another machine, and one that was given a key, are not joined again by a call', async () => {
  for (const [target, more] of [
    ['swank://other.example:4005', { anywhere: true }],
    ['swank://4005', { key: 'k'.repeat(40) }],
  ] as const) {
    await attach(target, more)
    const before = programs.joinings.length
    await end()
    assert.is(await reasonOf(kernels.resolve(wanted())), 'ended')
    assert.is(programs.joinings.length, before)
    await kernels.detach('lisp')
  }
})
