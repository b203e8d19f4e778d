/** What a call that wanted a kernel is told when there is none for it. Nothing was run. */
export class KernelError extends Error {
  override readonly name = 'KernelError'
  readonly code: 'no_such_kernel' | 'kernel_unavailable'
  readonly details: Readonly<Record<string, unknown>>
  /** What to do now, in one line. */
  readonly next: string | null

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
  }
}
