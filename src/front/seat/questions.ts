import type { ShownPlan } from '../../core/approvals.ts'
import type { SeatWanted } from '../protocol.ts'

/** Arguments that a person wrote and that could not be used, as they are gone on with. */
export interface KeptDraft {
  text?: string
}

/** What a person is asked. */
export type Question =
  | { readonly type: 'plan'; readonly id: string; readonly plan: ShownPlan; readonly draft: KeptDraft }
  | { readonly type: 'seat'; readonly id: string; readonly wanted: SeatWanted; settle(admit: boolean): void }
  | { readonly type: 'trouble'; readonly id: 'trouble'; readonly trouble: string }

/** What waits for a person who is asked about one thing after the other, in the order in which it came. */
export class Questions {
  readonly #waiting: Question[] = []
  #wake = () => {}

  /** Whether anything waits. */
  get some(): boolean {
    return this.#waiting.length > 0
  }

  /** At the end; in place of the one of that name, where one waits. */
  put(question: Question): void {
    const at = this.#waiting.findIndex(({ id }) => id === question.id)
    const known = this.#waiting[at]
    if (known === undefined) this.#waiting.push(question)
    else
      this.#waiting[at] =
        known.type === 'plan' && question.type === 'plan' ? { ...question, draft: known.draft } : question
    this.#wake()
  }

  /** One that was looked at comes again once all others were, or behind the last of them, which comes first. */
  putBack(question: Question, first: 'next' | 'previous'): void {
    if (first === 'next') this.#waiting.push(question)
    else this.#waiting.splice(0, 0, ...this.#waiting.splice(-1), question)
  }

  /** It waits no more. Undefined where it did not. */
  remove(id: string): Question | undefined {
    const at = this.#waiting.findIndex(question => question.id === id)
    return at < 0 ? undefined : this.#waiting.splice(at, 1)[0]
  }

  /** The plans of that turn, in order. */
  ofTurn(turn: string): ShownPlan[] {
    return this.#waiting.flatMap(one => (one.type === 'plan' && one.plan.turn === turn ? [one.plan] : []))
  }

  /** The first, which does not wait here any more. Resolves with undefined once `over` is aborted. */
  async next(over: AbortSignal): Promise<Question | undefined> {
    const stop = () => this.#wake()
    over.addEventListener('abort', stop)
    while (!this.some && !over.aborted)
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    over.removeEventListener('abort', stop)
    return over.aborted ? undefined : this.#waiting.shift()
  }
}
