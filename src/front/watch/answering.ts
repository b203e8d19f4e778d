import type { Key } from '../console/keys.ts'
import type { Look } from '../console/style.ts'
import type { Redrafted } from '../person-editor.ts'
import { AnswerKeys } from './answer-keys.ts'
import { DID, editedArguments, send } from './answers.ts'
import type { Items } from './items.ts'
import { type Enters, LineInput } from './line-input.ts'
import { scroll } from './scrolling.ts'
import type { Shown, View } from './view.ts'
import type { Edited, Wish } from './wishes.ts'

export interface AnsweringOptions {
  readonly items: Items
  readonly view: View
  /** It can be left and come back to, with all that was decided. */
  readonly page: boolean
  say(text: string, look?: Look): void
}

/** What the keys do. A key that answers is taken only where it counts; any other one is taken at once. */
export class Answering {
  readonly #items: Items
  readonly #view: View
  readonly #say: (text: string, look?: Look) => void
  readonly #answers: AnswerKeys
  readonly #page: boolean
  #input: { readonly line: LineInput; enter(text: string): Wish | undefined } | undefined
  #sought = ''

  constructor({ items, view, page, say }: AnsweringOptions) {
    this.#page = page
    this.#items = items
    this.#view = view
    this.#say = say
    this.#answers = new AnswerKeys({ items, view, say, ask: (...asked) => this.#ask(...asked) })
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
    switch (key) {
      case 'ctrl-c':
      case 'ctrl-d':
        return this.#leave()
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
    if (shown.type === 'standing') return this.#inStanding(key)
    if (shown.type === 'leaving') return this.#inLeaving(key, counts)
    if (counts) {
      const answer = this.#answers.press(shown, key)
      if (answer !== 'no answer') return answer
    }
    return this.#look(shown, key)
  }

  #inOverlay(key: string): undefined {
    const view = this.#view
    if (['q', 'escape', '?', 'h'].includes(key)) view.over = undefined
    else scroll(view.sheet(), key, view.page)
  }

  /** What is decided and not sent is not given up without a word. */
  #leave(): Wish | undefined {
    if (this.#view.over === 'leaving' || this.#page || this.#items.unsent === 0) return { type: 'leave' }
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
  #look(shown: Shown, key: string): Wish | undefined {
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
}
