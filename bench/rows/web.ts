import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pack, unpack } from 'msgpackr'
import { WebSocket } from 'ws'
import { type BenchDaemon, benchDaemon, onOneProcessor, residentEach } from '../daemon.ts'
import { sharedGround } from '../ground.ts'
import { interleaved, median, type Row, ratio } from '../row.ts'

const CONFIG = '[web]\nport = 0\n'
const ASK = { type: 'call', id: 1, method: 'suspensions', params: {} }

/** One WebSocket, and a message there and back. */
interface Exchange {
  ask(message: object): Promise<unknown>
  close(): void
}

let ours: Exchange
let bare: Exchange
let echo: ChildProcess

const ground = sharedGround(async daemon => {
  echo = spawn(process.execPath, [join(import.meta.dirname, '../reference/echo.mjs')])
  const port = await new Promise<string>(resolve =>
    createInterface(echo.stdout ?? process.stdin).once('line', resolve),
  )
  bare = await openExchange(`ws://127.0.0.1:${port}/`)
  ours = await openCaller(daemon)
  return () => {
    for (const one of [ours, bare]) one.close()
    echo.kill('SIGKILL')
  }
}, CONFIG)

/** Calls of one connection count up. */
let asked = 0

async function openExchange(address: string, token?: string): Promise<Exchange> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const socket = new WebSocket(address, 'imago.v2.msgpack', { headers, perMessageDeflate: false })
  let answered: (message: unknown) => void = () => {}
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  socket.on('message', (body: Buffer) => answered(body[0] === 0x7b ? JSON.parse(String(body)) : unpack(body)))
  return {
    ask: message =>
      new Promise(resolve => {
        answered = resolve
        socket.send('hello' in message ? Buffer.from(JSON.stringify(message)) : pack(message))
      }),
    close: () => socket.terminate(),
  }
}

async function openCaller({ folder }: BenchDaemon): Promise<Exchange> {
  const { address, token } = JSON.parse(readFileSync(join(folder, 'run', 'web'), 'utf8'))
  const exchange = await openExchange(address, token)
  const own = { name: 'bench', version: '0', root: folder, env: {}, encodings: ['msgpack'] }
  await exchange.ask({ hello: { role: 'client', protocol: 2, ...own } })
  return exchange
}

export const webOperation: Row = {
  what: 'an operation over WebSocket, p50, against a bare echo',
  how: '`suspensions` in msgpack, 1,000 times each in alternating blocks of 50 after 6,000 of each, against a server that is `ws` and `msgpackr` alone and sends the same message back; all three processes on one processor',
  bar: { relation: '≤', limit: 1.6, unit: '×' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const release = onOneProcessor([process.pid, ground.daemon.pid, echo.pid ?? 0])
    try {
      // Each time: what other rows do in the daemon meanwhile makes it cold.
      for (let warm = 0; warm < 6_000; warm++) {
        await ours.ask({ ...ASK, id: ++asked })
        await bare.ask(ASK)
      }
      const [us = [], them = []] = await interleaved(
        { blocks: 20, each: 50 },
        () => ours.ask({ ...ASK, id: ++asked }),
        () => bare.ask(ASK),
      )
      const [ours_us, echo_us] = [median(us), median(them)]
      return ratio(ours_us, echo_us, { ours_us, echo_us })
    } finally {
      release()
    }
  },
}

export const webMemory: Row = {
  what: 'an idle WebSocket, up to 1,000 of them: resident memory each',
  how: '1,000 WebSockets connect to a fresh daemon, which a first one has warmed, and each asks once; growth divided by 1,000',
  bar: { relation: '≤', limit: 40, unit: 'kB' },
  async measure() {
    const fresh = await benchDaemon(CONFIG)
    const all = [await openCaller(fresh)]
    await all[0]?.ask(ASK)
    const each_kb = await residentEach(fresh, async () => {
      const one = await openCaller(fresh)
      await one.ask(ASK)
      all.push(one)
    })
    for (const one of all) one.close()
    await fresh.close()
    return { figure: each_kb, parts: { each_kb } }
  },
}
