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
 * Real Python. All facts once, on one that Imago starts; in short over every other transport and encoding, and in a
 * program that was there before.
 */
const python = existsSync(venvPython) ? venvPython : undefined

kernelSuite({ title: 'Python, JSON, Unix socket', snippets: PYTHON, open: ownedPython })
kernelSmoke({ title: 'Python, JSON, TCP', snippets: PYTHON, open: () => ownedPython({ address: 'tcp' }) })
if (python === undefined)
  suite('Python, msgpack').skip('both of them', 'no Python with msgpack; run node test/setup.mjs')
else {
  const title = 'Python, msgpack, Unix socket'
  kernelSmoke({ title, snippets: PYTHON, open: () => ownedPython({ python }) })
  const open = () => attachedPython({ python, address: 'tcp' })
  kernelSmoke({ title: 'Python, attached, msgpack, TCP', snippets: PYTHON, open })
}
suspensionSuite({ title: 'Python', snippets: HOLDING_PYTHON, open: ownedPython })
suspensionSuite({ title: 'Python, attached', snippets: SUSPENDING_PYTHON, open: attachedPython })
tracepointFacts({ title: 'Python, attached', snippets: TRACING_PYTHON, open: () => attachedPython() })
