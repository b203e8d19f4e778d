import { pause, residentBytes } from '../daemon.ts'
import { roundsFor, sharedGround } from '../ground.ts'
import { percentile, type Row } from '../row.ts'

const ground = sharedGround(async daemon => {
  await daemon.call('eval_expr', { expr: '1' })
})
const floodOf = roundsFor(['memory', 'latency'], flood)

/** 1 GB in lines of a thousand characters, as a runaway loop would print it. */
const FLOOD = `
line = 'x' * 999
for _ in range(10**6):
    print(line)
`

export const floodMemory: Row = {
  what: '1 GB printed by user code: growth of daemon and peer',
  how: 'resident memory of both processes, sampled every 20 ms while 10⁶ lines of 1,000 characters are printed; the larger peak less where it began',
  bar: { relation: '≤', limit: 64, unit: 'MiB' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const latest = await floodOf('memory')
    return { figure: Math.max(latest.daemon_mib ?? 0, latest.peer_mib ?? 0), parts: latest }
  },
}

export const floodLatency: Row = {
  what: '1 GB printed by user code: the daemon’s event loop, p99',
  how: 'a `status` asked of the daemon every 5 ms during the same flood, by a client that shares nothing with it; the time to its answer bounds the loop’s delay from above',
  bar: { relation: '≤', limit: 100, unit: 'ms' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const latest = await floodOf('latency')
    return {
      figure: latest.loop_p99_ms ?? Number.NaN,
      parts: { loop_worst_ms: latest.loop_worst_ms ?? Number.NaN },
    }
  },
}

async function flood(): Promise<Readonly<Record<string, number>>> {
  const { daemon } = ground
  const kernel = await daemon.kernelPid()
  const begun = { daemon: residentBytes(daemon.pid), peer: residentBytes(kernel) }
  const peak = { ...begun }
  const delays: number[] = []
  const watcher = await daemon.connect()
  let over = false
  const sampling = (async () => {
    while (!over) {
      peak.daemon = Math.max(peak.daemon, residentBytes(daemon.pid))
      peak.peer = Math.max(peak.peer, residentBytes(kernel))
      await pause(20)
    }
  })()
  const asking = (async () => {
    while (!over) {
      const asked = performance.now()
      await watcher.call('status', {})
      delays.push(performance.now() - asked)
      await pause(5)
    }
  })()
  const seconds = performance.now()
  await daemon.call('eval_expr', { expr: FLOOD, patience: 600 })
  over = true
  await Promise.all([sampling, asking])
  await watcher.close()
  const mib = (bytes: number) => bytes / 2 ** 20
  return {
    daemon_mib: mib(peak.daemon - begun.daemon),
    peer_mib: mib(peak.peer - begun.peer),
    loop_p99_ms: percentile(delays, 0.99),
    loop_worst_ms: Math.max(...delays),
    seconds: (performance.now() - seconds) / 1000,
  }
}
