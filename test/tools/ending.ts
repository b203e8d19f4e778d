import type { EvalEvent, Evaluated, Evaluation, Watcher } from '../../wire/kernel.ts'

/** A kernel on which every evaluation prints this and ends so, and what it was given. */
export function ending(evaluated: Evaluated, events: readonly EvalEvent[] = []) {
  const works: Evaluation['work'][] = []
  const seen: { evaluation?: Evaluation; watcher?: Watcher } = {}
  const evaluate = async (evaluation: Evaluation, watcher: Watcher) => {
    works.push(evaluation.work)
    Object.assign(seen, { evaluation, watcher })
    for (const event of events) watcher.on?.(event)
    return evaluated
  }
  return { kernel: { evaluate }, works, seen }
}
