import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { oneLine } from '../../tools/text.ts'
import { readBounded } from '../../wire/bounded-file.ts'
import { type Started, startedFrom, startedOf, startOf } from '../../wire/process-start.ts'
import type { SilentProcess } from '../kernels/programs.ts'
import { silent, withoutArguments } from './languages.ts'

/** The record of a run, which is removed when the run ends. */
const RUN = z.object({
  pid: z.int().positive(),
  started: z.string(),
  cwd: z.string(),
  command: z.array(z.string()),
})

const RUN_FILE = 'run.json'

/** A larger file is not read: of such a command nothing is told. */
const MOST_BYTES = 64 * 1024

/** Runs that are looked at, processes of one that are told, and characters that are shown of the command of each. */
const [MOST_RUNS, MOST_PROCESSES, MOST_WORDS] = [64, 8, 200]

/** A folder where each process of that command says that it listens, or why it cannot. */
export function openRun(runtimeDir: string, words: readonly string[]): string {
  const heard = mkdtempSync(join(runtimeDir, 'run-'))
  const { pid } = process
  const run = { pid, started: startOf(pid) ?? '', cwd: process.cwd(), command: withoutArguments(words) }
  writeFileSync(join(heard, RUN_FILE), JSON.stringify(run), { mode: 0o600 })
  return heard
}

/** What the processes of a run have said: an empty text where one listens, by its number. */
export const heardIn = (heard: string): ReadonlyMap<number, string> =>
  new Map(
    readdirSync(heard)
      .filter(name => name !== RUN_FILE)
      .map(pid => [Number(pid), readFileSync(join(heard, pid), 'utf8')]),
  )

/** The processes among `all`, which were started for that command, that cannot listen because of how they were started. */
export const silentAmong = (
  all: readonly Started[],
  command: readonly string[],
): readonly Omit<SilentProcess, 'cwd'>[] =>
  all.flatMap(one => {
    const why = silent(one, command)
    const words = oneLine(one.words.join(' ')).slice(0, MOST_WORDS)
    return why === undefined ? [] : [{ pid: one.pid, words, ...why }]
  })

/** Whether a process that has said that it listens lives, and still can: a launcher may have become a program that cannot. */
export const hasListener = (heard: Iterable<number>, silent: readonly { readonly pid: number }[]): boolean =>
  [...heard].some(one => startedOf(one) !== undefined && silent.every(({ pid }) => pid !== one))

/** The processes that cannot listen, of each run that lasts and has no listener. */
export function silentProcesses(runtimeDir: string): readonly SilentProcess[] {
  const runs = readdirSync(runtimeDir)
    .filter(name => name.startsWith('run-'))
    .slice(0, MOST_RUNS)
  return runs.flatMap(name => {
    try {
      const file = readBounded(join(runtimeDir, name, RUN_FILE), { most: MOST_BYTES })
      const { pid, started, cwd, command } = RUN.parse(JSON.parse(file.toString('utf8')))
      if (startOf(pid) !== started) return []
      const silentIn = (all: readonly Started[]) =>
        silentAmong(
          all.map(one => ({ ...one, words: withoutArguments(one.words) })),
          command,
        )
      // A run with a listener, as most have, is told by that process alone, without a look at all others.
      const heard = [...heardIn(join(runtimeDir, name)).keys()]
      if (hasListener(heard, silentIn(heard.flatMap(one => startedOf(one) ?? [])))) return []
      return silentIn(startedFrom(pid))
        .slice(0, MOST_PROCESSES)
        .map(one => ({ ...one, cwd }))
    } catch {
      // It has just ended, or is none of ours.
      return []
    }
  })
}
