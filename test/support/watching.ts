import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { openRig, type Rig, until, within } from './rig.ts'
import { openScreen, type ScreenOf, type ScreenOptions } from './screen.ts'

/** `imago watch --plain` at a terminal of its own: a real seat, line by line. Resolves once it sits. */
export async function openWatch(rig: Rig, options: ScreenOptions = {}): Promise<Watch> {
  const screen = openScreen(rig, { columns: 100, rows: 60, args: ['watch', '--plain'], ...options })
  await screen.shows(/seat-\d+, terminal/)
  return { screen, pid: Number(/\(process (\d+)\)/.exec(screen.text())?.[1]) }
}

/** `imago watch` on the whole screen of a terminal of its own. Resolves once it sits. */
export async function openSeatScreen(rig: Rig, options: ScreenOptions = {}): Promise<ScreenOf> {
  const screen = openScreen(rig, { args: ['watch'], ...options })
  await screen.shows(/^ Imago · seat-\d+ · /m)
  return screen
}

/** One daemon after the other, each lent to the next test while nothing is left behind in it. */
export interface SeatRigs {
  /** Someone at a whole screen of that daemon, for one test. */
  withSeatScreen(
    options: ScreenOptions,
    use: (parts: { rig: Rig; screen: ScreenOf }) => Promise<void>,
  ): Promise<void>
  close(): Promise<void>
}

/** `open`: left out, daemons that ask before they evaluate. */
export function openSeatRigs(open: () => Rig = openAsking): SeatRigs {
  let kept: Rig | undefined
  return {
    async withSeatScreen(options, use) {
      const rig = kept ?? open()
      let screen: ScreenOf | undefined
      try {
        if (kept === undefined) await rig.serve()
        kept = undefined
        screen = await openSeatScreen(rig, options)
        await use({ rig, screen })
        screen.close()
        if (await isAsNew(rig)) kept = rig
      } finally {
        screen?.close()
        if (kept === undefined) await rig.close()
      }
    },
    async close() {
      await kept?.close()
    },
  }
}

/** Whether the daemon still runs, nobody sits there, and nothing waits, is let through or is paused. */
async function isAsNew(rig: Rig): Promise<boolean> {
  const client = await rig.connect().catch(() => undefined)
  if (client === undefined) return false
  const look = () => client.request('approvals', {})
  await until(async () => (await look()).seats.length === 0, 'no seat')
  const { approvals, grants, pauses } = await look()
  await client.close()
  return approvals.length + grants.length + pauses.length === 0
}

/** Resolves once nobody has a seat. */
export async function noSeat(rig: Rig): Promise<void> {
  await using client = await rig.connect()
  await until(async () => (await client.request('approvals', {})).seats.length === 0, 'no seat')
}

/** Resolves once somebody has a seat. */
export async function someSeat(rig: Rig): Promise<void> {
  await using client = await rig.connect()
  await until(async () => (await client.request('approvals', {})).seats.length > 0, 'a seat')
}

/** Resolves once so many plans wait. */
export async function plansWait(rig: Rig, count: number): Promise<void> {
  await using client = await rig.connect()
  await until(
    async () => (await client.request('approvals', {})).approvals.length === count,
    `${count} plans`,
  )
}

export interface Watch {
  readonly screen: ScreenOf
  readonly pid: number
}

/** The prompt of a plan that is shown whole. */
export const APPROVE = 'Approve? [y]es [n]o '

/** A client at a terminal of its own that says what it is told to: test/support/seat-terminal.ts. */
export interface SeatTerminal {
  readonly screen: ScreenOf
  /** Types the command, and resolves with what came of it. */
  says(command: string, params?: unknown): Promise<Record<string, unknown>>
  /** Types it, and does not wait. */
  type(command: string): void
  /** All that it has printed. */
  told(): Record<string, unknown>[]
  /** Resolves with the first thing printed that has the key. */
  hears(key: string, value?: unknown): Promise<Record<string, unknown>>
}

export async function openSeatTerminal(rig: Rig): Promise<SeatTerminal> {
  const script = join(PACKAGE_ROOT, 'test/support/seat-terminal.ts')
  const command = [process.execPath, ...process.execArgv, script]
  const screen = openScreen(rig, { command, columns: 200, rows: 60 })
  const told = () =>
    [...screen.written.matchAll(/^@(\{.*\})\r?$/gm)].map(([, json = '{}']) => JSON.parse(json))
  const hears = async (key: string, value?: unknown) => {
    const wanted = () => told().find(one => key in one && (value === undefined || one[key] === value))
    await until(() => wanted() !== undefined, `${key} ${value ?? ''}: ${screen.written}`)
    return wanted() ?? {}
  }
  const type = (line: string) => screen.type(`${line}\n`)
  await hears('ready')
  return {
    screen,
    told,
    hears,
    type,
    async says(word, params) {
      const before = told().length
      type(params === undefined ? word : `${word} ${JSON.stringify(params)}`)
      const keys = [word, 'failed', 'seated', 'left']
      const came = () =>
        told()
          .slice(before)
          .find(one => keys.some(key => key in one))
      await until(() => came() !== undefined, `${word}: ${screen.written}`)
      return came() ?? {}
    },
  }
}

/** What the journal says of seats, in order, by now. */
export function seatLines(rig: Rig): string[] {
  const dir = join(rig.paths.stateDir, 'journal')
  const segments = readdirSync(dir)
    .filter(name => name.endsWith('.jsonl'))
    .sort()
  return segments
    .flatMap(name => readFileSync(join(dir, name), 'utf8').split('\n'))
    .filter(line => line.includes('"type":"seat"'))
}

/** Evaluating asks there, so that anything can be put before a person. */
const ASKS = '[[rule]]\ndecision = "ask"\ntool = "eval_expr"\n'

/** A rig whose user is asked about evaluating. */
export function openAsking(): Rig {
  const rig = openRig()
  mkdirSync(rig.paths.configDir, { recursive: true })
  writeFileSync(join(rig.paths.configDir, 'policy.toml'), ASKS)
  return rig
}

/** Waits until the question has been put so often. */
export const asks = (screen: ScreenOf, times: number) =>
  until(() => screen.all().filter(row => row.startsWith('Approve?')).length === times, `${times} questions`)

/** A daemon that asks before it evaluates, and someone at a terminal. */
export async function withWatch(use: (parts: { rig: Rig; watch: Watch }) => Promise<void>, env = {}) {
  const rig = openAsking()
  let watch: Watch | undefined
  try {
    await rig.serve()
    watch = await openWatch(rig, { env })
    await use({ rig, watch })
  } finally {
    watch?.screen.close()
    await rig.close()
  }
}

/** Waits for the answer of a call that a person is asked about. */
export async function evaluating(rig: Rig, expr: string, signal?: AbortSignal) {
  const client = await rig.connect()
  const call = { tool: 'eval_expr', args: { expr }, ...(signal === undefined ? {} : { signal }) }
  return { client, answer: within<Envelope>(client.call(call), `the answer to ${expr.slice(0, 40)}`) }
}

export const codeOf = (envelope: Envelope) => (envelope.ok ? 'ok' : envelope.error.code)
