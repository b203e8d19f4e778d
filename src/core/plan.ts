import type { Level } from '../../tools/define.ts'
import type { Choice, Evidence, FileChange, Hunks, Preview, Proposal } from '../../tools/proposal.ts'
import type { CallId } from '../../wire/kernel.ts'

/** A call frozen for approval (design section 5.3). Nothing in it can change; a difference is another plan. */
export interface Plan {
  /** Unique, and never used again: `plan-` and eight letters. */
  readonly id: string
  readonly call: CallId
  readonly tool: string
  readonly level: Level
  /** Of the tool's definition, the text of its functions and the version of the package: see `toolHash`. */
  readonly toolHash: string
  readonly args: unknown
  readonly kernel: string | null
  /** Of the image, which is all of it that a plan binds by itself: a definition is bound where it is evidence. */
  readonly epoch: string | null
  readonly root: string
  /** Who asks, for people, and by the name of the connection. */
  readonly who: string
  readonly caller: string
  /** Who asks as far as can be known, however often it connects anew. */
  readonly origin: string
  readonly preview: Preview
  readonly evidence: readonly Evidence[]
  readonly changes: readonly FileChange[]
  /** See `Proposal`; null where no files are changed. */
  readonly result: Proposal['result'] | null
  /** Null where it is approved as a whole or not at all. */
  readonly hunks: Hunks | null
  /** What a person chose, where this was made of another plan by that; `choices` is empty elsewhere. */
  readonly choices: readonly Choice[]
  /**
   * SHA-256 over all of the above except the id and the call: what a person approves, and what is approved only once.
   * 64 hexadecimal digits.
   */
  readonly hash: string
}

/** What a plan was computed from and is not that any more. What cannot be looked at has moved. */
export async function causesOf({ evidence }: Pick<Plan, 'evidence'>): Promise<string[]> {
  const looked = await Promise.all(
    evidence.map(async ({ what, moved }) => {
      try {
        return await moved()
      } catch {
        return `${what} cannot be looked at any more`
      }
    }),
  )
  return looked.filter(cause => cause !== undefined)
}

/** How asking ended (design section 4, "Outcomes"). All but the first three mean that nothing ran. */
export type Answer =
  /** `granted`: by what a person let through before, and nobody was asked. */
  | { readonly type: 'approved'; readonly by: string; readonly granted?: true }
  /** Approved, but with these arguments: another plan is made of them, and put to the same seat. */
  | { readonly type: 'edited'; readonly by: string; readonly args: Readonly<Record<string, unknown>> }
  /** Approved in part: the choices make another plan of it, which is carried out as they say without asking again. */
  | { readonly type: 'chosen'; readonly by: string; readonly choices: readonly Choice[] }
  | {
      readonly type: 'denied'
      readonly by: string
      readonly reason: string | null
      /** No person has said so: whoever alone could be asked has given no answer that counts. */
      readonly unanswered?: true
    }
  /** What the plan was computed from moved while it waited; the clauses say what. */
  | { readonly type: 'stale'; readonly causes: readonly string[] }
  | { readonly type: 'timed_out'; readonly afterMs: number }
  /** The caller gave up; or, with a `reason`, what else took the question back. */
  | { readonly type: 'cancelled'; readonly reason?: string }
  /** Nobody has a seat. */
  | { readonly type: 'unavailable' }
