import { rigsOf } from '../support/calls-rig.ts'
import { FakeKernel } from '../support/fake-kernel.ts'
import { suspendedAs } from '../support/fake-suspensions.ts'
import { assert, suite } from '../support/harness.ts'

/** What a kernel does not have is looked for in the others of the project. */
const test = suite('what is looked for in other kernels')
const rigs = rigsOf(test)

/** A kernel that lists these, and how often it was asked. */
function listing(...ids: readonly string[]) {
  const looked: string[] = []
  const kernel = new FakeKernel({
    looks: {
      suspensions() {
        looked.push('suspensions')
        return { type: 'found', value: { suspensions: ids.map(id => suspendedAs(id).suspension) } }
      },
    },
  })
  return { kernel, looked }
}

async function asked(policy?: string) {
  const dev = listing()
  const prod = listing('s1@9a32')
  const roots: string[] = []
  const rig = rigs({
    ...(policy !== undefined && { policy }),
    options: {
      kernels: {
        resolve: async () => ({ name: 'dev', kernel: dev.kernel }),
        besides({ root }) {
          roots.push(root)
          return [{ name: 'prod', kernel: prod.kernel }]
        },
      },
    },
  })
  const envelope = await rig.run('debug_state', { suspension: 's1', kernel: 'dev' })
  if (envelope.ok) throw new Error('it was found')
  return { rig, error: envelope.error, looked: prod.looked, roots }
}

test('where it is found is said, and only the caller’s project is looked through', async () => {
  const { rig, error, looked, roots } = await asked()
  assert.match(error.message, 's1@9a32 is in prod.')
  assert.equal(looked, ['suspensions'])
  assert.equal(roots, [rig.root])
})

for (const decision of ['deny', 'ask'])
  test(`a kernel that the policy would ${decision} the tool is not looked into, nor named`, async () => {
    const { error, looked } = await asked(`[[rule]]\ndecision = "${decision}"\nkernel = "prod"\n`)
    assert.is(error.code, 'not_found')
    assert.not.match(JSON.stringify(error), /prod|9a32/)
    assert.equal(looked, [])
  })
