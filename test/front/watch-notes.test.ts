import { openDesk } from '../support/desks.ts'
import { assert, suite } from '../support/harness.ts'
import { shownPlanOf } from '../support/shown-plans.ts'

const test = suite('notes at a desk')

const ONE = shownPlanOf({ id: 'plan-aaaaaaaa', hash: 'a'.repeat(64), grants: ['src/shop.py', 'src/*.py'] })

/** What stands on the screen, however it is broken into rows. */
const flat = (text: string) => text.replace(/\s+/g, ' ')

test('a note stays a while and then goes', () => {
  const { desk, text } = openDesk()
  desk.tell({ type: 'notice', text: 'seat-2 has left.' })
  assert.match(text(), /seat-2 has left/)
  desk.tick(7_999)
  assert.match(text(), /seat-2 has left/)
  desk.tick(8_000)
  assert.not.match(text(), /seat-2 has left/)
})

const NOTICES = [
  'write_file on src/*.py for a model: let through without asking from now on, says seat-1. To end that: imago revoke grant-1',
  'write_file on src/*.py for a model: let through without asking: Write a.py. To take it back: imago undo plan-bbbbbbbb. To be asked again: imago revoke grant-1',
  'Too much of a model was refused in a row (3): nothing more of it is asked for 60 s, unless somebody takes a seat.',
]

for (const [columns, rows] of [
  [80, 24],
  [40, 24],
] as const)
  test(`notices are whole at ${columns}×${rows}, one after the other, and h has them all`, () => {
    const { desk, keys, text } = openDesk({ columns, rows })
    for (const notice of NOTICES) desk.tell({ type: 'notice', text: notice })
    const seen = new Set<string>()
    for (let now = 0; now < 60_000; now += 1_000) {
      desk.tick(now)
      for (const notice of NOTICES) if (flat(text()).includes(notice)) seen.add(notice)
    }
    assert.equal([...seen], NOTICES)
    keys('h')
    for (const notice of NOTICES) assert.ok(flat(text()).includes(notice), notice)
  })

test('what a key comes to is whole at 80 and at 40 columns', () => {
  for (const columns of [80, 40]) {
    const { desk, tell, keys, text } = openDesk({ columns })
    tell(ONE)
    keys('g')
    keys('2')
    desk.answered(ONE.id, { type: 'taken' })
    assert.match(flat(text()), /approved; src\/\*\.py is let through from now on, until this seat is left/)
    const hunk = { number: 1, shown: 'a.py', line: 1, before: '', after: 'x\n', why: null }
    tell({ ...ONE, hunks: [{ ...hunk, diff: '@@ -0,0 +1,1 @@\n+x\n' }] })
    keys('g')
    assert.match(
      flat(text()),
      /no grant for a plan with hunks: it is for those that are approved as a whole\./,
    )
    tell({ ...ONE, id: 'plan-bbbbbbbb', args: { path: 'a.py' } })
    keys('\te')
    const about = { type: 'arguments', plan: 'plan-bbbbbbbb', suffix: '.json' } as const
    desk.edited(about, { type: 'text', text: '{"path": }' })
    assert.match(flat(text()), /not JSON any more: .*Nothing was sent\./)
  }
})

test('a notice is not lost when something else is said right behind it', () => {
  const { desk, tell, keys, text } = openDesk()
  tell(ONE)
  keys('n\r')
  desk.tell({ type: 'notice', text: 'Nothing more of it is asked for a minute.' })
  desk.answered(ONE.id, { type: 'taken' })
  assert.match(text(), /Nothing more of it is asked for a minute\.\n plan-aaaaaaaa denied\n/)
})

test('a plan that went out of date leaves its cause, whole, on the screen and in what h shows', () => {
  for (const columns of [80, 40]) {
    const { desk, tell, keys, text } = openDesk({ columns })
    tell(ONE)
    const why =
      'It is out of date: src/shop.py has changed since it was worked out. The model was told to look again.'
    desk.tell({ type: 'settled', id: ONE.id, why })
    assert.ok(flat(text()).includes(`${ONE.id} needs no answer any more. ${why}`))
    assert.is(keys('y'), undefined)
    keys('\r')
    assert.not.match(text(), /^ *\| one/m)
    keys('h')
    assert.ok(flat(text()).includes(why))
  }
})

test('where there is no room for all of a note, it says where the rest is', () => {
  const { desk, text } = openDesk({ columns: 40, rows: 10 })
  desk.tell({ type: 'notice', text: 'word '.repeat(60).trim() })
  assert.match(text(), /… all of it: h$/m)
  assert.is(text().split('\n').length, 10)
})

test('notes that nobody could see are not piled up', () => {
  const { desk, text } = openDesk()
  for (let n = 0; n < 1_000; n++) desk.tell({ type: 'notice', text: `notice ${n}` })
  assert.match(text(), /notice 980\n/)
  desk.tick(70_000)
  assert.not.match(text(), /notice \d/)
})

test('a note takes no row from a plan that is whole on the screen without it, and is whole itself later', () => {
  const { desk, tell, keys, text } = openDesk()
  const body = Array.from({ length: 16 }, (_, n) => `line ${n}`).join('\n')
  desk.tell({ type: 'notice', text: NOTICES[1] ?? '' })
  tell({ ...ONE, body })
  assert.match(text(), /all 16 lines/)
  assert.match(text(), /^ write_file on src.* … h$/m)
  desk.tick(20_000)
  assert.equal(keys('y')?.type, 'answer')
  desk.answered(ONE.id, { type: 'taken' })
  assert.ok(flat(text()).includes(NOTICES[1] ?? ''))
})
