import { withoutOutput } from '../../src/front/print.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('answers without what was printed')

test('a message that was printed as it came is not told again, and one that was not is', () => {
  const said = { severity: 'warning', name: 'Power::infy', message: 'Power::infy: Infinite  expression 1/0.' }
  const unsaid = { severity: 'warning', name: 'Part::partw', message: 'Part::partw: Part 3 does not exist.' }
  const unnamed = { severity: 'warning', message: 'Infinite expression' }
  const output = 'Power::infy: Infinite expression 1/0.\n'
  const result = { stdout: '', stderr: output, output, diagnostics: [said, unsaid, unnamed] }
  const shown = withoutOutput({ ok: true, result })
  assert.equal(shown, {
    ok: true,
    result: { stdout: '', stderr: '', output: '', diagnostics: [unsaid, unnamed] },
  })
  assert.equal(withoutOutput({ ok: true, result: { output: 'x' } }), {
    ok: true,
    result: { stdout: '', stderr: '', output: '' },
  })
})
