import { attachedPython, ownedPython } from '../support/real-kernels.ts'
import { TRACING_PYTHON } from '../support/snippets-tracing.ts'
import { tracepointFacts } from './kernel-tracepoints.ts'

const snippets = TRACING_PYTHON
tracepointFacts({ title: 'Python, owned', snippets, open: () => ownedPython() })
tracepointFacts({ title: 'Python, attached', snippets, open: () => attachedPython() })
