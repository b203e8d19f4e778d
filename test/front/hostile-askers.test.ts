import { assert, suite } from '../support/harness.ts'
import { HOSTILE_ASKERS, type HostileAsker, hostilePlan } from '../support/hostile-askers.ts'
import { seen } from '../support/hostile-screen.ts'
import { FORGERY, HOSTILE_NAMES, HOSTILE_TEXTS, type HostileText } from '../support/hostile-texts.ts'
import { filesIn, textOf } from '../support/imports.ts'

/** Texts that were made to be taken for something else, through everything that puts plans before a person. */
const test = suite('hostile texts in every asker', { limitMs: 60_000 })

test('each file that shows something of a plan is one of an asker that is tried here', () => {
  const tried = new Set(HOSTILE_ASKERS.flatMap(({ by }) => by))
  const showing = filesIn(['src/front'], ['.ts']).filter(path => SHOWS.test(textOf(path)))
  assert.equal(
    showing.filter(path => !tried.has(path) && !(path in SHOW_NOTHING)),
    [],
  )
})

/** What names the type of a plan that is shown. */
const SHOWS = /\b(?:ShownPlan|ShownHunk|WaitingPlan)\b/

/** Those that hand plans on, and why nothing of one is seen there. */
const SHOW_NOTHING: Readonly<Record<string, string>> = {
  'src/front/protocol.ts': 'what the messages are',
  'src/front/seat/open-seat.ts': 'hands it to an asker',
}

/** The text as it was before a terminal or an asker broke it into rows. */
const unbroken = (rows: readonly string[], margin: RegExp) =>
  rows.map(row => row.replace(margin, '').trimEnd()).join('')
const withoutBlanks = (text: string) => text.replace(/\s/g, '')

async function shows(asker: HostileAsker, { text, marks, payload }: HostileText) {
  const plan = hostilePlan({ body: text })
  const { rows, strays } = await seen(await asker.writes(plan), asker)
  assert.equal(strays, [])
  if (asker.margin === null) return
  const all = withoutBlanks(unbroken(rows, asker.margin))
  for (const mark of [...marks, payload]) assert.ok(all.includes(withoutBlanks(mark)), `${mark} is not shown`)
  assert.ok(all.includes(plan.hash), 'its hash is not shown')
  assert.match(rows.join('\n'), new RegExp(`\\b${plan.bytes} bytes, ${plan.lines} lines?\\b`))
  for (const row of rows) if (row.includes(FORGERY)) assert.match(row, asker.margin)
}

/** A name that others have given is in rows of ours, whatever stands in it. */
async function names(asker: HostileAsker, name: string) {
  const written = await asker.writes(hostilePlan({ name }))
  const { rows, strays } = await seen(written, asker)
  assert.equal(strays, [])
  const parts = asker.lines ? written.replace(asker.own, '').split('\n') : rows
  for (const row of parts) if (row.includes(FORGERY)) assert.match(row, asker.named)
}

for (const asker of HOSTILE_ASKERS) {
  for (const text of HOSTILE_TEXTS)
    test(`${asker.what}: ${text.what} (threat ${text.threat})`, () => shows(asker, text))
  for (const [what, name] of HOSTILE_NAMES)
    test(`${asker.what}: names ${what} (threat 14)`, () => names(asker, name))
}
