import type { Kernel } from '../../wire/kernel.ts'

/** The kernel that it is for. */
export interface Resolved {
  readonly name: string
  readonly kernel: Kernel
  /** How the image before was lost, if this one was started for this call in its place. */
  readonly replaces?: string
}

/** Which kernel a call is for. */
export interface Wanted {
  readonly name?: string | undefined
  readonly root: string
  readonly env: Readonly<Record<string, string>>
  /** None is started for it: where none lives, that is the answer. */
  readonly onlyLiving?: boolean
  /** Which other kernels of the root an answer may name. Left out: all. */
  readonly mayName?: (kernel: string) => boolean
}

/** What a person wants started. */
export interface Start extends Wanted {
  readonly language: string
  readonly script?: string | undefined
  readonly args?: readonly string[] | undefined
}
