/** What comes back from a peer: parsed once, under the deadline that was asked for, or the fault that it is. */
import type { z } from 'zod'
import type { InterruptReport, SuspendOptions, WayOn, Work } from '../contract/evaluation.ts'
import type { Looked } from '../contract/looks.ts'
import type { Epoch } from '../contract/values.ts'
import { WireError } from '../errors.ts'
import { ABILITIES, type Ability, type KernelIdentity } from '../kernel.ts'
import type { KernelHello } from '../link/handshake.ts'

/**
 * `answer` as `shape` describes it, or `MESSAGE_INVALID`, which names the first place where it differs.
 *
 * An answer is parsed here and trusted from then on. Keys that the contract asks for are strict; what it does not know
 * is left out, so that a newer peer can say more than this daemon reads.
 */
export function parseAnswer<Answer>(shape: z.ZodType<Answer>, answer: unknown, whose: string): Answer {
  const parsed = shape.safeParse(answer)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const place = issue === undefined || issue.path.length === 0 ? 'the whole answer' : issue.path.join('.')
  throw new WireError(
    'MESSAGE_INVALID',
    `${whose} is not of the agreed form: ${place}: ${issue?.message ?? 'unknown'}. ` +
      'The peer and this daemon disagree; check that both are of one version.',
    { cause: parsed.error },
  )
}

/** The deadline that the far end keeps: a little is left, so that it can still say that it ran out of time. */
export const shortened = (deadlineMs: number): number =>
  Math.round(deadlineMs - Math.min(100, deadlineMs / 5))

/** What the far end has found, under the deadline that was asked for. One that is its code's own is told as it is. */
export function underDeadline<Found>(found: Looked<Found>, deadlineMs: number): Looked<Found> {
  const ours = found.type === 'timed_out' && found.deadline_ms >= shortened(deadlineMs)
  return ours ? { type: 'timed_out', deadline_ms: deadlineMs } : found
}

/** Evaluations that may wait in one kernel, the running one included. One more is `BUSY`. */
export const QUEUE = 64

/** What the peer did against the protocol, if that is why the link ended. Such a peer is not asked again. */
export function offenceOf(fault: WireError | undefined): WireError | undefined {
  return fault === undefined || fault.code === 'LINK_CLOSED' || fault.code === 'FRAME_TRUNCATED'
    ? undefined
    : fault
}

export function busy(name: string): WireError {
  return new WireError(
    'BUSY',
    `${QUEUE} evaluations wait for ${name} already. Nothing was run; try again later.`,
  )
}

export function outcomeUnknown(name: string, cause: WireError): WireError {
  return new WireError(
    'LINK_CLOSED',
    `The link to ${name} broke, and whether the call ran cannot be known: ${cause.message}`,
    { cause },
  )
}

/** The evaluation was turned away before anything was sent. */
export function unresponsive(name: string): WireError {
  return new WireError(
    'UNRESPONSIVE',
    `${name} does not answer: its interpreter is held by code in C, or the process is frozen. Nothing was sent; ` +
      'try again later.',
  )
}

/**
 * What is known of an interrupt that the peer has not answered. It reads the request as soon as it reads again; only
 * a process that is `owned` was signalled besides, and may be ended.
 */
export function unheard({ name, owned }: { name: string; owned: boolean }): InterruptReport {
  const asked = `${name} does not answer now: its interpreter is held by code in C, or the process is frozen. `
  if (owned) {
    const message =
      `${asked}It was asked to stop, and was sent a signal, on which it has not acted. ` +
      'It stops once that code returns, if it ever does.'
    return { outcome: 'still_running', message, offer: 'restart' }
  }
  const message =
    `${asked}It was asked to stop, which takes effect once it answers again. ` +
    'No signal was sent: Imago never signals a program that is not its own.'
  return { outcome: 'still_running', message }
}

/** What a work is done with: the source or name that it is about, under the key that a Lisp has for it, and the rest. */
interface Parts {
  readonly key: 'source' | 'file' | 'module' | 'system' | 'target' | 'suspension'
  readonly about: string
  readonly rest: Readonly<Record<string, string | number | boolean | readonly string[]>>
}

export function partsOf(work: Work): Parts {
  switch (work.type) {
    case 'source':
    case 'compile':
      return { key: 'source', about: work.source, rest: { ...work.place, ...packageOf(work) } }
    case 'expand':
      return { key: 'source', about: work.source, rest: { fully: work.fully, ...packageOf(work) } }
    case 'load':
      return { key: 'file', about: work.file, rest: work.names ? { names: work.names } : {} }
    case 'reload':
      return { key: 'module', about: work.module, rest: {} }
    case 'system':
      return { key: 'system', about: work.system, rest: { force: work.force } }
    case 'tests':
      return { key: 'target', about: work.target, rest: work.framework ? { framework: work.framework } : {} }
    case 'frame': {
      const { suspension, frame, source } = work
      return { key: 'suspension', about: suspension, rest: { frame, source } }
    }
    case 'resume':
      return { key: 'suspension', about: work.suspension, rest: wayOn(work.way) }
    default:
      return work satisfies never
  }
}

/** `way` names it; what it needs stands beside it. */
const wayOn = ({ type: way, ...rest }: WayOn) => ({ way, ...rest })

const packageOf = (work: { readonly package?: string }) => (work.package ? { package: work.package } : {})

/** The parameters of `evaluate` for each kind of work, as docs/wire.md names them. */
export function asSent(work: Work): object {
  const { key, about, rest } = partsOf(work)
  // Its `frame` is the number of one.
  return { [work.type === 'frame' ? key : work.type]: about, ...rest }
}

/** What an error is to do, as docs/wire.md has it. */
export const suspendAsSent = (suspend: SuspendOptions) => ({ suspend })

/** The abilities among those words. What we do not know is left out. */
export const abilitiesAmong = (words: readonly string[]): Set<Ability> =>
  new Set(ABILITIES.filter(ability => words.includes(ability)))

/** Who a peer says its kernel is. */
export function identityOf(hello: KernelHello, { attached }: { attached: boolean }): KernelIdentity {
  return {
    language: hello.language,
    implementation: hello.implementation,
    pid: hello.pid,
    epoch: hello.epoch as Epoch,
    abilities: abilitiesAmong(hello.abilities),
    attached,
  }
}
