import type { Kernel } from '../../wire/kernel.ts'
import { LispGround } from '../support/owned-lisp.ts'
import { LISP } from '../support/snippets-lisp.ts'
import { kernelSuite } from './kernel-suite.ts'

/** The same facts on a real SBCL that Imago starts, and ends. */
const ground = new LispGround()

async function open(): Promise<Kernel> {
  return (await ground.lisp()).kernel
}

// What children print at the descriptors is told as printed by the image itself, beside any evaluation.
kernelSuite({ title: 'SBCL, owned, Swank', snippets: LISP, open, descriptors: "the program's" })
