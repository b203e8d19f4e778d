import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JournalEntry } from '../../src/journal/entries.ts'
import { openJournal } from '../../src/journal/journal.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { openTerminal } from '../support/terminal.ts'

const test = suite('imago log verify', { limitMs: 60_000 })

async function withRig(use: (rig: Rig) => Promise<void>) {
  const rig = openRig()
  try {
    await use(rig)
  } finally {
    await rig.close()
  }
}

/** A journal of several files in the state directory of that user. */
async function writeJournal({ paths }: Rig): Promise<string> {
  const on = { level: 'cautious', kernel: 'app', epoch: 'e', caller: 'c', decision: 'allow' } as const
  const journal = openJournal({ stateDir: paths.stateDir, segmentBytes: 1_000 })
  for (let index = 0; index < 12; index++) {
    const call = `c${index}` as CallId
    const begun: JournalEntry = {
      type: 'dispatched',
      call,
      tool: 'eval_expr',
      args: { expr: `${index}` },
      ...on,
    }
    journal.write(begun)
    journal.write({ type: 'ended', call, outcome: 'ok', elapsed_ms: 1 })
  }
  await journal.close()
  return join(paths.stateDir, 'journal')
}

function flip(file: string, at: number) {
  const bytes = readFileSync(file)
  bytes[at] = (bytes[at] ?? 0) ^ 1
  writeFileSync(file, bytes)
}

test('a journal that is what was written passes, and it is said what that does not show', () =>
  withRig(async rig => {
    const dir = await writeJournal(rig)
    const { code, stdout, stderr } = await rig.imago(['log', 'verify'])
    assert.equal([code, stderr], [0, ''])
    assert.match(stdout, /^The journal is what was written: \d+ lines, .* in \d+ files, in .*journal\.\n/)
    assert.match(stdout, /A chain without a key cannot show/)
    const json = onlyEnvelope(await rig.imago(['log', 'verify', '--json']))
    assert.equal(json.ok && (json.result as { sound: boolean }).sound, true)
    assert.equal(
      readdirSync(dir).filter(name => !/^\d{6}\.jsonl$/.test(name)),
      [],
    )
  }))

test('with one byte flipped, wherever it is, the file and the line are named, with what to do, and exit code 1', () =>
  withRig(async rig => {
    const dir = await writeJournal(rig)
    const [first = '', second = ''] = readdirSync(dir).sort()
    const size = readFileSync(join(dir, second)).length
    for (const [name, at] of [
      [first, 3],
      [second, 0],
      [second, Math.floor(size / 2)],
      [second, size - 1],
    ] as const) {
      flip(join(dir, name), at)
      const { code, stdout, stderr } = await rig.imago(['log', 'verify'])
      assert.equal([code, stdout], [1, ''])
      assert.match(stderr, /^imago: The journal is not what was written\. /)
      assert.ok(stderr.split('\n')[0]?.includes(name), stderr)
      assert.match(stderr, /byte \d+: Line \d+/)
      assert.match(stderr, /imago log acknowledge/)
      const json = await rig.imago(['log', 'verify', '--json'])
      assert.is(json.code, 1)
      assert.match(json.stdout, `"file":"${name}"`)
      flip(join(dir, name), at)
    }
    assert.is((await rig.imago(['log', 'verify'])).code, 0)
  }))

test('a person at a terminal acknowledges what is wrong, which the journal says, and may as well not', () =>
  withRig(async rig => {
    const dir = await writeJournal(rig)
    const [first = ''] = readdirSync(dir).sort()
    flip(join(dir, first), 400)
    await rig.serve()
    const quarantined = () => readdirSync(dir).some(name => name.includes('quarantined'))
    await until(quarantined, 'the damaged file to be set aside')
    const terminal = openTerminal(rig)
    const refused = await terminal(['log', 'acknowledge'], [['[y]es [n]o', 'n\n']])
    assert.is(refused.code, 1, refused.text)
    assert.is((await rig.imago(['log', 'verify'])).code, 1)
    const taken = await terminal(['log', 'acknowledge'], [['[y]es [n]o', 'y\n']])
    assert.is(taken.code, 0, taken.text)
    assert.match(taken.text, first.replace('.jsonl', ''))
    assert.match((await rig.imago(['log'])).stdout, /acknowledged by seat-\d+/)
    const verified = await rig.imago(['log', 'verify'])
    assert.is(verified.code, 0, verified.stderr)
    assert.match(verified.stdout, /A person has acknowledged this/)
    assert.match((await terminal(['log', 'acknowledge'], [])).text, /nothing to acknowledge/)
  }))

test('what a real daemon writes is shown and verified while it runs and after it has ended', () =>
  withRig(async rig => {
    await rig.imago(['call', 'eval_expr', '{"expr":"6 * 7"}'])
    await rig.imago(['call', 'eval_expr', '{"expr":"1 / 0"}'])
    const shows = async () => {
      const { stdout } = await rig.imago(['log', '--tool', 'eval_expr'])
      assert.match(stdout, /^ {2}.* ok .* eval_expr +cautious .* 6 \* 7\nx .* exception .* 1 \/ 0\n$/)
      assert.is((await rig.imago(['log', 'verify'])).code, 0)
    }
    await until(
      async () => (await rig.imago(['log', '--outcome', 'exception'])).stdout !== '',
      'the last line',
    )
    await shows()
    await rig.imago(['shutdown', '--force'])
    await shows()
  }))
