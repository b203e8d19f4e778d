import { TOOLS } from '../../tools/index.ts'
import { type AttachedLisp, openAttachedLisp } from '../support/attached-lisp.ts'
import { assert, suite } from '../support/harness.ts'
import { attack, JUDGED, Traces, textParameters } from '../support/lisp-attacks.ts'

const test = suite('attacks in what looks at an attached Lisp are told', { limitMs: 60_000 })

let lisp: AttachedLisp
let traces: Traces

test.before(async () => {
  lisp = await openAttachedLisp()
  traces = new Traces(lisp)
})
test.after(() => lisp?.close())

const parameters = (tool?: string) =>
  textParameters(lisp.kernel.identity.abilities).filter(one => tool === undefined || one.tool.name === tool)
const named = (list: ReturnType<typeof parameters>) => list.map(({ tool, name }) => `${tool.name}.${name}`)

test('each parameter that takes texts, of each tool that a Lisp has, was judged (threat 25)', () => {
  assert.equal(named(parameters().filter(({ meaning }) => meaning === undefined)), [])
  const judged = Object.entries(JUDGED).flatMap(([tool, { texts }]) =>
    Object.keys(texts).map(name => `${tool}.${name}`),
  )
  const known = named(parameters())
  assert.equal(
    judged.filter(one => !known.includes(one)),
    [],
  )
  assert.ok(known.length > 50)
})

test('what runs is seen, and so is a symbol that is made', async () => {
  await traces.look()
  await lisp.ask('(setf cl-user::*pwned* (intern "NEVER SEEN BEFORE" :keyword))')
  assert.is(await traces.ran(), true)
  assert.is((await traces.newSymbols()).length, 1)
  await traces.forget()
  assert.is(await traces.ran(), false)
})

for (const { name: tool } of TOOLS.filter(({ level, name }) => level === 'safe' && name in JUDGED))
  test(`${tool} runs nothing and makes no symbol, whatever text it is given (threat 25)`, async () => {
    await lisp.run(tool, JUDGED[tool]?.args)
    await traces.look()
    for (const parameter of parameters(tool)) {
      await attack(lisp, parameter, { atOnce: 8, readOnly: true })
      await traces.none(`${tool}.${parameter.name}`)
    }
  })

test('inspect evaluates an expression at a higher level, and for nobody who was promised that it only reads (threat 25)', async () => {
  const expr = '#.(setf cl-user::*pwned* t)'
  const promised = await lisp.run('inspect', { expr }, { caller: { readOnlyPromised: true } })
  assert.is(promised.ok ? 'done' : promised.error.code, 'needs_evaluation')
  assert.is(await traces.ran(), false)
  assert.ok((await lisp.run('inspect', { expr })).ok)
  assert.is(await traces.ran(), true)
  const dispatched = (await lisp.rig.journal()).filter(({ type }) => type === 'dispatched')
  assert.equal(
    dispatched.map(({ tool, level }) => [tool, level]),
    [['inspect', 'cautious']],
  )
})
