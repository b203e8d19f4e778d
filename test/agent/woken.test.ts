import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { keptRun, runNames } from '../../src/agent/run-file.ts'
import { assert, suite } from '../support/harness.ts'
import { type Program, startProgram } from '../support/program.ts'
import { type Begun, openRig, type Rig, until } from '../support/rig.ts'
import { openScriptedModel, type ScriptedModel } from '../support/scripted-model.ts'

/** Errors of a real program that begin runs, while `imago ask --when` waits for them. */
const test = suite('imago ask --when', { limitMs: 120_000 })

const SOURCE = `import threading
PRICES = {'tea': 450}
def price(name): return PRICES[name]
def total(count): return 900 // count
def fails(work, given):
    thread = threading.Thread(target=work, args=(given,), name='till')
    thread.start()
    thread.join()`

let server: ScriptedModel
let rig: Rig
let program: Program
let begun: Begun

test.before(async () => {
  server = await openScriptedModel()
  rig = openRig({
    config: `[agent]\nurl = "${server.url}"\nmodel = "scripted"\nwoken_a_day = 2\n`,
    files: { 'pyproject.toml': '' },
  })
  begun = rig.begin(['ask', '--when', 'shop raises', 'Find the cause.'])
  await until(() => begun.so.stderr.includes('waiting for errors of shop'), 'it to wait')
  const { project: folder, paths } = rig
  program = await startProgram({ folder, runtimeDir: paths.runtimeDir, name: 'shop', source: SOURCE })
})
test.after(async () => {
  program?.signal('SIGKILL')
  await rig?.close()
  await server?.close()
})

const runs = () => runNames(rig.paths.stateDir).map(run => keptRun(rig.paths.stateDir, run).entries)
const fails = async (what: string) => {
  const client = await rig.connect()
  const call = { tool: 'eval_expr', args: { expr: `fails(${what})`, kernel: 'shop' } }
  await until(async () => (await client.call(call)).ok, 'the program to be joined')
}
const endsWith = (type: string) => until(() => runs()[0]?.at(-1)?.type === type, `a run to come to ${type}`)

test('an error begins a run with its frames and values, and code is held though it would run without asking', async () => {
  server.play(({ results, user }) =>
    results.length === 0
      ? { text: `I read: ${user.join('')}`, calls: [{ tool: 'eval_expr', args: { expr: 'PRICES.clear()' } }] }
      : { text: 'Done.' },
  )
  await fails("price, 'cake'")
  await endsWith('waits')
  const [begins, , answered] = runs()[0] ?? []
  assert.ok(begins?.type === 'begun' && begins.woken === "KeyError: 'cake'")
  assert.match(
    begins.text,
    /^Find the cause\.\n\nThe error:\n<output run-1-\w+>\nKeyError: 'cake'[\s\S]*name = 'cake'/,
  )
  assert.ok(answered?.type === 'answered' && answered.said.includes("name = 'cake'"))
  const client = await rig.connect()
  assert.equal(
    (await client.request('approvals', {})).held.map(({ tool, run }) => [tool, run]),
    [['eval_expr', 'run-1']],
  )
  const left = await client.call({ tool: 'eval_expr', args: { expr: 'len(PRICES)', kernel: 'shop' } })
  assert.ok(left.ok && Reflect.get(Object(left.result), 'value_repr') === '1')
})

test('the same kind wakes none again in that hour, another kind does, and a day has its most', async () => {
  server.play(() => ({ text: 'It is divided by nothing.' }))
  await fails("price, 'pie'")
  await fails('total, 0')
  await endsWith('over')
  const [second] = runs()[0] ?? []
  assert.ok(second?.type === 'begun' && /^ZeroDivisionError/.test(second.woken ?? ''))
  assert.is(runs().length, 2)
  writeFileSync(join(rig.project, 'three.py'), 'def third(what): return what.none\n')
  await fails("__import__('three').third, 1")
  await until(() => begun.so.stderr.includes('2 runs were woken in a day'), 'the day to be full')
  assert.is(runs().length, 2)
})

test('an event that is none is refused in words', async () => {
  const { code, stderr } = await rig.imago(['ask', '--when', 'shop fails', 'why?'])
  assert.equal(
    [code, stderr],
    [2, `imago: --when takes 'PROGRAM raises' or 'PROGRAM raises TYPE', not "shop fails".\n`],
  )
})
