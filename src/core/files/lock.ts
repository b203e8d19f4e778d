import { foldedPath } from './names.ts'

/**
 * Turns at files, in this process. Whoever asks joins the queues of all its files in one step, so everybody waits only
 * for those who asked before: nobody for each other, and nobody for ever.
 */
export function openLocks(): (paths: readonly string[]) => Promise<() => void> {
  const last = new Map<string, Promise<void>>()

  return async paths => {
    const keys = [...new Set(paths.map(foldedPath))]
    const before = keys.flatMap(key => last.get(key) ?? [])
    let settle: () => void = () => {}
    const over = new Promise<void>(resolve => {
      settle = resolve
    })
    for (const key of keys) last.set(key, over)
    await Promise.all(before)
    return () => {
      for (const key of keys) if (last.get(key) === over) last.delete(key)
      settle()
    }
  }
}
