import { keptRun, runNames } from '../../src/agent/run-file.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'
import { type Program, startProgram } from '../support/program.ts'
import { type Begun, openRig, type Rig, until } from '../support/rig.ts'
import { openScriptedModel, type ScriptedModel } from '../support/scripted-model.ts'

/** Errors of a real program that begin runs, while `imago ask --when` waits for them. */
const test = suite('imago ask --when', { limitMs: 120_000 })

const SOURCE = `import signal, threading
signal.signal(signal.SIGUSR1, lambda *_: PRICES['crash'])
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
/** Two wait for the same errors. */
let waiting: readonly Begun[] = []

test.before(async () => {
  server = await openScriptedModel()
  rig = openRig({
    config: `[agent]\nurl = "${server.url}"\nmodel = "scripted"\nwoken_a_day = 3\n`,
    files: { 'pyproject.toml': '', 'three.py': 'def third(what): return what.none\n' },
  })
  const words =
    'waiting for errors of shop. Ctrl-C ends that. No program has that name yet. No program is there.'
  for (const _ of [1, 2]) {
    const begun = rig.begin(['ask', '--when', 'shop raises', 'Find the cause.'])
    await until(() => begun.so.stderr.includes(words), 'it to wait')
    waiting = [...waiting, begun]
  }
  program = await start()
})
test.after(async () => {
  program?.signal('SIGKILL')
  await rig?.close()
  await server?.close()
})

const start = () =>
  startProgram({ folder: rig.project, runtimeDir: rig.paths.runtimeDir, name: 'shop', source: SOURCE })

/** Of a run that is not needed beside another, its file goes at once. */
function runs() {
  const { stateDir } = rig.paths
  return runNames(stateDir).flatMap(run => {
    try {
      return [keptRun(stateDir, run).entries]
    } catch {
      return []
    }
  })
}

const fails = async (what: string) => {
  const client = await rig.connect()
  const call = { tool: 'eval_expr', args: { expr: `fails(${what})`, kernel: 'shop' } }
  let answer: Envelope | undefined
  const joined = async () => {
    answer = await client.call(call)
    return answer.ok
  }
  await until(joined, 'the program to be joined', () => JSON.stringify(answer))
}
const endsWith = (type: string, count: number) =>
  until(() => runs().length === count && runs()[0]?.at(-1)?.type === type, `run ${count} to come to ${type}`)
const said = (text: string) => waiting.filter(({ so }) => so.stderr.includes(text)).length

test('an error begins one run, of two that wait for it, with its frames and values, and code is held though it would run without asking', async () => {
  server.play(({ results, user }) =>
    results.length === 0
      ? { text: `I read: ${user.join('')}`, calls: [{ tool: 'eval_expr', args: { expr: 'PRICES.clear()' } }] }
      : { text: 'Done.' },
  )
  await fails("price, 'cake'")
  await endsWith('waits', 1)
  const [begins, , answered] = runs()[0] ?? []
  assert.ok(begins?.type === 'begun' && begins.woken === "KeyError: 'cake'")
  assert.match(
    begins.text,
    /^Find the cause\.\n\nThe error:\n<output run-1-\w+>\nKeyError: 'cake'[\s\S]*name = 'cake'/,
  )
  assert.ok(answered?.type === 'answered' && answered.said.includes("name = 'cake'"))
  const client = await rig.connect()
  // The run is told first, and those who look a moment later.
  await until(async () => (await client.request('approvals', {})).held.length === 1, 'the call to be held')
  const [held] = (await client.request('approvals', {})).held
  assert.equal([held?.tool, held?.run], ['eval_expr', 'run-1'])
  const left = await client.call({ tool: 'eval_expr', args: { expr: 'len(PRICES)', kernel: 'shop' } })
  assert.ok(left.ok && Reflect.get(Object(left.result), 'value_repr') === '1')
})

test('the same kind wakes none again in that hour, and another kind does', async () => {
  server.play(() => ({ text: 'It is divided by nothing.' }))
  await fails("price, 'pie'")
  await fails('total, 0')
  await endsWith('over', 2)
  const [second] = runs()[0] ?? []
  assert.ok(second?.type === 'begun' && /^ZeroDivisionError/.test(second.woken ?? ''))
})

test('an error that ends the program begins one, and a day has its most', async () => {
  program.signal('SIGUSR1')
  await program.ended
  await endsWith('over', 3)
  const [third] = runs()[0] ?? []
  assert.is(third?.type === 'begun' ? third.woken : '', "KeyError: 'crash'")
  program = await start()
  await fails("__import__('three').third, 1")
  await until(() => said('3 runs were woken in a day') === 2, 'the day to be full for both')
  assert.is(runs().length, 3)
})

test('an event that is none is refused in words', async () => {
  assert.is((await rig.imago(['ask', '--when', 'shop raises', '--wait', 'why?'])).code, 2)
  const { code, stderr } = await rig.imago(['ask', '--when', 'shop fails', 'why?'])
  assert.equal(
    [code, stderr],
    [2, `imago: --when takes 'PROGRAM raises' or 'PROGRAM raises TYPE', not "shop fails".\n`],
  )
})
