import type { Topic } from '../../../src/front/operations/operation.ts'
import type { Method, Methods, TopicRows } from '../../../src/front/protocol.ts'
import type { SubscriptionEvent } from '../../../src/front/subscriptions.ts'
import type { Answer, Asks, PlanRow, SeatNews } from '../../../src/front/told.ts'

/** What a project needs of the editor. No `vscode` is in here. */
export interface Seam {
  /** A request to `imago lsp`. Rejects with its fault. */
  request<Answer>(method: string, params: object): Promise<Answer>
  /** Rows, the seat or what waits of that project have changed. */
  changed(project: Project): void
  /** A sentence for the person, as plain text; it must not take the focus. */
  says(text: string): void
}

/** That a project follows. */
export const TOPICS = ['approvals', 'kernels', 'seats'] as const satisfies readonly Topic[]

/**
 * A project in the editor, by the root that `imago lsp` names. What that has told last is all the state that there is; what
 * is drawn is a function of it.
 */
export class Project {
  readonly root: string
  readonly rows = {
    approvals: new Map<string, PlanRow>(),
    kernels: new Map<string, TopicRows['kernels']>(),
    seats: new Map<string, Asks<TopicRows['seats']>>(),
  }
  readonly #seam: Seam
  /** The last event of the seat of this editor; undefined where it has none and asks for none. */
  seat: SeatNews | undefined
  /** How much waits for a person; empty where nothing does. */
  waits = ''
  /** The program that the person has chosen for calls. */
  kernel: string | undefined

  constructor(root: string, seam: Seam) {
    this.root = root
    this.#seam = seam
  }

  /** An operation of the daemon. Rejects with its fault. */
  ask<M extends Method, Result = Methods[M]['result']>(
    name: M,
    params: Methods[M]['params'] & { readonly shown?: true },
  ): Promise<Result> {
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
    this.changed()
  }

  heardWaits({ text }: { readonly text: string }): void {
    this.waits = text
    this.changed()
  }

  heardSeat(event: SeatNews): void {
    const isNews = event.type === 'left' ? event.why !== null : event.type === 'seated' && event.trouble
    this.seat = event.type === 'left' ? undefined : event
    if (isNews) this.#seam.says(event.shown)
    this.changed()
  }

  /** What is drawn of it may be other than it was. */
  changed(): void {
    this.#seam.changed(this)
  }

  /** What was told by an `imago lsp` that has ended is not known any more. */
  forget(): void {
    this.seat = undefined
    this.waits = ''
    this.heardRows({ rev: '', snapshot: [] })
  }

  /** Takes a seat; resolves as soon as it is there. Rejects with the sentence that says why there is none. */
  async sit(): Promise<void> {
    await this.ask('sit', {}).catch((fault: unknown) => {
      this.heardSeat({ type: 'left', why: null, shown: '' })
      throw fault
    })
  }

  /** What waits, and what a person types who lets this editor sit; empty where nothing does. */
  get status(): string {
    const code = this.seat?.type === 'asked' ? [`to sit: imago seat ${this.seat.code}`] : []
    return [...(this.waits === '' ? [] : [this.waits]), ...code].join(', ')
  }
}

/** What went wrong, and what can be done about it. */
export function faultText(fault: unknown): string {
  const { message, data } = fault as { message?: string; data?: { shown?: string } }
  return data?.shown ?? message ?? String(fault)
}
