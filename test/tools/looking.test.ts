import { inspect, readMore } from '../../tools/inspect.ts'
import { listGlobals } from '../../tools/names.ts'
import { type Outcome, rises, type ToolErrorCode } from '../../tools/outcome.ts'
import { showEnvelope, showError } from '../../tools/show.ts'
import { PAGE_TOKENS, tokensAtMost } from '../../tools/tokens.ts'
import type { GlobalsPage, Inspected } from '../../wire/contract/inspection.ts'
import type { Looked } from '../../wire/contract/looks.ts'
import { assert, suite } from '../support/harness.ts'
import { callId, context, errorOf, finding, job, kernel, RAISED, resultOf, run } from './context.ts'

const test = suite('looking')

const LIST: Inspected = {
  type: { name: 'list', module: 'builtins', qualified: 'builtins.list' },
  kind: 'sequence',
  limits: {},
}
const page: GlobalsPage = { globals: [{ name: 'x', type_name: 'int' }], total: 1 }

test('list_globals asks for a hundred names without modules unless told otherwise', async () => {
  const { look, queries } = finding(page)
  const kernel = { globals: look }
  assert.equal(resultOf(await run(listGlobals, {}, { kernel })), page)
  await run(listGlobals, { filter: 'a', after: 'b', modules: true, limit: 7 }, { kernel })
  await run(listGlobals, { package: 'shop.orders' }, { kernel })
  assert.equal(queries, [
    { modules: false, limit: 100 },
    { modules: true, limit: 7, filter: 'a', after: 'b' },
    { modules: false, limit: 100, module: 'shop.orders' },
  ])
})

test('a page of names is read as a count and one line per name', () => {
  assert.is(listGlobals.show(page), '1 name\nx: int')
  assert.is(listGlobals.show({ globals: [], total: 0 }), 'no names')
  assert.is(
    listGlobals.show({ globals: [{ name: 'two\nlines', type_name: 'str' }], total: 2, next: 'two\nlines' }),
    '1 of 2 names; for more: after "two\\nlines"\ntwo\\nlines: str',
  )
})

test('a page of long names ends early, and its `next` leads on from the last name shown; one name is shown whole', async () => {
  const globals = Array.from({ length: 1_000 }, (_, index) => ({
    name: `${index}`.padStart(500, 'n'),
    type_name: 'int',
  }))
  const listed = async (value: GlobalsPage) =>
    resultOf(
      await run(listGlobals, {}, { kernel: { globals: finding(value).look } }),
    ) as unknown as GlobalsPage
  const result = await listed({ globals, total: 5_000 })
  assert.ok(result.globals.length > 20 && result.globals.length < 30)
  assert.equal([result.next, result.total], [result.globals.at(-1)?.name, 5_000])
  const long = { globals: [{ name: 'n'.repeat(50_000), type_name: 'int' }], total: 1 }
  assert.equal(await listed(long), long)
})

test('inspect runs nothing: what only running code can tell names the call that runs it, for a model and in a shell', async () => {
  const queries: unknown[] = []
  const look = async (query: unknown) => {
    queries.push(query)
    return { type: 'needs_evaluation', because: "`o['k'].f` is a property of O" } as const
  }
  const outcome = await run(inspect, { expr: "o['k'].f" }, { kernel: { inspect: look }, level: 'cautious' })
  const error = errorOf(outcome)
  assert.is(error.code, 'needs_evaluation')
  assert.match(error.message, 'is a property of O. Nothing was run.')
  assert.match(
    error.next ?? '',
    `To run it: eval_expr {"expr":"o['k'].f"}, or in a shell imago eval 'o['\\''k'\\''].f'`,
  )
  assert.equal(queries, [{ expr: "o['k'].f" }])
})

test('a local of a frame that lives is read where the language tells it, and a name that is not found leads there', async () => {
  const queries: unknown[] = []
  const look = async (query: unknown) => {
    queries.push(query)
    return { type: 'not_found', what: '`losses`', nearest: [], frames: ['main in MainThread'] } as const
  }
  const able = { inspect: look }
  const error = errorOf(await run(inspect, { expr: 'losses[-1]' }, { kernel: able }))
  assert.match(error.message, 'Nothing is called `losses`. It is a local of main in MainThread.')
  assert.is(error.next, 'inspect {"expr":"losses[-1]","frame":"main in MainThread"} shows it.')
  await run(inspect, { expr: 'losses', frame: 'main' }, { kernel: able })
  assert.equal(queries[1], { expr: 'losses', frame: 'main' })
  const identity = { ...kernel().identity, language: 'lisp', abilities: new Set(['inspect'] as const) }
  const unable = { ...able, identity }
  const refused = errorOf(await run(inspect, { expr: 'losses', frame: 'main' }, { kernel: unable }))
  assert.equal([refused.code, refused.details?.parameter, queries.length], ['invalid_args', 'frame', 2])
})

test('a value that is stored behind a descriptor says so below its heading', () => {
  const note = '`o.total` is shown as the instance stores it; code is given what a property of O returns'
  assert.match(inspect.show({ ...LIST, note }), `list · sequence\nnote: ${note}`)
})

test('few names at the top level are followed by the modules of the program', () => {
  const one = { globals: [{ name: 'main', type_name: 'function' }], total: 1, elsewhere: ['main', 'shop'] }
  assert.is(
    listGlobals.show(one),
    '1 name\nmain: function\nmodules that have names: main, shop\nnext: list_globals {"package":"main"}',
  )
})

test('read_more reads texts of the daemon without a kernel, and asks the kernel for everything else', async () => {
  const texts = {
    owns: (handle: string) => handle.startsWith('@out'),
    issued: (handle: string) => handle === '@out.3',
    read: ({ from, count }: { from: number; count: number }) =>
      from > 100 ? undefined : { text: 'abc', total: 100, next: from + count },
  }
  const read = (handle: string, from: number) =>
    readMore.withoutKernel({ handle, from, limit: 3 }, context({ texts }))
  const text = { type: 'text', text: 'abc', from: 20, total: 100, next: 23 }
  assert.equal(await read('@out.3', 20), { type: 'ok', result: text })
  const [gone, never] = [await read('@out.3', 101), await read('@out.9', 101)]
  assert.is(gone?.type === 'failed' && gone.error.code, 'stale_handle')
  assert.is(never?.type === 'failed' && never.error.code, 'not_found')
  assert.is(await read('@ab12.3', 0), undefined)

  const piece = { type: 'items', items: ['16', '17'], from: 16, total: null, next: 18 } as const
  const { look, queries } = finding(piece)
  const asked = { handle: '@ab12.3', from: 16, limit: 2 }
  assert.equal(resultOf(await run(readMore, asked, { kernel: { more: look } })), piece)
  assert.equal(queries, [{ handle: '@ab12.3', from: 16, count: 2 }])
  assert.is(readMore.show(piece), 'items 16 to 18; for more: from 18\n16\n17')
  assert.is(readMore.show({ ...text, next: null }), 'characters 20 to 23 of 100; the end\nabc')
})

test('a piece with long items ends early, and its `next` leads on from the last item shown', async () => {
  const items = Array.from({ length: 30 }, () => 'x'.repeat(4_000))
  const { look } = finding({ type: 'items', items, from: 100, total: 500, next: 130 } as const)
  const result = resultOf(
    await run(readMore, { handle: '@ab12.3', from: 100, limit: 30 }, { kernel: { more: look } }),
  )
  assert.equal([(result.items as string[]).length, result.next], [3, 103])
})

test('a piece of dense text ends early, and following `next` reads all of it', async () => {
  const whole = `${'数据库连接失败'.repeat(5_000)}${'😀'.repeat(5_000)}${'x\n'.repeat(40_000)}`
  const texts = {
    owns: () => true,
    issued: () => true,
    read({ from, count }: { from: number; count: number }) {
      const text = whole.slice(from, from + count)
      const end = from + text.length
      return { text, total: whole.length, next: end < whole.length ? end : null }
    },
  }
  type TextPiece = { readonly text: string; readonly from: number; readonly next: number | null }
  let all = ''
  let from: number | null = 0
  while (from !== null) {
    const read: Promise<Outcome | undefined> = readMore.withoutKernel(
      { handle: '@txt.1', from, limit: 40_000 },
      context({ texts }),
    )
    const piece = resultOf(
      (await read) ?? rises('cautious', 'the daemon did not read it'),
    ) as unknown as TextPiece
    assert.is(piece.from, all.length)
    assert.ok(piece.text !== '' && tokensAtMost(piece.text) <= PAGE_TOKENS)
    all += piece.text
    from = piece.next
  }
  assert.is(all, whole)
})

test('read_more refuses what cannot be a handle', () => {
  for (const handle of ['', 'ab12.3', '@ab12', '@ab12.', '@ab12.3; import os', '@AB.1', '@../x.1', 3])
    assert.is(readMore.parameters.safeParse({ handle }).success, false, String(handle))
})

/** What a look did not find, and what is answered: the code, the message and the next step. */
const UNFOUND: readonly (readonly [Looked<never>, ToolErrorCode, says: RegExp, next: RegExp])[] = [
  [
    { type: 'needs_evaluation', because: 'f() is a call' },
    'needs_evaluation',
    /f\(\) is a call.*Nothing was run/,
    /eval_expr/,
  ],
  [
    { type: 'not_found', what: 'nxt', nearest: ['next', 'text'] },
    'not_found',
    /nxt\. Nearest: next, text/,
    /list_globals/,
  ],
  [
    { type: 'malformed', message: 'invalid syntax', line: 2, column: 5 },
    'invalid_args',
    /invalid syntax \(line 2, column 5\)/,
    /eval_expr/,
  ],
  [{ type: 'raised', exception: RAISED }, 'exception', /ZeroDivisionError: division by zero/, /^$/],
  [
    { type: 'stale_handle', handle: '@ab12.3', because: 'the kernel was restarted' },
    'stale_handle',
    /@ab12\.3.*the kernel was restarted/,
    /Ask again/,
  ],
  [
    { type: 'busy', call: callId('call-9'), elapsed_ms: 90_000 },
    'busy',
    /job job-9 since 1 min 30 s.*Nothing was run/,
    /"job-9","action":"wait"/,
  ],
  [
    { type: 'loading', what: 'Mathics3', elapsed_ms: 16_200, takes_ms: 16_000 },
    'busy',
    /Mathics3 is being loaded, since 16\.2 s; that takes up to 16 s/,
    /Ask again/,
  ],
  [{ type: 'timed_out', deadline_ms: 5_000 }, 'internal', /longer than 5 s.*goes on/, /a part of it/],
]

for (const [looked, code, says, next] of UNFOUND)
  test(`${looked.type} is answered with ${code}: ${says}`, async () => {
    const look = async () => looked
    const given = {
      kernel: { inspect: look, globals: look, more: look },
      jobs: [job({ name: 'job-9', call: callId('call-9') })],
    }
    for (const outcome of [
      await run(inspect, { expr: 'x' }, { ...given, level: 'cautious' }),
      await run(listGlobals, {}, given),
      await run(readMore, { handle: '@ab12.3' }, given),
    ]) {
      const error = errorOf(outcome)
      assert.is(error.code, code)
      assert.match(error.message, says)
      assert.match(error.next ?? '', next)
      assert.ok(showError(error).startsWith(`${code}: ${error.message}`))
      if (code === 'internal') assert.equal(error.details, { reason: 'inspect_timeout', deadline_ms: 5_000 })
    }
  })

test('a fault of the kernel is thrown on, for the call path to name', async () => {
  const fault = new Error('link lost')
  const kernel = { inspect: () => Promise.reject(fault) }
  assert.is(await run(inspect, { expr: 'x' }, { kernel }).catch(error => error), fault)
})

test('a result that was cut out of its form is shown as data, and not lost', () => {
  const cut = { globals: [...page.globals, '… [998 more items] …'], total: 999, truncated: true }
  assert.match(showEnvelope({ ok: true, result: cut }, listGlobals), '"name": "x"')
  const text = { truncated: true, text: '{"globals": …' }
  for (const tool of [listGlobals, inspect, readMore, undefined])
    assert.match(showEnvelope({ ok: true, result: text }, tool), '"truncated": true')
})

const callable = {
  module: null,
  signature: null,
  doc: 'Says hello.',
  source_preview: null,
  source_truncated: false,
  file: null,
  line: null,
}
const members = {
  data: ['a'],
  callables: ['append', 'clear'],
  dunder_count: 3,
  shown_per_group: 24,
  truncated: true,
}

/** A value as inspect shows it, a line for each section. */
const SHOWN: readonly (readonly [what: string, Partial<Inspected>, text: readonly string[]])[] = [
  [
    'a container, with its size, repr and first items',
    {
      handle: '@ab12.3',
      repr: { text: '[0, 1, …]', truncated: true, original_len: null },
      size: { len: 10_000_000, shape: [10_000_000] },
      sample: { items: ['0', '1'], shown: 2, total: 10_000_000, truncated: true, handle: '@ab12.4' },
      members,
    },
    [
      'list · sequence · len 10000000 · shape (10000000,) · @ab12.3',
      'sample (first 2 of 10000000; more: read_more @ab12.4):\n  0\n  1',
    ],
  ],
  [
    'a short container by its text alone, which has all of it',
    {
      repr: { text: "{'a': 1}", truncated: false, original_len: 8 },
      sample: { items: ["'a': 1"], shown: 1, total: 1, truncated: false },
      size: { len: 1 },
      members,
    },
    ['list · sequence · len 1', "repr: {'a': 1}"],
  ],
  [
    'a table by its lines, and no item twice',
    {
      kind: 'object',
      repr: {
        text: '<DataFrame 1 rows × 1 columns: a int64>\n   a\n0  1',
        truncated: false,
        original_len: 50,
      },
      sample: { items: ["'a': <int64 [1]>"], shown: 1, total: 1, truncated: false },
      size: { shape: [1, 1] },
      doc: { text: 'Two-dimensional data.\n\nMore.', truncated: true, original_len: null, handle: '@ab12.9' },
      members,
    },
    [
      'list · object · shape (1, 1)',
      'repr:\n  <DataFrame 1 rows × 1 columns: a int64>\n     a\n  0  1',
      'doc: Two-dimensional data. (more: read_more @ab12.9)',
    ],
  ],
  [
    'the tree of what is inside an instance, and under it the fields that the tree does not have',
    {
      kind: 'object',
      repr: { text: '<shop.Net training>\n  lin: Linear', truncated: false, original_len: 34 },
      fields: { rows: [{ name: 'rate', type_name: 'float', value: '0.1' }], total: 1 },
    },
    ['list · object', 'repr:\n  <shop.Net training>\n    lin: Linear', 'fields (1):\n  rate = 0.1'],
  ],
  [
    'an instance as a table of its fields, with its methods, and nothing twice',
    {
      kind: 'object',
      repr: { text: '<shop.Order id=7, _state=<State …>>', truncated: true, original_len: null },
      fields: {
        rows: [
          { name: 'id', type_name: 'int', value: '7' },
          { name: '_state', type_name: 'State', value: `<shop.State ${'x'.repeat(60)}>` },
        ],
        total: 2,
      },
      methods: {
        of: 'shop.Order',
        rows: [
          { name: 'total', kind: 'method', signature: '(rate=1)', doc: 'The sum of its lines.' },
          { name: 'paid', kind: 'property', signature: null, doc: null },
        ],
        total: 2,
      },
      members,
    },
    [
      'list · object',
      `fields (2):\n  id = 7\n  _state = <shop.State ${'x'.repeat(27)}…`,
      'methods of shop.Order:\n  total(rate=1): The sum of its lines.\n  paid (property)',
    ],
  ],
  [
    'a class whose whole text is there without a list of what that text has',
    {
      kind: 'class',
      callable: { ...callable, doc: null, source_preview: 'class A:\n    x = 1\n' },
      fields: { rows: [{ name: 'x', type_name: 'int', value: '1' }], total: 1 },
    },
    ['list · class', 'callable: no signature known', 'source:\nclass A:\n    x = 1'],
  ],
  [
    'a module by the names in it',
    { kind: 'module', members },
    ['list · module', 'members (cut): 3 special\n  data: a\n  callables: append, clear'],
  ],
  [
    'a function, with its signature, place and source as written',
    {
      kind: 'callable',
      callable: {
        ...callable,
        doc: null,
        module: '__main__',
        signature: '(x)',
        file: 'app.py',
        line: 3,
        source_preview: 'def next(x):\n    x + 1\n',
      },
    },
    ['list · callable', 'callable: (x), in __main__, app.py:3', 'source:\ndef next(x):\n    x + 1'],
  ],
  [
    'seed 2, case 8: a callable without source, signature or place',
    { kind: 'callable', callable },
    ['list · callable', 'callable: no signature known', 'doc:\n  Says hello.', 'source: not available'],
  ],
  [
    'seed 2, case 7: sections that failed, with the reason, beside others',
    {
      repr: { text: '<Broken>', truncated: false, original_len: 8, error: 'RuntimeError: no repr' },
      size: { error: 'TypeError: no len' },
      sample: { error: 'TypeError: not iterable' },
      members: { ...members, callables: [], truncated: false },
    },
    [
      'list · sequence · size unknown: TypeError: no len',
      'repr (its own printer was not used: RuntimeError: no repr): <Broken>',
      'sample: failed: TypeError: not iterable',
      'members: 3 special\n  data: a',
    ],
  ],
  [
    'seed 2, case 5: an exception, with its type, message and traceback',
    {
      kind: 'exception',
      exception: { exc_type: 'ValueError', message: 'bad', traceback: 'Traceback:\n  …\n' },
    },
    ['list · exception', 'exception: ValueError: bad\n  Traceback:\n    …'],
  ],
]

for (const [what, more, text] of SHOWN)
  test(`inspect shows ${what}`, () => assert.is(inspect.show({ ...LIST, ...more }), text.join('\n')))
