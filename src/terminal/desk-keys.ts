import type { SeatAnswer } from '../approvals/contract.ts'
import type { Decisions } from '../front/hunks/decisions.ts'
import type { Decision } from '../front/hunks/patch.ts'
import { argumentsDraft, type DraftResult, readArguments } from '../front/person-editor.ts'
import {
  type AnswerWords,
  type EditSubject,
  type Items,
  letThrough,
  type PlanItem,
  type Wish,
} from './desk-items.ts'
import type { Scene, View } from './desk-view.ts'
import type { Look } from './layout.ts'
import { type Enters, LineInput } from './line.ts'
import type { Key } from './tty.ts'

interface DeskKeysOptions {
  readonly items: Items
  readonly view: View
  say(text: string, look?: Look): void
}

/** What came of a key: a wish, nothing more to be done, or that it is no answer to what is shown. */
type KeyAnswer = Wish | undefined | 'no answer'

/** A plan whose hunks are decided one by one. */
interface Hunks {
  readonly item: PlanItem
  readonly deciding: Decisions
}

/** What the keys do. A key that answers is taken only where it counts; any other one is taken at once. */
export class DeskKeys {
  readonly #items: Items
  readonly #view: View
  readonly #say: (text: string, look?: Look) => void
  #input: { readonly line: LineInput; enter(text: string): Wish | undefined } | undefined
  #sought = ''

  constructor({ items, view, say }: DeskKeysOptions) {
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

  edited(about: EditSubject, came: DraftResult): Wish | undefined {
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
    const given = editedArguments(item, came.text)
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

  #ask(prompt: string, enter: (text: string) => Wish | undefined, enters?: Enters): undefined {
    this.#input = { line: new LineInput(prompt, enters), enter }
  }

  #turn(key: string, counts: boolean): Wish | undefined {
    if (key === 'ctrl-c' || key === 'ctrl-d') return this.#leave()
    const view = this.#view
    const { shown } = view
    if (shown.type === 'withdrawn') {
      // Only keys with which nobody answers: the others may have been meant for what was withdrawn.
      if (key === 'enter' || key === 'escape' || key === 'tab') view.withdrawn = undefined
      return undefined
    }
    if (shown.type === 'help' || shown.type === 'history') return this.#inOverlay(key)
    if (shown.type === 'standing') return this.#inStanding(key)
    if (shown.type === 'leaving') return this.#inLeaving(key, counts)
    if (counts) {
      const answer = this.#answer(shown, key)
      if (answer !== 'no answer') return answer
    }
    return this.#look(shown, key)
  }

  #inOverlay(key: string): undefined {
    const view = this.#view
    if (['q', 'escape', '?', 'h'].includes(key)) view.over = undefined
    else view.sheet().scroll(key)
  }

  /** What is decided and not sent is not given up without a word. */
  #leave(): Wish | undefined {
    if (this.#view.over === 'leaving' || this.#view.isPage || this.#items.unsent === 0)
      return { type: 'leave' }
    this.drop()
    this.#view.over = 'leaving'
    return undefined
  }

  #inLeaving(key: string, counts: boolean): Wish | undefined {
    if (key === 'y' && counts) return { type: 'leave' }
    if (key === 'n' || key === 'escape' || key === 'q') this.#view.over = undefined
    return undefined
  }

  /** Taking back needs no leave either: it makes nothing possible. */
  #inStanding(key: string): Wish | undefined {
    const { standing } = this.#view
    const grant = standing?.grants[Number(key) - 1]
    if (grant !== undefined) return { type: 'revoke', grant: grant.id }
    if (key === 'l' && standing !== undefined && standing.pauses.length > 0) return { type: 'lift' }
    if (key === 'r') this.#view.over = undefined
    else this.#inOverlay(key)
    return undefined
  }

  /** What needs no leave: it changes only what is looked at. */
  #look(shown: Scene, key: string): Wish | undefined {
    const view = this.#view
    const isAside = shown.type === 'turn' || shown.type === 'grant'
    if (isAside && (key === 'escape' || key === 'n' || key === 'q')) view.leave()
    else if (key === 'q') return this.#leave()
    else if (key === '?') view.over = 'help'
    else if (key === 'h') view.over = 'history'
    else if (key === 'r') {
      view.over = 'standing'
      return { type: 'look' }
    } else if (key === '/') this.#ask('/', text => this.#search(text), 'searches')
    else if (key === 'tab' || key === 'shift-tab') this.#go(() => this.#items.go(key === 'tab' ? 1 : -1))
    else if (/^[1-9]$/.test(key) && shown.type !== 'grant')
      this.#go(() => this.#items.choose(Number(key) - 1))
    else if ('jkJK'.includes(key)) this.#next(shown, key)
    else view.sheet().scroll(key)
    return undefined
  }

  #go(move: () => void): void {
    this.#view.leave()
    move()
  }

  #next(shown: Scene, key: string): void {
    const by = key.toLowerCase() === 'j' ? 1 : -1
    if (shown.type !== 'hunk' && shown.type !== 'hunks') {
      this.#go(() => this.#items.go(by))
      return
    }
    const undecided = key === 'j' || (key === 'k' && shown.type === 'hunk')
    if (!shown.deciding.go(by, { undecided }))
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
    if (!sheet.find(this.#sought)) this.#say(`${this.#sought}: not found below`)
  }

  /** Answers what is shown, with the keys of `git add -p`. */
  #answer(shown: Scene, key: string): KeyAnswer {
    switch (shown.type) {
      case 'plan':
        return this.#answerPlan(shown.item, key)
      case 'hunk':
        return this.#answerHunk(shown, key)
      case 'hunks':
        return this.#answerHunks(shown, key)
      case 'turn':
        return this.#answerTurn(shown.items, key)
      case 'grant':
        return this.#answerGrant(shown.item, key)
      case 'seat':
        if (key !== 'y' && key !== 'n') return 'no answer'
        this.#items.remove(shown.seat.id)
        return { type: 'admit', wanted: shown.seat.id, admit: key === 'y' }
      case 'trouble':
        if (key !== 'y' && key !== 'n') return 'no answer'
        this.#items.remove('trouble')
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
        const text = argumentsIn(item)
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

  #answerHunk({ item, deciding }: Hunks, key: string): KeyAnswer {
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
        this.#say(parts === 1 ? 'This hunk cannot be split any further.' : `It is ${parts} parts now.`)
        return undefined
      }
      case 'g':
        this.#say('There is no grant for a plan with hunks: it is for those that are approved as a whole.')
        return undefined
      default:
        return 'no answer'
    }
  }

  /** A reason that is sent with all the others, and not before. */
  #decision(prompt: string, enter: (reason: string) => void): undefined {
    return this.#ask(prompt, reason => void enter(reason), 'takes it')
  }

  #answerHunks({ item, deciding }: Hunks, key: string): KeyAnswer {
    if (key === 'n') {
      deciding.go(-1, { undecided: false })
      this.#say('Nothing was sent. Decide anew what you like: J and K go through all hunks.')
      return undefined
    }
    if (key !== 'y') return 'no answer'
    if (!this.#view.sheet().seen) return this.#notSeen()
    const { taken, pieces } = deciding.tally
    return send(
      [item],
      [{ ...answer(item, 'choose'), choices: deciding.choices() }],
      DID.choose(taken, pieces),
    )
  }

  #askTurn(items: readonly PlanItem[]): undefined {
    if (items.length < 2) this.#say('It is the only plan of its turn: y approves it.')
    else this.#view.turn = items
  }

  #answerTurn(items: readonly PlanItem[], key: string): KeyAnswer {
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

  #answerGrant(item: PlanItem, key: string): KeyAnswer {
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

/** What is said of an answer while it is on its way, and afterwards. */
const DID = {
  approve: { now: 'approving', past: 'approved', look: 'good' },
  deny: { now: 'denying', past: 'denied', look: 'failure' },
  edit: {
    now: 'asking for it with your arguments',
    past: 'goes back with your arguments, and comes as another plan',
    look: 'good',
  },
  choose: (taken: number, of: number): AnswerWords =>
    taken === 0
      ? { now: 'denying', past: 'denied, hunk by hunk', look: 'failure' }
      : {
          now: 'approving',
          past: taken === of ? 'approved' : `${taken} of ${of} hunks approved`,
          look: 'good',
        },
  grant: (pattern: string): AnswerWords => ({
    now: 'approving',
    past: `approved; ${letThrough(pattern)}, until this seat is left`,
    look: 'good',
  }),
} as const

/** Marks the plans as answered, which holds until `Desk.answered` says what became of that. */
function send(items: readonly PlanItem[], answers: readonly SeatAnswer[], did: AnswerWords): Wish {
  for (const item of items) item.sent = did
  return { type: 'answer', answers }
}

/** The arguments as a person edits them, or goes on editing them; undefined where there are none. */
const argumentsIn = ({ plan, draft }: PlanItem): string | undefined =>
  plan.args === null ? undefined : (draft ?? argumentsDraft(plan.args))

/** A sentence where what was written is no arguments; then it is kept, to be gone on with. */
function editedArguments(item: PlanItem, text: string): SeatAnswer | string {
  const read = readArguments(text)
  if (read.type === 'bad') item.draft = read.draft
  else delete item.draft
  const { id, hash } = item.plan
  return read.type === 'bad' ? read.why : { plan: id, hash, decision: 'edit', args: read.args }
}
