import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Entry, EntryOf } from '../../src/agent/entries.ts'
import { beginRun, keptRun, openRun, removeRun, runNames } from '../../src/agent/run-file.ts'
import { Failure } from '../../src/failure.ts'
import { assert, isLong, suite } from '../support/harness.ts'

/** The file of a run: what is read of it is what was written, or nothing is done with it. */
const test = suite('file of a run')

const begun = (run: string): EntryOf<'begun'> => ({
  type: 'begun',
  at: 1,
  run,
  id: `${run}-abc`,
  root: '/project',
  text: 'What is it? — 漢',
  guidance: 'You are Imago.',
  model: 'scripted',
  profile: 'core',
})

const ENTRIES: readonly Entry[] = [
  { type: 'asked', at: 2, step: 1, messages: 2 },
  {
    type: 'answered',
    at: 3,
    step: 1,
    content: [{ type: 'call', id: 'c', call: 'run-1-abc.1.1', tool: 'inspect', args: { expr: '漢' } }],
    said: '',
    finish: 'tool-calls',
    tokens: { input: 1, output: 1 },
  },
  { type: 'called', at: 4, call: 'run-1-abc.1.1' },
  { type: 'ended', at: 5, call: 'run-1-abc.1.1', outcome: 'ok', text: 'a\nb' },
]

interface Kept {
  readonly stateDir: string
  readonly path: string
  readonly bytes: Buffer
}

async function kept(): Promise<Kept> {
  const stateDir = mkdtempSync(join(tmpdir(), 'runs-'))
  const file = await beginRun(stateDir, begun)
  for (const entry of ENTRIES) file.keep(entry)
  file.close()
  const path = join(stateDir, 'runs/run-1.jsonl')
  return { stateDir, path, bytes: readFileSync(path) }
}

/** Why it is not used, by a reader and by who would go on with it. */
async function refusals({ stateDir }: Kept): Promise<string> {
  const words = [
    await openRun(stateDir, 'run-1').then(() => 'opened', messageOf),
    await Promise.resolve()
      .then(() => keptRun(stateDir, 'run-1'))
      .then(() => 'read', messageOf),
  ]
  assert.is(words[0], words[1])
  assert.equal(
    readdirSync(join(stateDir, 'runs')).filter(name => name.includes('lock')),
    [],
  )
  return words[0] ?? ''
}

function messageOf(error: unknown): string {
  if (!(error instanceof Failure)) throw error
  return error.message
}

test('only its owner can read it, and its folder', async () => {
  const { stateDir, path } = await kept()
  assert.is(statSync(path).mode & 0o777, 0o600)
  assert.is(statSync(join(stateDir, 'runs')).mode & 0o777, 0o700)
})

test('cut at any byte, it has the entries that are whole, and is gone on with after them', async () => {
  const run = await kept()
  const lines = run.bytes.toString().split('\n')
  for (let length = 0; length <= run.bytes.length; length++) {
    writeFileSync(run.path, run.bytes.subarray(0, length))
    const whole = run.bytes.subarray(0, length).toString('latin1').split('\n').length - 1
    if (whole === 0) {
      assert.match(await refusals(run), /does not begin as a run does/)
      continue
    }
    assert.is(keptRun(run.stateDir, 'run-1').entries.length, whole)
    // Each of these waits for the disk.
    if (!isLong && length % 11 !== 0) continue
    const file = await openRun(run.stateDir, 'run-1')
    assert.is(file.entries.length, whole)
    file.keep({ type: 'told', at: 9, text: 'more' })
    file.close()
    const expected = [...lines.slice(0, whole), '{"type":"told","at":9,"text":"more"}', ''].join('\n')
    assert.is(readFileSync(run.path, 'utf8'), expected)
  }
})

test('one that others can write is not used', async () => {
  for (const mode of [0o666, 0o620, 0o602]) {
    const run = await kept()
    chmodSync(run.path, mode)
    assert.match(await refusals(run), /can be written by others, and is not used\. .*chmod 600/)
  }
})

const asRoot = process.getuid?.() === 0
const OTHERS = 'one of another user is not used'
if (asRoot)
  test(OTHERS, async () => {
    const run = await kept()
    chownSync(run.path, 12_345, 12_345)
    assert.match(await refusals(run), /belongs to user 12345, not to you/)
  })
else test.skip(OTHERS, 'only root can give a file away')

test('a link in its place is not followed', async () => {
  const run = await kept()
  renameSync(run.path, join(run.stateDir, 'elsewhere'))
  symlinkSync(join(run.stateDir, 'elsewhere'), run.path)
  assert.match(await refusals(run), /cannot be read/)
})

test('a line that we did not write is named, and nothing of the run is used', async () => {
  const lines = (await kept()).bytes.toString().split('\n').slice(0, -1)
  const edits: readonly [at: number, line: string][] = [
    [2, ''],
    [2, 'no JSON'],
    [2, '{}'],
    [3, '{"type":"told","at":1,"text":"x","more":1}'],
    [3, '{"type":"told","at":"now","text":"x"}'],
    [4, '{"type":"dispatched","at":1}'],
    [5, '[]'],
    [5, '\0'],
  ]
  for (const [at, line] of edits) {
    const run = await kept()
    writeFileSync(run.path, `${lines.with(at - 1, line).join('\n')}\n`)
    assert.match(await refusals(run), new RegExp(`, line ${at} is no entry of a run`))
  }
})

test('it begins once, and with its beginning', async () => {
  const lines = (await kept()).bytes.toString().split('\n').slice(0, -1)
  for (const changed of [lines.slice(1), [...lines, lines[0]]]) {
    const run = await kept()
    writeFileSync(run.path, `${changed.join('\n')}\n`)
    assert.match(await refusals(run), /does not begin as a run does/)
  }
})

test('only the name of a run names one', async () => {
  const { stateDir } = await kept()
  for (const name of ['run-0', 'run-01', '../run-1', 'run-1.jsonl', 'run-1/', '', 'run-1\n'])
    assert.match(await openRun(stateDir, name).then(() => 'opened', messageOf), /is not the name of a run/)
  assert.match(await openRun(stateDir, 'run-2').then(() => 'opened', messageOf), /There is no run-2/)
})

test('what was written until the other process left is there for the one that takes over', async () => {
  const run = await kept()
  const opening = openRun(run.stateDir, 'run-1')
  appendFileSync(run.path, '{"type":"told","at":9,"text":"the last of the other"}\n')
  const file = await opening
  assert.is(file.entries.at(-1)?.type, 'told')
  file.close()
  assert.is(keptRun(run.stateDir, 'run-1').entries.length, ENTRIES.length + 2)
})

test('while one works at it, no other does, and nobody removes it', async () => {
  const run = await kept()
  const file = await openRun(run.stateDir, 'run-1')
  assert.match(await openRun(run.stateDir, 'run-1').then(() => 'opened', messageOf), /is at work already/)
  assert.throws(() => removeRun(run.stateDir, 'run-1'), /is at work/)
  file.keep({ type: 'told', at: 9, text: 'still mine' })
  file.close()
  assert.is(keptRun(run.stateDir, 'run-1').pid, undefined)
  removeRun(run.stateDir, 'run-1')
  assert.equal(readdirSync(join(run.stateDir, 'runs')), [])
})

test('one that cannot be used can be removed', async () => {
  const run = await kept()
  writeFileSync(run.path, '')
  removeRun(run.stateDir, 'run-1')
  assert.throws(() => removeRun(run.stateDir, 'run-1'), /There is no run-1/)
})

test('each run has a number of its own, the newest first', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'runs-'))
  assert.equal(runNames(stateDir), [])
  mkdirSync(join(stateDir, 'runs'))
  writeFileSync(join(stateDir, 'runs/run-8.jsonl.bak'), '')
  const files = await Promise.all(Array.from({ length: 12 }, () => beginRun(stateDir, begun)))
  for (const file of files) file.close()
  assert.is(new Set(files.map(({ run }) => run)).size, 12)
  assert.equal(runNames(stateDir).slice(0, 3), ['run-12', 'run-11', 'run-10'])
})
