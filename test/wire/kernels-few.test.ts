import { ABILITIES, type Ability } from '../../wire/kernel.ts'
import type { FakeKernel } from '../support/fake-kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { SCRIPTED, scriptedKernel } from '../support/scripted-language.ts'
import { kernelSuite } from './kernel-suite.ts'

/** Kernels that can do little: the suite of all kernels asks of each only what it declares. */
const FEW: readonly (readonly Ability[])[] = [['evaluate'], ['globals', 'inspect']]

for (const abilities of FEW) {
  const title = `a kernel that can ${abilities.join(' and ')} alone`
  const opened: FakeKernel[] = []
  kernelSuite({
    title,
    snippets: { ...SCRIPTED, cannot: ABILITIES.filter(one => !abilities.includes(one)) },
    open: async () => {
      const kernel = scriptedKernel(abilities)
      opened.push(kernel)
      return kernel
    },
  })
  suite(`${title}, then`)('was asked for nothing else', () => {
    const asked = opened.flatMap(kernel => kernel.asked.map(({ method }) => method))
    assert.ok(opened.length > 0)
    assert.equal(
      asked.filter(method => !abilities.includes(method)),
      [],
    )
  })
}
