import { Refusal } from '../../wire/link/calls.ts'
import { type KeptRun, keptRun, runNames } from '../agent/run-file.ts'
import { Failure } from '../failure.ts'
import { journalDir } from '../journal/segments.ts'
import type { Handlers } from './handlers.ts'
import { painted, storyPieces } from './log/lines.ts'
import { EVERYTHING, isWell, type Story, showStories } from './log/stories.ts'
import type { HISTORY_OPERATIONS } from './operations/history.ts'
import type { Methods } from './protocol.ts'
import { textOf } from './run-text.ts'

export type HistoryMethods = Pick<Handlers, keyof typeof HISTORY_OPERATIONS>

/** So many runs are looked at. */
const MOST = 200

interface HistoryOptions {
  readonly stateDir: string
  /** Begins `imago runs cancel RUN`. */
  cancel(run: { readonly run: string; readonly root: string }): void
}

/** What happened, read from the files that keep it. */
export function openHistory({ stateDir, cancel }: HistoryOptions): HistoryMethods {
  /** Undefined for a run of another project, and for one whose file cannot be used: nobody knows whose it is. */
  function own(run: string, root: string): KeptRun | undefined {
    try {
      const kept = runNames(stateDir).includes(run) ? keptRun(stateDir, run) : undefined
      return kept !== undefined && begunOf(kept)?.root === root ? kept : undefined
    } catch (error) {
      if (error instanceof Failure) return undefined
      throw error
    }
  }

  function named(run: string, root: string): KeptRun {
    const kept = own(run, root)
    if (kept === undefined) throw new Refusal('invalid_params', `There is no ${run} in this project.`)
    return kept
  }

  return {
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
    runs: (_, { session: { root } }) => {
      const runs = runNames(stateDir).slice(0, MOST)
      return {
        runs: runs.map(run => own(run, root)).flatMap(kept => (kept === undefined ? [] : rowOf(kept))),
      }
    },
    run: ({ run }, { session: { root } }) => ({ text: named(run, root).entries.map(textOf).join('') }),
    cancel_run({ run }, { session: { root } }) {
      cancel({ run: named(run, root).run, root })
      return {}
    },
  }
}

const isNoLook = (story: Story): boolean =>
  story.type !== 'call' || story.began?.type !== 'looked' || !isWell(story.outcome ?? '')

const begunOf = ({ entries: [begun] }: KeptRun) => (begun?.type === 'begun' ? begun : undefined)

function rowOf(kept: KeptRun): Methods['runs']['result']['runs'][number] {
  const { run, entries, pid } = kept
  const last = entries.at(-1)
  const waits = last?.type === 'waits' ? last.for : null
  const still = waits === null ? 'stopped' : 'waits'
  const state = pid !== undefined ? 'works' : last?.type === 'over' ? last.why : still
  return { run, state, text: begunOf(kept)?.text ?? '', waits_for: waits, at: last?.at ?? 0 }
}
