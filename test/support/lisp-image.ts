import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { evalEvent, evaluated } from '../../wire/contract/evaluation.ts'
import { LOOK_ANSWERS } from '../../wire/contract/looks.ts'
import { suspensionEnded } from '../../wire/contract/suspensions.ts'
import type {
  EvalEvent,
  Evaluated,
  Inspected,
  Looked,
  LookName,
  Looks,
  Piece,
  Raised,
  Section,
  SuspensionNews,
  WorkRefusal,
} from '../../wire/kernel.ts'
import { parseAnswer } from '../../wire/kernels/answers.ts'
import { type SwankConnection, textOf } from '../../wire/swank/connection.ts'
import type { Arguments, SwankPeer } from '../../wire/swank/peer.ts'
import { quote, type Sexp, symbol } from '../../wire/swank/sexp.ts'
import { assert, type Suite } from './harness.ts'
import { openPeer, type RealSwank, type SwankStart, startSwank } from './swank.ts'
import { makeFolder, removeFolder } from './temporary.ts'

type Suspended = Extract<Evaluated, { type: 'suspended' }>
type Opened = Awaited<ReturnType<typeof openPeer>> & { readonly swank: RealSwank }
type Ended = Omit<Extract<SuspensionNews, { type: 'ended' }>, 'type'>
/** What is asked, without what only the daemon has to give. */
type Query<Name extends LookName> = Partial<Looks[Name]['query']>

/** A question for a line that running code asks. */
export interface Asked {
  readonly tag: number
  readonly thread: number
  readonly prompt: string
}

/** One evaluation, and what the image said of it while it ran. */
export interface Run {
  readonly call: string
  readonly thread: number | undefined
  readonly events: EvalEvent[]
  readonly result: Promise<Evaluated>
  text(stream?: 'stdout' | 'stderr'): string
}

/** How a suspended evaluation is to go on, as the peer takes it. */
export interface Way {
  readonly way: 'restart' | 'return' | 'again' | 'leave'
  readonly restart?: number
  readonly frame?: number
  readonly value?: string
  /** For how long what it comes to is kept; null: errors end it. */
  readonly suspend?: number | null
}

/** For looks that are asked without it. */
const LIMITS = { limit: 50, max_length: 10_000, modules: false, internal: false, deadline_ms: 15_000 }

/** Reads and evaluates code form by form, as `load` does. */
const EVAL = `
(cl:handler-case
    (cl:let ((cl:*package* (cl:find-package "COMMON-LISP-USER")) (cl-user::value nil))
      (cl:with-input-from-string (cl-user::code CODE)
        (cl:loop
          (cl:let ((cl-user::form (cl:read cl-user::code nil cl-user::code)))
            (cl:when (cl:eq cl-user::form cl-user::code) (cl:return cl-user::value))
            (cl:setf cl-user::value (cl:eval cl-user::form))))))
  (cl:error (cl-user::condition) (cl:format nil "failed: ~A" cl-user::condition)))`

let calls = 0

/**
 * Our peer in a real image, spoken to as the adapter does, but without its queue. What a call comes to is what its own
 * request is answered, or the message that it is suspended, whichever comes first.
 */
export class Lisp {
  /** All suspensions that were told of as ended, in their order. */
  readonly ended: Ended[] = []
  /** What code that asks for a line is answered, if anything. */
  answers: (prompt: string) => string | undefined = () => ''
  readonly #suspends: boolean
  readonly #runs = new Map<string, Heard>()
  /** By the suspension, the request that is answered by what it comes to. */
  readonly #requests = new Map<string, Promise<Evaluated>>()
  #opened: Opened | undefined
  #timer: NodeJS.Timeout | undefined
  #read = 0

  /** `suspends`: errors suspend what is evaluated, and do not end it. */
  constructor(suspends = false) {
    this.#suspends = suspends
  }

  async open(swank: RealSwank): Promise<this> {
    this.#opened = { swank, ...(await openPeer(swank)) }
    this.#timer = setInterval(() => this.#hear(), 2)
    return this
  }

  /** Another connection to the same image. */
  join(): Promise<Lisp> {
    return new Lisp(this.#suspends).open(this.swank)
  }

  get swank(): RealSwank {
    return this.#open.swank
  }

  get connection(): SwankConnection {
    return this.#open.connection
  }

  get peer(): SwankPeer {
    return this.#open.peer
  }

  /** All that came over its connection and answered no request. */
  get messages(): readonly Sexp[] {
    return this.#open.heard
  }

  get #open(): Opened {
    if (this.#opened === undefined) throw new Error('no image is there yet')
    return this.#opened
  }

  /** Begins an evaluation; `answer` is what each question gets, if anything. */
  begin(
    source: string,
    more: Arguments = {},
    answer: (asked: Asked) => string | undefined = ({ prompt }) => this.answers(prompt),
  ): Run {
    const call = `call-${++calls}`
    const lease = this.#suspends && { suspend: true }
    const args = { call, who: 'test', work: 'source', source, ...lease, ...more }
    return this.#begun(call, answer, () => this.#parsed(this.peer.call('evaluate', args)))
  }

  run(source: string, more?: Arguments): Promise<Evaluated> {
    return this.begin(source, more).result
  }

  /** What the values are written as, or how it ended otherwise. */
  async values(source: string, more?: Arguments): Promise<readonly string[]> {
    return textsOf(await this.run(source, more))
  }

  async raised(source: string, more?: Arguments): Promise<Raised> {
    const ended = await this.run(source, more)
    if (ended.type !== 'raised') throw new Error(`${source} has ended as ${ended.type}`)
    return ended.exception
  }

  async refused(source: string, more?: Arguments): Promise<WorkRefusal> {
    const ended = await this.run(source, more)
    if (ended.type !== 'refused') throw new Error(`${source} has ended as ${ended.type}`)
    return ended
  }

  async suspended(source: string, more?: Arguments): Promise<Suspended> {
    const ended = await this.run(source, more)
    if (ended.type !== 'suspended') throw new Error(`${source} came to ${JSON.stringify(ended)}`)
    return ended
  }

  /** Evaluates forms that have to succeed. */
  async define(source: string): Promise<void> {
    const ended = await this.run(source)
    if (ended.type !== 'done') throw new Error(`${source} has ended as ${JSON.stringify(ended)}`)
  }

  inFrame(suspension: string, frame: number, source: string, more?: Arguments): Promise<Evaluated> {
    return this.run(source, { work: 'frame', suspension, frame, ...more })
  }

  resume(suspension: string, way: Way): Promise<Evaluated> {
    const call = `call-${++calls}`
    const first = this.#requests.get(suspension)
    const args = { suspension, call, who: 'test', suspend: this.#suspends || null, ...way }
    const goesOn = async () => {
      const answer = await this.peer.call('resume', args)
      if ((answer as { type: string }).type !== 'accepted') return this.#parsed(Promise.resolve(answer))
      if (first === undefined) throw new Error(`${suspension} was not known`)
      return first
    }
    return this.#begun(call, ({ prompt }) => this.answers(prompt), goesOn).result
  }

  async look<Name extends LookName>(
    name: Name,
    query: Query<Name> | Arguments,
  ): Promise<Looked<Looks[Name]['found']>> {
    const answer = await this.peer.call(name, { ...LIMITS, ...(query as Arguments) })
    return parseAnswer(LOOK_ANSWERS[name], answer, name)
  }

  /** The same, where it has to be found. */
  async found<Name extends LookName>(
    name: Name,
    query: Query<Name> | Arguments,
  ): Promise<Looks[Name]['found']> {
    const looked = await this.look(name, query)
    if (looked.type !== 'found') throw new Error(`${name}: ${JSON.stringify(looked)}`)
    return looked.value
  }

  async inspected(expr: string): Promise<Looked<Inspected>> {
    return this.look('inspect', { expr })
  }

  /** The value that `expr` leads to without evaluating anything. */
  async inspect(expr: string): Promise<Inspected> {
    const looked = await this.inspected(expr)
    if (looked.type !== 'found') throw new Error(`${expr} was answered ${JSON.stringify(looked)}`)
    return looked.value
  }

  /** Its text. */
  async text(expr: string): Promise<string> {
    return contents((await this.inspect(expr)).repr).text
  }

  /** The text of the value of `source`, which was evaluated beforehand; nothing of it runs when it is looked at. */
  async shown(source: string): Promise<string> {
    await this.define(`(defparameter cl-user::*shown* ${source})`)
    return this.text('cl-user::*shown*')
  }

  async more(handle: string, from: number, count: number): Promise<Looked<Piece>> {
    return this.look('more', { handle, from, count })
  }

  /** Evaluates code past our peer, form by form, and gives how the last value prints. */
  async ask(code: string): Promise<string> {
    const literal = `"${code.replace(/[\\"]/g, '\\$&')}"`
    const form = [symbol('swank:eval-and-grab-output'), EVAL.replace('CODE', () => literal)]
    const returned = await this.connection.rex(form)
    if ('abort' in returned) throw new Error(returned.abort)
    const [, value] = returned.ok as readonly Sexp[]
    const printed = textOf(value)
    if (printed.startsWith('"failed: ')) throw new Error(printed)
    return printed
  }

  /** Compiles a text as SLIME does it with a piece of a buffer. */
  async compileString(
    text: string,
    {
      buffer,
      position,
      file,
    }: { readonly buffer: string; readonly position: number; readonly file?: string } = {
      buffer: 'typed',
      position: 1,
    },
  ): Promise<void> {
    const at = quote([[symbol(':position'), position]])
    const call = [symbol('swank:compile-string-for-emacs'), text, buffer, at, file ?? null, null]
    const returned = await this.connection.rex(call)
    if ('abort' in returned) throw new Error(returned.abort)
  }

  /** Asks to stop it as Emacs does, by the number of its thread. */
  interrupt({ thread }: Run): void {
    if (thread === undefined) throw new Error('it has not begun')
    this.connection.send([symbol(':emacs-interrupt'), thread])
  }

  /** What the last call has printed. */
  printed(): string {
    return textIn(this.#runs.get(`call-${calls}`)?.events ?? [])
  }

  lastCall(): string {
    return `call-${calls}`
  }

  end(): void {
    clearInterval(this.#timer)
    this.#opened?.connection.end()
  }

  #begun(call: string, answer: Heard['answer'], request: () => Promise<Evaluated>): Run {
    const heard: Heard = { thread: undefined, events: [], answer, waits: () => {}, request: undefined }
    this.#runs.set(call, heard)
    const waits = new Promise<Evaluated>(resolve => {
      heard.waits = resolve
    })
    const answered = request().then(outcome => {
      this.#hear()
      return outcome
    })
    heard.request = answered
    const result = Promise.race([waits, answered])
    result.catch(() => {})
    return {
      call,
      events: heard.events,
      result,
      text: stream => textIn(heard.events, stream),
      get thread() {
        return heard.thread
      },
    }
  }

  async #parsed(answer: Promise<unknown>): Promise<Evaluated> {
    return parseAnswer(evaluated, await answer, 'the evaluation') as Evaluated
  }

  #hear(): void {
    for (const message of this.messages.slice(this.#read)) {
      this.#read++
      const json = Array.isArray(message) ? textOf((message as readonly Sexp[])[2]) : ''
      if (!json.startsWith('{')) continue
      const said = JSON.parse(json) as Said
      if (said.ended) this.ended.push(parseAnswer(suspensionEnded, said.ended, 'an end'))
      const heard = this.#runs.get(said.call)
      if (heard === undefined) continue
      if (said.started) heard.thread = said.started.thread
      if (said.event) heard.events.push(parseAnswer(evalEvent, said.event, 'an event'))
      if (said.suspended) {
        const outcome = parseAnswer(evaluated, said.suspended, 'a suspension') as Evaluated
        if (outcome.type === 'suspended' && heard.request)
          this.#requests.set(outcome.suspension.id, heard.request)
        heard.waits(outcome)
      }
      if (said.ask) {
        const line = heard.answer(said.ask)
        const { thread, tag } = said.ask
        if (line !== undefined) this.connection.send([symbol(':emacs-return-string'), thread, tag, line])
      }
    }
  }
}

interface Heard {
  thread: number | undefined
  readonly events: EvalEvent[]
  readonly answer: (asked: Asked) => string | undefined
  waits: (outcome: Evaluated) => void
  request: Promise<Evaluated> | undefined
}

interface Said {
  readonly call: string
  readonly started?: { readonly thread: number }
  readonly event?: unknown
  readonly ask?: Asked
  readonly suspended?: unknown
  readonly ended?: unknown
}

const textIn = (events: readonly EvalEvent[], stream?: 'stdout' | 'stderr') =>
  events
    .map(event => (event.type === 'output' && (stream ?? event.stream) === event.stream ? event.text : ''))
    .join('')

interface ImageOptions extends SwankStart {
  /** Evaluated past our peer before the first test. */
  readonly code?: string
  /** Errors suspend what is evaluated, and do not end it. */
  readonly suspends?: boolean
}

/** A connection to an image of a suite's own, and a folder: both are there before its first test. */
class LispImage extends Lisp {
  readonly folder = makeFolder()

  /** Writes a file into the folder, and gives its path. */
  write(name: string, text: string): string {
    const path = join(this.folder, name)
    writeFileSync(path, text)
    return path
  }
}

export function lispImage(test: Suite, { code, suspends, ...start }: ImageOptions = {}): LispImage {
  const image = new LispImage(suspends)
  let swank: RealSwank | undefined
  test.before(async () => {
    swank = await startSwank(start)
    await image.open(swank)
    if (code !== undefined) await image.ask(code)
  })
  test.after(() => {
    image.end()
    swank?.kill()
    removeFolder(image.folder)
  })
  return image
}

/** The values of what has run to its end; else how it has ended. */
export function textsOf(outcome: Evaluated): readonly string[] {
  if (outcome.type === 'raised') return [`${outcome.exception.type.name}: ${outcome.exception.message}`]
  return outcome.type === 'done' ? outcome.values.map(value => value.repr.text) : [outcome.type]
}

/** What a section holds; throws where it is not there or has failed. */
export function contents<Contents extends object>(section: Section<Contents> | undefined): Contents {
  if (section === undefined || ('error' in section && Object.keys(section).length === 1))
    throw new Error(`the section is ${JSON.stringify(section)}`)
  return section as Contents
}

/** What a look that did not find anything says of it. */
export function missing<Found>(looked: Looked<Found>): { what: string; nearest: readonly string[] } {
  if (looked.type !== 'not_found') throw new Error(JSON.stringify(looked))
  assert.ok(looked.what.length > 0)
  return looked
}

/** Waits until it is so. */
export async function until(so: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await so())) await new Promise(resolve => setTimeout(resolve, 5))
}
