import { getLastError, getReplHistory, threads } from '../../tools/activity.ts'
import type {
  LastError,
  RunHistory,
  RunHistoryEntry,
  Stack,
  Threads,
} from '../../wire/contract/inspection.ts'
import type { Frame } from '../../wire/contract/values.ts'
import { assert, suite } from '../support/harness.ts'
import { callId, errorOf, RAISED, resultOf, run } from './context.ts'

const test = suite('activity')

const FRAME: Frame = {
  function: 'checkout',
  file: '/srv/shop/web.py',
  line: 21,
  source: '    with stock:',
  locals: [{ name: 'order', type_name: 'Order', repr: '<Order>' }],
  locals_omitted: 0,
}

const MAIN: Stack = {
  names: ['MainThread'],
  count: 1,
  state: 'waiting',
  waits_for: 'a lock',
  role: 'main',
  frames: [
    { ...FRAME, function: '<module>', line: 40, source: 'checkout(order)', locals: [], locals_omitted: 2 },
    FRAME,
  ],
  frames_omitted: 0,
}

const TASKS: Stack = {
  ...MAIN,
  names: ['Task-1', 'Task-2'],
  count: 998,
  role: 'user',
  waits_for: '<Future pending>',
  frames: [FRAME],
}

const FOUND: Threads = {
  threads: [MAIN],
  tasks: [TASKS],
  threads_total: 1,
  tasks_total: 998,
  omitted: 0,
  notes: [],
}

const answering = (value: Threads) => ({ threads: async () => ({ type: 'found', value }) as const })

test('threads are read as a dump of threads: who, what it waits for, place, source and locals, innermost last', async () => {
  const result = resultOf(await run(threads, {}, { kernel: answering(FOUND) }))
  assert.equal(result, FOUND)
  assert.is(
    threads.show(result),
    [
      '1 thread, 998 tasks',
      '',
      'Thread "MainThread" (main), waiting for a lock',
      '  /srv/shop/web.py:40 in <module>',
      '    checkout(order)',
      '      2 locals not shown',
      '  /srv/shop/web.py:21 in checkout',
      '    with stock:',
      '      order = <Order>',
      '',
      '998 tasks "Task-1", "Task-2", …, waiting for <Future pending>',
      '  /srv/shop/web.py:21 in checkout',
      '    with stock:',
      '      order = <Order>',
    ].join('\n'),
  )
})

test('threads asks for twenty stacks with locals unless told otherwise', async () => {
  const queries: unknown[] = []
  const kernel = {
    threads: async (query: unknown) => {
      queries.push(query)
      return { type: 'found', value: FOUND } as const
    },
  }
  await run(threads, {}, { kernel })
  await run(threads, { filter: 'web', locals: false, limit: 3 }, { kernel })
  assert.equal(queries, [
    { locals: true, limit: 20, frames: 24 },
    { filter: 'web', locals: false, limit: 3, frames: 24 },
  ])
})

test('a stack says what is missing in it, and the answer what is missing of it', () => {
  const shown = threads.show({
    ...FOUND,
    threads: [
      { ...MAIN, frames: [], frames_omitted: 0, role: 'evaluating', state: 'running', waits_for: null },
    ],
    tasks: [{ ...TASKS, count: 1, names: ['one'], frames_omitted: 7 }],
    omitted: 4,
    notes: ['Threads made in C are not seen.'],
  })
  assert.match(
    shown,
    '4 other stacks left out: give a filter, or a higher limit\nnote: Threads made in C are not seen.',
  )
  assert.match(shown, 'Thread "MainThread" (evaluates for a caller), running\n  (no frames to be seen)')
  assert.match(shown, 'Task "one", waiting for <Future pending>\n  (7 frames in the middle left out)')
})

test('frames in a row at one line are one, with their number and whose locals are told', () => {
  const frames = [{ ...FRAME, repeated: 1992 }, { ...FRAME, locals: [], repeated: 2 }, FRAME]
  const shown = threads.show({ ...FOUND, threads: [{ ...MAIN, frames }] })
  assert.match(shown, 'web.py:21 in checkout × 1992, the innermost with its locals\n')
  assert.match(shown, 'web.py:21 in checkout × 2\n')
})

test('stacks too many for an answer lose the locals of outer frames first, and are then left out and counted', async () => {
  const wide = Array.from({ length: 24 }, () => ({
    ...FRAME,
    locals: Array.from({ length: 10 }, () => ({ name: 'n', type_name: 'str', repr: 'x'.repeat(80) })),
  }))
  const stacks = Array.from({ length: 20 }, (_, index) => ({
    ...TASKS,
    names: [`task ${index}`],
    count: 1,
    frames: wide,
  }))
  const result = resultOf(
    await run(threads, {}, { kernel: answering({ ...FOUND, tasks: stacks }) }),
  ) as unknown as Threads
  const [first] = result.tasks
  assert.ok(result.tasks.length < 20 && result.tasks.length > 2, String(result.tasks.length))
  assert.is(result.omitted, 20 - result.tasks.length)
  assert.is(result.threads.length, 1)
  assert.is(first?.frames[0]?.locals.length, 0)
  assert.is(first?.frames[0]?.locals_omitted, 10)
  assert.is(first?.frames.at(-1)?.locals.length, 10)
  assert.match(threads.show(result), 'note: Only the innermost frames are shown with locals')
  assert.ok(threads.show(result).length < 32_000)
})

test('Imago’s own threads are named and not shown, and are the first to be left out', async () => {
  const ours: Stack = { ...MAIN, names: ['imago-link'], role: 'imago' }
  const pool: Stack = { ...ours, names: Array.from({ length: 8 }, () => 'imago-look'), count: 9 }
  const shown = threads.show({ ...FOUND, threads: [ours, pool, MAIN] })
  assert.match(shown, /^1 thread, 998 tasks\n\nThread "MainThread"/)
  assert.ok(shown.endsWith('\n\nImago’s own threads, neither shown nor counted: imago-link, imago-look ×9'))
  const long = { ...TASKS, frames: [{ ...FRAME, source: 'x'.repeat(20_000) }] }
  const value = { ...FOUND, threads: [{ ...ours, frames: long.frames }, MAIN], tasks: [long] }
  const result = resultOf(await run(threads, {}, { kernel: answering(value) })) as unknown as Threads
  assert.equal(
    result.threads.map(({ names }) => names[0]),
    ['MainThread'],
  )
  assert.is(result.tasks.length, 1)
  assert.is(result.omitted, 1)
})

test('stacks that could not be told in time are asked for in parts', async () => {
  const kernel = { threads: async () => ({ type: 'timed_out', deadline_ms: 5_000 }) as const }
  const error = errorOf(await run(threads, {}, { kernel }))
  assert.is(error.code, 'internal')
  assert.match(error.next ?? '', 'locals false')
})

const LAST: LastError = {
  error: RAISED,
  who: 'claude-code 2.1',
  call: callId('c-71'),
  at: '2026-10-02T09:00:00Z',
  seen: ['evaluations'],
}

test('the last error is told with its report, who caused it, and the locals of every frame', async () => {
  const kernel = { last_error: async () => ({ type: 'found', value: LAST }) as const }
  const result = resultOf(await run(getLastError, {}, { kernel }))
  assert.equal(result, LAST)
  assert.is(
    getLastError.show(result),
    [
      'ZeroDivisionError: division by zero',
      'raised by claude-code 2.1 at 2026-10-02T09:00:00Z (call c-71)',
      '  Traceback (most recent call last):\n    …\n  ZeroDivisionError: division by zero',
      'frames, innermost last:',
      '  app.py:9 in <module>\n    ratio(0)',
      '  app.py:3 in ratio\n    return 1 / n\n      n = 0\n      and 2 locals more',
    ].join('\n'),
  )
})

test('the restarts that stood where an error was raised are told, where the language has such', () => {
  const restarts = [{ name: 'use-value', description: 'Use another value.' }]
  const shown = getLastError.show({ ...LAST, error: { ...RAISED, restarts } })
  assert.match(shown, 'restarts that stood there, none taken:\n  use-value: Use another value.\nframes,')
})

test('where nothing was raised that is no failure, and the answer says where errors are seen', async () => {
  const value: LastError = { error: null, who: null, call: null, at: null, seen: ['evaluations', 'threads'] }
  const kernel = { last_error: async () => ({ type: 'found', value }) as const }
  const result = resultOf(await run(getLastError, {}, { kernel }))
  assert.is(result.error, null)
  assert.is(
    getLastError.show(result),
    'no error was raised in this image, as far as Imago could see\nwhere it looks: evaluations; threads',
  )
})

const ENTRY: RunHistoryEntry = {
  number: 12,
  who: 'claude-code 2.1',
  call: callId('c-71'),
  source: 'total = 6 * 7\ntotal',
  truncated: false,
  place: { file: 'notes.py', line: 3 },
  outcome: 'done',
  result: '42',
  at: '2026-10-02T09:00:00Z',
  elapsed_ms: 4,
}

test('the history says who ran what, when, and what came of it, newest first', async () => {
  const running = {
    ...ENTRY,
    number: 11,
    place: null,
    outcome: 'running',
    elapsed_ms: null,
    result: null,
    truncated: true,
  }
  const value = { entries: [ENTRY, running], total: 12 } as RunHistory
  const queries: unknown[] = []
  const kernel = {
    history: async (query: unknown) => {
      queries.push(query)
      return { type: 'found', value } as const
    },
  }
  const result = resultOf(await run(getReplHistory, { before: 13 }, { kernel }))
  assert.equal(queries, [{ limit: 10, before: 13 }])
  assert.is(
    getReplHistory.show(result),
    [
      '2 of 12, newest first; for more: before 11',
      '#12 claude-code 2.1, 2026-10-02T09:00:00Z, done in 4 ms, notes.py:3',
      '  total = 6 * 7\n  total',
      '  → 42',
      '#11 claude-code 2.1, 2026-10-02T09:00:00Z, running',
      '  total = 6 * 7\n  total … (cut)',
    ].join('\n'),
  )
  assert.is(getReplHistory.show({ entries: [], total: 0 }), 'nothing was evaluated')
  assert.is(getReplHistory.show({ entries: [], total: 9 }), 'nothing is remembered before that; 9 in all')
})
