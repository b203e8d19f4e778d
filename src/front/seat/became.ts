import { oneLine } from '../../../tools/wording.ts'

/** What is said of a plan after it was settled. */
export interface Ended {
  readonly id: string
  readonly title: string
  /** A clause, `approved`, or a sentence. */
  readonly what: string
}

/** What became of a plan, as the pieces of one line wherever that is said. */
export function became({ id, what, title }: Ended): readonly [id: string, what: string, title: string] {
  const told = oneLine(what)
  return title === '' ? [`${id} `, told, ''] : [`${id} `, told.replace(/\.$/, ''), `: ${oneLine(title)}`]
}
