import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '../support/harness.ts'
import { runTests } from '../support/python-peer.ts'
import { mathicsPython } from '../support/runtimes.ts'

/** The link to a licensed kernel, on a libWSTP of our own: no engine is on the test machines. */
const peer = join(import.meta.dirname, '../../wire/peers/wolfram')
const test = suite('wolfram link', { limitMs: 395_000 })
const FACT = 'a link carries calls, packets, aborts and losses over a library of the tests'

if (!existsSync(mathicsPython)) test.skip(FACT, 'there is no Python of 3.11 or newer from test/setup.mjs')
else if (spawnSync('cc', ['--version']).status !== 0) test.skip(FACT, 'there is no C compiler')
else
  test(FACT, async () => {
    const { code, text } = await runTests(mathicsPython, ['test_wstp'], peer)
    assert.is(code, 0, text)
    assert.match(text, /^Ran [1-9]\d* tests?/m)
    assert.not.match(text, /skipped/)
  })
