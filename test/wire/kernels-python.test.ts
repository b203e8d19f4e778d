import { existsSync } from 'node:fs'
import { suite } from '../support/harness.ts'
import { attachedPython, ownedPython } from '../support/real-kernels.ts'
import { venvPython } from '../support/runtimes.ts'
import { PYTHON } from '../support/snippets.ts'
import { HOLDING_PYTHON, SUSPENDING_PYTHON } from '../support/snippets-suspending.ts'
import { TRACING_PYTHON } from '../support/snippets-tracing.ts'
import { kernelSmoke, kernelSuite } from './kernel-suite.ts'
import { suspensionSuite } from './kernel-suspensions.ts'
import { tracepointFacts } from './kernel-tracepoints.ts'

/**
 * Real Python: one that Imago starts, and a program that was there before. Each has all facts once, the one in JSON over a
 * Unix socket and the other, where msgpack is installed, in msgpack over TCP; the other transports and encodings in short.
 */
const attached = {
  snippets: { ...PYTHON, cannot: [...PYTHON.cannot, 'hold'] },
  descriptors: "the program's",
} as const

kernelSuite({ title: 'Python, JSON, Unix socket', snippets: PYTHON, open: ownedPython })
kernelSmoke({ title: 'Python, JSON, TCP', snippets: PYTHON, open: () => ownedPython({ address: 'tcp' }) })
kernelSmoke({ ...attached, title: 'Python, attached, JSON, Unix socket', open: attachedPython })
if (existsSync(venvPython)) {
  const python = venvPython
  kernelSuite({
    ...attached,
    title: 'Python, attached, msgpack, TCP',
    open: () => attachedPython({ python, address: 'tcp' }),
  })
  kernelSmoke({
    title: 'Python, msgpack, Unix socket',
    snippets: PYTHON,
    open: () => ownedPython({ python }),
  })
} else {
  suite('Python, attached, msgpack, TCP').skip(
    'the whole suite',
    'no Python with msgpack; run node test/setup.mjs',
  )
}

suspensionSuite({ title: 'Python', snippets: HOLDING_PYTHON, open: ownedPython })
suspensionSuite({ title: 'Python, attached', snippets: SUSPENDING_PYTHON, open: attachedPython })
tracepointFacts({ title: 'Python, attached', snippets: TRACING_PYTHON, open: () => attachedPython() })
