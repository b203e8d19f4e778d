import { errorSummaries, getLastError, getReplHistory, threads } from '../../tools/activity.ts'
import type { PastErrors } from '../../tools/contract.ts'
import type {
  LastError,
  ProgramError,
  ProgramErrors,
  RunHistory,
  RunHistoryEntry,
  Stack,
  Threads,
} from '../../wire/contract/inspection.ts'
import type { Frame } from '../../wire/contract/values.ts'
import { assert, suite } from '../support/harness.ts'
import { callId, context, errorOf, finding, kernel, RAISED, resultOf, run } from './context.ts'

const test = suite('activity')

const FRAME: Frame = {
  function: 'checkout',
  file: '/srv/shop/web.py',
  line: 21,
  source: '    with stock:',
  locals: [{ name: 'order', type_name: 'Order', repr: '<Order>' }],
  locals_omitted: 0,
}
const OUTER = {
  ...FRAME,
  function: '<module>',
  line: 40,
  source: 'checkout(order)',
  locals: [],
  locals_omitted: 2,
}

const MAIN: Stack = {
  names: ['MainThread'],
  count: 1,
  state: 'waiting',
  waits_for: 'a lock',
  role: 'main',
  frames: [OUTER, FRAME],
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

const answered = async (value: Threads, args = {}) =>
  resultOf(await run(threads, args, { kernel: { threads: finding(value).look } }))

const stacksOf = async (value: Threads) => (await answered(value)) as unknown as Threads

test('threads are read as a dump of threads: who, what it waits for, place, source and locals, innermost last', async () => {
  const { look, queries } = finding(FOUND)
  const result = resultOf(await run(threads, {}, { kernel: { threads: look } }))
  await run(threads, { filter: 'web', locals: false, limit: 3 }, { kernel: { threads: look } })
  assert.equal(queries, [
    { locals: true, limit: 20, frames: 40 },
    { filter: 'web', locals: false, limit: 3, frames: 40 },
  ])
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
  const result = await stacksOf({ ...FOUND, tasks: stacks })
  const [first] = result.tasks
  assert.ok(result.tasks.length < 20 && result.tasks.length >= 2, String(result.tasks.length))
  assert.is(result.omitted, 20 - result.tasks.length)
  assert.is(result.threads.length, 1)
  assert.is(first?.frames[0]?.locals.length, 0)
  assert.is(first?.frames[0]?.locals_omitted, 10)
  assert.is(first?.frames.at(-1)?.locals.length, 10)
  assert.match(threads.show(result), 'note: Only the innermost frames are shown with locals')
  assert.ok(threads.show(result).length < 32_000)
})

test('Imago’s own threads are in no answer', async () => {
  const ours: Stack = { ...MAIN, names: ['imago-link'], role: 'imago' }
  const { threads: kept } = await stacksOf({ ...FOUND, threads: [ours, MAIN] })
  assert.equal(
    kept.map(({ names }) => names),
    [['MainThread']],
  )
  assert.not.match(threads.show({ ...FOUND, threads: kept }), 'imago')
})

const OWN: Frame = { ...FRAME, own: true }
const STARLETTE: Frame = { ...OUTER, function: 'app', own: false, library: 'starlette', locals_omitted: 0 }
const ANYIO: Frame = { ...STARLETTE, library: 'anyio' }

test('the program’s frames are whole, and a run of library frames is one line that says how to open it', async () => {
  const frames = [STARLETTE, STARLETTE, { ...ANYIO, repeated: 4 }, OWN, ANYIO]
  const stacks = { ...FOUND, threads: [{ ...MAIN, frames }], tasks: [], tasks_total: 0 }
  assert.is(
    threads.show(await answered(stacks)),
    [
      '1 thread, 0 tasks',
      '',
      'Thread "MainThread" (main), waiting for a lock',
      '  … 6 frames of starlette, anyio (open: threads {"all": true})',
      '  /srv/shop/web.py:21 in checkout',
      '    with stock:',
      '      order = <Order>',
      '  … 1 frame of anyio',
    ].join('\n'),
  )
  assert.is(threads.show(await answered(stacks, { all: true })).split(' in app').length, 5)
})

test('the data of an answer folds library frames as its text does, counts them and names the way to all', async () => {
  const frames = [STARLETTE, { ...ANYIO, repeated: 4 }, OWN, ANYIO]
  const stacks = { ...FOUND, threads: [{ ...MAIN, frames }], tasks: [], tasks_total: 0 }
  const data = (await answered(stacks)) as unknown as Threads & { open?: string }
  assert.equal(data.threads[0]?.frames as unknown, [
    { folded: 5, libraries: ['starlette', 'anyio'] },
    OWN,
    { folded: 1, libraries: ['anyio'] },
  ])
  assert.is(data.open, 'threads {"all": true}')
  const all = await answered(stacks, { all: true })
  assert.equal([(all as unknown as Threads).threads[0]?.frames, all.open], [frames, undefined])
})

test('`all` asks for the locals of libraries, too', async () => {
  const { look, queries } = finding(FOUND)
  await run(threads, { all: true }, { kernel: { threads: look } })
  assert.is((queries[0] as { all?: boolean }).all, true)
})

test('a thread that only waits in a library is one line, after those in which the program stands', async () => {
  const idle = {
    ...MAIN,
    names: ['worker'],
    role: 'user',
    waits_for: 'an item',
    frames: [ANYIO, ANYIO],
  } as const
  const one = { ...FOUND, tasks: [], tasks_total: 0 }
  const shown = threads.show(await answered({ ...one, threads: [idle, MAIN] }))
  assert.ok(shown.endsWith('\n\nThread "worker", waiting for an item'), shown)
  const busy = threads.show(await answered({ ...FOUND, threads: [{ ...idle, state: 'running' }] }))
  assert.match(busy, 'Thread "worker", running\n  … 2 frames of anyio')
})

/** An image that does not tell the errors of its program apart, as a Lisp is. */
const { identity } = kernel()
const APART = {
  identity: {
    ...identity,
    abilities: new Set([...identity.abilities].filter(ability => ability !== 'errors')),
  },
}

const LAST: LastError = {
  error: RAISED,
  who: 'claude-code 2.1',
  call: callId('c-71'),
  at: '2026-10-02T09:00:00Z',
  seen: ['evaluations'],
}

test('the last error is told with its report, who caused it, and the locals of every frame', async () => {
  const kernel = { ...APART, last_error: finding(LAST).look }
  const result = resultOf(await run(getLastError, {}, { kernel }))
  assert.equal(result, { ...LAST, others: [] })
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

test('an image whose report says no more than its frames has each frame shown once, and what it came of before it', async () => {
  const [outer, inner] = [RAISED.frames[0] as Frame, RAISED.frames[1] as Frame]
  const told = { ...RAISED, beside_frames: '' }
  const library = {
    ...inner,
    own: false,
    library: 'django',
    file: '/lib/query.py',
    line: 635,
    function: 'get',
  }
  const key = {
    type: { name: 'KeyError', module: 'builtins', qualified: 'builtins.KeyError' },
    message: "'n'",
  }
  const error = {
    ...told,
    notes: ['seen by the till'],
    cause: { how: 'cause', exception: { ...told, ...key, frames: [outer, library, library] } },
  } as const
  const kernel = { ...APART, last_error: finding({ ...LAST, error }).look }
  const shown = getLastError.show(resultOf(await run(getLastError, {}, { kernel })))
  assert.is(
    shown,
    [
      'ZeroDivisionError: division by zero',
      'raised by claude-code 2.1 at 2026-10-02T09:00:00Z (call c-71)',
      'frames, innermost last:',
      '  app.py:9 in <module>\n    ratio(0)',
      '  … 2 frames of django, raised at /lib/query.py:635 in get',
      "  KeyError: 'n'",
      'this was the direct cause of the next one:',
      'frames, innermost last:',
      '  app.py:9 in <module>\n    ratio(0)',
      '  app.py:3 in ratio\n    return 1 / n\n      n = 0\n      and 2 locals more',
      '  seen by the till',
    ].join('\n'),
  )
  const misread = { ...told, frames: [], beside_frames: '  File "app.py", line 3\n    x = = 1\n' }
  const syntax = { ...APART, last_error: finding({ ...LAST, error: misread }).look }
  assert.match(
    getLastError.show(resultOf(await run(getLastError, {}, { kernel: syntax }))),
    '(call c-71)\n    File "app.py", line 3\n      x = = 1',
  )
})

test('what the program said of its error is one line, and of a storm it is said when the one came that is shown', async () => {
  const said = 'Task exception was never retrieved\nfuture: <Task "a">'
  const storm = { ...NEWEST, said, shown_at: '2026-10-02T08:59:00Z' }
  const shown = getLastError.show(await answering({}, failing({ ...ERRORS, errors: [storm] })))
  assert.match(
    shown,
    '3 times since 2026-10-02T08:00:00Z (shown is the one of 2026-10-02T08:59:00Z), with "Task exception was never retrieved future: <Task "a">"\n',
  )
})

test('where nothing was raised that is no failure, and the answer says where errors are seen', async () => {
  const value: LastError = { error: null, who: null, call: null, at: null, seen: ['evaluations', 'threads'] }
  const kernel = { ...APART, last_error: finding(value).look }
  assert.is(
    getLastError.show(resultOf(await run(getLastError, {}, { kernel }))),
    'no error of this image has reached Imago\nwhere it looks: evaluations; threads',
  )
})

const NEWEST: ProgramError = {
  number: 7,
  kind: 'logged',
  first: '2026-10-02T08:00:00Z',
  last: '2026-10-02T09:00:01Z',
  times: 3,
  where: 'request GET /orders/',
  said: 'could not ship %s',
  error: RAISED,
}
const OLDER: ProgramError = {
  ...NEWEST,
  number: 4,
  kind: 'uncaught',
  first: '2026-10-02T08:30:00Z',
  last: '2026-10-02T08:30:00Z',
  times: 1,
  where: 'thread till',
  said: null,
  error: { ...RAISED, message: 'no rate' },
}
const ERRORS: ProgramErrors = { errors: [NEWEST, OLDER], total: 4, watched: true }

/** A program with two errors of its own, in which somebody has evaluated what failed. */
function failing(own: ProgramErrors = ERRORS, last: LastError = LAST) {
  const errors = finding(own)
  const lastError = finding(last)
  return { kernel: { errors: errors.look, last_error: lastError.look }, errors, lastError }
}

const answering = async (args: object, { kernel } = failing()) =>
  resultOf(await run(getLastError, args, { kernel }))

test('the newest error of the program comes first, with what it belonged to, how often it came, and the others', async () => {
  const program = failing()
  const shown = getLastError.show(await answering({}, program))
  assert.equal(program.errors.queries, [{ count: 20, unread: true }])
  assert.match(
    shown,
    /^ZeroDivisionError: division by zero\nerror 7 of the program, request GET \/orders\/: logged at 2026-10-02T09:00:01Z, 3 times since 2026-10-02T08:00:00Z \(shown is the newest\), with "could not ship %s"\n/,
  )
  assert.match(shown, 'app.py:3 in ratio\n    return 1 / n\n      n = 0')
  assert.ok(
    shown.endsWith(
      'other errors of the program, newest first; get_last_error {"number": N} shows one:\n' +
        '  4  ZeroDivisionError: no rate  (thread till, app.py:3, 2026-10-02T08:30:00Z)',
    ),
    shown,
  )
})

test('an error that waits in a debugger of a person is told as such, and where nothing waits, where it was looked for', async () => {
  const waiting = { ...OLDER, kind: 'waiting', where: 'thread "web 1", in SLIME' } as const
  const seen = ['errors that wait in a debugger of a person now']
  const shown = getLastError.show(await answering({}, failing({ ...ERRORS, errors: [waiting], seen })))
  assert.match(
    shown,
    '\nerror 4 of the program, thread "web 1", in SLIME: waits there for a person, seen first at 2026-10-02T08:30:00Z\n',
  )
  const none = failing({ errors: [], total: 0, watched: true, seen }, { ...LAST, error: null, at: null })
  assert.match(getLastError.show(await answering({ whose: 'program' }, none)), `where it looks: ${seen[0]}`)
})

test('an older error of the program is shown by its number, and one that there is not is not found', async () => {
  const shown = getLastError.show(await answering({ number: 4 }))
  assert.match(
    shown,
    /^ZeroDivisionError: no rate\nerror 4 of the program, thread till: uncaught at 2026-10-02T08:30:00Z\n/,
  )
  assert.match(shown, '\n  7  ZeroDivisionError: division by zero  (request GET /orders/')
  const error = errorOf(await run(getLastError, { number: 5 }, { kernel: failing().kernel }))
  assert.equal([error.code, error.details.nearest], ['not_found', ['7', '4']])
})

test('what was evaluated since and failed is a line beside an error of the program, and what was before it none', async () => {
  const later = { ...LAST, at: '2026-10-02T09:00:02Z' }
  const shown = getLastError.show(await answering({}, failing(ERRORS, later)))
  assert.match(
    shown,
    /\nevaluated since, and failed: ZeroDivisionError: division by zero \(claude-code 2\.1\); get_last_error \{"whose": "callers"\} shows it$/,
  )
  assert.not.match(getLastError.show(await answering({})), 'evaluated since')
})

test('errors of callers are told where the program had none, or where they are asked for', async () => {
  const none = failing({ errors: [], total: 0, watched: true })
  assert.match(getLastError.show(await answering({}, none)), 'raised by claude-code 2.1')
  const asked = failing()
  assert.match(getLastError.show(await answering({ whose: 'callers' }, asked)), 'raised by claude-code 2.1')
  assert.equal(asked.errors.queries, [])
  const nothing = { ...LAST, error: null, who: null, call: null, at: null }
  const own = { errors: [], total: 0, watched: true }
  assert.match(
    getLastError.show(await answering({}, failing(own, nothing))),
    'where it looks: what nothing catches; what is logged or printed with its traceback; requests and tests that fail; evaluations',
  )
  const alone = failing(own)
  assert.not.match(getLastError.show(await answering({ whose: 'program' }, alone)), 'claude-code')
  assert.equal(alone.lastError.queries, [])
})

test('where nobody looks for errors of the program, asking for them alone is told so', async () => {
  const off = failing({ errors: [], total: 0, watched: false })
  const wolfram = { ...APART, identity: { ...APART.identity, language: 'wolfram' } }
  for (const [kernel, why] of [
    [off.kernel, 'or listens with errors=False.'],
    [APART, 'or listens with errors=False.'],
    [wolfram, 'it does not tell them apart.'],
  ] as const) {
    const error = errorOf(await run(getLastError, { whose: 'program' }, { kernel }))
    assert.is(error.code, 'not_available')
    assert.match(error.message, why)
  }
})

test('each error of the program is a line of the command, the newest first', async () => {
  assert.equal(errorSummaries(await answering({ whose: 'program' })), [
    {
      number: 7,
      at: '2026-10-02T09:00:01Z',
      where: 'request GET /orders/',
      times: 3,
      what: 'ZeroDivisionError: division by zero',
      file: 'app.py',
      line: 3,
    },
    {
      number: 4,
      at: '2026-10-02T08:30:00Z',
      where: 'thread till',
      times: 1,
      what: 'ZeroDivisionError: no rate',
      file: 'app.py',
      line: 3,
    },
  ])
})

/** A program that has ended with one of its errors, and one that was killed. */
const PAST: PastErrors = {
  gone: [
    {
      file: '/state/errors/a.json',
      name: 'night',
      pid: 41,
      started: '',
      cwd: '/project',
      program: '/project/train.py',
      ended_at: '2026-10-02T01:21:05Z',
      ended: 'ZeroDivisionError: no rate',
      ended_with: 4,
      errors: [{ ...OLDER, last: '2026-10-02T01:21:04Z' }],
    },
    {
      file: '/state/errors/b.json',
      name: 'web',
      pid: 40,
      started: '',
      cwd: '/project',
      program: '',
      ended_with: null,
      errors: [{ ...NEWEST, last: '2026-10-01T01:00:00Z' }],
    },
  ],
  skipped: [{ file: '/state/errors/c.json', reason: 'is no whole record of errors: it was cut short' }],
}

test('errors of processes that have gone stand behind those of the one that lives, each with its process', async () => {
  const shown = getLastError.show(
    resultOf(await run(getLastError, {}, { kernel: failing().kernel, past: PAST })),
  )
  assert.match(shown, /^ZeroDivisionError: division by zero\nerror 7 of the program/)
  assert.ok(
    shown.endsWith(
      [
        'other errors of the program, newest first; get_last_error {"number": N, "process": P} shows one:',
        '  4  ZeroDivisionError: no rate  (thread till, app.py:3, 2026-10-02T08:30:00Z)',
        '  4 of process 41 (train, gone)  ZeroDivisionError: no rate  (thread till, app.py:3, 2026-10-02T01:21:04Z)',
        '  7 of process 40 (web, gone)  ZeroDivisionError: division by zero  (request GET /orders/, app.py:3, 2026-10-01T01:00:00Z, 3 times)',
        'not read: /state/errors/c.json is no whole record of errors: it was cut short',
      ].join('\n'),
    ),
    shown,
  )
})

test('where the program that lives has none, the newest of those that have gone is shown as such', async () => {
  const none = failing(
    { errors: [], total: 0, watched: true },
    { ...LAST, error: null, who: null, call: null, at: null },
  )
  for (const args of [{}, { whose: 'program' }]) {
    const shown = getLastError.show(
      resultOf(await run(getLastError, args, { kernel: none.kernel, past: PAST })),
    )
    assert.match(shown, '\nerror 4 of process 41, thread till: uncaught at 2026-10-02T01:21:04Z\n')
    assert.match(
      shown,
      'train (process 41) ended with it at 2026-10-02T01:21:05Z; the values are as they were',
    )
  }
})

test('an error of a process that has gone is shown by both numbers, and no kernel is asked', async () => {
  const asked = await getLastError.withoutKernel({ number: 7, process: 40 }, context({ past: PAST }))
  assert.match(
    getLastError.show(asked?.type === 'ok' ? asked.result : asked),
    'web (process 40) has gone and did not say when; the values are as they were kept then',
  )
  const unknown = await getLastError.withoutKernel({ number: 9, process: 40 }, context({ past: PAST }))
  assert.match(
    unknown?.type === 'failed' ? unknown.error.message : '',
    'Known: 4 of process 41, 7 of process 40.',
  )
  assert.is(await getLastError.withoutKernel({ number: 7 }, context({ past: PAST })), undefined)
  const other = errorOf(await run(getLastError, { process: 39 }, { kernel: failing().kernel }))
  assert.equal(
    [other.code, other.message],
    ['not_found', 'No process that has gone has left that error. Known: none.'],
  )
})

test('exceptions that finished futures hold are lines, and how each is inspected', async () => {
  const unread = { count: 2, named: [{ what: "KeyError: 'pie' (shop.py:3)", expr: 'kept[1]' }] }
  const nothing = failing({ errors: [], total: 0, watched: true, unread }, { ...LAST, error: null, at: null })
  assert.match(
    getLastError.show(await answering({}, nothing)),
    [
      '2 finished futures or tasks hold an exception that no result() has raised:',
      '  KeyError: \'pie\' (shop.py:3)  inspect {"expr":"kept[1]"}',
      '  and 1 more',
    ].join('\n'),
  )
  assert.equal(nothing.errors.queries, [{ count: 20, unread: true }])
  const cut = { errors: [], total: 0, watched: true, unread: { count: 0, named: [], cut: true } }
  assert.match(
    getLastError.show(await answering({}, failing(cut, { ...LAST, error: null, at: null }))),
    '\nNot all objects were searched for exceptions in futures and tasks: the time was over.',
  )
})

test('where no kernel lives, those of the kernel that was named answer, and where it left none that is no answer', () => {
  const asked = (kernel?: string) => getLastError.withNoneLiving({}, context({ past: PAST }), kernel)
  for (const name of ['web', '40', 'web-40', 'web/*'])
    assert.match(JSON.stringify(asked(name)), '"of":{"name":"web","pid":40')
  assert.match(JSON.stringify(asked()), '"of":{"name":"train","pid":41')
  assert.is(asked('shop'), undefined)
})

const ENTRY: RunHistoryEntry = {
  number: 12,
  who: 'claude-code 2.1',
  call: callId('c-71'),
  place: { file: 'notes.py', line: 3 },
  source: 'total = 6 * 7\ntotal',
  truncated: false,
  outcome: 'done',
  result: '42',
  at: '2026-10-02T09:00:00Z',
  elapsed_ms: 4,
}

test('the history says who ran what, when, and what came of it, newest first', async () => {
  const unknown = { place: null, elapsed_ms: null, result: null }
  const running: RunHistoryEntry = { ...ENTRY, ...unknown, number: 11, outcome: 'running', truncated: true }
  const value: RunHistory = { entries: [ENTRY, running], total: 12 }
  const { look, queries } = finding(value)
  const result = resultOf(await run(getReplHistory, { before: 13 }, { kernel: { history: look } }))
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
