import { OpenPlan } from '../../editors/vscode/src/plan.ts'
import { Project } from '../../editors/vscode/src/project.ts'
import { waitsIn } from '../../editors/vscode/src/tree.ts'
import { hunkHead, planHeading } from '../../src/front/lsp/plan-lines.ts'
import { inWords } from '../../src/front/lsp/row-lines.ts'
import type { Plan } from '../../src/front/told.ts'
import { assert, suite } from '../support/harness.ts'
import { type Hostile, hostilePlan, NOTHING_OF_OURS } from '../support/hostile-plan.ts'
import { straysIn } from '../support/hostile-screen.ts'
import { FORGERY, HOSTILE_NAMES, HOSTILE_TEXTS, type HostileText } from '../support/hostile-texts.ts'

/** Texts that were made to be taken for something else, in all that the extension of VS Code shows of a plan. */
const test = suite('hostile texts in VS Code')

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
