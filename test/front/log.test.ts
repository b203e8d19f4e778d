import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type JournalEntry, openJournal } from '../../src/core/journal.ts'
import { EXIT, Failure } from '../../src/failure.ts'
import type { Options } from '../../src/front/commands.ts'
import { askedFor } from '../../src/front/log/asked.ts'
import { storyPieces } from '../../src/front/log/lines.ts'
import { painted } from '../../src/front/log/paint.ts'
import { showStories } from '../../src/front/log/show.ts'
import { parseTime } from '../../src/front/log/times.ts'
import type { CallId } from '../../wire/kernel.ts'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, until } from '../support/rig.ts'
import { ESCAPE, ranIn } from '../support/terminal.ts'

const test = suite('imago log', { limitMs: 60_000 })
const rig = openRig()
test.after(() => rig.close())

const id = (name: string) => name as CallId
const on = { level: 'cautious', kernel: 'app', epoch: 'e-1', caller: 'client-1', decision: 'allow' } as const
const dangerous = { level: 'dangerous', kernel: null, epoch: null, caller: 'client-2' } as const
const planned = (name: string, title: string) => ({
  id: name,
  hash: 'h',
  title,
  preview_sha256: 's',
  preview_bytes: 1,
  paths: ['/p/app.py'],
})

/** Some of everything; one a minute from 10:00 on. */
const ENTRIES: readonly JournalEntry[] = [
  { type: 'dispatched', call: id('a'), tool: 'eval_expr', args: { expr: 'x = 1\nx' }, ...on },
  {
    type: 'looked',
    call: id('b'),
    tool: 'inspect',
    args: { expr: 'x' },
    outcome: 'ok',
    elapsed_ms: 3,
    ...on,
    level: 'safe',
  },
  { type: 'ended', call: id('a'), outcome: 'exception', elapsed_ms: 2_500 },
  {
    type: 'requested',
    call: id('c'),
    tool: 'edit_file',
    args: { path: 'app.py' },
    ...dangerous,
    plan: planned('plan-one', 'edit app.py: 1 hunk'),
  },
  { type: 'decided', call: id('c'), plan: 'plan-one', answer: 'approved', by: 'seat-1', reason: null },
  {
    type: 'dispatched',
    call: id('c'),
    tool: 'edit_file',
    args: { path: 'app.py' },
    ...dangerous,
    plan: 'plan-one',
    decision: 'ask',
  },
  { type: 'ended', call: id('c'), outcome: 'ok', elapsed_ms: 30, undo: 'undo-one' },
  {
    type: 'requested',
    call: id('d'),
    tool: 'write_file',
    args: { path: 'b.py' },
    ...dangerous,
    plan: planned('plan-two', 'write b.py'),
  },
  { type: 'decided', call: id('d'), plan: 'plan-two', answer: 'denied', by: 'seat-1', reason: 'not today' },
  {
    type: 'refused',
    call: id('d'),
    tool: 'write_file',
    args: { path: 'b.py' },
    ...dangerous,
    decision: 'ask',
    outcome: 'denied',
  },
  { type: 'dispatched', call: id('e'), tool: 'eval_expr', args: { expr: 'train()' }, ...on, kernel: 'batch' },
  { type: 'ended', call: id('e'), outcome: 'outcome_unknown', elapsed_ms: null },
  { type: 'dispatched', call: id('f'), tool: 'eval_expr', args: { expr: 'serve()' }, ...on },
  {
    type: 'requested',
    call: id('g'),
    tool: 'write_file',
    args: {},
    ...dangerous,
    plan: planned('plan-three', 'write c.py'),
  },
  { type: 'seat', what: 'refused', seat: null, who: 'process 7', why: 'it has no terminal' },
  { type: 'kernel', kernel: 'app', epoch: 'e-1', what: 'started' },
]

let made = 0
/** The environment of a command that reads a journal of its own, with those entries in it. */
async function withJournal(
  entries: readonly JournalEntry[] = ENTRIES,
  options: { segmentBytes?: number } = {},
) {
  const stateDir = join(rig.folder, `state-${++made}`)
  let minute = 0
  const now = () => new Date(Date.UTC(2026, 0, 2, 10, minute++))
  const journal = openJournal({ stateDir, version: '0.1.0', now, ...options })
  for (const entry of entries) journal.write(entry)
  await journal.close()
  const dir = join(stateDir, 'journal')
  const env = { IMAGO_STATE_DIR: stateDir, TZ: 'UTC' }
  return { stateDir, dir, env, log: (...args: string[]) => rig.imago(['log', ...args], { env }) }
}

const segmentsOf = (dir: string) =>
  readdirSync(dir)
    .filter(name => name.endsWith('.jsonl'))
    .sort()
const linesOf = (dir: string) =>
  segmentsOf(dir).flatMap(name => readFileSync(join(dir, name), 'utf8').split('\n').slice(0, -1))
/** Without their times, of which the clock of the journal makes some for itself. */
const shown = (stdout: string) =>
  stdout
    .split('\n')
    .slice(0, -1)
    .map(line => line.replace(/ 2026-01-02 10:\d\d:00 /, ' '))

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

const FILTERS: readonly (readonly [options: Options, calls: readonly string[]])[] = [
  [{ tool: 'write_file' }, ['write b.py', 'write c.py']],
  [{ tool: 'e*,inspect', level: 'safe,dangerous' }, ['x', 'edit app.py']],
  [{ kernel: 'batch' }, ['train()']],
  [{ kernel: 'a*' }, ['x = 1', 'x', 'serve()', 'kernel app']],
  [{ level: 'safe' }, ['x']],
  [{ outcome: 'denied,exception' }, ['x = 1', 'write b.py']],
  [{ outcome: 'failed' }, ['x = 1', 'write b.py', 'train()']],
  [{ outcome: 'open' }, ['serve()', 'write c.py']],
  [{ outcome: 'ok', count: '1' }, ['edit app.py']],
  [{ count: '2' }, ['seat refused', 'kernel app']],
  [{ count: '0' }, []],
  [{ until: '2026-01-02T10:03:30Z', outcome: 'ok,exception' }, ['x = 1', 'x']],
  [{ since: '2026-01-02T10:14Z', until: '2026-01-02T10:15:30+00:00' }, ['write c.py', 'seat refused']],
]

for (const [options, calls] of FILTERS)
  test(`of ${JSON.stringify(options)}, ${calls.join(', ') || 'nothing'} is shown`, async () => {
    const { dir } = await withJournal()
    const found: string[] = []
    const signal = new AbortController().signal
    await showStories(
      { dir, signal },
      {
        asked: askedFor(options, new Date()),
        show: story =>
          found.push(painted(storyPieces(story, { columns: undefined, long: false }), { coloured: false })),
      },
    )
    assert.is(found.length, calls.length, found.join(''))
    for (const [index, call] of calls.entries()) assert.ok(found[index]?.includes(` ${call}`), found[index])
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

const BAD: readonly (readonly [options: Options, says: RegExp])[] = [
  [
    { level: 'cautios' },
    /There is no level cautios\. Did you mean cautious\? Known: safe, cautious, dangerous\./,
  ],
  [{ outcome: 'denyed' }, /There is no outcome denyed\. Did you mean denied\?/],
  [{ since: '25:00' }, /--since takes a time, not 25:00\. Times: 10m, 2h/],
  [{ until: '2026-02-30' }, /--until takes a time, not 2026-02-30/],
  [{ since: '1h', until: '2h' }, /--since 1h is later than --until 2h/],
  [{ count: 'many' }, /--count takes a number or all, not many/],
  [{ follow: true, until: 'today' }, /--follow waits for what comes/],
]

for (const [options, says] of BAD)
  test(`${JSON.stringify(options)} is refused with what would be right`, () => {
    try {
      askedFor(options, new Date())
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      assert.is(error.exit, EXIT.usage)
      return assert.match(error.message, says)
    }
    assert.unreachable('it was taken')
  })

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

test('of a long journal only the end is read where the last calls are wanted', async () => {
  const many = Array.from({ length: 400 }, (_, index): JournalEntry[] => [
    { type: 'dispatched', call: id(`c${index}`), tool: 'eval_expr', args: { expr: `call ${index}` }, ...on },
    { type: 'ended', call: id(`c${index}`), outcome: 'ok', elapsed_ms: 1 },
  ]).flat()
  const { log, dir } = await withJournal(many, { segmentBytes: 8_000 })
  // Whoever reads the first file fails.
  const [first = ''] = segmentsOf(dir)
  renameSync(join(dir, first), join(dir, 'set-aside'))
  mkdirSync(join(dir, first))
  const last = await log('--count', '30')
  assert.is(last.code, 0)
  assert.equal(
    shown(last.stdout).map(line => /call \d+$/.exec(line)?.[0]),
    Array.from({ length: 30 }, (_, index) => `call ${370 + index}`),
  )
  assert.is((await log('--json', '--count', '5')).code, 0)
  assert.is((await log('--since', '2026-01-02T15:00:00Z')).code, 0)
  assert.is((await log('--count', 'all')).code, 2)
})

test('--follow shows what was and what comes, across files, asks at once and long calls before they end; Ctrl-C ends it', async () => {
  const { stateDir, env } = await withJournal(ENTRIES.slice(0, 3))
  for (const json of [false, true]) {
    const following = rig.begin(['log', '--follow', '--count', 'all', ...(json ? ['--json'] : [])], { env })
    await following.says(json ? /"exception"/ : / exception .*\n.* inspect /)
    const journal = openJournal({ stateDir, segmentBytes: 1_200 })
    for (let index = 0; index < 20; index++) {
      journal.write({
        type: 'dispatched',
        call: id(`n${index}`),
        tool: 'eval_expr',
        args: { expr: `new ${index} ${json}!` },
        ...on,
      })
      journal.write({ type: 'ended', call: id(`n${index}`), outcome: 'ok', elapsed_ms: 1 })
    }
    await following.says(json ? /new 19 true!/ : /new 19 false!/)
    for (let index = 0; index < 20; index++)
      assert.is(following.so.stdout.split(`new ${index} ${json}!`).length, 2)
    journal.write({
      type: 'requested',
      call: id('r'),
      tool: 'write_file',
      args: {},
      ...dangerous,
      plan: planned('plan-r', 'write r.py'),
    })
    await following.says(json ? /"plan-r"/ : /asks .*write r\.py {2}\[plan-r\]/)
    journal.write({
      type: 'refused',
      call: id('r'),
      tool: 'write_file',
      args: {},
      ...dangerous,
      decision: 'ask',
      outcome: 'withdrawn',
    })
    journal.write({
      type: 'dispatched',
      call: id('long'),
      tool: 'eval_expr',
      args: { expr: 'train!' },
      ...on,
    })
    await following.says(json ? /train!/ : /no end yet .* train!/)
    journal.write({ type: 'ended', call: id('long'), outcome: 'interrupted', elapsed_ms: 1 })
    await following.says(/interrupted/)
    await journal.close()
    following.child.kill('SIGINT')
    assert.equal([(await following.ended).code, following.so.stderr], [0, ''])
  }
})

test('--follow waits for a journal that is not there yet, and ends when nobody reads it any more', async () => {
  const stateDir = join(rig.folder, 'later')
  const following = rig.begin(['log', '--follow'], { env: { IMAGO_STATE_DIR: stateDir } })
  const journal = openJournal({ stateDir })
  journal.write({ type: 'kernel', kernel: 'app', epoch: 'e', what: 'started' })
  await following.says(/kernel app: started/)
  following.child.stdout?.destroy()
  let ended = false
  void following.ended.then(() => {
    ended = true
  })
  await until(() => {
    journal.write({ type: 'kernel', kernel: 'app', epoch: 'e', what: 'lost' })
    return ended || following.child.exitCode !== null
  }, 'imago log --follow to end')
  await journal.close()
  assert.is((await following.ended).code, 0)
})

const NOW = new Date(2026, 6, 18, 14, 30, 15)
const TIMES: readonly (readonly [text: string, time: Date | undefined])[] = [
  ['90s', new Date(2026, 6, 18, 14, 28, 45)],
  ['10m', new Date(2026, 6, 18, 14, 20, 15)],
  ['2h', new Date(2026, 6, 18, 12, 30, 15)],
  ['1 d', new Date(NOW.getTime() - 86_400_000)],
  ['1w', new Date(NOW.getTime() - 604_800_000)],
  ['today', new Date(2026, 6, 18)],
  ['yesterday', new Date(2026, 6, 17)],
  ['09:05', new Date(2026, 6, 18, 9, 5)],
  ['2026-07-01', new Date(2026, 6, 1)],
  ['2026-07-01 08:00', new Date(2026, 6, 1, 8)],
  ['2026-07-01T08:00:00.5Z', new Date(Date.UTC(2026, 6, 1, 8, 0, 0, 500))],
  ['', undefined],
  ['10', undefined],
  ['24:00', undefined],
  ['2026-13-01', undefined],
  ['2026-02-29', undefined],
  ['tomorrow', undefined],
]

for (const [text, time] of TIMES)
  test(`the time ${JSON.stringify(text)} is ${time?.toISOString() ?? 'none'}`, () =>
    assert.equal(parseTime(text, NOW), time))
