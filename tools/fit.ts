/**
 * Characters that a page may have: well below what an answer holds, so that a page is never cut in its middle and
 * `next` always leads on from the last thing that was shown.
 */
const PAGE_LENGTH = 40_000

/** The first of these whose sizes fit on a page together; one at least, however long it is. */
export function fitting<Item>(items: readonly Item[], sizeOf: (item: Item) => number): readonly Item[] {
  let size = 0
  const over = items.findIndex((item, index) => {
    size += sizeOf(item)
    return size > PAGE_LENGTH && index > 0
  })
  return over === -1 ? items : items.slice(0, over)
}

/** The same of a page of names; where it ends early, `next` leads on from the last name on it. */
export function fittingNames<Item extends { readonly name: string }>(
  page: { readonly items: readonly Item[]; readonly next?: string | undefined },
  sizeOf: (item: Item) => number,
): { items: readonly Item[]; next: { readonly next?: string } } {
  const items = fitting(page.items, sizeOf)
  const next = items.length === page.items.length ? page.next : items.at(-1)?.name
  return { items, next: next === undefined ? {} : { next } }
}

/** A value's characters as data, for what has no simpler measure. */
export const dataSize = (value: unknown): number => JSON.stringify(value)?.length ?? 0
