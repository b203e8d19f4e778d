import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { reasonToStay } from '../../src/daemon.ts'
import { kernelLine } from '../../src/front/commands/kernels.ts'
import { painted, storyPieces } from '../../src/front/log/lines.ts'
import { EVERYTHING, showStories } from '../../src/front/log/stories.ts'
import type { JournalEntry } from '../../src/journal/entries.ts'
import { openJournal } from '../../src/journal/journal.ts'
import { openKernels } from '../../src/kernels/kernels.ts'
import type { KernelRow, NewLife } from '../../src/kernels/rows.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { FakeKernel } from '../support/fake-kernel.ts'
import { suspendedAs } from '../support/fake-suspensions.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('suspended evaluations, as they are shown')

let folder = ''

test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-shown-'))
})

test.after.each(() => rmSync(folder, { recursive: true, force: true }))

/** Kernels by name, each life of which is another fake. */
function opened() {
  const [fakes, lives]: [FakeKernel[], NewLife[]] = [[], []]
  const kernels = openKernels({
    home: '/nowhere',
    lives: life => lives.push(life),
    async launch() {
      const kernel = new FakeKernel()
      fakes.push(kernel)
      return { kernel, pid: 1, stop: () => kernel.close(), kill: () => kernel.die() }
    },
  })
  const start = () => kernels.start({ language: 'python', name: 'shop', root: folder, env: {} })
  return { kernels, fakes, lives, start }
}

const row = ({ kernels }: ReturnType<typeof opened>): KernelRow => {
  const [only] = kernels.list()
  if (only === undefined) throw new Error('there is no kernel')
  return only
}

test('the row of a kernel counts what is suspended in this life of it, and its line says so', async () => {
  const rig = opened()
  await rig.start()
  assert.is(row(rig).suspended, 0)
  for (const id of ['s1@ab12', 's2@ab12'])
    rig.fakes[0]?.tell({ type: 'suspended', suspension: suspendedAs(id).suspension })
  assert.is(row(rig).suspended, 2)
  assert.match(kernelLine(row(rig), '/home'), /^shop +ready, 2 suspended /)
  rig.fakes[0]?.tell({ type: 'ended', id: 's1@ab12', how: 'left', message: '' })
  assert.is(row(rig).suspended, 1)
  await rig.kernels.restart('shop')
  assert.is(row(rig).suspended, 0)
  assert.not.match(kernelLine(row(rig), '/home'), /suspended/)
  await rig.kernels.close()
})

test('each life of a kernel is told of as it begins, by its name and project', async () => {
  const rig = opened()
  await rig.start()
  await rig.kernels.restart('shop')
  assert.equal(
    rig.lives.map(({ name, root }) => [name, root]),
    [
      ['shop', row(rig).root],
      ['shop', row(rig).root],
    ],
  )
  const place = rig.kernels.living({ name: 'shop', root: folder, env: {} })
  assert.ok(place !== undefined && place.kernel === rig.lives[1]?.kernel)
  assert.ok(rig.lives[0]?.kernel !== rig.lives[1]?.kernel)
  await rig.kernels.close()
})

test('a daemon that is only wanted to end while unused stays for what is suspended, also in a program that runs on', async () => {
  const rig = opened()
  await rig.start()
  rig.fakes[0]?.tell({ type: 'suspended', suspension: suspendedAs('s1@ab12').suspension })
  const attached = { ...row(rig), owned: false }
  const uses = { running: 0, clients: 0, kernels: [attached] }
  assert.is(reasonToStay(uses, 'unused'), '1 suspended evaluation of the kernel shop would be lost.')
  // Nothing runs: an error waits.
  assert.is(reasonToStay(uses, 'nothing_runs'), undefined)
  await rig.kernels.close()
})

test('imago log says in a line what was suspended, who took or was handed it, and how it ended', async () => {
  const about = {
    suspension: 's3@ab12',
    kernel: 'shop',
    epoch: 'e-1',
    call: 'c-1' as CallId,
    who: 'claude-code',
  }
  const seat = 'seat-1, terminal /dev/pts/3'
  const entries: JournalEntry[] = [
    { type: 'suspension', ...about, holder: 'claude-code', what: 'suspended', by: null, why: 'KeyError: 42' },
    { type: 'suspension', ...about, holder: seat, what: 'taken', by: seat },
    { type: 'suspension', ...about, holder: null, what: 'handed', by: seat },
    // As 0.1 wrote it.
    { type: 'suspension', ...about, holder: 'codex', what: 'handed', by: seat, to: 'codex' } as JournalEntry,
    { type: 'suspension', ...about, holder: 'codex', what: 'expired', by: null, why: 'Nobody came.' },
  ]
  const journal = openJournal({ stateDir: folder, version: 'test' })
  for (const entry of entries) journal.write(entry)
  await journal.close()
  const said: string[] = []
  await showStories(
    { dir: join(folder, 'journal'), signal: new AbortController().signal },
    {
      filter: { ...EVERYTHING, kernel: ['shop'] },
      show: story =>
        said.push(painted(storyPieces(story, { columns: undefined, long: false }), { coloured: false })),
    },
  )
  assert.equal(
    said.map(line => line.slice(22).trim()),
    [
      's3@ab12 in shop, of claude-code: suspended: KeyError: 42',
      's3@ab12 in shop, of claude-code: taken by seat-1, terminal /dev/pts/3',
      's3@ab12 in shop, of claude-code: handed to the agents of its project by seat-1, terminal /dev/pts/3',
      's3@ab12 in shop, of claude-code: handed to codex by seat-1, terminal /dev/pts/3',
      's3@ab12 in shop, of claude-code: expired: Nobody came.',
    ],
  )
})
