import { existsSync } from 'node:fs'
import { suite } from '../support/harness.ts'
import { attachedPython } from '../support/real-kernels.ts'
import { venvPython } from '../support/runtimes.ts'
import { PYTHON } from '../support/snippets.ts'
import { kernelSuite } from './kernel-suite.ts'

/** The same facts on real Python programs that were there before, and are only attached to. */
const snippets = { ...PYTHON, cannot: [...PYTHON.cannot, 'hold'] } as const
const facts = { snippets, descriptors: "the program's" } as const
kernelSuite({ ...facts, title: 'Python, attached, JSON, Unix socket', open: attachedPython })
kernelSuite({
  ...facts,
  title: 'Python, attached, JSON, TCP',
  open: () => attachedPython({ address: 'tcp' }),
})
if (existsSync(venvPython)) {
  kernelSuite({
    ...facts,
    title: 'Python, attached, msgpack, Unix socket',
    open: () => attachedPython({ python: venvPython }),
  })
} else {
  suite('Python, attached, msgpack, Unix socket').skip(
    'the whole suite',
    'no Python with msgpack; run node test/setup.mjs',
  )
}
