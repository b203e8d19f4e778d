import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { roundsFor, sharedGround } from '../ground.ts'
import { openServer, type Server } from '../reference/server.ts'
import { median, percentile, type Row } from '../row.ts'

const RATE = 300
const SECONDS = 8
/** Every third request: 100 a second. */
const FAILING = 3

const ground = sharedGround()

type Phases = Readonly<Record<'well' | 'failing', { readonly ours: number; readonly twin: number }>>
const phasesFor = roundsFor(['well', 'failing'], measure)

/** One server takes its errors down, and its twin listens without that; both have the same load, in turn. */
async function measure(): Promise<Phases> {
  const servers = await Promise.all([openServer(ground.daemon), openServer(ground.daemon)])
  const [server, twin] = servers
  try {
    await server.listen()
    await twin.listen('deaf')
    await inTurn(server, twin)
    return { well: await inTurn(server, twin), failing: await inTurn(server, twin, FAILING) }
  } finally {
    await Promise.all(servers.map(one => one.close()))
  }
}

/**
 * The median of the p99 of each second, in ms: what else the machine does hits few of the seconds. The two have the load
 * in turn, a second each.
 */
async function inTurn(server: Server, twin: Server, failing?: number) {
  const times: [number[], number[]] = [[], []]
  for (let second = 0; second < SECONDS; second++)
    for (const at of second % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const load = { rate: RATE, seconds: 1, ...(failing && { failing }) }
      times[at].push(percentile(await (at === 0 ? server : twin).load(load), 0.99))
    }
  return { ours: median(times[0]), twin: median(times[1]) }
}

function row(phase: keyof Phases, words: Pick<Row, 'what' | 'how'>, limit: number): Row {
  return {
    ...words,
    bar: { relation: '≤', limit, unit: '×' },
    setUp: ground.setUp,
    tearDown: ground.tearDown,
    async measure() {
      const { ours, twin } = (await phasesFor(phase))[phase]
      return { figure: ours / twin, parts: { ours_p99_ms: ours, twin_p99_ms: twin } }
    },
  }
}

export const errorsUnseen = row(
  'well',
  {
    what: 'a program whose errors are taken down, and that has none: p99 of its requests, against its twin with errors=False',
    how: 'two small asyncio HTTP servers that listen, at 300 requests a second, a second each in turn, 8 of each; median of the p99 of each second',
  },
  1.05,
)

export const errorsMany = row(
  'failing',
  {
    what: 'the same program with 100 failing requests a second, each logged with its exception: p99 against its twin',
    how: 'in the same rounds; one request in three raises, and is logged with its traceback, which the twin formats and writes as well',
  },
  1.25,
)

const CRASHES = 12

/** It says when it is about to crash, with large values in thirty frames. */
const CRASH = `
import imago, sys
imago.listen('crash', errors=sys.argv[1] == 'kept')
def price(order, depth, big=['x' * 1000] * 1_000_000):
    rows = {str(n): [order] * n for n in range(200)}
    return price(order, depth - 1) if depth else {'early': 10}[order['discount']]
print('now', flush=True)
price({'items': ['tea'] * 1000, 'discount': None, 'token': 'x' * 40}, 30)
`

/** The milliseconds from its last word to its end. */
async function dying(how: 'kept' | 'deaf', folder: string): Promise<number> {
  const env = {
    PATH: process.env.PATH ?? '',
    PYTHONPATH: join(import.meta.dirname, '../../wire/peers/python'),
    IMAGO_RUNTIME_DIR: join(folder, 'run'),
    IMAGO_STATE_DIR: join(folder, 'state'),
  }
  const child = spawn('python3', ['-c', CRASH, how], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  await new Promise<void>(resolve => createInterface(child.stdout).once('line', () => resolve()))
  const began = performance.now()
  await ended
  return performance.now() - began
}

export const crashKept: Row = {
  what: 'a program that dies of an exception: what noting and keeping it takes of its end',
  how: `a script that listens and fails in 30 frames with large values, ${CRASHES} times, and in turn its twin with errors=False: the difference of the medians from its last word to its end`,
  bar: { relation: '≤', limit: 50, unit: 'ms' },
  async measure() {
    const folder = mkdtempSync(join(tmpdir(), 'imago-bench-'))
    const [ours, twin]: [number[], number[]] = [[], []]
    try {
      for (let count = 0; count < CRASHES; count++) {
        ours.push(await dying('kept', folder))
        twin.push(await dying('deaf', folder))
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
    const [ours_ms, twin_ms] = [median(ours), median(twin)]
    return { figure: ours_ms - twin_ms, parts: { ours_ms, twin_ms } }
  },
}
