import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mathicsPython } from '../../test/support/runtimes.ts'
import type { CallId, Kernel } from '../../wire/kernel.ts'
import { launchWolfram } from '../../wire/kernels/wolfram.ts'
import { type BenchDaemon, pause } from '../daemon.ts'
import { sharedGround } from '../ground.ts'
import { type BareMathics, copyMathics, type MathicsCopy, openBareMathics } from '../reference/mathics.ts'
import { interleaved, median, percentile, type Row, ratio } from '../row.ts'

const NAME = 'bench-wolfram'
const lack = () => (existsSync(mathicsPython) ? undefined : 'there is no Mathics3; run node test/setup.mjs')

/** One session for most rows, and a bare one beside it. */
let bare: BareMathics
const ground = sharedGround(
  async daemon => {
    await daemon.link.call('start', { language: 'wolfram', name: NAME })
    bare = await openBareMathics()
    for (let time = 0; time < 200; time++) await ask(daemon, 'eval_expr', { expr: '1+2' })
    await bare.times(200)
    return () => bare.close()
  },
  `[kernels]\nwolfram = ${JSON.stringify(mathicsPython)}\n`,
)
const onGround = { lack, setUp: ground.setUp, tearDown: ground.tearDown }

const ask = (daemon: BenchDaemon, tool: string, args: Readonly<Record<string, unknown>>) =>
  daemon.call(tool, { ...args, kernel: NAME })

export const wolframEvaluation: Row = {
  what: 'one evaluation on Mathics3 through the daemon, journalled, p50, against the bare session of Mathics3',
  how: '`1+2`, 200 times each in alternating blocks of 20: client → daemon → host → back, against `evaluate_as_in_cli` in a process of its own, timed inside it, with no link at all; both read the text, keep `In` and `Out`, and write the value, ours in input form and Mathics as its terminal shows it',
  bar: { relation: 'stated', unit: '×' },
  ...onGround,
  async measure() {
    const ours: number[] = []
    const theirs: number[] = []
    for (let block = 0; block < 10; block++) {
      const [times = []] = await interleaved({ blocks: 1, each: 20 }, () =>
        ask(ground.daemon, 'eval_expr', { expr: '1+2' }),
      )
      ours.push(...times)
      theirs.push(...(await bare.times(20)))
    }
    const [ours_ms, bare_ms] = [median(ours) / 1000, median(theirs) / 1000]
    return ratio(ours_ms, bare_ms, { ours_ms, bare_ms })
  },
}

const DEPTHS = `
called[x_] := x;
work[] := Min[Table[First[AbsoluteTiming[Do[called[1], {200}]]], {3}]];
at[0] := work[];
at[n_] := at[n - 1];`

export const wolframDepths: Row = {
  what: 'a call at each of 120 depths of the stack of a Mathics3 image: the slowest against the fastest',
  how: '200 calls of a function that returns its argument, the best of 3, at depths 0 to 119, measured within one evaluation',
  bar: { relation: '≤', limit: 3, unit: '×' },
  ...onGround,
  async measure() {
    await ask(ground.daemon, 'eval_expr', { expr: DEPTHS })
    const expr = 'Round[1000000 {Max[#], Min[#]}] &[Table[at[depth], {depth, 0, 119}]]'
    const { value_repr } = (await ask(ground.daemon, 'eval_expr', { expr })) as {
      readonly value_repr: string
    }
    const [slowest_us = 0, fastest_us = 0] = value_repr.match(/\d+/g)?.map(Number) ?? []
    return ratio(slowest_us, fastest_us, { slowest_us, fastest_us })
  },
}

/** Has something run without an end, and ends it; resolves with the milliseconds until its call was answered. */
async function whileRunning(daemon: BenchDaemon, expr: string, body: () => Promise<void>): Promise<number> {
  const answered = daemon.link.call('call', {
    tool: 'eval_expr',
    args: { expr, kernel: NAME, patience: 600 },
  })
  await pause(STARTED_MS)
  await body()
  const begun = performance.now()
  const { outcome } = (await daemon.link.call('interrupt', { name: NAME })) as { readonly outcome: string }
  const envelope = (await answered) as { readonly ok: boolean; readonly error?: { readonly code: string } }
  const elapsed = performance.now() - begun
  const code = envelope.error?.code
  if (outcome !== 'stopped' || code !== 'interrupted')
    throw new Error(`${expr}: ${outcome}, and its call is answered with ${code ?? 'a value'}`)
  return elapsed
}

/** What a text takes at most until it runs, in ms. */
const STARTED_MS = 200
const LOOKS = 100

export const wolframLooks: Row = {
  what: 'a look into Mathics3 during `While[True, n++]`, p99',
  how: `\`inspect\` of \`n\` and \`symbol_definition\` of \`n\` and \`Plus\`, ${LOOKS} times each in turn, through the daemon, while the loop runs in the same process; time to the answer`,
  bar: { relation: '≤', limit: 50, unit: 'ms' },
  ...onGround,
  async measure() {
    const { daemon } = ground
    let looks: number[] = []
    await whileRunning(daemon, 'n = 0; While[True, n++]', async () => {
      const times = await interleaved(
        { blocks: LOOKS / 5, each: 5 },
        () => ask(daemon, 'inspect', { expr: 'n' }),
        () => ask(daemon, 'symbol_definition', { symbols: 'n, Plus' }),
      )
      looks = times.flat()
    })
    const [p50_ms, p99_ms] = [median(looks) / 1000, percentile(looks, 0.99) / 1000]
    return { figure: p99_ms, parts: { p50_ms, worst_ms: Math.max(...looks) / 1000 } }
  },
}

const ABORTS = 5

export const wolframAbort: Row = {
  what: 'an abort on Mathics3, of `While[True]` and of `Pause[60]`: the slowest',
  how: `from \`imago interrupt\` to the answer of the call that ran, through the daemon, ${ABORTS} times each in turn`,
  bar: { relation: '≤', limit: 250, unit: 'ms' },
  ...onGround,
  async measure() {
    const loop: number[] = []
    const waiting: number[] = []
    for (let turn = 0; turn < ABORTS; turn++) {
      loop.push(await whileRunning(ground.daemon, 'While[True]', async () => {}))
      waiting.push(await whileRunning(ground.daemon, 'Pause[60]', async () => {}))
    }
    return {
      figure: Math.max(...loop, ...waiting),
      parts: { while_p50_ms: median(loop), pause_p50_ms: median(waiting) },
    }
  },
}

/** A host of its own, on a link without a daemon. */
interface Session {
  readonly kernel: Kernel
  /** Until it could be spoken to, and until it had evaluated `1+2`, in seconds. */
  readonly hello_s: number
  readonly answer_s: number
  end(): void
}

let calls = 0

async function openSession(python: string): Promise<Session> {
  const folder = mkdtempSync(join(tmpdir(), 'imago-wolfram-'))
  const begun = performance.now()
  const { kernel, kill } = await launchWolfram({
    name: 'wolfram',
    root: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder },
    runtimeDir: join(folder, 'run'),
    wolfram: python,
  })
  const hello_s = (performance.now() - begun) / 1000
  const work = { type: 'source', source: '1+2' } as const
  const evaluated = await kernel.evaluate({ call: `bench-${++calls}` as CallId, who: 'bench', work }, {})
  const answer_s = (performance.now() - begun) / 1000
  if (evaluated.type !== 'done') throw new Error(JSON.stringify(evaluated))
  const end = () => {
    kill()
    rmSync(folder, { recursive: true, force: true })
  }
  return { kernel, hello_s, answer_s, end }
}

let session: Session
let builtins: readonly string[] = []

const LOOK = { deadlineMs: 60_000 }

/** The names of all symbols of the language itself. */
async function builtinsOf(kernel: Kernel): Promise<readonly string[]> {
  const query = { module: 'System`', internal: false, limit: 10_000 }
  const looked = await kernel.look('symbols', query, LOOK)
  if (looked.type !== 'found') throw new Error(JSON.stringify(looked))
  return looked.value.symbols.map(({ name }) => name)
}

/** Looks under way at a time: a kernel takes up to 64, and beyond says that it is busy. */
const LANES = 32

async function readAll(kernel: Kernel, names: Iterable<string>): Promise<void> {
  for (const name of names) {
    const looked = await kernel.look('definition', { name, max_length: 10_000 }, LOOK)
    if (looked.type !== 'found') throw new Error(JSON.stringify(looked))
  }
}

export const wolframBuiltins: Row = {
  what: 'the definitions of all builtins of Mathics3, read by the host',
  how: `every symbol of the context System, one \`definition\` each, ${LANES} under way at any time over the link, each answered with its page; time to the last answer`,
  bar: { relation: '≤', limit: 2, unit: 's' },
  lack,
  async setUp() {
    session = await openSession(mathicsPython)
    builtins = await builtinsOf(session.kernel)
  },
  tearDown: async () => session?.end(),
  async measure() {
    const begun = performance.now()
    const left = builtins.values()
    // Each lane takes its next name off the same iterator.
    await Promise.all(Array.from({ length: LANES }, () => readAll(session.kernel, left)))
    const seconds = (performance.now() - begun) / 1000
    return { figure: seconds, parts: { symbols: builtins.length } }
  },
}

export const wolframStart: Row = {
  what: 'starting Mathics3, warm, to its first evaluation',
  how: 'from the launch of the host to the answer to `1+2`, with all of it compiled and in the page cache; `hello_s`: until it can be spoken to; `bare_s`: a bare session of Mathics3 from its start to the same answer, in turn',
  bar: { relation: 'stated', unit: 's' },
  lack,
  async measure() {
    const { hello_s, answer_s, end } = await openSession(mathicsPython)
    end()
    const begun = performance.now()
    const { close } = await openBareMathics()
    const bare_s = (performance.now() - begun) / 1000
    close()
    return { figure: answer_s, parts: { hello_s, bare_s } }
  },
}

let copy: MathicsCopy

export const wolframColdStart: Row = {
  what: 'starting Mathics3, cold, to its first evaluation',
  how: 'the same from a copy of its environment that has no `__pycache__`, so that Python compiles all of it, and whose files the page cache was told to drop (`POSIX_FADV_DONTNEED`) before each start. Python itself with its standard library, and our host, stay warm',
  bar: { relation: 'stated', unit: 's' },
  lack,
  async setUp() {
    copy = copyMathics()
  },
  tearDown: async () => copy?.remove(),
  async measure() {
    copy.chill()
    const { hello_s, answer_s, end } = await openSession(copy.python)
    end()
    return { figure: answer_s, parts: { hello_s } }
  },
}
