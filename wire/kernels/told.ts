import { ABILITIES, type Epoch, type KernelIdentity, type Work } from '../kernel.ts'
import type { KernelHello } from '../link/handshake.ts'

/** The parameters of `evaluate` for each kind of work, as docs/wire.md names them. */
export function asSent(work: Work): object {
  switch (work.type) {
    case 'source':
      return { source: work.source, ...work.place, ...(work.package && { package: work.package }) }
    case 'compile':
      return { compile: work.source, ...work.place, ...(work.package && { package: work.package }) }
    case 'expand':
      return { expand: work.source, fully: work.fully, ...(work.package && { package: work.package }) }
    case 'load':
      return { load: work.file, ...(work.names && { names: work.names }) }
    case 'reload':
      return { reload: work.module }
    case 'system':
      return { system: work.system, force: work.force }
    case 'tests':
      return { tests: work.target, ...(work.framework && { framework: work.framework }) }
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
