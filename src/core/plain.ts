/** Deeper than this a value is written as text. */
const DEPTH = 32

/**
 * Characters that a value takes in an answer, roughly; `undefined` if JSON would not hold it as it is: another
 * prototype, a number that is not finite, a cycle, or nesting deeper than an answer shows.
 */
export function plainSize(value: unknown, depth = 0): number | undefined {
  if (value === null || value === undefined) return 4
  switch (typeof value) {
    case 'string':
      return value.length + 2
    case 'boolean':
      return 5
    case 'number':
      return Number.isFinite(value) ? 8 : undefined
    case 'object':
      return depth < DEPTH ? contentsSize(value, depth) : undefined
    default:
      return undefined
  }
}

function contentsSize(value: object, depth: number): number | undefined {
  const list = Array.isArray(value)
  if (!list && !isPlainObject(value)) return undefined
  let sum = 2
  for (const key in value) {
    const size = plainSize((value as Readonly<Record<string, unknown>>)[key], depth + 1)
    if (size === undefined) return undefined
    sum += size + (list ? 1 : key.length + 4)
  }
  return sum
}

/** The same as data that JSON holds. What it cannot hold is written as text. */
export function plain(value: unknown, above: readonly object[] = []): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value : String(value)
    case 'object':
      return value === null ? null : attempt(() => plainContents(value, above))
    case 'undefined':
      return null
    default:
      return attempt(() => `[${typeof value}] ${String(value)}`.slice(0, 1_000))
  }
}

function plainContents(value: object, above: readonly object[]): unknown {
  if (above.includes(value)) return '[circular]'
  if (above.length === DEPTH) return '[deeper]'
  const here = [...above, value]
  if (Array.isArray(value)) return value.map(item => plain(item, here))
  if (value instanceof Error) return `${value.name}: ${value.message}`
  if (value instanceof Date) return String(value)
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (value instanceof Map || value instanceof Set) return plain([...value], here)
  const keys = Object.keys(value)
  return Object.fromEntries(
    keys.map(key => [key, attempt(() => plain(Reflect.get(value, key), here))]).filter(hasValue),
  )
}

const hasValue = ([, value]: readonly unknown[]) => value !== undefined

function attempt(read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    return `[cannot be shown: ${error instanceof Error ? error.message : 'it threw'}]`
  }
}

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && !('toJSON' in value)
}
