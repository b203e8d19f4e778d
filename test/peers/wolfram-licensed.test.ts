import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findInstallation, isWhole } from '../../wire/kernels/wolfram-installation.ts'
import { assert, suite } from '../support/harness.ts'
import { runTests } from '../support/python-peer.ts'
import { mathicsPython } from '../support/runtimes.ts'

/** The far end against a real kernel, wherever there is one. */
const peer = join(import.meta.dirname, '../../wire/peers/wolfram')
const test = suite('wolfram licensed engine', { limitMs: 395_000 })
const FACT = 'a licensed engine evaluates, is aborted, shows definitions and quits'

const found = findInstallation({ env: process.env })
if (!existsSync(mathicsPython)) test.skip(FACT, 'there is no Python of 3.11 or newer from test/setup.mjs')
else if (found === undefined || !isWhole(found))
  test.skip(FACT, 'it did not run: there is no Wolfram Engine with its WSTP library on this machine')
else
  test(FACT, async () => {
    Object.assign(process.env, { IMAGO_TEST_WSTP: found.library, IMAGO_TEST_KERNEL: found.kernel })
    const { code, text } = await runTests(mathicsPython, ['test_licensed_engine'], peer)
    assert.is(code, 0, text)
    assert.match(text, /^Ran [1-9]\d* tests?/m)
    assert.not.match(text, /skipped/)
  })
