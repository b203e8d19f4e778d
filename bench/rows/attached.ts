import { pause, residentBytes } from '../daemon.ts'
import { roundsFor, sharedGround } from '../ground.ts'
import { openServer, type Server } from '../reference/server.ts'
import { median, percentile, type Row } from '../row.ts'

const NAME = 'bench-server'
const RATE = 300
const SECONDS = 4
const LOOKS = [
  ['inspect', { expr: 'ORDERS' }],
  ['list_globals', {}],
  ['threads', {}],
] as const

const ground = sharedGround()

/** What one life of the server showed, by what went on: p99 in ms, the same against its twin, resident memory in MB. */
type Life = Readonly<Record<string, number>>
const lifeFor = roundsFor(['latency', 'memory'], live)

/** The phases, one after the other in one process, beside a twin under the same load that nobody ever attaches. */
async function live(): Promise<Life> {
  const { daemon } = ground
  const servers = await Promise.all([openServer(daemon), openServer(daemon)])
  const [server, twin] = servers
  const seen: Record<string, number> = {}
  const phase = async (name: string) => {
    const [ours, theirs] = await inTurn(server, twin)
    seen[`${name}_p99_ms`] = ours
    seen[`${name}_ratio`] = ours / theirs
    seen[`${name}_mb`] = residentBytes(server.pid) / 1e6
  }
  try {
    await inTurn(server, twin)
    await phase('before')
    await attachTo(server)
    await phase('attached')
    await inspecting(() => phase('inspecting'))
    await phase('idle')
    await daemon.link.call('detach', { name: NAME })
    await phase('detached')
  } finally {
    await Promise.all(servers.map(one => one.close()))
  }
  return seen
}

/** The p99 of a second of load, for each of two servers: the medians of several seconds, which they have in turn. */
async function inTurn(...servers: readonly [Server, Server]): Promise<[number, number]> {
  const times: [number[], number[]] = [[], []]
  for (let second = 0; second < SECONDS; second++)
    for (const [at, server] of servers.entries())
      times[at]?.push(percentile(await server.load({ rate: RATE, seconds: 1 }), 0.99))
  return [median(times[0]), median(times[1])]
}

async function attachTo(server: Server): Promise<void> {
  await server.listen()
  await ground.daemon.link.call('attach', { target: `${NAME}-${server.pid}`, name: NAME })
}

/** Looks into the server 20 times a second while `body` goes on. */
async function inspecting(body: () => Promise<void>): Promise<void> {
  let going = true
  const looks = (async () => {
    for (let turn = 0; going; turn++) {
      const [tool, args] = LOOKS[turn % LOOKS.length] ?? LOOKS[0]
      await ground.daemon.call(tool, { ...args, kernel: NAME })
      await pause(50)
    }
  })()
  await body()
  going = false
  await looks
}

const partsOf = (life: Life, ...ends: readonly string[]) =>
  Object.fromEntries(Object.entries(life).filter(([name]) => ends.some(end => name.endsWith(end))))

export const attachedLatency: Row = {
  what: 'an attached program under load: p99 of its requests while nobody asks, against its twin that is not attached',
  how: 'two small asyncio HTTP servers at 300 requests a second, a second each in turn, 4 of each in every phase; median of the p99 of each second. One is measured before it listens (its ratio to the twin is the noise), attached and idle, while it is inspected 20 times a second, idle again, and after detaching',
  bar: { relation: '≤', limit: 1.25, unit: '×' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const life = await lifeFor('latency')
    return { figure: life.attached_ratio ?? Number.NaN, parts: partsOf(life, '_ratio', '_p99_ms') }
  },
}

export const attachedMemory: Row = {
  what: 'the same program: resident memory that it costs to be attached',
  how: 'in the same rounds: attached and idle less before, most of it the code of the peer; the parts have every phase',
  bar: { relation: '≤', limit: 16, unit: 'MB' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const life = await lifeFor('memory')
    const { before_mb = Number.NaN, attached_mb = Number.NaN } = life
    return { figure: attached_mb - before_mb, parts: partsOf(life, '_mb') }
  },
}
