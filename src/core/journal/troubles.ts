import type { JournalTrouble } from './entries.ts'
import { original, sentence } from './verification.ts'

/** What was found not to be what was written, until a person has taken note of it. */
export class Troubles {
  #list: readonly JournalTrouble[]
  /** Taken note of, and not yet written down. */
  #settling: readonly JournalTrouble[] = []

  constructor(list: readonly JournalTrouble[]) {
    this.#list = list
  }

  /** What the next header names. */
  get list(): readonly JournalTrouble[] {
    return this.#list
  }

  /** All of it for a person; undefined where there is none. */
  get sentence(): string | undefined {
    const all = [...this.#settling, ...this.#list]
    return all.length === 0 ? undefined : all.map(sentence).join(' ')
  }

  names(file: string): boolean {
    return [...this.#settling, ...this.#list].some(trouble => original(trouble.file) === original(file))
  }

  add(trouble: JournalTrouble): void {
    this.#list = [...this.#list, trouble]
  }

  /** A person has taken note of all there is; the answer is what. It counts once `acknowledged` is called. */
  acknowledging(): string[] {
    this.#settling = this.#list
    this.#list = []
    return this.#settling.map(sentence)
  }

  acknowledged(): void {
    this.#settling = []
  }

  restore(): void {
    this.#list = [...this.#settling, ...this.#list]
    this.#settling = []
  }
}
