import { setImmediate } from 'node:timers/promises'
import { Refusal } from '../../wire/link/calls.ts'
import type { Entry, EntryOf } from '../agent/entries.ts'
import { isAtWork, type KeptRun, keptRun, runNames, runSize } from '../agent/run-file.ts'
import { Failure } from '../failure.ts'
import { journalDir } from '../journal/segments.ts'
import type { Handlers } from './handlers.ts'
import { painted, storyPieces } from './log/lines.ts'
import { EVERYTHING, isWell, type Story, showStories } from './log/stories.ts'
import type { HISTORY_OPERATIONS } from './operations/history.ts'
import type { Methods } from './protocol.ts'
import { textOf } from './run-text.ts'
import type { TopicRow } from './subscriptions.ts'

export type HistoryMethods = Pick<Handlers, keyof typeof HISTORY_OPERATIONS>

/** So many runs are looked at. */
const MOST = 200

interface HistoryOptions {
  readonly stateDir: string
  /** Begins `imago runs cancel RUN`. */
  cancel(run: { readonly run: string; readonly root: string }): void
}

/** What happened, read from the files that keep it. */
export function openHistory({ stateDir, cancel }: HistoryOptions) {
  /** The ends of files that were read. A file grows as long as it is there. */
  const read = new Map<string, Ends & { readonly size: number }>()

  /** Undefined for one whose file cannot be used: nobody knows whose it is. */
  function keptIf(run: string): KeptRun | undefined {
    try {
      return keptRun(stateDir, run)
    } catch (error) {
      if (error instanceof Failure) return undefined
      throw error
    }
  }

  function named(run: string, root: string): KeptRun {
    const kept = runNames(stateDir).includes(run) ? keptIf(run) : undefined
    if (kept === undefined || endsOf(kept)?.begun.root !== root)
      throw new Refusal('invalid_params', `There is no ${run} in this project.`)
    return kept
  }

  function ends(run: string): Ends | undefined {
    const size = runSize(stateDir, run)
    const before = read.get(run)
    if (before?.size === size) return before
    const kept = keptIf(run)
    const now = kept && endsOf(kept)
    if (now !== undefined) read.set(run, { ...now, size })
    return now
  }

  /** Those of all projects, the newest first. */
  async function allRuns() {
    const runs: (TopicRow & { readonly value: Row })[] = []
    for (const run of runNames(stateDir).slice(0, MOST)) {
      const known = ends(run)
      const value = known && rowOf(run, known, isAtWork(stateDir, run))
      if (value) runs.push({ key: run, root: known.begun.root, kernel: null, value })
      // Others are served between two files, which may be long.
      await setImmediate()
    }
    return runs
  }

  const methods: HistoryMethods = {
    async journal({ count }, { served: { signal } }) {
      const stories: string[] = []
      const show = (story: Story) => {
        const pieces = storyPieces(story, { columns: undefined, long: true })
        stories.push(painted(pieces, { coloured: false }))
      }
      const place = { dir: journalDir(stateDir), signal: signal as AbortSignal }
      await showStories(place, { filter: { ...EVERYTHING, count, also: isNoLook }, show })
      return { stories }
    },
    async runs(_, { session: { root } }) {
      return { runs: (await allRuns()).flatMap(one => (one.root === root ? [one.value] : [])) }
    },
    run: ({ run }, { session: { root } }) => ({ text: named(run, root).entries.map(textOf).join('') }),
    cancel_run({ run }, { session: { root } }) {
      cancel({ run: named(run, root).run, root })
      return {}
    },
  }
  return { methods, allRuns }
}

const isNoLook = (story: Story): boolean =>
  story.type !== 'call' || story.began?.type !== 'looked' || !isWell(story.outcome ?? '')

type Row = Methods['runs']['result']['runs'][number]

/** What a row needs of the entries of a run. */
interface Ends {
  readonly begun: EntryOf<'begun'>
  readonly last: Entry
}

function endsOf({ entries }: KeptRun): Ends | undefined {
  const [begun] = entries
  return begun?.type === 'begun' ? { begun, last: entries.at(-1) ?? begun } : undefined
}

function rowOf(run: string, { begun, last }: Ends, works: boolean): Row {
  const waits = last.type === 'waits' ? last.for : null
  const still = waits === null ? 'stopped' : 'waits'
  const state = works ? 'works' : last.type === 'over' ? last.why : still
  return { run, state, text: begun.text, waits_for: waits, at: last.at }
}
