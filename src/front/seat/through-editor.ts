import { randomInt } from 'node:crypto'
import { newCode } from '../../approvals/plan-answers.ts'
import type { Clock } from '../../clock.ts'
import type { Process } from './rule.ts'

/** A program without a terminal: a process, or one tab of a browser by its session, whose process is not known. */
export type Editor = Pick<Process, 'pid' | 'started'> | { readonly page: string }

/** A seat of such a program. */
export type ThroughEditor = Editor & {
  /** A person let it in who was told what may drive it. */
  readonly isTold: boolean
}

/** A short code by which a person knows the editor that shows it. It grants nothing: whoever has it needs a seat as well. */
export const editorCode = (): string => newCode(randomInt).slice(0, 9)

/** How long after its connection broke an editor may come back without being asked about, in milliseconds. */
const RESUME_MS = 60_000

/** The seats whose connection has broken, by the secrets that they were given; in memory alone. */
export class Resumptions {
  readonly #clock: Clock
  readonly #broken = new Map<string, ThroughEditor>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  broke(secret: string, editor: ThroughEditor): void {
    this.#broken.set(secret, editor)
    this.#clock.after(RESUME_MS, () => this.#broken.delete(secret))
  }

  /** The seat that comes back; undefined where the secret is not of that editor. A secret works once, whoever has it. */
  take(secret: string, editor: Editor): ThroughEditor | undefined {
    const seat = this.#broken.get(secret)
    this.#broken.delete(secret)
    return seat !== undefined && isSame(seat, editor) ? seat : undefined
  }
}

function isSame(one: Editor, other: Editor): boolean {
  if ('page' in one || 'page' in other) return 'page' in one && 'page' in other && one.page === other.page
  return one.pid === other.pid && one.started === other.started
}
