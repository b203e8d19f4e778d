import type { Envelope } from '../../../tools/outcome.ts'
import { isRunning } from '../../../tools/running.ts'
import { isSuspendedDetails } from '../../../tools/suspension-text.ts'
import type { Question } from '../../../wire/kernel.ts'
import type { ExitCode } from '../../failure.ts'
import { type Image, WAIT_SECONDS } from '../image.ts'
import { exitAskedFor } from '../results.ts'
import { evaluated } from './answers.ts'
import type { ConsoleApprovals } from './approvals.ts'
import type { Spoken } from './languages.ts'
import { Show } from './show.ts'
import type { Showing } from './showing.ts'
import type { Stage } from './stage.ts'
import { prose } from './style.ts'
import { suspendedSpans } from './suspension-spans.ts'
import type { ConsoleSuspensions } from './suspensions.ts'

export interface RunningParts {
  readonly image: Image
  readonly stage: Stage
  readonly showing: Showing
  readonly spoken: Spoken
  readonly approvals: ConsoleApprovals
  readonly suspended: ConsoleSuspensions
}

/** Runs what was entered, and shows what happens meanwhile. */
export interface Running {
  /** Runs code. Answers once it has ended, or was left to itself. Not undefined: the code wants the console to end. */
  run(source: string, how?: { readonly hold: boolean }): Promise<Leaving | undefined>
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

export interface Leaving {
  readonly exit: ExitCode
  readonly message?: string
}

export function openRunning({ image, stage, showing, spoken, approvals, suspended }: RunningParts): Running {
  let took: Running['took']

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
      else show.say(`${plan} is before a person, at imago watch; nothing ran yet. Ctrl-C withdraws it.\n`)
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
    const done = answered.then(first => (waits === undefined ? first : untilDone(first, cancel.signal)))
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

  /** What waits for a person outlasts the patience of a call, and is waited for as long as they take. */
  async function untilDone(first: Envelope, cancelled: AbortSignal): Promise<Envelope> {
    if (!first.ok || !isRunning(first.result)) return first
    const { job } = first.result
    const act = (action: 'wait' | 'interrupt', seconds: number) =>
      image.call({ tool: 'job', args: { job, action, seconds } })
    const withdraw = () => void act('interrupt', 0).catch(() => {})
    if (cancelled.aborted) withdraw()
    else cancelled.addEventListener('abort', withdraw)
    for (;;) {
      const answer = await act('wait', 3_600)
      if (!answer.ok || !isRunning(answer.result)) return answer
    }
  }

  /** Asks once more, and says what was seen of that, above whatever the person does by then. */
  async function report(job: string): Promise<void> {
    const envelope = await image
      .call({ tool: 'job', args: { job, action: 'interrupt' } })
      .catch(() => undefined)
    const message = envelope?.ok ? Reflect.get(Object(envelope.result), 'message') : undefined
    if (typeof message === 'string') stage.print([prose('hint', `${job}: ${message}\n`)])
  }

  async function ended(envelope: Envelope | undefined): Promise<void> {
    if (envelope === undefined)
      return stage.print([prose('hint', 'It was left to itself; :kernels says whether it still runs.\n')])
    showing.answer(evaluated(envelope, text => spoken.language.highlight(text)))
    const details = envelope.ok ? undefined : envelope.error.details.suspension
    if (!isSuspendedDetails(details)) return
    if (details.how === 'post_mortem' && details.level > 1) {
      const tried = suspended.mine.filter(({ id }) => id === details.id)
      return void suspended.leave(image, tried).catch(() => {})
    }
    const besides = suspended.mine.filter(one => one.kernel === image.kernel && one.id !== details.id)
    stage.print(suspendedSpans(details, besides.length))
  }

  return {
    async run(source, { hold } = { hold: false }) {
      const began = performance.now()
      const how = hold ? { on_error: 'hold' } : {}
      const envelope = await call('eval_expr', { expr: source, patience: WAIT_SECONDS, ...how })
      took = { there: elapsedOf(envelope), here: performance.now() - began }
      const asked = envelope && exitAskedFor(envelope)
      if (asked === undefined) await ended(envelope)
      const { kernel } = image
      if (kernel !== undefined) void suspended.leave(image, suspended.spare(kernel)).catch(() => {})
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
