import { summaryOf } from '../../tools/activity.ts'
import type { Kernel, Of } from '../../wire/kernel.ts'
import type { Approvals } from '../approvals/queue.ts'
import type { Calls } from '../calls/contract.ts'
import type { HeldQuestions } from '../calls/held.ts'
import { realOf } from '../files/roots.ts'
import type { AnnouncedRow } from '../kernels/announced-row.ts'
import type { Kernels } from '../kernels/kernels.ts'
import type { NewLife } from '../kernels/rows.ts'
import type { Leases } from '../suspensions/leases.ts'
import type { FolderRows } from './folder-rows.ts'
import type { Topic } from './operations/operation.ts'
import type { TOPIC_ROWS } from './operations/subscription.ts'
import type { Seats } from './seat/seats.ts'
import type { TopicRow } from './subscriptions.ts'

interface TopicParts {
  readonly kernels: Pick<Kernels, 'list' | 'output' | 'withholds'>
  readonly approvals: Pick<Approvals, 'waiting' | 'ends' | 'notices'>
  readonly held: Pick<HeldQuestions, 'unasked'>
  readonly calls: Pick<Calls, 'underWay'>
  readonly leases: Pick<Leases, 'told' | 'topicRow'>
  readonly seats: Pick<Seats, 'rows' | 'wanted'>
  readonly errors: NotedErrors
  readonly programs: Pick<FolderRows, 'rows'>
  readonly runs: Pick<FolderRows, 'rows'>
  readonly traces: Pick<ReturnType<typeof notedTraces>, 'rows'>
}

/** What each topic has now, from the part of the daemon that knows. `docs/operations.md` says what a row has. */
export function topicSources(parts: TopicParts): Readonly<Record<Topic, () => readonly TopicRow[]>> {
  const { kernels, approvals, held, calls, leases, seats, errors, traces } = parts
  const isTold = ({ kernel }: TopicRow) => kernel === null || !kernels.withholds(kernel)
  return {
    kernels: () =>
      kernels.list().map(({ background: _, ...row }) => ({
        key: row.name,
        root: row.root,
        kernel: row.name,
        value: row,
      })),
    programs: () => parts.programs.rows,
    runs: () => parts.runs.rows,
    output: () =>
      kernels.output().map(({ key, root, ...row }) => ({ key, root, kernel: row.kernel, value: row })),
    approvals: () => [
      ...approvals.waiting().map(plan => ({
        key: plan.id,
        root: plan.root,
        kernel: null,
        value: { state: 'waits', ...plan },
      })),
      ...approvals.ends().map(end => ({
        key: end.id,
        root: end.root,
        kernel: null,
        value: { state: 'ended', ...end },
      })),
      // Others wait as plans.
      ...held.unasked().map(question => ({
        key: `held ${question.call}`,
        root: question.root,
        kernel: null,
        value: { state: 'held', ...question },
      })),
    ],
    suspensions: () =>
      leases.told.map(one => {
        const { name, root } = one.life
        return {
          key: `${name}/${one.suspension.id}`,
          root,
          // Another project may have a kernel of that name by then.
          kernel: one.news.type === 'ended' ? null : name,
          value: leases.topicRow(one, { ...NOBODY, root }),
          seenBy: viewer => leases.topicRow(one, viewer),
        }
      }),
    errors: () => errors.rows().filter(isTold),
    traces: () => traces.rows().filter(isTold),
    seats: () =>
      [
        ...seats.rows().map(value => ({ key: value.seat, value })),
        ...seats.wanted().map(value => ({ key: value.id, forSeats: true, value })),
        ...approvals
          .notices()
          .map(({ number, text }) => ({ key: `notice-${number}`, forSeats: true, value: { text } })),
      ].map(row => ({ ...row, root: null, kernel: null })),
    calls: () =>
      calls
        .underWay()
        .map(({ name, call, tool, kernelName: kernel, elapsedMs: elapsed_ms, root, asking }) => ({
          key: name,
          root,
          kernel,
          value: { job: name, call, tool, kernel, root, elapsed_ms, plan: asking?.plan ?? null },
        })),
  }
}

/** Rows of programs that can be attached to. */
export const programRows = (programs: readonly AnnouncedRow[]): readonly TopicRow[] =>
  programs.map(value => ({
    key: `${value.pid} ${value.announced_at}`,
    root: realOf(value.cwd),
    isFolder: true,
    kernel: null,
    value,
  }))

/** A viewer who has no part in any suspension. */
const NOBODY = { id: '', who: '', kind: 'cli', profile: 'full', seat: () => undefined } as const

/**
 * Milliseconds: how long an image may take to tell its errors, how long after a note it is asked again, and how long after
 * an answer that did not come; longer each time, as an image may be stopped.
 */
const [LOOK_MS, AGAIN_MS, FAILED_MS, LONGEST_MS] = [1_000, 250, 2_000, 10_000]

/** As many as an image keeps. */
const MOST = 20

/** The errors that programs have noted, as their images tell them: asked only while somebody follows. */
export class NotedErrors {
  readonly #lives = new Map<
    Kernel,
    { readonly life: NewLife; rows: readonly TopicRow[]; asks: number; failed: number; isWatched: boolean }
  >()
  readonly #isFollowed: () => boolean
  readonly #changed: () => void

  constructor(options: { isFollowed(): boolean; changed(): void }) {
    this.#isFollowed = options.isFollowed
    this.#changed = options.changed
  }

  lives(life: NewLife): void {
    const { kernel } = life
    this.#lives.set(kernel, { life, rows: [], asks: 0, failed: 0, isWatched: false })
    let later: NodeJS.Timeout | undefined
    kernel.watchNews?.('errors', () => {
      void this.#ask(kernel)
      // An image tells of the first of many, and not of each.
      clearTimeout(later)
      later = setTimeout(() => void this.#ask(kernel), AGAIN_MS).unref()
    })
    void this.#ask(kernel)
    void kernel.ended.then(() => {
      this.#lives.delete(kernel)
      this.#changed()
    })
  }

  rows(): readonly TopicRow[] {
    return [...this.#lives.values()].flatMap(({ rows }) => rows)
  }

  /** Somebody begins to follow, or nobody does any more. */
  askAll(): void {
    for (const kernel of this.#lives.keys()) void this.#ask(kernel)
  }

  async #ask(kernel: Kernel): Promise<void> {
    const known = this.#lives.get(kernel)
    const isFollowed = this.#isFollowed()
    if (known === undefined || !kernel.identity.abilities.has('errors')) return
    if (!isFollowed && !known.isWatched) return
    // However often it is asked meanwhile, another look comes after this one.
    if (++known.asks > 1) return
    known.isWatched = true
    const looked = await kernel
      .look('errors', { count: MOST, watch: isFollowed ? 'on' : 'off' }, { deadlineMs: LOOK_MS })
      .catch(() => undefined)
    known.isWatched = isFollowed || looked === undefined
    const isBehind = known.asks > 1
    known.asks = 0
    known.failed = looked?.type === 'found' ? 0 : known.failed + 1
    if (isBehind) void this.#ask(kernel)
    // An image that has not answered may not know that it is to tell.
    else if (known.failed > 0)
      setTimeout(() => void this.#ask(kernel), Math.min(FAILED_MS * known.failed, LONGEST_MS)).unref()
    if (looked?.type !== 'found') return
    const { name, root } = known.life
    known.rows = looked.value.errors.map(error => ({
      key: `${name}#${error.number}`,
      root,
      kernel: name,
      value: { kernel: name, ...summaryOf(error) },
    }))
    this.#changed()
  }
}

/** A row for each kernel that tells of its tracepoints, which changes as it does. */
export function notedTraces(changed: () => void) {
  const rows = new Map<Kernel, TopicRow>()
  return {
    rows: () => [...rows.values()],
    lives({ name, root, kernel }: NewLife): void {
      let news = -1
      const tell = () => {
        const value: Of<typeof TOPIC_ROWS.traces> = { kernel: name, news: ++news }
        rows.set(kernel, { key: name, root, kernel: name, value })
        changed()
      }
      if (!kernel.identity.abilities.has('traces')) return
      if (kernel.watchNews?.('traces', tell) === undefined) return
      tell()
      void kernel.ended.then(() => rows.delete(kernel) && changed())
    },
  }
}
