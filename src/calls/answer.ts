import { type Envelope, failedInside, type Outcome, type ToolError } from '../../tools/outcome.ts'
import {
  beginning,
  cutMark,
  ending,
  isPlain,
  plain,
  type Showing,
  type TextStore,
  WHOLE,
} from '../text/texts.ts'

const MESSAGE_CHARS = 4 * 1024

/** How a call ended, once it has: a call that rises has not. */
export type Ended = Exclude<Outcome, { type: 'rises' }>

/** An outcome within the bounds of an answer. What is cut can be read by its handle. */
export function bounded(outcome: Outcome, texts: Pick<TextStore, 'keep'>): Ended {
  switch (outcome.type) {
    case 'ok':
      return { type: 'ok', result: bound(outcome.result, texts) }
    case 'failed':
      return { type: 'failed', error: boundedError(outcome.error, texts) }
    case 'rises':
      return failedInside('handler_fault', {
        message: `It rose to ${outcome.level} and no further.`,
      }) as Ended
    default:
      return outcome satisfies never
  }
}

function boundedError(error: ToolError, texts: Pick<TextStore, 'keep'>): ToolError {
  const details = bound(error.details, texts) as Readonly<Record<string, unknown>>
  return { ...error, message: beginning(error.message, MESSAGE_CHARS), details }
}

/** What is to be said of an image that was started in place of a lost one. */
export function noticeOf(place: { name: string; replaces?: string } | undefined): string | undefined {
  if (place?.replaces === undefined) return undefined
  const [how = ''] = place.replaces.split('\n')
  return `This is a new and empty image of ${place.name}. The one before was lost: ${how}`
}

/**
 * The first answer of an image that was started in place of a lost one says so, whatever else it says: names that
 * are gone are a riddle otherwise.
 */
export function noticed(outcome: Ended, notice: string | undefined): Ended {
  if (notice === undefined) return outcome
  if (outcome.type === 'failed') {
    const { details } = outcome.error
    const told = { ...details, notice: both(notice, details.notice) }
    return { type: 'failed', error: { ...outcome.error, details: told } }
  }
  const { result } = outcome
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return outcome
  return { type: 'ok', result: { ...result, notice: both(notice, Reflect.get(result, 'notice')) } }
}

/** The same for a call that may have to begin again, and then says nothing yet. */
export const withNotice = (outcome: Outcome, notice: string | undefined): Outcome =>
  outcome.type === 'rises' ? outcome : noticed(outcome, notice)

const both = (one: string, other: unknown): string => (typeof other === 'string' ? `${one}\n${other}` : one)

/** The one form in which every call is answered. */
export function enveloped(ended: Ended): Envelope {
  return ended.type === 'ok' ? { ok: true, result: ended.result } : { ok: false, error: ended.error }
}

/** Characters of a whole result. */
export const RESULT_CHARS = 64 * 1024

/** A text longer than this gets a handle of its own when it is cut; the first few do. */
const OWN_HANDLE_CHARS = 4 * 1024

const OWN_HANDLES = 8

/** How long one text, and one list, may be. */
interface Limits {
  readonly chars: number
  readonly items: number
}

const WIDEST: Limits = { chars: RESULT_CHARS / 2, items: 4_096 }

/** Below this a cut shows too little to be of use; what still does not fit is then answered as text. */
const NARROWEST: Limits = { chars: 512, items: 8 }

/**
 * A result that fits into an answer. What fits is returned as it is. Otherwise the longest texts are cut, shorter and
 * shorter, and then the longest lists, until the whole fits; each cut says how much is missing and which handle leads
 * to it, and an object is given `truncated`. What JSON cannot hold becomes text. Never throws, never loses a result.
 */
export function bound(result: unknown, texts: Pick<TextStore, 'keep'>): unknown {
  if (fits(result)) return result
  const keeper = openKeeper(result, texts)
  let limits = WIDEST
  if (fitsWithin(result, UNCUT)) return plain(result, UNCUT())
  while (!fitsWithin(result, () => showing(limits, () => ''))) {
    if (limits.items === NARROWEST.items) return asText(keeper)
    limits = narrower(limits)
  }
  return flagged(plain(result, showing(limits, keeper.where)))
}

const UNCUT = (): Showing => ({ ...WHOLE, budget: { left: RESULT_CHARS } })

function fits(result: unknown): boolean {
  try {
    return isPlain(result, { left: RESULT_CHARS })
  } catch {
    return false
  }
}

/** A walk stops as soon as it has seen too much, so that trying costs the same for a result of any size. */
function fitsWithin(result: unknown, how: () => Showing): boolean {
  const tried = how()
  plain(result, tried)
  return tried.budget.left >= 0
}

function narrower({ chars, items }: Limits): Limits {
  return chars > NARROWEST.chars ? { chars: chars / 2, items } : { chars, items: items / 2 }
}

/** How to get at the rest of a text that is cut; without a text, at the whole result. */
type Where = (text?: string) => string

function showing({ chars, items }: Limits, where: Where): Showing {
  return {
    budget: { left: RESULT_CHARS },
    items,
    text: text => cutText(text, chars, where),
    missing: count => `… [${count.toLocaleString('en-US')} more${where()}] …`,
  }
}

function cutText(text: string, chars: number, where: Where): string {
  if (text.length <= chars) return text
  const head = beginning(text, chars / 2)
  const tail = ending(text, chars / 2)
  return head + cutMark(text.length - head.length - tail.length, where(text)) + tail
}

function flagged(value: unknown): unknown {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? { ...value, truncated: true }
    : value
}

/** What does not fit even with everything in it cut short. */
function asText({ all, where }: Keeper): unknown {
  return { truncated: true, text: cutText(all, RESULT_CHARS / 4, () => where()) }
}

interface Keeper {
  /** The whole result as text. */
  readonly all: string
  readonly where: Where
}

/** Keeps what is cut, each text once: long ones by themselves, everything else as part of the whole result. */
function openKeeper(result: unknown, texts: Pick<TextStore, 'keep'>): Keeper {
  const handles = new Map<string, string>()
  let all: string | undefined

  function handleOf(text: string): string {
    const handle = handles.get(text) ?? texts.keep(text)
    handles.set(text, handle)
    return handle
  }
  const keeper: Keeper = {
    get all() {
      all ??= json(result)
      return all
    },
    where(text) {
      const own = text !== undefined && text.length > OWN_HANDLE_CHARS && handles.size < OWN_HANDLES
      const known = text !== undefined && handles.has(text)
      return `; all of it: read_more ${handleOf(text !== undefined && (own || known) ? text : keeper.all)}`
    },
  }
  return keeper
}

function json(value: unknown): string {
  try {
    return JSON.stringify(plain(value, WHOLE), null, 1)
  } catch {
    return 'The result is longer than any text can be.'
  }
}
