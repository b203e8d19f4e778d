import type { Kernel } from '../../wire/kernel.ts'
import { LispGround } from '../support/owned-lisp.ts'
import { SUSPENDING_LISP } from '../support/snippets-suspending.ts'
import { suspensionSuite } from './kernel-suspensions.ts'

const ground = new LispGround()
const open = async (): Promise<Kernel> => (await ground.lisp()).kernel

suspensionSuite({ title: 'SBCL, owned, Swank', snippets: SUSPENDING_LISP, open })
