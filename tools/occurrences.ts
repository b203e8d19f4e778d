/**
 * Where `wanted` begins within `text`, each time, those that overlap included. Linear in both, whatever they are
 * (Knuth, Morris and Pratt), while a search that begins anew at each place is not.
 */
export function occurrences<Item>(text: ArrayLike<Item>, wanted: ArrayLike<Item>): number[] {
  if (wanted.length === 0) return []
  const back = borders(wanted)
  const found: number[] = []
  let same = 0
  for (let at = 0; at < text.length; at++) {
    while (same > 0 && text[at] !== wanted[same]) same = back[same - 1] ?? 0
    if (text[at] === wanted[same]) same++
    if (same < wanted.length) continue
    found.push(at + 1 - same)
    same = back[same - 1] ?? 0
  }
  return found
}

/** For each beginning of `wanted`, how much of it is its end as well. */
function borders<Item>(wanted: ArrayLike<Item>): Int32Array {
  const back = new Int32Array(wanted.length)
  let same = 0
  for (let at = 1; at < wanted.length; at++) {
    while (same > 0 && wanted[at] !== wanted[same]) same = back[same - 1] ?? 0
    if (wanted[at] === wanted[same]) same++
    back[at] = same
  }
  return back
}

/** The numbers of the lines in which these places are, counted from 1; the places rise. */
export function lineNumbers(text: string, places: readonly number[]): number[] {
  let line = 1
  let next = text.indexOf('\n')
  return places.map(place => {
    for (; next !== -1 && next < place; next = text.indexOf('\n', next + 1)) line++
    return line
  })
}
