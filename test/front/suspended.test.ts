import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DaemonClient } from '../../src/front/client.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import type { SuspensionEvent } from '../../src/suspensions/rows.ts'
import type { WireError } from '../../wire/errors.ts'
import { assert, suite } from '../support/harness.ts'
import { LETS_OTHERS_IN, openRig, type Rig, until } from '../support/rig.ts'
import { openScreen, type ScreenOf } from '../support/screen.ts'
import { someSeat } from '../support/watching.ts'

/** What becomes of what processes owned that are there no more: real ones, a real daemon, and a real Python. */
const test = suite('owners of suspended evaluations that are killed', { limitMs: 60_000 })

const MAIN = join(PACKAGE_ROOT, 'dist/src/main.cjs')
const DAEMON = join(PACKAGE_ROOT, 'test/support/hasty-daemon.mjs')

let rig: Rig
/** Its process. */
let daemon: number
/** A program of another project, which only looks. */
let observer: DaemonClient

test.before(async () => {
  rig = openRig({ policy: LETS_OTHERS_IN })
  const serving = rig.begin(['serve'], { main: DAEMON })
  await serving.says(/serves at/)
  daemon = serving.child.pid ?? 0
  observer = await rig.connect({ name: 'observer', root: rig.folder })
  await rig.imago(['call', 'eval_expr', '{"expr":"0"}'])
})

test.after(() => rig.close())

/** What is suspended, newest first, each with who owns it. */
async function waiting(): Promise<readonly (readonly [id: string, holder: string])[]> {
  const { suspensions } = await observer.request('suspensions', {})
  return suspensions.map(({ id, holder }) => [id, holder.type === 'other' ? holder.who : holder.type])
}

/** What the journal says of one, in order: what, and by whom. It may say so a moment after it: waits for so many. */
async function noted(
  id: string,
  count: number,
): Promise<readonly (readonly [what: string, by: string | null])[]> {
  let found: readonly (readonly [string, string | null])[] = []
  await until(async () => {
    const { stdout } = await rig.imago(['log', '--json'])
    const lines = stdout.split('\n').flatMap(line => (line === '' ? [] : [JSON.parse(line)]))
    found = lines.filter(line => line.suspension === id).map(({ what, by }) => [what, by] as const)
    return found.length >= count
  }, `${count} lines about ${id}`)
  return found
}

/** A model of another program, whose evaluation has raised. */
async function modelRaises(): Promise<string> {
  const model = await rig.connect({ name: 'claude-code', root: rig.folder })
  const raised = await model.call({
    tool: 'eval_expr',
    args: { expr: '1 / 0', on_error: 'suspend', kernel: 'project' },
  })
  if (raised.ok) throw new Error('it did not raise')
  return (raised.error.details.suspension as { readonly id: string }).id
}

interface AtConsole {
  readonly screen: ScreenOf
  /** Of the console itself. */
  readonly pid: number
  /** What its person has had suspended, and what they have taken over from a model. */
  readonly own: string
  readonly taken: string
}

/** A person at a console in a terminal, who has had an error suspended and has taken over that of a model. */
async function atConsole(name: string): Promise<AtConsole> {
  const file = join(rig.project, name)
  const command = ['sh', '-c', `echo $$ > ${file}; exec ${process.execPath} ${MAIN}`]
  const screen = openScreen(rig, { command, columns: 100, rows: 40 })
  await screen.shows(/^>>>/m)
  await someSeat(rig)
  const taken = await modelRaises()
  await screen.shows(`${taken} in project`)
  screen.type(`:take ${taken}\r`)
  await until(
    async () => (await waiting()).some(([id, who]) => id === taken && who.startsWith('seat')),
    'it to be taken',
  )
  screen.type(':hold 1 / 0\r')
  await screen.shows(/^\[1\] >>>/m)
  const own = (await waiting()).find(([id]) => id !== taken)?.[0] ?? ''
  return { screen, pid: Number(readFileSync(file, 'utf8')), own, taken }
}

test('what the person at a console that is killed owns is given up after a while', async () => {
  const { screen, pid, own, taken } = await atConsole('killed')
  process.kill(pid, 'SIGKILL')
  await until(async () => (await waiting()).length === 0, 'what a person owned to be given up')
  for (const [id, whats] of [
    [own, ['suspended', 'left']],
    [taken, ['suspended', 'taken', 'left']],
  ] as const) {
    const said = await noted(id, whats.length)
    assert.equal(
      said.map(([what]) => what),
      whats,
    )
    assert.match(said.at(-1)?.[1] ?? '', /^seat-\d+, terminal /)
  }
  screen.close()
})

test('what an MCP client owned that is killed is given up after a while', async () => {
  const script = join(PACKAGE_ROOT, 'test/support/mcp-holder.ts')
  const server = [process.execPath, MAIN, 'mcp', '--root', rig.project]
  const client = spawn(process.execPath, [...process.execArgv, script, '1 / 0', ...server], {
    cwd: rig.project,
    env: rig.env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    let said = ''
    client.stdout.setEncoding('utf8').on('data', text => {
      said += text
    })
    await until(() => said.endsWith('\n'), 'the client to be answered')
    const [[id = '', owner] = []] = await waiting()
    assert.match(said, id)
    assert.match(owner ?? '', /^holder/)
    client.kill('SIGKILL')
    await until(async () => (await waiting()).length === 0, 'it to be given up')
    const [began, left, ...more] = await noted(id, 2)
    assert.equal([began?.[0], left?.[0], more], ['suspended', 'left', []])
    assert.match(left?.[1] ?? '', /^holder/)
  } finally {
    client.kill('SIGKILL')
  }
})

test('what was suspended under a daemon that is killed is told as lost, by the log and to whoever asks again', async () => {
  const raised = await rig.imago(['call', 'eval_expr', '{"expr": "1 / 0", "on_error": "suspend"}'])
  const [id = ''] = /s\d+@\w+/.exec(raised.stdout + raised.stderr) ?? []
  assert.equal(
    (await noted(id, 1)).map(([what]) => what),
    ['suspended'],
  )
  process.kill(daemon, 'SIGKILL')
  await rig.serve()
  const told = async () => {
    const { stdout, stderr } = await rig.imago(['call', 'debug_state'])
    return stdout + stderr
  }
  let said = await told()
  await until(async () => {
    if (said.includes(id)) return true
    said = await told()
    return false
  }, 'it to be told')
  assert.match(said, new RegExp(`${id} in project \\(ZeroDivisionError: .*is suspended no more.* daemon`))
  assert.equal(await noted(id, 2), [
    ['suspended', null],
    ['lost', null],
  ])
})

test('whoever ends an image, or the daemon, is told what was suspended there; output keeps its own line', async () => {
  const raise = (expr: string) =>
    rig.imago(['call', 'eval_expr', JSON.stringify({ expr, on_error: 'suspend' })])
  const raised = await raise('print("half", end="")\n1 / 0')
  assert.is(raised.stdout, 'half')
  assert.match(raised.stderr, /^\nexception: ZeroDivisionError/)
  const printed = await raise('print("half", end="")\n6 * 7')
  assert.is(printed.stdout, 'half\n42\n')
  const says = (kernel: string) =>
    new RegExp(
      `^imago: s\\d+@\\w+ in ${kernel}, of imago call, is suspended and ends with it: ZeroDivisionError: `,
      'm',
    )
  const stopped = await rig.imago(['stop', 'project'])
  assert.match(stopped.stderr, says('project'))
  assert.is((await rig.imago(['stop', 'project'])).stderr, '')
  await raise('1 / 0')
  const ended = await rig.imago(['shutdown'])
  assert.match(ended.stderr, says('project'))
  assert.match(ended.stdout, 'The daemon ended. With it: project.')
})

test('an error in a real image waits there under its holder’s name, is refused to others without a seat, and ends in the journal (threat 4)', async () => {
  const rig = openRig({ policy: LETS_OTHERS_IN })
  try {
    await rig.serve()
    const [own, other] = [await rig.connect(), await rig.connect({ root: rig.folder })]
    const events: SuspensionEvent[] = []
    const over = new AbortController()
    const watched = own.watchSuspensions({ signal: over.signal, heard: event => events.push(event) })
    const args = { expr: 'left = 40\nleft / 0', on_error: 'suspend' }
    const raised = await own.call({ tool: 'eval_expr', args })
    assert.ok(!raised.ok && raised.error.code === 'exception')
    const { suspensions } = await other.request('suspensions', {})
    const [row] = suspensions
    if (row === undefined) throw new Error('nothing is suspended')
    assert.equal(
      [row.kernel, row.root, row.type.name, row.busy, row.holder],
      [
        'project',
        rig.project,
        'ZeroDivisionError',
        false,
        { type: 'other', who: 'imago test', person: false },
      ],
    )
    assert.ok((row.expires_in_ms ?? 0) > 0 && (row.expires_in_ms ?? 0) <= 600_000)
    const [kernel] = (await own.request('kernels', {})).kernels
    assert.is(kernel?.suspended, 1)
    assert.is((await own.request('status', {})).suspended, 1)
    const leave = { suspension: row.id, leave: true, kernel: 'project' }
    const refused = await other.call({ tool: 'debug_restart', args: leave })
    assert.ok(!refused.ok && refused.error.code === 'held_by_other')
    const named = { kernel: 'project', suspension: row.id }
    const codeOf = (work: Promise<unknown>) =>
      work.then(
        () => 'none',
        (error: WireError) => error.remote?.code,
      )
    for (const work of [
      other.request('take', named),
      other.request('hand', named),
      other.request('theirs', { kernel: 'project' }),
      other.request('adopt', { kernel: 'project', id: 'last_exc' }),
    ])
      assert.is(await codeOf(work), 'no_seat')
    for (const params of [{ kernel: 'project' }, { ...named, lease_ms: 0 }, { ...named, seat: 'seat-1' }])
      assert.is(await codeOf(other.request('take', params as typeof named)), 'invalid_params')
    const { suspensions: still } = await own.request('suspensions', {})
    assert.is(still[0]?.holder.type, 'you')
    const left = await own.call({ tool: 'debug_restart', args: leave })
    assert.ok(left.ok, JSON.stringify(left))
    await until(() => events.length === 2, 'both events')
    assert.is((await own.request('status', {})).suspended, 0)
    assert.equal(
      events.map(event => [
        event.type,
        event.suspension.id,
        'how' in event ? event.how : event.suspension.holder.type,
      ]),
      [
        ['suspended', row.id, 'you'],
        ['ended', row.id, 'left'],
      ],
    )
    over.abort()
    await watched
    const lines = (await rig.imago(['log', '--json'])).stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    const seats = lines.filter(({ type, what }) => type === 'seat' && what === 'refused')
    assert.is(seats.length, 4)
    assert.match(seats[0].why, `take over ${row.id}`)
    const log = await rig.imago(['log', '--kernel', 'project'])
    assert.match(log.stdout, new RegExp(`${row.id} in project, of imago test: suspended: ZeroDivisionError`))
    assert.match(log.stdout, new RegExp(`${row.id} in project, of imago test: left by imago test`))
  } finally {
    await rig.close()
  }
})
