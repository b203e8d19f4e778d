import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readdirSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bridgeFacts, processOf, type SeatQuestion, seatFacts } from '../../src/front/seat/processes.ts'
import {
  type AnswerFacts,
  answerDoubt,
  hostOf,
  judgeSeat,
  type Process,
  type SeatFacts,
} from '../../src/front/seat/rule.ts'
import { Admissions, openHosts } from '../../src/front/seat/seats.ts'
import { LightSignal } from '../../wire/signal.ts'
import { assert, suite } from '../support/harness.ts'

/** Who may approve, by facts that are made up; then the facts, by processes that are real. */
const test = suite('who may approve')
const runtimeDir = mkdtempSync(join(tmpdir(), 'imago-seat-'))
test.after(() => rmSync(runtimeDir, { recursive: true, force: true }))

const DAEMON = { uid: 1_000, fromKernel: false }
const TTY = 34_816

const processNamed = (pid: number, more: Partial<Process> = {}): Process => ({
  pid,
  parent: pid - 1,
  group: pid,
  session: pid,
  terminal: TTY,
  foreground: pid,
  started: `start of ${pid}`,
  uid: 1_000,
  input: undefined,
  fromKernel: false,
  command: `/usr/bin/program-${pid} --option`,
  ...more,
})

type Seen = Extract<SeatFacts, { type: 'seen' }>
const [WATCH, SHELL] = [processNamed(9), processNamed(8)]
const AT_TERMINAL: Seen = {
  type: 'seen',
  pid: 9,
  line: [WATCH, SHELL],
  holdsFile: true,
  reads: TTY,
  writes: TTY,
  device: '/dev/pts/3',
  beside: [[WATCH, SHELL], [SHELL]],
  daemon: DAEMON,
}
const watchIs = (more: Partial<Process>): Partial<Seen> => ({ line: [{ ...WATCH, ...more }, SHELL] })
const sits = (more: Partial<Seen> = {}, barred: Parameters<typeof judgeSeat>[1] = []) => {
  const judged = judgeSeat({ ...AT_TERMINAL, ...more }, barred)
  return judged.type === 'proved' ? judged.who : judged.why
}

test('a process in the foreground of a terminal, below nobody who may not approve, gets a seat', () => {
  assert.is(sits(), 'terminal /dev/pts/3 (process 9)')
  assert.is(sits({}, [{ pid: 7, what: 'the daemon' }]), 'terminal /dev/pts/3 (process 9)')
})

const NO_SEAT: readonly (readonly [what: string, facts: Partial<Seen>, because: string])[] = [
  ['has ended', { line: [] }, 'There is no process 9.'],
  ['is of another user', watchIs({ uid: 1_001 }), 'Process 9 belongs to another user.'],
  [
    'is not the one that asks',
    { holdsFile: false },
    'Process 9 has not opened the file that it was told of.',
  ],
  ['has no terminal', watchIs({ terminal: 0 }), 'Process 9 has no terminal.'],
  ['is in the background', watchIs({ foreground: 8 }), 'Process 9 is in the background of its terminal.'],
  ['reads from elsewhere', { reads: 0 }, 'Process 9 does not read from its terminal and write to it.'],
  ['writes to elsewhere', { writes: 1 }, 'Process 9 does not read from its terminal and write to it.'],
  [
    'descends from a kernel',
    watchIs({ fromKernel: true }),
    'Process 9 was started from inside a kernel, or a program of imago run: its limit on file locks shows it.',
  ],
  [
    'asks a daemon that descends from a kernel',
    { daemon: { ...DAEMON, fromKernel: true } },
    'The daemon itself was started from inside a kernel, or a program of imago run, so it gives nobody a seat.',
  ],
]
for (const [what, facts, because] of NO_SEAT)
  test(`a process that ${what} gets no seat (threat 5)`, () => assert.is(sits(facts), because))

test('nothing at or below a process that is barred gets a seat, and a later one of its number bars nobody (threat 29)', () => {
  const kernel = { pid: 8, what: 'the kernel main' }
  assert.is(
    sits({}, [kernel]),
    'Process 9 was started by the kernel main (process 8), which may not approve.',
  )
  assert.match(sits({}, [{ pid: 9, what: 'the daemon' }]), /^Process 9 is the daemon/)
  assert.match(sits({}, [{ ...kernel, started: SHELL.started }]), /may not approve/)
  assert.match(sits({}, [{ ...kernel, started: 'earlier' }]), /^terminal/)
})

test('nobody sits at a terminal where a program is that may not approve, or something of it; the daemon does not count (threat 31)', () => {
  const program = processNamed(5, { command: '/usr/bin/python3 app.py' })
  const web = { pid: 5, what: 'web, a program that is attached' }
  const beside = (more: Partial<Process> = {}) => ({
    beside: [
      [WATCH, SHELL],
      [{ ...program, ...more }, SHELL],
    ],
  })
  assert.match(sits(beside()), /^terminal/)
  assert.is(
    sits(beside(), [web]),
    'Process 5 (python3), web, a program that is attached, is at this terminal too, and may type there.',
  )
  assert.match(
    sits({ beside: [[processNamed(6), program]] }, [web]),
    /^Process 6 \(program-6\), of web, a program/,
  )
  assert.match(
    sits(beside({ fromKernel: true })),
    /^Process 5 \(python3\), of a kernel, or a program of imago run/,
  )
  assert.match(sits(beside(), [{ pid: 5, what: 'the daemon' }]), /^terminal/)
})

test('a code counts from whichever terminal or none, and from nothing at or below what may not approve (threat 5)', () => {
  const gives = (more: Partial<Seen>, barred: Parameters<typeof judgeSeat>[1] = []) =>
    judgeSeat({ ...AT_TERMINAL, ...more }, barred, { gives: 'a code' }).type
  assert.is(gives(watchIs({ terminal: 0 })), 'proved')
  assert.is(gives({ beside: [[processNamed(5, { fromKernel: true })]] }), 'proved')
  assert.is(gives(watchIs({ fromKernel: true })), 'unproved')
  assert.is(gives({ holdsFile: false }), 'unproved')
  assert.is(gives({}, [{ pid: 8, what: 'the kernel main' }]), 'unproved')
})

test('where a system tells of no process the client is taken at its word, and that is said', () => {
  const judged = judgeSeat({ type: 'unseen', pid: 9, started: 'then' }, [])
  assert.is(judged.type, 'proved')
  assert.is(judged.who, 'a terminal (process 9, as it says itself)')
  assert.is(judgeSeat({ type: 'unseen', pid: 9, started: undefined }, []).type, 'unproved')
})

const [BRIDGE, HOST] = [processNamed(7, { input: '1:70' }), processNamed(6)]
const ANSWERS: AnswerFacts = {
  bridge: [BRIDGE, HOST, processNamed(5)],
  daemon: DAEMON,
  barred: [],
  client: 'a-client',
  yes: undefined,
}
const doubted = (more: Partial<AnswerFacts>) => answerDoubt({ ...ANSWERS, ...more })

test('the host of a bridge is the nearest process above it that has another input', () => {
  const passing = (pid: number) => processNamed(pid, { input: BRIDGE.input })
  assert.is(hostOf([BRIDGE, HOST])?.pid, 6)
  assert.is(hostOf([BRIDGE, passing(6), passing(5), processNamed(4, { input: '1:71' })])?.pid, 4)
  // At a terminal all have the same one, and the shell is the host.
  assert.is(hostOf([processNamed(7), processNamed(6), processNamed(5)])?.pid, 6)
  assert.is(hostOf([BRIDGE]), undefined)
})

test('the yes of a client counts where nothing speaks against its program', () => {
  assert.is(doubted({}), undefined)
  assert.is(doubted({ barred: [{ pid: 4, what: 'the daemon' }] }), undefined)
})

test('a client that is known to answer by itself is doubted, whatever stands behind its name', () => {
  for (const client of ['codex', 'codex-mcp-client']) assert.match(doubted({ client }) ?? '', /Codex accepts/)
  assert.match(doubted({ client: 'claude-code' }) ?? '', /a hook in the settings .*or a mod, can answer/)
  assert.is(doubted({ client: 'my-codex' }), undefined)
})

test('the policy says that the yes of such a client counts, or that of another one does not', () => {
  assert.is(doubted({ client: 'codex', yes: 'counts' }), undefined)
  assert.match(doubted({ yes: 'asks_a_seat' }) ?? '', /the policy has a seat asked/)
})

const NO_YES: readonly (readonly [what: string, facts: Partial<AnswerFacts>, because: string])[] = [
  ['is not known', { bridge: 'hidden' }, 'it is not known which program answers'],
  ['has gone', { bridge: [BRIDGE] }, 'it is not known which program answers'],
  [
    'descends from a kernel',
    { bridge: [{ ...BRIDGE, fromKernel: true }, HOST] },
    'its program was started from inside a kernel, or a program of imago run',
  ],
  [
    'asks a daemon that descends from a kernel',
    { daemon: { ...DAEMON, fromKernel: true } },
    'its program was started from inside a kernel, or a program of imago run',
  ],
  [
    'was started by one that may not approve',
    { barred: [{ pid: 5, what: 'the kernel main' }] },
    'its program was started by the kernel main (process 5)',
  ],
  [
    'does not stand right above its bridge',
    { bridge: [BRIDGE, { ...HOST, input: BRIDGE.input }, processNamed(5)] },
    'another program, program-6, stands between it and imago mcp',
  ],
]
for (const [what, facts, because] of NO_YES)
  test(`no policy lets the yes of a program count that ${what} (threat 4)`, () => {
    for (const yes of ['counts', 'asks_a_seat', undefined] as const)
      assert.is(doubted({ ...facts, client: 'codex', yes }), because)
  })

test('where a system tells nothing of programs, the policy decides, and without it nothing counts', () => {
  assert.is(doubted({ bridge: 'unseen' }), 'this system does not tell which program answers')
  assert.is(doubted({ bridge: 'unseen', yes: 'counts' }), undefined)
})

/** Does what a client does, and then claims to be `pid`. */
async function claiming(pid: number, { flags = 'r+', short = 0 } = {}): Promise<SeatFacts> {
  let file: number | undefined
  try {
    return await seatFacts({
      runtimeDir,
      challenge: async told => {
        file = openSync(told.file, flags)
        readSync(file, Buffer.alloc(told.position + short))
        return pid
      },
    })
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

const holdsFile = async (...given: Parameters<typeof claiming>) => {
  const facts = await claiming(...given)
  return facts.type === 'seen' && facts.holdsFile
}

test('only the process that holds the file open to read and write, at the place that it was told of, is believed', async () => {
  assert.is(await holdsFile(process.pid), true)
  assert.is(await holdsFile(process.pid, { flags: 'r' }), false)
  assert.is(await holdsFile(process.pid, { short: 1 }), false)
  assert.is(await holdsFile(process.ppid), false)
})

test('of a process that has ended nothing is known (threat 29)', async () => {
  const { pid: gone } = spawnSync(process.execPath, ['-e', ''])
  for (const pid of [gone, 0, -1]) {
    const facts = await claiming(pid)
    assert.equal(facts.type === 'seen' && facts.line, [])
  }
})

test('a client that does not answer gets no seat, and no file is left over', async () => {
  const challenge: SeatQuestion['challenge'] = () => Promise.reject(new Error('it said nothing'))
  const judged = judgeSeat(await seatFacts({ runtimeDir, challenge }), [])
  assert.match(judged.type === 'unproved' ? judged.why : '', /it said nothing/)
  assert.equal(readdirSync(runtimeDir), [])
})

test('elsewhere than on Linux nothing is known but when a process began', async () => {
  const facts = await seatFacts({ runtimeDir, platform: 'darwin', challenge: async () => process.pid })
  assert.is(facts.type, 'unseen')
})

test('a process is told from a later one of its number by when it began (threat 29)', () => {
  const seen = processOf(process.pid)
  assert.match(seen?.started ?? '', /^[0-9a-f-]{36}:\d+$/)
  assert.is(seen?.parent, process.ppid)
  assert.is(seen?.uid, process.getuid?.())
})

/** A program that speaks with a bridge, which is a process that holds a file as `imago mcp` does. */
async function bridgeBelow(how: string, ...words: readonly string[]) {
  const file = `mcp.${randomBytes(16).toString('hex')}.proof`
  const held = `exec 3<>"${join(runtimeDir, file)}"; echo $$ >&2; read line`
  const child = spawn('python3', ['-c', SPEAKS_WITH_A_BRIDGE, how, held, ...words], {
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  const [said] = await once(child.stderr.setEncoding('utf8'), 'data')
  const { bridge } = bridgeFacts({ process: { pid: Number(said), file } }, runtimeDir)
  child.stdin.end()
  const host = typeof bridge === 'string' ? undefined : hostOf(bridge)?.pid
  return { right: host === child.pid, why: doubted({ bridge }) }
}

/** Speaks with what it starts through pipes, as the host of an MCP server does, until its own input ends. */
const SPEAKS_WITH_A_BRIDGE = `
import subprocess, sys
how, held = sys.argv[1:3]
command = ['sh', '-c', held] if how == 'alone' else ['sh', '-c', 'sh -c "$1"; true', 'npx', held]
with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
    sys.stdin.read()
    child.stdin.close()
`

test('a host is the program that speaks with the bridge, whatever stands on its command line', async () => {
  const { right, why } = await bridgeBelow('alone', 'node', '/src/imago/dist/src/main.cjs', 'mcp')
  assert.equal([right, why], [true, undefined])
})

test('what hands its own input on to a bridge is no host, whatever it is called, and makes its answers doubtful', async () => {
  const { right, why } = await bridgeBelow('through a launcher')
  assert.is(right, true)
  assert.match(why ?? '', /another program, sh, stands between it and imago mcp/)
})

/** Who is barred once that bridge has come, besides the daemon, which is this process. */
async function barredBy(options: Readonly<Record<string, unknown>>) {
  const hosts = openHosts({ runtimeDir, kernels: { list: () => [] } })
  return await hosts.whileBridged(options, async () => hosts.barred().slice(1))
}

test('a bridge bars the program that started it, and one that lies about its process bars nobody', async () => {
  const file = `mcp.${'b'.repeat(32)}.proof`
  const path = join(runtimeDir, file)
  const held = openSync(path, 'wx+')
  assert.equal(
    (await barredBy({ process: { pid: process.pid, file } })).map(({ pid }) => pid),
    [process.ppid],
  )
  assert.equal(readdirSync(runtimeDir), [])
  closeSync(held)
  const other = openSync(path, 'wx+')
  const lies = [{ pid: process.ppid, file }, { pid: 1, file: '../daemon.sock' }, { pid: 'x', file }, null, 7]
  for (const lie of lies) assert.equal(await barredBy({ process: lie }), [])
  assert.equal(await barredBy({}), [])
  closeSync(other)
  assert.equal(readdirSync(runtimeDir), [])
})

function admissions() {
  let late = () => {}
  const clock = {
    now: () => 0,
    after(_ms: number, run: () => void) {
      late = run
      return () => {}
    },
  }
  const asking = new Admissions(clock, () => {})
  const ask = (signal = new LightSignal()) =>
    asking.ask({ who: 'x', terminal: '/dev/pts/9', pid: 9, command: 'imago watch' }, signal)
  return { asking, ask, whys: () => asking.rows.map(({ why }) => why), late: () => late() }
}

test('silence refuses another seat, and the question is withdrawn', async () => {
  const { ask, whys, late, asking } = admissions()
  const answer = ask()
  late()
  assert.match((await answer) ?? '', /Nobody answered within 60 s/)
  assert.equal(whys(), ['Nobody answered within 60 s.'])
  assert.is(asking.answer('wanted-1', { admit: true, by: 'seat-1' }), false)
})

test('the first answer to such a question counts, and one who has gone is not admitted', async () => {
  const { ask, asking } = admissions()
  const first = ask()
  assert.is(asking.answer('wanted-1', { admit: true, by: 'seat-1' }), true)
  assert.is(asking.answer('wanted-1', { admit: false, by: 'seat-2' }), false)
  assert.is(await first, undefined)
  const signal = new LightSignal()
  const second = ask(signal)
  signal.abort()
  assert.match((await second) ?? '', /has gone/)
})

test('many who want a seat at once are not all asked about (threat 36)', async () => {
  const { ask, whys } = admissions()
  const answers = Array.from({ length: 40 }, () => ask())
  assert.equal(whys(), Array(4).fill(null))
  assert.match((await answers.at(-1)) ?? '', /Too many/)
})
