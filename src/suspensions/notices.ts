import { oneLine } from '../../tools/text.ts'
import type { Evaluated, Suspension } from '../../wire/kernel.ts'
import type { OpenSuspension } from '../journal/entries.ts'
import { escapePlanLine } from '../text/escape.ts'
import { beginning } from '../text/texts.ts'
import type { EndedHow } from './rows.ts'

/** What owners are told of their suspended evaluations with the next answer of any tool. */

/** Callers for whom notices are kept at once, and notices for each: the oldest make room, and are counted. */
const MOST = { keys: 64, each: 16 } as const

/** What somebody is to be told, a sentence or two. */
interface Notice {
  /** The suspension, by its id: a later notice about the same one takes its place. */
  readonly about: string
  readonly text: string
}

/** Notices by the key of who is to be told. Each is told once. */
export class Notices {
  readonly #kept = new Map<string, { readonly notices: Map<string, string>; dropped: number }>()

  get empty(): boolean {
    return this.#kept.size === 0
  }

  add(key: string, { about, text }: Notice): void {
    const kept = this.#kept.get(key) ?? { notices: new Map<string, string>(), dropped: 0 }
    this.#kept.delete(key)
    this.#kept.set(key, kept)
    kept.notices.delete(about)
    kept.notices.set(about, text)
    const [first] = kept.notices.keys()
    if (kept.notices.size > MOST.each && first !== undefined) {
      kept.notices.delete(first)
      kept.dropped++
    }
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > MOST.keys && oldest !== undefined) this.#kept.delete(oldest)
  }

  /** What was to be told of that one is not so any more. */
  withdraw(key: string, about: string): void {
    const kept = this.#kept.get(key)
    kept?.notices.delete(about)
    if (kept?.notices.size === 0 && kept.dropped === 0) this.#kept.delete(key)
  }

  /** What is kept under any of these keys, which is kept no more. */
  take(keys: readonly string[]): readonly string[] {
    return keys.flatMap(key => {
      const kept = this.#kept.get(key)
      this.#kept.delete(key)
      if (kept === undefined) return []
      const more = kept.dropped === 0 ? [] : [`(${kept.dropped} earlier notices were dropped.)`]
      return [...more, ...kept.notices.values()]
    })
  }
}

/** A suspended evaluation, and the name of its kernel. */
interface Subject {
  readonly kernel: string
  readonly suspension: Suspension
}

/** Characters of an error, or of a value, in a notice. */
const MESSAGE_CHARS = 200

/** It has ended, and not by whoever is told. `came`: what it came to, a sentence, where it was resumed. */
export function endedText(
  subject: Subject,
  end: {
    readonly how: EndedHow
    readonly message: string
    readonly by: string | null
    readonly came: string | undefined
  },
): string {
  const { how, message, by, came = '' } = end
  const said = [`${nameOf(subject)} is suspended no more.`, ENDED[how](line(by ?? 'Somebody')), line(message)]
  return [...said, came].filter(sentence => sentence !== '').join(' ')
}

const ENDED: Readonly<Record<EndedHow, (by: string) => string>> = {
  resumed: by => `${by} has resumed it.`,
  left: by => `${by} has left it.`,
  expired: () => 'Nobody came in time, and it was aborted.',
  within: () => 'What it stood on has ended.',
  lost: () => 'It was lost.',
}

/** What an evaluation came to that was resumed; undefined where how it ended says that. */
export function cameToText(evaluated: Evaluated): string | undefined {
  switch (evaluated.type) {
    case 'done': {
      const values = evaluated.values.map(({ repr }) => repr.text).join(', ')
      return values === '' ? 'It came to its end, without a value.' : `It came to ${line(values)}`
    }
    case 'raised':
      return `It ended with an error: ${errorLine(evaluated.exception)}`
    case 'suspended':
      return `It is suspended again, as ${evaluated.suspension.id}: ${errorLine(evaluated.suspension)}`
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
export const lostText = ({ suspension, kernel, why }: OpenSuspension): string =>
  `${suspension} in ${kernel}${why === undefined ? '' : ` (${line(why)})`} is suspended no more. ` +
  'The daemon that kept it has ended, and it with that one. Nothing of it goes on.'

/** `by`, a person, owns it now. */
export const takenText = (subject: Subject, by: string): string =>
  `${nameOf(subject)} was taken over by ${line(by)}. You can look at it, and not act on it.`

/** `by`, a person, has put before the agents of its project what was theirs who are told. */
export const handedText = (subject: Subject, by: string): string =>
  `${nameOf(subject)} was put before the agents of its project by ${line(by)}.`

/** The same, as the agents are told. */
export function offeredText(subject: Subject, by: string): string {
  const args = JSON.stringify({ suspension: subject.suspension.id, kernel: subject.kernel })
  return `${line(by)} has put ${nameOf(subject)} before the agents of this project: debug_state ${args} shows it.`
}

/** `s3@ab12 in shop (ZeroDivisionError: division by zero)` */
const nameOf = ({ kernel, suspension }: Subject): string =>
  `${suspension.id} in ${kernel} (${errorLine(suspension)})`

const errorLine = ({ type, message }: Pick<Suspension, 'type' | 'message'>): string =>
  line(`${type.name}: ${message}`)

const line = (text: string): string => escapePlanLine(beginning(oneLine(text), MESSAGE_CHARS))
