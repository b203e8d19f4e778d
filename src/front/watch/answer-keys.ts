import type { SeatAnswer } from '../../core/approvals.ts'
import type { Look } from '../console/style.ts'
import type { Decision, Decisions } from '../hunks/decisions.ts'
import { argumentsIn, DID, send } from './answers.ts'
import type { Items, PlanItem } from './items.ts'
import type { Enters } from './line-input.ts'
import type { Shown, View } from './view.ts'
import type { Wish } from './wishes.ts'

/** What the keys that answer have to do with. */
export interface Answered {
  readonly items: Items
  readonly view: View
  say(text: string, look?: Look): void
  /** Lets the person write a line; `enter` is what comes of it, and `enters` how that is called. */
  ask(prompt: string, enter: (text: string) => Wish | undefined, enters?: Enters): undefined
}

/** What came of a key: a wish, nothing more to be done, or that it is no answer to what is shown. */
export type KeyAnswer = Wish | undefined | 'no answer'

/** Answers what is shown, with the keys of `git add -p`. */
export class AnswerKeys {
  readonly #at: Answered

  constructor(at: Answered) {
    this.#at = at
  }

  press(shown: Shown, key: string): KeyAnswer {
    switch (shown.type) {
      case 'plan':
        return this.#answerPlan(shown.item, key)
      case 'hunk':
        return shown.item.deciding === undefined
          ? 'no answer'
          : this.#answerHunk({ item: shown.item, deciding: shown.item.deciding }, key)
      case 'hunks':
        return this.#answerHunks(shown.item, key)
      case 'turn':
        return this.#answerTurn(shown.items, key)
      case 'grant':
        return this.#answerGrant(shown.item, key)
      case 'seat':
        if (key !== 'y' && key !== 'n') return 'no answer'
        this.#at.items.remove(shown.id)
        return { type: 'admit', wanted: shown.id, admit: key === 'y' }
      case 'trouble':
        if (key !== 'y' && key !== 'n') return 'no answer'
        this.#at.items.remove('trouble')
        return key === 'y' ? { type: 'acknowledge' } : undefined
      default:
        return 'no answer'
    }
  }

  #answerPlan(item: PlanItem, key: string): KeyAnswer {
    const { plan } = item
    switch (key) {
      case 'y':
        return item.seen ? send([item], [answer(item, 'approve')], DID.approve) : this.#notSeen()
      case 'n':
        return this.#at.ask('Why not? ', reason => deny([item], reason))
      case 'a':
        return this.#askTurn(this.#at.items.turn(plan.turn))
      case 'd':
        return this.#denyTurn(this.#at.items.turn(plan.turn))
      case 'g':
        if (plan.grants.length === 0) this.#at.say('Nothing of this kind can be let through without asking.')
        else if (!item.seen) return this.#notSeen()
        else this.#at.view.grantFor = item
        return undefined
      case 'e': {
        const text = argumentsIn(item)
        if (text !== undefined)
          return { type: 'edit', text, about: { type: 'arguments', plan: plan.id, suffix: '.json' } }
        this.#at.say('There are no arguments to edit.')
        return undefined
      }
      case 's':
        this.#at.say('This is taken or left as a whole: it has no hunks.')
        return undefined
      default:
        return 'no answer'
    }
  }

  #answerHunk({ item, deciding }: { item: PlanItem; deciding: Decisions }, key: string): KeyAnswer {
    const refuse = (text: string): Decision => ({ type: 'refuse', reason: text === '' ? null : text })
    switch (key) {
      case 'y':
        if (deciding.piece?.seen !== true) return this.#notSeen()
        deciding.decide({ type: 'accept' })
        return undefined
      case 'n':
        return this.#decision('Why not this hunk? ', text => deciding.decide(refuse(text)))
      case 'a':
        deciding.decideFile({ type: 'accept' })
        return undefined
      case 'd':
        return this.#decision('Why not these of the file? ', text => deciding.decideFile(refuse(text)))
      case 'A':
        deciding.decideAll({ type: 'accept' })
        return undefined
      case 'D':
        return this.#decision('Why none of these hunks? ', text => deciding.decideAll(refuse(text)))
      case 'e': {
        const about = { type: 'hunk', plan: item.id, piece: deciding.at, suffix: '.diff' } as const
        return { type: 'edit', text: deciding.patch, about }
      }
      case 's': {
        const parts = deciding.split()
        this.#at.say(parts === 1 ? 'This hunk cannot be split any further.' : `It is ${parts} parts now.`)
        return undefined
      }
      case 'g':
        this.#at.say('There is no grant for a plan with hunks: it is for those that are approved as a whole.')
        return undefined
      default:
        return 'no answer'
    }
  }

  /** A reason that is sent with all the others, and not before. */
  #decision(prompt: string, enter: (reason: string) => void): undefined {
    return this.#at.ask(prompt, reason => void enter(reason), 'takes it')
  }

  #answerHunks(item: PlanItem, key: string): KeyAnswer {
    if (key === 'n') {
      item.deciding?.go(-1, { undecided: false })
      this.#at.say('Nothing was sent. Decide anew what you like: J and K go through all hunks.')
      return undefined
    }
    if (key !== 'y' || item.deciding === undefined) return 'no answer'
    if (!this.#at.view.sheet().seen) return this.#notSeen()
    const { taken, pieces } = item.deciding.tally
    return send(
      [item],
      [{ ...answer(item, 'choose'), choices: item.deciding.choices() }],
      DID.choose(taken, pieces),
    )
  }

  #askTurn(items: readonly PlanItem[]): undefined {
    if (items.length < 2) this.#at.say('It is the only plan of its turn: y approves it.')
    else this.#at.view.turn = items
  }

  #answerTurn(items: readonly PlanItem[], key: string): KeyAnswer {
    if (key === 'd') return this.#denyTurn(items)
    if (key !== 'y') return 'no answer'
    if (!this.#at.view.sheet().seen) return this.#notSeen()
    this.#at.view.leave()
    return send(
      items,
      items.map(item => answer(item, 'approve')),
      DID.approve,
    )
  }

  #denyTurn(items: readonly PlanItem[]): undefined {
    const prompt = items.length === 1 ? 'Why not? ' : `Why none of these ${items.length}? `
    return this.#at.ask(prompt, reason => {
      this.#at.view.leave()
      return deny(items, reason)
    })
  }

  #answerGrant(item: PlanItem, key: string): KeyAnswer {
    const grant = item.plan.grants[Number(key) - 1]
    if (grant === undefined) return 'no answer'
    this.#at.view.leave()
    return send([item], [{ ...answer(item, 'approve'), grant }], DID.grant(grant))
  }

  #notSeen(): undefined {
    this.#at.say('Not all of it was on the screen yet: space goes on, G goes to its end.', 'failure')
  }
}

const answer = ({ plan: { id, hash } }: PlanItem, decision: SeatAnswer['decision']): SeatAnswer => ({
  plan: id,
  hash,
  decision,
})

function deny(items: readonly PlanItem[], reason: string): Wish {
  const why = reason === '' ? {} : { reason }
  const answers = items.map(item => ({ ...answer(item, 'deny'), ...why }))
  return send(items, answers, DID.deny)
}
