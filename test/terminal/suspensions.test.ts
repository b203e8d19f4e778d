import { newsText } from '../../src/front/suspension-news.ts'
import type { SuspendedRow, SuspensionEvent } from '../../src/suspensions/rows.ts'
import { evaluated, failureSpans } from '../../src/terminal/answers.ts'
import { inCommands } from '../../src/terminal/colon-debug.ts'
import { plain, textOf } from '../../src/terminal/layout.ts'
import { suspendedSpans } from '../../src/terminal/suspension-spans.ts'
import { ConsoleSuspensions } from '../../src/terminal/suspensions.ts'
import type { ToolError } from '../../tools/outcome.ts'
import type { CallId } from '../../wire/contract/values.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('what is suspended, at the console')

const row = (over: Partial<SuspendedRow> = {}): SuspendedRow => ({
  id: 's1@ab12',
  call: 'theirs' as CallId,
  who: 'claude-code',
  how: 'held',
  level: 1,
  within: null,
  type: { name: 'simple-error', module: 'COMMON-LISP', qualified: 'simple-error' },
  message: 'no stock',
  at: '2026-01-01T00:00:00Z',
  expires_in_ms: 600_000,
  busy: false,
  kernel: 'shop',
  root: '/srv/shop',
  holder: { type: 'other', who: 'claude-code', person: false },
  ...over,
})

const OURS = { call: 'ours' as CallId, who: 'imago', holder: { type: 'you' } } as const

function opened() {
  const told: string[] = []
  const suspended = new ConsoleSuspensions({
    made: call => call === 'ours',
    tell: text => told.push(text),
    changed: () => {},
    stopped: () => {},
  })
  return { told, suspended }
}

const ended = (suspension: SuspendedRow, how: 'expired' | 'left', own = false): SuspensionEvent => ({
  type: 'ended',
  suspension,
  how,
  message: '',
  by: how === 'left' ? 'imago' : null,
  own,
})

test('each is news once, but not what this console has done itself, nor an adopted error twice', () => {
  const { told, suspended } = opened()
  suspended.heard({ type: 'suspended', own: false, suspension: row() })
  suspended.heard({ type: 'suspended', own: false, suspension: row({ ...OURS, id: 's2@ab12' }) })
  suspended.heard(ended(row({ ...OURS, id: 's2@ab12' }), 'left', true))
  suspended.heard(ended(row(), 'expired'))
  const adopted = row({ id: 's3@ab12', call: null, who: 'you' })
  suspended.heard({ type: 'suspended', own: false, suspension: adopted })
  suspended.heard({ type: 'adopted', suspension: adopted, by: 'seat-2', own: false })
  assert.equal(told, [
    's1@ab12 in shop, of claude-code: suspended by simple-error: no stock',
    's1@ab12 in shop, of claude-code: nobody came in time, and it was aborted',
    's3@ab12 in shop, of you: simple-error: no stock, put before the agents of its project by seat-2',
  ])
})

test('only stacks that wait count for the prompt, and a connection that begins holds none', () => {
  const { suspended } = opened()
  suspended.heard({ type: 'suspended', own: false, suspension: row(OURS) })
  suspended.heard({
    type: 'suspended',
    own: false,
    suspension: row({ ...OURS, id: 's2@ab12', how: 'post_mortem' }),
  })
  assert.equal([suspended.waiting('shop'), suspended.waiting('other')], [1, 0])
  assert.is(suspended.current('shop')?.id, 's2@ab12')
  suspended.begin()
  assert.equal([suspended.waiting('shop'), suspended.mine], [0, []])
})

test('what is taken from this console is not its own any more', () => {
  const { told, suspended } = opened()
  suspended.heard({ type: 'suspended', own: false, suspension: row(OURS) })
  const taken = row({ ...OURS, holder: { type: 'other', who: 'seat-2, terminal', person: true } })
  suspended.heard({ type: 'taken', suspension: taken, by: 'seat-2, terminal', own: false })
  assert.is(suspended.waiting('shop'), 0)
  suspended.heard({
    type: 'handed',
    suspension: row({ holder: { type: 'anyone' } }),
    by: 'seat-2, terminal',
    own: false,
  })
  assert.is(suspended.waiting('shop'), 0)
  assert.equal(told, [
    's1@ab12 in shop, of imago: taken over by seat-2, terminal',
    's1@ab12 in shop, of claude-code: put before the agents of its project by seat-2, terminal',
  ])
})

test('news are one line, whatever an error is called (threat 16)', () => {
  const text = newsText({
    type: 'suspended',
    own: false,
    suspension: row({ who: 'a\nb', message: `x\n\x1b[2J${'y'.repeat(9_999)}` }),
  })
  assert.not.match(text ?? '\n', '\n')
  assert.ok((text ?? '').length < 400)
})

const error = (more: Partial<ToolError>): ToolError => ({
  code: 'not_found',
  message: 'no',
  details: {},
  retryable: false,
  next: null,
  ...more,
})

test('what a person can do next is said in commands, by what has failed', () => {
  const next = (more: Partial<ToolError>) => {
    const told = inCommands({ ok: false, error: error({ next: 'debug_state …', ...more }) })
    return told.ok ? undefined : told.error.next
  }
  assert.match(next({ code: 'not_found' }) ?? '', ':suspended')
  assert.match(next({ code: 'invalid_args' }) ?? '', ':debug lists its restarts')
  const held = { code: 'held_by_other', details: { suspension: 's2@ab12' } } as const
  assert.is(next(held), ':take s2@ab12 takes it over. Anybody may look: :debug s2@ab12.')
  const raised = error({ code: 'exception', message: 'debug_state is unbound', next: 'debug_state' })
  assert.equal(inCommands({ ok: false, error: raised }), { ok: false, error: raised })
})

test('restarts have a heading, and stand there once also where there are no frames', () => {
  const restarts = [{ number: 0, name: 'give-away', description: 'Sell it for nothing.' }]
  const suspension = {
    id: 's1@ab12',
    how: 'held',
    level: 1,
    within: null,
    expires_in_ms: 1,
    restarts,
  } as const
  assert.match(textOf(suspendedSpans(suspension)), /^\nRestarts:\n {2}0: \[GIVE-AWAY\]/)
  for (const frames of ['', '\nBacktrace:\n  0: (+ foo 1)\n']) {
    const traceback = `unbound-variable: foo\n\nRestarts:\n 0: [GIVE-AWAY] Sell it for nothing.\n${frames}`
    const exception = { traceback }
    const shown = textOf(
      failureSpans({ ok: false, error: error({ code: 'exception', details: { suspension, exception } }) }),
    )
    assert.not.match(shown, 'GIVE-AWAY')
    assert.match(shown, 'unbound-variable: foo')
  }
})

test('no line of a report stands where a line of ours does, whatever the program says in it', () => {
  const traceback =
    'KeyError: y\nsuspended as s9@ab12\n\nValueError: x\n\fframes kept as s9@ab12\u2028next: approve it'
  const details = { exception: { traceback } }
  const shown = textOf(failureSpans({ ok: false, error: error({ code: 'exception', details }) }))
  assert.equal(
    shown.split(/[\n\f\u2028]/).filter(line => line !== '' && !line.startsWith('  ')),
    [],
  )
  const bare = error({ code: 'exception', message: 'KeyError: x\nsuspended as s9@ab12' })
  assert.is(
    textOf(failureSpans({ ok: false, error: bare })),
    'exception: KeyError: x\n    suspended as s9@ab12\n',
  )
  assert.match(shown, '  KeyError: y\n  suspended as s9@ab12\n\n  ValueError: x\n')
})

test('what was left is named, with the newest by then, and what goes on elsewhere is said to', () => {
  const shown = (result: object) =>
    textOf(evaluated({ ok: true, result }, { highlight: text => [plain(text)] }).spans)
  const left = { status: 'left', acted_on: 's2@ab12', message: 'It was left, on request.' }
  assert.is(shown(left), 's2@ab12 was given up.\n')
  assert.is(
    shown({ ...left, newest: { id: 's1@ab12', level: 1 } }),
    's2@ab12 was given up. s1@ab12 is the newest now.\n',
  )
  assert.is(
    shown({ values: [], acted_on: 's2@ab12', returned_to_owner: true }),
    's2@ab12 goes on where it was called; what it comes to is shown there.\n',
  )
})
