import { existsSync } from 'node:fs'
import { suite } from '../support/harness.ts'
import { ownedWolfram } from '../support/real-kernels.ts'
import { mathicsPython } from '../support/runtimes.ts'
import { WOLFRAM } from '../support/snippets-wolfram.ts'
import { kernelSuite } from './kernel-suite.ts'

/** Mathics3, in a process that Imago starts. */
if (!existsSync(mathicsPython))
  suite('Mathics3').skip('the whole suite', 'no Mathics3; run node test/setup.mjs')
else kernelSuite({ title: 'Mathics3', snippets: WOLFRAM, open: ownedWolfram })
