import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KernelError } from '../../src/kernels/kernel-error.ts'
import { type Kernels, openKernels } from '../../src/kernels/kernels.ts'
import { TOOLS } from '../../tools/index.ts'
import { FakeLauncher } from '../support/fake-launcher.ts'
import { assert, suite } from '../support/harness.ts'

/** Calls that are about what is in a kernel already. */
const test = suite('kernels that are only looked for')

let folder = ''

let launcher = new FakeLauncher()

let kernels: Kernels = openKernels({ launch: launcher.launch })

test.before.each(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-living-')))
  for (const name of ['shop', 'bare', 'home']) mkdirSync(join(folder, name))
  launcher = new FakeLauncher()
  kernels = openKernels({ launch: launcher.launch, home: join(folder, 'home') })
})

test.after.each(() => rmSync(folder, { recursive: true, force: true }))

const at = (root: string) => ({ root: join(folder, root), env: {}, onlyLiving: true })

async function refusal(work: Promise<unknown>): Promise<KernelError> {
  try {
    await work
  } catch (error) {
    if (error instanceof KernelError) return error
    throw error
  }
  throw new Error('it was not refused')
}

test('where none lives, none is started: neither the default one of a folder, by whatever name, nor one that ended', async () => {
  await kernels.start({ language: 'python', name: 'app', root: join(folder, 'shop'), env: {} })
  const { name } = await kernels.resolve({ root: join(folder, 'shop'), env: {}, name: 'app' })
  assert.is(name, 'app')
  const started = launcher.requests.length
  for (const wanted of [at('bare'), { ...at('bare'), name: 'bare' }]) {
    const error = await refusal(kernels.resolve(wanted))
    assert.is(error.code, 'no_such_kernel')
    assert.match(error.message, /^No kernel lives in .*bare, and none was started.* see in it\.$/)
    assert.equal(error.details.kernels, [], 'app is of another project')
    assert.is(error.next, 'List them with: imago kernels')
  }
  await kernels.stop('app')
  const ended = await refusal(kernels.resolve({ ...at('shop'), name: 'app' }))
  assert.match(ended.message, 'No kernel lives in app, and none was started')
  assert.is(ended.next, 'List them with: imago kernels')
  assert.is(launcher.requests.length, started)
  assert.equal(
    kernels.list().map(row => row.name),
    ['app'],
  )
})

test('one that lives is found as ever, also by no name, and what is not known is said as ever', async () => {
  await kernels.start({ language: 'python', name: 'app', root: join(folder, 'shop'), env: {} })
  assert.is((await kernels.resolve(at('shop'))).name, 'app')
  assert.is((await kernels.resolve({ ...at('bare'), name: 'app' })).name, 'app')
  assert.match(
    (await refusal(kernels.resolve({ ...at('shop'), name: 'ap' }))).message,
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

test('where none lives, the others of the project are named, as far as they may be', async () => {
  const root = join(folder, 'shop')
  for (const name of ['app', 'dev', 'prod']) await kernels.start({ language: 'python', name, root, env: {} })
  await kernels.stop('app')
  const mayName = (name: string) => name !== 'prod'
  const error = await refusal(kernels.resolve({ ...at('shop'), name: 'app', mayName }))
  assert.match(error.message, / There are: dev\.$/)
  assert.equal(error.details.kernels, ['dev'])
})

test('what is about suspended evaluations and tracepoints starts none; what runs new code does', () => {
  const only = TOOLS.filter(tool => tool.onlyLiving).map(({ name }) => name)
  assert.equal(only, [
    'debug_state',
    'debug_frame',
    'debug_eval',
    'debug_restart',
    'trace_calls',
    'untrace_function',
  ])
})
