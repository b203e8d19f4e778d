import { setTimeout as sleep } from 'node:timers/promises'
import { duration, oneLine } from '../../../tools/text.ts'
import { conversationOf } from '../../agent/conversation.ts'
import type { AskedCall } from '../../agent/entries.ts'
import { isAtWork, keptRun, openRun, removeRun, runNames, runSize } from '../../agent/run-file.ts'
import { readConfig } from '../../config.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { findPaths } from '../../paths.ts'
import { escapeJson } from '../../text/escape.ts'
import { connectDaemon } from '../client.ts'
import type { CommandInput } from '../command.ts'
import { untilLeft } from '../print.ts'
import { textOf } from '../run-text.ts'

const ACTIONS: Readonly<Record<string, (input: CommandInput, run: string) => Promise<ExitCode>>> = {
  show,
  resume: async (input, run) => (await import('./ask.ts')).resume(input, run),
  cancel,
  remove,
}

/** `imago runs`: the runs of the agent, or what is to be done with one. Removes those that are over for long. */
export async function runs(input: CommandInput): Promise<ExitCode> {
  const [action, run] = input.operands
  if (action === undefined) return list(input)
  const act = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined
  if (act === undefined || run === undefined)
    throw new Failure(
      `Say what to do with which run: ${Object.keys(ACTIONS).join(', ')} RUN. imago runs lists them.`,
      { exit: EXIT.usage },
    )
  return act(input, run)
}

async function list({ printer, options }: CommandInput): Promise<ExitCode> {
  const { stateDir, configDir } = findPaths()
  const most = readConfig(configDir).agent.keep_days * 86_400_000
  for (const run of runNames(stateDir)) {
    const row = rowOf(stateDir, run)
    if (row.isOver && row.agoMs > most) removeRun(stateDir, run)
    else if (options.json) printer.out(`${escapeJson(JSON.stringify({ run, ...row }))}\n`)
    else printer.out(`${run.padEnd(8)}  ${row.state.padEnd(9)}  ${row.about}  ${duration(row.agoMs)} ago\n`)
  }
  return EXIT.done
}

interface RunRow {
  /** `works`, `waits`, `stopped`, or how it ended. */
  readonly state: string
  readonly about: string
  readonly isOver: boolean
  /** Since its last entry. */
  readonly agoMs: number
}

/** One line about a run; a file that cannot be used has one, too. */
function rowOf(stateDir: string, run: string): RunRow {
  try {
    const kept = keptRun(stateDir, run)
    const { over, waits, begun } = conversationOf(kept.entries)
    const agoMs = Math.max(0, Date.now() - (kept.entries.at(-1)?.at ?? begun.at))
    const still = waits === undefined ? 'stopped' : 'waits'
    const state = kept.pid !== undefined ? 'works' : (over?.why ?? still)
    const [question = ''] = begun.text.split('\n\nThe error:\n<output ')
    const asked = begun.woken === undefined ? question : `${begun.woken}: ${question}`
    const about = state === 'waits' ? `${waits?.for}, asked` : asked
    return { state, about: oneLine(about).slice(0, 80), isOver: over !== undefined, agoMs }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { state: 'unusable', about: error.message, isOver: false, agoMs: 0 }
  }
}

/** How often a run that is followed is read again, in milliseconds. */
const FOLLOW_MS = 200

async function show({ printer, options }: CommandInput, run: string): Promise<ExitCode> {
  const { stateDir } = findPaths()
  const left = untilLeft()
  let shown = 0
  for (;;) {
    // Read before the entries: what is kept in between is read at the next turn.
    const size = runSize(stateDir, run)
    const kept = keptRun(stateDir, run)
    for (const entry of kept.entries.slice(shown))
      printer.out(options.json ? `${escapeJson(JSON.stringify(entry))}\n` : textOf(entry))
    shown = kept.entries.length
    const { over, waits } = conversationOf(kept.entries)
    if (!options.follow || over !== undefined) return EXIT.done
    // One that neither works nor waits has nobody who would go on.
    const isLeft = () => left.aborted || (waits === undefined && !isAtWork(stateDir, run))
    while (runSize(stateDir, run) === size && !isLeft()) await sleep(FOLLOW_MS)
    if (runSize(stateDir, run) !== size) continue
    if (!left.aborted) printer.err(`${run} has stopped. Go on with: imago runs resume ${run}\n`)
    return left.aborted ? EXIT.done : EXIT.failed
  }
}

async function cancel({ printer }: CommandInput, run: string): Promise<ExitCode> {
  const { stateDir } = findPaths()
  const { pid } = keptRun(stateDir, run)
  if (pid !== undefined) end(pid)
  while (keptRun(stateDir, run).pid !== undefined) await sleep(FOLLOW_MS)
  const file = await openRun(stateDir, run)
  try {
    const { over, said, open, begun } = conversationOf(file.entries)
    if (over === undefined) file.keep({ type: 'over', at: Date.now(), why: 'cancelled', text: said })
    else if (pid === undefined || over.why !== 'cancelled') throw new Failure(`${run} is over already.`)
    if (open.length > 0) await withdraw(open, begun.root)
  } finally {
    file.close()
  }
  printer.out(`${run} was cancelled.\n`)
  return EXIT.done
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM')
  } catch {
    // It has just ended by itself.
  }
}

/** Nobody is asked any more for what is over. */
async function withdraw(calls: readonly AskedCall[], root: string): Promise<void> {
  await using client = await connectDaemon({ name: 'imago runs', start: 'if-needed', root })
  for (const { call } of calls) await client.request('withdraw', { call })
}

/** A run that is not over may wait for an answer: nobody is to give one that nothing comes of. */
async function remove({ printer }: CommandInput, run: string): Promise<ExitCode> {
  const { stateDir } = findPaths()
  const { state } = rowOf(stateDir, run)
  if (state === 'waits' || state === 'stopped')
    throw new Failure(`${run} is not over, and was not removed. First: imago runs cancel ${run}`)
  removeRun(stateDir, run)
  printer.out(`${run} was removed.\n`)
  return EXIT.done
}
