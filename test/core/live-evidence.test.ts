import { z } from 'zod'
import { sha256 } from '../../src/sha256.ts'
import type { Evidence } from '../../tools/contract.ts'
import { defineTool } from '../../tools/define.ts'
import { ok } from '../../tools/outcome.ts'
import type { Definition } from '../../wire/contract/names.ts'
import type { Kernel } from '../../wire/kernel.ts'
import { errorOf, rigsOf } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { invariantsOf, ofCalls, typesOf } from '../support/history.ts'

const test = suite('a plan on a kernel')

const rig = rigsOf(test)

const SHOWN: Definition = {
  name: 'shop.price',
  qualified: 'shop.price',
  kind: 'function',
  language: 'python',
  source: null,
  because: null,
  file: null,
  line: null,
  end_line: null,
  origin: 'typed',
  current: null,
  wrappers: [],
  notes: [],
}

const NAMED = { name: SHOWN.name, max_length: 1_000 }

const inTime = { deadlineMs: 1_000 }

/** What the image has under that name now. */
async function sourceIn(kernel: Kernel): Promise<string> {
  const looked = await kernel.look('definition', NAMED, inTime)
  if (looked.type !== 'found') throw new Error(`${NAMED.name} is not there`)
  return looked.value.source?.text ?? ''
}

/** A live definition, as it was seen. */
async function evidenceOf(kernel: Kernel): Promise<Evidence> {
  const seen = await sourceIn(kernel)
  return {
    what: `the definition of ${NAMED.name}`,
    hash: sha256(seen),
    moved: async () =>
      (await sourceIn(kernel)) === seen ? undefined : `the definition of ${NAMED.name} was changed`,
  }
}

/** An image in which `shop.price` stands, and a tool that calls it, and shows it before it does. */
function shop() {
  const image = { source: 'def price(): return 1' }
  const text = () => ({ text: image.source, truncated: false, original_len: image.source.length })
  const ran: string[] = []
  const tool = defineTool({
    name: 'call_price',
    description: 'Calls a definition for a test.',
    parameters: { times: z.number().int().default(1).describe('How often.') },
    level: 'dangerous',
    profile: 'full',
    categories: ['tests'],
    needs: ['evaluate'],
    examples: [],
    result: z.object({ called: z.boolean() }),
    plan: async () => ({
      type: 'proposal',
      preview: { title: 'Call shop.price', body: await sourceIn(made.kernel) },
      evidence: [await evidenceOf(made.kernel)],
      changes: [],
    }),
    handler: () => {
      ran.push(image.source)
      return ok({ called: true })
    },
  })
  const definition = () => ({ type: 'found', value: { ...SHOWN, source: text() } }) as const
  const made = rig({ tools: [tool], script: { looks: { definition } } })
  return { ...made, image, ran }
}

test('a live definition that was shown, and is another one when it would run, makes the plan stale', async () => {
  const { run, seat, image, ran, journal } = shop()
  const person = seat()
  const answered = run('call_price')
  const plan = await person.next()
  assert.is(plan.body, 'def price(): return 1')
  image.source = 'def price(): return 2'
  person.answer('approve')
  const error = errorOf(await answered)
  assert.equal(
    [error.code, error.details.causes],
    ['stale_plan', ['the definition of shop.price was changed']],
  )
  assert.equal(error.details.preview, { title: 'Call shop.price', body: 'def price(): return 2' })
  assert.equal(ran, [])
  const lines = await journal()
  assert.equal(typesOf(ofCalls(lines)), ['requested', 'decided', 'dispatched', 'ended stale_plan'])
  assert.equal(invariantsOf(lines, []), [])
})

test('one that is the same still runs', async () => {
  const { run, seat, ran } = shop()
  seat(() => 'approve')
  assert.ok((await run('call_price')).ok)
  assert.equal(ran, ['def price(): return 1'])
})

test('whoever is asked is told what of the image is checked again, and that the rest is not', async () => {
  const { run, seat } = shop()
  const { plans } = seat(() => 'approve')
  await run('call_price')
  assert.equal(plans[0]?.notes, [
    'What is defined in main may change until this runs. Checked again are: the definition of shop.price, the tool call_price, the image of main.',
  ])
  const asks = '[[rule]]\ndecision = "ask"\ntool = "eval_expr"\n'
  const other = rig({ policy: asks })
  const { plans: others } = other.seat(() => 'approve')
  assert.ok((await other.run('eval_expr', { expr: 'shop.price()' })).ok)
  assert.equal(others[0]?.notes, [
    'What is defined in main may change until this runs. Checked again are: the tool eval_expr, the image of main.',
  ])
})
