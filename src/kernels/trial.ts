import type { CallId, EvalEvent } from '../../wire/kernel.ts'
import { type InstalledEngine, languageNamed } from '../../wire/languages.ts'
import type { KernelListener, KernelRequest, StartedKernel } from './owned-kernel.ts'

/** What came of starting a kernel only to see whether it can be done. Times are milliseconds. */
export interface Trial {
  readonly implementation: string
  readonly start_ms: number
  /** One evaluation there and back: the shortest of a few. */
  readonly round_trip_ms: number
  /** What the language's probe printed: JSON, of a form that the language decides. */
  readonly facts: string
  /** The engine that was found, where our process only speaks to one. */
  readonly engine: InstalledEngine | null
}

const ROUNDS = 5

/** Starts a kernel that nobody else sees, asks it about its interpreter, and ends it. Throws what `launch` throws. */
export async function tryLanguage(o: {
  launch(request: KernelRequest, listener: KernelListener): Promise<StartedKernel>
  readonly request: Omit<KernelRequest, 'name'>
  now?(): number
}): Promise<Trial> {
  const { launch, request, now = () => performance.now() } = o
  const began = now()
  const started = await launch(
    { ...request, name: 'trial' },
    {
      background: () => {},
      doing: () => {},
      scripted: () => {},
    },
  )
  try {
    const start_ms = Math.round(now() - began)
    let facts = ''
    const run = (call: string, source: string) =>
      started.kernel.evaluate(
        { call: call as CallId, who: 'imago doctor', work: { type: 'source', source } },
        {
          on: (event: EvalEvent) => {
            if (event.type === 'output' && event.stream === 'stdout') facts += event.text
          },
        },
      )
    await run('facts', languageNamed(request.language)?.probe ?? '')
    const rounds = []
    for (let round = 0; round < ROUNDS; round++) {
      const sent = now()
      await run(`round-${round}`, '')
      rounds.push(now() - sent)
    }
    const round_trip_ms = Math.round(Math.min(...rounds) * 100) / 100
    const { implementation } = started.kernel.identity
    return { implementation, start_ms, round_trip_ms, facts, engine: started.engine ?? null }
  } finally {
    await started.stop()
  }
}
