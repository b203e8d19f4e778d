import type { Program, Programs } from '../../wire/programs.ts'
import type { TextStores } from '../text/texts.ts'
import type { AttachmentStore } from './attachment-store.ts'
import type { CrashLimits, KernelListener, KernelRequest, StartedKernel } from './owned-kernel.ts'
import type { SilentProcess } from './programs.ts'
import type { KernelNews, NamedKernel, NewLife } from './rows.ts'
import type { StartedStore } from './started-store.ts'
import type { MeantKernel } from './wanted.ts'

export interface KernelsOptions {
  launch(request: KernelRequest, listener: KernelListener): Promise<StartedKernel>
  /** Where background output of kernels is kept, for `read_more`. Left out: it is not kept. */
  readonly texts?: TextStores
  /** The programs that can be attached to, and which of them were. */
  readonly programs: Programs
  readonly attachments: AttachmentStore
  /** What `imago run` has started and cannot listen. Left out: nothing. */
  silent?(): readonly SilentProcess[]
  /** What persons have started, over lives of the daemon. Left out: nothing is known of lives before. */
  readonly started?: StartedStore
  /** Rows of `list` may have changed. */
  changed?(): void
  /** Kernels that begin and end; not those of a trial. */
  noted?(news: KernelNews): void
  /** Kernels that begin to live, or were joined; not those of a trial. */
  lives?(life: NewLife): void
  /** Whether a rule keeps from callers what has ended it, and its last words. Left out: none does. */
  withholds?(kernel: MeantKernel): boolean
  /** How calls of a project come to a kernel where nothing lives. Left out: they join nothing, and may begin an image. */
  startsOf?(root: string): Starts
  /** Never a root. */
  readonly home?: string
  /** Milliseconds on a clock that only goes forward. */
  now?(): number
  readonly limits?: CrashLimits
}

/** How calls of a project come to a kernel where none lives. */
export interface Starts {
  /** What they join. */
  readonly attach: readonly string[]
  /** What they would join, once a person accepts it. */
  readonly waiting: readonly string[]
  /** Whether they may begin an image. */
  readonly begins: boolean
}

/** What a call is for: a kernel, a program to attach to, or the image of the root, which has not been begun. */
export type Found =
  | { readonly type: 'kernel'; readonly named: NamedKernel }
  | { readonly type: 'program'; readonly program: Program }
  /** The servers that the file of the project names. */
  | { readonly type: 'configured'; readonly addresses: readonly [string, ...string[]] }
  | { readonly type: 'default' }
