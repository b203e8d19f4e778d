import {
  ABILITIES,
  type Ability,
  type Epoch,
  type KernelIdentity,
  type Suspending,
  type WayOn,
  type Work,
} from '../kernel.ts'
import type { KernelHello } from '../link/handshake.ts'

/** What a work is done with: the source or name that it is about, under the key that a Lisp has for it, and the rest. */
export interface Parts {
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
export const suspendingAsSent = ({ leaseMs: lease_ms, hold }: Suspending) => ({
  suspend: { lease_ms, ...(hold !== undefined && { hold }) },
})

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
