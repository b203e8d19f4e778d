import type { Fate } from '../../tools/hunks.ts'
import type { Failed, Outcome } from '../../tools/outcome.ts'
import type { ProjectFiles } from '../../tools/proposal.ts'
import { withFates } from './chosen.ts'
import { decide, type Verdict } from './gate.ts'
import type { Passage } from './passage.ts'
import type { Plan } from './plan.ts'
import * as planRefusals from './plan-refusals.ts'

/** The tool whose rules say whether a caller may be told what is in a file. */
const READING = 'read_file'

/**
 * What a caller may be told of a call that was worked out from files, where no person has let it through: why it fails,
 * that there is nothing to do, what it would come to now. All of that can hold lines of those files, and tells what is
 * in them to whoever guesses. So it is told where `read_file` would be let at each of them without more ado; elsewhere
 * the caller learns that there is something which is not told, and nothing else.
 */
export class Disclosure {
  readonly #passage: Passage
  readonly #met = new Set<string>()

  constructor(passage: Passage) {
    this.#passage = passage
  }

  /** The real paths of all that was looked at so far. */
  get paths(): readonly string[] {
    return [...this.#met]
  }

  /** Those are what it is about, too. */
  meets(paths: readonly string[]): void {
    for (const path of paths) this.#met.add(path)
  }

  /** The same files; whatever is looked at through them is remembered. */
  over(files: ProjectFiles): ProjectFiles {
    const looking =
      (look: ProjectFiles['look']): ProjectFiles['look'] =>
      async path => {
        const seen = await look(path)
        this.meets(seen.type === 'failed' ? this.#realPath(path) : [seen.path])
        return seen
      }
    return {
      ...files,
      look: looking(files.look),
      lookForNew: looking(files.lookForNew),
      undone: async change => {
        const undone = await files.undone(change)
        const paths = undone.type === 'failed' ? undone.about : undone.files.map(({ path }) => path)
        this.meets(paths ?? [])
        return undone
      },
    }
  }

  /** What keeps `read_file` from one of them, by the rules that hold now; undefined where nothing does. */
  get closed(): Verdict | undefined {
    const { paths } = this
    if (paths.length === 0) return undefined
    const { rules } = this.#passage.policyOn(paths)
    const verdict = decide({ tool: READING, level: 'safe', kernel: null, paths, rules })
    return verdict.decision === 'allow' ? undefined : verdict
  }

  /** Instead of what tells of one of them; undefined where it may be told. */
  untold(): Failed | undefined {
    const { closed } = this
    return closed === undefined ? undefined : planRefusals.untold(this.#passage.tool, closed)
  }

  /** A plan that is out of date. */
  stale(o: { readonly plan: Plan; readonly causes: readonly string[]; readonly preview: unknown }): Failed {
    return planRefusals.stale(this.closed === undefined ? o : { plan: o.plan, causes: [MOVED] })
  }

  /** Choices of a person that make no plan; `why` is a sentence of the tool. */
  unusable(plan: Plan, why: string): Failed {
    return planRefusals.badChoice(plan, this.closed === undefined ? why : 'why is not told.')
  }

  /** Fates of hunks: where one was that a person refused is told of no file that is closed. */
  fates(fates: readonly Fate[]): readonly Fate[] {
    if (this.closed === undefined) return fates
    return fates.map(fate => (fate.outcome === 'refused' ? { ...fate, line: null } : fate))
  }

  /** The same in the result of the tool. */
  withFates(outcome: Outcome, fates: readonly Fate[]): Outcome {
    return this.closed === undefined ? outcome : withFates(outcome, this.fates(fates))
  }

  #realPath(path: string): string[] {
    const { options, flight } = this.#passage
    const real = options.files.realPath({ root: flight.caller.root, path })
    return typeof real === 'string' ? [real] : []
  }
}

const MOVED = 'something that it stands on has changed, and what is not told'
