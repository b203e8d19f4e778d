import { spawnSync } from 'node:child_process'
import type { Kernel } from '../../wire/kernel.ts'
import { suite } from '../support/harness.ts'
import { ECL } from '../support/snippets-lisp.ts'
import { SUSPENDING_ECL } from '../support/snippets-suspending.ts'
import { startSwank } from '../support/swank.ts'
import { openSwankKernel } from '../support/swank-kernel.ts'
import { kernelSuite } from './kernel-suite.ts'
import { suspensionSuite } from './kernel-suspensions.ts'

/** All facts on a real ECL, for what it can do. */
const title = 'ECL, attached, Swank'
const open = async (): Promise<Kernel> => openSwankKernel(await startSwank({ lisp: 'ecl' }))

if (spawnSync('ecl', ['--version']).status === 0) {
  kernelSuite({ title, snippets: ECL, open, descriptors: "the program's" })
  suspensionSuite({ title, snippets: SUSPENDING_ECL, open })
} else
  suite(title).skip('the facts of every kernel', 'there is no ecl here: install the package of that name')
