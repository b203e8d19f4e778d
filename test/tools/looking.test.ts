import { inspect, readMore } from '../../tools/inspect.ts'
import { listGlobals } from '../../tools/names.ts'
import { rises } from '../../tools/outcome.ts'
import { showEnvelope, showError } from '../../tools/show.ts'
import type {
  GlobalsPage,
  GlobalsQuery,
  Inspected,
  InspectQuery,
  MoreQuery,
} from '../../wire/contract/inspection.ts'
import type { Looked } from '../../wire/contract/looks.ts'
import { assert, suite } from '../support/harness.ts'
import { callId, context, errorOf, job, RAISED, resultOf, run } from './context.ts'

const test = suite('looking')

const NUMBER: Inspected = {
  type: { name: 'int', module: 'builtins', qualified: 'builtins.int' },
  kind: 'number',
  read: 'static',
  repr: { text: '42', truncated: false, original_len: 2 },
  limits: { repr_max_chars: 4096 },
}

const page = { globals: [{ name: 'x', type_name: 'int' }], total: 1 }

/** What a kernel is asked, in order, with the deadline of each look. */
function asked<Query, Found>(answers: readonly Looked<Found>[]) {
  const queries: Query[] = []
  const deadlines: number[] = []
  const rest = [...answers]
  const ask = async (query: Query, look: { deadlineMs: number }): Promise<Looked<Found>> => {
    queries.push(query)
    deadlines.push(look.deadlineMs)
    const answer = rest.shift()
    if (answer === undefined) throw new Error('asked once more than expected')
    return answer
  }
  return { ask, queries, deadlines }
}

test('list_globals asks for a hundred names without modules unless told otherwise', async () => {
  const { ask, queries, deadlines } = asked<GlobalsQuery, typeof page>([
    { type: 'found', value: page },
    { type: 'found', value: page },
  ])
  assert.equal(resultOf(await run(listGlobals, {}, { kernel: { globals: ask } })), page)
  await run(listGlobals, { filter: 'a', after: 'b', modules: true, limit: 7 }, { kernel: { globals: ask } })
  assert.equal(queries, [
    { modules: false, limit: 100 },
    { modules: true, limit: 7, filter: 'a', after: 'b' },
  ])
  assert.equal(deadlines, [5_000, 5_000])
})

test('list_globals asks for the names of one module or package, and a missing one says what can be listed', async () => {
  const { ask, queries } = asked<GlobalsQuery, typeof page>([{ type: 'found', value: page }])
  await run(listGlobals, { package: 'shop.orders' }, { kernel: { globals: ask } })
  assert.equal(queries, [{ modules: false, limit: 100, module: 'shop.orders' }])
  assert.equal(listGlobals.renamed({ module: 'SHOP' }), { package: 'SHOP' })
  const globals = async () => ({ type: 'not_found', what: 'shop.odrers', nearest: ['shop.orders'] }) as const
  const error = errorOf(await run(listGlobals, { package: 'shop.odrers' }, { kernel: { globals } }))
  assert.is(error.code, 'not_found')
  assert.match(error.message, 'Nearest: shop.orders')
  assert.match(error.next ?? '', 'Only what is loaded')
})

test('list_globals refuses a page of none, of too many, and of a fraction', () => {
  for (const limit of [0, -1, 1_001, 1.5, Number.NaN, '10', null])
    assert.is(listGlobals.parameters.safeParse({ limit }).success, false, String(limit))
  assert.is(listGlobals.parameters.safeParse({ limit: 1_000 }).success, true)
})

test('a page of names is read as a count and one line per name', () => {
  assert.is(listGlobals.show(page), '1 name\nx: int')
  assert.is(listGlobals.show({ globals: [], total: 0 }), 'no names')
  assert.is(
    listGlobals.show({ globals: [{ name: 'two\nlines', type_name: 'str' }], total: 2, next: 'two\nlines' }),
    '1 of 2 names; for more: after "two\\nlines"\ntwo\\nlines: str',
  )
})

test('a page of long names ends early, and its `next` leads on from the last name shown', async () => {
  const globals = Array.from({ length: 1_000 }, (_, index) => ({
    name: `${index}`.padStart(500, 'n'),
    type_name: 'int',
  }))
  const answer = {
    kernel: { globals: async () => ({ type: 'found', value: { globals, total: 5_000 } }) as const },
  }
  const result = resultOf(await run(listGlobals, { limit: 1_000 }, answer)) as unknown as GlobalsPage
  assert.ok(result.globals.length > 50 && result.globals.length < 100)
  assert.is(result.next, result.globals.at(-1)?.name)
  assert.is(result.total, 5_000)
  assert.ok(listGlobals.parameters.safeParse({ after: result.next }).success)
})

test('a single name longer than a page is shown all the same', async () => {
  const value = { globals: [{ name: 'n'.repeat(50_000), type_name: 'int' }], total: 1 }
  const answer = { kernel: { globals: async () => ({ type: 'found', value }) as const } }
  assert.equal(resultOf(await run(listGlobals, {}, answer)), value)
})

test('inspect looks without running code, and answers what was found as it was found', async () => {
  const { ask, queries, deadlines } = asked<InspectQuery, Inspected>([{ type: 'found', value: NUMBER }])
  assert.equal(resultOf(await run(inspect, { expr: 'x' }, { kernel: { inspect: ask } })), NUMBER)
  assert.equal(queries, [{ expr: 'x', evaluate: false }])
  assert.equal(deadlines, [5_000])
})

test('inspect rises to cautious for what only running code can tell, and runs nothing before', async () => {
  const { ask, queries } = asked<InspectQuery, Inspected>([
    { type: 'needs_evaluation', because: 'f() is a call' },
    { type: 'found', value: { ...NUMBER, read: 'evaluated' } },
  ])
  assert.equal(
    await run(inspect, { expr: 'f()' }, { kernel: { inspect: ask } }),
    rises('cautious', 'f() is a call'),
  )
  const again = await run(inspect, { expr: 'f()' }, { kernel: { inspect: ask }, level: 'cautious' })
  assert.is(resultOf(again).read, 'evaluated')
  assert.equal(queries, [
    { expr: 'f()', evaluate: false },
    { expr: 'f()', evaluate: true },
  ])
})

test('inspect at level cautious does not rise again when the kernel still declines', async () => {
  const { ask } = asked<InspectQuery, Inspected>([{ type: 'needs_evaluation', because: 'it is a macro' }])
  const error = errorOf(await run(inspect, { expr: 'f()' }, { kernel: { inspect: ask }, level: 'cautious' }))
  assert.is(error.code, 'needs_evaluation')
  assert.match(error.next ?? '', 'eval_expr')
})

test('read_more reads texts of the daemon without a kernel', async () => {
  const texts = {
    owns: (handle: string) => handle.startsWith('@out'),
    issued: (handle: string) => handle === '@out.3',
    read: ({ from, count }: { from: number; count: number }) =>
      from > 100 ? undefined : { text: 'abc', total: 100, next: from + count },
  }
  const here = context({ texts })
  const found = await readMore.withoutKernel({ handle: '@out.3', from: 20, count: 3 }, here)
  assert.equal(found, { type: 'ok', result: { type: 'text', text: 'abc', from: 20, total: 100, next: 23 } })
  const gone = await readMore.withoutKernel({ handle: '@out.3', from: 101, count: 3 }, here)
  assert.is(gone?.type === 'failed' && gone.error.code, 'stale_handle')
  const never = await readMore.withoutKernel({ handle: '@out.9', from: 101, count: 3 }, here)
  assert.is(never?.type === 'failed' && never.error.code, 'not_found')
  assert.is(await readMore.withoutKernel({ handle: '@ab12.3', from: 0, count: 3 }, here), undefined)
})

test('read_more asks the kernel for everything else', async () => {
  const piece = { type: 'items', items: ['16', '17'], from: 16, total: null, next: 18 } as const
  const { ask, queries } = asked<MoreQuery, typeof piece>([{ type: 'found', value: piece }])
  const outcome = await run(readMore, { handle: '@ab12.3', from: 16, count: 2 }, { kernel: { more: ask } })
  assert.equal(resultOf(outcome), piece)
  assert.equal(queries, [{ handle: '@ab12.3', from: 16, count: 2 }])
  assert.is(readMore.show(piece), 'items 16 to 18; for more: from 18\n16\n17')
  const text = { type: 'text', text: 'a\nb', from: 0, total: 3, next: null }
  assert.is(readMore.show(text), 'characters 0 to 3 of 3; the end\na\nb')
})

test('a piece with long items ends early, and its `next` leads on from the last item shown', async () => {
  const items = Array.from({ length: 30 }, () => 'x'.repeat(4_000))
  const value = { type: 'items', items, from: 100, total: 500, next: 130 } as const
  const answer = { kernel: { more: async () => ({ type: 'found', value }) as const } }
  const result = resultOf(await run(readMore, { handle: '@ab12.3', from: 100, count: 30 }, answer))
  assert.is((result.items as string[]).length, 9)
  assert.is(result.next, 109)
})

test('read_more refuses what cannot be a handle', () => {
  for (const handle of ['', 'ab12.3', '@', '@ab12', '@ab12.', '@ab12.3; import os', '@AB.1', '@../x.1', 3])
    assert.is(readMore.parameters.safeParse({ handle }).success, false, String(handle))
})

const jobs = [job({ name: 'job-9', call: callId('call-9') })]

const unfound: readonly (readonly [Looked<never>, Record<string, unknown>])[] = [
  [
    { type: 'needs_evaluation', because: 'f() is a call' },
    { code: 'needs_evaluation', says: /f\(\) is a call.*Nothing was run/, next: /eval_expr/ },
  ],
  [
    { type: 'not_found', what: 'nxt', nearest: ['next', 'text'] },
    { code: 'not_found', says: /nxt\. Nearest: next, text/, next: /list_globals/ },
  ],
  [
    { type: 'not_found', what: 'qqq', nearest: [] },
    { code: 'not_found', says: /^Nothing is called qqq\.$/, next: /list_globals/ },
  ],
  [
    { type: 'malformed', message: 'invalid syntax', line: 2, column: 5 },
    { code: 'invalid_args', says: /invalid syntax \(line 2, column 5\)/, next: /eval_expr/ },
  ],
  [
    { type: 'malformed', message: 'unexpected end' },
    { code: 'invalid_args', says: /unexpected end$/, next: /eval_expr/ },
  ],
  [
    { type: 'raised', exception: RAISED },
    { code: 'exception', says: /ZeroDivisionError: division by zero/, next: /^$/ },
  ],
  [
    { type: 'stale_handle', handle: '@ab12.3', because: 'the kernel was restarted' },
    { code: 'stale_handle', says: /@ab12\.3.*the kernel was restarted/, next: /Ask again/ },
  ],
  [
    { type: 'busy', call: callId('call-9'), elapsed_ms: 90_000 },
    { code: 'busy', says: /job job-9 since 1 min 30 s.*Nothing was run/, next: /"job-9","action":"wait"/ },
  ],
  [
    { type: 'busy', call: callId('somebody-else'), elapsed_ms: 90_000 },
    { code: 'busy', says: /another evaluation since 1 min 30 s/, next: /Try again later/ },
  ],
  [
    { type: 'timed_out', deadline_ms: 5_000 },
    { code: 'internal', says: /longer than 5 s.*goes on/, next: /a part of it/ },
  ],
]

for (const [looked, expected] of unfound)
  test(`${looked.type} is answered with ${expected.code}: ${expected.says}`, async () => {
    const answer = {
      kernel: { inspect: async () => looked, globals: async () => looked, more: async () => looked },
      jobs,
    }
    const outcomes = [
      await run(inspect, { expr: 'x' }, { ...answer, level: 'cautious' }),
      await run(listGlobals, {}, answer),
      await run(readMore, { handle: '@ab12.3' }, answer),
    ]
    for (const outcome of outcomes) {
      const error = errorOf(outcome)
      assert.is(error.code, expected.code)
      assert.match(error.message, expected.says as RegExp)
      assert.match(error.next ?? '', expected.next as RegExp)
      assert.ok(showError(error).startsWith(`${error.code}: ${error.message}`))
    }
  })

test('seed 2, case 11: a look that takes too long is internal, with the reason inspect_timeout', async () => {
  const kernel = { inspect: async () => ({ type: 'timed_out', deadline_ms: 5_000 }) as const }
  const error = errorOf(await run(inspect, { expr: 'x' }, { kernel }))
  assert.is(error.code, 'internal')
  assert.equal(error.details, { reason: 'inspect_timeout', deadline_ms: 5_000 })
})

test('a fault of the kernel is thrown on, for the call path to name', async () => {
  const fault = new Error('link lost')
  const kernel = { inspect: () => Promise.reject(fault) }
  assert.is(await run(inspect, { expr: 'x' }, { kernel }).catch(error => error), fault)
})

test('a result that was cut out of its form is shown as data, and not lost', () => {
  const cut = {
    globals: [{ name: 'x', type_name: 'int' }, '… [998 more items] …'],
    total: 999,
    truncated: true,
  }
  assert.match(showEnvelope({ ok: true, result: cut }, listGlobals), '"name": "x"')
  const text = { truncated: true, text: '{"globals": …' }
  for (const tool of [listGlobals, inspect, readMore, undefined])
    assert.match(showEnvelope({ ok: true, result: text }, tool), '"truncated": true')
})
