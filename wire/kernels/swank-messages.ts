import { z } from 'zod'
import { evalEvent, evaluated, suspended } from '../contract/evaluation.ts'
import { suspensionEnded } from '../contract/suspensions.ts'
import { callId, count, orNull, text } from '../contract/values.ts'
import { type Frame, NEWS, type Raised, type Restart } from '../kernel.ts'
import { isAtom, textOf } from '../swank/connection.ts'
import type { Sexp } from '../swank/sexp.ts'

/** What an image says unasked, as far as it is anything to us. */
export type Said =
  /** Our own messages, which travel as `(:channel-send 0 "<json>")`. */
  | { readonly type: 'told'; readonly json: string }
  | Entered
  /** Code there wants a line, or an answer; `answer` is the message that gives it, `refusal` stands for none. */
  | {
      readonly type: 'asked'
      readonly thread: number
      readonly tag: number
      readonly prompt: string
      readonly kind: 'line' | 'text' | 'yes_or_no'
    }
  | { readonly type: 'other' }

/** A thread has entered Swank's debugger, at a level that counts from 1, and waits there. */
export interface Entered {
  readonly type: 'entered'
  readonly thread: number
  readonly level: number
  readonly exception: Raised
  /** The requests of this connection that wait for that thread; none for a thread that is not ours. */
  readonly waiting: readonly number[]
  /** The number of the restart that leads to the top level, where the message marks or names one. */
  readonly quit: number | null
}

/** What an interrupt enters Swank's debugger with. */
export const INTERRUPTED = 'Interrupt from Emacs'

/** Reads a message of Swank's. What has not the form that it should have is `other`. */
export function said(message: Sexp): Said {
  const [tag, ...rest] = listOf(message)
  const [first, second, third] = rest
  switch (isAtom(tag) ? tag.atom : '') {
    case ':channel-send':
      return first === 0 && isText(second) ? { type: 'told', json: second.text } : { type: 'other' }
    case ':debug':
      return enteredOf(rest)
    case ':read-string':
      return asked('line', first, second, null)
    case ':y-or-n-p':
      return asked('yes_or_no', first, second, third)
    case ':read-from-minibuffer':
      return asked('text', first, second, third)
    default:
      return { type: 'other' }
  }
}

/** Of whom a message of ours is: all but `news` name their call. */
export const toldOf = z.object({ call: callId, suspended: z.unknown().optional() })

/** That the code has begun to end its own process, and with which exit code, where that is known. */
const exiting = z.object({ code: orNull(z.int()) })
export type Exiting = z.infer<typeof exiting>

/** What our own code in an image says unasked, by the name of the one thing that a message has. */
const TOLD = {
  started: z
    .object({ started: z.object({ thread: count }) })
    .transform(({ started }) => ({ type: 'started' as const, started })),
  event: z.object({ event: evalEvent }).transform(({ event }) => ({ type: 'event' as const, event })),
  exits: z.object({ exits: exiting }).transform(({ exits }) => ({ type: 'exits' as const, exits })),
  ask: z
    .object({ ask: z.object({ tag: count, thread: count, prompt: text }) })
    .transform(({ ask }) => ({ type: 'ask' as const, ask })),
  suspended: z
    .object({ suspended })
    .transform(it => ({ type: 'suspended' as const, suspended: it.suspended })),
  news: z.object({ news: z.enum(NEWS) }).transform(({ news }) => ({ type: 'news' as const, news })),
  ended: z.object({ ended: suspensionEnded }).transform(({ ended }) => ({ type: 'ended' as const, ended })),
}
export type Told = z.infer<(typeof TOLD)[keyof typeof TOLD]>

const FORMS: readonly (readonly [string, z.ZodType<Told>])[] = Object.entries(TOLD)
const anything = z.union([TOLD.started, TOLD.event, TOLD.exits, TOLD.ask, TOLD.suspended, TOLD.ended])

/** The form that such a message has to have. To try one after the other would cost ten times as much. */
export function formOf(message: unknown): z.ZodType<Told> {
  if (typeof message !== 'object' || message === null) return anything
  return FORMS.find(([name]) => Object.hasOwn(message, name))?.[1] ?? anything
}

/** What it answers to `resume` at once: that it goes on, or all that it has come to. */
export const resumed = z.union([z.object({ type: z.literal('accepted') }), evaluated])

function asked(kind: 'line' | 'text' | 'yes_or_no', ...[thread, tag, prompt]: (Sexp | undefined)[]): Said {
  if (typeof thread !== 'number' || typeof tag !== 'number') return { type: 'other' }
  return { type: 'asked', kind, thread, tag, prompt: textOf(prompt) }
}

/** `(:debug thread level (message type extras) ((name description)…) ((number text plist)…) (id…))`. */
function enteredOf([thread, level, condition, restarts, frames, ids]: readonly Sexp[]): Said {
  if (typeof thread !== 'number' || typeof level !== 'number') return { type: 'other' }
  const offered = listOf(restarts).map(restart => listOf(restart).map(textOf))
  const marked = offered.findIndex(([name]) => name?.startsWith('*'))
  const quit = marked >= 0 ? marked : offered.findLastIndex(([name]) => name?.toUpperCase() === 'ABORT')
  return {
    type: 'entered',
    thread,
    level,
    exception: raisedOf({
      condition: listOf(condition).map(textOf),
      restarts: offered.map(([name = '', description = '']) => ({
        name: name.replace(/^\*/, '').toLowerCase(),
        description,
      })),
      frames: ofTheCode(listOf(frames).map(frame => textOf(listOf(frame)[1]))),
    }),
    waiting: listOf(ids).filter(id => typeof id === 'number'),
    quit: quit < 0 ? null : quit,
  }
}

interface Seen {
  readonly condition: readonly string[]
  readonly restarts: readonly Restart[]
  /** Innermost first, as Swank prints them. */
  readonly frames: readonly string[]
}

/** Without those of the debugger itself, and of what runs the code: our own functions there have names without a home. */
function ofTheCode(frames: readonly string[]): readonly string[] {
  const first = frames.findIndex(frame => /^\(SWANK:+(INVOKE-SLIME-DEBUGGER|SIMPLE-BREAK)/i.test(frame))
  const last = frames.findIndex(frame => frame.includes('#:'))
  return frames.slice(first + 1, last < 0 ? undefined : Math.max(last, first + 1))
}

const PAST =
  'The code entered the debugger past the place where Imago takes errors down: this is what Swank told of it.'

function raisedOf({ condition: [message = '', about = ''], restarts, frames }: Seen): Raised {
  const named = (/Condition of type (.+)\]\s*$/s.exec(about)?.[1] ?? about.trim()).toLowerCase()
  const [, module = null, name = named] = /^(.+?)::?([^:]+)$/.exec(named) ?? []
  return {
    type: { name, module: module === null ? null : module.toUpperCase(), qualified: named },
    message,
    frames: frames.toReversed().map(frameOf),
    frames_omitted: 0,
    traceback: [`${named}: ${message}`, ...frames.map((frame, number) => `${number}: ${frame}`)].join('\n'),
    notes: [PAST],
    restarts,
  }
}

/** `(CAR 1)` is a call of `car`; its arguments stay in `source`. */
function frameOf(printed: string): Frame {
  const called = /^\(([^\s()]+)/.exec(printed)?.[1] ?? printed
  return {
    function: called.toLowerCase(),
    file: null,
    line: null,
    source: printed,
    locals: [],
    locals_omitted: 0,
  }
}

const listOf = (value: Sexp | undefined): readonly Sexp[] => (Array.isArray(value) ? value : [])
const isText = (value: Sexp | undefined): value is { readonly text: string } =>
  typeof value === 'object' && value !== null && 'text' in value
