import { markOf, type PolicyText, readPolicyFile } from './file.ts'
import type { KnownTools } from './named-tools.ts'
import type { Acceptance, Accepted, Found, Records } from './records.ts'
import { type HeldRule, type Loosening, settle } from './settling.ts'
import type { PolicyPlace } from './written.ts'

/** What holds of one file now. The same object, as long as nothing of it has changed. */
export interface Looked {
  readonly place: PolicyPlace
  readonly text: PolicyText
  readonly held: readonly HeldRule[]
  readonly waiting: readonly Loosening[]
  /** Why the file, or what was accepted of it, cannot be relied on. */
  readonly problem: string | undefined
  /** Undefined where the record is broken, and where nobody has to accept anything. */
  readonly acceptance: Acceptance | undefined
}

/** News for the journal: what is in force has changed. */
export interface PolicyChange {
  readonly file: string
  /** Of the file as it was then; empty where it was not there. */
  readonly sha256: string
  readonly what: string
}

export interface FilePolicyOptions {
  readonly place: PolicyPlace
  /** Left out: whatever stands in the file holds. */
  readonly records: Records | undefined
  /** Left out: rules may be about any tool. */
  readonly tools: KnownTools | undefined
  changed(change: PolicyChange): void
  /** Something went wrong that costs nobody anything now. */
  log(sentence: string, error: unknown): void
}

/** One file of rules, between what stands in it and what a person has accepted. */
export class FilePolicy {
  readonly #options: FilePolicyOptions
  #mark = ''
  #looked: Looked | undefined

  constructor(options: FilePolicyOptions) {
    this.#options = options
  }

  /** What holds now, from the file as it is. Reads it again only where it may have changed. */
  look(): Looked {
    const { place, tools } = this.#options
    const { mark, settled } = markOf(place.file)
    if (this.#looked !== undefined && this.#mark === mark) return this.#looked
    const before = this.#looked
    const text = readPolicyFile(place, { tools, before: before?.text })
    // A problem may pass without a change of the file, such as a want of descriptors.
    this.#mark = settled && text.problem === undefined ? mark : ''
    if (before !== undefined && sameText(before.text, text)) return before
    this.#looked = this.#judged(text)
    return this.#looked
  }

  /** Reads the file whatever it looks like, and says what holds. */
  lookAgain(): Looked {
    this.#mark = ''
    return this.look()
  }

  /** A person has accepted what stands in the file: all of it holds, and nothing else. Throws where that cannot be kept. */
  accept(looked: Looked, by: string): void {
    const { place, records } = this.#options
    const { text } = looked
    records?.accept(place, { acceptance: { how: 'person', by, at: now() }, rules: [...text.rules] })
    this.#looked = this.#judged(text)
    this.#tell(text, `accepted by ${by}`)
  }

  #judged(text: PolicyText): Looked {
    const { place, records } = this.#options
    if (records === undefined) {
      const { rules: held, problem } = text
      return { place, text, held, waiting: [], problem, acceptance: undefined }
    }
    const found = this.#found(records, text)
    const { held, waiting, tightened } = settle(text, found)
    if (tightened !== undefined && found.type === 'accepted')
      this.#keep({ ...found.accepted, rules: tightened }, { records, text, what: 'tightened' })
    const acceptance = found.type === 'accepted' ? found.accepted.acceptance : undefined
    const broken = found.type === 'broken' ? `${found.why} ${ACCEPT_AGAIN}` : undefined
    return { place, text, held, waiting, problem: text.problem ?? broken, acceptance }
  }

  /** What stands in a file at its first sight is accepted; of one that is not in order, nothing is. */
  #found(records: Records, text: PolicyText): Found {
    const { place } = this.#options
    const found = records.find(place)
    if (found.type !== 'none') return found
    const rules = text.problem === undefined ? [...text.rules] : []
    const accepted = { acceptance: { how: 'first_sight' as const, by: null, at: now() }, rules }
    // A project that says nothing can only tighten later, which needs no record.
    if (place.type === 'user' || rules.length > 0)
      this.#keep(accepted, { records, text, what: 'accepted at first sight' })
    return { type: 'accepted', accepted }
  }

  #keep(accepted: Accepted, o: { records: Records; text: PolicyText; what: string }) {
    const { place, log } = this.#options
    try {
      o.records.tighten(place, accepted)
    } catch (error) {
      log(`What was accepted of ${place.file} cannot be kept.`, error)
    }
    this.#tell(o.text, o.what)
  }

  #tell({ sha256 }: PolicyText, what: string): void {
    this.#options.changed({ file: this.#options.place.file, sha256: sha256 ?? '', what })
  }
}

const ACCEPT_AGAIN = 'imago policy accept shows what stands in the file now, and a person accepts it anew.'

const now = () => new Date().toISOString()

function sameText(one: PolicyText, other: PolicyText): boolean {
  return one.sha256 === other.sha256 && one.problem === other.problem
}
