import type { Topic } from '../../../src/front/operations/operation.ts'
import type { Method, Methods, SeatEvent, SeatWanted, TopicRows } from '../../../src/front/protocol.ts'
import type { ShownAnswer } from '../../../src/front/shown-answer.ts'
import type { SubscriptionEvent } from '../../../src/front/subscriptions.ts'
import type { Envelope } from '../../../tools/outcome.ts'

/** What a project needs of the editor. No `vscode` is in here. */
export interface Seam {
  /** A request to `imago lsp`. Rejects with its fault. */
  request<Answer>(method: string, params: object): Promise<Answer>
  /** Rows or the seat of that project have changed. */
  changed(project: Project): void
  /** A sentence for the person, as plain text; it must not take the focus. */
  says(text: string): void
}

type PlanRow<State> = Extract<TopicRows['approvals'], { state: State }>
export type WaitingRow = PlanRow<'waits'>
export type Plan = Methods['plan']['result']
/** An answer of a tool, and what a person reads of it. */
export type Answer = Envelope & ShownAnswer & { readonly shown: string; readonly kernel?: string }

/** An event of the seat, as `imago lsp` tells it. */
export type SeatNews = SeatEvent | { readonly type: 'left'; readonly why: string | null }

/** That a project follows. */
export const TOPICS = ['approvals', 'kernels', 'seats'] as const satisfies readonly Topic[]

/**
 * A project in the editor, by the root that `imago lsp` names. Its rows are all the state that there is; what is drawn is a
 * function of them.
 */
export class Project {
  readonly root: string
  readonly rows: { readonly [T in (typeof TOPICS)[number]]: Map<string, TopicRows[T]> } = {
    approvals: new Map(),
    kernels: new Map(),
    seats: new Map(),
  }
  readonly #seam: Seam
  /** The seat of this editor. */
  seat: Extract<SeatEvent, { type: 'seated' }> | undefined
  /** What a person types who lets this editor sit, while it is asked for. */
  code: string | undefined
  /** The program that the person has chosen for calls. */
  kernel: string | undefined

  constructor(root: string, seam: Seam) {
    this.root = root
    this.#seam = seam
  }

  /** An operation of the daemon. Rejects with its fault. */
  ask<M extends Method>(name: M, params: Methods[M]['params']): Promise<Methods[M]['result']> {
    return this.#seam.request(`imago/${name}`, { root: this.root, ...params })
  }

  /** Runs a tool. A plan that it needs waits as any other. */
  call(tool: string, args: Readonly<Record<string, unknown>>, how: object = {}): Promise<Answer> {
    return this.#seam.request('imago/call', { root: this.root, tool, args, shown: true, ...how })
  }

  heardRows(event: SubscriptionEvent): void {
    if ('snapshot' in event) for (const topic of TOPICS) this.rows[topic].clear()
    for (const { topic, key, value } of 'snapshot' in event ? event.snapshot : event.changes) {
      const rows = (this.rows as Partial<Record<Topic, Map<string, unknown>>>)[topic]
      // The last to change is the last in its map.
      rows?.delete(key)
      if (value !== null) rows?.set(key, value)
    }
    this.#seam.changed(this)
  }

  /** What was told by an `imago lsp` that has ended is not known any more. */
  forget(): void {
    this.seat = undefined
    this.code = undefined
    this.heardRows({ rev: '', snapshot: [] })
  }

  /** Takes a seat; resolves as soon as it is there. Rejects with the sentence that says why there is none. */
  async sit(): Promise<void> {
    try {
      await this.ask('sit', {})
    } finally {
      this.code = undefined
      this.#seam.changed(this)
    }
  }

  heardSeat(event: SeatNews): void {
    this.seat = event.type === 'seated' ? event : undefined
    this.code = event.type === 'asked' ? event.code : undefined
    if (event.type === 'left' && event.why !== null) this.#seam.says(`The seat was left: ${event.why}`)
    if (event.type === 'seated' && event.trouble !== null) this.#seam.says(event.trouble)
    this.#seam.changed(this)
  }

  /** Plans that wait, in the order of their names. */
  get waiting(): readonly WaitingRow[] {
    return this.#plans('waits').toSorted((one, other) => (one.id < other.id ? -1 : 1))
  }

  /** Questions that wait while nobody sits. */
  get held(): readonly PlanRow<'held'>[] {
    return this.#plans('held')
  }

  #plans<State extends TopicRows['approvals']['state']>(state: State): PlanRow<State>[] {
    return [...this.rows.approvals.values()].filter((row): row is PlanRow<State> => row.state === state)
  }

  /** Others who want a seat, and whom a person who sits here lets in or not. */
  get wanted(): readonly SeatWanted[] {
    return [...this.rows.seats.values()].filter(
      (row): row is SeatWanted => 'terminal' in row && row.why === null,
    )
  }

  get programs(): readonly TopicRows['kernels'][] {
    return [...this.rows.kernels.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1))
  }

  /** What `undo_change` takes for the newest change that was not taken back, of any seat; undefined: none is known. */
  get lastUndo(): string | undefined {
    const change = this.#plans('ended').findLast(({ tool, ended }) => ended?.undo && tool !== 'undo_change')
    return change?.ended?.undo ?? undefined
  }

  /** Whether plans are answered here. */
  get sits(): string {
    return this.seat === undefined ? `No seat here for ${this.root}` : `Seated for ${this.root}`
  }

  /** `2 plans wait, 1 wants a seat`; empty where nothing does. */
  get status(): string {
    const plans = this.waiting.length + this.held.length
    return [
      ...(plans === 0 ? [] : [plans === 1 ? '1 plan waits' : `${plans} plans wait`]),
      ...(this.wanted.length === 0 ? [] : [`${this.wanted.length} wants a seat`]),
      ...(this.code === undefined ? [] : [`to sit: imago seat ${this.code}`]),
    ].join(', ')
  }
}

/** What went wrong, and what can be done about it. */
export function faultText(fault: unknown): string {
  const { message, data } = fault as { message?: unknown; data?: { next?: unknown } }
  const next = typeof data?.next === 'string' ? ` ${data.next}` : ''
  return `${typeof message === 'string' ? message : String(fault)}${next}`
}
