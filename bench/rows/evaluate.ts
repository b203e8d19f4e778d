import { sharedGround } from '../ground.ts'
import { type Ipykernel, openIpykernel } from '../reference/ipykernel.ts'
import { openRawLoop, type RawLoop } from '../reference/raw.ts'
import { interleaved, median, type Row, ratio } from '../row.ts'

const ONE = { expr: '1+2' }

let raw: RawLoop
let hopped: RawLoop
let jupyter: Ipykernel

/** A warm daemon for all rows, and the loops that it is compared with. */
const ground = sharedGround(async daemon => {
  hopped = await openRawLoop({ hop: true })
  raw = await openRawLoop({ hop: false })
  for (let warm = 0; warm < 500; warm++) {
    await daemon.call('eval_expr', ONE)
    await hopped.evaluate('1+2')
  }
  return () => {
    raw.close()
    hopped.close()
  }
})

export const evaluateAgainstHop: Row = {
  what: 'one evaluation through the daemon, journalled, p50, against the raw loop behind a bare hop',
  how: '`1+2`, 600 times each in alternating blocks of 20; client → daemon → kernel → back against client → bare Node hop → raw framed loop → back',
  bar: { relation: '≤', limit: 1.6, unit: '×' },
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

export const evaluateAgainstJupyter: Row = {
  what: 'one evaluation through the daemon, p50: how many times faster than ipykernel’s execute',
  how: 'the same `1+2`, against jupyter_client’s execute_interactive on an ipykernel, 100 times each in alternating blocks of 20',
  bar: { relation: '≥', limit: 10, unit: '×' },
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

export const pipelined: Row = {
  what: 'pipelined evaluations, against the raw loop’s rate',
  how: '2,000 evaluations with 32 under way at any time through the daemon, against 2,000 sent at once to the raw loop itself',
  bar: { relation: '≥', limit: 0.4, unit: '×' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const count = 2_000
    const theirs = await seconds(() => raw.pipeline(Array.from({ length: count }, () => '1+2')))
    const ours = await seconds(() => windowed(count, 32))
    const [ours_per_s, reference_per_s] = [count / ours, count / theirs]
    return ratio(ours_per_s, reference_per_s, { ours_per_s, reference_per_s })
  },
}

async function windowed(count: number, width: number): Promise<void> {
  let started = 0
  const lane = async () => {
    while (started < count) {
      started++
      await ground.daemon.call('eval_expr', ONE)
    }
  }
  await Promise.all(Array.from({ length: width }, lane))
}

async function seconds(body: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await body()
  return (performance.now() - begun) / 1000
}
