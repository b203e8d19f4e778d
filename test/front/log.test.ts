import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JournalEntry } from '../../src/journal/entries.ts'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import {
  dangerous,
  ENTRIES,
  id,
  journalWith,
  linesOf,
  on,
  planned,
  segmentsOf,
  shown,
} from '../support/journal-sample.ts'
import { openRig } from '../support/rig.ts'
import { ESCAPE, ranIn } from '../support/terminal.ts'

const test = suite('imago log', { limitMs: 60_000 })

const rig = openRig()

test.after(() => rig.close())

const withJournal = (entries?: readonly JournalEntry[], options?: { segmentBytes?: number }) =>
  journalWith(rig, entries, options)

test('each call is one line with its outcome, place, caller and names; refused and unknown ones are marked', async () => {
  const { log } = await withJournal()
  const { code, stdout, stderr } = await log()
  assert.equal([code, stderr], [0, ''])
  assert.equal(shown(stdout), [
    'x exception       2.5 s  app      eval_expr    cautious  client-1  x = 1\\nx',
    '  ok               3 ms  app      inspect      safe      client-1  x',
    '  ok              30 ms  -        edit_file    dangerous client-2  edit app.py: 1 hunk  [plan-one, approved by seat-1]  undo undo-one',
    '! denied                 -        write_file   dangerous client-2  write b.py  [plan-two, denied by seat-1: not today]',
    '? unknown                batch    eval_expr    cautious  client-1  train()',
    '. no end yet             app      eval_expr    cautious  client-1  serve()',
    '. asks                   -        write_file   dangerous client-2  write c.py  [plan-three]',
    '! seat refused, process 7: it has no terminal',
    '  kernel app: started',
  ])
  assert.match(stdout, /^x 2026-01-02 10:0\d:00 exception/)
})

test('where nothing is like what was asked for, that is said', async () => {
  const { log } = await withJournal()
  const { code, stdout, stderr } = await log('--kernel', 'nobody', '--count', 'all')
  assert.equal([code, stdout, stderr], [0, '', 'Nothing in the journal is like that.\n'])
})

test('--json prints the lines as they stand in the files, and all of them unless it is told otherwise', async () => {
  const { log, dir } = await withJournal(ENTRIES, { segmentBytes: 1_500 })
  const lines = linesOf(dir)
  assert.ok(segmentsOf(dir).length > 2)
  assert.is((await log('--json')).stdout, lines.map(line => `${line}\n`).join(''))
  assert.is(
    (await log('--json', '--count', '2')).stdout,
    lines
      .slice(-2)
      .map(line => `${line}\n`)
      .join(''),
  )
  const types = (stdout: string) =>
    stdout
      .split('\n')
      .slice(0, -1)
      .map(line => JSON.parse(line).type)
  assert.equal(types((await log('--json', '--tool', 'edit_file')).stdout), [
    'requested',
    'decided',
    'dispatched',
    'ended',
  ])
  assert.equal(types((await log('--json', '--outcome', 'failed')).stdout), ['ended', 'refused', 'ended'])
})

test('a line that is damaged is shown as such, and beside the lines of --json', async () => {
  const { log, dir } = await withJournal(ENTRIES.slice(0, 3))
  const file = join(dir, '000001.jsonl')
  writeFileSync(file, readFileSync(file, 'utf8').replace('"type":"looked"', '"type:"\x1b[31mlooked"'))
  assert.match((await log()).stdout, /^! 000001\.jsonl, line 3 cannot be read: .*\\u001b\[31mlooked/m)
  const json = await log('--json')
  for (const line of json.stdout.split('\n').slice(0, -1)) JSON.parse(line)
  assert.is(json.stderr, 'imago: 000001.jsonl, line 3 cannot be read, and is left out.\n')
})

test('what would steer a terminal is a mark wherever it goes, colours are for terminals, and --long is bounded too', async () => {
  const hostile = '\x1b]0;owned\x07\x9b31m\u202egnp\r'
  const { env } = await withJournal([
    {
      type: 'dispatched',
      call: id('a'),
      tool: hostile,
      args: { expr: hostile, more: [hostile] },
      ...on,
      caller: hostile,
      kernel: hostile,
    },
    { type: 'ended', call: id('a'), outcome: 'ok', elapsed_ms: 1 },
    { type: 'requested', call: id('b'), tool: 't', args: {}, ...dangerous, plan: planned('plan-a', hostile) },
    { type: 'decided', call: id('b'), plan: 'plan-a', answer: 'denied', by: 'seat-1', reason: hostile },
    { type: 'seat', what: 'taken', seat: 'seat-1', who: hostile, why: null },
  ])
  const script = new URL('../support/terminal.py', import.meta.url).pathname
  const at = (TERM: string, ...args: string[]) =>
    ranIn({ ...rig, env: { ...rig.env, ...env, TERM } }, ['python3', script, '[]', ...imago, 'log', ...args])
  for (const args of [[], ['--long'], ['--json']]) {
    const piped = await rig.imago(['log', ...args], { env })
    const dumb = await at('dumb', ...args)
    const coloured = await at('xterm', ...args)
    assert.equal([piped.code, dumb.code, coloured.code], [0, 0, 0])
    for (const text of [
      args[0] === '--json' ? '' : piped.stdout,
      dumb.text,
      coloured.text.replaceAll(COLOURS, ''),
    ])
      assert.not.match(text.replaceAll('\r\n', '\n'), /[^\P{Cc}\t\n]|\u202e/u)
    assert.is(dumb.text.includes(ESCAPE), false)
    assert.is(coloured.text.includes(`${ESCAPE}[1;31m`), args[0] !== '--json')
  }
  const plain = await ranIn({ ...rig, env: { ...rig.env, ...env, TERM: 'xterm', NO_COLOR: '1' } }, [
    'python3',
    script,
    '[]',
    ...imago,
    'log',
  ])
  assert.is(plain.text.includes(ESCAPE), false)
})

const COLOURS = new RegExp(`${ESCAPE}\\[[0-9;]*m`, 'g')

const imago = [process.execPath, join(import.meta.dirname, '../../dist/src/main.js')]

test('what is asked for in a wrong way is refused with exit code 2, in words or as an envelope', async () => {
  const { log } = await withJournal(ENTRIES.slice(0, 1))
  for (const [args, says] of [
    [['--level', 'cautios'], /^imago: There is no level cautios\./],
    [['verfy'], /imago log has no verfy\. It has: verify, acknowledge\./],
    [['acknowledge'], /asks a person, and needs a terminal/],
  ] as const) {
    const { code, stdout, stderr } = await log(...args)
    assert.equal([code, stdout], [2, ''])
    assert.match(stderr, says)
  }
  const json = await log('--count', 'many', '--json')
  assert.is(json.code, 2)
  assert.is(onlyEnvelope(json).ok, false)
})

test('without a journal, or with one that cannot be read, that is said, with exit code 2', async () => {
  const env = { IMAGO_STATE_DIR: join(rig.folder, 'nothing') }
  for (const args of [['log'], ['log', 'verify'], ['log', '--json']]) {
    const { code, stderr, stdout } = await rig.imago(args, { env })
    assert.is(code, 2)
    assert.match(
      args.includes('--json') ? stdout : stderr,
      /There is no journal in .*nothing\/journal yet: it begins with the first call/,
    )
  }
  assert.is(existsSync(env.IMAGO_STATE_DIR), false)
  mkdirSync(env.IMAGO_STATE_DIR)
  writeFileSync(join(env.IMAGO_STATE_DIR, 'journal'), 'no directory')
  const { code, stderr } = await rig.imago(['log'], { env })
  assert.is(code, 2)
  assert.match(stderr, /The journal in .* cannot be read: /)
})
