import { oneLine } from '../../../tools/wording.ts'

/** What is said of a plan after it was settled. */
export interface Ended {
  readonly id: string
  readonly title: string
  /** A clause: `approved`. */
  readonly what: string
}

/** What became of a plan, as the pieces of one line wherever that is said. */
export const became = ({ id, what, title }: Ended): readonly [id: string, what: string, title: string] => [
  `${id} `,
  oneLine(what),
  title === '' ? '' : `: ${oneLine(title)}`,
]
