/** What a call that wanted a kernel is told when there is none for it. Nothing was run. */
export class KernelError extends Error {
  override readonly name = 'KernelError'
  readonly code: 'no_such_kernel' | 'kernel_unavailable'
  readonly details: Readonly<Record<string, unknown>>
  /** What to do now, in one line. */
  readonly next: string | null
  /** Whether the same call can succeed later: not where what it asked for can never be had. */
  readonly retryable: boolean

  constructor(
    code: KernelError['code'],
    why: {
      message: string
      details?: Readonly<Record<string, unknown>>
      next: string | null
      cause?: unknown
    },
  ) {
    super(why.message, why.cause === undefined ? undefined : { cause: why.cause })
    this.code = code
    this.details = why.details ?? {}
    this.next = why.next
    this.retryable = code === 'kernel_unavailable' && !LASTING.includes(this.details.reason)
  }
}

/** What no waiting changes, by `details.reason`. */
export const LASTING: readonly unknown[] = [
  'bad_root',
  'bad_name',
  'unknown_language',
  'which_language',
  'not_owned',
  'owned',
  'attached_already',
  'needs_key',
  'too_many',
]
