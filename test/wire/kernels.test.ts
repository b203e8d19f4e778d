import { existsSync } from 'node:fs'
import { suite } from '../support/harness.ts'
import { ownedPython } from '../support/real-kernels.ts'
import { venvPython } from '../support/runtimes.ts'
import { PYTHON } from '../support/snippets.ts'
import { kernelSuite } from './kernel-suite.ts'

/** Real Python over every transport and in every encoding: the one with msgpack speaks it, the bare one JSON. */
kernelSuite({ title: 'Python, JSON, Unix socket', snippets: PYTHON, open: ownedPython })
kernelSuite({
  title: 'Python, JSON, TCP',
  snippets: PYTHON,
  open: () => ownedPython({ address: 'tcp' }),
})
if (existsSync(venvPython)) {
  const open = () => ownedPython({ python: venvPython })
  kernelSuite({ title: 'Python, msgpack, Unix socket', snippets: PYTHON, open })
} else {
  suite('Python, msgpack, Unix socket').skip(
    'the whole suite',
    'no Python with msgpack; run node test/setup.mjs',
  )
}
