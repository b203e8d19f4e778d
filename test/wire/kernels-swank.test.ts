import type { Kernel } from '../../wire/kernel.ts'
import { LISP } from '../support/snippets-lisp.ts'
import { startSwank } from '../support/swank.ts'
import { openSwankKernel } from '../support/swank-kernel.ts'
import { kernelSuite } from './kernel-suite.ts'

/** The same facts on a real SBCL that a person has started with Swank, and that is only attached to. */
const open = async (): Promise<Kernel> => openSwankKernel(await startSwank())

kernelSuite({ title: 'SBCL, attached, Swank', snippets: LISP, open, descriptors: "the program's" })
