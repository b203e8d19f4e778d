import { z } from 'zod'
import type { CallId, EvalEvent, Of } from '../../wire/kernel.ts'
import { languageNamed } from '../../wire/languages.ts'
import type { KernelListener, KernelRequest, StartedKernel } from './owned-kernel.ts'

/** What came of starting a kernel only to see whether it can be done. Times are milliseconds. */
export const TRIAL = z.strictObject({
  implementation: z.string(),
  start_ms: z.number(),
  round_trip_ms: z.number().describe('One evaluation there and back: the shortest of a few.'),
  facts: z
    .string()
    .describe('What the probe of the language printed: JSON, of a form that the language decides.'),
  engine: z
    .strictObject({
      kernel: z.string(),
      library: z.string(),
      python: z.string().describe('The Python of our host.'),
    })
    .nullable()
    .describe('The engine that was found, where our process only speaks to one.'),
})

export type Trial = Of<typeof TRIAL>

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
