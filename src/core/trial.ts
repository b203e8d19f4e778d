import type { CallId, EvalEvent } from '../../wire/kernel.ts'
import type { KernelRequest, KernelsOptions } from './kernels.ts'

/** What came of starting a kernel only to see whether it can be done. Times are milliseconds. */
export interface Trial {
  readonly implementation: string
  readonly start_ms: number
  /** One evaluation there and back: the shortest of a few. */
  readonly round_trip_ms: number
  /** What the probe printed: JSON, of a form that the language decides. */
  readonly facts: string
}

/** What is run to learn about an interpreter, by language. Each prints one line of JSON and changes nothing. */
const PROBES: Readonly<Record<string, string>> = {
  python: `
import importlib.metadata, importlib.util, json, sys
def _version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
print(json.dumps({
    'executable': sys.executable,
    'packages': {name: _version(name) for name in ('imago', 'msgpack', 'ipykernel', 'ipython')},
}))
`,
  lisp: `
(format t "{\\"executable\\": ~S, \\"swank\\": ~S, \\"version\\": ~S}~%"
        (namestring #+sbcl sb-ext:*runtime-pathname* #+ecl (ext:argv 0))
        (namestring (symbol-value (find-symbol "*SOURCE-DIRECTORY*" "SWANK-LOADER")))
        swank::*swank-wire-protocol-version*)
`,
}

const ROUNDS = 5

/** Starts a kernel that nobody else sees, asks it about its interpreter, and ends it. Throws what `launch` throws. */
export async function tryLanguage(o: {
  readonly launch: KernelsOptions['launch']
  readonly request: Omit<KernelRequest, 'name'>
  now?(): number
}): Promise<Trial> {
  const { launch, request, now = () => performance.now() } = o
  const began = now()
  const started = await launch({ ...request, name: 'trial' }, { background: () => {}, scripted: () => {} })
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
    await run('facts', PROBES[request.language] ?? '')
    const rounds = []
    for (let round = 0; round < ROUNDS; round++) {
      const sent = now()
      await run(`round-${round}`, '')
      rounds.push(now() - sent)
    }
    const round_trip_ms = Math.round(Math.min(...rounds) * 100) / 100
    return { implementation: started.kernel.identity.implementation, start_ms, round_trip_ms, facts }
  } finally {
    await started.stop()
  }
}
