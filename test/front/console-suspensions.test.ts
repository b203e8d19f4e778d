import { newsText } from '../../src/front/suspension-news.ts'
import type { SuspendedRow, SuspensionEvent } from '../../src/suspensions/rows.ts'
import { ConsoleSuspensions } from '../../src/terminal/suspensions.ts'
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
  expires_in_ms: null,
  busy: null,
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
  suspended.heard({ type: 'suspended', suspension: row() })
  suspended.heard({ type: 'suspended', suspension: row({ ...OURS, id: 's2@ab12' }) })
  suspended.heard(ended(row({ ...OURS, id: 's2@ab12' }), 'left', true))
  suspended.heard(ended(row(), 'expired'))
  const adopted = row({ id: 's3@ab12', call: null, who: 'you' })
  suspended.heard({ type: 'suspended', suspension: adopted })
  suspended.heard({ type: 'adopted', suspension: adopted, by: 'seat-2', own: false })
  assert.equal(told, [
    's1@ab12 in shop, of claude-code: suspended by simple-error: no stock',
    's1@ab12 in shop, of claude-code: nobody came in time, and it was aborted',
    's3@ab12 in shop, of you: simple-error: no stock, put before the agents of its project by seat-2',
  ])
})

test('only stacks that wait count for the prompt, and a connection that begins holds none', () => {
  const { suspended } = opened()
  suspended.heard({ type: 'suspended', suspension: row(OURS) })
  suspended.heard({ type: 'suspended', suspension: row({ ...OURS, id: 's2@ab12', how: 'post_mortem' }) })
  assert.equal([suspended.waiting('shop'), suspended.waiting('other')], [1, 0])
  assert.is(suspended.current('shop')?.id, 's2@ab12')
  suspended.begin()
  assert.equal([suspended.waiting('shop'), suspended.mine], [0, []])
})

test('what is taken from this console is not its own any more', () => {
  const { told, suspended } = opened()
  suspended.heard({ type: 'suspended', suspension: row(OURS) })
  const taken = row({ ...OURS, holder: { type: 'other', who: 'seat-2, terminal', person: true } })
  suspended.heard({ type: 'taken', suspension: taken, by: 'seat-2, terminal', from: 'imago', own: false })
  assert.is(suspended.waiting('shop'), 0)
  suspended.heard({
    type: 'handed',
    suspension: row({ holder: { type: 'anyone' } }),
    by: 'seat-2, terminal',
    to: null,
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
    suspension: row({ who: 'a\nb', message: `x\n\x1b[2J${'y'.repeat(9_999)}` }),
  })
  assert.not.match(text ?? '\n', '\n')
  assert.ok((text ?? '').length < 400)
})
