import { beginning, cutMark, ending } from './cut.ts'
import { isPlain, plain, type Showing, WHOLE } from './plain.ts'
import type { TextStore } from './texts.ts'

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
