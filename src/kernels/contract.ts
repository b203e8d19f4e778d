import type { ProjectKernel } from '../../tools/contract.ts'
import type { InterruptReport, Kernel } from '../../wire/kernel.ts'
import type { AnnouncedPrograms } from './announced-row.ts'
import type { Attach } from './attach.ts'
import type { OutputRow } from './background.ts'
import type { KernelError } from './kernel-error.ts'
import type { Announced } from './programs.ts'
import type { KernelRow } from './rows.ts'
import type { Trial } from './trial.ts'
import type { Attachable, Choosing, MeantKernel, Member, ResolvedKernel, Start, Wanted } from './wanted.ts'

/** The kernels of this daemon, by name. */
export interface Kernels {
  /** Sorted by name, members of a group by their number. */
  list(): readonly KernelRow[]
  /**
   * The kernel that a call is for. Without a name it is, in this order: the one that its caller has chosen; the only
   * program of the root, attached on the way where it listens and is not attached yet; the root's default image, which
   * bears the name of its folder and is started if it does not live. An image that calls began by themselves never takes
   * the place of a program. Where several programs live, one must be named; where one has ended, an empty
   * image is not what was meant. Throws `KernelError`.
   */
  resolve(wanted: Wanted): Promise<ResolvedKernel>
  /** What `resolve` would answer, at once, where that kernel lives and `root` is without links; else undefined. */
  living(wanted: Wanted): ResolvedKernel | undefined
  /**
   * All of the root that live and are called so (`web`, `web/2`), in their order, with their helpers; what listens is
   * attached on the way. Without a group, all that a look without a name is for.
   * Where none lives, those that have ended and are followed are waited for. Throws `KernelError` where there is none.
   */
  group(group: string | undefined, wanted: Wanted): Promise<readonly Member[]>
  /**
   * What `resolve` would answer with, found with nothing attached to and nothing started for it. Where that would be
   * nothing: the name itself; undefined where there is none.
   */
  meant(wanted: Wanted): MeantKernel | undefined
  /** By which names a rule can mean the kernel, or the program, of that name besides: its group's, its process's. */
  otherNames(name: string): readonly string[]
  /** The same of a process, whether it listens or has gone, with its own name among them. */
  namesOf(process: Announced): readonly string[]
  /** Whether a rule keeps from callers what has ended the kernel of that name. */
  withholds(name: string): boolean
  /** What they are called, with nothing attached. */
  membersOf(group: string | undefined, root: string): readonly string[]
  /**
   * Whether a look that names no kernel is for several: the group `undefined`. Where more live than are asked at once, the
   * look is for the one that has started all others, if there is such a one.
   */
  areSeveral(wanted: Pick<Wanted, 'root' | 'chosen'>): boolean
  /**
   * The projects whose policy holds for the kernel of that name, without links: first the one whose unnamed calls go to
   * it, then the one that its program runs in, where that is another one. Empty where there is no such kernel.
   */
  rootsOf(name: string): readonly string[]
  /** Whether a kernel of that name lives, or what takes its place is looked for. */
  lasts(name: string): boolean
  /** What a caller in that project would attach to by that name, as far as its policy goes. */
  attachable(name: string, root: string): Attachable
  /** What a caller is told that may only name kernels of its own project, and names another one, whether there is one or not. */
  unknownIn(root: string, name: string): KernelError
  /** Those that live in the root, but for the one of that name. */
  besides(one: {
    readonly name: string
    readonly root: string
  }): readonly { readonly name: string; readonly kernel: Kernel }[]
  /**
   * Starts one as a person asked, under a name that none alive has. With a script, it answers once that is known to
   * run, to have returned or to have failed, or after 2 s. Throws `KernelError`.
   */
  start(wanted: Start): Promise<KernelRow>
  /** Starts a kernel only to see whether it can be done; see `tryLanguage`. Throws `KernelError`. */
  trial(wanted: Omit<Start, 'name'>): Promise<Trial>
  stop(name: string): Promise<KernelRow>
  /** A new epoch under the same name, with the same options but for the environment; deaths before are forgotten. */
  restart(name: string, env?: Wanted['env']): Promise<KernelRow>
  /** What kernels printed last while no call ran in them, in pieces. */
  output(): readonly (OutputRow & { readonly key: string; readonly root: string })[]
  /** Whether that kernel's program began so lately that it may not have loaded all of its code yet. */
  mayBeLoading(name: string): boolean
  /** The script of that kernel that has not returned; null where there is none. */
  runningScript(name: string): string | null
  /** Stops what runs in it now. */
  interrupt(name: string): Promise<InterruptReport>
  /** What lives in the root, and what listens there; `chosen` is marked, or what calls without a name go to. */
  project(
    root: string,
    chosen: string | undefined,
  ): Promise<{ kernels: readonly ProjectKernel[]; searched: string }>
  /**
   * The kernel or the program of that name, attached on the way; `elsewhere` allows one that is not of the root.
   * Throws `KernelError`.
   */
  choose(
    name: string,
    how: Choosing,
  ): Promise<
    | { readonly type: 'chosen'; readonly kernel: ProjectKernel }
    | { readonly type: 'elsewhere'; readonly what: string }
  >
  /** Attaches to a program that listens. Throws `KernelError`. */
  attach(wanted: Attach): Promise<KernelRow>
  /** Lets go of one, which runs on, and forgets its name. The row is its last one. Throws `KernelError`. */
  detach(name: string): Promise<KernelRow>
  /** Programs that can be attached to and are not, and notebooks of that project that cannot be. */
  announced(root: string): Promise<AnnouncedPrograms>
  /** Ends all of them in order, and lets go of those that are attached. Nothing starts afterwards. */
  close(): Promise<void>
}
