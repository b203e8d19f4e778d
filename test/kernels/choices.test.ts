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

/** Calls without a name go on to the program that was chosen or called, and to no other that bears its name. */
const test = suite('programs that were chosen')

let folder = ''
let shop = ''
let programs = new FakePrograms()
let launcher = new FakeLauncher()
let kernels: Kernels = openKernels({ launch: launcher.launch })

test.before.each(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-chosen-')))
  shop = join(folder, 'shop')
  for (const name of ['shop', 'home', 'other']) mkdirSync(join(folder, name))
  programs = new FakePrograms()
  launcher = new FakeLauncher()
  kernels = openKernels({ launch: launcher.launch, home: join(folder, 'home'), programs })
})

test.after.each(async () => {
  await kernels.close()
  rmSync(folder, { recursive: true, force: true })
})

const here = (more: Partial<Wanted> = {}): Wanted => ({ root: shop, env: {}, patienceMs: 0, ...more })

/** `imago run` names each program after its folder; nothing that is started later takes its place by itself. */
const runs = (pid: number, script: string, parent?: number) =>
  programs.announce({
    ...{ name: 'shop', pid, cwd: shop, program: join(shop, script) },
    announced_at: new Date().toISOString(),
    ...(parent !== undefined && { parent }),
  })

/** Attaches to the program of that number. Gives its name, and its key for choices. */
async function attach(pid: number): Promise<{ name: string; key: string }> {
  const { name } = await kernels.attach({ target: String(pid), root: shop })
  return { name, key: kernels.keyOf(name) }
}

/** What begins after this, begins later than what has ended by then. */
const pass = () => new Promise(resolve => setTimeout(resolve, 2))

async function end(pid: number): Promise<void> {
  await pass()
  const at = programs.joinings.findLastIndex(({ process }) => process?.pid === pid)
  programs.end(pid)
  programs.kernels[at]?.die({ reason: 'exited', message: `Process ${pid} has ended.` })
  await pass()
}

const HOW = ['chosen', 'lately'] as const

test('where it has ended, calls go to no other program that is there, and are told which one there is', async () => {
  runs(500, 'web.py')
  runs(501, 'jobs.py')
  const web = await attach(500)
  const jobs = await attach(501)
  await end(500)
  for (const how of HOW)
    for (const onlyLiving of [true, false]) {
      const wanted = here({ [how]: web.key, onlyLiving })
      assert.is(kernels.living(wanted), undefined)
      const { message } = await refusal(kernels.resolve(wanted))
      assert.is(
        message,
        `Process 500 has ended. There is ${jobs.name}: attach {"name": "${jobs.name}"} chooses it for calls without a name.`,
      )
    }
  assert.is((await kernels.resolve(here({ chosen: jobs.key }))).name, jobs.name)
  assert.is((await kernels.resolve(here())).name, jobs.name)
})

test('another program that bears its name by now is not taken for it', async () => {
  runs(500, 'web.py')
  const web = await attach(500)
  await end(500)
  runs(501, 'jobs.py')
  const jobs = await attach(501)
  assert.equal([jobs.name, jobs.key === web.key], ['shop', false])
  const error = await refusal(kernels.resolve(here({ chosen: web.key })))
  assert.match(error.message, 'Process 500 has ended. There is shop:')
  assert.is((await kernels.resolve(here({ chosen: jobs.key }))).name, 'shop')
})

for (const shell of [undefined, 3])
  for (const how of HOW)
    test(`the same program is, when it runs again, ${shell ? 'from a shell that lives' : 'by itself'}, as ${how}`, async () => {
      runs(500, 'web.py', shell)
      const web = await attach(500)
      runs(501, 'jobs.py', shell)
      const jobs = await attach(501)
      await end(500)
      runs(502, 'web.py', shell && 4)
      for (let call = 1; call <= 3; call++) {
        const { kernel } = await kernels.resolve(here({ [how]: web.key }))
        assert.is(kernel.identity.pid, programs.latest.identity.pid)
      }
      assert.is((await kernels.resolve(here({ [how]: jobs.key }))).name, jobs.name)
    })

test('where it runs again twice, one has to be chosen', async () => {
  runs(500, 'web.py')
  const web = await attach(500)
  await end(500)
  for (const pid of [501, 502]) runs(pid, 'web.py')
  const { details } = await refusal(kernels.resolve(here({ chosen: web.key })))
  assert.equal([details.reason, details.announced], ['several', ['shop-501', 'shop-502']])
})

test('a worker beside it that was there before its end is not its next life', async () => {
  for (const pid of [500, 501]) runs(pid, 'web.py')
  const [web, fellow] = [await attach(500), await attach(501)]
  await end(500)
  const { message } = await refusal(kernels.resolve(here({ chosen: web.key })))
  assert.match(message, `There is ${fellow.name}: attach {"name": "${fellow.name}"} chooses it`)
})

test('an image that crashed is not begun under a name that is a program by now', async () => {
  const { name } = await kernels.resolve(here())
  const key = kernels.keyOf(name)
  launcher.latest.die({ reason: 'killed', message: 'It was killed' })
  await pass()
  programs.announce({ name, pid: 500, cwd: shop, program: join(shop, 'web.py') })
  await attach(500)
  await refusal(kernels.resolve(here({ chosen: key })))
  assert.is(launcher.requests.length, 1)
})

test('one that alone listens after it is attached, with a word, where it was only called and not chosen', async () => {
  runs(500, 'web.py')
  const web = await attach(500)
  await end(500)
  runs(501, 'jobs.py')
  const { message } = await refusal(kernels.resolve(here({ chosen: web.key })))
  assert.match(message, 'Process 500 has ended. There is shop-501:')
  const { joined } = await kernels.resolve(here({ lately: web.key }))
  assert.is(joined?.attached?.program, join(shop, 'jobs.py'))
})

test('code of one language goes to no program of another', async () => {
  await kernels.attach({ target: 'swank://4005', root: shop, noSecret: true })
  runs(500, 'web.py')
  await attach(500)
  programs.kernels[0]?.die({ reason: 'exited', message: 'lisp has ended.' })
  await pass()
  programs.failures.push(new WireError('LINK_REFUSED', 'nobody listens there'))
  const none = await refusal(kernels.resolve(here({ lately: 'lisp' })))
  assert.match(none.message, /^lisp has ended\./)
  // The call joins what listens again where a person has attached it.
  assert.is((await kernels.resolve(here({ lately: 'lisp' }))).kernel.identity.language, 'lisp')
})

test('after detaching nothing is chosen any more', async () => {
  runs(500, 'web.py')
  const web = await attach(500)
  runs(501, 'jobs.py')
  const jobs = await attach(501)
  await kernels.detach(web.name)
  programs.end(500)
  assert.is(kernels.lasts(web.key), false)
  assert.is((await kernels.resolve(here({ chosen: web.key }))).name, jobs.name)
})

test('an image that was stopped is not chosen in silence for another one', async () => {
  for (const name of ['one', 'two']) await kernels.start({ ...here(), language: 'python', name })
  await kernels.stop('one')
  const { message } = await refusal(kernels.resolve(here({ chosen: 'one' })))
  assert.match(message, /^one has ended: .*\. There is two: attach \{"name": "two"\} chooses it/)
})

test('the name of an empty image that was stopped makes no program an empty image', async () => {
  const { name } = await kernels.resolve(here())
  await kernels.stop(name)
  programs.announce({ name, pid: 500, cwd: shop, program: join(shop, 'web.py') })
  assert.is((await attach(500)).name, name)
  programs.announce({ name, pid: 501, cwd: shop, program: join(shop, 'jobs.py') })
  await attach(501)
  assert.is((await refusal(kernels.resolve(here()))).details.reason, 'several')
})

test('a program of another project keeps its name while its next life is looked for', async () => {
  const other = join(folder, 'other')
  programs.announce({ name: 'web', pid: 500, cwd: other, parent: 3 })
  await kernels.attach({ target: '500', root: other })
  await end(500)
  programs.announce({ name: 'web', pid: 501, cwd: shop })
  assert.is((await attach(501)).name, 'web-501')
})
