import { benchDaemon } from '../daemon.ts'
import { sharedGround } from '../ground.ts'
import { type Ipykernel, openIpykernel } from '../reference/ipykernel.ts'
import { openRawLoop, type RawLoop } from '../reference/raw.ts'
import { interleaved, median, percentile, type Row, ratio } from '../row.ts'

const ONE = { expr: '1+2' }

let hopped: RawLoop
let jupyter: Ipykernel

/** A warm daemon for all rows, and the loops that it is compared with. */
const ground = sharedGround(async daemon => {
  hopped = await openRawLoop()
  for (let warm = 0; warm < 500; warm++) {
    await daemon.call('eval_expr', ONE)
    await hopped.evaluate('1+2')
  }
  return () => hopped.close()
})

export const evaluateAgainstHop: Row = {
  what: 'one evaluation through the daemon, journalled, p50, against the raw loop behind a bare hop',
  how: '`1+2`, 600 times each in alternating blocks of 20; client → daemon → kernel → back against client → bare Node hop → raw framed loop → back',
  bar: { relation: 'stated', unit: '×' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const { daemon } = ground
    const [ours = [], reference = []] = await interleaved(
      { blocks: 30, each: 20 },
      () => daemon.call('eval_expr', ONE),
      () => hopped.evaluate('1+2'),
    )
    const [ours_us, reference_us] = [median(ours), median(reference)]
    return ratio(ours_us, reference_us, { ours_us, reference_us })
  },
}

export const evaluateTime: Row = {
  what: 'one evaluation through the daemon, journalled, p50 among the first 100 of a daemon',
  how: '`1+2`, 100 times in a daemon that has just started its kernel: client → daemon → kernel → back',
  bar: { relation: '≤', limit: 1, unit: 'ms' },
  async measure() {
    const daemon = await benchDaemon()
    try {
      await daemon.kernelPid()
      const [times = []] = await interleaved({ blocks: 1, each: 100 }, () => daemon.call('eval_expr', ONE))
      const [p50_ms, p99_ms] = [median(times) / 1000, percentile(times, 0.99) / 1000]
      return { figure: p50_ms, parts: { p50_ms, p99_ms } }
    } finally {
      await daemon.close()
    }
  },
}

export const evaluateAgainstJupyter: Row = {
  what: 'one evaluation through the daemon, p50: how many times faster than ipykernel’s execute',
  how: 'the same `1+2`, against jupyter_client’s execute_interactive on an ipykernel, 100 times each in alternating blocks of 20',
  bar: { relation: '≥', limit: 4, unit: '×' },
  async setUp() {
    await ground.setUp()
    jupyter = await openIpykernel()
  },
  async measure() {
    const { daemon } = ground
    const ours: number[] = []
    const theirs: number[] = []
    for (let block = 0; block < 5; block++) {
      const [times = []] = await interleaved({ blocks: 1, each: 20 }, () => daemon.call('eval_expr', ONE))
      ours.push(...times)
      theirs.push(...(await jupyter.times(20)))
    }
    const [ours_us, ipykernel_us] = [median(ours), median(theirs)]
    return { figure: ipykernel_us / ours_us, parts: { ours_us, ipykernel_us } }
  },
  async tearDown() {
    jupyter?.close()
    await ground.tearDown()
  },
}

const DEPTHS = `
import time
def called(value):
    return value
def work():
    best = 1.0
    for _ in range(3):
        began = time.perf_counter()
        for _ in range(3000):
            called(1)
        best = min(best, time.perf_counter() - began)
    return best
def at(depth):
    return work() if depth == 0 else at(depth - 1)
`

/** Frames between two depths: few enough that each end of a chunk is met, which is passed by several depths in a row. */
const STEP = 4

export const depths: Row = {
  what: 'a call at each of 120 depths of the stack of a Python image: the slowest against the fastest',
  how: `3,000 calls of a function that returns its argument, the best of 3, at depths 0 to ${119 * STEP} in steps of ${STEP}, measured within one evaluation`,
  bar: { relation: '≤', limit: 3, unit: '×' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const { daemon } = ground
    await daemon.call('eval_expr', { expr: DEPTHS })
    const expr = `[round(1e6 * t) for t in (lambda all: (max(all), min(all)))([at(d) for d in range(0, ${120 * STEP}, ${STEP})])]`
    const { value_repr } = (await daemon.call('eval_expr', { expr })) as { readonly value_repr: string }
    const [slowest_us = 0, fastest_us = 0] = JSON.parse(value_repr) as number[]
    return ratio(slowest_us, fastest_us, { slowest_us, fastest_us })
  },
}

export const pipelined: Row = {
  what: 'evaluations with 32 in flight, against the rate of the raw loop behind a bare hop',
  how: '2,000 evaluations with 32 under way at any time: through the daemon, against the raw framed loop behind a bare Node hop with as many in flight',
  bar: { relation: 'stated', unit: '×' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const count = 2_000
    const theirs = await seconds(() => inFlight(count, () => hopped.evaluate('1+2')))
    const ours = await seconds(() => inFlight(count, () => ground.daemon.call('eval_expr', ONE)))
    const [ours_per_s, reference_per_s] = [count / ours, count / theirs]
    return ratio(ours_per_s, reference_per_s, { ours_per_s, reference_per_s })
  },
}

const WIDTH = 32

/** Runs `body` so many times, with 32 under way at any time. */
async function inFlight(count: number, body: () => Promise<unknown>): Promise<void> {
  let started = 0
  const lane = async () => {
    while (started < count) {
      started++
      await body()
    }
  }
  await Promise.all(Array.from({ length: WIDTH }, lane))
}

async function seconds(body: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await body()
  return (performance.now() - begun) / 1000
}
