import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { reasonToStay } from '../../src/daemon.ts'
import { kernelLine } from '../../src/front/commands/kernels.ts'
import { painted, storyPieces } from '../../src/front/log/lines.ts'
import { EVERYTHING, showStories } from '../../src/front/log/stories.ts'
import type { JournalEntry } from '../../src/journal/entries.ts'
import { openJournal } from '../../src/journal/journal.ts'
import type { KernelRow } from '../../src/kernels/rows.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('suspended evaluations, as they are shown')

let folder = ''

test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-shown-'))
})

test.after.each(() => rmSync(folder, { recursive: true, force: true }))

/** A kernel in which so many evaluations are suspended. */
const rowWith = (suspended: number): KernelRow => ({
  name: 'shop',
  language: 'python',
  implementation: 'CPython 3.11.7',
  state: 'ready',
  pid: 1,
  epoch: '00000001',
  owned: true,
  attached: null,
  root: '/shop',
  script: null,
  script_state: null,
  running: null,
  suspended,
  message: null,
  background: null,
})

test('the line of a kernel counts what is suspended in it', () => {
  assert.match(kernelLine(rowWith(2), '/home'), /^shop +ready, 2 suspended /)
  assert.not.match(kernelLine(rowWith(0), '/home'), /suspended/)
})

test('a daemon that is only wanted to end while unused stays for what is suspended, also in a program that runs on', () => {
  const uses = { running: 0, clients: 0, kernels: [{ ...rowWith(1), owned: false }] }
  assert.is(reasonToStay(uses, 'unused'), '1 suspended evaluation of the kernel shop would be lost.')
  // Nothing runs: an error waits.
  assert.is(reasonToStay(uses, 'nothing_runs'), undefined)
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
