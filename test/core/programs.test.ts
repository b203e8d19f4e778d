import { KernelError } from '../../src/kernels/kernel-error.ts'
import { findTarget, parentOf } from '../../src/kernels/programs.ts'
import { FakePrograms } from '../support/fake-programs.ts'
import { assert, suite } from '../support/harness.ts'

/** Which programs are meant by a name, and which of them has started which. */
const test = suite('programs')

test('of programs of one name it is told which has started which, and the one that was started is named first', async () => {
  const programs = new FakePrograms()
  programs.announce({ pid: 500, parent: 3 })
  programs.announce({ pid: 501, parent: 500 })
  assert.equal(
    programs.announced.map(one => parentOf(one, programs.announced)),
    [null, 500],
  )
  const refused = await findTarget('web', programs).catch(error => error)
  assert.instance(refused, KernelError)
  assert.match(refused.message, 'web-501 (in /srv/shop, child of 500), web-500 (in /srv/shop).')
  assert.is(refused.next, 'Name one: imago attach web-501')
})

test('what is offered instead of an unknown name are the programs that are there', async () => {
  const programs = new FakePrograms()
  programs.announce({ name: 'web' })
  programs.silent.add(programs.announce({ name: 'dead', process: 'gone' }).address)
  const refused = await findTarget('wbe', programs).catch(error => error)
  assert.is(refused.message, 'No program has announced itself as "wbe". There are: web.')
  assert.is(refused.next, 'Did you mean web?')
})

test('a process that has the number of a parent which is gone is not taken for it', () => {
  const programs = new FakePrograms()
  programs.announce({ pid: 500, process: 'recycled' })
  const child = programs.announce({ pid: 501, parent: 500 })
  assert.is(parentOf(child, programs.announced), null)
})
