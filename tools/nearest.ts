/** At most this many characters of two names are compared, so that the cost of a miss is bounded. */
const COMPARED = 64

const SHOWN = 3

/**
 * The names most like `wanted`, best first, at most three, and none that is not really like it: up to a third of
 * its characters (two at least) may differ, or one of the two may begin with the other. Linear in the names.
 */
export function nearest(wanted: string, names: Iterable<string>): string[] {
  const text = wanted.slice(0, COMPARED).toLowerCase()
  if (text === '') return []
  const most = Math.max(2, Math.floor(text.length / 3))
  const found: { name: string; distance: number }[] = []
  for (const name of names) {
    const distance = likeness(text, name.slice(0, COMPARED).toLowerCase(), most)
    if (distance <= most) found.push({ name, distance })
  }
  return found
    .sort((one, other) => one.distance - other.distance || (one.name < other.name ? -1 : 1))
    .slice(0, SHOWN)
    .map(({ name }) => name)
}

/** How many edits lie between two names; one that begins with the other counts as one edit away. */
function likeness(one: string, other: string, most: number): number {
  if (one === other) return 0
  const shorter = Math.min(one.length, other.length)
  if (shorter >= 3 && (one.startsWith(other) || other.startsWith(one))) return 1
  return edits({ one, other, most })
}

/**
 * Optimal string alignment distance: insertions, deletions, replacements, and neighbours swapped. Anything above
 * `most` may be answered as `most + 1`, and only cells that near to the diagonal are computed.
 */
function edits({ one, other, most }: { one: string; other: string; most: number }): number {
  if (Math.abs(one.length - other.length) > most) return most + 1
  const far = most + 1
  let before = new Uint8Array(other.length + 1)
  let last = Uint8Array.from(before, (_, index) => index)
  let here = new Uint8Array(other.length + 1)
  for (let row = 1; row <= one.length; row++) {
    here.fill(far)
    here[0] = row
    const to = Math.min(other.length, row + most)
    const [letter, earlier] = [one.charCodeAt(row - 1), one.charCodeAt(row - 2)]
    let least = far
    for (let column = Math.max(1, row - most); column <= to; column++) {
      const there = other.charCodeAt(column - 1)
      let cell = Math.min(at(last, column), at(here, column - 1)) + 1
      cell = Math.min(cell, at(last, column - 1) + (letter === there ? 0 : 1))
      if (row > 1 && column > 1 && letter === other.charCodeAt(column - 2) && earlier === there)
        cell = Math.min(cell, at(before, column - 2) + 1)
      here[column] = cell
      least = Math.min(least, cell)
    }
    if (least > most && row > most) return far
    ;[before, last, here] = [last, here, before]
  }
  return at(last, other.length)
}

const at = (cells: Uint8Array, index: number): number => cells[index] ?? 0
