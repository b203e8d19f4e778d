import { spawnSync } from 'node:child_process'
import type { Kernel } from '../../wire/kernel.ts'
import { suite } from '../support/harness.ts'
import { SUSPENDING_ECL } from '../support/snippets-suspending.ts'
import { startSwank } from '../support/swank.ts'
import { openSwankKernel } from '../support/swank-kernel.ts'
import { suspensionSuite } from './kernel-suspensions.ts'

const open = async (): Promise<Kernel> => openSwankKernel(await startSwank({ lisp: 'ecl' }))

if (spawnSync('ecl', ['--version']).status !== 0)
  suite('ECL, attached, Swank: suspensions').skip(
    'the facts of every kernel that suspends',
    'there is no ecl here: install the package of that name',
  )
else suspensionSuite({ title: 'ECL, attached, Swank', snippets: SUSPENDING_ECL, open })
