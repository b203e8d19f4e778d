import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { KernelError } from '../../src/kernels/kernel-error.ts'
import { type Kernels, openKernels } from '../../src/kernels/kernels.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { WireError } from '../../wire/errors.ts'
import type { Kernel } from '../../wire/kernel.ts'
import { FakeLauncher } from '../support/fake-launcher.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('kernels by name')

let folder = ''

let launcher = new FakeLauncher()

let kernels: Kernels = openKernels({ launch: launcher.launch })

let clock = 0

test.before.each(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-kernels-')))
  for (const name of ['shop', 'home', 'other/shop']) mkdirSync(join(folder, name), { recursive: true })
  writeFileSync(join(folder, 'shop', 'app.py'), '')
  launcher = new FakeLauncher()
  clock = 0
  kernels = openKernels({ launch: launcher.launch, home: join(folder, 'home'), now: () => clock })
})

test.after.each(() => rmSync(folder, { recursive: true, force: true }))

const at = (root: string) => ({ root: join(folder, root), env: { LANG: 'C' } })

const python = (root: string) => ({ ...at(root), language: 'python' })

/** What a call is told in place of a kernel. */
async function refusal(work: Promise<unknown>): Promise<KernelError> {
  try {
    await work
  } catch (error) {
    if (error instanceof KernelError) return error
    throw error
  }
  throw new Error('it was not refused')
}

/** Lets the deaths of kernels be noticed. */
const turn = () => new Promise(resolve => setImmediate(resolve))

const crash = async () => {
  launcher.latest.die({ reason: 'exited', message: 'it ended with exit code 3' })
  await turn()
}

test('the default kernel of a root starts at first use, and bears the name of the folder', async () => {
  assert.equal(kernels.list(), [])
  const { name, kernel } = await kernels.resolve(at('shop'))
  assert.is(name, 'shop')
  assert.is(kernel.identity.epoch, launcher.latest.identity.epoch)
  assert.equal(launcher.requests, [{ language: 'python', name: 'shop', ...at('shop') }])
  assert.equal(kernels.list(), [
    {
      name: 'shop',
      language: 'python',
      implementation: 'CPython 3.11.7',
      state: 'ready',
      pid: 1001,
      epoch: '00000001',
      owned: true,
      attached: null,
      root: join(folder, 'shop'),
      script: null,
      script_state: null,
      running: null,
      suspended: 0,
      message: null,
      background: null,
    },
  ])
})

test('first uses at the same time share one start, and later ones find the same kernel', async () => {
  let open = () => {}
  launcher.gate = new Promise(resolve => {
    open = resolve
  })
  const wanted = [1, 2, 3].map(() => kernels.resolve(at('shop')))
  await turn()
  assert.is(kernels.list()[0]?.state, 'starting')
  open()
  const found = await Promise.all([...wanted, kernels.resolve({ ...at('shop'), name: 'shop' })])
  assert.is(launcher.requests.length, 1)
  assert.is(new Set(found.map(({ kernel }) => kernel)).size, 1)
})

test('what lives is found at once, and what would have to be started or chosen is not', async () => {
  assert.is(kernels.living(at('shop')), undefined)
  const found = await kernels.resolve(at('shop'))
  assert.equal(kernels.living(at('shop')), found)
  assert.equal(kernels.living({ ...at('other/shop'), name: 'shop' }), found)
  assert.is(kernels.living(at('other/shop')), undefined)
  const ending = kernels.stop('shop')
  assert.is(kernels.living(at('shop')), undefined)
  await ending
  await kernels.resolve(at('shop'))
  await kernels.start({ language: 'python', name: 'web', ...at('other/shop') })
  await kernels.start({ language: 'python', name: 'jobs', ...at('other/shop') })
  assert.is(kernels.living(at('other/shop')), undefined)
  assert.is(kernels.living({ ...at('other/shop'), name: 'web' })?.name, 'web')
  await kernels.close()
  assert.is(kernels.living(at('shop')), undefined)
})

test('two roots with folders of one name get two kernels, and a link to a root is that root', async () => {
  symlinkSync(join(folder, 'shop'), join(folder, 'link'))
  assert.is((await kernels.resolve(at('shop'))).name, 'shop')
  assert.is((await kernels.resolve(at('other/shop'))).name, 'shop-2')
  assert.is((await kernels.resolve(at('link'))).name, 'shop')
  assert.is(launcher.requests.length, 2)
})

test('the home directory, what it lies in and what is no folder are never roots', async () => {
  for (const root of [
    '/',
    folder,
    join(folder, 'home'),
    join(folder, 'home', '..', 'home'),
    join(folder, 'nowhere'),
  ]) {
    const error = await refusal(kernels.resolve({ root, env: {} }))
    assert.is(error.code, 'kernel_unavailable')
    assert.is(error.details.reason, 'bad_root')
    assert.is(error.next, 'Run it in the folder of a project.')
    assert.is(
      (await refusal(kernels.start({ root, env: {}, language: 'python' }))).details.reason,
      'bad_root',
    )
  }
  assert.is(launcher.requests.length, 0)
})

test('a kernel that nobody knows is refused with the names that are known and the nearest one', async () => {
  await kernels.resolve(at('shop'))
  const error = await refusal(kernels.resolve({ ...at('shop'), name: 'shp' }))
  assert.is(error.code, 'no_such_kernel')
  assert.equal(error.details, { kernels: ['shop'], nearest: ['shop'] })
  assert.is((await refusal(kernels.stop('nobody'))).code, 'no_such_kernel')
  assert.is((await refusal(kernels.restart('nobody'))).code, 'no_such_kernel')
  assert.is((await refusal(kernels.interrupt('nobody'))).code, 'no_such_kernel')
})

test('started kernels are named after their language, and the only one in a root is meant without a name', async () => {
  assert.is((await kernels.start({ ...python('shop'), script: 'app.py', args: ['-v'] })).name, 'python')
  assert.is((await kernels.resolve(at('shop'))).name, 'python')
  assert.equal(launcher.requests[0], { ...python('shop'), name: 'python', script: 'app.py', args: ['-v'] })
  assert.is((await kernels.start(python('shop'))).name, 'python-2')
  const error = await refusal(kernels.resolve(at('shop')))
  assert.is(error.code, 'no_such_kernel')
  assert.equal(error.details.kernels, ['python', 'python-2'])
})

test('a name that is taken, no name at all, or an unknown language is refused and starts nothing', async () => {
  await kernels.start({ ...python('shop'), name: 'web' })
  assert.is((await refusal(kernels.start({ ...python('shop'), name: 'web' }))).details.reason, 'name_taken')
  assert.is((await refusal(kernels.start({ ...python('shop'), name: '../x' }))).details.reason, 'bad_name')
  assert.is(
    (await refusal(kernels.start({ ...python('shop'), language: 'cobol' }))).details.reason,
    'unknown_language',
  )
  assert.is(launcher.requests.length, 1)
})

test('a kernel that dies says how, and the next call that wants it starts a new epoch', async () => {
  const { kernel } = await kernels.resolve(at('shop'))
  await crash()
  assert.is(kernels.list()[0]?.state, 'ended')
  assert.is(kernels.list()[0]?.message, 'it ended with exit code 3')
  const again = await kernels.resolve(at('shop'))
  assert.is(again.name, 'shop')
  assert.is(again.replaces, 'it ended with exit code 3')
  assert.is((await kernels.resolve(at('shop'))).replaces, undefined)
  assert.is.not(again.kernel.identity.epoch, kernel.identity.epoch)
  assert.is(kernels.list()[0]?.message, null)
})

test('three deaths within 300 s are a crash loop, which only a restart ends (fault 6)', async () => {
  for (const start of [0, 100_000, 299_000]) {
    clock = start
    await kernels.resolve(at('shop'))
    await crash()
  }
  assert.is(kernels.list()[0]?.state, 'crash_loop')
  clock = 10_000_000
  const error = await refusal(kernels.resolve(at('shop')))
  assert.is(error.details.reason, 'crash_loop')
  assert.match(error.message, 'it ended with exit code 3')
  assert.match(error.next ?? '', 'imago restart shop')
  assert.is(launcher.requests.length, 3)
  assert.is((await kernels.restart('shop')).state, 'ready')
  await crash()
  await kernels.resolve(at('shop'))
  assert.is(kernels.list()[0]?.state, 'ready')
})

test('a kernel that does not come up counts, with its reason; a missing interpreter does not (fault 6)', async () => {
  launcher.failures.push(
    new WireError('KERNEL_NOT_FOUND', 'no Python'),
    ...[1, 2, 3].map(n => new WireError('KERNEL_START_FAILED', `boom ${n}`)),
  )
  const wanted = () => refusal(kernels.resolve(at('shop')))
  assert.is((await wanted()).details.reason, 'KERNEL_NOT_FOUND')
  for (const n of [1, 2, 3]) assert.match((await wanted()).message, `boom ${n}`)
  assert.is((await wanted()).details.reason, 'crash_loop')
  assert.is(launcher.requests.length, 4)
})

test('deaths that are far apart never add up', async () => {
  for (let death = 0; death < 10; death++) {
    clock = death * 150_001
    await kernels.resolve(at('shop'))
    await crash()
    assert.is(kernels.list()[0]?.state, 'ended')
  }
})

test('stop ends a kernel and is no death; restart gives a new epoch under the same name', async () => {
  for (let round = 0; round < 4; round++) {
    await kernels.resolve(at('shop'))
    assert.is((await kernels.stop('shop')).state, 'ended')
  }
  await kernels.stop('shop')
  const before = (await kernels.resolve(at('shop'))).kernel.identity.epoch
  const row = await kernels.restart('shop')
  assert.is(row.state, 'ready')
  assert.is.not(row.epoch, before)
  assert.is(kernels.list().length, 1)
})

test('the rows say what runs, from when it runs, and what is unresponsive', async () => {
  const { kernel } = await kernels.resolve(at('shop'))
  const run = (call: string) =>
    kernel.evaluate({ call: call as CallId, who: 'test', work: { type: 'source', source: '1' } }, {})
  const first = run('c1')
  const second = run('c2')
  clock = 40
  assert.is(kernels.list()[0]?.state, 'busy')
  assert.equal(kernels.list()[0]?.running, { call: 'c1', elapsed_ms: 40 })
  launcher.latest.finish('c1' as CallId)
  await first
  clock = 50
  assert.equal(kernels.list()[0]?.running, { call: 'c2', elapsed_ms: 10 })
  launcher.latest.health = 'unresponsive'
  assert.is(kernels.list()[0]?.state, 'unresponsive')
  launcher.latest.finish('c2' as CallId)
  await second
})

test('interrupt by name hits what runs, and says so where nothing does', async () => {
  const { kernel } = await kernels.resolve(at('shop'))
  assert.is((await kernels.interrupt('shop')).outcome, 'not_running')
  const running = kernel.evaluate(
    { call: 'c1' as CallId, who: 'test', work: { type: 'source', source: '1' } },
    {},
  )
  assert.is((await kernels.interrupt('shop')).outcome, 'stopped')
  assert.equal(launcher.latest.interrupted, ['c1'])
  launcher.latest.finish('c1' as CallId)
  await running
  await kernels.stop('shop')
  assert.is((await kernels.interrupt('shop')).outcome, 'not_running')
})

test('a kernel that does not say what runs in it is not interrupted, and that is said (fault 2)', async () => {
  await kernels.resolve(at('shop'))
  launcher.latest.status = () => Promise.reject(new WireError('UNRESPONSIVE', 'nothing came'))
  const error = await refusal(kernels.interrupt('shop'))
  assert.is(error.details.reason, 'UNRESPONSIVE')
  assert.match(error.message, 'nothing was asked to stop')
  assert.equal(launcher.latest.interrupted, [])
})

test('after close all have ended, and nothing starts any more', async () => {
  const living: Kernel[] = []
  for (const root of ['shop', 'other/shop']) living.push((await kernels.resolve(at(root))).kernel)
  await kernels.close()
  assert.equal(
    living.map(kernel => kernel.health),
    ['ended', 'ended'],
  )
  assert.is((await refusal(kernels.resolve(at('shop')))).details.reason, 'shutting_down')
  assert.is((await refusal(kernels.start(python('shop')))).details.reason, 'shutting_down')
})

test('a kernel that is stopped while it starts does not live on', async () => {
  let open = () => {}
  launcher.gate = new Promise(resolve => {
    open = resolve
  })
  const wanted = kernels.resolve(at('shop'))
  await turn()
  const stopped = kernels.stop('shop')
  open()
  await wanted
  assert.is((await stopped).state, 'ended')
  assert.is(launcher.latest.health, 'ended')
  assert.is(basename(folder).startsWith('imago-kernels-'), true)
})
