import type { Methods, SeatEvent, SeatWanted, TopicRows } from '../front/protocol.ts'
import { Client, Fault, OVER, type State } from './client.ts'

type Topic = keyof TopicRows
export type Envelope = Methods['call']['result']

interface Row {
  readonly topic: Topic
  readonly key: string
  readonly value: never
}

/** Whether this page may answer, as a sentence. */
export interface Seat {
  readonly type: 'none' | 'asking' | 'seated'
  readonly said: string
}

/** Code wants a line of input. */
export interface Question {
  readonly prompt: string
  readonly secret: boolean
  answer(text: string | undefined): void
}

export type View = 'Waits' | 'Errors' | 'Programs' | 'Expression' | 'Journal' | 'Runs'

const TOPICS: readonly Topic[] = ['kernels', 'programs', 'approvals', 'errors', 'calls', 'seats', 'runs']

/** How long rows that change are drawn late, and what depends on them is asked for again, at most; in milliseconds. */
const [DRAW_MS, AGAIN_MS] = [200, 1_000]

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
  if (given.has('token')) for (const name of ['secret', 'resume']) kept.drop(name)
  const credential = given.get('token') ?? kept.get('secret')
  const root = given.get('root') ?? kept.get('root')
  return credential === undefined || root === undefined ? undefined : { credential, root }
}

/** One tab: its connection, the rows that the daemon has told, its seat, and what is shown. */
export class Page {
  readonly root: string
  readonly client: Client
  readonly draw: () => void
  /** Of what comes often: drawn with what else comes now. */
  readonly drawSoon: () => void
  readonly #againSoon: () => void
  readonly #rows = new Map<Topic, Map<string, never>>()
  state: State = 'connecting'
  /** Why it is closed. */
  why = ''
  seat: Seat = { type: 'none', said: 'You need a seat to see and answer plans.' }
  view: View = 'Waits'
  /** The key of the row that a person has opened. */
  opened: string | undefined
  question: Question | undefined
  /** What was just done, or went wrong: read aloud, and there until something else is opened. */
  news = ''
  /** Another number where what was asked for may not be so any more. */
  turn = 0
  /** Leaves the seat, or asks for none any more. */
  leave = () => {}
  #unfollow = () => {}
  /** The call that takes a change back, until its plan comes. */
  #undoes: string | undefined

  constructor({ root, credential, draw }: { root: string; credential: string; draw(): void }) {
    this.root = root
    this.draw = draw
    this.drawSoon = throttle(DRAW_MS, draw)
    this.#againSoon = throttle(AGAIN_MS, () => this.again())
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

  /** `heard`: when the row came, in milliseconds since 1970. */
  rows<T extends Topic>(topic: T): readonly (TopicRows[T] & { readonly heard: number })[] {
    return [...(this.#rows.get(topic)?.values() ?? [])]
  }

  /** Those who want to sit, too, and have to be let in. */
  get wanted(): readonly SeatWanted[] {
    return this.rows('seats').flatMap(row => ('id' in row && row.why === null ? [row] : []))
  }

  /** How much waits for a person. */
  get waiting(): number {
    return this.rows('approvals').filter(({ state }) => state !== 'ended').length + this.wanted.length
  }

  show(view: View): void {
    this.view = view
    this.open(undefined)
  }

  open(key: string | undefined): void {
    this.opened = key
    this.say('')
  }

  again(): void {
    this.turn++
    this.draw()
  }

  say(news: string): void {
    this.news = news
    this.again()
  }

  /** Says what came of something that a person has done. */
  act<Result>(doing: Promise<Result>, said: (result: Result) => string): void {
    doing.then(said, (fault: Fault) => `${fault.message} ${fault.next}`).then(news => this.say(news))
  }

  /** Takes back a change. Where that needs a yes, its plan is opened. */
  undo(change: string): void {
    this.#undoes = crypto.randomUUID()
    this.act(this.tool('undo_change', { change }, this.#undoes), () => `${change} is undone.`)
  }

  call(tool: string, args: object, call: string = crypto.randomUUID()): Promise<Envelope> {
    return this.client.request('call', { tool, args, call })
  }

  /** What a tool answers, as a value; rejects with the fault that it answers, whose next step is meant for a model. */
  async tool<Result>(tool: string, args: object, call?: string): Promise<Result> {
    const envelope = await this.call(tool, args, call)
    if (!envelope.ok) throw new Fault(envelope.error)
    return envelope.result as Result
  }

  /** The text of what a tool answers, without the next step of a fault: that is meant for a model. */
  async text(tool: string, envelope: Envelope): Promise<string> {
    const told = envelope.ok ? envelope : { ...envelope, error: { ...envelope.error, next: null } }
    return (await this.client.request('show', { tool, envelope: told })).text
  }

  sit(): void {
    if (this.seat.type !== 'none') return
    const resume = kept.get('resume')
    kept.drop('resume')
    this.#sat('asking', 'Asking for a seat …')
    const [browser = 'a browser'] = /Firefox|Edg|Chrom\w+|Safari/.exec(navigator.userAgent) ?? []
    const asked = { through: `Imago in ${browser}`, ...(resume !== undefined && { resume }) }
    const { answer, cancel } = this.client.call('sit', asked, (event: SeatEvent) => this.#seated(event))
    this.leave = cancel
    const over = (said: string) => {
      kept.drop('resume')
      this.#sat('none', said)
    }
    answer.then(
      () => over('This page has left its seat.'),
      ({ code, message, next }: Fault) => code !== 'lost' && over(`${message} ${next}`),
    )
  }

  #sat(type: Seat['type'], said: string): void {
    this.seat = { type, said }
    this.draw()
  }

  #seated(event: SeatEvent): void {
    if (event.type === 'asked') {
      const names = event.seats.map(({ who }) => who).join('; ')
      const by =
        names && `say yes where somebody sits (${names}; Neovim: :Imago sit, Emacs: M-x imago-admit), or `
      const code = `imago seat ${event.code} (it asks there: y, then Enter)`
      this.#sat('asking', `Within a minute, ${by}type in a terminal: ${code}`)
    } else {
      if (event.resume !== undefined) kept.set('resume', event.resume)
      this.#sat('seated', `You sit here, as ${event.seat}. ${event.trouble ?? ''}`)
      // Who else wants a seat is told to those who sit.
      this.#follow()
    }
  }

  #changed(state: State, why: string): void {
    this.state = state
    this.why = why
    if (state === 'lost') this.seat = { type: 'none', said: 'The seat of this page is lost.' }
    if (why === OVER) kept.drop('secret')
    if (state === 'open') {
      this.#follow()
      if (kept.get('resume') !== undefined) this.sit()
    }
    this.again()
  }

  #follow(): void {
    this.#unfollow()
    const { answer, cancel } = this.client.call('subscribe', { topics: [...TOPICS] }, event =>
      this.#take(event),
    )
    this.#unfollow = cancel
    answer.catch((fault: Fault) => fault.code !== 'lost' && this.say(fault.message))
  }

  /** A snapshot has all rows; what is not in it has gone. */
  #take(event: { readonly snapshot: readonly Row[] } | { readonly changes: readonly Row[] }): void {
    const isWhole = 'snapshot' in event
    if (isWhole) this.#rows.clear()
    for (const { topic, key, value } of isWhole ? event.snapshot : event.changes) {
      const rows = this.#rows.get(topic) ?? new Map<string, never>()
      this.#rows.set(topic, rows)
      if (value === null) rows.delete(key)
      else rows.set(key, { ...(value as object), heard: Date.now() } as never)
    }
    const plan = this.rows('calls').find(({ call }) => call === this.#undoes)?.plan
    if (plan != null) {
      this.#undoes = undefined
      this.open(plan)
    }
    this.drawSoon()
    this.#againSoon()
  }

  #ask(prompt: string, secret: boolean): Promise<string> {
    return new Promise((resolve, reject) => {
      const answer = (text: string | undefined) => {
        this.question = undefined
        this.draw()
        if (text === undefined) reject(new Error('The person gives no input.'))
        else resolve(text)
      }
      this.question = { prompt, secret, answer }
      this.draw()
    })
  }
}

/** Calls of it within so many milliseconds become one. */
function throttle(ms: number, act: () => void): () => void {
  let isMeant = false
  const now = () => {
    isMeant = false
    act()
  }
  return () => {
    if (!isMeant) setTimeout(now, ms)
    isMeant = true
  }
}
