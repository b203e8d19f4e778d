import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type KernelsOptions, openKernels } from '../../src/kernels/kernels.ts'
import { FakeLauncher } from '../support/fake-launcher.ts'
import { FakePrograms } from '../support/fake-programs.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('news of kernels')

let folder = ''

let news: [kernel: string, epoch: string | null, what: string][] = []

test.before.each(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-news-')))
  mkdirSync(join(folder, 'shop'))
  news = []
})

test.after.each(() => rmSync(folder, { recursive: true, force: true }))

const turn = () => new Promise(resolve => setImmediate(resolve))

const opened = (options: Omit<KernelsOptions, 'noted'>) =>
  openKernels({ ...options, noted: ({ kernel, epoch, what }) => news.push([kernel, epoch, what]) })

test('each life of a kernel is told when it begins and, with the reason, when it ends', async () => {
  const launcher = new FakeLauncher()
  const kernels = opened({ launch: launcher.launch, home: join(folder, 'home') })
  const wanted = { root: join(folder, 'shop'), env: {} }
  await kernels.resolve(wanted)
  launcher.latest.die({ reason: 'exited', message: 'it ended with exit code 3' })
  await turn()
  await kernels.resolve(wanted)
  await kernels.close()
  const [started, died, again, closed] = news
  assert.equal(
    [started, died, again],
    [
      ['shop', '00000001', 'started'],
      ['shop', '00000001', 'it ended with exit code 3'],
      ['shop', '00000002', 'started'],
    ],
  )
  assert.equal(closed?.slice(0, 2), ['shop', '00000002'])
  assert.is(news.length, 4)
})

test('a program that is attached is told when it is joined and when it is let go of', async () => {
  const programs = new FakePrograms()
  const launcher = new FakeLauncher()
  const kernels = opened({ launch: launcher.launch, home: join(folder, 'home'), programs })
  programs.announce()
  await kernels.attach({ target: 'web', root: join(folder, 'shop') })
  await kernels.detach('web')
  await kernels.close()
  assert.equal(news, [
    ['web', '00000001', 'attached'],
    ['web', '00000001', 'was let go of'],
  ])
})
