/**
 * Tells that something is to stop: the part of an `AbortSignal` that calls need. Every `AbortSignal` is one, and
 * whoever makes one for each call makes a `LightSignal`.
 */
export interface Signal {
  readonly aborted: boolean
  /** Why; undefined until it is aborted. */
  readonly reason: unknown
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** A signal and its controller in one. It costs next to nothing until somebody listens, or it is aborted. */
export class LightSignal implements Signal {
  aborted = false
  reason: unknown = undefined
  #listeners: Set<() => void> | undefined

  /** Calls the listeners, in the order in which they were added. Nothing happens the second time. */
  abort(reason?: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason ?? new DOMException('This operation was aborted', 'AbortError')
    for (const listener of this.#listeners ?? []) listener()
    this.#listeners = undefined
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    if (this.aborted) return
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners?.delete(listener)
  }
}

/** What was promised, or `undefined` as soon as the caller gives up; the promise goes on unseen. */
export function unlessAborted<Value>(promise: Promise<Value>, signal: Signal): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    const stop = () => resolve(undefined)
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop)
    promise.then(resolve, reject).then(() => signal.removeEventListener('abort', stop))
  })
}

/** What was promised, or what `late` gives or throws when that takes longer; the promise goes on unseen. */
export function within<Value, Late>(
  ms: number,
  promise: Promise<Value>,
  late: () => Late,
): Promise<Value | Late> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => Promise.resolve().then(late).then(resolve, reject), ms)
    promise.then(resolve, reject).then(() => clearTimeout(timer))
  })
}
