import { Refusal } from '../../wire/link/calls.ts'
import { type KeptRun, keptRun, runNames } from '../agent/run-file.ts'
import { Failure } from '../failure.ts'
import { journalDir } from '../journal/segments.ts'
import type { Handlers } from './handlers.ts'
import { storyParts } from './log/lines.ts'
import { EVERYTHING, isWell, type Story, showStories } from './log/stories.ts'
import type { HISTORY_OPERATIONS } from './operations/history.ts'
import type { Methods } from './protocol.ts'
import { textOf } from './run-text.ts'

export type HistoryMethods = Pick<Handlers, keyof typeof HISTORY_OPERATIONS>

type RunRow = Methods['runs']['result']['runs'][number]

/** So many runs are looked at. */
const MOST = 200

interface HistoryOptions {
  readonly stateDir: string
  /** Begins `imago runs ACTION RUN`. */
  begin(action: 'cancel' | 'resume', run: { readonly run: string; readonly root: string }): void
}

/** What happened, read from the files that keep it. */
export function openHistory({ stateDir, begin }: HistoryOptions): HistoryMethods {
  /** The run, where it is of that project. */
  function own(run: string, root: string): KeptRun {
    const kept = runNames(stateDir).includes(run) ? keptRun(stateDir, run) : undefined
    if (kept === undefined || rootOf(kept) !== root)
      throw new Refusal('invalid_params', `There is no ${run} in this project.`)
    return kept
  }

  return {
    async journal({ count, looks = false, until }, { served: { signal } }) {
      const stories: Story[] = []
      const filter = {
        ...EVERYTHING,
        count,
        ...(until !== undefined && { until: new Date(until) }),
        also: (story: Story) => looks || !isLook(story),
      }
      const place = { dir: journalDir(stateDir), signal: signal as AbortSignal }
      await showStories(place, { filter, show: story => stories.push(story) })
      return { stories: stories.map(storyParts) }
    },
    runs: (_, { session: { root } }) => ({
      runs: runNames(stateDir)
        .slice(0, MOST)
        .flatMap(run => rowIn(stateDir, { run, root }) ?? []),
    }),
    run({ run }, { session: { root } }) {
      const kept = own(run, root)
      const entries = kept.entries
        .map(entry => ({ type: entry.type, at: entry.at, text: textOf(entry).trim() }))
        .filter(({ text }) => text !== '')
      return { ...rowOf(kept), entries }
    },
    cancel_run({ run }, { session: { root } }) {
      begin('cancel', { run: own(run, root).run, root })
      return {}
    },
    resume_run({ run }, { session: { root } }) {
      begin('resume', { run: own(run, root).run, root })
      return {}
    },
  }
}

const isLook = (story: Story): boolean =>
  story.type === 'call' && story.began?.type === 'looked' && isWell(story.outcome ?? '')

/** Undefined for one of another project, and for one whose file cannot be used: nobody knows whose it is. */
function rowIn(stateDir: string, { run, root }: { run: string; root: string }): RunRow | undefined {
  try {
    const kept = keptRun(stateDir, run)
    return rootOf(kept) === root ? rowOf(kept) : undefined
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}

const begunOf = ({ entries: [begun] }: KeptRun) => (begun?.type === 'begun' ? begun : undefined)

const rootOf = (kept: KeptRun) => begunOf(kept)?.root

function rowOf(kept: KeptRun): RunRow {
  const { run, entries, pid } = kept
  const { text = '', woken = null } = begunOf(kept) ?? {}
  const last = entries.at(-1)
  const waits = last?.type === 'waits' ? last.for : null
  const still = waits === null ? 'stopped' : 'waits'
  const state = pid !== undefined ? 'works' : last?.type === 'over' ? last.why : still
  return { run, state, text, woken, waits_for: waits, at: last?.at ?? 0 }
}
