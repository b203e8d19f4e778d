import { messageOf } from '../errors.ts'
import type { NewsOf, Stream } from '../kernel.ts'
import type { SwankConnection } from '../swank/connection.ts'
import { type Form, type Sexp, symbol } from '../swank/sexp.ts'
import { parseAnswer } from './answers.ts'
import type { Turn, Turns } from './swank-evaluations.ts'
import { type Entered, formOf, type Said, said, type Told, toldOf } from './swank-messages.ts'
import type { Suspended } from './swank-suspended.ts'

/** How often one evaluation is helped out of Swank's debugger: its cleanup forms may fail anew each time. */
const RELEASES = 20

/** Questions of one image that may wait for an answer at once; one more is refused. */
const QUESTIONS = 16

interface HearingOptions {
  /** For messages: the name of the kernel. */
  readonly name: string
  readonly connection: Pick<SwankConnection, 'rex' | 'send'>
  readonly turns: Turns
  readonly suspended: Suspended
  news(of: NewsOf): void
  /** Output that belongs to no evaluation. */
  background?: ((stream: Stream, text: string) => void) | undefined
}

/** Takes what an image says unasked to the evaluation that it is about. */
export class Inbox {
  readonly #options: HearingOptions
  /** That wait for an answer. */
  #questions = 0
  /** Levels of the debugger that were told of and left to a person, as `thread.level`. */
  readonly #left = new Set<string>()

  constructor(options: HearingOptions) {
    this.#options = options
  }

  hear(message: Sexp): void {
    const heard = said(message)
    switch (heard.type) {
      case 'told':
        this.#told(heard.json)
        break
      case 'entered':
        this.#entered(heard)
        break
      case 'asked':
        void this.#asked(heard)
        break
      case 'other':
        break
      default:
        heard satisfies never
    }
  }

  /** A message of our own code. What is not of the agreed form is the fault of the evaluation that it is about. */
  #told(json: string): void {
    const { name, turns, suspended } = this.#options
    const message = parsed(json)
    const of = toldOf.safeParse(message)
    const turn = of.success ? turns.find(of.data.call) : turns.running
    try {
      const heard = parseAnswer(formOf(message), message, `What ${name} said of an evaluation`)
      if (heard.type === 'ended') suspended.end(heard.ended)
      else if (heard.type === 'news') this.#options.news(heard.news)
      else if (turn === undefined || turn.state !== 'running') this.#late(heard)
      else this.#ofTurn(turn, heard)
    } catch (error) {
      if (turn === undefined) return
      turn.fault ??= error
      // It may not be answered for a long time.
      if (of.success && of.data.suspended !== undefined) turn.suspend(Promise.reject(error))
    }
  }

  #ofTurn(turn: Turn, heard: Exclude<Told, { type: 'ended' | 'news' }>): void {
    switch (heard.type) {
      case 'started':
        turn.thread = heard.started.thread
        break
      case 'event':
        turn.hear(heard.event)
        break
      case 'exits':
        turn.exits = heard.exits
        break
      case 'suspended':
        this.#options.suspended.hear(turn, heard.suspended)
        break
      case 'ask':
        void this.#answer(turn, { ...heard.ask, refusal: '' })
        break
      default:
        heard satisfies never
    }
  }

  /** What threads that an evaluation has left behind print after its end, or what nobody here asked for. */
  #late(heard: Told): void {
    if (heard.type === 'event' && heard.event.type === 'output')
      this.#options.background?.(heard.event.stream, heard.event.text)
    else if (heard.type === 'ask') this.#return(heard.ask, '')
  }

  /** A question that code asks through Swank's own ways. */
  async #asked(asked: Extract<Said, { type: 'asked' }>): Promise<void> {
    const turn = this.#options.turns.on(asked.thread)
    if (asked.kind === 'line') {
      if (turn === undefined) this.#return(asked, '')
      else await this.#answer(turn, { ...asked, refusal: '' })
      return
    }
    const answer = await this.#line(turn, asked.prompt).catch(() => null)
    const given = asked.kind === 'text' ? answer : /^\s*y/i.test(answer ?? '')
    this.#send([symbol(':emacs-return'), asked.thread, asked.tag, given])
  }

  async #answer(
    turn: Turn,
    asked: Asked & { readonly prompt: string; readonly refusal: string },
  ): Promise<void> {
    try {
      this.#return(asked, `${await this.#line(turn, asked.prompt)}\n`)
    } catch {
      this.#return(asked, asked.refusal)
    }
  }

  /** Rejects where nobody answers. */
  async #line(turn: Turn | undefined, prompt: string): Promise<string> {
    const watcher = turn?.watchers.find(({ ask }) => ask !== undefined)
    if (watcher?.ask === undefined) throw new Error('Nobody can answer here.')
    if (this.#questions >= QUESTIONS) throw new Error('Too much is asked at once.')
    this.#questions++
    try {
      return await watcher.ask({ type: 'stdin', prompt, secret: false })
    } finally {
      this.#questions--
    }
  }

  #return({ thread, tag }: Asked, line: string): void {
    this.#send([symbol(':emacs-return-string'), thread, tag, line])
  }

  /** The connection may have ended in the meantime, and then nobody waits for this. */
  #send(message: Form): void {
    try {
      this.#options.connection.send(message)
    } catch {
      // `closed` tells of it.
    }
  }

  /**
   * A thread entered Swank's debugger over our connection. One that runs an evaluation is taken out of it by its top
   * level; any other is a person's to decide about, and nothing of it is touched.
   */
  #entered(entered: Entered): void {
    const { running } = this.#options.turns
    const ofOurs = entered.waiting.length > 0
    // Its first message, with the number of its thread, may still be on the way.
    const turn = running?.thread === undefined && !ofOurs ? undefined : running
    const evaluates = turn !== undefined && (turn.thread ?? entered.thread) === entered.thread
    if (!evaluates && !ofOurs) {
      this.#leave(entered)
      return
    }
    if (evaluates) {
      turn.thread = entered.thread
      // The first is the reason for the others.
      turn.entered ??= entered.exception
      if (++turn.releases > RELEASES) return
    }
    this.#release(entered).catch(() => {})
  }

  /** To the top level by name; where that is not in force any more, by the restart that the message has named. */
  async #release({ thread, level, quit }: Entered): Promise<void> {
    const { connection } = this.#options
    const answer = await connection.rex([symbol('swank:throw-to-toplevel')], thread)
    if ('ok' in answer && quit !== null)
      await connection.rex([symbol('swank:invoke-nth-restart-for-emacs'), level, quit], thread)
  }

  #leave({ thread, level, exception }: Entered): void {
    const { name, background } = this.#options
    const key = `${thread}.${level}`
    if (this.#left.has(key)) return
    this.#left.add(key)
    background?.(
      'stderr',
      `Thread ${thread} of ${name}, which is not Imago's, waits in the debugger: ${exception.message} ` +
        `(${exception.type.qualified}). Nothing was done about it: it waits for a person.\n`,
    )
  }
}

interface Asked {
  readonly thread: number
  readonly tag: number
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (error) {
    return { malformed: messageOf(error) }
  }
}
