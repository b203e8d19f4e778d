import type { SeatAnswer } from '../../core/approvals.ts'
import type { Key } from '../console/keys.ts'
import type { Look } from '../console/style.ts'
import type { Deciding, Decision } from '../hunks/deciding.ts'
import type { Redrafted } from '../person-editor.ts'
import { argumentsIn, DID, editedArguments, send } from './answers.ts'
import type { Items, PlanItem } from './items.ts'
import { LineInput } from './line-input.ts'
import { scroll } from './scrolling.ts'
import type { Shown, View } from './view.ts'
import type { Edited, Wish } from './wishes.ts'

export interface AnsweringOptions {
  readonly items: Items
  readonly view: View
  say(text: string, look?: Look): void
}

/** What the keys do. A key that answers is taken only where it counts; any other one is taken at once. */
export class Answering {
  readonly #items: Items
  readonly #view: View
  readonly #say: (text: string, look?: Look) => void
  #input: { readonly line: LineInput; enter(text: string): Wish | undefined } | undefined
  #sought = ''

  constructor({ items, view, say }: AnsweringOptions) {
    this.#items = items
    this.#view = view
    this.#say = say
  }

  /** The line that is being written. */
  get input(): LineInput | undefined {
    return this.#input?.line
  }

  /** What was begun is given up: it was about something that is not there any more. */
  drop(): void {
    this.#input = undefined
    this.#view.leave()
  }

  press(key: Key, { counts }: { counts: boolean }): Wish | undefined {
    if (this.#input !== undefined) return this.#write(key)
    if (key.type === 'key') return this.#turn(key.name, counts)
    // What is pasted was not typed as keys.
    if (key.type === 'paste') return undefined
    const [first = '', ...others] = key.text
    const wish = this.#turn(first, counts)
    const rest = others.join('')
    if (wish !== undefined || rest === '') return wish
    // What comes at once behind a key is for what that key has begun, and for nothing that it has brought up.
    return this.press({ type: 'text', text: rest }, { counts: false })
  }

  edited(about: Edited, came: Redrafted): Wish | undefined {
    const item = this.#items.find(about.plan)
    if (item?.type !== 'plan') return undefined
    if (came.type === 'failed') this.#say(came.why, 'error')
    if (came.type === 'unchanged') this.#say('Nothing was changed in the editor, so that nothing was done.')
    if (came.type !== 'text') return undefined
    if (about.type === 'hunk') {
      const why = item.deciding?.edited(about.piece, came.text)
      if (why !== undefined) this.#say(why, 'error')
      return undefined
    }
    const given = editedArguments(item.plan, came.text)
    if (typeof given !== 'string') return send([item], [given], DID.edit)
    this.#say(given, 'error')
    return undefined
  }

  #write(key: Key): Wish | undefined {
    const input = this.#input
    const came = input?.line.press(key)
    if (came === undefined || came.type === 'written') return undefined
    this.#input = undefined
    return came.type === 'entered' ? input?.enter(came.text) : undefined
  }

  #ask(prompt: string, enter: (text: string) => Wish | undefined): undefined {
    this.#input = { line: new LineInput(prompt), enter }
  }

  #turn(key: string, counts: boolean): Wish | undefined {
    switch (key) {
      case 'ctrl-c':
      case 'ctrl-d':
        return { type: 'leave' }
      case 'ctrl-z':
        return { type: 'suspend' }
      default:
        return this.#inView(key, counts)
    }
  }

  #inView(key: string, counts: boolean): Wish | undefined {
    const view = this.#view
    const { shown } = view
    if (shown.type === 'withdrawn') {
      // Only keys with which nobody answers: the others may have been meant for what was withdrawn.
      if (key === 'enter' || key === 'escape' || key === 'tab') view.withdrawn = undefined
      return undefined
    }
    if (shown.type === 'help' || shown.type === 'history') return this.#inOverlay(key)
    if (counts) {
      const answer = this.#answer(shown, key)
      if (answer !== 'no answer') return answer
    }
    return this.#look(shown, key)
  }

  #inOverlay(key: string): undefined {
    const view = this.#view
    if (['q', 'escape', '?', 'h'].includes(key)) view.over = undefined
    else scroll(view.sheet(), key, view.page)
  }

  /** What needs no leave: it changes only what is looked at. */
  #look(shown: Shown, key: string): Wish | undefined {
    const view = this.#view
    const isAside = shown.type === 'turn' || shown.type === 'grant'
    if (isAside && (key === 'escape' || key === 'n' || key === 'q')) view.leave()
    else if (key === 'q') return { type: 'leave' }
    else if (key === '?') view.over = 'help'
    else if (key === 'h') view.over = 'history'
    else if (key === '/') this.#ask('/', text => this.#search(text))
    else if (key === 'tab' || key === 'shift-tab') this.#go(() => this.#items.go(key === 'tab' ? 1 : -1))
    else if (/^[1-9]$/.test(key) && shown.type !== 'grant')
      this.#go(() => void this.#items.choose(Number(key) - 1))
    else if ('jkJK'.includes(key)) this.#next(shown, key)
    else scroll(view.sheet(), key, view.page)
    return undefined
  }

  #go(move: () => void): void {
    this.#view.leave()
    move()
  }

  #next(shown: Shown, key: string): void {
    const by = key.toLowerCase() === 'j' ? 1 : -1
    if (shown.type !== 'hunk' && shown.type !== 'hunks') {
      this.#go(() => this.#items.go(by))
      return
    }
    const undecided = key === 'j' || (key === 'k' && shown.type === 'hunk')
    if (shown.item.deciding?.go(by, { undecided }) !== true)
      this.#say(
        undecided
          ? `No hunk ${by === 1 ? 'behind' : 'before'} this one is undecided.`
          : 'There is no other hunk.',
      )
  }

  #search(text: string): undefined {
    const sheet = this.#view.sheet()
    this.#sought = text === '' ? this.#sought : text
    if (this.#sought === '') return
    sheet.seek(this.#sought)
    if (!sheet.search(this.#sought, 1)) this.#say(`${this.#sought}: not found below`)
  }

  #answer(shown: Shown, key: string): Wish | undefined | 'no answer' {
    switch (shown.type) {
      case 'plan':
        return this.#answerPlan(shown.item, key)
      case 'hunk':
        return shown.item.deciding === undefined
          ? 'no answer'
          : this.#answerHunk(shown.item, shown.item.deciding, key)
      case 'hunks':
        return this.#answerHunks(shown.item, key)
      case 'turn':
        return this.#answerTurn(shown.items, key)
      case 'grant':
        return this.#answerGrant(shown.item, key)
      case 'seat':
        if (key !== 'y' && key !== 'n') return 'no answer'
        this.#items.remove(shown.id)
        return { type: 'admit', wanted: shown.id, admit: key === 'y' }
      case 'trouble':
        if (key !== 'y' && key !== 'n') return 'no answer'
        this.#items.remove('trouble')
        return key === 'y' ? { type: 'acknowledge' } : undefined
      default:
        return 'no answer'
    }
  }

  #answerPlan(item: PlanItem, key: string): Wish | undefined | 'no answer' {
    const { plan } = item
    switch (key) {
      case 'y':
        return item.seen ? send([item], [answer(item, 'approve')], DID.approve) : this.#notSeen()
      case 'n':
        return this.#ask('Why not? ', reason => deny([item], reason))
      case 'a':
        return this.#askTurn(this.#items.turn(plan.turn))
      case 'd':
        return this.#denyTurn(this.#items.turn(plan.turn))
      case 'g':
        if (plan.grants.length === 0) this.#say('Nothing of this kind can be let through without asking.')
        else if (!item.seen) return this.#notSeen()
        else this.#view.grantFor = item
        return undefined
      case 'e': {
        const text = argumentsIn(plan)
        if (text !== undefined)
          return { type: 'edit', text, about: { type: 'arguments', plan: plan.id, suffix: '.json' } }
        this.#say('There are no arguments to edit.')
        return undefined
      }
      case 's':
        this.#say('This is taken or left as a whole: it has no hunks.')
        return undefined
      default:
        return 'no answer'
    }
  }

  #answerHunk(item: PlanItem, deciding: Deciding, key: string): Wish | undefined | 'no answer' {
    const refuse = (text: string): Decision => ({ type: 'refuse', reason: text === '' ? null : text })
    switch (key) {
      case 'y':
        if (deciding.piece?.seen !== true) return this.#notSeen()
        deciding.decide({ type: 'accept' })
        return undefined
      case 'n':
        return this.#ask('Why not this hunk? ', text => void deciding.decide(refuse(text)))
      case 'a':
        deciding.decideFile({ type: 'accept' })
        return undefined
      case 'd':
        return this.#ask('Why not these hunks? ', text => void deciding.decideFile(refuse(text)))
      case 'e': {
        const about = { type: 'hunk', plan: item.id, piece: deciding.at, suffix: '.diff' } as const
        return { type: 'edit', text: deciding.patch, about }
      }
      case 's': {
        const parts = deciding.split()
        this.#say(parts === 1 ? 'This hunk cannot be split any further.' : `It is ${parts} hunks now.`)
        return undefined
      }
      case 'g':
        this.#say('Take or leave these hunks first: a grant is for plans that are approved as a whole.')
        return undefined
      default:
        return 'no answer'
    }
  }

  #answerHunks(item: PlanItem, key: string): Wish | undefined | 'no answer' {
    if (key === 'n') {
      item.deciding?.go(-1, { undecided: false })
      this.#say('Nothing was sent. Decide anew what you like: J and K go through all hunks.')
      return undefined
    }
    if (key !== 'y' || item.deciding === undefined) return 'no answer'
    if (!this.#view.sheet().seen) return this.#notSeen()
    const choices = item.deciding.choices()
    const taken = choices.filter(({ decision }) => decision !== 'refuse').length
    const did = DID.choose(taken, choices.length)
    return send([item], [{ ...answer(item, 'choose'), choices }], did)
  }

  #askTurn(items: readonly PlanItem[]): undefined {
    if (items.length < 2) this.#say('It is the only plan of its turn: y approves it.')
    else this.#view.turn = items
  }

  #answerTurn(items: readonly PlanItem[], key: string): Wish | undefined | 'no answer' {
    if (key === 'd') return this.#denyTurn(items)
    if (key !== 'y') return 'no answer'
    if (!this.#view.sheet().seen) return this.#notSeen()
    this.#view.leave()
    return send(
      items,
      items.map(item => answer(item, 'approve')),
      DID.approve,
    )
  }

  #denyTurn(items: readonly PlanItem[]): undefined {
    const prompt = items.length === 1 ? 'Why not? ' : `Why none of these ${items.length}? `
    return this.#ask(prompt, reason => {
      this.#view.leave()
      return deny(items, reason)
    })
  }

  #answerGrant(item: PlanItem, key: string): Wish | undefined | 'no answer' {
    const grant = item.plan.grants[Number(key) - 1]
    if (grant === undefined) return 'no answer'
    this.#view.leave()
    return send([item], [{ ...answer(item, 'approve'), grant }], DID.grant(grant))
  }

  #notSeen(): undefined {
    this.#say('Not all of it was on the screen yet: space goes on, G goes to its end.', 'failure')
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
