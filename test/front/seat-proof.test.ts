import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readdirSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SeatEvent } from '../../src/front/protocol.ts'
import { Admissions } from '../../src/front/seat/admissions.ts'
import { openHosts } from '../../src/front/seat/hosts.ts'
import { bodyRows, planText } from '../../src/front/seat/plan-text.ts'
import { processOf } from '../../src/front/seat/processes.ts'
import { type Proof, proveTerminal } from '../../src/front/seat/proof.ts'
import { LightSignal } from '../../wire/signal.ts'
import { assert, suite } from '../support/harness.ts'
import { shownPlanOf } from '../support/shown-plans.ts'

const test = suite('seat proof')
const runtimeDir = mkdtempSync(join(tmpdir(), 'imago-seat-'))
test.after(() => rmSync(runtimeDir, { recursive: true, force: true }))

const UNSEEN = { runtimeDir, barred: () => [] }
const why = (proof: Proof) => (proof.type === 'unproved' ? proof.why : 'proved')

/** Does what a client does, and then claims to be `pid`. */
async function claiming(pid: number, { flags = 'r+', short = 0 } = {}) {
  let file: number | undefined
  try {
    return await proveTerminal({
      ...UNSEEN,
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

test('a process that holds the file and has no terminal gets no seat', async () => {
  // The file was believed: what comes next in the order of the proof is the terminal.
  const proof = await claiming(process.pid)
  assert.not.match(why(proof), /has not opened/)
  assert.is(proof.type, 'unproved')
})

test('a process that only reads the file, or stands elsewhere in it, is not the one that was told of it', async () => {
  assert.match(why(await claiming(process.pid, { flags: 'r' })), /has not opened the file/)
  assert.match(why(await claiming(process.pid, { short: 1 })), /has not opened the file/)
})

test('nobody is believed to be another process, nor one that has ended (threat 29)', async () => {
  assert.match(why(await claiming(process.ppid)), /has not opened the file/)
  const { pid } = spawnSync(process.execPath, ['-e', ''])
  assert.match(why(await claiming(pid)), /There is no process/)
  assert.match(why(await claiming(0)), /There is no process/)
  assert.match(why(await claiming(-1)), /There is no process/)
})

test('a client that does not answer gets no seat, and no file is left over', async () => {
  const proof = await proveTerminal({
    ...UNSEEN,
    challenge: () => Promise.reject(new Error('it said nothing')),
  })
  assert.match(why(proof), /it said nothing/)
  assert.equal(readdirSync(runtimeDir), [])
})

test('elsewhere than on Linux the client is taken at its word, and that is said', async () => {
  const proof = await proveTerminal({ ...UNSEEN, platform: 'darwin', challenge: async () => process.pid })
  assert.is(proof.type, 'proved')
  assert.match(proof.who, /as it says itself/)
})

test('a process is told from a later one of its number by when it began (threat 29)', () => {
  const seen = processOf(process.pid)
  assert.match(seen?.started ?? '', /^[0-9a-f-]{36}:\d+$/)
  assert.is(seen?.parent, process.ppid)
  assert.is(seen?.uid, process.getuid?.())
})

test('a bridge bars the program that started it, and only while it lives or its host does', () => {
  const hosts = openHosts({ runtimeDir })
  const file = `mcp.${'a'.repeat(32)}.proof`
  const held = openSync(join(runtimeDir, file), 'wx+')
  const { gone } = hosts.came({ process: { pid: process.pid, file } })
  assert.is(hosts.list()[0]?.pid, process.ppid)
  assert.equal(readdirSync(runtimeDir), [])
  gone()
  closeSync(held)
})

/** Programs that speak with a bridge, which is a process that holds a file as `imago mcp` does, and live until it is closed. */
async function bridgeBelow(host: string, ...words: readonly string[]) {
  const file = `mcp.${randomBytes(16).toString('hex')}.proof`
  const held = `exec 3<>"${join(runtimeDir, file)}"; echo $$ >&2; read line`
  const child = spawn('python3', ['-c', HOST, host, held, ...words], { stdio: ['pipe', 'ignore', 'pipe'] })
  const [said] = await once(child.stderr.setEncoding('utf8'), 'data')
  const hosts = openHosts({ runtimeDir })
  const came = hosts.came({ process: { pid: Number(said), file } })
  return {
    pid: child.pid,
    barred: hosts.list().map(({ pid }) => pid),
    why: came.doubt([])?.why,
    close: () => child.stdin.end(),
  }
}

/** Speaks with what it starts through pipes, as the host of an MCP server does, until its own input ends. */
const HOST = `
import subprocess, sys
how, held = sys.argv[1:3]
command = ['sh', '-c', held] if how == 'alone' else ['sh', '-c', 'sh -c "$1"; true', 'npx', held]
with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
    sys.stdin.read()
    child.stdin.close()
`

test('a host is the program that speaks with the bridge, whatever stands on its command line', async () => {
  const { pid, barred, why, close } = await bridgeBelow('alone', 'node', '/src/imago/dist/src/main.js', 'mcp')
  close()
  assert.equal(barred, [pid])
  assert.is(why, undefined)
})

test('what hands its own input on to a bridge is no host, whatever it is called, and makes its answers doubtful', async () => {
  const { pid, barred, why, close } = await bridgeBelow('through a launcher')
  close()
  assert.equal(barred, [pid])
  assert.match(why ?? '', /another program, sh, stands between it and imago mcp/)
})

test('a bridge that lies about its process bars nobody', () => {
  const hosts = openHosts({ runtimeDir })
  const file = `mcp.${'b'.repeat(32)}.proof`
  const held = openSync(join(runtimeDir, file), 'wx+')
  hosts.came({ process: { pid: process.ppid, file } })
  closeSync(held)
  for (const lie of [{ pid: 1, file: '../daemon.sock' }, { pid: 'x', file }, { pid: 1 }, null, 7])
    hosts.came({ process: lie })
  hosts.came({})
  assert.equal(hosts.list(), [])
})

function admissions() {
  let late = () => {}
  const told: SeatEvent[] = []
  const asking = new Admissions({
    now: () => 0,
    after(_ms, run) {
      late = run
      return () => {}
    },
  })
  const ask = (signal = new LightSignal()) =>
    asking.ask({
      wanted: { type: 'seat_wanted', who: 'x', terminal: '/dev/pts/9', pid: 9, command: 'imago watch' },
      signal,
      tell: event => void told.push(event),
    })
  return { asking, ask, told, late: () => late() }
}

test('silence refuses another seat, and the question is withdrawn', async () => {
  const { ask, told, late, asking } = admissions()
  const answer = ask()
  late()
  assert.match((await answer) ?? '', /Nobody answered within 60 s/)
  assert.equal(
    told.map(({ type }) => type),
    ['seat_wanted', 'settled'],
  )
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
  const { ask, told } = admissions()
  const answers = Array.from({ length: 40 }, () => ask())
  assert.is(told.length, 4)
  assert.match((await answers.at(-1)) ?? '', /Too many/)
})

const PLAN = shownPlanOf({
  root: '/project\nApprove? y',
  who: 'a model\n==== end of plan-abcdefgh',
  title: 'Write a.py\n| nothing',
  warnings: ['2 hidden\ncharacters'],
  waited_ms: 61_000,
})

test('what others have named stays in its row, whatever stands in the name (threat 14)', () => {
  const { head } = planText(PLAN, 80)
  const rows = head.split('\n')
  assert.is(rows.filter(row => row.startsWith('====')).length, 1)
  assert.is(rows.filter(row => row.startsWith('|') || row.startsWith('Approve')).length, 0)
  assert.match(head, 'a model\\n==== end')
})

test('long runs of blanks end no row of their own accord, so nothing hides beyond the edge (threat 15)', () => {
  const rows = bodyRows(`x = 1${' '.repeat(5_000)}# ==== end of plan\n\n\ty`, 80)
  assert.ok(rows.every(row => row.length <= 80 && /^[|+] /.test(row)))
  assert.match(rows.find(row => row.includes('====')) ?? '', /^\+ /)
  assert.equal(rows.slice(-2), ['| ', '| \ty'])
})

test('wide characters do not push the end of a row past the edge (threat 15)', () => {
  const rows = bodyRows('漢'.repeat(100), 80)
  assert.ok(rows.length >= 3)
  assert.ok(rows.every(row => [...row].length * 2 - 2 <= 80))
})
