import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { assert, suite } from '../support/harness.ts'
import { runTests } from '../support/python-peer.ts'
import { mathicsPython } from '../support/runtimes.ts'

const peer = join(import.meta.dirname, '../../wire/peers/wolfram')
const test = suite('wolfram definitions', { limitMs: 395_000 })

/** The modules of its tests, and what they show. Loading Mathics3 takes seconds, so one process runs them all. */
const MODULES: Readonly<Record<string, string>> = {
  test_expressions: 'expressions come from a kernel as data, and too much of one is counted',
  test_keys: 'secrets are told by the forms and names by which the journal tells them',
  test_wstp_engine: 'a kernel at the end of a link is asked, stopped and lost in order',
  test_wstp_host: 'a host says that its kernel is busy, and ends with one that is lost or cannot be had',
  test_names: 'names are listed, completed and found by what uses them, and calls are told by their patterns',
  test_specification: 'the examples of the specification come out byte for byte',
  test_hostile:
    'whatever text stands in a parameter, it is answered, and nothing is evaluated that is only looked at',
  test_printing: 'what is printed reads back as the same expression',
  test_definitions: 'what is shown of a definition defines the same, and reading it evaluates nothing',
  test_kernel_package:
    'the package of a licensed kernel does in Mathics3 what it is for, and reading evaluates nothing',
}

if (existsSync(mathicsPython)) {
  const ran = runTests(mathicsPython, Object.keys(MODULES), peer)
  for (const [module, fact] of Object.entries(MODULES))
    test(fact, async () => {
      const { text } = await ran
      const failed = text.match(new RegExp(`^(?:FAIL|ERROR): .*\\b${module}\\b.*$`, 'gm')) ?? []
      assert.equal(failed, [], text)
    })
  test('all of its tests ran, and none was skipped', async () => {
    const { code, text } = await ran
    assert.is(code, 0, text)
    assert.match(text, /^Ran [1-9]\d* tests?/m)
    assert.not.match(text, /skipped/)
  })
} else
  for (const fact of Object.values(MODULES))
    test.skip(fact, 'there is no Mathics3; test/setup.mjs installs it under a Python of 3.11 or newer')
