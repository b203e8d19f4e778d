/** Deeper than this nothing is shown. */
const DEPTH = 32

/** What a walk over a value may still take, in characters of an answer. Below zero it has been given up. */
interface Budget {
  left: number
}

/**
 * Whether JSON would hold the value as it is, within the budget: no other prototypes, no numbers that are not finite,
 * no cycles, no nesting that is too deep. May throw what a getter throws.
 */
export function isPlain(value: unknown, budget: Budget, depth = 0): boolean {
  budget.left -= sizeOf(value)
  if (budget.left < 0) return false
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return true
    case 'number':
      return Number.isFinite(value)
    case 'object':
      return value === null || (depth < DEPTH && isPlainInside(value, budget, depth + 1))
    default:
      return false
  }
}

function isPlainInside(value: object, budget: Budget, depth: number): boolean {
  if (Array.isArray(value)) return value.every(item => isPlain(item, budget, depth))
  const prototype: unknown = Object.getPrototypeOf(value)
  if ((prototype !== Object.prototype && prototype !== null) || 'toJSON' in value) return false
  return Object.entries(value).every(([key, item]) => {
    budget.left -= key.length + 4
    return isPlain(item, budget, depth)
  })
}

/** How much of a value is shown. */
export interface Showing {
  readonly budget: Budget
  /** Items of one list, or entries of one object. */
  readonly items: number
  /** A text as it is shown. */
  text(text: string): string
  /** What stands for so many more items. */
  missing(count: number): string
}

/** All of it. */
export const WHOLE: Showing = {
  budget: { left: Number.POSITIVE_INFINITY },
  items: Number.POSITIVE_INFINITY,
  text: text => text,
  missing: () => '',
}

/** The value as data that JSON holds, as far as it is shown. What JSON cannot hold is written as text. Never throws. */
export function plain(value: unknown, showing: Showing, above: readonly object[] = []): unknown {
  if (showing.budget.left < 0) return null
  const shown = attempt(() =>
    typeof value === 'object' && value !== null ? contents(value, showing, above) : scalar(value, showing),
  )
  showing.budget.left -= sizeOf(shown)
  return shown
}

/** Without what is in it: that is counted by itself. */
function sizeOf(value: unknown): number {
  return typeof value === 'string' ? value.length + 2 : 8
}

function scalar(value: unknown, showing: Showing): unknown {
  switch (typeof value) {
    case 'string':
      return showing.text(value)
    case 'number':
      return Number.isFinite(value) ? value : String(value)
    case 'bigint':
      return showing.text(String(value))
    case 'function':
      return `[function ${value.name}]`.slice(0, 200)
    case 'symbol':
      return String(value).slice(0, 200)
    default:
      return value
  }
}

function contents(value: object, showing: Showing, above: readonly object[]): unknown {
  if (above.includes(value)) return '[circular]'
  if (above.length === DEPTH) return '[deeper]'
  const here = [...above, value]
  if (Array.isArray(value)) return list(value, showing, here)
  if (value instanceof Map || value instanceof Set) return list([...value], showing, here)
  if (value instanceof Error) return showing.text(`${value.name}: ${value.message}`)
  if (value instanceof Date) return String(value)
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  return entries(value, showing, here)
}

function list(value: readonly unknown[], showing: Showing, here: readonly object[]): unknown[] {
  const shown = value.slice(0, showing.items).map(item => plain(item, showing, here))
  return shown.length === value.length ? shown : [...shown, showing.missing(value.length - shown.length)]
}

function entries(value: object, showing: Showing, here: readonly object[]): unknown {
  const keys = Object.keys(value)
  const shown: [string, unknown][] = keys.slice(0, showing.items).map(key => {
    showing.budget.left -= key.length + 4
    return [key, attempt(() => plain(Reflect.get(value, key), showing, here))]
  })
  if (shown.length < keys.length) shown.push(['…', showing.missing(keys.length - shown.length)])
  return Object.fromEntries(shown)
}

function attempt(read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    return `[cannot be shown: ${error instanceof Error ? error.message.slice(0, 200) : 'it threw'}]`
  }
}
