import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openKernels } from '../../src/kernels/kernels.ts'
import { FakeLauncher } from '../support/fake-launcher.ts'
import { FakePrograms } from '../support/fake-programs.ts'
import { assert, suite } from '../support/harness.ts'

/** How long the list of kernels tells of attached programs that have ended. */
const test = suite('ended programs')

let root = ''

test.before.each(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'imago-ended-')))
})

test.after.each(() => rmSync(root, { recursive: true, force: true }))

function open() {
  const programs = new FakePrograms()
  let now = 0
  const kernels = openKernels({ launch: new FakeLauncher().launch, programs, home: '/', now: () => now })
  return {
    kernels,
    /** Starts a program of that name, and attaches to it. */
    async attach(announced: string, { as, from = root }: { as: string; from?: string }) {
      programs.announced = []
      const { pid } = programs.announce({ name: announced, pid: 500 + programs.joinings.length, program: '' })
      await kernels.attach({ target: String(pid), name: as, root: from })
    },
    async end() {
      programs.latest.die({ reason: 'exited', message: 'it has ended.' })
      await new Promise(resolve => setImmediate(resolve))
    },
    pass: (ms: number) => {
      now += ms
    },
    rows: () => kernels.list().map(({ name, state }) => `${name} ${state}`),
  }
}

test('the row of a program that has ended goes when the program is attached to again, under whatever name', async () => {
  const { kernels, attach, end, rows } = open()
  for (const as of ['one', 'two', 'three']) {
    await attach('web', { as })
    assert.equal(rows(), [`${as} ready`])
    await end()
    assert.equal(rows(), [`${as} ended`])
  }
  await kernels.close()
})

test('beside another program of its project it stays for ten minutes', async () => {
  const { kernels, attach, end, pass, rows } = open()
  await attach('web', { as: 'web' })
  await end()
  pass(600_000)
  await attach('jobs', { as: 'jobs' })
  assert.equal(rows(), ['jobs ready', 'web ended'])
  pass(1)
  await attach('mail', { as: 'mail' })
  assert.equal(rows(), ['jobs ready', 'mail ready'])
  await kernels.close()
})

test('what is attached to in another project lets no call of this one begin an empty kernel in place of the program', async () => {
  const { kernels, attach, end, pass, rows } = open()
  await attach('web', { as: 'web' })
  await end()
  pass(3_600_000)
  await attach('web', { as: 'elsewhere', from: tmpdir() })
  assert.equal(rows(), ['elsewhere ready', 'web ended'])
  const refused = await kernels.resolve({ root, env: {} }).catch(error => error)
  assert.is(refused.details.reason, 'ended')
  await kernels.close()
})
