import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { OpenPlan } from '../../editors/vscode/src/plan.ts'
import { Project, TOPICS } from '../../editors/vscode/src/project.ts'
import { programsIn, valueNode, waitsIn } from '../../editors/vscode/src/tree.ts'
import { evaluate } from '../../editors/vscode/src/values.ts'
import type { DaemonClient } from '../../src/front/client.ts'
import type { Wishes } from '../../src/front/lsp/requests.ts'
import type { SubscriptionEvent } from '../../src/front/subscriptions.ts'
import type { SeatNews } from '../../src/front/told.ts'
import { type Editor, openEditor } from '../support/editor.ts'
import { assert, suite } from '../support/harness.ts'
import { NOTHING_OF_OURS } from '../support/hostile-plan.ts'
import { straysIn } from '../support/hostile-screen.ts'
import { HOSTILE_NAMES, HOSTILE_TEXTS } from '../support/hostile-texts.ts'
import { type Program, startProgram } from '../support/program.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { openSeatScreen } from '../support/watching.ts'

/** What the extension of VS Code decides, with the real `imago lsp`, a real daemon and a real Python program. */
const test = suite('VS Code extension', { limitMs: 120_000 })

const ORDERS = Array.from({ length: 40 }, (_, n) => `line${n} = ${n}\n`).join('')
const SHOP = `BASKET = {'tea': 3}


def total(order):
    rate = len(order)
    return BASKET['cake'] * rate
`
const SOURCE = `import sys, threading
sys.path.insert(0, '.')
import shop
HTML = '[click](command:imago.plan.take) <b>\`\`\`'
class Box: pass
BOX = Box(); BOX.first = {'deep': [HTML]}; BOX.second = '\\x1b[31mred \\u202e'
def fail(): threading.Thread(target=shop.total, args=('ab',), name='till').start()
def wait(order): threading.Event().wait()
threading.Thread(target=wait, args=('tea',), name='waiter', daemon=True).start()`

/** A text as its own representation, as a class of a program may have it. */
const HOSTILE_VALUES = `import json
TEXTS = json.load(open('hostile.json'))
class Raw(str): __repr__ = str.__str__
def fails(text): raise ValueError(text)
HELD = [Raw(text) for text in TEXTS]`

let rig: Rig
let client: DaemonClient
let program: Program | undefined
let opened: Opened

interface Opened {
  readonly editor: Editor
  readonly project: Project
  readonly said: string[]
  /** Plans of what it follows. */
  readonly opens: string[]
}

/** An editor of its own process, with a project that follows what `imago lsp` tells. */
async function openVsCode(wishes: Pick<Wishes, 'sit'> = {}): Promise<Opened> {
  const said: string[] = []
  const opens: string[] = []
  const request = <Answer>(method: string, params: object) => editor.request<Answer>(method, params)
  const project = new Project(rig.project, { request, changed() {}, says: text => said.push(text) })
  const hears = (method: string, params: unknown) => {
    if (method === 'imago/rows') project.heardRows(params as SubscriptionEvent)
    if (method === 'imago/waits') project.heardWaits(params as { text: string })
    if (method === 'imago/seat') project.heardSeat(params as SeatNews)
    const { plan, root } = params as { plan?: string; root?: string }
    if (method === 'imago/event' && plan !== undefined && root === rig.project) opens.push(plan)
  }
  const initializationOptions = { follow: TOPICS, ...wishes }
  const editor = await openEditor(rig, { roots: [rig.project], initializationOptions, hears })
  await until(() => project.rows.seats.size > 0 || project.seat !== undefined, 'the rows of the project')
  return { editor, project, said, opens }
}

test.before(async () => {
  rig = openRig({ files: { 'orders.py': ORDERS, 'shop.py': SHOP, 'pyproject.toml': '' } })
  await rig.serve()
  client = await rig.connect()
  opened = await openVsCode({ sit: true })
})

test.after(async () => {
  await opened?.editor.close()
  program?.signal('SIGKILL')
  await program?.ended
  await rig?.close()
})

/** Once a program runs below this process a person would have to let its editor sit, so the plans come first. */
async function start() {
  program = await startProgram({
    folder: rig.project,
    runtimeDir: rig.paths.runtimeDir,
    name: 'till',
    source: SOURCE,
  })
  await until(() => opened.project.rows.kernels.has('till'), 'the program to be joined')
}

const text = () => readFileSync(join(rig.project, 'orders.py'), 'utf8')
const reset = () => writeFileSync(join(rig.project, 'orders.py'), ORDERS)
const at = (line: number, put: string) => ({
  path: 'orders.py',
  old_str: `line${line} = ${line}\n`,
  new_str: put,
})
const propose = (...edits: object[]) => client.call({ tool: 'propose_file_edit', args: { edits } })
const waits = async (project = opened.project) => {
  await until(() => waitsIn(project).length === 1, 'a plan')
  const [row] = waitsIn(project)
  assert.ok(row?.name)
  return row.name
}
const over = (plan: OpenPlan, expected: RegExp) =>
  until(() => plan.stage === 'over' && expected.test(plan.news), `the plan to end by ${expected}`)
const seats = () => [...opened.project.rows.seats.values()].filter(row => 'seat' in row)
const ACCEPT = { type: 'accept' } as const

test('a hunk is taken and one refused with a reason, by the hash that was shown; undo puts it back', async () => {
  const { project, opens } = opened
  const call = propose({ ...at(3, 'line3 = 33\u202e\nmore = 1\n'), why: 'odd' }, at(30, ''))
  const id = await waits()
  await until(() => project.status === '1 plan waits', 'the words for what waits')
  const plan = await OpenPlan.open(project, id)
  assert.is(project.seat?.type, 'seated')
  const { text: asked, hunks } = plan.summary(['orders.py'])
  assert.match(asked, /^! orders\.py has unsaved text[^\n]*\n! A character that does not show, U\+202E/)
  assert.match(asked, /asked by imago test[\s\S]*code for a script: /)
  assert.not.match(asked, /\u202e/)
  // Of the hunks none: the end alone of what is asked.
  assert.equal(
    hunks.map(({ at }) => at),
    [2],
  )
  const [file] = plan.files
  assert.is(file?.before.text, ORDERS)
  const lines = file?.after.text.split('\n') ?? []
  // Lenses are where the hunks are in the text as it would be.
  assert.equal(
    file?.after.hunks.map(({ line }) => lines[line]),
    ['line3 = 33⟦U+202E⟧', 'line31 = 31'],
  )
  plan.decisions.decide(ACCEPT)
  assert.equal([plan.stage, plan.decisions.at], ['choose', 1])
  plan.decisions.decide({ type: 'refuse', reason: 'keep it' })
  assert.is(plan.stage, 'confirm')
  const confirm = plan.summary([]).text
  assert.match(confirm, /what will be applied: 1 of 2[\s\S]*✓ taken\n│[\s\S]*✗ refused: keep it/)
  await plan.send({ decision: 'choose' })
  assert.match(JSON.stringify(await call), 'keep it')
  assert.is(text(), ORDERS.replace('line3 = 3\n', 'line3 = 33\u202e\nmore = 1\n'))
  await over(plan, /It ended: ok\. To take it back: imago undo plan-/)
  const undone = project.call('undo_change', { change: plan.undo }, { follow: true })
  await until(() => opens.length === 1, 'the plan of the undo')
  const undo = await OpenPlan.open(project, opens[0] ?? '')
  undo.decisions.decideRest(ACCEPT)
  await undo.send({ decision: undo.stage === 'whole' ? 'approve' : 'choose' })
  assert.match((await undone).shown, /./)
  assert.is(text(), ORDERS)
})

test('a hunk is edited where one was taken, an edit that cannot be used is told, and the rest is taken', async () => {
  reset()
  const call = propose(at(3, 'line3 = 4\n'), at(9, ''), at(20, 'line20 = 0\n'))
  const plan = await OpenPlan.open(opened.project, await waits())
  const { decisions } = plan
  decisions.decide(ACCEPT)
  assert.match(decisions.rewritten(0, 'line3 = 3\n') ?? '', /the file would stay as it is/)
  assert.is(decisions.rewritten(0, 'local = "$(zap)"'), undefined)
  decisions.decideRest(ACCEPT)
  // What was edited is not proposed again: going back, a yes is for the edit.
  decisions.to(0)
  assert.is(plan.stage, 'choose')
  decisions.decide(ACCEPT)
  const { text: confirm, hunks } = plan.summary([])
  assert.match(confirm, /✎ edited\n│ @@[^\n]*\n(│ {2}line\d = \d\n)+│ -line3 = 3\n│ \+local = "\$\(zap\)"\n/)
  assert.match(confirm.split('\n')[hunks[1]?.line ?? 0] ?? '', /^━ hunk 2 of 3/)
  await plan.send({ decision: 'choose' })
  assert.ok((await call).ok)
  assert.is(
    text(),
    ORDERS.replace('line3 = 3', 'local = "$(zap)"').replace('line9 = 9\n', '').replace('= 20', '= 0'),
  )
})

test('somebody else answers first: the plan says so, and nothing is answered by it any more', async () => {
  reset()
  const { project } = opened
  const call = propose(at(3, 'line3 = 4\n'), at(9, ''))
  const plan = await OpenPlan.open(project, await waits())
  const { code } = await rig.imago(['deny', plan.plan.id, '--code', plan.plan.code])
  assert.is(code, 0)
  await over(plan, /denied/)
  plan.decisions.decideRest(ACCEPT)
  await plan.send({ decision: 'choose' })
  assert.is(plan.stage, 'over')
  // Nothing that was not done reads as done.
  assert.not.match(plan.summary([]).text, '✓')
  assert.match(JSON.stringify(await call), 'denied')
  assert.is(text(), ORDERS)
})

test('who wants a seat is shown, and let in', async () => {
  const { project } = opened
  const watch = openSeatScreen(rig)
  await until(() => project.status === '1 seat wanted', 'somebody who wants a seat')
  const [wanted] = waitsIn(project)
  assert.match(wanted?.label ?? '', /^terminal .dev.pts/)
  await project.ask('admit', { wanted: wanted?.name ?? '', admit: true })
  const screen = await watch
  assert.equal(waitsIn(project), [])
  screen.close()
  await until(() => project.rows.seats.size > 0 && seats().length === 1, 'its seat to go')
})

test('where somebody sits, an editor that starts takes no seat, asks nobody and says nothing', async () => {
  const second = await openVsCode({ sit: true })
  // The seat was asked for before this is.
  await second.editor.request('imago/status')
  assert.equal([second.project.seat, second.said, waitsIn(opened.project)], [undefined, [], []])
  await second.editor.close()
})

test('a file that changes between showing and answering ends the plan, and says so', async () => {
  reset()
  const call = propose(at(3, 'line3 = 4\n'), at(9, ''))
  const plan = await OpenPlan.open(opened.project, await waits())
  writeFileSync(join(rig.project, 'orders.py'), `${ORDERS}later = 1\n`)
  plan.decisions.decideRest(ACCEPT)
  await plan.send({ decision: 'choose' })
  await call
  assert.is(text(), `${ORDERS}later = 1\n`)
  await over(plan, /./)
})

test('a daemon that is killed comes back by itself, with the seat, and the next plan is answered once', async () => {
  reset()
  const { project, said } = opened
  const { seat } = project
  const { pid } = await client.request('status', {})
  const lost = propose(at(3, 'line3 = 4\n')).catch(() => 'lost')
  const open = await OpenPlan.open(project, await waits())
  process.kill(pid, 'SIGKILL')
  await over(open, /not known any more/)
  assert.is(await lost, 'lost')
  await open.send({ decision: 'choose' })
  assert.is(text(), ORDERS)
  await until(() => project.seat !== undefined && project.seat !== seat, 'its next seat')
  assert.match(said.join(' '), 'the seat was left')
  await until(() => seats().length === 1, 'the rows of the next daemon')
  client = await rig.connect()
  const call = propose(at(3, 'line3 = 4\n'), at(9, ''))
  const plan = await OpenPlan.open(project, await waits())
  plan.decisions.decideRest(ACCEPT)
  await Promise.all([plan.send({ decision: 'choose' }), plan.send({ decision: 'choose' })])
  assert.ok((await call).ok)
  assert.match(text(), 'line3 = 4')
})

test('a plan of 10,000 lines and one of 100 files are drawn whole, with their ends', async () => {
  reset()
  const content = Array.from({ length: 10_000 }, (_, n) => `row${n} = ${n}\n`).join('')
  const call = client.call({ tool: 'write_file', args: { path: 'rows.py', content } })
  const plan = await OpenPlan.open(opened.project, await waits())
  assert.is(plan.files[0]?.after.text, content)
  await plan.send({ decision: 'deny' })
  await call
  await over(plan, /denied/)
  const files = Array.from({ length: 100 }, (_, n) => ({ path: `f${n}.py`, content: 'x = 1\n' }))
  for (const { path, content } of files) writeFileSync(join(rig.project, path), content)
  const many = propose(...files.map(({ path }) => ({ path, old_str: 'x = 1\n', new_str: 'x = 2\n' })))
  const all = await OpenPlan.open(opened.project, await waits())
  assert.equal([all.files.length, all.plan.hunks.length], [100, 100])
  all.decisions.decideRest({ type: 'refuse', reason: 'too many' })
  await all.send({ decision: 'choose' })
  assert.match(JSON.stringify(await many), 'too many')
})

const code = (text: string) => ({ text, languageId: 'python', file: undefined, line: 1 })

test('code is evaluated in the program, with its result in one line, and a fault as a fault', async () => {
  await start()
  const { project } = opened
  const value = await evaluate(project, code('  HTML'))
  assert.ok(value.ok)
  assert.is(value.short, "⇒ '[click](command:imago.plan.take) <b>```'")
  const printed = await evaluate(project, code('print("one\\ntwo \\x1b[31m")'))
  assert.is(printed.short, '⇒ None · one\\ntwo \\x1b[31m')
  assert.not.match(printed.text, '\x1b')
  const failed = await evaluate(project, code('1 / 0'))
  assert.is(failed.ok, false)
  assert.match(failed.short, /^✗ ZeroDivisionError/)
})

test('an evaluation that runs is told as a job to who does not wait, and is stopped', async () => {
  const { project, editor } = opened
  assert.is((await evaluate(project, code('x = 1'))).short, '⇒ (no value)')
  const ends = evaluate(project, code('while True: threading.Event().wait(0.01)'))
  await editor.request('imago/subscribe', { topics: [...TOPICS, 'calls'] })
  let job: string | undefined
  await until(() => {
    job = /"job":"(job-\d+)"/.exec(JSON.stringify(editor.heard))?.[1]
    return job !== undefined
  }, 'the job')
  assert.is((await project.call('job', { job })).line, `… still runs (${job})`)
  await project.call('interrupt_job', {})
  const { short } = await ends
  assert.match(short, /^✗ The code was stopped/, short)
  await project
    .call('interrupt_job', {})
    .catch(fault => assert.is(fault.message, 'No evaluation of this editor runs.'))
})

test('hostile texts as values, prints and errors are a line and a text of what is seen (threat 14) (threat 16) (threat 17)', async () => {
  const { project } = opened
  const texts = [...HOSTILE_TEXTS.map(({ text }) => text), ...HOSTILE_NAMES.map(([, name]) => name)]
  writeFileSync(join(rig.project, 'hostile.json'), JSON.stringify(texts))
  await evaluate(project, code(HOSTILE_VALUES))
  for (const at of texts.keys()) {
    const all = [`Raw(TEXTS[${at}])`, `print(TEXTS[${at}])`, `fails(TEXTS[${at}])`]
    for (const { short, text, value } of await Promise.all(all.map(one => evaluate(project, code(one))))) {
      for (const one of [short, text, value?.label ?? '']) assert.equal(straysIn(one, NOTHING_OF_OURS), [])
      assert.match(short, /^[⇒✗] [^\n]{0,200}…?$/u)
    }
  }
  const held = valueNode(project, { label: 'HELD', expr: 'HELD', kernel: 'till' })
  const parts = (await held.children?.()) ?? []
  assert.ok(parts.length > 3)
  for (const { label } of parts) assert.equal(straysIn(label.replaceAll('\n', '\x01'), NOTHING_OF_OURS), [])
})

test('a value opens field by field, and is never more than text; programs are shown', async () => {
  const value = { label: 'BOX', expr: 'BOX', kernel: 'till' }
  const fields = (await valueNode(opened.project, value).children?.()) ?? []
  assert.equal(
    fields.map(({ label }) => label.split(' = ')[0]),
    ['first', 'second'],
  )
  assert.match(fields[1]?.label ?? '', /\\x1b\[31mred \\u202e/)
  const [deep] = (await fields[0]?.children?.()) ?? []
  assert.match(deep?.label ?? '', 'deep')
  const [list] = (await deep?.children?.()) ?? []
  assert.match(list?.label ?? '', 'command:imago.plan.take')
})

test('a program opens thread by thread, whose frames lead to their places', async () => {
  const [program] = programsIn(opened.project)
  assert.is(program?.label, 'till')
  const [count, ...threads] = (await program?.children?.()) ?? []
  assert.match(count?.label ?? '', /^\d+ threads?/)
  const waiter = threads.find(({ label }) => label.startsWith('Thread "waiter", waiting for '))
  const [library, frame] = (await waiter?.children?.()) ?? []
  assert.match(library?.label ?? '', /^… \d frames of threading$/)
  assert.match(frame?.file ?? '', /\/till\.py$/)
  assert.equal([frame?.label, frame?.detail], ['wait', `till.py:${frame?.line}`])
  assert.is(frame?.tooltip, `${frame?.file}:${frame?.line} in wait`)
  assert.equal(
    (await frame?.children?.())?.map(({ label }) => label),
    ["order = 'tea'"],
  )
})

test('an error of the program is in Problems', async () => {
  const uri = await opened.editor.open(join(rig.project, 'shop.py'))
  await evaluate(opened.project, code('fail()'))
  await until(() => opened.editor.diagnostics(uri).length === 1, 'the diagnostic')
  assert.match(JSON.stringify(opened.editor.diagnostics(uri)), "KeyError: 'cake'")
})
