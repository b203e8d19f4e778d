import type { Tool } from '../../tools/define.ts'
import { type Envelope, failedInside, type Outcome, type ToolError } from '../../tools/outcome.ts'
import { isRecord } from '../../tools/record.ts'
import { showEnvelope } from '../../tools/show.ts'
import { beginning } from '../../tools/text.ts'
import { ANSWER_TOKENS, beginningWithin, endingWithin, tokensAtMost } from '../../tools/tokens.ts'
import { ALLOWED } from '../journal/entries.ts'
import type { ResolvedKernel } from '../kernels/wanted.ts'
import { cutMark, ending, isPlain, type PlainOptions, plain, type TextStore, WHOLE } from '../text/texts.ts'

/** Of an error's message; more than images cut theirs to. */
const MESSAGE_CHARS = 6 * 1024

/** How a call ended, once it has: a call that rises has not. */
export type FinalOutcome = Exclude<Outcome, { type: 'rises' }>

/** As the journal names how a call ended. `tool`: of a call that was dispatched. */
export function codeOf(outcome: Outcome, tool?: Pick<Tool, 'forHost'>): string {
  if (outcome.type === 'ok' && tool?.forHost !== undefined) return ALLOWED
  return outcome.type === 'failed' ? outcome.error.code : outcome.type
}

/** An outcome within the bounds of an answer. What is cut can be read by its handle. */
export function bounded(outcome: Outcome, texts: Pick<TextStore, 'keep'>): FinalOutcome {
  switch (outcome.type) {
    case 'ok':
      return { type: 'ok', result: bound(outcome.result, texts) }
    case 'failed':
      return { type: 'failed', error: boundedError(outcome.error, texts) }
    case 'rises':
      return failedInside('handler_fault', {
        message: `It rose to ${outcome.level} and no further.`,
      }) as FinalOutcome
    default:
      return outcome satisfies never
  }
}

function boundedError(error: ToolError, texts: Pick<TextStore, 'keep'>): ToolError {
  const details = bound(error.details, texts) as Readonly<Record<string, unknown>>
  const message = cutText(
    error.message,
    MESSAGE_CHARS,
    () => `; all of it: read_more ${texts.keep(error.message)}`,
  )
  return { ...error, message, details }
}

/** What a caller is to know of how the kernel of its call was found: begun, attached, waited for, or in place of a lost one. */
export function noticeOf(place: Omit<ResolvedKernel, 'kernel'> | undefined): string | undefined {
  if (place === undefined) return undefined
  const { name, begun, elsewhere = '', besides } = place
  if (begun) return `${name} is a new and empty image: nothing of a running program is in it.${elsewhere}`
  const lines = [
    ...foundAs(place),
    ...(place.leftBy === undefined ? [] : [`${name} was ${place.leftBy}.`]),
    ...(besides === undefined
      ? []
      : [`From ${name} (process ${besides.pid}), and not from ${listed(besides.names)}.`]),
  ]
  return lines.length === 0 ? undefined : lines.join('\n')
}

function foundAs({ name, replaces, joined, waited }: Omit<ResolvedKernel, 'kernel'>): readonly string[] {
  if (waited) return [`${name} had ended, and this call waited until another process took its place.`]
  if (joined !== undefined) {
    const { program, cwd } = joined.attached ?? { program: null, cwd: null }
    const what = program === null ? '' : `, ${program}`
    const goes = joined.takesCalls ? ' Calls without a kernel go there.' : ''
    return [
      `${name} (process ${joined.pid}${what}) listens in ${cwd ?? 'this project'} and was attached.${goes}`,
    ]
  }
  if (replaces === undefined) return []
  const [how = ''] = replaces.split(/(?: Its last words:)?\n/)
  return [`This is a new and empty image of ${name}. The one before is gone: ${how}`]
}

/** Names that are listed before the rest is counted. */
const LISTED = 3

function listed(names: readonly string[]): string {
  const more = names.length - LISTED
  return [...names.slice(0, LISTED), ...(more > 0 ? [`${more} more`] : [])].join(', ')
}

/**
 * The first answer of an image that was started in place of a lost one says so, whatever else it says: names that
 * are gone are a riddle otherwise.
 */
export function noticed(outcome: FinalOutcome, notice: string | undefined): FinalOutcome {
  if (notice === undefined) return outcome
  if (outcome.type === 'failed') {
    const { details } = outcome.error
    const told = { ...details, notice: both(notice, details.notice) }
    return { type: 'failed', error: { ...outcome.error, details: told } }
  }
  const { result } = outcome
  if (!isRecord(result)) return outcome
  return { type: 'ok', result: { ...result, notice: both(notice, result.notice) } }
}

/** The same for a call that may have to begin again, and then says nothing yet. */
export const withNotice = (outcome: Outcome, notice: string | undefined): Outcome =>
  outcome.type === 'rises' ? outcome : noticed(outcome, notice)

const both = (one: string, other: unknown): string => (typeof other === 'string' ? `${one}\n${other}` : one)

/** The one form in which every call is answered. */
export function enveloped(ended: FinalOutcome): Envelope {
  return ended.type === 'ok' ? { ok: true, result: ended.result } : { ok: false, error: ended.error }
}

/** An answer as a model is given it. */
export interface Told {
  readonly text: string
  /** Beside the text, where that was asked for. */
  readonly data?: Envelope
}

/**
 * What a model is given of an answer: its text and, where that was asked for, its data, together within
 * `ANSWER_TOKENS`. What is cut says which handle leads to all of it.
 */
export function toldWithin(
  { envelope, tool, structured }: { envelope: Envelope; tool: Tool; structured: boolean },
  texts: Pick<TextStore, 'keep'>,
): Told {
  const whole = textOf(envelope, tool)
  if (!structured) return { text: shortened(whole, ANSWER_TOKENS, texts) }
  const data = tokensAtMost(json(envelope), ANSWER_TOKENS)
  const text = shortened(whole, Math.max(ANSWER_TOKENS / 2, ANSWER_TOKENS - data), texts)
  return { text, data: envelopeWithin(envelope, ANSWER_TOKENS - tokensAtMost(text), texts) }
}

/** A result that its tool cannot put into words is shown as data: it has been come by, and is not lost. */
function textOf(envelope: Envelope, tool: Tool): string {
  try {
    return showEnvelope(envelope, tool)
  } catch {
    return json(envelope, 2)
  }
}

/** Tokens of what stands where a text was cut. */
const MARK_TOKENS = 60

/** The beginning and the end of a text that is too long. */
function shortened(text: string, tokens: number, texts: Pick<TextStore, 'keep'>): string {
  if (tokensAtMost(text, tokens) <= tokens) return text
  const room = tokens - MARK_TOKENS
  const head = beginningWithin(text, room * 0.75)
  const tail = endingWithin(text, room * 0.25)
  const cut = text.length - head.length - tail.length
  return head + cutMark(cut, `; for more: read_more ${texts.keep(text)} from ${head.length}`) + tail
}

/** Tokens of an envelope without what is in it. */
const ENVELOPE_TOKENS = 60

function envelopeWithin(envelope: Envelope, tokens: number, texts: Pick<TextStore, 'keep'>): Envelope {
  if (tokensAtMost(json(envelope), tokens) <= tokens) return envelope
  const room = tokens - ENVELOPE_TOKENS
  if (envelope.ok) return { ok: true, result: boundWithin(envelope.result, room, texts) }
  const { error } = envelope
  const [message, next] = [error.message, error.next].map(text => text && shortened(text, room / 4, texts))
  const details = boundWithin(error.details, room / 2, texts) as ToolError['details']
  return { ok: false, error: { ...error, message: message ?? '', next: next ?? null, details } }
}

/** Data that costs at most so many tokens as JSON: cut as `bound` cuts it. */
function boundWithin(result: unknown, tokens: number, texts: Pick<TextStore, 'keep'>): unknown {
  const isWithin = (value: unknown) => tokensAtMost(json(value), tokens) <= tokens
  if (isWithin(result)) return result
  const keeper = openKeeper(result, texts)
  const cut = (limits: Limits, where: Where) => flagged(plain(result, showing(limits, where)))
  for (let limits = WIDEST; limits.items >= NARROWEST.items; limits = narrower(limits))
    if (isWithin(cut(limits, () => LONGEST_WHERE))) return cut(limits, keeper.where)
  return { truncated: true, text: shortened(keeper.all, tokens - ENVELOPE_TOKENS, texts) }
}

/** As long as what stands where something is cut ever is. */
const LONGEST_WHERE = '; all of it: read_more @txt.1000000'

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

const UNCUT = (): PlainOptions => ({ ...WHOLE, budget: { left: RESULT_CHARS } })

function fits(result: unknown): boolean {
  try {
    return isPlain(result, { left: RESULT_CHARS })
  } catch {
    return false
  }
}

/** A walk stops as soon as it has seen too much, so that trying costs the same for a result of any size. */
function fitsWithin(result: unknown, how: () => PlainOptions): boolean {
  const tried = how()
  plain(result, tried)
  return tried.budget.left >= 0
}

function narrower({ chars, items }: Limits): Limits {
  return chars > NARROWEST.chars ? { chars: chars / 2, items } : { chars, items: items / 2 }
}

/** How to get at the rest of a text that is cut; without a text, at the whole result. */
type Where = (text?: string) => string

function showing({ chars, items }: Limits, where: Where): PlainOptions {
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

const flagged = (value: unknown): unknown => (isRecord(value) ? { ...value, truncated: true } : value)

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
      all ??= json(result, 1)
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

function json(value: unknown, indent = 0): string {
  try {
    return JSON.stringify(plain(value, WHOLE), null, indent) ?? 'null'
  } catch {
    return 'The result is longer than any text can be.'
  }
}
