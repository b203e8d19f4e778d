import { halfCharacter } from './file-arguments.ts'
import { counted } from './naming.ts'
import { type Failed, failed } from './outcome.ts'

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

/** A text to replace, and what is to stand there instead, as callers give them. */
export interface Replacing {
  readonly old_str: string
  readonly new_str: string
}

/** Why these two texts say nothing that can be done, in whatever file. */
export function textFault({ old_str, new_str }: Replacing): Failed | undefined {
  if (old_str === '')
    return failed('invalid_args', {
      message: 'old_str is empty, which occurs everywhere. Nothing was changed.',
      details: { parameter: 'old_str' },
      next: 'Give the text to replace. To make a new file, or to write all of one, use write_file.',
    })
  if (old_str === new_str) return nothingToChange()
  return halfCharacter('old_str', old_str) ?? halfCharacter('new_str', new_str)
}

export function nothingToChange(): Failed {
  return failed('invalid_args', {
    message: 'old_str and new_str are the same, so that there is nothing to change.',
    details: { parameter: 'new_str' },
    next: 'Give in new_str what is to stand there instead.',
  })
}

/** Lines that are named where a text occurs more often than was said. */
const NAMED = 20

export interface Found {
  readonly text: string
  /** Where it begins; rising, and those that overlap included. */
  readonly places: readonly number[]
  readonly length: number
}

/** Why it is not clear which of these places is meant; `counts` where the caller can say how many there are. */
export function miscounted(
  found: Found & { readonly count: number; readonly shown: string; readonly counts: boolean },
): Failed | undefined {
  const { text, places, length, count, shown, counts } = found
  const overlap = places.some((place, index) => index > 0 && place < (places[index - 1] ?? 0) + length)
  if (places.length === count && !overlap) return undefined
  const lines = lineNumbers(text, places.slice(0, NAMED))
  const more = places.length > lines.length ? ', …' : ''
  const where = `${lines.length === 1 ? 'line' : 'lines'} ${lines.join(', ')}${more}`
  const often = `old_str occurs ${counted(places.length, 'time')} in ${shown} (${where})`
  const said = counts ? `where ${count} was said` : 'where it has to occur once'
  const all = counts ? `, or count ${places.length} to replace all of them` : ''
  return failed('no_unique_match', {
    message: overlap
      ? `${often}, and some of these overlap, so that it is not clear what to replace. Nothing was changed.`
      : `${often}, ${said}. Nothing was changed.`,
    details: { found: places.length, expected: count, lines },
    next: overlap
      ? 'Give more of the text around the place that is meant.'
      : `Give more of the text around the place that is meant${all}.`,
  })
}
