import type { Kernel } from '../../wire/kernel.ts'
import { SUSPENDING_LISP } from '../support/snippets-suspending.ts'
import { startSwank } from '../support/swank.ts'
import { openSwankKernel } from '../support/swank-kernel.ts'
import { suspensionSuite } from './kernel-suspensions.ts'

const open = async (): Promise<Kernel> => openSwankKernel(await startSwank())

suspensionSuite({ title: 'SBCL, attached, Swank', snippets: SUSPENDING_LISP, open })
