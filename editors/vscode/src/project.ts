import { randomUUID } from 'node:crypto'
import type { Topic } from '../../../src/front/operations/operation.ts'
import type { TOPIC_ROWS } from '../../../src/front/operations/subscription.ts'
import type { Method, Methods, SeatEvent, SeatWanted } from '../../../src/front/protocol.ts'
import type { SubscriptionEvent } from '../../../src/front/subscriptions.ts'
import type { Envelope } from '../../../tools/outcome.ts'
import type { Of } from '../../../wire/kernel.ts'

/** What a project needs of the editor. No `vscode` is in here. */
export interface Seam {
  /** A request to `imago lsp`. Rejects with its fault. */
  request<Answer>(method: string, params: object): Promise<Answer>
  /** Rows or the seat of that project have changed. */
  changed(project: Project): void
  /** A sentence for the person, as plain text; it must not take the focus. */
  says(text: string): void
}

export type RowOf<T extends Topic> = Of<(typeof TOPIC_ROWS)[T]>
type PlanRow<State> = Extract<RowOf<'approvals'>, { state: State }>
export type WaitingRow = PlanRow<'waits'>
export type Plan = Methods['plan']['result']
/** An answer of a tool, and what a person reads of it. */
export type Answer = Envelope & { readonly shown: string }
type Seated = Extract<SeatEvent, { type: 'seated' }>

/** An event of the seat, as `imago lsp` tells it. */
export type SeatNews = SeatEvent | { readonly type: 'left'; readonly why: string | null }

const TOPICS = ['approvals', 'kernels', 'seats'] as const satisfies readonly Topic[]

/**
 * A project in the editor, by the root that `imago lsp` names. Its rows are all the state that there is; what is drawn is a
 * function of them.
 */
export class Project {
  readonly root: string
  readonly rows: { readonly [T in (typeof TOPICS)[number]]: Map<string, RowOf<T>> } = {
    approvals: new Map(),
    kernels: new Map(),
    seats: new Map(),
  }
  readonly #seam: Seam
  /** The seat of this editor. */
  seat: Seated | undefined
  /** What a person types who lets this editor sit, while it is asked for. */
  code: string | undefined
  /** The program that the person has chosen for calls. */
  kernel: string | undefined
  #undoing: { readonly call: string; opened(plan: string): void } | undefined

  constructor(root: string, seam: Seam) {
    this.root = root
    this.#seam = seam
  }

  /** Asks `imago lsp` to follow the project of a folder. Its rows name the root. */
  static follow(folder: string, { request }: Pick<Seam, 'request'>): Promise<null> {
    return request('imago/subscribe', { root: folder, topics: TOPICS })
  }

  /** An operation of the daemon. Rejects with its fault. */
  ask<M extends Method>(name: M, params: Methods[M]['params']): Promise<Methods[M]['result']> {
    return this.#seam.request(`imago/${name}`, { root: this.root, ...params })
  }

  /** Runs a tool. A plan that it needs waits as any other. */
  call(tool: string, args: Readonly<Record<string, unknown>>, how: object = {}): Promise<Answer> {
    return this.#seam.request('imago/call', { root: this.root, tool, args, shown: true, ...how })
  }

  /** Takes back a change; `opened` is told of the plan that this is. Answers with what came of it, for a person. */
  async undo(change: string, opened: (plan: string) => void): Promise<string> {
    const call = randomUUID()
    this.#undoing = { call, opened }
    return (await this.call('undo_change', { change }, { call, follow: true })).shown
  }

  /** An event of a followed call, of this project or another. */
  heardEvent({ call, plan }: { readonly call: string; readonly plan?: string }): void {
    if (plan === undefined || call !== this.#undoing?.call) return
    this.#undoing.opened(plan)
    this.#undoing = undefined
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

  /** Takes a seat; resolves as soon as it is there. Rejects with the sentence that says why there is none. */
  async sit(how: { readonly alone?: true } = {}): Promise<void> {
    if (this.seat !== undefined) return
    try {
      await this.ask('sit', how)
    } finally {
      this.code = undefined
      this.#seam.changed(this)
    }
  }

  /** Takes a seat where nobody else sits, and says nothing where somebody does. */
  async sitAlone(): Promise<void> {
    await this.sit({ alone: true }).catch((fault: unknown) => {
      if (codeOf(fault) !== 'seat_taken') this.#seam.says(faultText(fault))
    })
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

  #plans<State extends RowOf<'approvals'>['state']>(state: State): PlanRow<State>[] {
    return [...this.rows.approvals.values()].filter((row): row is PlanRow<State> => row.state === state)
  }

  /** Others who want a seat, and whom a person who sits here lets in or not. */
  get wanted(): readonly SeatWanted[] {
    return [...this.rows.seats.values()].filter(
      (row): row is SeatWanted => 'terminal' in row && row.why === null,
    )
  }

  get programs(): readonly RowOf<'kernels'>[] {
    return [...this.rows.kernels.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1))
  }

  /** What `undo_change` takes for the newest change that was not taken back, of any seat; undefined: none is known. */
  get lastUndo(): string | undefined {
    const change = this.#plans('ended').findLast(({ tool, ended }) => ended?.undo && tool !== 'undo_change')
    return change?.ended?.undo ?? undefined
  }

  /** The program that code of a language of the editor goes to; undefined: the daemon decides. */
  kernelFor(languageId: string): string | undefined {
    const living = this.programs.filter(({ state }) => state === 'ready' || state === 'busy')
    if (living.some(({ name }) => name === this.kernel)) return this.kernel
    const same = living.filter(row => row.language === languageId && row.attached?.helper !== true)
    return (same.find(({ attached }) => attached !== null) ?? same[0])?.name
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

const codeOf = (fault: unknown) => (fault as { data?: { code?: unknown } }).data?.code

/** What went wrong, and what can be done about it. */
export function faultText(fault: unknown): string {
  const { message, data } = fault as { message?: unknown; data?: { next?: unknown } }
  const next = typeof data?.next === 'string' ? ` ${data.next}` : ''
  return `${typeof message === 'string' ? message : String(fault)}${next}`
}
