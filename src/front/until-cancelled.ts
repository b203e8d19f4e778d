import type { ServedCall } from '../../wire/link/calls.ts'

/** Settles once the client cancels it or goes away; `end` is called then. */
export function untilCancelled(served: ServedCall, end: () => void): Promise<Record<string, never>> {
  return new Promise(resolve => {
    const over = () => {
      end()
      resolve({})
    }
    if (served.signal.aborted) over()
    else served.signal.addEventListener('abort', over)
  })
}
