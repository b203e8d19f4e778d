import { WireError } from '../../wire/errors.ts'
import type { InterruptReport, KernelStatus } from '../../wire/kernel.ts'
import { KernelError } from './kernel-error.ts'
import type { Occupied } from './occupied.ts'

/** How long an image may take to say what it runs, in ms. */
const STATUS_MS = 2_000

export interface Interrupting {
  readonly name: string
  readonly kernel: Occupied | undefined
  /** What to say where nothing runs. */
  readonly idle: string
  /** What a person can do where it says nothing. */
  readonly otherwise: string
}

/** Stops what runs in a kernel now, and nothing that comes after it. Throws `KernelError` if it says nothing. */
export async function interruptRunning(interrupting: Interrupting): Promise<InterruptReport> {
  const { name, kernel, idle } = interrupting
  if (kernel === undefined) return { outcome: 'not_running', message: `${name} does not live.` }
  const running = kernel.running ?? (await asked(kernel, interrupting)).running
  if (running === null) return { outcome: 'not_running', message: idle }
  return kernel.interrupt(running.call)
}

/** What runs, as the image itself says. */
async function asked(kernel: Occupied, { name, otherwise }: Interrupting): Promise<KernelStatus> {
  try {
    return await kernel.status({ deadlineMs: STATUS_MS })
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause
    throw new KernelError('kernel_unavailable', {
      message: `${name} does not say what runs in it, so nothing was asked to stop: ${cause.message}`,
      next: otherwise,
      details: { reason: cause.code, kernel: name },
      cause,
    })
  }
}
