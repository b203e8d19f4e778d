import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Attach } from '../../src/kernels/attach.ts'
import { openAttachmentStore } from '../../src/kernels/attachment-store.ts'
import { KernelError } from '../../src/kernels/kernel-error.ts'
import type { Kernels } from '../../src/kernels/kernels.ts'
import { WireError } from '../../wire/errors.ts'
import { FakeLauncher } from '../support/fake-launcher.ts'
import { FakePrograms } from '../support/fake-programs.ts'
import { assert, suite } from '../support/harness.ts'
import { openKernels } from '../support/kernels-alone.ts'

/** What Imago makes of the addresses of a wstpserver, without any. */
const test = suite('wstp servers')

let folder = ''
let programs = new FakePrograms()
let kernels: Kernels = openKernels({ launch: new FakeLauncher().launch })

function open(): Kernels {
  const attachments = openAttachmentStore({ stateDir: folder, log: () => {} })
  return openKernels({ launch: new FakeLauncher().launch, home: join(folder, 'home'), programs, attachments })
}

test.before.each(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-wstp-')))
  for (const name of ['shop', 'home']) mkdirSync(join(folder, name))
  programs = new FakePrograms()
  kernels = open()
})

test.after.each(async () => {
  await kernels.close()
  rmSync(folder, { recursive: true, force: true })
})

const attach = (target: string, more: Partial<Attach> = {}) =>
  kernels.attach({ target, root: join(folder, 'shop'), ...more })

async function refusal(work: Promise<unknown>): Promise<KernelError> {
  try {
    await work
  } catch (error) {
    if (error instanceof KernelError) return error
    throw error
  }
  throw new Error('it was not refused')
}

test('a port, a name of this machine or both is one address, which is joined once and without a secret', async () => {
  const row = await attach('wstp://31415')
  assert.is(row.name, 'wolfram')
  assert.is(row.attached?.address, 'wstp://127.0.0.1:31415')
  assert.equal([programs.joinings[0]?.key, programs.joinings[0]?.open], [undefined, true])
  for (const same of ['wstp://localhost', 'wstp://LOCALHOST:31415', 'wstp://127.0.0.1:31415/'])
    assert.is((await refusal(attach(same))).details.reason, 'attached_already', same)
  assert.is((await attach('wstp://[::1]:4711')).attached?.address, 'wstp://[::1]:4711')
})

test('what is no address is refused, with one that is', async () => {
  for (const wrong of ['wstp://', 'wstp:31415', 'wstp://0', 'wstp://70000', 'wstp://u@h:1']) {
    const { details, next } = await refusal(attach(wrong))
    assert.is(details.reason, 'bad_address', wrong)
    assert.match(next ?? '', 'wstp://31415')
  }
  assert.is(programs.joinings.length, 0)
})

test('another machine is refused whatever a person insists on, with the reason and the tunnel to type', async () => {
  for (const far of ['wstp://lab.example.org', 'wstp://10.0.0.7:31415', 'wstp://127.0.0.1.example.org']) {
    const { message, next, details } = await refusal(attach(far, { anywhere: true, noSecret: true }))
    assert.is(details.reason, 'not_loopback', far)
    assert.match(message, 'asks nobody who they are')
    assert.match(next ?? '', /^ssh -L 31415:127\.0\.0\.1:31415 \S+ .*imago attach wstp:\/\/31415$/)
  }
  assert.is(programs.joinings.length, 0)
})

test('where no kernel is had, that is told in the words of the link, with what serves one and what cannot be joined', async () => {
  programs.failures.push(new WireError('LINK_REFUSED', 'The link server could not be reached: error 1.'))
  const { message, next } = await refusal(attach('wstp://4711'))
  assert.match(message, 'wstp://127.0.0.1:4711. The link server could not be reached')
  assert.match(next ?? '', 'wstpserver --interface 127.0.0.1 --port 4711')
  assert.match(next ?? '', 'front end')
})

test('one that is attached is not stopped but let go of; a new daemon joins the same kernel again', async () => {
  await attach('wstp://31415', { name: 'wl' })
  const [kept] = JSON.parse(readFileSync(join(folder, 'attached.json'), 'utf8')).attached
  assert.equal(
    [kept.address, kept.language, kept.secret],
    ['wstp://127.0.0.1:31415', 'wolfram', { from: 'none' }],
  )
  assert.match((await refusal(kernels.stop('wl'))).next ?? '', 'imago detach wl')
  await kernels.close()
  programs.rejoined.push('wl has begun anew, and what listens there now is another image.')
  kernels = open()
  assert.is(programs.joinings.at(-1)?.epoch, kept.epoch)
  while (kernels.list()[0]?.state !== 'ended') await new Promise(resolve => setImmediate(resolve))
  const { message } = await refusal(kernels.resolve({ name: 'wl', root: join(folder, 'shop'), env: {} }))
  assert.match(message, 'another image')
  const [row] = kernels.list()
  assert.match(row?.message ?? '', /imago attach wstp:\/\/127\.0\.0\.1:31415 --name wl$/)
})
