import type { CallId, EvalEvent, Evaluated, Kernel, LookName, Looks, Watcher } from '../../wire/kernel.ts'

let calls = 0
/** A name that no call had before. */
export const newCall = (): CallId => `test-${++calls}` as CallId

/** An evaluation and all that was heard of it. */
export interface Heard {
  readonly call: CallId
  readonly events: EvalEvent[]
  readonly result: Promise<Evaluated>
  text(stream?: 'stdout' | 'stderr'): string
}

export function evaluate(kernel: Kernel, source: string, watcher: Watcher & { call?: CallId } = {}): Heard {
  const call = watcher.call ?? newCall()
  const events: EvalEvent[] = []
  const on = (event: EvalEvent) => {
    events.push(event)
    watcher.on?.(event)
  }
  const result = kernel.evaluate({ call, who: 'test', work: { type: 'source', source } }, { ...watcher, on })
  result.catch(() => {})
  const text = (stream?: string) =>
    events
      .map(event => (event.type === 'output' && (stream ?? event.stream) === event.stream ? event.text : ''))
      .join('')
  return { call, events, result, text }
}

/** Waits until an evaluation has printed this. */
export async function printed(heard: Heard, text: string): Promise<void> {
  while (!heard.text().includes(text)) await new Promise(resolve => setTimeout(resolve, 5))
}

/** What a look finds, however busy the machine is; anything else it comes to is a failure. */
export async function found<Name extends LookName>(
  kernel: Kernel,
  name: Name,
  query: Looks[Name]['query'],
): Promise<Looks[Name]['found']> {
  const looked = await kernel.look(name, query, { deadlineMs: 10_000 })
  if (looked.type !== 'found') throw new Error(`${name}: ${JSON.stringify(looked)}`)
  return looked.value
}

/** The code of the fault that something ended with. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'no fault'
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  }
}
