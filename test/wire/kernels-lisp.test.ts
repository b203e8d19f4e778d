import type { Kernel } from '../../wire/kernel.ts'
import { LispGround } from '../support/owned-lisp.ts'
import { LISP } from '../support/snippets-lisp.ts'
import { TRACING_LISP } from '../support/snippets-tracing.ts'
import { startSwank } from '../support/swank.ts'
import { openSwankKernel } from '../support/swank-kernel.ts'
import { kernelSmoke, kernelSuite } from './kernel-suite.ts'
import { tracepointFacts } from './kernel-tracepoints.ts'

/** All facts on a real SBCL that a person has started with Swank; in short on one that Imago starts, and ends. */
const open = async (): Promise<Kernel> => openSwankKernel(await startSwank())
const ground = new LispGround()

// What children print at the descriptors is told as printed by the image itself, beside any evaluation.
kernelSuite({ title: 'SBCL, attached, Swank', snippets: LISP, open, descriptors: "the program's" })
kernelSmoke({ title: 'SBCL, owned, Swank', snippets: LISP, open: async () => (await ground.lisp()).kernel })
tracepointFacts({ title: 'SBCL, attached', snippets: TRACING_LISP, open })
