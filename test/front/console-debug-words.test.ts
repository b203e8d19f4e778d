import { evaluated, failureSpans } from '../../src/terminal/answers.ts'
import { forPerson, inCommands } from '../../src/terminal/debug-words.ts'
import { plain, textOf } from '../../src/terminal/layout.ts'
import { suspendedSpans, theirLine } from '../../src/terminal/suspension-spans.ts'
import type { ToolError } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('what the console says of debugging')

const error = (more: Partial<ToolError>): ToolError => ({
  code: 'not_found',
  message: 'no',
  details: {},
  retryable: false,
  next: null,
  ...more,
})

test('what tools say to models is said in commands of the console', () => {
  const said: readonly (readonly [string, string])[] = [
    [
      'debug_state {"suspension":"s13@5c10"} lists its frames and restarts.',
      ':debug s13@5c10 lists its frames and restarts.',
    ],
    ['trace_calls {"tracepoint":"t4@5c10"} shows what', ':calls t4@5c10 shows what'],
    ['trace_calls without arguments lists the tracepoints.', ':calls lists the tracepoints.'],
    ['or use return_from, restart_frame or leave.', 'or use :return, :again or :leave.'],
    ['Correct the arguments and call debug_frame again.', 'try :frame again.'],
  ]
  for (const [tool, command] of said) assert.is(inCommands(tool), command)
})

test('whoever sits is told how to take what another one holds, not to ask for it', () => {
  const held = error({ code: 'held_by_other', details: { suspension: 's2@ab12' }, next: 'A person can …' })
  const told = forPerson({ ok: false, error: held })
  assert.is(!told.ok && told.error.next, ':take s2@ab12 takes it over. Anybody may look: :debug s2@ab12.')
})

test('what the program itself says is shown as it is', () => {
  const raised = error({ code: 'exception', message: 'debug_state is unbound', next: 'debug_state' })
  assert.equal(forPerson({ ok: false, error: raised }), { ok: false, error: raised })
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

test('an error of somebody’s own is listed by what it holds where nothing may run for its sentence', () => {
  const type = { name: 'case-failure', module: 'sb-kernel', qualified: 'sb-kernel:case-failure' }
  const listed = (message: string) =>
    theirLine({ id: 'thread-7', where: 'thread "repl", in SLIME', type, message })
  assert.is(
    listed('#<sb-kernel:case-failure :name ecase :possibilities (:tea)>'),
    'thread-7  thread "repl", in SLIME: sb-kernel:case-failure: :name ecase :possibilities (:tea)',
  )
  assert.match(listed('No tea for 3.'), ': sb-kernel:case-failure: No tea for 3.')
})

test('what was left is named, with the newest by then, and what goes on elsewhere is said to', () => {
  const shown = (result: object) => textOf(evaluated({ ok: true, result }, text => [plain(text)]).spans)
  const left = { status: 'left', acted_on: 's2@ab12', message: 'It was left, on request.' }
  assert.is(shown(left), 's2@ab12 was left, on request.\n')
  assert.is(
    shown({ ...left, newest: { id: 's1@ab12', level: 1 } }),
    's2@ab12 was left, on request. s1@ab12 is the newest now.\n',
  )
  assert.is(
    shown({ values: [], acted_on: 's2@ab12', returned_to_owner: true }),
    's2@ab12 goes on where it was called; what it comes to is shown there.\n',
  )
})
