import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Kernels } from '../../src/kernels/kernels.ts'
import type { Wanted } from '../../src/kernels/wanted.ts'
import { WireError } from '../../wire/errors.ts'
import { FakeLauncher, refusal } from '../support/fake-launcher.ts'
import { FakePrograms } from '../support/fake-programs.ts'
import { assert, suite } from '../support/harness.ts'
import { openKernels } from '../support/kernels-alone.ts'

/** Which program a call is for that names none, or names one that nobody has attached. */
const test = suite('programs that are found')

let folder = ''
let shop = ''
let launcher = new FakeLauncher()
let programs = new FakePrograms()
let kernels: Kernels = openKernels({ launch: launcher.launch })

test.before.each(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-found-')))
  shop = join(folder, 'shop')
  for (const name of ['shop/web', 'mail', 'home']) mkdirSync(join(folder, name), { recursive: true })
  launcher = new FakeLauncher()
  programs = new FakePrograms()
  kernels = openKernels({ launch: launcher.launch, home: join(folder, 'home'), programs })
})

test.after.each(async () => {
  await kernels.close()
  rmSync(folder, { recursive: true, force: true })
})

const here = (more: Partial<Wanted> = {}): Wanted => ({ root: shop, env: {}, ...more })
const listens = (more: Parameters<FakePrograms['announce']>[0] = {}) =>
  programs.announce({ cwd: shop, ...more })
const project = async (chosen?: string) => (await kernels.project(shop, chosen)).kernels
const listed = async (chosen?: string) =>
  (await project(chosen)).map(one => `${one.chosen ? '*' : ''}${one.name} ${one.state}`)
const ends = async (pid: number) => {
  programs.end(pid)
  programs.latest.die({ reason: 'exited', message: `web has ended (process ${pid}).` })
  await turn()
}
const turn = () => new Promise(resolve => setImmediate(resolve))

// One program

test('the one program of the project is attached on the way, and only the call that attached it says so', async () => {
  listens({ pid: 500 })
  const first = await kernels.resolve(here({ onlyLiving: true }))
  assert.is(first.name, 'web')
  assert.is(first.joined?.attached?.cwd, shop)
  const second = await kernels.resolve(here({ onlyLiving: true }))
  assert.equal([second.name, second.joined, second.begun], ['web', undefined, undefined])
  assert.is(programs.joinings.length, 1)
  assert.is(launcher.requests.length, 0)
})

test('calls that find it at the same time attach to it once', async () => {
  listens()
  const found = await Promise.all([1, 2, 3].map(() => kernels.resolve(here())))
  assert.equal(
    found.map(({ name }) => name),
    ['web', 'web', 'web'],
  )
  assert.is(programs.joinings.length, 1)
})

test('a program in a folder of the project is of the project, and one of another project is not', async () => {
  listens({ name: 'mail', cwd: join(folder, 'mail') })
  assert.is((await refusal(kernels.resolve(here({ onlyLiving: true })))).details.reason, 'none_lives')
  listens({ cwd: join(shop, 'web') })
  assert.is((await kernels.resolve(here({ onlyLiving: true }))).name, 'web')
})

test('one with a key of its own is not attached on the way: a person has to give the key', async () => {
  listens({ keyed: true })
  const { details, message } = await refusal(kernels.resolve(here({ onlyLiving: true })))
  assert.is(details.reason, 'none_lives')
  assert.match(message, /^web \(process \d+\) listens, and needs its key\.$/)
  assert.is(programs.joinings.length, 0)
})

// Supervisors

test('a supervisor is never the program: the live child that serves for it is', async () => {
  listens({ pid: 500, parent: 3, role: 'main' })
  listens({ pid: 501, parent: 500, role: 'serves' })
  const { joined } = await kernels.resolve(here())
  assert.is(joined?.attached?.address, 'unix:/run/programs/501.sock')
  assert.equal(await listed(), ['*web ready', 'web-500 supervisor'])
})

test('what can be attached to is named as the tool kernels names it, and a supervisor is told as one', async () => {
  listens({ pid: 500, parent: 3, role: 'main' })
  listens({ pid: 501, parent: 500, role: 'serves' })
  const rows = async () =>
    (await kernels.announced('/')).announced.map(({ attach, standing }) => [attach, standing])
  assert.equal(await rows(), [
    ['web-500', 'supervisor'],
    ['web', 'program'],
  ])
  assert.equal(await listed(), ['web listens', 'web-500 supervisor'])
  await kernels.resolve(here())
  assert.equal(await rows(), [['web-500', 'supervisor']])
})

test('having a child makes no supervisor: what has started a program of its name, another name or project is one of its own', async () => {
  listens({ pid: 500, parent: 3 })
  listens({ pid: 501, parent: 500, name: 'jobs' })
  const { details } = await refusal(kernels.resolve(here()))
  assert.equal(details.announced, ['web-500', 'jobs-501'])
  listens({ pid: 502, parent: 500 })
  assert.equal((await listed()).sort(), ['jobs listens', 'web-500 listens', 'web-502 listens'])
})

test('the only program of a project is found, although a program of another project has started it', async () => {
  listens({ pid: 500, role: 'main', cwd: join(folder, 'mail') })
  listens({ pid: 501, parent: 500, name: 'jobs' })
  const { name, joined } = await kernels.resolve(here({ onlyLiving: true }))
  assert.equal([name, joined?.takesCalls], ['jobs', true])
  assert.is(kernels.living(here())?.name, 'jobs')
  assert.equal(await listed(), ['*jobs ready'])
})

test('a supervisor whose child has ended is no program, and the answer is what ended that, also for code to run', async () => {
  listens({ pid: 500, parent: 3, role: 'main' })
  const program = listens({ pid: 501, parent: 500, role: 'serves', process: 'gone' })
  assert.is((await refusal(kernels.resolve(here({ onlyLiving: true })))).details.reason, 'none_lives')
  programs.end(501)
  programs.ends.push({ program, ended: 'SyntaxError: invalid syntax (server.py:9)' })
  const error = await refusal(kernels.resolve(here()))
  assert.match(error.message, / server\.py ended at .* \(process 501\): SyntaxError: invalid syntax/)
  assert.equal([programs.joinings.length, launcher.requests.length], [0, 0])
})

test('an empty image that was there before the program answers for none of it once that has ended', async () => {
  assert.is((await kernels.resolve(here())).begun, true)
  listens({ pid: 500 })
  assert.is((await kernels.resolve(here())).name, 'web')
  await ends(500)
  assert.is(kernels.living(here()), undefined)
  for (const onlyLiving of [true, false])
    assert.match(
      (await refusal(kernels.resolve(here({ onlyLiving })))).message,
      'web has ended (process 500).',
    )
  assert.equal(await listed(), ['shop ready', 'web ended'])
})

test('what crashed after a program ended is told with that, also where the end is known later than the crash', async () => {
  listens({ pid: 500 })
  await kernels.resolve(here())
  programs.joinings[0]?.away('the connection broke')
  await new Promise(resolve => setTimeout(resolve, 2))
  const later = { program: '/srv/shop/app.py', announced_at: new Date().toISOString() }
  const program = listens({ pid: 501, process: 'gone', ...later })
  programs.end(501)
  programs.ends.push({ program, ended: 'SyntaxError: invalid syntax (app.py:9)' })
  await new Promise(resolve => setTimeout(resolve, 2))
  await ends(500)
  const { message } = await refusal(kernels.resolve(here()))
  assert.match(message, /web has ended \(process 500\)\. app\.py ended at .* \(process 501\): SyntaxError/)
})

test('one that was attached before its child listened is not the program once that does', async () => {
  listens({ pid: 500, parent: 3, role: 'main' })
  assert.is((await kernels.resolve(here())).name, 'web')
  listens({ pid: 501, parent: 500, role: 'serves' })
  assert.is(kernels.living(here()), undefined)
  const { joined } = await kernels.resolve(here())
  assert.is(joined?.attached?.address, 'unix:/run/programs/501.sock')
  assert.is(kernels.living(here())?.name, joined?.name)
})

// Helpers

test('a helper is listed, named and asked with its group, and is never the program; the answer says that it was not asked', async () => {
  listens({ pid: 500, parent: 3, role: 'main' })
  for (const pid of [501, 502]) listens({ pid, name: 'web-worker', parent: 500, role: 'helper' })
  const found = await kernels.resolve(here())
  assert.equal([found.name, found.besides?.names], ['web', ['web-worker-501', 'web-worker-502']])
  assert.is(kernels.areSeveral(here()), false)
  assert.equal(await listed(), ['*web ready', 'web-worker-501 helper', 'web-worker-502 helper'])
  assert.is((await kernels.resolve(here({ name: 'web-worker-501' }))).besides, undefined)
  assert.equal(kernels.membersOf('web', shop), ['web', 'web-worker', 'web-worker-502'])
  assert.equal(kernels.membersOf('web-worker', shop), ['web-worker', 'web-worker-502'])
  assert.equal(kernels.living(here())?.besides?.names, ['web-worker', 'web-worker-502'])
})

test('a helper that has outlived its parent is asked by its name alone, and says whose it was', async () => {
  for (const pid of [501, 502]) listens({ pid, name: 'web-worker', parent: 500, role: 'helper' })
  await kernels.resolve(here({ name: 'web-worker-501' }))
  // Its own parent lives, and was left over itself.
  listens({ pid: 503, name: 'web-worker', parent: 502, role: 'helper' })
  await kernels.resolve(here({ name: 'web-worker-503' }))
  programs.gone.add(500)
  listens({ pid: 600, parent: 3, role: 'main' })
  const found = await kernels.resolve(here())
  assert.equal([found.name, found.besides], ['web', undefined])
  assert.equal(kernels.membersOf('web', shop), ['web'])
  const said = new Map((await project()).map(({ name, message }) => [name, message]))
  for (const name of ['web-worker', 'web-worker-502', 'web-worker/2'])
    assert.is(said.get(name), 'It was left over by web (process 500), which has ended.')
  programs.end(600)
  programs.latest.die({ reason: 'exited', message: 'web has ended (process 600).' })
  await turn()
  assert.is((await refusal(kernels.resolve(here({ patienceMs: 0 })))).details.reason, 'ended')
})

test('what imago run has started is meant before what that has started in turn; forks of it are asked by looks too', async () => {
  listens({ pid: 500, parent: 3, role: 'main' })
  listens({ pid: 501, parent: 500, name: 'web-other' })
  const { name, besides } = await kernels.resolve(here())
  assert.equal([name, besides?.names], ['web', ['web-other-501']])
  listens({ pid: 502, parent: 500 })
  assert.is(kernels.areSeveral(here()), true)
  assert.equal(kernels.membersOf(undefined, shop), ['web', 'web-502'])
  assert.is((await kernels.resolve(here())).name, 'web')
})

test('two hundred helpers that come and go at once hide nothing, and are not attached', async () => {
  listens({ pid: 500, parent: 3, role: 'main' })
  for (let pid = 1_000; pid < 1_200; pid++) listens({ pid, name: 'web-worker', parent: 500, role: 'helper' })
  assert.is((await kernels.resolve(here())).besides?.names.length, 200)
  assert.equal([kernels.areSeveral(here()), programs.joinings.length], [false, 1])
  for (let pid = 1_000; pid < 1_200; pid++) programs.end(pid)
  assert.is((await kernels.resolve(here())).besides, undefined)
})

// Several

test('several programs are listed, none is attached, and a name or its process chooses', async () => {
  listens({ pid: 500 })
  listens({ pid: 501 })
  const error = await refusal(kernels.resolve(here()))
  assert.is(error.code, 'no_such_kernel')
  assert.equal([error.details.reason, error.details.announced], ['several', ['web-500', 'web-501']])
  assert.match(error.next ?? '', 'attach {"name": "web-500"}')
  assert.is(programs.joinings.length, 0)
  assert.is((await refusal(kernels.resolve(here({ name: 'web' })))).details.reason, 'several')
  assert.is(
    (await kernels.resolve(here({ name: '501' }))).joined?.attached?.address,
    'unix:/run/programs/501.sock',
  )
})

test('the name by which a call has chosen one stands for it in the calls after, whatever it is called as a kernel', async () => {
  listens({ pid: 500 })
  listens({ pid: 501 })
  const first = await kernels.resolve(here({ name: 'web-501' }))
  assert.is(first.name, 'web')
  assert.is((await kernels.resolve(here({ name: 'web-501' }))).kernel, first.kernel)
  assert.is((await kernels.resolve(here({ name: '501' }))).kernel, first.kernel)
  assert.is(programs.joinings.length, 1)
})

test('attach makes one the kernel of its caller alone, also where several live', async () => {
  listens({ pid: 500 })
  listens({ pid: 501, name: 'jobs' })
  for (const name of ['web', 'jobs']) {
    const choice = await kernels.choose(name, { root: shop, elsewhere: false })
    assert.is(choice.type, 'chosen')
  }
  assert.is((await kernels.resolve(here({ chosen: 'jobs' }))).name, 'jobs')
  assert.is(kernels.living(here({ chosen: 'web' }))?.name, 'web')
  assert.equal((await refusal(kernels.resolve(here()))).details.kernels, ['jobs', 'web'])
  assert.equal(await listed('jobs'), ['*jobs ready', 'web ready'])
  assert.equal(await listed(), ['jobs ready', 'web ready'])
})

test('programs of one name that live together are a group: web, web/2, web/3', async () => {
  for (const pid of [500, 501, 502]) listens({ pid })
  for (const name of ['web-500', 'web-501', '502'])
    await kernels.choose(name, { root: shop, elsewhere: false })
  assert.equal(await listed(), ['web ready', 'web/2 ready', 'web/3 ready'])
  assert.is((await kernels.resolve(here({ name: 'web/3' }))).name, 'web/3')
  assert.is(
    (await refusal(kernels.start({ ...here(), name: 'web/4', language: 'python' }))).details.reason,
    'bad_name',
  )
})

test('members of a group are listed together and in their order, and what listens of the same name after them', async () => {
  for (let pid = 500; pid < 511; pid++) listens({ pid })
  listens({ pid: 600, name: 'web.admin' })
  for (let pid = 500; pid < 510; pid++) await kernels.choose(String(pid), { root: shop, elsewhere: false })
  const rows = await project()
  assert.equal(
    rows.map(({ name }) => name),
    ['web', ...[2, 3, 4, 5, 6, 7, 8, 9, 10].map(number => `web/${number}`), 'web-510', 'web.admin'],
  )
  assert.equal([...new Set(rows.map(({ group }) => group))], ['web', 'web.admin'])
})

// All of a group

/** What `web/*` comes to: each member by its name, and where it is not there, why. */
const all = async (group: string, more: Partial<Wanted> = {}) =>
  (await kernels.group(group, here({ onlyLiving: true, ...more }))).map(one =>
    'place' in one ? one.name : `${one.name}: ${(one.error as Error).message}`,
  )

test('all of a group are its members, attached on the way where they only listen, and the supervisor is none', async () => {
  listens({ pid: 499, role: 'main' })
  for (const pid of [500, 501, 502]) listens({ pid, parent: 499, role: 'serves' })
  await kernels.choose('501', { root: shop, elsewhere: false })
  assert.equal(kernels.membersOf('web', shop), ['web', 'web-500', 'web-502'])
  assert.is(programs.joinings.length, 1)
  assert.equal(await all('web'), ['web', 'web/2', 'web/3'])
  assert.is(programs.joinings.length, 3)
  assert.equal(await all('web'), ['web', 'web/2', 'web/3'])
  assert.equal(kernels.membersOf('web', shop), ['web', 'web/2', 'web/3'])
})

test('one that lives alone is all of its group, and so is an image or a program of another kind of name', async () => {
  listens()
  assert.equal(await all('web'), ['web'])
  programs.announce({ cwd: shop, name: 'my jobs', pid: 700 })
  assert.equal(await all('my-jobs'), ['my-jobs'])
  await kernels.start({ ...here(), name: 'lab', language: 'python' })
  assert.equal(await all('lab'), ['lab'])
})

test('members are those of the name in the project: other names, other projects and numbers are none', async () => {
  listens()
  listens({ pid: 600, name: 'web2' })
  listens({ pid: 601, cwd: join(folder, 'mail') })
  assert.equal(await all('web'), ['web'])
  const error = await refusal(kernels.group('wbe', here({ onlyLiving: true })))
  assert.equal([error.code, error.message], ['no_such_kernel', 'No kernel is named "wbe". There are: web.'])
  for (const name of ['', '*', '600', 'web/2'])
    assert.is((await refusal(kernels.group(name, here()))).code, 'no_such_kernel')
})

test('a member that cannot be attached is told as such, and the others are there', async () => {
  for (const pid of [500, 501]) listens({ pid })
  programs.failures.push(new WireError('LINK_REFUSED', 'ECONNREFUSED'))
  assert.equal(await all('web'), ['web/2', 'web-500: web (process 500) cannot be reached: ECONNREFUSED'])
})

test('more than can be asked at once are refused, and none of them is attached', async () => {
  for (let pid = 500; pid < 565; pid++) listens({ pid })
  const { message, retryable } = await refusal(kernels.group('web', here()))
  assert.match(message, '65 live that are called web; 64 is the most')
  assert.equal([retryable, programs.joinings.length], [false, 0])
  programs.end(500)
  assert.is((await all('web')).length, 64)
})

test('an empty image that bears the name of the folder is no member beside programs that bear it', async () => {
  await kernels.resolve(here())
  assert.equal(await all('shop'), ['shop'])
  for (const pid of [500, 501]) listens({ pid, name: 'shop' })
  assert.equal(await all('shop'), ['shop-500', 'shop-501'])
})

test('looks are told of the group where several live or listen, and other calls are not', async () => {
  for (const pid of [500, 501]) listens({ pid })
  const next = async (more: Partial<Wanted>) => (await refusal(kernels.resolve(here(more)))).next ?? ''
  assert.match(await next({ mayBeForAll: true }), 'ask all: {"kernel": "web/*"}')
  assert.not.match(await next({}), 'web/*')
  await all('web')
  assert.match(await next({ mayBeForAll: true }), 'ask all: {"kernel": "web/*"}')
  assert.not.match(await next({}), 'web/*')
})

test('a program that announces the name of one that is attached changes nothing for that one, and is listed by its process', async () => {
  listens({ pid: 500 })
  const first = await kernels.resolve(here())
  listens({ pid: 600, program: '/srv/other.py' })
  assert.is((await kernels.resolve(here({ lately: 'web' }))).kernel, first.kernel)
  assert.is((await kernels.resolve(here({ name: 'web' }))).kernel, first.kernel)
  assert.equal(await listed(), ['web ready', 'web-600 listens'])
  const newcomer = await refusal(kernels.resolve(here()))
  assert.match(newcomer.message, 'web, web-600')
  assert.is(newcomer.details.reason, 'several')
})

test('a program that has ended is not waited for where another one listens, also one of its name that another shell has begun', async () => {
  listens({ pid: 500, parent: 10 })
  await kernels.resolve(here())
  await ends(500)
  listens({ pid: 600, parent: 20 })
  assert.is(
    (await kernels.resolve(here({ patienceMs: 0 }))).joined?.attached?.address,
    'unix:/run/programs/600.sock',
  )
  assert.is((await kernels.resolve(here({ name: 'web' }))).name, 'web')
})

test('a fellow worker is not taken for the one that has ended', async () => {
  listens({ pid: 500, parent: 10 })
  listens({ pid: 501, parent: 10 })
  await kernels.choose('500', { root: shop, elsewhere: false })
  await ends(500)
  for (const wanted of [here(), here({ chosen: 'web' }), here({ name: 'web' })]) {
    const { details } = await refusal(kernels.resolve({ ...wanted, patienceMs: 0 }))
    assert.is(details.reason, 'ended')
  }
})

test('what reloads a program is not taken for it while that is down', async () => {
  listens({ pid: 400, parent: 10, role: 'main' })
  listens({ pid: 500, parent: 400, role: 'serves' })
  assert.is((await kernels.resolve(here())).joined?.attached?.address, 'unix:/run/programs/500.sock')
  await ends(500)
  assert.equal(await listed(), ['web ended', 'web-400 supervisor'])
  assert.is((await refusal(kernels.resolve(here({ patienceMs: 0 })))).details.reason, 'ended')
})

test('a name that nothing bears is told with the folder that was searched, and how a program comes to listen', async () => {
  const { message, next } = await refusal(kernels.choose('nosuch', { root: shop, elsewhere: false }))
  assert.match(message, programs.folder)
  assert.match(next ?? '', 'imago run')
})

test('one that changes its name while it is attached stays the kernel that it is, and is not listed twice', async () => {
  const { pid } = listens({ pid: 500 })
  const first = await kernels.resolve(here())
  programs.end(pid)
  listens({ pid, name: 'other', address: 'unix:/run/programs/500-b.sock' })
  assert.is((await kernels.resolve(here())).kernel, first.kernel)
  assert.equal(await listed(), ['*web ready'])
})

// Outside the project

test('a named call attaches to a program of the project, and is refused one outside with the way to it', async () => {
  listens({ name: 'jobs' })
  listens()
  assert.is((await kernels.resolve(here({ name: 'web', onlyLiving: true }))).joined?.name, 'web')
  programs.announce({ name: 'mail', pid: 600, cwd: join(folder, 'mail') })
  const error = await refusal(kernels.resolve(here({ name: 'mail' })))
  assert.is(error.code, 'no_such_kernel')
  assert.match(error.next ?? '', 'attach {"name": "mail"}')
  assert.is(programs.joinings.length, 1)
})

test('choosing what is outside the project does nothing until that is allowed', async () => {
  programs.announce({ name: 'mail', pid: 600, cwd: join(folder, 'mail') })
  const outside = await kernels.choose('mail', { root: shop, elsewhere: false })
  assert.equal(outside, { type: 'elsewhere', what: `mail-600 (in ${join(folder, 'mail')})` })
  assert.is(programs.joinings.length, 0)
  assert.is((await kernels.choose('mail', { root: shop, elsewhere: true })).type, 'chosen')
})

// Empty images

test('looking starts no image, says where it looked, and what a person does', async () => {
  const error = await refusal(kernels.resolve(here({ onlyLiving: true })))
  assert.equal([error.code, error.details.reason], ['no_such_kernel', 'none_lives'])
  assert.match(error.message, 'looked in /run/programs')
  assert.match(
    error.next ?? '',
    /^You are in \/.*\. Go to the folder of your program, or start it with: imago run -- COMMAND {3}or add this line to it: import imago; imago\.listen\(\) /,
  )
  assert.is(launcher.requests.length, 0)
  assert.equal(kernels.list(), [])
})

test('code to run starts an image, and the call that began it knows that it is empty', async () => {
  assert.is((await kernels.resolve(here())).begun, true)
  assert.is((await kernels.resolve(here())).begun, undefined)
  assert.is((await kernels.resolve(here({ onlyLiving: true }))).name, 'shop')
})

test('an empty image that calls have begun is not in the way of a program that listens afterwards', async () => {
  await kernels.resolve(here())
  listens()
  assert.is(kernels.living(here()), undefined)
  const found = await kernels.resolve(here())
  assert.equal([found.name, found.joined?.name], ['web', 'web'])
  assert.is(kernels.living(here())?.name, 'web')
  assert.equal(await listed(), ['shop ready', '*web ready'])
  assert.is((await kernels.resolve(here({ name: 'shop' }))).name, 'shop')
})

test('nor is one that was asked for by its name while a program is attached', async () => {
  listens()
  await kernels.resolve(here())
  assert.is((await kernels.resolve(here({ name: 'shop' }))).begun, true)
  assert.is((await kernels.resolve(here())).name, 'web')
})

test('attach starts an image again that has ended, in the environment of its caller, and says that it is empty', async () => {
  await kernels.resolve(here())
  launcher.latest.die({ reason: 'exited', message: 'it ended with exit code 3' })
  await turn()
  const env = { PATH: '/of/the/caller' }
  const choice = await kernels.choose('shop', { root: shop, elsewhere: false, env })
  assert.is(choice.type, 'chosen')
  if (choice.type !== 'chosen') return
  assert.is(choice.kernel.state, 'ready')
  assert.match(choice.kernel.message ?? '', 'empty. The image before is gone: it ended with exit code 3')
  assert.equal(launcher.requests[1], { language: 'python', name: 'shop', root: shop, env })
})

test('a helper that has gone is meant by the names under which those that it worked for were attached, by daemons before too', async () => {
  const attachments = {
    read: () => ({ attached: [], names: [{ name: 'prod', pid: 600, started: 'then' }] }),
    write() {},
  }
  const next = openKernels({ launch: launcher.launch, home: join(folder, 'home'), programs, attachments })
  const worker = { name: 'web-worker-worker', pid: 602, started: 'later', parent: 601, cwd: shop }
  const ruled = next.ruledAs({ ...worker, works_for: ['web-worker', '601', 'web', 'web-600', '600'] })
  const names = ruled.otherNames
  for (const meant of ['prod', 'web', '600', 'web-600', '601', '602']) assert.ok(names.includes(meant), meant)
  assert.not.ok(next.ruledAs({ ...worker, works_for: ['web', '601'] }).otherNames.includes('prod'))
  await next.close()
})
