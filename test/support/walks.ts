import type { Files } from '../../src/files/files.ts'
import type { Entry, ListOrder, Walk, WalkedEntry, WalkOrder } from '../../tools/contract.ts'
import type { Failed } from '../../tools/outcome.ts'

/** What a walk came to. */
export interface Walked {
  readonly walk: Walk
  readonly entries: readonly WalkedEntry[]
  /** As they are shown, folders with a slash behind them. */
  readonly paths: readonly string[]
}

const ENOUGH_MS = 60_000

export const walkOrder = (order: Partial<WalkOrder> = {}): WalkOrder => ({
  exclude: [],
  matching: [],
  ignored: false,
  after: undefined,
  signal: new AbortController().signal,
  ms: ENOUGH_MS,
  ...order,
})

export const listOrder = (order: Partial<ListOrder> = {}): ListOrder => ({
  by: 'name',
  limit: 1_000,
  after: undefined,
  ignored: false,
  hidden: true,
  signal: new AbortController().signal,
  ms: ENOUGH_MS,
  ...order,
})

type Place = ReturnType<Files['of']>

/** Walks to the end; `on` is told of each entry while it can be read. */
export async function walked(
  files: Place,
  o: { readonly path?: string; on?(entry: WalkedEntry): void } & Partial<WalkOrder> = {},
): Promise<Walked> {
  const { path = '.', on, ...order } = o
  const walk = seen(await files.walk(path, walkOrder(order)))
  const entries: WalkedEntry[] = []
  for await (const entry of walk.entries()) {
    on?.(entry)
    entries.push(entry)
  }
  return { walk, entries, paths: entries.map(pathOf) }
}

export const pathOf = ({ shown, kind }: Entry): string => (kind === 'folder' ? `${shown}/` : shown)

export function seen<Result extends { readonly type: string }>(result: Result | Failed): Result {
  if ('error' in result) throw new Error(`${result.error.code}: ${result.error.message}`)
  return result
}
