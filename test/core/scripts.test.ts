import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KernelError } from '../../src/kernels/kernel-error.ts'
import { type Kernels, openKernels } from '../../src/kernels/kernels.ts'
import type { KernelRow } from '../../src/kernels/rows.ts'
import { FakeLauncher } from '../support/fake-launcher.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('scripts of kernels')

let folder = ''

let launcher = new FakeLauncher()

let kernels: Kernels = openKernels({ launch: launcher.launch })

test.before.each(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-scripts-')))
  for (const name of ['shop', 'other/shop']) mkdirSync(join(folder, name), { recursive: true })
  writeFileSync(join(folder, 'shop', 'app.py'), '')
  launcher = new FakeLauncher()
  kernels = openKernels({ launch: launcher.launch, home: '/nowhere' })
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

test('a call without a name never chooses between the default kernel and another', async () => {
  await kernels.resolve(at('shop'))
  await kernels.start({ ...python('shop'), script: 'app.py' })
  const error = await refusal(kernels.resolve(at('shop')))
  assert.is(error.code, 'no_such_kernel')
  assert.equal(error.details.kernels, ['python', 'shop'])
  assert.is(kernels.living(at('shop')), undefined)
  await kernels.stop('shop')
  assert.is((await kernels.resolve(at('shop'))).name, 'python')
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
  launcher.ears.scripted({ state: 'returned', message: null })
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

test('a start waits for news of its script, and goes on without them where the kernel ends first', async () => {
  launcher.news = undefined
  let row: KernelRow | undefined
  const starting = kernels.start({ ...python('shop'), script: 'app.py' }).then(found => {
    row = found
  })
  await turn()
  await turn()
  assert.is(row, undefined)
  launcher.ears.scripted({ state: 'running', message: null })
  await starting
  assert.is(row?.script_state, 'running')
  const second = kernels.restart('python')
  while (launcher.kernels.length < 2) await turn()
  await crash()
  assert.is((await second).state, 'ended')
  assert.is((await second).script_state, null)
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
