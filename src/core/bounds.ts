import { beginning, cutMark, ending } from './cut.ts'
import { plain, plainSize } from './plain.ts'
import type { TextStore } from './texts.ts'

/** Characters of a whole result. */
export const RESULT_CHARS = 64 * 1024
/** Texts longer than this get a handle of their own when they are cut, at most so many. */
const OWN_HANDLE_CHARS = 4 * 1024
const OWN_HANDLES = 8

/** How long one text, and one list, may be. */
interface Limits {
  readonly chars: number
  readonly items: number
}
const WIDEST: Limits = { chars: RESULT_CHARS / 2, items: 4_096 }
/** Below this a cut shows too little to be of use; what still does not fit is then answered as text. */
const NARROWEST: Limits = { chars: 256, items: 8 }

/**
 * A result that fits into an answer. What fits is returned as it is. Otherwise the longest texts and lists are cut,
 * shorter and shorter until the whole fits; each cut says how much is missing and which handle leads to it, and an
 * object is given `truncated`. What JSON cannot hold becomes text. Never throws, never loses a result.
 */
export function bound(result: unknown, texts: Pick<TextStore, 'keep'>): unknown {
  if (fits(result)) return result
  const whole = plain(result)
  if (fits(whole)) return whole
  const keeper = openKeeper(whole, texts)
  for (let limits = WIDEST; ; limits = narrower(limits)) {
    if ((plainSize(cut(whole, limits, () => '')) ?? 0) <= RESULT_CHARS)
      return flagged(cut(whole, limits, text => keeper.where(text)))
    if (limits.chars <= NARROWEST.chars && limits.items <= NARROWEST.items) return asText(whole, keeper)
  }
}

function fits(value: unknown): boolean {
  try {
    return (plainSize(value) ?? Number.POSITIVE_INFINITY) <= RESULT_CHARS
  } catch {
    return false
  }
}

const narrower = ({ chars, items }: Limits): Limits => ({
  chars: Math.max(NARROWEST.chars, chars / 2),
  items: Math.max(NARROWEST.items, items / 2),
})

/** `where` says how to get at the rest of a text that is cut; without a text, at the whole result. */
function cut(value: unknown, limits: Limits, where: (text?: string) => string): unknown {
  if (typeof value === 'string') return cutText(value, limits, where)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const shown = value.slice(0, limits.items).map(item => cut(item, limits, where))
    const missing = value.length - shown.length
    return missing === 0 ? shown : [...shown, `… [${missing.toLocaleString('en-US')} more items${where()}] …`]
  }
  const entries = Object.entries(value)
  const shown = entries.slice(0, limits.items).map(([key, item]) => [key, cut(item, limits, where)])
  const missing = entries.length - shown.length
  if (missing > 0) shown.push(['…', `[${missing.toLocaleString('en-US')} more entries${where()}]`])
  return Object.fromEntries(shown)
}

function cutText(text: string, { chars }: Limits, where: (text?: string) => string): string {
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

function asText(whole: unknown, keeper: Keeper): unknown {
  const text = json(whole) ?? 'The result is too large to be written as text.'
  return { truncated: true, text: cutText(text, { ...NARROWEST, chars: 16_384 }, () => keeper.where()) }
}

interface Keeper {
  /** How to get at the rest, to be put into a mark. */
  where(text?: string): string
}

/** Keeps what is cut, each text once: long ones by themselves, everything else as part of the whole result. */
function openKeeper(whole: unknown, texts: Pick<TextStore, 'keep'>): Keeper {
  const own = new Map<string, string>()
  let all: string | undefined

  function handleOfAll(): string | undefined {
    const text = all === undefined ? json(whole) : undefined
    if (text !== undefined) all = texts.keep(text)
    return all
  }
  function handleOf(text: string): string | undefined {
    const known = own.get(text)
    if (known !== undefined) return known
    if (text.length < OWN_HANDLE_CHARS || own.size === OWN_HANDLES) return handleOfAll()
    const handle = texts.keep(text)
    own.set(text, handle)
    return handle
  }

  return {
    where(text) {
      const handle = text === undefined ? handleOfAll() : handleOf(text)
      return handle === undefined ? '' : `; all of it: read_more ${handle}`
    },
  }
}

/** `undefined` if the text would be longer than a string can be. */
function json(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, null, 1)
  } catch {
    return undefined
  }
}
