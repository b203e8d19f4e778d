import type { Methods, PlanRow, SeatEvent, SeatRow } from '../front/protocol.ts'
import { Client, type Fault, type State } from './client.ts'
import { Rows, type RowsEvent, type Topic } from './rows.ts'

export type Waiting = Extract<PlanRow, { state: 'waits' }>
export type Ended = Extract<PlanRow, { state: 'ended' }>
export type Envelope = Methods['call']['result']

/** Whether this page may answer. `said`: why it does not, or no more. */
export type Seat =
  | { readonly type: 'none'; readonly said: string | null }
  | { readonly type: 'asking'; readonly code: string | null; readonly seats: readonly SeatRow[] }
  | { readonly type: 'seated'; readonly seat: string; readonly who: string; readonly trouble: string | null }

/** Code wants a line of input. */
export interface Question {
  readonly prompt: string
  readonly secret: boolean
  answer(text: string | undefined): void
}

/** Names of views, in the order of their keys. */
export const VIEWS = ['waits', 'errors', 'programs', 'expression', 'journal', 'runs'] as const
export type View = (typeof VIEWS)[number]

const MAIN: readonly Topic[] = ['kernels', 'approvals', 'suspensions', 'errors', 'calls']

/** Rows are drawn at most so often, in milliseconds. */
const DRAW_MS = 100

/** In this tab alone, so that it comes back after it was loaded again. */
const kept = {
  get: (name: string) => sessionStorage.getItem(`imago.${name}`) ?? undefined,
  set: (name: string, value: string) => sessionStorage.setItem(`imago.${name}`, value),
  drop: (name: string) => sessionStorage.removeItem(`imago.${name}`),
}

/** What lets this page in: of the address, which is forgotten at once, or of this tab. */
export function credentialHere(): { readonly root: string; readonly credential: string } | undefined {
  const given = new URLSearchParams(location.hash.slice(1))
  if (location.hash !== '') history.replaceState(null, '', location.pathname)
  const [token, root] = [given.get('token'), given.get('root')]
  if (token !== null && root !== null) {
    kept.drop('secret')
    kept.drop('resume')
    return { credential: token, root }
  }
  const [secret, of] = [kept.get('secret'), kept.get('root')]
  return secret === undefined || of === undefined ? undefined : { credential: secret, root: of }
}

/** One tab: its connection, the rows, its seat, and which view is shown. */
export class Page {
  readonly root: string
  readonly rows = new Rows()
  readonly client: Client
  readonly #draw: () => void
  state: State = 'connecting'
  /** Why it is closed. */
  why = ''
  seat: Seat = { type: 'none', said: null }
  view: View = 'waits'
  /** The plan that a person has opened. */
  opened: string | undefined
  question: Question | undefined
  /** What was just done, or went wrong: read aloud. */
  news = ''
  #leave: (() => void) | undefined
  #seatRows: (() => void) | undefined
  #drawn: ReturnType<typeof setTimeout> | undefined
  /** Of the last event that was heard. */
  #rev: string | undefined

  constructor({ root, credential, draw }: { root: string; credential: string; draw(): void }) {
    this.root = root
    this.#draw = draw
    this.client = new Client({
      root,
      credential,
      kept(secret) {
        kept.set('secret', secret)
        kept.set('root', root)
      },
      changed: (state, why = '') => this.#changed(state, why),
      ask: (prompt, secret) => this.#ask(prompt, secret),
    })
  }

  /** Something that a person did has changed it. */
  draw(): void {
    this.#draw()
  }

  show(view: View): void {
    this.view = view
    this.draw()
  }

  say(news: string): void {
    this.news = news
    this.draw()
  }

  open(plan: string | undefined): void {
    this.opened = plan
    if (plan !== undefined && this.seat.type === 'none') this.sit()
    this.draw()
  }

  /** Plans, evaluations and programs that wait for a person. */
  get waiting(): number {
    const plans = this.rows.of('approvals').filter(({ state }) => state !== 'ended').length
    return plans + this.wanted.length
  }

  get plans(): readonly Waiting[] {
    return this.rows.of('approvals').filter(row => row.state === 'waits')
  }

  get ends(): readonly Ended[] {
    return this.rows
      .of('approvals')
      .filter(row => row.state === 'ended')
      .reverse()
  }

  /** Those who want to sit, too, and have to be let in. */
  get wanted() {
    return this.rows.of('seats').flatMap(row => ('id' in row && row.why === null ? [row] : []))
  }

  call(tool: string, args: object): Promise<Envelope> {
    return this.client.request('call', { tool, args, call: crypto.randomUUID() })
  }

  /** Leaves the seat, or asks for none any more. */
  leave(): void {
    this.#leave?.()
  }

  /** What is wrong with the journal. */
  acknowledge(): void {
    this.client.request('acknowledge', {}).then(
      () => {
        if (this.seat.type === 'seated') this.seat = { ...this.seat, trouble: null }
        this.draw()
      },
      error => this.say(error.message),
    )
  }

  sit(): void {
    const resume = kept.get('resume')
    kept.drop('resume')
    this.seat = { type: 'asking', code: null, seats: [] }
    const asked = { through: browserName(), ...(resume !== undefined && { resume }) }
    const { answer, cancel } = this.client.call('sit', asked, (event: SeatEvent) => this.#seated(event))
    this.#leave = cancel
    const over = (said: string | null) => {
      kept.drop('resume')
      this.seat = { type: 'none', said }
      this.draw()
    }
    answer.then(
      () => over(null),
      (error: Fault) => {
        if (error.code !== 'lost') over([error.message, error.next ?? ''].join(' '))
      },
    )
    this.draw()
  }

  #seated(event: SeatEvent): void {
    if (event.type === 'asked') this.seat = { type: 'asking', code: event.code ?? null, seats: event.seats }
    else {
      const { seat, who, trouble, resume } = event
      if (resume !== undefined) kept.set('resume', resume)
      this.seat = { type: 'seated', seat, who, trouble }
      // Who else wants a seat is told to those who sit.
      this.#followSeats()
    }
    this.draw()
  }

  #changed(state: State, why: string): void {
    // The client is being made.
    if (this.client !== undefined && state === 'open') this.#follow()
    if (state === 'lost' && this.seat.type !== 'none') this.seat = { type: 'none', said: null }
    if (state === 'closed') kept.drop('secret')
    this.state = state
    this.why = why
    this.draw()
  }

  #follow(): void {
    const params = { topics: [...MAIN], ...(this.#rev !== undefined && { since: this.#rev }) }
    const heard = (event: RowsEvent) => {
      this.#rev = event.rev
      this.#take(event, MAIN)
    }
    this.#failing(this.client.call('subscribe', params, heard).answer)
    this.#followSeats()
    if (kept.get('resume') !== undefined) this.sit()
  }

  #followSeats(): void {
    this.#seatRows?.()
    const heard = (event: RowsEvent) => this.#take(event, ['seats'])
    const { answer, cancel } = this.client.call('subscribe', { topics: ['seats'] }, heard)
    this.#seatRows = cancel
    this.#failing(answer)
  }

  #failing(answer: Promise<unknown>): void {
    answer.catch((error: Fault) => {
      if (error.code !== 'lost') this.say(error.message)
    })
  }

  #take(event: RowsEvent, topics: readonly Topic[]): void {
    this.rows.take(event, topics)
    this.drawSoon()
  }

  /** Something of the daemon's has changed it: drawn with what else comes now. */
  drawSoon(): void {
    this.#drawn ??= setTimeout(() => {
      this.#drawn = undefined
      this.#draw()
    }, DRAW_MS)
  }

  #ask(prompt: string, secret: boolean): Promise<string> {
    return new Promise((resolve, reject) => {
      this.question = {
        prompt,
        secret,
        answer: text => {
          this.question = undefined
          this.draw()
          if (text === undefined) reject(new Error('The person gives no input.'))
          else resolve(text)
        },
      }
      this.draw()
    })
  }
}

/** As people call it; nothing depends on it. */
function browserName(): string {
  const [, name = 'A browser'] = /(Firefox|Edg|Chrom\w+|Safari)\/\d/.exec(navigator.userAgent) ?? []
  return `Imago in ${name}`
}
