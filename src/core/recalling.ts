import type { Evaluation, Kernel, Look, LookName, Looks, Watcher } from '../../wire/kernel.ts'

/** The same kernel for a call that it was given before: it is asked what became of it, and begins nothing. */
export function recalling(kernel: Kernel): Kernel {
  return {
    identity: kernel.identity,
    ended: kernel.ended,
    get health() {
      return kernel.health
    },
    watchHealth: listener => kernel.watchHealth(listener),
    watchSuspensions: listener => kernel.watchSuspensions(listener),
    evaluate: (evaluation: Evaluation, watcher: Watcher) =>
      kernel.evaluate({ ...evaluation, again: true }, watcher),
    look: <Name extends LookName>(name: Name, query: Looks[Name]['query'], look: Look) =>
      kernel.look(name, query, look),
    interrupt: call => kernel.interrupt(call),
    status: look => kernel.status(look),
    close: () => kernel.close(),
    [Symbol.asyncDispose]: () => kernel.close(),
  }
}
