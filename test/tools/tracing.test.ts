import { traceCalls, traceFunction, untraceFunction } from '../../tools/tracing.ts'
import type { TracedCall, Tracepoint, Traces } from '../../wire/contract/suspensions.ts'
import { assert, suite } from '../support/harness.ts'
import { type Answers, errorOf, kernel as kernelOf, RAISED, resultOf, run, shown } from './context.ts'

const test = suite('trace_function, trace_calls and untrace_function')

const POINT: Tracepoint = {
  id: 't1@ab12',
  name: 'shop.total',
  who: 'claude-code 2.1',
  state: 'on',
  by: 'sys.monitoring',
  wanted: 10,
  seen: 2,
  at: '2026-11-22T15:00:00.000Z',
  expires_in_ms: 290_000,
  notes: ['Calls of copies made before are not seen.'],
}

const CALL: TracedCall = {
  number: 1,
  at: '2026-11-22T15:00:01.500Z',
  thread: 'MainThread',
  depth: 0,
  elapsed_ms: 2,
  arguments: [
    { name: 'order', value: shown('<Order 3>', { handle: '@ab12.4' }) },
    { name: 'rate', value: shown('2') },
  ],
  arguments_omitted: 0,
  outcome: { type: 'returned', values: [shown('6', { handle: '@ab12.5' })] },
  caller: { function: 'checkout', file: '/srv/shop.py', line: 40 },
}

/** A kernel that answers with these traces, and what it was asked. */
function tracing(traces: Partial<Traces> = {}, language = 'python') {
  const asked: unknown[] = []
  const found = <Value>(value: Value) => ({ type: 'found', value }) as const
  const kernel: Answers = {
    identity: { ...kernelOf().identity, language },
    async trace(query) {
      asked.push(query)
      return found(POINT)
    },
    async untrace(query) {
      asked.push(query)
      return found({ ...POINT, state: 'removed' })
    },
    async traces(query) {
      asked.push(query)
      return found({ tracepoints: [POINT], calls: [CALL], next: null, ...traces })
    },
  }
  return { kernel, asked }
}

test('a tracepoint is set for whoever asks, with its bounds, and says where its calls will be', async () => {
  const { kernel, asked } = tracing()
  const result = resultOf(
    await run(traceFunction, { name: 'total', package: 'SHOP', limit: 3, seconds: 60 }, { kernel }),
  )
  assert.equal(asked, [{ name: 'total', package: 'SHOP', calls: 3, expires_ms: 60_000, who: 'test' }])
  assert.is(
    traceFunction.show(result),
    [
      't1@ab12 shop.total: on, 2 calls of 10 so far; ends in 4 min 50 s at the latest (by sys.monitoring, for claude-code 2.1)',
      '  note: Calls of copies made before are not seen.',
      'next: trace_calls {"tracepoint":"t1@ab12"} shows what was recorded by then.',
    ].join('\n'),
  )
})

test('in Lisp the language is beside the tracepoint, and none of its fields', async () => {
  const { kernel } = tracing({}, 'lisp')
  const set = resultOf(await run(traceFunction, { name: 'shop::total' }, { kernel })) as object
  const removed = resultOf(await run(untraceFunction, { tracepoint: 't1@ab12' }, { kernel })) as object
  assert.equal({ ...set, next: undefined }, { tracepoint: POINT, next: undefined, language: 'lisp' })
  assert.equal(removed, { tracepoint: { ...POINT, state: 'removed' }, language: 'lisp' })
})

test('it is taken out by its name, in full or in short', async () => {
  for (const tracepoint of ['t1@ab12', 't1']) {
    const { kernel, asked } = tracing()
    const result = resultOf(await run(untraceFunction, { tracepoint }, { kernel }))
    assert.equal(asked.at(-1), { tracepoint: 't1@ab12' })
    assert.match(untraceFunction.show(result), /^t1@ab12 shop\.total: removed, 2 calls of 10 /)
  }
  assert.is(untraceFunction.level, 'cautious')
  assert.is(untraceFunction.preview({ tracepoint: 't1' }).title, 'End the tracepoint t1')
})

test('a short name that several have, or none, changes nothing and is told with those there are', async () => {
  const twins = { tracepoints: [POINT, { ...POINT, id: 't1@cd34' }], calls: [] }
  for (const tool of [untraceFunction, traceCalls]) {
    const { kernel } = tracing(twins)
    const two = errorOf(await run(tool, { tracepoint: 't1' }, { kernel: { ...kernel, untrace: never } }))
    assert.equal([two.code, two.details], ['invalid_args', { parameter: 'tracepoint' }])
    assert.match(two.message, 't1@ab12, t1@cd34 begin so')
    const none = errorOf(await run(tool, { tracepoint: 't7' }, { kernel }))
    assert.equal([none.code, none.details.nearest], ['not_found', ['t1@ab12', 't1@cd34']])
  }
})

const never = () => Promise.reject(new Error('it was to change nothing'))

test('a name that is none, that is no function, and a tracepoint that is gone, are told apart', async () => {
  const missing = async () => ({ type: 'not_found', what: 'shop.totl', nearest: ['shop.total'] }) as const
  const wrong = async () => ({ type: 'malformed', message: 'shop.RATE is an int' }) as const
  const gone = async () => ({ type: 'not_found', what: 'tracepoint t9@ab12', nearest: ['t1@ab12'] }) as const
  const none = errorOf(await run(traceFunction, { name: 'shop.totl' }, { kernel: { trace: missing } }))
  assert.equal([none.code, none.message], ['not_found', 'Nothing is called shop.totl. Nearest: shop.total.'])
  const value = errorOf(await run(traceFunction, { name: 'shop.RATE' }, { kernel: { trace: wrong } }))
  assert.is(value.code, 'invalid_args')
  for (const [tool, args, kernel] of [
    [untraceFunction, { tracepoint: 't9@ab12' }, { untrace: gone }],
    [traceCalls, { tracepoint: 't9@ab12' }, { traces: gone }],
  ] as const) {
    const error = errorOf(await run(tool, args, { kernel }))
    assert.equal([error.code, error.details.nearest], ['not_found', ['t1@ab12']])
  }
})

test('calls are told as Python writes them, with result, time, thread, caller and handles', async () => {
  const raised: TracedCall = {
    ...CALL,
    number: 2,
    depth: 1,
    arguments: [],
    arguments_omitted: 3,
    outcome: { type: 'raised', exception: { type: RAISED.type, message: 'division by zero' } },
    elapsed_ms: 0.0059,
    caller: null,
  }
  const { kernel, asked } = tracing({ calls: [CALL, raised], next: 3 })
  const result = resultOf(await run(traceCalls, { tracepoint: 't1@ab12' }, { kernel }))
  assert.equal(asked, [{ tracepoint: 't1@ab12', from: 1, count: 20 }])
  assert.is(
    traceCalls.show(result).split('\n').slice(2).join('\n'),
    [
      '#1 shop.total(order=<Order 3>, rate=2) → 6, 2 ms',
      '  2026-11-22T15:00:01.500Z, thread "MainThread", from checkout (/srv/shop.py:40)',
      '  inspect: order @ab12.4, result @ab12.5',
      '  #2 shop.total() and 3 more arguments raised ZeroDivisionError: division by zero, 6 µs',
      '    2026-11-22T15:00:01.500Z, thread "MainThread"',
      'for more: from 3',
    ].join('\n'),
  )
})

test('and as Lisp writes them', async () => {
  const outcomes: readonly (readonly [TracedCall['outcome'], string])[] = [
    [{ type: 'running' }, 'has not returned yet'],
    [{ type: 'returned', values: [] }, '→ no value'],
    [{ type: 'returned', values: [shown('3'), shown('1')] }, '→ 3, 1'],
    [{ type: 'left' }, 'was left without a value'],
  ]
  for (const [outcome, said] of outcomes) {
    const calls = [{ ...CALL, outcome, elapsed_ms: null }]
    const { kernel } = tracing({ calls, tracepoints: [{ ...POINT, name: 'shop::total' }] }, 'lisp')
    const result = resultOf(await run(traceCalls, { tracepoint: 't1@ab12' }, { kernel }))
    assert.match(traceCalls.show(result), `#1 (shop::total <Order 3> 2) ${said}\n`)
  }
})

test('all tracepoints are listed without their calls, each with how it stands', async () => {
  const ended = { seen: 10, expires_in_ms: null, notes: [] }
  const tracepoints: Tracepoint[] = [
    POINT,
    { ...POINT, id: 't2@ab12' },
    { ...POINT, ...ended, state: 'full' },
    { ...POINT, ...ended, state: 'expired' },
  ]
  const { kernel } = tracing({ tracepoints, calls: [] })
  const text = traceCalls.show(resultOf(await run(traceCalls, {}, { kernel })))
  for (const said of ['full', 'its time is over'])
    assert.match(
      text,
      `t1@ab12 shop.total: ${said}, 10 calls of 10; it is out of the program (by sys.monitoring`,
    )
  assert.is(text.split('note: Calls of copies').length, 2, text)
  const empty = tracing({ tracepoints: [], calls: [] })
  assert.is(
    traceCalls.show(resultOf(await run(traceCalls, {}, { kernel: empty.kernel }))),
    'no tracepoints; trace_function sets one',
  )
})

test('of the only tracepoint its calls are shown, also where none was named; one that nothing called says so', async () => {
  const { kernel, asked } = tracing()
  const text = traceCalls.show(resultOf(await run(traceCalls, {}, { kernel })))
  assert.match(text, /^t1@ab12 shop\.total: [\s\S]*\n#1 shop\.total\(order=<Order 3>, rate=2\) → 6, 2 ms/)
  assert.equal(asked.at(-1), { tracepoint: 't1@ab12', from: 1, count: 20 })
  const over: Tracepoint = { ...POINT, state: 'expired', seen: 0, expires_in_ms: null }
  const late = tracing({ tracepoints: [over], calls: [] })
  const said = traceCalls.show(resultOf(await run(traceCalls, {}, { kernel: late.kernel })))
  assert.match(said, 'its time is over, and nothing has called it')
})

test('calls that would not fit into an answer are on the next page', async () => {
  const calls = Array.from({ length: 40 }, (_, index) => ({
    ...CALL,
    number: index + 1,
    thread: 't'.repeat(4_000),
  }))
  const { kernel } = tracing({ calls })
  const result = resultOf(await run(traceCalls, { tracepoint: 't1@ab12', limit: 40 }, { kernel }))
  const told = (result.calls as unknown[]).length
  assert.ok(told > 0 && told < 40)
  assert.is(result.next, told + 1)
})

test('what a person approves of a tracepoint is its function and its bounds', () => {
  const { title, body } = traceFunction.preview({ name: 'shop.total', limit: 1, seconds: 300 })
  assert.is(title, 'Trace shop.total')
  assert.match(body, /the next 1 call of shop\.total .* 300 seconds at most/)
})
