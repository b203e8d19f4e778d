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
export type WaitingRow = Extract<RowOf<'approvals'>, { state: 'waits' }>
export type Plan = Methods['plan']['result']
export type Seated = Extract<SeatEvent, { type: 'seated' }>

/** An event of the seat, as `imago lsp` tells it. */
export type SeatNews = SeatEvent | { readonly type: 'left'; readonly why: string | null }

export interface Restart {
  readonly number: number
  readonly name: string
  readonly description: string
  /** It asks for a value. */
  readonly reads?: boolean
}

const TOPICS = ['approvals', 'errors', 'kernels', 'seats', 'suspensions'] as const satisfies readonly Topic[]
type Followed = (typeof TOPICS)[number]

/**
 * A project in the editor, by the root that `imago lsp` names. Its rows are all the state that there is; what is drawn is a
 * function of them.
 */
export class Project {
  readonly root: string
  readonly rows: { readonly [T in Followed]: Map<string, RowOf<T>> } = {
    approvals: new Map(),
    errors: new Map(),
    kernels: new Map(),
    seats: new Map(),
    suspensions: new Map(),
  }
  readonly #seam: Seam
  /** The seat of this editor. */
  seat: Seated | undefined
  /** What a person types who lets this editor sit, while it is asked for. */
  code: string | undefined
  /** The program that calls go to; undefined: the daemon decides. */
  kernel: string | undefined
  #sitting: Promise<Seated> | undefined
  /** By the call that is followed, who is told of its plan. */
  readonly #followed = new Map<string, (plan: string) => void>()

  constructor(root: string, seam: Seam) {
    this.root = root
    this.#seam = seam
  }

  /** Asks `imago lsp` to follow the project of a folder. Its rows name the root. */
  static open(folder: string, { request }: Pick<Seam, 'request'>): Promise<null> {
    return request('imago/subscribe', { root: folder, topics: TOPICS })
  }

  /** An operation of the daemon. Rejects with its fault. */
  ask<M extends Method>(name: M, params: Methods[M]['params']): Promise<Methods[M]['result']> {
    return this.#seam.request(`imago/${name}`, { root: this.root, ...params })
  }

  /** Runs a tool. A plan that it needs waits as any other. */
  call(tool: string, args: Readonly<Record<string, unknown>>): Promise<Envelope> {
    return this.ask('call', { tool, args }) as Promise<Envelope>
  }

  /** The same, where `heard` is told of the plan that waits for it. */
  async follow(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    heard: (plan: string) => void,
  ): Promise<Envelope> {
    const call = randomUUID()
    const seen = new Set<string>()
    this.#followed.set(call, plan => {
      if (!seen.has(plan)) heard(plan)
      seen.add(plan)
    })
    try {
      return (await this.ask('call', { tool, args, call, follow: true })) as Envelope
    } finally {
      this.#followed.delete(call)
    }
  }

  /** An event of a followed call, of this project or another. */
  heardEvent({ call, plan }: { readonly call: string; readonly plan?: string }): void {
    if (plan !== undefined) this.#followed.get(call)?.(plan)
  }

  /** An answer of a tool as a person reads it. */
  async show(tool: string, envelope: Envelope): Promise<string> {
    return (await this.ask('show', { tool, envelope })).text
  }

  /** Runs a tool, and answers with what a person reads of it. */
  async text(tool: string, args: Readonly<Record<string, unknown>>): Promise<string> {
    return this.show(tool, await this.call(tool, args))
  }

  heardRows(event: SubscriptionEvent): void {
    if ('snapshot' in event) for (const topic of TOPICS) this.rows[topic].clear()
    for (const { topic, key, value } of 'snapshot' in event ? event.snapshot : event.changes) {
      const rows = this.rows[topic as Followed] as Map<string, unknown> | undefined
      if (value === null) rows?.delete(key)
      else rows?.set(key, value)
    }
    this.#seam.changed(this)
  }

  /** Takes a seat, once; resolves as soon as it is there. Rejects with the sentence that says why there is none. */
  sit(resume?: string): Promise<Seated> {
    if (this.seat !== undefined) return Promise.resolve(this.seat)
    this.#sitting ??= this.#sit(resume).finally(() => {
      this.#sitting = undefined
      this.code = undefined
      this.#seam.changed(this)
    })
    return this.#sitting
  }

  async #sit(resume: string | undefined): Promise<Seated> {
    const asked = resume === undefined ? {} : { resume }
    const seated = await (this.ask('sit', asked) as Promise<unknown>).catch((fault: unknown) => {
      if (resume === undefined) throw fault
      return this.ask('sit', {})
    })
    this.seat = seated as Seated
    if (this.seat.trouble !== null) this.#seam.says(this.seat.trouble)
    return this.seat
  }

  heardSeat(event: SeatNews): void {
    if (event.type === 'asked') {
      this.code = event.code
      const how = event.code === undefined ? '' : `, or you do, in a terminal: imago seat ${event.code}`
      this.#seam.says(`Somebody who sits lets this editor sit${how}.`)
    }
    if (event.type === 'left') {
      const { seat } = this
      this.seat = undefined
      if (seat !== undefined && event.why !== null) {
        this.#seam.says(`The seat was left: ${event.why}`)
        this.sit(seat.resume).catch((fault: unknown) => this.#seam.says(faultText(fault)))
      }
    }
    this.#seam.changed(this)
  }

  /** Leaves the seat, which takes its grants with it. */
  async leave(): Promise<void> {
    const { seat } = this
    this.seat = undefined
    if (seat !== undefined) await this.#seam.request('imago/leave', { root: this.root })
    this.#seam.changed(this)
  }

  /** The ways in which a suspended evaluation can go on. */
  async restarts(named: { suspension: string; kernel: string }): Promise<readonly Restart[]> {
    const envelope = await this.call('debug_state', named)
    if (!envelope.ok) throw new Error(envelope.error.message)
    return (envelope.result as { restarts?: readonly Restart[] }).restarts ?? []
  }

  /** Plans that wait, in the order of their names. */
  get waiting(): readonly WaitingRow[] {
    return sorted(
      [...this.rows.approvals.values()].filter(row => row.state === 'waits'),
      row => row.id,
    )
  }

  /** Others who want a seat, and whom a person who sits here lets in or not. */
  get wanted(): readonly SeatWanted[] {
    return [...this.rows.seats.values()].filter(
      (row): row is SeatWanted => 'terminal' in row && row.why === null,
    )
  }

  /** Questions that wait while nobody sits. */
  get held(): readonly Extract<RowOf<'approvals'>, { state: 'held' }>[] {
    return [...this.rows.approvals.values()].filter(row => row.state === 'held')
  }

  /** Evaluations that wait where an error happened. */
  get suspended(): readonly RowOf<'suspensions'>[] {
    return sorted(
      [...this.rows.suspensions.values()].filter(row => row.news.type !== 'ended'),
      row => row.id,
    )
  }

  /** The newest first. */
  get errors(): readonly RowOf<'errors'>[] {
    return sorted([...this.rows.errors.values()], row => row.at).toReversed()
  }

  get programs(): readonly RowOf<'kernels'>[] {
    return sorted([...this.rows.kernels.values()], row => row.name)
  }

  /** The name by which the last change of this project is taken back; undefined where none is known. */
  get lastUndo(): string | undefined {
    const ends = [...this.rows.approvals.values()].filter(row => row.state === 'ended')
    const newest = ends.filter(({ ended }) => ended?.undo).sort((one, other) => one.ago_ms - other.ago_ms)
    return newest[0]?.ended?.undo ?? undefined
  }

  /** The program that code of a language of the editor goes to; undefined: the daemon decides. */
  kernelFor(languageId: string): string | undefined {
    const living = this.programs.filter(({ state }) => state === 'ready' || state === 'busy')
    if (living.some(({ name }) => name === this.kernel)) return this.kernel
    const same = living.filter(row => row.language === languageId && row.attached?.helper !== true)
    return (same.find(({ attached }) => attached !== null) ?? same[0])?.name
  }

  /** `2 plans wait, 1 suspended`; empty where nothing does. */
  get status(): string {
    const { waiting, held, suspended, wanted } = this
    const plans = waiting.length + held.length
    return [
      ...(plans === 0 ? [] : [plans === 1 ? '1 plan waits' : `${plans} plans wait`]),
      ...(wanted.length === 0 ? [] : [`${wanted.length} wants a seat`]),
      ...(suspended.length === 0 ? [] : [`${suspended.length} suspended`]),
    ].join(', ')
  }
}

/** What went wrong, and what can be done about it. */
export function faultText(fault: unknown): string {
  const { message, data } = fault as { message?: unknown; data?: { next?: unknown } }
  const next = typeof data?.next === 'string' ? ` ${data.next}` : ''
  return `${typeof message === 'string' ? message : String(fault)}${next}`
}

function sorted<Row>(rows: readonly Row[], key: (row: Row) => string): readonly Row[] {
  return rows.toSorted((one, other) => (key(one) < key(other) ? -1 : 1))
}
