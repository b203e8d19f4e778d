import type { ShownPlan } from '../../src/approvals/contract.ts'
import { assert, suite } from '../support/harness.ts'
import { HOSTILE_ASKERS } from '../support/hostile-askers.ts'
import { type HostileAsker, hostilePlan } from '../support/hostile-plan.ts'
import { seen } from '../support/hostile-screen.ts'
import { FORGERY, HOSTILE_NAMES, HOSTILE_TEXTS, type HostileText } from '../support/hostile-texts.ts'
import { filesIn, textOf } from '../support/imports.ts'

/** Texts that were made to be taken for something else, through everything that puts plans before a person. */
const test = suite('hostile texts in every asker', { limitMs: 60_000 })

test('each file that shows something of a plan is one of an asker that is tried here', () => {
  const tried = new Set(HOSTILE_ASKERS.flatMap(({ by }) => by))
  const showing = filesIn(['src/front', 'src/terminal'], ['.ts']).filter(path => SHOWS.test(textOf(path)))
  assert.equal(
    showing.filter(path => !tried.has(path) && !(path in SHOW_NOTHING)),
    [],
  )
})

/** What names the type of a plan that is shown. */
const SHOWS = /\b(?:ShownPlan|ShownHunk|WaitingPlan|Desk)\b/

/** Those that hand plans on, and why nothing of one is seen there. */
const SHOW_NOTHING: Readonly<Record<string, string>> = {
  'src/front/protocol.ts': 'what the messages are',
  'src/front/topic-news.ts': 'which rows have changed',
  'src/front/lsp/project.ts': 'keeps the rows',
  'src/front/seat/open-seat.ts': 'hands it to an asker',
  'src/front/hunks/decisions.ts': 'remembers what was decided',
  'src/front/hunks/patch.ts':
    'is for an editor, which shows what is in a file as it does, and makes several hunks of one',
}

/** The text as it was before a terminal or an asker broke it into rows. */
const unbroken = (rows: readonly string[], margin: RegExp) =>
  rows.map(row => row.replace(margin, '').trimEnd()).join('')

/** However it is broken into rows, and however numbers are written. */
const withoutBlanks = (text: string) => text.replace(/[\s,]/g, '')

/** What a line of the asker is: a row of the terminal, or what it leaves to somebody else to break. */
const linesOf = (asker: HostileAsker, written: string, rows: readonly string[]) =>
  asker.lines ? written.replace(asker.own, '').split('\n') : rows

/** All of it can be seen before it can be approved, its size and its hash too, and nothing of it looks like ours. */
async function shows(
  asker: HostileAsker,
  { text, marks, payload, threat }: HostileText,
  { inHunk }: { inHunk: boolean },
) {
  const plan = hostilePlan({ body: text, inHunk })
  const written = await asker.writes(plan)
  const { rows, strays } = await seen(written.text, asker)
  assert.equal(strays, [])
  const { margin } = asker
  if (margin === null) return
  const lines = linesOf(asker, written.text, rows)
  const all = withoutBlanks(unbroken(lines, margin))
  if (threat !== 15) assert.ok(written.approvable, 'it cannot be approved')
  // How long a text is, is said of the whole of a plan.
  const known = inHunk ? marks.filter(mark => !/\d (?:lines|characters)$/.test(mark)) : marks
  const expected = written.approvable ? [...known, payload] : known
  for (const mark of expected) assert.ok(all.includes(withoutBlanks(mark)), `${mark} is not shown`)
  assert.ok(all.includes(plan.hash), 'its hash is not shown')
  assert.match(all, new RegExp(`(?<!\\d)${plan.bytes}bytes`), 'how long it is, is not shown')
  assert.match(all, new RegExp(`(?<!\\d)${plan.lines}lines?`), 'how many lines it has, is not shown')
  for (const line of lines) if (line.includes(FORGERY)) assert.match(line, margin)
}

/** What others have named stands in rows of ours, whatever the name is. */
async function names(asker: HostileAsker, plan: ShownPlan) {
  const { text: shown, besides = '' } = await asker.writes(plan)
  const text = shown + besides
  const { rows, strays } = await seen(text, asker)
  assert.equal(strays, [])
  for (const line of linesOf(asker, text, rows))
    if (line.includes(FORGERY)) assert.match(line, asker.named, line)
}

for (const asker of HOSTILE_ASKERS) {
  for (const text of HOSTILE_TEXTS)
    for (const inHunk of asker.takesHunks ? [false, true] : [false])
      test(`${asker.what}: ${text.what}${inHunk ? ' in a hunk' : ''} (threat ${text.threat})`, () =>
        shows(asker, text, { inHunk }))
  for (const [what, name] of HOSTILE_NAMES)
    for (const inHunk of asker.takesHunks ? [false, true] : [false])
      test(`${asker.what}: names ${what}${inHunk ? ' of a hunk' : ''} (threat 14)`, () =>
        names(asker, hostilePlan({ name, inHunk })))
}
