import { oneLine } from '../../tools/wording.ts'
import type { Evaluated, Suspension } from '../../wire/kernel.ts'
import { beginning } from './cut.ts'
import { escapePlanLine } from './escape.ts'
import type { OpenSuspension } from './journal.ts'
import type { Leased } from './leased.ts'
import type { EndedHow } from './suspended-row.ts'

/** What callers are told of evaluations that are, or were, theirs: each a sentence or two with what can be done now. */

const MESSAGE_CHARS = 200

/** It ended, and not by the hand of whoever is told. */
export function endedText(
  leased: Leased,
  { how, message, by }: { readonly how: EndedHow; readonly message: string; readonly by: string | null },
): string {
  const said = [`${called(leased)} is suspended no more.`, endedIn(how, by), line(message), leased.came ?? '']
  return said.filter(sentence => sentence !== '').join(' ')
}

/** What one came to that somebody else had go on; undefined where how it ended says that. */
export function cameToText(evaluated: Evaluated): string | undefined {
  switch (evaluated.type) {
    case 'done': {
      const values = evaluated.values.map(({ repr }) => repr.text).join(', ')
      return values === '' ? 'It came to its end, without a value.' : `It came to ${line(values)}`
    }
    case 'raised':
      return `It ended with an error: ${error(evaluated.exception)}`
    case 'suspended':
      return `It is suspended again, as ${evaluated.suspension.id}: ${error(evaluated.suspension)}`
    case 'interrupted':
      return 'It was interrupted.'
    case 'left':
    case 'refused':
    case 'withdrawn':
      return undefined
    default:
      return evaluated satisfies never
  }
}

/** It was suspended under a daemon that was lost. */
export const lostText = ({
  suspension,
  kernel,
  why,
}: Pick<OpenSuspension, 'suspension' | 'kernel' | 'why'>) =>
  `${suspension} in ${kernel}${why === undefined ? '' : ` (${line(why)})`} is suspended no more. ` +
  'The daemon that kept it has ended, and it with that one. Nothing of it goes on.'

/** A person, `by`, holds it now instead of whoever is told. */
export const takenText = (leased: Leased, by: string): string =>
  `${called(leased)} was taken over by ${line(by)}. You can look at it; to act on it again, have it handed to you.`

/** A person, `by`, has given what was theirs who are told to `to`; null: to whoever comes first. */
export const handedText = (leased: Leased, { by, to }: { readonly by: string; readonly to: string | null }) =>
  `${called(leased)} was put before ${to === null ? 'whoever comes first' : line(to)} by ${line(by)}.`

/** A person, `by`, has put it before whoever is told, or before whoever comes first. */
export function offeredText(leased: Leased, by: string): string {
  const { life, suspension, claim } = leased
  const whom = claim.type === 'anyone' ? 'whoever comes first' : 'you'
  const args = JSON.stringify({ suspension: suspension.id, kernel: life.name })
  return `${line(by)} has put ${called(leased)} before ${whom}: debug_state ${args} shows it.`
}

/** `s3@ab12 in shop (ZeroDivisionError: division by zero)` */
const called = ({ life, suspension }: Leased): string =>
  `${suspension.id} in ${life.name} (${error(suspension)})`

const error = ({ type, message }: Pick<Suspension, 'type' | 'message'>): string =>
  line(`${type.name}: ${message}`)

function endedIn(how: EndedHow, by: string | null): string {
  const who = by === null ? 'Somebody' : line(by)
  switch (how) {
    case 'resumed':
      return `${who} had it go on.`
    case 'left':
      return `${who} has left it.`
    case 'expired':
      return 'Nobody came in time, and it was aborted.'
    case 'within':
      return 'What it stood on has ended.'
    case 'lost':
      return 'It was lost.'
    default:
      return how satisfies never
  }
}

const line = (text: string) => escapePlanLine(beginning(oneLine(text), MESSAGE_CHARS))
