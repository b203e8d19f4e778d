import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Attach } from '../../src/kernels/attach.ts'
import { KernelError } from '../../src/kernels/kernel-error.ts'
import { type Kernels, openKernels } from '../../src/kernels/kernels.ts'
import { openRemembered } from '../../src/kernels/remembered.ts'
import { FakeLauncher } from '../support/fake-launcher.ts'
import { FakePrograms } from '../support/fake-programs.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('attached kernels, remembered')

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

async function refusal(work: Promise<unknown>): Promise<KernelError> {
  try {
    await work
  } catch (error) {
    if (error instanceof KernelError) return error
    throw error
  }
  throw new Error('it was not refused')
}

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
