import { spawnSync } from 'node:child_process'
import type { Kernel } from '../../wire/kernel.ts'
import { suite } from '../support/harness.ts'
import { ECL } from '../support/snippets-lisp.ts'
import { startSwank } from '../support/swank.ts'
import { openSwankKernel } from '../support/swank-kernel.ts'
import { kernelSuite } from './kernel-suite.ts'

/** The same facts on a real ECL, for what it can do. */
const open = async (): Promise<Kernel> => openSwankKernel(await startSwank({ lisp: 'ecl' }))

if (spawnSync('ecl', ['--version']).status !== 0)
  suite('ECL, attached, Swank').skip(
    'the facts of every kernel',
    'there is no ecl here: install the package of that name',
  )
else kernelSuite({ title: 'ECL, attached, Swank', snippets: ECL, open, descriptors: "the program's" })
