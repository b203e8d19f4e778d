import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KernelError } from '../../src/kernels/kernel-error.ts'
import type { Kernels } from '../../src/kernels/kernels.ts'
import type { KernelNews } from '../../src/kernels/rows.ts'
import { openStartedStore } from '../../src/kernels/started-store.ts'
import { TOOLS } from '../../tools/index.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { WireError } from '../../wire/errors.ts'
import type { Kernel } from '../../wire/kernel.ts'
import { FakeLauncher, refusal } from '../support/fake-launcher.ts'
import { assert, suite } from '../support/harness.ts'
import { openKernels } from '../support/kernels-alone.ts'

const test = suite('kernels by name')

let folder = ''

let launcher = new FakeLauncher()

let kernels: Kernels = openKernels({ launch: launcher.launch })

let clock = 0

test.before.each(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-kernels-')))
  for (const name of ['shop', 'bare', 'home', 'other/shop'])
    mkdirSync(join(folder, name), { recursive: true })
  writeFileSync(join(folder, 'shop', 'app.py'), '')
  launcher = new FakeLauncher()
  clock = 0
  kernels = openKernels({ launch: launcher.launch, home: join(folder, 'home'), now: () => clock })
})

test.after.each(() => rmSync(folder, { recursive: true, force: true }))

const at = (root: string) => ({ root: join(folder, root), env: { LANG: 'C' } })

/** A call that is about what is in a kernel already. */
const only = (root: string) => ({ ...at(root), onlyLiving: true })

const python = (root: string) => ({ ...at(root), language: 'python' })

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

test('the row of a kernel that starts says what its start does, and nothing of that once it lives', async () => {
  let open = () => {}
  launcher.gate = new Promise(resolve => {
    open = resolve
  })
  const wanted = kernels.resolve(at('shop'))
  await turn()
  launcher.listener.doing('loading Swank')
  assert.equal([kernels.list()[0]?.state, kernels.list()[0]?.message], ['starting', 'loading Swank'])
  open()
  await wanted
  launcher.listener.doing('loading more')
  assert.is(kernels.list()[0]?.message, null)
})

test('what lives is found at once, and what would have to be started or chosen is not', async () => {
  assert.is(kernels.living(at('shop')), undefined)
  const { name, kernel } = await kernels.resolve(at('shop'))
  assert.equal(kernels.living(at('shop')), { name, kernel })
  assert.equal(kernels.living({ ...at('other/shop'), name: 'shop' }), { name, kernel })
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
    assert.match(error.next ?? '', 'Name a program: attach {"name": NAME}')
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

test('a kernel that code was asked to end, as by Quit[], has not crashed', async () => {
  for (const number of [1, 2, 3, 4]) {
    const { kernel } = await kernels.resolve(at('shop'))
    const call = `c-${number}` as CallId
    const answered = kernel.evaluate({ call, who: 'test', work: { type: 'source', source: 'Quit[]' } }, {})
    await turn()
    launcher.latest.finish(call, { type: 'left', message: 'Quit[]', elapsed_ms: 1, ends: true })
    await crash()
    assert.is((await answered).type, 'left')
  }
  const [{ name = '', state, message } = {}] = kernels.list()
  assert.equal([state, message], ['ended', `${name} ended as its code asked.`])
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

test('a kernel that does not say what runs in it is not interrupted, and that is said (fault 2)', async () => {
  await kernels.resolve(at('shop'))
  launcher.latest.status = () => Promise.reject(new WireError('UNRESPONSIVE', 'nothing came'))
  const error = await refusal(kernels.interrupt('shop'))
  assert.is(error.details.reason, 'UNRESPONSIVE')
  assert.match(error.message, 'nothing was asked to stop')
  assert.equal(launcher.latest.interrupted, [])
})

test('each life of a kernel is told when it begins and, with the reason, when it ends', async () => {
  const news: unknown[] = []
  const noted = ({ kernel, epoch, what }: KernelNews) => news.push([kernel, epoch, what])
  const kernels = openKernels({ launch: launcher.launch, home: join(folder, 'home'), noted })
  await kernels.resolve(at('shop'))
  await crash()
  await kernels.resolve(at('shop'))
  await kernels.close()
  assert.equal(news, [
    ['shop', '00000001', 'started'],
    ['shop', '00000001', 'it ended with exit code 3'],
    ['shop', '00000002', 'started'],
    ['shop', '00000002', 'was let go of'],
  ])
})

// Kernels that are only looked for

test('where none lives, none is started: neither the default one of a folder, by whatever name, nor one that ended', async () => {
  await kernels.start({ language: 'python', name: 'app', root: join(folder, 'shop'), env: {} })
  const { name } = await kernels.resolve({ root: join(folder, 'shop'), env: {}, name: 'app' })
  assert.is(name, 'app')
  const started = launcher.requests.length
  for (const wanted of [only('bare'), { ...only('bare'), name: 'bare' }]) {
    const error = await refusal(kernels.resolve(wanted))
    assert.is(error.code, 'no_such_kernel')
    assert.match(error.message, /^No (program of|image of) .*bare .*None was started.* see in it\.$/)
    assert.equal(error.details.kernels, [], 'app is of another project')
    assert.match(error.next ?? '', 'imago run -- COMMAND')
  }
  await kernels.stop('app')
  const ended = await refusal(kernels.resolve({ ...only('shop'), name: 'app' }))
  assert.match(ended.message, 'No image of app lives. None was started')
  assert.match(ended.next ?? '', 'imago run -- COMMAND')
  assert.is(launcher.requests.length, started)
  assert.equal(
    kernels.list().map(row => row.name),
    ['app'],
  )
})

test('one that lives is found as ever, also by no name, and what is not known is said as ever', async () => {
  await kernels.start({ language: 'python', name: 'app', root: join(folder, 'shop'), env: {} })
  assert.is((await kernels.resolve(only('shop'))).name, 'app')
  assert.is((await kernels.resolve({ ...only('bare'), name: 'app' })).name, 'app')
  assert.match(
    (await refusal(kernels.resolve({ ...only('shop'), name: 'ap' }))).message,
    'No kernel is named "ap"',
  )
  assert.equal(
    kernels.besides({ name: 'app', root: join(folder, 'shop') }).map(one => one.name),
    [],
  )
  assert.equal(
    kernels.besides({ name: 'other', root: join(folder, 'shop') }).map(one => one.name),
    ['app'],
  )
  assert.equal(kernels.besides({ name: 'other', root: join(folder, 'bare') }), [], 'it is of another project')
})

test('what lives in other projects is not named to a call that names nothing there is', async () => {
  await kernels.resolve(at('shop'))
  await kernels.start({ ...python('shop'), name: 'web' })
  const inside = await refusal(kernels.resolve({ ...at('shop'), name: 'wep' }))
  assert.equal(
    [inside.message, inside.details.kernels],
    ['No kernel is named "wep". There are: shop, web.', ['shop', 'web']],
  )
  const outside = await refusal(kernels.resolve({ ...at('bare'), name: 'wep' }))
  assert.is(
    outside.message,
    'No kernel is named "wep". None lives in this project. Others live in other projects.',
  )
  assert.equal([outside.details.kernels, outside.details.nearest], [[], []])
  await kernels.start({ ...python('bare'), name: 'own' })
  const both = await refusal(kernels.resolve({ ...at('bare'), name: 'wep' }))
  assert.match(both.message, / There are: own\. Others live in other projects\.$/)
  const chosen = await refusal(kernels.choose('wep', { root: join(folder, 'bare'), elsewhere: false }))
  assert.equal(chosen.details.kernels, ['own'])
})

test('a kernel belongs to the project of its calls, and to no other', async () => {
  await kernels.resolve(at('shop'))
  assert.equal(kernels.rootsOf('shop'), [join(folder, 'shop')])
  assert.equal(kernels.rootsOf('nothing'), [])
})

test('where none lives, the others of the project are named, as far as they may be', async () => {
  const root = join(folder, 'shop')
  for (const name of ['app', 'dev', 'prod']) await kernels.start({ language: 'python', name, root, env: {} })
  await kernels.stop('app')
  const mayName = (name: string) => name !== 'prod'
  const error = await refusal(kernels.resolve({ ...only('shop'), name: 'app', mayName }))
  assert.match(error.message, / There are: dev\.$/)
  assert.equal(error.details.kernels, ['dev'])
})

test('only what has code to run starts an image', () => {
  const starting = TOOLS.filter(tool => tool.starts).map(({ name }) => name)
  assert.equal(starting, [
    'eval_expr',
    'compile_form',
    'macroexpand_form',
    'load_file',
    'load_system',
    'run_tests',
  ])
})

// Scripts

test('a call without a name goes to what a person has started, and not to the image that calls began', async () => {
  await kernels.resolve(at('shop'))
  await kernels.start({ ...python('shop'), script: 'app.py' })
  assert.is((await kernels.resolve(at('shop'))).name, 'python')
  assert.is(kernels.living(at('shop'))?.name, 'python')
  assert.is((await kernels.resolve({ ...at('shop'), name: 'shop' })).name, 'shop')
})

test('what a person has started begins again in its own language, and no image of another answers for it', async () => {
  await kernels.resolve(at('shop'))
  await kernels.start({ ...at('shop'), language: 'wolfram' })
  await kernels.start({ ...at('shop'), language: 'lisp' })
  await kernels.stop('lisp')
  assert.is((await kernels.resolve(at('shop'))).name, 'wolfram')
  launcher.latest.die({ reason: 'closed', message: 'it was stopped' })
  launcher.kernels[1]?.die({ reason: 'exited', message: 'it ended with exit code 3' })
  await turn()
  const { code, message, next } = await refusal(kernels.resolve(only('shop')))
  assert.is(code, 'no_such_kernel')
  assert.match(message, 'The image of wolfram has ended: it ended with exit code 3')
  assert.is(next, 'attach {"name": "wolfram"} starts it again, and so does code to run there.')
  const again = await kernels.resolve(at('shop'))
  assert.equal([again.name, again.replaces], ['wolfram', 'it ended with exit code 3'])
  assert.is(launcher.requests.at(-1)?.language, 'wolfram')
})

test('a caller whose image has ended is not sent to one of another language that lives beside it', async () => {
  await kernels.start({ ...at('shop'), language: 'wolfram' })
  const { latest } = launcher
  await kernels.start({ ...at('shop'), language: 'lisp' })
  latest.die({ reason: 'exited', message: 'it ended' })
  await turn()
  for (const how of [{ lately: 'wolfram' }, { chosen: 'wolfram' }]) {
    assert.is(kernels.living({ ...at('shop'), ...how }), undefined)
    assert.is((await kernels.resolve({ ...at('shop'), ...how })).name, 'wolfram')
    launcher.latest.die({ reason: 'exited', message: 'it ended' })
    await turn()
  }
})

test('a kernel that was stopped comes behind an image that lives, and begins again in place of one that does not', async () => {
  await kernels.start({ ...at('shop'), language: 'lisp' })
  await kernels.stop('lisp')
  const { name, begun } = await kernels.resolve(at('shop'))
  assert.equal([name, begun, launcher.requests.at(-1)?.language], ['lisp', true, 'lisp'])
})

test('a script that was stopped comes behind an image that lives, and no empty one begins in its place', async () => {
  await kernels.start({ ...python('shop'), name: 'app', script: 'app.py' })
  assert.is((await kernels.resolve(at('shop'))).name, 'app')
  await kernels.stop('app')
  assert.match((await refusal(kernels.resolve(at('shop')))).message, 'app (app.py) has ended')
  await kernels.resolve({ ...at('shop'), name: 'shop' })
  assert.is(kernels.living(at('shop'))?.name, 'shop')
  assert.is((await kernels.resolve(at('shop'))).name, 'shop')
})

test('a script that could not begin is told beside an image that lives', async () => {
  await kernels.resolve(at('shop'))
  launcher.failures.push(new Error('no room'))
  await kernels.start({ ...python('shop'), name: 'app', script: 'app.py' }).catch(() => {})
  assert.match((await refusal(kernels.resolve(at('shop')))).message, 'app (app.py) has ended')
})

test('a folder whose files are of another language is asked about, and gets no Python; one with Python files gets it', async () => {
  const bare = join(folder, 'bare')
  for (const [file, command] of [
    [
      'bare.asd',
      'imago attach swank://4005 +joins one that runs; imago start lisp +starts one; imago start python$',
    ],
    ['notes.wl', 'imago start wolfram +starts one; imago start python$'],
  ] as const) {
    writeFileSync(join(bare, file), '')
    for (const name of [undefined, 'bare']) {
      const { code, message, next, retryable } = await refusal(kernels.resolve({ ...at('bare'), name }))
      assert.equal([code, retryable], ['kernel_unavailable', false])
      assert.match(message, `(${file}). No Python was started`)
      assert.match(next ?? '', new RegExp(command))
    }
    rmSync(join(bare, file))
  }
  assert.is(launcher.requests.length, 0)
  for (const file of ['bare.asd', 'setup.py']) writeFileSync(join(bare, file), '')
  assert.is((await kernels.resolve(at('bare'))).name, 'bare')
})

test('a kernel is started in the environment of whoever starts it now', async () => {
  await kernels.resolve({ ...at('shop'), env: {} })
  await crash()
  await kernels.resolve({ ...at('shop'), env: { PATH: '/one' } })
  await kernels.restart('shop', { PATH: '/two' })
  await kernels.restart('shop')
  assert.equal(
    launcher.requests.map(({ env }) => env.PATH),
    [undefined, '/one', '/two', '/two'],
  )
})

test('one caller without an interpreter does not keep others from the kernel', async () => {
  launcher.failures.push(new WireError('KERNEL_NOT_FOUND', 'No Python 3.9 or newer was found.'))
  assert.is((await refusal(kernels.resolve({ ...at('shop'), env: {} }))).code, 'kernel_unavailable')
  await kernels.resolve({ ...at('shop'), env: { PATH: '/bin' } })
  assert.is(launcher.requests.at(-1)?.env.PATH, '/bin')
})

test('an image that has ended leaves its name to the next of its project, and to no other project', async () => {
  await kernels.start({ ...at('shop'), language: 'wolfram' })
  await crash()
  assert.is((await kernels.start({ ...at('other/shop'), language: 'wolfram' })).name, 'wolfram-2')
  assert.is((await kernels.start({ ...at('shop'), language: 'wolfram' })).name, 'wolfram')
  assert.equal(
    kernels.list().map(({ name, state }) => `${name} ${state}`),
    ['wolfram ready', 'wolfram-2 ready'],
  )
})

test('a call without a name starts no empty kernel where a program has ended', async () => {
  await kernels.start({ ...python('shop'), script: join(folder, 'shop', 'app.py') })
  await crash()
  const error = await refusal(kernels.resolve(at('shop')))
  assert.is(error.code, 'kernel_unavailable')
  assert.is(error.message, 'python (app.py) has ended: it ended with exit code 3')
  assert.is(error.next, 'imago restart python starts it again, imago start python a new one')
  assert.is(launcher.requests.length, 1)
  assert.is((await kernels.resolve(at('other/shop'))).name, 'shop')
  assert.is((await kernels.start(python('shop'))).name, 'python-2')
  assert.is((await kernels.resolve(at('shop'))).name, 'python-2')
})

test('a script that is not there is refused with its whole path, and nothing is started', async () => {
  for (const script of ['nowhere.py', '.']) {
    const error = await refusal(kernels.start({ ...python('shop'), script }))
    assert.is(error.code, 'kernel_unavailable')
    assert.equal(error.details, { reason: 'no_script', script: join(folder, 'shop', script) })
    assert.match(error.message, join(folder, 'shop', script))
  }
  assert.is(launcher.requests.length, 0)
  assert.equal(kernels.list(), [])
})

test('the row of a start with a script says how the script fares, and what it failed with', async () => {
  const started = await kernels.start({ ...python('shop'), script: 'app.py' })
  assert.is(started.script_state, 'running')
  launcher.listener.scripted({ state: 'returned', message: null })
  assert.is(kernels.list()[0]?.script_state, 'returned')
  launcher.news = { state: 'failed', message: 'ZeroDivisionError: division by zero' }
  const again = await kernels.restart('python')
  assert.is(again.state, 'ready')
  assert.is(again.script_state, 'failed')
  assert.is(again.message, 'ZeroDivisionError: division by zero')
  await crash()
  assert.is(kernels.list()[0]?.script_state, 'failed')
  assert.is(kernels.list()[0]?.message, 'it ended with exit code 3')
})

test('a program of the user is run again only when a person asks', async () => {
  await kernels.start({ ...python('shop'), name: 'web', script: 'app.py' })
  await crash()
  const error = await refusal(kernels.resolve({ ...at('shop'), name: 'web' }))
  assert.is(error.code, 'kernel_unavailable')
  assert.match(error.message, 'app.py')
  assert.is(launcher.requests.length, 1)
  assert.is((await kernels.restart('web')).state, 'ready')
  assert.is(launcher.requests[1]?.script, 'app.py')
})

/** What the next daemon begins with, after this file was left. */
function next(left: string | undefined): Kernels {
  if (left !== undefined) writeFileSync(join(folder, 'started.json'), left)
  const started = openStartedStore({ stateDir: folder, log: sentence => logged.push(sentence) })
  return openKernels({ launch: launcher.launch, home: join(folder, 'home'), started })
}

const logged: string[] = []

test('the next daemon begins a project in the language that a person started there last, and no other project', async () => {
  const first = next(undefined)
  await first.start({ ...at('shop'), language: 'lisp', name: 'image' })
  await first.close()
  const second = next(undefined)
  assert.is(second.meant(at('shop'))?.name, 'image')
  const { name, replaces } = await second.resolve(at('shop'))
  assert.equal([name, replaces], ['image', 'It ended with the daemon before this one.'])
  await second.resolve(at('bare'))
  const [, again, other] = launcher.requests
  assert.equal([again?.language, again?.root, other?.language], ['lisp', join(folder, 'shop'), 'python'])
  await second.close()
})

test('a person who starts a Python after that has a Python again', async () => {
  const first = next(undefined)
  await first.start({ ...at('shop'), language: 'lisp' })
  await first.start({ ...at('shop'), language: 'python' })
  await first.close()
  const second = next(undefined)
  await second.resolve(at('shop'))
  assert.is(launcher.requests.at(-1)?.language, 'python')
  await second.close()
})

test('a program in another language is not run again by a call, which is told the command', async () => {
  const first = next(undefined)
  writeFileSync(join(folder, 'shop', 'app.lisp'), '')
  await first.start({ ...at('shop'), language: 'lisp', script: 'app.lisp' })
  await first.close()
  const second = next(undefined)
  const error = await second.resolve(at('shop')).then(
    () => undefined,
    (thrown: KernelError) => thrown,
  )
  assert.match(error?.message ?? '', 'It ended with the daemon before this one.')
  assert.match(error?.next ?? '', 'imago start lisp --script app.lisp starts it again')
  assert.is(launcher.requests.length, 1)
  await second.close()
})

test('a file of what was started that cannot be read is logged, and no more', async () => {
  for (const left of ['{', '[1]', 'null', `[{"root":"${'x'.repeat(5_000_000)}"}]`]) {
    const kernels = next(left)
    assert.match(logged.pop() ?? '', 'What was started before cannot be read')
    await kernels.resolve(at('shop'))
    await kernels.close()
  }
})
