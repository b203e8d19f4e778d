import type { Envelope } from '../../tools/outcome.ts'
import { isRunning } from '../../tools/outcome.ts'
import { isSuspendedDetails } from '../../tools/suspension-text.ts'
import { duration } from '../../tools/text.ts'
import type { Question } from '../../wire/kernel.ts'
import type { ExitCode } from '../failure.ts'
import { WAIT_SECONDS } from '../front/client.ts'
import type { Image } from '../front/image.ts'
import { exitAskedFor } from '../front/print.ts'
import { untilAnswered } from '../front/seat/at-terminal.ts'
import { type Display, evaluated } from './answers.ts'
import type { ConsoleApprovals } from './console-seat.ts'
import { paintAnswering, paintRunning } from './editor-view.ts'
import { plain, prose } from './layout.ts'
import { Writer } from './line.ts'
import type { Actor, Stage } from './screen.ts'
import type { Spoken } from './spoken.ts'
import { suspendedSpans } from './suspension-spans.ts'
import type { ConsoleSuspensions } from './suspensions.ts'
import type { Key } from './tty.ts'

interface RunnerParts {
  readonly image: Image
  readonly stage: Stage
  readonly showing: Display
  readonly spoken: Spoken
  readonly approvals: ConsoleApprovals
  readonly suspended: ConsoleSuspensions
}

/** Runs what was entered, and shows what happens meanwhile. */
export interface Runner {
  /** Runs code. Answers once it has ended, or was left to itself. Not undefined: the code wants the console to end. */
  run(source: string, how?: { readonly hold: boolean }): Promise<Exit | undefined>
  /** Calls a tool, which can be interrupted, too. Undefined: it was left to itself. */
  call(tool: string, args: Readonly<Record<string, unknown>>): Promise<Envelope | undefined>
  /** Shows how code ended; of an error that has suspended it, what can be done. Undefined: it was left to itself. */
  ended(envelope: Envelope | undefined): Promise<void>
  /** Waits for the daemon, which is not to be interrupted in this. */
  during<Result>(work: Promise<Result>): Promise<Result>
  /** How long the last code took, in milliseconds: in the image where that is known, and until it was shown. */
  readonly took: { readonly there: number | undefined; readonly here: number } | undefined
  /** Answers to a question of the console itself. */
  ask(question: Question): Promise<string>
}

export interface Exit {
  readonly exit: ExitCode
  readonly message?: string
}

export function openRunner({ image, stage, showing, spoken, approvals, suspended }: RunnerParts): Runner {
  let took: Runner['took']

  async function call(tool: string, args: Readonly<Record<string, unknown>>): Promise<Envelope | undefined> {
    const cancel = new AbortController()
    const show = new Show(stage)
    let pressed = 0
    let leave = () => {}
    const left = new Promise<undefined>(resolve => {
      leave = () => resolve(undefined)
    })
    const interrupt = () => {
      pressed++
      stage.forgetAhead()
      if (pressed === 1) {
        show.interrupting()
        cancel.abort()
      } else if (pressed === 2) show.say(CHOICES(image.kernel ?? 'NAME'))
      else leave()
    }
    show.begin({ note: 'Ctrl-C interrupts', interrupt })
    let waits: string | undefined
    const asked = (plan: string | undefined) => {
      if (plan === waits) return
      waits = plan
      if (plan === undefined) {
        approvals.over()
        return show.asks(undefined)
      }
      if (approvals.asked()) show.asks(`${plan} waits for you · ${approvals.key} answers, Ctrl-C withdraws`)
      else show.say(`${plan} is before a person; nothing ran yet. Ctrl-C withdraws it.\n`)
    }
    const answered = image.call({
      tool,
      args,
      signal: cancel.signal,
      output: text => show.output(text),
      waits: kernel => show.waits(kernel),
      asked,
      ask: question => show.ask(question, interrupt),
    })
    // What waits for a person outlasts the patience of a call.
    const done = answered.then(first =>
      waits === undefined ? first : untilAnswered(image, { first, left: cancel.signal }),
    )
    try {
      const envelope = await Promise.race([done, left])
      if (pressed > 0 && envelope?.ok && isRunning(envelope.result)) void report(envelope.result.job)
      return envelope
    } finally {
      done.catch(() => {})
      approvals.over()
      show.end()
    }
  }

  /** Asks once more, and says what was seen of that, above whatever the person does by then. */
  async function report(job: string): Promise<void> {
    const envelope = await image.call({ tool: 'interrupt_job', args: { job } }).catch(() => undefined)
    const message = envelope?.ok ? Reflect.get(Object(envelope.result), 'message') : undefined
    if (typeof message === 'string') stage.print([prose('hint', `${job}: ${message}\n`)])
  }

  async function ended(envelope: Envelope | undefined): Promise<void> {
    if (envelope === undefined)
      return stage.print([prose('hint', 'It was left to itself; :kernels says whether it still runs.\n')])
    showing.answer(evaluated(envelope, spoken.language))
    const details = envelope.ok ? undefined : envelope.error.details.suspension
    if (!isSuspendedDetails(details)) return
    const besides = suspended.mine.filter(one => one.kernel === image.kernel && one.id !== details.id)
    stage.print(suspendedSpans(details, besides.length))
  }

  return {
    async run(source, { hold } = { hold: false }) {
      const began = performance.now()
      // The person has the commands to look around, and never has to ask for it first.
      const how = hold ? 'hold' : 'suspend'
      const envelope = await call('eval_expr', { expr: source, patience: WAIT_SECONDS, on_error: how })
      spoken.heard(envelope)
      took = { there: elapsedOf(envelope), here: performance.now() - began }
      const asked = envelope && exitAskedFor(envelope)
      if (asked === undefined) await ended(envelope)
      return asked
    },
    call,
    ended,
    async during(work) {
      const show = new Show(stage)
      show.begin({ note: 'the daemon is at it', interrupt() {} })
      try {
        return await work
      } finally {
        show.end()
      }
    },
    get took() {
      return took
    },
    ask: question => new Show(stage).ask(question, () => {}),
  }
}

const CHOICES = (kernel: string) =>
  'It was asked to stop, and has not yet. Once more gives the prompt back, and leaves it running; ' +
  `then :restart ${kernel} ends the image, with all that is in it.\n`

function elapsedOf(envelope: Envelope | undefined): number | undefined {
  if (envelope === undefined) return undefined
  const known: unknown = envelope.ok ? envelope.result : envelope.error.details
  const elapsed: unknown = Reflect.get(Object(known), 'elapsed_ms')
  return typeof elapsed === 'number' ? elapsed : undefined
}

/** After so long it is said how long it has been running, in milliseconds, and so often what is said changes. */
const QUIET_MS = 2_000

const TICK_MS = 1_000

/** Output is shown as it comes, and no more often than this. */
const FRAME_MS = 16

/** What is on the screen while something runs. */
export class Show {
  readonly #stage: Stage
  readonly #live = new Live()
  #waiting = ''
  #frame: NodeJS.Timeout | undefined
  #clock: NodeJS.Timeout | undefined
  #began = 0
  #note = ''
  #urgent = false
  #asks: string | undefined
  #over = false
  #runner: Actor | undefined
  /** Questions are put one after the other. */
  #asking: Promise<unknown> = Promise.resolve()

  constructor(stage: Stage) {
    this.#stage = stage
  }

  /** `note` is what the person can do about it. */
  begin({ note, interrupt }: { note: string; interrupt: () => void }): void {
    this.#note = note
    this.#began = performance.now()
    this.#clock = setTimeout(() => this.#tick(), QUIET_MS)
    this.#runner = {
      press: key => {
        if (isKey(key, 'ctrl-c')) interrupt()
        else if (isKey(key, 'ctrl-z')) this.#stage.suspend()
        else if (isKey(key, 'ctrl-l')) this.#stage.clear()
        else this.#stage.keepForLater(key)
      },
      paint: () => {
        const { size, palette } = this.#stage
        return paintRunning({ begun: this.#live.begun, status: this.#status(), size, palette })
      },
    }
    this.#stage.take(this.#runner)
  }

  output(text: string): void {
    this.#waiting += text
    if (this.#over) this.#flush()
    else this.#frame ??= setTimeout(() => this.#flush(), FRAME_MS)
  }

  say(text: string): void {
    this.#flush()
    this.#stage.print([prose('hint', text)])
  }

  interrupting(): void {
    this.#note = 'interrupting…'
    this.#urgent = true
    this.#stage.repaint()
  }

  /** Nothing runs yet: why not, and what the person can do about it. Undefined: it runs. */
  asks(note: string | undefined): void {
    this.#asks = note
    this.#stage.repaint()
  }

  waits(kernel: string): void {
    this.say(`waiting: ${kernel} is busy; Ctrl-C withdraws\n`)
  }

  /** What comes later is printed above whatever is there then. */
  end(): void {
    this.#flush()
    clearTimeout(this.#clock)
    this.#over = true
    this.#stage.leave([plain(this.#live.close())])
  }

  ask({ prompt, secret }: Question, interrupt: () => void): Promise<string> {
    const asked = this.#asking.then(() => this.#put({ prompt, secret, interrupt }))
    this.#asking = asked.catch(() => {})
    return asked
  }

  #put(o: { prompt: string; secret: boolean; interrupt: () => void }): Promise<string> {
    this.#flush()
    const begun = this.#live.take()
    const prompt = begun.endsWith(o.prompt) ? begun : begun + o.prompt
    const writer = new Writer()
    const stage = this.#stage
    return new Promise((resolve, reject) => {
      const finish = (end: string) => {
        stage.leave([plain(prompt + (o.secret ? '' : writer.edit.text) + end)])
        if (this.#runner !== undefined) stage.take(this.#runner)
      }
      const enter = (text: string) => {
        finish('\n')
        resolve(text)
      }
      stage.act({
        press(key) {
          if (key.type === 'text') writer.type(key.text)
          else if (key.type === 'paste') {
            const [line = '', ...others] = key.text.split('\n')
            writer.insert(line)
            if (others.length === 0) return
            const rest = others.join('\n')
            if (rest !== '') stage.putBack({ type: 'paste', text: rest })
            enter(writer.edit.text)
          } else if (key.name === 'enter' || key.name === 'ctrl-j') enter(writer.edit.text)
          else if (key.name === 'ctrl-z') stage.suspend()
          else if (key.name === 'tab') writer.insert('\t')
          else if (key.name === 'ctrl-c') {
            // The code that asked is interrupted, and no longer waits for an answer.
            finish('^C\n')
            o.interrupt()
          } else if (key.name === 'ctrl-d' && writer.edit.text === '') {
            finish('\n')
            reject(new Error('There is no more standard input.'))
          } else writer.press(key.name)
        },
        paint: () =>
          paintAnswering({
            prompt,
            edit: writer.edit,
            secret: o.secret,
            size: stage.size,
            palette: stage.palette,
          }),
      })
    })
  }

  #flush(): void {
    clearTimeout(this.#frame)
    this.#frame = undefined
    if (this.#waiting === '') return
    const whole = this.#live.push(this.#waiting)
    this.#waiting = ''
    this.#stage.print([plain(this.#over ? whole + this.#live.close() : whole)])
    this.#stage.repaint()
  }

  #tick(): void {
    this.#stage.repaint()
    this.#clock = setTimeout(() => this.#tick(), TICK_MS)
  }

  #status(): string {
    const elapsed = performance.now() - this.#began
    const asks = this.#urgent ? undefined : this.#asks
    if (asks !== undefined) return elapsed < QUIET_MS ? asks : `${waited(elapsed)} · ${asks}`
    if (elapsed < QUIET_MS && !this.#urgent) return ''
    return `${waited(elapsed)} · ${this.#note}`
  }
}

const waited = (elapsed: number) => duration(Math.floor(elapsed / 1_000) * 1_000)

const isKey = (key: Key, name: string) => key.type === 'key' && key.name === name

/**
 * What running code prints, as it comes. Whole lines are done with; the line that has begun can still be printed over
 * by a carriage return, as progress bars do, and stays within itself.
 */
export class Live {
  #begun = ''
  #again = false

  /** The line that has begun. */
  get begun(): string {
    return this.#begun
  }

  /** Takes more, and returns the lines that are whole now. */
  push(text: string): string {
    const lines = text.split('\n')
    let whole = ''
    lines.forEach((line, index) => {
      this.#add(line)
      if (index < lines.length - 1) whole += this.#end()
    })
    return this.#begun.length > MOST ? whole + this.#end() : whole
  }

  /** The line that has begun, ended; nothing where none has. */
  close(): string {
    return this.#begun === '' ? '' : this.#end()
  }

  /** The line that has begun is somebody else's now: the prompt of a question. */
  take(): string {
    const begun = this.#begun
    this.#end()
    return begun
  }

  #end(): string {
    const line = `${this.#begun}\n`
    this.#begun = ''
    this.#again = false
    return line
  }

  #add(line: string): void {
    line.split('\r').forEach((piece, index) => {
      if (index > 0) this.#again = true
      if (piece === '') return
      this.#begun = this.#again ? piece : this.#begun + piece
      this.#again = false
    })
  }
}

/** Characters of a line after which it is ended, so that it can be printed. */
const MOST = 16_384

/** How long a line that has begun waits for its end, in milliseconds. */
const REST_MS = 200

/** Prints what comes by itself above whatever is being written, in whole lines. */
export function openBackground(stage: Stage): (text: string) => void {
  const live = new Live()
  let timer: NodeJS.Timeout | undefined
  const print = (text: string) => {
    if (text !== '') stage.print([plain(text)])
  }
  return text => {
    clearTimeout(timer)
    print(live.push(text))
    timer = setTimeout(() => print(live.close()), REST_MS)
  }
}
