import type { ClientAnswer, ClientAsker, ShownPlan } from '../../src/approvals/contract.ts'
import type { Signal } from '../../wire/signal.ts'

/** A client with a person at it, who answers when a test says so. */
export interface ScriptedClient extends ClientAsker {
  /** The plans that it was asked about, in order. */
  readonly plans: readonly ShownPlan[]
  /** Whether the last question was taken back. */
  readonly takenBack: boolean
  /** Resolves once it has been asked. */
  asked(): Promise<ShownPlan>
  /** The last question is answered. */
  answer(answer: ClientAnswer): void
  /** From now on its yes is doubted, or not. */
  doubted: string | undefined
}

export const YES: ClientAnswer = { type: 'yes' }

export const no = (
  how: Extract<ClientAnswer, { type: 'no' }>['how'],
  reason: string | null = null,
): ClientAnswer => ({ type: 'no', how, reason })

export function scriptedClient(who = 'a client'): ScriptedClient {
  const plans: ShownPlan[] = []
  const signals: Signal[] = []
  let settle: (answer: ClientAnswer) => void = () => undefined
  let heard: (plan: ShownPlan) => void = () => undefined
  const first = new Promise<ShownPlan>(resolve => {
    heard = resolve
  })
  return {
    who,
    plans,
    doubted: undefined,
    get takenBack() {
      return signals.at(-1)?.aborted === true
    },
    doubt() {
      return this.doubted
    },
    ask(plan, signal) {
      plans.push(plan)
      signals.push(signal)
      heard(plan)
      return new Promise(resolve => {
        settle = resolve
      })
    },
    asked: () => first,
    answer: answer => settle(answer),
  }
}
