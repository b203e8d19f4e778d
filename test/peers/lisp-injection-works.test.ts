import { TOOLS } from '../../tools/index.ts'
import { type AttachedLisp, openAttachedLisp } from '../support/attached-lisp.ts'
import { assert, suite } from '../support/harness.ts'
import { attack, JUDGED, prepare, Traces, textParameters } from '../support/lisp-attacks.ts'

const test = suite('attacks in what tools that run code in an attached Lisp are told', { limitMs: 60_000 })

let lisp: AttachedLisp
let traces: Traces

test.before(async () => {
  lisp = await openAttachedLisp()
  traces = new Traces(lisp)
  lisp.put('attacked.lisp', '(defun cl-user::attacked () 1)\n')
})
test.after(() => lisp?.close())

const parameters = (tool: string) =>
  textParameters(lisp.kernel.identity.abilities).filter(one => one.tool.name === tool)

const running = TOOLS.filter(({ level, name }) => level !== 'safe' && name in JUDGED).map(({ name }) => name)

for (const tool of running)
  test(`${tool} runs nothing of what is no code, and makes no symbol of it (threat 25)`, async () => {
    await prepare(lisp, tool)
    await lisp.run(tool, JUDGED[tool]?.args)
    await traces.look()
    for (const parameter of parameters(tool).filter(({ meaning }) => meaning === 'data')) {
      await attack(lisp, parameter, { atOnce: 8 })
      await traces.none(`${tool}.${parameter.name}`)
    }
  })

for (const tool of running.filter(name => Object.values(JUDGED[name]?.texts ?? {}).includes('code')))
  test(`${tool} runs the one parameter that is code, answers whatever it is given, and the image lives on`, async () => {
    const code = parameters(tool).filter(({ meaning }) => meaning === 'code')
    assert.is(code.length, 1)
    for (const parameter of code) {
      await traces.forget()
      await prepare(lisp, tool)
      const text = '#.(setf cl-user::*pwned* t)'
      await lisp.run(tool, { ...JUDGED[tool]?.args, [parameter.name]: parameter.holding(text) })
      assert.is(await traces.ran(), true)
      await attack(lisp, parameter, { atOnce: 1 })
    }
    assert.equal(lisp.news(), [])
    const sum = await lisp.run('eval_expr', { expr: '(+ 1 2)' })
    assert.is(sum.ok && (sum.result as { value_repr: string }).value_repr, '3')
  })
