import { ABILITIES, type Epoch, type KernelIdentity, type Work } from '../kernel.ts'
import type { KernelHello } from '../link/handshake.ts'

/** The parameters of `evaluate` for each kind of work, as docs/wire.md names them. */
export function asSent(work: Work): object {
  switch (work.type) {
    case 'source':
      return { source: work.source, ...work.place }
    case 'load':
      return { load: work.file, ...(work.names && { names: work.names }) }
    case 'reload':
      return { reload: work.module }
    default:
      return work satisfies never
  }
}

/** Who a peer says its kernel is. Words for abilities that we do not know are left out. */
export function identityOf(hello: KernelHello, { attached }: { attached: boolean }): KernelIdentity {
  return {
    language: hello.language,
    implementation: hello.implementation,
    pid: hello.pid,
    epoch: hello.epoch as Epoch,
    abilities: new Set(ABILITIES.filter(ability => hello.abilities.includes(ability))),
    attached,
  }
}
