import type { Kernel } from '../../wire/kernel.ts'
import type { Besides } from './families.ts'
import type { KernelRow } from './rows.ts'

/** Which kernel a call is for. */
export interface Wanted {
  readonly name?: string | undefined
  readonly root: string
  readonly env: Readonly<Record<string, string>>
  /** The kernel that its caller has chosen for calls without a name, by its key. */
  readonly chosen?: string | undefined
  /** How long a link that is being made again, or a successor, is waited for, in milliseconds. Left out: 10 s. */
  readonly patienceMs?: number
  /** None is started for it: where none lives, that is the answer. */
  readonly onlyLiving?: boolean
  /** Which other kernels of the root an answer may name. Left out: all. */
  readonly mayName?: ((kernel: string) => boolean) | undefined
  /** It could as well be for all of a group. */
  readonly mayBeForAll?: boolean
  /** Where the last call of this caller went that named no kernel either, by its key. */
  readonly lately?: string | undefined
  /** A person at a terminal asks, who may be told of programs of other projects. */
  readonly byPerson?: boolean | undefined
}

/** What a person wants started. */
export interface Start extends Wanted {
  readonly language: string
  readonly script?: string | undefined
  readonly args?: readonly string[] | undefined
}

/** Who chooses a kernel; `elsewhere`: it may be of another project. */
export interface Choosing {
  readonly root: string
  readonly elsewhere: boolean
  /** For one that has to begin again. */
  readonly env?: Readonly<Record<string, string>>
}

/** The kernel that it is for. */
export interface ResolvedKernel {
  readonly name: string
  readonly kernel: Kernel
  /** How the image before was lost, if this one was started for this call in its place. */
  readonly replaces?: string
  /** It had ended, and the call has waited for what took its place. */
  readonly waited?: true
  /** The program that was attached to for this call; `takesCalls`: those that name no kernel go there. */
  readonly joined?: KernelRow & { readonly takesCalls: boolean }
  /** It was begun for this call, and is empty. */
  readonly begun?: true
  /** Beside that, sentences on other programs: one that has ended, one that needs its key, one that does not listen. */
  readonly elsewhere?: string
  /** The program that has left it over, as in `left over by train (process 8678), which has ended`. */
  readonly leftBy?: string
  /** The call has named none, and could have meant these others. */
  readonly besides?: Besides
}

/** What a call is for, as rules can name it, and the projects whose policy holds there: see `otherNames`, `rootsOf`. */
export interface MeantKernel {
  readonly name: string
  readonly otherNames: readonly string[]
  readonly roots: readonly string[]
}

/** What would be attached to: the folders whose policy holds for that, without links, and whether it is outside the project. */
export interface Attachable extends Omit<MeantKernel, 'name'> {
  /** As a rule of the policy can name it; null where it is none, or programs of several names. */
  readonly name: string | null
  readonly elsewhere: boolean
}

/** One of a group, and the kernel that it is or why it cannot be had. */
export type Member =
  | { readonly name: string; readonly place: ResolvedKernel }
  | { readonly name: string; readonly error: unknown }

/** What it is called may be known only once it is attached. */
export const memberOf = (name: string, place: () => Promise<ResolvedKernel>): Promise<Member> =>
  place().then(
    place => ({ name: place.name, place }),
    error => ({ name, error }),
  )
