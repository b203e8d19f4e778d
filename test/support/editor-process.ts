/**
 * An editor without a terminal, or the program that an editor starts for it: `node --import tsx test/support/editor-process.ts`. Each
 * message of its parent, or else each line of its input, is a command, and each line that it prints is JSON: what the seat was
 * told, and what came of a command. `sit {…}`, `leave`, `break` (the connection is lost), `approve` (the plan that it was told
 * of last), `serve` (starts `imago mcp`, as an editor that hosts a model does), `terminal` (starts a program that does so, as people
 * do in the terminal of an editor), `shell` (starts the same as itself through a
 * shell), and `METHOD {…}` for any method of the protocol.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { connectDaemon, type DaemonClient } from '../../src/front/client.ts'
import type { Method, PlanRow, SeatEvent, SeatTopicRow } from '../../src/front/protocol.ts'
import { newsOf } from '../../src/front/topic-news.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'

const connect = () =>
  connectDaemon({ name: 'an editor of a test', start: 'never', root: process.cwd(), terminal: false })
let client: DaemonClient = await connect()
let leaving = new AbortController()
let sitting: Promise<unknown> = Promise.resolve()
let last = { plan: '', hash: '' }

const print = (value: unknown) => process.stdout.write(`@${JSON.stringify(value)}\n`)

const failure = (error: { remote?: { code: string }; message: string }) => ({
  failed: error.remote?.code ?? String(error),
  said: error.message,
})

const MAIN = join(PACKAGE_ROOT, 'dist/src/main.cjs')
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a-host', version: '1' } },
}

/** Speaks with an MCP server that it starts. */
const HOST = `const [main, said] = process.argv.slice(1)
const stdio = ['pipe', 'inherit', 'inherit']
require('node:child_process').spawn(process.execPath, [main, 'mcp'], { stdio }).stdin.write(said)`

const COMMANDS: Readonly<Record<string, (params: never) => unknown>> = {
  sit(wanted: { through: string }) {
    leaving = new AbortController()
    let grant = () => {}
    const granted = new Promise<void>(resolve => {
      grant = resolve
    })
    const heard = (event: SeatEvent) => {
      print(event)
      if (event.type !== 'seated') return
      grant()
      const { signal } = leaving
      const plans = newsOf<PlanRow>(({ row, before }) => {
        if (row?.state === 'waits') {
          last = { plan: row.id, hash: row.hash }
          print({ type: 'plan', plan: row })
        } else if (row?.state !== 'ended') return
        else if (row.ended !== undefined) print({ type: 'ended', id: row.id, ...row.ended })
        else if (before !== undefined) print({ type: 'settled', id: row.id, why: row.why })
      })
      const seats = newsOf<SeatTopicRow>(({ row, before }) => {
        if (row !== null && 'why' in row && row.why === null && before === undefined)
          print({ type: 'seat_wanted', ...row })
      })
      void client.subscribe({ topics: ['approvals'], signal, heard: plans })
      void client.subscribe({ topics: ['seats'], signal, heard: seats })
    }
    const over = client.sit({ wanted, signal: leaving.signal, heard }).then(
      () => print({ left: true }),
      error => print(error.remote === undefined ? { lost: error.message } : failure(error)),
    )
    sitting = Promise.race([over, granted])
  },
  leave: () => leaving.abort(),
  async break() {
    await client.close()
    client = await connect()
    return { broken: true }
  },
  approve: async () => ({ answered: await client.request('answer', { ...last, decision: 'approve' }) }),
  serve() {
    const server = spawn(process.execPath, [MAIN, 'mcp'], { stdio: ['pipe', 'pipe', 'inherit'] })
    server.stdout.once('data', () => print({ serves: server.pid }))
    server.stdin.write(`${JSON.stringify(INITIALIZE)}\n`)
  },
  terminal() {
    const words = [HOST, MAIN, `${JSON.stringify(INITIALIZE)}\n`]
    const host = spawn(process.execPath, ['-e', ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
    host.stdout.once('data', () => print({ hosts: host.pid }))
  },
  shell() {
    const words = [process.execPath, ...process.execArgv, import.meta.filename]
      .map(word => `'${word}'`)
      .join(' ')
    const child = spawn('sh', ['-c', `echo 'sit {"through":"Neovim"}' | ${words}; true`])
    child.stdout.on('data', data => print({ started: String(data) }))
  },
}

async function run(line: string): Promise<void> {
  const [, word = '', json = '{}'] = /^(\w+)\s*(.*)$/.exec(line) ?? []
  if (word === '') return
  try {
    const ask = async (params: never) => ({
      [word]: await client.request(word as Exclude<Method, 'call'>, params),
    })
    const came = await (COMMANDS[word] ?? ask)(JSON.parse(json || '{}') as never)
    if (came !== undefined) print(came)
  } catch (error) {
    print(failure(error as Error))
  }
}

print({ ready: process.pid })
if (process.send !== undefined) process.on('message', line => void run(String(line)))
else {
  for await (const line of createInterface({ input: process.stdin })) await run(line.trim())
  await sitting
  process.exit()
}
