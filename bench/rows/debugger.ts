import { type BenchDaemon, pause } from '../daemon.ts'
import { sharedGround } from '../ground.ts'
import { attachedSwank, type BareSwank } from '../reference/swank.ts'
import { median, type Row, ratio } from '../row.ts'

const NAME = 'bench-debugger'
const DEEP =
  '(defun cl-user::deep (count) (if (zerop count) (error "Not today.") (1+ (cl-user::deep (1- count)))))'
const ERRORS = 40
/** Before each error, so that what leaving the one before it sets going is over. */
const REST_MS = 5
const DEPTH = 10_000

let bare: BareSwank
const ground = sharedGround(async daemon => {
  const { client, end } = await attachedSwank(daemon, { name: NAME, forms: [DEEP] })
  bare = client
  for (let warm = 0; warm < 10; warm++) {
    await ours(daemon, 10)
    await theirs(10)
  }
  return end
})

const ask = (daemon: BenchDaemon, tool: string, args: Readonly<Record<string, unknown>>) =>
  daemon.call(tool, { ...args, kernel: NAME })

/** Evaluates what signals an error; its envelope. */
const err = (daemon: BenchDaemon, depth: number) =>
  daemon.link.call('call', {
    tool: 'eval_expr',
    args: { expr: `(cl-user::deep ${depth})`, kernel: NAME },
  })

/** Microseconds until `body` resolves, after a rest. */
async function timed<Value>(body: () => Promise<Value>): Promise<readonly [us: number, value: Value]> {
  await pause(REST_MS)
  const begun = process.hrtime.bigint()
  const value = await body()
  return [Number(process.hrtime.bigint() - begun) / 1000, value]
}

/** From sending what signals an error to the answer that tells of it; what it suspends is left again afterwards. */
async function ours(daemon: BenchDaemon, depth: number): Promise<number> {
  const [us] = await timed(() => err(daemon, depth))
  await ask(daemon, 'debug_restart', { leave: true })
  return us
}

/** The same until Swank tells of its debugger, with 20 frames. */
async function theirs(depth: number): Promise<number> {
  const [us, leave] = await timed(() => bare.err(`(swank:eval-and-grab-output "(cl-user::deep ${depth})")`))
  await leave()
  return us
}

export const errorToAnswer: Row = {
  what: 'from an error on Swank to the answer that tells of it, p50, against the bare exchange until Swank tells of its debugger',
  how: `an error 10 calls deep, ${ERRORS} times each in turn, in the same SBCL: client → daemon → Swank → the exception with 12 frames, locals and source, suspended, through the call path and journalled, against client → bare Node hop → Swank → \`:debug\` with its restarts and 20 frames; leaving it is not timed, and 5 ms pass after that. \`deep_us\`: the same, ${DEPTH.toLocaleString('en-US')} calls deep`,
  bar: { relation: '≤', limit: 2, unit: '×' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const { daemon } = ground
    const times = {
      ours: [] as number[],
      theirs: [] as number[],
      deep: [] as number[],
      theirDeep: [] as number[],
    }
    for (let error = 0; error < ERRORS; error++) {
      times.ours.push(await ours(daemon, 10))
      times.theirs.push(await theirs(10))
      if (error % 4 > 0) continue
      times.deep.push(await ours(daemon, DEPTH))
      times.theirDeep.push(await theirs(DEPTH))
    }
    const [ours_us, reference_us] = [median(times.ours), median(times.theirs)]
    const parts = { deep_us: median(times.deep), deep_reference_us: median(times.theirDeep) }
    return ratio(ours_us, reference_us, { ours_us, reference_us, ...parts })
  },
}

export const framesPaged: Row = {
  what: 'the first page of a stack that is 10,000 calls deep, against that of one 30 calls deep',
  how: '`debug_state` with 20 frames of two suspended evaluations, 20 times each in turn, in one SBCL. `middle_us`: a page that begins at frame 5,000, once those before it were walked',
  bar: { relation: '≤', limit: 1.5, unit: '×' },
  setUp: ground.setUp,
  tearDown: ground.tearDown,
  async measure() {
    const { daemon } = ground
    const [deep, shallow] = [await suspended(daemon, DEPTH), await suspended(daemon, 30)]
    const page = async (suspension: string, from = 0) =>
      (await timed(() => ask(daemon, 'debug_state', { suspension, from, limit: 20 })))[0]
    const times = { deep: [] as number[], shallow: [] as number[], middle: [] as number[] }
    for (let look = 0; look < 20; look++) {
      times.deep.push(await page(deep))
      times.shallow.push(await page(shallow))
    }
    for (let look = 0; look < 5; look++) times.middle.push(await page(deep, DEPTH / 2))
    for (const suspension of [deep, shallow]) await ask(daemon, 'debug_restart', { suspension, leave: true })
    const [deep_us, shallow_us] = [median(times.deep), median(times.shallow)]
    return ratio(deep_us, shallow_us, { deep_us, shallow_us, middle_us: median(times.middle) })
  },
}

/** Signals an error so many calls deep, and gives the name of what that suspends. */
async function suspended(daemon: BenchDaemon, depth: number): Promise<string> {
  const envelope = await err(daemon, depth)
  const { error } = envelope as { error?: { details?: { suspension?: { id?: string } } } }
  const id = error?.details?.suspension?.id
  if (id === undefined) throw new Error(`nothing was suspended: ${JSON.stringify(envelope).slice(0, 500)}`)
  return id
}
