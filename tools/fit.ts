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
