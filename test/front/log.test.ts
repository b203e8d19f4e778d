import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EXIT, Failure } from '../../src/failure.ts'
import type { Options } from '../../src/front/command.ts'
import { filterOf, parseTime } from '../../src/front/log/filter.ts'
import { painted, storyPieces } from '../../src/front/log/lines.ts'
import { EVERYTHING, type Filter, type Story, showStories } from '../../src/front/log/stories.ts'
import type { JournalEntry } from '../../src/journal/entries.ts'
import { openJournal } from '../../src/journal/journal.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { onlyEnvelope } from '../support/envelopes.ts'
import { assert, suite } from '../support/harness.ts'
import { openRig, type Ran } from '../support/rig.ts'
import { ESCAPE, ranIn } from '../support/terminal.ts'

const test = suite('imago log', { limitMs: 60_000 })

const rig = openRig()

test.after(() => rig.close())

const id = (name: string) => name as CallId

const on = {
  level: 'cautious',
  kernel: 'app',
  epoch: 'e-1',
  caller: 'client-1',
  who: 'imago eval',
  decision: 'allow',
} as const

const dangerous = {
  level: 'dangerous',
  kernel: null,
  epoch: null,
  caller: 'client-2',
  who: 'codex',
} as const

const planned = (name: string, title: string) => ({
  id: name,
  hash: 'h',
  title,
  preview_sha256: 's',
  preview_bytes: 1,
  paths: ['/p/app.py'],
})

/** Some of everything that a journal can say of calls, seats and kernels. */
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

/** A journal of its own, and `imago log` on it. */
interface JournalOfTest {
  readonly stateDir: string
  readonly dir: string
  readonly env: Readonly<Record<string, string>>
  log(...args: string[]): Promise<Ran>
}

let made = 0

/** A journal with those entries in it, one a minute from 10:00 on. */
async function journalWith(
  entries: readonly JournalEntry[] = ENTRIES,
  options: { segmentBytes?: number } = {},
): Promise<JournalOfTest> {
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
  const { log } = await journalWith()
  const { code, stdout, stderr } = await log()
  assert.equal([code, stderr], [0, ''])
  assert.equal(shown(stdout), [
    'x exception       2.5 s  app      eval_expr    cautious  imago eval x = 1\\nx',
    '  ok               3 ms  app      inspect      safe      imago eval x',
    '  ok              30 ms  -        edit_file    dangerous codex     edit app.py: 1 hunk  [plan-one, approved by seat-1]  undo undo-one',
    '! denied                 -        write_file   dangerous codex     write b.py  [plan-two, denied by seat-1: not today]',
    '? unknown                batch    eval_expr    cautious  imago eval train()',
    '. no end yet             app      eval_expr    cautious  imago eval serve()',
    '. asks                   -        write_file   dangerous codex     write c.py  [plan-three]',
    '! seat refused, process 7: it has no terminal',
    '  kernel app: started',
  ])
  assert.match(stdout, /^x 2026-01-02 10:0\d:00 exception/)
})

test('where nothing is like what was asked for, that is said', async () => {
  const { log } = await journalWith()
  const { code, stdout, stderr } = await log('--kernel', 'nobody', '--count', 'all')
  assert.equal([code, stdout, stderr], [0, '', 'Nothing in the journal is like that.\n'])
})

test('--json prints the lines as they stand in the files, and all of them unless it is told otherwise', async () => {
  const { log, dir } = await journalWith(ENTRIES, { segmentBytes: 1_500 })
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

test('a tool is found by its older names, in entries from before as in those of now', async () => {
  const write = { ...dangerous, decision: 'allow', type: 'dispatched' } as const
  const { log } = await journalWith([
    { ...write, call: id('old'), tool: 'create_file', args: { path: 'old' } },
    { ...write, call: id('new'), tool: 'write_file', args: { path: 'new', new: true } },
    { ...write, call: id('over'), tool: 'write_file', args: { path: 'over' } },
  ])
  const found = async (...how: string[]) =>
    (await log('--json', ...how)).stdout
      .split('\n')
      .slice(0, -1)
      .map(line => JSON.parse(line).call)
  assert.equal(await found('--tool', 'create_file'), ['old', 'new'])
  assert.equal(await found('--tool', 'write_file'), ['old', 'new', 'over'])
  assert.equal(await found('--tool', 'create_*'), ['old', 'new'])
  const { stdout } = await log('--tool', 'create_file')
  assert.match(stdout, 'old')
  assert.not.match(stdout, 'over')
})

test('a line that is damaged is shown as such, and beside the lines of --json', async () => {
  const { log, dir } = await journalWith(ENTRIES.slice(0, 3))
  const file = join(dir, '000001.jsonl')
  writeFileSync(file, readFileSync(file, 'utf8').replace('"type":"looked"', '"type:"\x1b[31mlooked"'))
  assert.match((await log()).stdout, /^! 000001\.jsonl, line 3 cannot be read: .*\\u001b\[31mlooked/m)
  const json = await log('--json')
  for (const line of json.stdout.split('\n').slice(0, -1)) JSON.parse(line)
  assert.is(json.stderr, 'imago: 000001.jsonl, line 3 cannot be read, and is left out.\n')
})

test('what would steer a terminal is a mark wherever it goes, colours are for terminals, and --long is bounded too', async () => {
  const hostile = '\x1b]0;owned\x07\x9b31m\u202egnp\r'
  const { env } = await journalWith([
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

const imago = [process.execPath, join(import.meta.dirname, '../../dist/src/main.cjs')]

test('what is asked for in a wrong way is refused with exit code 2, in words or as an envelope', async () => {
  const { log } = await journalWith(ENTRIES.slice(0, 1))
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
  const { log, dir } = await journalWith(many, { segmentBytes: 8_000 })
  // Where the first file is read, it is told that it cannot be.
  const [first = ''] = segmentsOf(dir)
  renameSync(join(dir, first), join(dir, 'set-aside'))
  mkdirSync(join(dir, first))
  const last = await log('--count', '30')
  assert.is(last.code, 0)
  assert.equal(
    shown(last.stdout).map(line => /call \d+$/.exec(line)?.[0]),
    Array.from({ length: 30 }, (_, index) => `call ${370 + index}`),
  )
  const isRead = async (...args: string[]) => {
    const { code, stdout, stderr } = await log(...args)
    assert.is(code, 0)
    return `${stdout}${stderr}`.includes(`${first} cannot be read`)
  }
  assert.is(await isRead('--count', '30'), false)
  assert.is(await isRead('--json', '--count', '5'), false)
  assert.is(await isRead('--since', '2026-01-02T15:00:00Z'), false)
  assert.is(await isRead('--count', 'all'), true)
})

test('--follow shows what was and what comes, across files, asks at once and long calls before they end; Ctrl-C ends it', async () => {
  const { stateDir, env } = await journalWith(ENTRIES.slice(0, 3))
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

async function storiesIn(
  dir: string,
  { filter, long }: { filter: Filter; long: boolean },
): Promise<string[]> {
  const found: string[] = []
  const show = (story: Story) =>
    found.push(painted(storyPieces(story, { columns: undefined, long }), { coloured: false }))
  await showStories({ dir, signal: new AbortController().signal }, { filter, show })
  return found
}

for (const [options, calls] of FILTERS)
  test(`of ${JSON.stringify(options)}, ${calls.join(', ') || 'nothing'} is shown`, async () => {
    const { dir } = await journalWith()
    const found = await storiesIn(dir, { filter: filterOf(options, new Date()), long: false })
    assert.is(found.length, calls.length, found.join(''))
    for (const [index, call] of calls.entries()) assert.ok(found[index]?.includes(` ${call}`), found[index])
  })

test('a call to all of a group is found by its name and by that of each member, and told with them', async () => {
  const members = [
    { kernel: 'web', epoch: 'e-1' },
    { kernel: 'web/2', epoch: 'e-2' },
  ]
  const all = { level: 'safe', kernel: 'web/*', epoch: null, members, caller: 'client-1' } as const
  const look = {
    tool: 'inspect',
    args: { expr: 'rate' },
    decision: 'allow',
    outcome: 'ok',
    elapsed_ms: 4,
  } as const
  const { dir } = await journalWith([{ type: 'looked', call: id('all'), ...all, ...look }])
  for (const [kernel, found] of [
    ['web/*', 1],
    ['web/2', 1],
    ['web', 1],
    ['web/3', 0],
  ] as const) {
    const filter = filterOf({ kernel }, new Date())
    assert.is((await storiesIn(dir, { filter, long: false })).length, found, kernel)
  }
  const [told] = await storiesIn(dir, { filter: filterOf({}, new Date()), long: true })
  assert.match(told ?? '', /web\/\* +inspect/)
  assert.match(told ?? '', '"kernel": "web/2"')
})

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
      filterOf(options, new Date())
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      assert.is(error.exit, EXIT.usage)
      return assert.match(error.message, says)
    }
    assert.unreachable('it was taken')
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

/** What `imago log` says of the calls of these entries. */
async function said(entries: readonly JournalEntry[], long = false): Promise<string[]> {
  const { dir } = await journalWith(entries)
  return storiesIn(dir, { filter: { ...EVERYTHING, also: ({ type }) => type === 'call' }, long })
}

const proposing = { call: id('a'), tool: 'propose_file_edit', args: { edits: [] }, ...dangerous } as const

const requested = {
  type: 'requested',
  ...proposing,
  plan: planned('plan-asked', 'Edit 2 files: 3 hunks'),
} as const

const decided = { type: 'decided', call: id('a'), plan: 'plan-asked', by: 'seat-1', reason: null } as const

const CHOSEN: readonly JournalEntry[] = [
  requested,
  {
    ...decided,
    answer: 'chosen',
    choices: [
      { hunk: 1, decision: 'accept' },
      { hunk: 2, decision: 'refuse', reason: 'not\x1b[31m now' },
      { hunk: 3, decision: 'edit', reason: 'shorter', sha256: 's', bytes: 25 },
    ],
    becomes: { plan: 'plan-made', hash: 'h' },
  },
  { type: 'dispatched', ...proposing, plan: 'plan-made', decision: 'ask' },
  { type: 'ended', call: id('a'), outcome: 'ok', elapsed_ms: 3, undo: 'plan-made' },
]

test('one line says how many hunks were taken, of which plan, and the name that takes them back', async () => {
  const [line = '', ...others] = await said(CHOSEN)
  assert.equal(others, [])
  assert.match(line, 'Edit 2 files: 3 hunks')
  assert.match(line, '[plan-asked, chosen by seat-1: 2 of 3 hunks, 1 of them edited]  undo plan-made')
})

test('a hunk that was split stands there as taken in part, and not as edited', async () => {
  const part = { hunk: 1, decision: 'edit', reason: 'no B', sha256: 's', bytes: 2, in_part: true } as const
  const entries: readonly JournalEntry[] = [
    requested,
    { ...decided, answer: 'chosen', choices: [part], becomes: { plan: 'plan-made', hash: 'h' } },
    { type: 'dispatched', ...proposing, plan: 'plan-made', decision: 'ask' },
    { type: 'ended', call: id('a'), outcome: 'ok', elapsed_ms: 3, undo: 'plan-made' },
  ]
  assert.match((await said(entries))[0] ?? '', 'chosen by seat-1: 1 of 1 hunk, 1 in part]')
  assert.match((await said(entries, true))[0] ?? '', 'hunks: 1 in part (2 bytes: no B)')
})

test('the long form says of each hunk what was decided and why, and nothing that steers a terminal', async () => {
  const [line = ''] = await said(CHOSEN, true)
  assert.match(line, 'hunks: 1 accepted, 2 refused (not\\u001b[31m now), 3 edited (25 bytes: shorter)')
  assert.not.match(line, /[^\P{Cc}\n]/u)
  assert.match(line, '"plan": "plan-made"')
})
