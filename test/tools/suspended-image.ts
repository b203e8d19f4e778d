import type { Leases, Ownership } from '../../tools/contract.ts'
import type { Evaluated, Evaluation } from '../../wire/contract/evaluation.ts'
import type { StackFrame, Suspension } from '../../wire/contract/suspensions.ts'
import type { Restart } from '../../wire/contract/values.ts'
import { ABILITIES, type Kernel } from '../../wire/kernel.ts'
import { type Answers, callId, kernel as kernelOf, RAISED, type Scripted } from './context.ts'

/** An image in which evaluations are suspended, scripted, for the tests of what the tools make of it. */

export const STOPPED: Suspension = {
  id: 's3@ab12',
  call: callId('call-0'),
  who: 'claude-code 2.1',
  how: 'held',
  level: 1,
  within: null,
  type: { name: 'simple-error', module: 'common-lisp', qualified: 'simple-error' },
  message: 'Cannot ship 3.',
  at: '2026-11-22T15:00:00.000Z',
  busy: false,
}

export const RESTARTS: readonly Restart[] = [
  { name: 'use-value', description: 'Use another value.', reads: true },
  { name: 'retry', description: 'Ship it again.' },
  { name: 'use-value', description: 'An outer one.', reads: true },
  { name: 'abort', description: 'Return to the top level.' },
]

const unplaced = { file: null, line: null, source: null }

export const FRAMES: readonly StackFrame[] = [
  { number: 0, function: 'error', call: '(ERROR "Cannot ship ~S." 3)', ...unplaced, implementation: true },
  {
    number: 1,
    function: 'shop::ship',
    call: '(SHOP::SHIP #<ORDER 3>)',
    file: '/srv/shop.lisp',
    line: 12,
    source: '(error "Cannot ship ~S." n)',
  },
  { number: 2, function: 'shop::checkout', call: '(SHOP::CHECKOUT)', ...unplaced },
]

/** What may change while somebody looks at it. */
export interface World {
  suspensions: readonly Suspension[]
  restarts: readonly Restart[]
  frames: readonly StackFrame[]
  holders: Readonly<Record<string, Ownership>>
  ends: Evaluated
}

export interface Image extends World {
  /** Everything that was evaluated, and what was asked of `leases`. */
  readonly evaluated: Evaluation[]
  readonly taken: string[]
  readonly queries: unknown[]
  readonly script: Scripted & { readonly kernel: Answers; readonly leases: Leases }
}

export function lispImage(given: Partial<World> = {}, identity: Partial<Kernel['identity']> = {}): Image {
  const world: World = {
    suspensions: [STOPPED],
    restarts: RESTARTS,
    frames: FRAMES,
    holders: { [STOPPED.id]: { type: 'you' } },
    ends: { type: 'done', values: [], elapsed_ms: 5 },
    ...given,
  }
  const evaluated: Evaluation[] = []
  const taken: string[] = []
  const queries: unknown[] = []
  const leases: Leases = {
    maySuspend: true,
    ownershipOf: id => world.holders[id] ?? { type: 'anyone' },
    looked() {},
    expiresInMs: () => 600_000,
    endOf: () => undefined,
    own(suspension) {
      taken.push(suspension.id)
      return { ...suspension, expires_in_ms: 600_000 }
    },
    acts: () => () => {},
  }
  const lisp = {
    ...kernelOf().identity,
    language: 'lisp',
    implementation: 'SBCL 2.2.9',
    errorsSuspend: true,
    abilities: new Set(ABILITIES.filter(ability => ability !== 'hold')),
    ...identity,
  }
  const kernel: Answers = {
    identity: lisp,
    async evaluate(evaluation) {
      evaluated.push(evaluation)
      return world.ends
    },
    suspensions: async () => ({ type: 'found', value: { suspensions: world.suspensions } }),
    async suspension(query) {
      queries.push(query)
      const { suspension: id, from, count } = query
      const suspension = world.suspensions.find(one => one.id === id)
      if (suspension === undefined)
        return { type: 'not_found', what: id, nearest: world.suspensions.map(one => one.id) }
      const { frames, restarts } = world
      const next = from + count < frames.length ? from + count : null
      const page = { frames: frames.slice(from, from + count), next, frames_total: frames.length }
      return { type: 'found', value: { suspension, restarts, ...page } }
    },
  }
  return Object.assign(world, { evaluated, taken, queries, script: { kernel, leases } })
}

/** An evaluation that this suspension is the end of. */
export function suspendedBy(suspension: Suspension, more: Partial<typeof RAISED> = {}): Evaluated {
  const exception = { ...RAISED, type: suspension.type, message: suspension.message, ...more }
  return { type: 'suspended', suspension, exception, elapsed_ms: 8 }
}

/** A Python one: its stack has unwound, or it is held at the raise. */
export const UNWOUND: Suspension = {
  ...STOPPED,
  how: 'post_mortem',
  type: RAISED.type,
  message: RAISED.message,
}

export const PYTHON_FRAMES: readonly StackFrame[] = [
  { number: 0, function: 'ratio', call: null, file: 'app.py', line: 3, source: '    return 1 / n\n' },
  { number: 1, function: '<module>', call: null, file: 'app.py', line: 9, source: 'ratio(0)' },
]

export const PYTHON = {
  language: 'python',
  errorsSuspend: false,
  implementation: 'CPython 3.11.7',
  abilities: new Set(ABILITIES),
} as const
