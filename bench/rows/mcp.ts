import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { sharedGround } from '../ground.ts'
import { interleaved, median, type Row, ratio } from '../row.ts'

const main = join(import.meta.dirname, '../../dist/src/main.cjs')

/** A host on `imago mcp`, as a model's client is: one request at a time. */
interface Host {
  request(method: string, params: Readonly<Record<string, unknown>>): Promise<void>
  close(): void
}

interface Hosts {
  readonly listed: Host
  readonly unlisted: Host
}

let hosts: Hosts | undefined

const ground = sharedGround(async daemon => {
  await daemon.call('eval_expr', { expr: 'step = 1' })
  const open = () => openHost(spawn(process.execPath, [main, 'mcp'], { env: daemon.env, cwd: daemon.folder }))
  hosts = { listed: await open(), unlisted: await open() }
  await hosts.listed.request('tools/list', {})
  return () => {
    hosts?.listed.close()
    hosts?.unlisted.close()
  }
})

export const mcpListed: Row = {
  what: 'a call over MCP once the tools were listed, p50, against one before',
  how: '`inspect` of a number through `imago mcp`, by a client that has listed the tools and by one that has not, 300 times each in turn',
  bar: { relation: '≤', limit: 1.05, unit: '×' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    if (hosts === undefined) throw new Error('the hosts are not connected')
    const { listed, unlisted } = hosts
    const look = (host: Host) => () =>
      host.request('tools/call', { name: 'inspect', arguments: { expr: 'step' } })
    const [after = [], before = []] = await interleaved(
      { blocks: 30, each: 10 },
      look(listed),
      look(unlisted),
    )
    const [listed_us, unlisted_us] = [median(after), median(before)]
    return ratio(listed_us, unlisted_us, { listed_us, unlisted_us })
  },
}

async function openHost(child: ChildProcessWithoutNullStreams): Promise<Host> {
  const answers = new Map<number, () => void>()
  createInterface(child.stdout).on('line', line => answers.get(Number(JSON.parse(line).id))?.())
  let made = 0
  const send = (message: Readonly<Record<string, unknown>>) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const request: Host['request'] = (method, params) =>
    new Promise(resolve => {
      const id = ++made
      answers.set(id, () => {
        answers.delete(id)
        resolve()
      })
      send({ id, method, params })
    })
  const clientInfo = { name: 'bench', version: '1' }
  await request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
  send({ method: 'notifications/initialized' })
  return { request, close: () => void child.kill('SIGKILL') }
}
