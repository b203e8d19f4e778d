import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { OpenPlan } from '../../editors/vscode/src/plan.ts'
import { Project } from '../../editors/vscode/src/project.ts'
import { waitsIn } from '../../editors/vscode/src/tree.ts'
import { hunkHead, planHeading } from '../../src/front/lsp/plan-lines.ts'
import { inWords } from '../../src/front/lsp/row-lines.ts'
import { seatInWords } from '../../src/front/lsp/seat-lines.ts'
import type { Plan } from '../../src/front/told.ts'
import { assert, suite } from '../support/harness.ts'
import { type Hostile, hostilePlan, NOTHING_OF_OURS } from '../support/hostile-plan.ts'
import { straysIn } from '../support/hostile-screen.ts'
import { FORGERY, HOSTILE_NAMES, HOSTILE_TEXTS, type HostileText } from '../support/hostile-texts.ts'
import { type Program, startProgram } from '../support/program.ts'
import { openRig, type Rig, until } from '../support/rig.ts'
import { later, openStubbedWindow, type StubbedWindow } from '../support/stubbed-window.ts'
import type { Place, Uri, View, VsCode } from '../support/vscode-stub.ts'

/** Texts that were made to be taken for something else, in all that the extension of VS Code shows. */
const test = suite('hostile texts in VS Code', { limitMs: 120_000 })

/** What begins each line that shows a name, and each that shows a text. */
const NAMED = /^(?:Write | {2}|[!●━] |code for a script: )/
const MARGIN = '│ '

const withoutBlanks = (text: string) => text.replace(/[\s,]/g, '')

/** The plan as it is opened. `file`: its text is that of a file, which a diff editor has. */
function open(hostile: Hostile, file?: string): OpenPlan {
  const shown = hostilePlan(hostile)
  const texts = { path: '/project/a.py', shown: 'a.py', kind: 'create' as const, to: null, before: null }
  const hunks = file === undefined ? [] : [{ line: 1, before: '', after: file }]
  const files = file === undefined ? [] : [{ ...texts, after: file, hunks }]
  const project = new Project('/project', { request: () => Promise.reject(), changed() {}, says() {} })
  const row = { topic: 'approvals' as const, key: shown.id, value: { state: 'waits' as const, ...shown } }
  project.heardRows(inWords({ rev: '', snapshot: [row] }))
  const hunksTold = shown.hunks.map(hunk => ({ ...hunk, head: hunkHead(hunk, shown.hunks.length) }))
  const plan = { ...shown, heading: planHeading(shown, shown), hunks: hunksTold, files }
  return new OpenPlan(project, plan as Plan)
}

/** Of the summary each line is one of ours, or has the margin; nothing is in it that is not seen as what it is. */
function summaryOf(plan: OpenPlan): string {
  const { text, hunks } = plan.summary(['a.py'])
  assert.equal(straysIn(text, NOTHING_OF_OURS), [])
  const lines = text.trimEnd().split('\n')
  for (const one of lines) assert.ok(NAMED.test(one) || one.startsWith(MARGIN), one.slice(0, 200))
  assert.equal(hunks.at(-1), { at: plan.plan.hunks.length, line: lines.length - 1, end: lines.length - 1 })
  return text
}

function has(shown: string, marks: readonly string[]): void {
  for (const mark of marks)
    assert.ok(withoutBlanks(shown).includes(withoutBlanks(mark)), `${mark} is not shown`)
}

/** All of a text is seen before it can be taken, each mark of it too, in whichever way it is shown. */
function shows({ text, marks, payload }: HostileText): void {
  const body = summaryOf(open({ body: text }))
  has(body, [...marks, payload])
  for (const one of body.split('\n')) if (one.includes(FORGERY)) assert.ok(one.startsWith(MARGIN), one)
  const hunk = open({ body: text, inHunk: true })
  // How long a text is, is said of the whole of a plan.
  const inHunk = [...marks.filter(mark => !/\d (?:lines|characters)$/.test(mark)), payload]
  has(summaryOf(hunk), inHunk)
  hunk.decisions.decide({ type: 'accept' })
  assert.is(hunk.stage, 'confirm')
  has(summaryOf(hunk), inHunk)
  const [file] = open({}, text).files
  assert.ok(file)
  const { after } = file
  assert.equal(straysIn(after.text, NOTHING_OF_OURS), [])
  has(after.text, [...marks.filter(mark => mark.startsWith('⟦')), payload])
  // A yes counts once its last line was on the screen.
  const last = after.text.replace(/\n$/, '').split('\n').length - 1
  assert.equal(after.hunks, [{ at: 0, line: 0, end: last }])
}

for (const threat of [14, 15, 16, 17] as const) {
  const texts = HOSTILE_TEXTS.filter(text => text.threat === threat)
  test(`VS Code: ${texts.map(({ what }) => what).join('; ')} (threat ${threat})`, () => texts.forEach(shows))
}

test('VS Code: names of a plan, whys of its hunks and reasons are in lines of ours (threat 14)', async () => {
  for (const [what, name] of HOSTILE_NAMES)
    for (const inHunk of [false, true]) {
      const plan = open({ name, inHunk })
      summaryOf(plan)
      if (inHunk) plan.decisions.decide({ type: 'refuse', reason: name })
      summaryOf(plan)
      for (const { label, detail = '' } of waitsIn(plan.project))
        for (const one of [label, detail]) {
          assert.equal(straysIn(one, NOTHING_OF_OURS), [], what)
          assert.not.match(one, '\n', what)
        }
    }
})

/** Texts that are more than text to VS Code, and lines like those of the extension. */
const OF_VSCODE = [
  'icons $(zap), links [x](command:imago.undo) ![y](https://example.invalid/y.png) <b onclick="x()">\n```\npayload()\n',
  ['━ hunk 1 of 1  ✓ taken', '● The answer was sent.', '! ', '│ ', 'code for a script: ']
    .map(line => `${line} ${FORGERY}\n`)
    .join(''),
]

/** Each attack with a word of its own before it, by which it is found in all places. */
const ATTACKS = [
  ...HOSTILE_TEXTS.map(({ what, text }) => [what, text] as const),
  ...OF_VSCODE.map((text, at) => [`of VS Code, ${at}`, text] as const),
  ...HOSTILE_NAMES.map(([what, name]) => [`a name ${what}`, name] as const),
].map(([what, text], at) => ({ what, word: `attack${at}is`, text: `attack${at}is ${text}` }))

type Attack = (typeof ATTACKS)[number]

const [LINES, ICONS, LINKS] = [/\n/, /(?<!\\)\$\(/, /\]\(/]

/** What VS Code would read in each place as more than text, or as another line. */
const PLACES: Readonly<Record<Place | Asked, readonly RegExp[]>> = {
  'status item': [LINES, ICONS],
  'tooltip of it': [LINES],
  'status message': [LINES, ICONS],
  message: [LINES, LINKS],
  'input box': [LINES, ICONS, LINKS],
  list: [LINES, ICONS],
  title: [LINES, ICONS],
  lens: [LINES, ICONS],
  row: [LINES, ICONS],
  'detail of a row': [LINES, ICONS],
  'tooltip of a row': [],
  result: [LINES],
  hover: [],
  summary: [],
  file: [],
}

type Asked = 'lens' | 'row' | 'detail of a row' | 'tooltip of a row' | 'summary' | 'file'

/** A program whose values, threads, frames, files and locals each have an attack for their text. */
const SOURCE = `import json, threading
TEXTS = json.load(open('hostile.json'))
class Raw(str): __repr__ = str.__str__
def fails(text): raise ValueError(text)
for at, text in enumerate(TEXTS):
    name = text.replace('\\0', '').encode('utf-8', 'replace').decode()
    made = {'threading': threading}
    exec(compile('def wait(held): threading.Event().wait()', name, 'exec'), made)
    made['wait'].__code__ = made['wait'].__code__.replace(co_name=name)
    threading.Thread(target=made['wait'], args=(Raw(text),), name=text, daemon=True).start()
    globals()[f'HELD{at}'] = [Raw(text)]`

const OLD = `x = 1\n${'z = 0\n'.repeat(10)}y = 2\n`

const CODE: Uri = { scheme: 'file', path: '/eval.py', query: '', fsPath: '/eval.py' }

let rig: Rig
let window: StubbedWindow
let vscode: VsCode
let program: Program | undefined
/** What was asked for; the rest is in `vscode.shown`. */
const asked: { readonly place: Asked; readonly text: string }[] = []

test.after(async () => {
  await window?.close()
  program?.signal('SIGKILL')
  await program?.ended
  await rig?.close()
})

/** Reads the rows of all views; those that can be opened too, if `whole`. */
async function readRows(whole = false): Promise<void> {
  for (const view of vscode.views.values()) {
    const open = await view.getChildren()
    for (const row of open) {
      readRow(view, row)
      if (whole) open.push(...(await view.getChildren(row)))
    }
  }
}

function readRow(view: View, row: object): void {
  const { label = '', description = '', tooltip = '' } = view.getTreeItem(row) as Record<string, string>
  asked.push({ place: 'row', text: label }, { place: 'detail of a row', text: description })
  asked.push({ place: 'tooltip of a row', text: tooltip })
}

/** Reads documents of a plan, with their lenses. */
function readPlan({ summary, before, after }: Record<'summary' | 'before' | 'after', Uri>): void {
  asked.push({ place: 'summary', text: vscode.text(summary) })
  for (const file of [before, after]) asked.push({ place: 'file', text: vscode.text(file) })
  for (const one of [summary, before, after])
    for (const text of window.titles(one)) asked.push({ place: 'lens', text })
}

/** A plan of that caller, for that file, with that text and that purpose; it is edited, taken in part, and taken back. */
async function decides({ word, text }: Attack): Promise<void> {
  // No tool writes a NUL, nor half a character.
  const plain = text.replace(/[\0\p{Cs}]/gu, '')
  const path = `${plain.replaceAll('/', '').slice(0, 50)}.py`
  writeFileSync(join(rig.project, path), OLD)
  const why = text.slice(0, 1_000)
  const edits = [
    { path, old_str: 'x = 1\n', new_str: `${plain}\n`, why },
    { path, old_str: 'y = 2\n', new_str: '', why },
  ]
  const call = await window.propose('propose_file_edit', { edits }, { name: text.slice(0, 60) })
  await readRows()
  const plan = await window.openPlan()
  readPlan(plan)
  await window.press(plan.after, 'Edit')
  for (const title of window.titles(vscode.seen)) asked.push({ place: 'lens', text: title })
  vscode.look(plan.after)
  await window.press(plan.after, 'Take')
  vscode.look(plan.after, 1_000_000)
  vscode.typed.push(text)
  await window.run('imago.plan.refuse')
  readPlan(plan)
  later()
  await window.press(plan.summary, 'Send this')
  await call.ended()
  await until(() => /It ended: ok/.test(vscode.text(plan.summary)), 'what came of it')
  readPlan(plan)
  const before = vscode.ran.length
  const undone = window.run('imago.undo')
  await until(() => vscode.ran.slice(before).some(([name]) => name === 'vscode.changes'), 'the undo')
  const undo = window.planShown()
  readPlan(undo)
  vscode.look(undo.summary)
  vscode.typed.push(`${word} ${text}`)
  await window.press(undo.summary, 'Refuse…')
  await undone
  await until(() => !window.waits(), 'the sign to go')
}

/** It is told by `imago lsp`, in its words and raw: a seat, somebody who wants one, a program, what became of the last plan. */
async function tells({ text }: Attack): Promise<void> {
  const root = rig.project
  const { summary } = window.planShown()
  const [id = ''] = summary.query.split(' ')
  const ended = { topic: 'approvals', key: id, value: { state: 'ended', shown: text } }
  window.hear('imago/rows', { root, rev: '', changes: [ended] })
  asked.push({ place: 'summary', text: vscode.text(summary) })
  const event = { seat: 'seat-1', who: text, others: [], trouble: text }
  window.hear('imago/seat', { root, ...seatInWords({ type: 'seated', ...event }) })
  window.hear('imago/seat', { root, ...seatInWords({ type: 'left', why: text }) })
  window.hear('window/showMessage', { message: text })
  const through = { code: 'code', driver: text }
  const wanted = { id: 'wanted', who: text, command: text, why: null, through }
  const program = { name: text, implementation: text, language: 'python', state: 'ready', pid: 1 }
  const told = (seats: object | null, kernels: object | null) => {
    const changes = [
      { topic: 'seats', key: 'wanted', value: seats },
      { topic: 'kernels', key: 'told', value: kernels },
    ]
    window.hear('imago/rows', { root, ...inWords({ rev: '', changes } as never) })
  }
  told(wanted, program)
  const [row] = (await vscode.views.get('imago.waiting')?.getChildren()) ?? []
  await window.run('imago.admit', row)
  const [named] = (await vscode.views.get('imago.programs')?.getChildren()) ?? []
  await window.run('imago.program.use', named)
  vscode.look(CODE)
  vscode.write('1')
  await window.run('imago.eval')
  await readRows()
  await window.run('imago.program.use', { ...named, name: undefined })
  told(null, null)
}

/** It is the result, the print and the message of code, the part of a value, and the expression that is asked for. */
async function evaluates({ text }: Attack, at: number): Promise<void> {
  vscode.look(CODE)
  const held = `HELD${at}[0]`
  for (const code of [held, `print(${held})`, `fails(${held})`, `[${JSON.stringify(text)}]`]) {
    vscode.write(code)
    await window.run('imago.eval')
  }
  await readValue()
  for (const expr of [text, `HELD${at}`]) {
    vscode.typed.push(expr)
    await window.run('imago.value')
    await readValue()
  }
}

async function readValue(): Promise<void> {
  const view = vscode.views.get('imago.values')
  const [value] = (await view?.getChildren()) ?? []
  assert.ok(view && value)
  for (const row of [value, ...(await view.getChildren(value))]) readRow(view, row)
}

test('VS Code: each attack is seen in each place, as text in its line, and its characters by their marks (threat 14) (threat 15) (threat 16) (threat 17)', async () => {
  rig = openRig({
    files: { 'pyproject.toml': '', 'hostile.json': JSON.stringify(ATTACKS.map(one => one.text)) },
  })
  await rig.serve()
  window = await openStubbedWindow(rig)
  vscode = window.vscode
  vscode.configure(process.execPath)
  await until(() => window.editor() !== undefined && vscode.status.text === 'Imago', 'the sign')
  for (const attack of ATTACKS) await decides(attack)
  for (const attack of ATTACKS) await tells(attack)
  const place = { folder: rig.project, runtimeDir: rig.paths.runtimeDir }
  program = await startProgram({ ...place, name: 'till', source: SOURCE })
  const programs = vscode.views.get('imago.programs')
  await until(async () => ((await programs?.getChildren()) ?? []).length > 0, 'the program')
  for (const [at, attack] of ATTACKS.entries()) await evaluates(attack, at)
  await readRows(true)
  const all = [...vscode.shown, ...asked]
  for (const { place, text } of all) {
    assert.equal(straysIn(text, NOTHING_OF_OURS), [], `${place}: ${text.slice(0, 200)}`)
    for (const reads of PLACES[place]) assert.not.match(text, reads, place)
  }
  const files = asked.filter(({ place }) => place === 'file')
  for (const { what, marks, payload } of HOSTILE_TEXTS) {
    const whole = [payload, ...marks.filter(mark => mark.startsWith('⟦') && mark !== '⟦U+0000⟧')]
    assert.ok(
      files.some(({ text }) => whole.every(one => text.includes(one))),
      what,
    )
  }
  for (const [place] of Object.entries(PLACES))
    for (const { what, word } of place === 'status item' ? [] : ATTACKS)
      assert.ok(
        all.some(one => one.place === place && one.text.includes(word)),
        `${what} in ${place}`,
      )
})
