import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Kernel } from '../../wire/kernel.ts'
import { type Launched, launchKernel } from '../../wire/kernels/launch.ts'
import { suite } from '../support/harness.ts'
import { venvPython } from '../support/runtimes.ts'
import { PYTHON } from '../support/snippets.ts'
import { kernelSuite } from './kernel-suite.ts'

/** Real Python over every transport and in every encoding: the one with msgpack speaks it, the bare one JSON. */
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'imago-kernels-')))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const launched: Launched[] = []
process.on('exit', () => {
  for (const one of launched) one.kill()
})

function open(address: 'unix' | 'tcp', python?: string): () => Promise<Kernel> {
  return async () => {
    const one = await launchKernel({
      language: 'python',
      name: 'python',
      root: folder,
      env: { PATH: process.env.PATH ?? '', HOME: folder },
      runtimeDir: join(folder, 'run'),
      address,
      ...(python && { python }),
    })
    launched.push(one)
    return one.kernel
  }
}

kernelSuite({ title: 'Python, JSON, Unix socket', snippets: PYTHON, open: open('unix') })
kernelSuite({ title: 'Python, JSON, TCP', snippets: PYTHON, open: open('tcp') })
if (existsSync(venvPython)) {
  kernelSuite({ title: 'Python, msgpack, Unix socket', snippets: PYTHON, open: open('unix', venvPython) })
} else {
  suite('Python, msgpack, Unix socket').skip(
    'the whole suite',
    'no Python with msgpack; run node test/setup.mjs',
  )
}
