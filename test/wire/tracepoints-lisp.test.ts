import { TRACING_LISP } from '../support/snippets-tracing.ts'
import { startSwank } from '../support/swank.ts'
import { openSwankKernel } from '../support/swank-kernel.ts'
import { tracepointFacts } from './kernel-tracepoints.ts'

tracepointFacts({
  title: 'SBCL, attached',
  snippets: TRACING_LISP,
  open: async () => openSwankKernel(await startSwank()),
})
