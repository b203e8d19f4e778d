import { type Definitions, fairShare, symbolDefinition } from '../../tools/definition.ts'
import type { Definition, DefinitionPart, DefinitionQuery, Looked } from '../../wire/kernel.ts'
import { assert, suite } from '../support/harness.ts'
import { context, errorOf, resultOf, run } from './context.ts'

const test = suite('symbol_definition')

const TOTAL: Definition = {
  name: 'shop.Order.total',
  qualified: 'shop.orders.Order.total',
  kind: 'method',
  language: 'python',
  file: '/srv/shop/orders.py',
  line: 12,
  end_line: 14,
  origin: 'file',
  current: true,
  source: {
    text: '@traced\ndef total(self):\n    return sum(self.lines)\n',
    truncated: false,
    original_len: 53,
  },
  wrappers: [{ name: 'shop.tracing.traced', file: '/srv/shop/tracing.py', line: 4 }],
  because: null,
  notes: [],
}

/** A kernel with these definitions, that cuts each where it is told to, and what it was asked. */
function having(definitions: Readonly<Record<string, Partial<Definition> | Looked<never>>>) {
  const queries: DefinitionQuery[] = []
  const definition = async (query: DefinitionQuery): Promise<Looked<Definition>> => {
    queries.push(query)
    const known = definitions[query.name]
    if (known === undefined) return { type: 'not_found', what: query.name, nearest: ['shop.Order.total'] }
    if ('type' in known) return known as Looked<never>
    const value = { ...TOTAL, name: query.name, ...known }
    return { type: 'found', value: { ...value, source: cut(value.source, query) } }
  }
  return { kernel: { definition }, queries }
}

function cut(source: Definition['source'], { name, max_length }: DefinitionQuery): Definition['source'] {
  if (source === null || source.text.length <= max_length) return source
  const { text } = source
  return {
    text: text.slice(0, max_length),
    truncated: true,
    original_len: text.length,
    handle: `@ab12.${name}`,
  }
}

const longSource = (length: number) => ({
  source: { text: 'x'.repeat(length), truncated: false, original_len: length },
})

const definedAs = async (symbols: unknown, kernel: ReturnType<typeof having>['kernel']) =>
  resultOf(await run(symbolDefinition, { symbols }, { kernel })) as unknown as Definitions

const markdownOf = async (definition: Partial<Definition>) => {
  const { kernel } = having({ f: definition })
  return String(resultOf(await run(symbolDefinition, { symbols: ['f'] }, { kernel })).markdown)
}

test('one symbol is a heading, what is known of it, and its source in a fence', async () => {
  const { kernel, queries } = having({ 'shop.Order.total': {} })
  const result = resultOf(await run(symbolDefinition, { symbols: ['shop.Order.total'] }, { kernel }))
  const { source: _, ...facts } = TOTAL
  assert.equal(result.symbols, [{ ok: true, ...facts, truncated: false, original_len: 53 }])
  assert.is(result.truncated, false)
  assert.equal(queries, [{ name: 'shop.Order.total', max_length: 10_000 }])
  assert.is(
    symbolDefinition.show(result),
    [
      '# shop.Order.total',
      '',
      'method · /srv/shop/orders.py:12-14 · defined as `shop.orders.Order.total`',
      'seen through, outermost first: `shop.tracing.traced` (/srv/shop/tracing.py:4)',
      '',
      '## Definition',
      '',
      '```python',
      '@traced\ndef total(self):\n    return sum(self.lines)',
      '```',
    ].join('\n'),
  )
})

test('several symbols are asked for at once, and each that fails does so under its own heading', async () => {
  const { kernel, queries } = having({
    a: {},
    'b()': { type: 'needs_evaluation', because: 'b() is a call' },
    c: { type: 'malformed', message: 'invalid syntax' },
  })
  const result = await definedAs(['a', 'nope', 'b()', 'c', 'a'], kernel)
  assert.equal(
    queries.map(({ name }) => name),
    ['a', 'nope', 'b()', 'c'],
  )
  assert.equal(
    result.symbols.map(one => (one.ok ? one.name : [one.name, one.error.code])),
    ['a', ['nope', 'not_found'], ['b()', 'needs_evaluation'], ['c', 'invalid_args']],
  )
  assert.match(
    result.markdown,
    '\n# nope\n\nError: not_found: Nothing is called nope. Nearest: shop.Order.total.\n',
  )
})

test('of more names than one answer is about, those beyond are said, to be asked for again', async () => {
  const { kernel, queries } = having(
    Object.fromEntries(Array.from({ length: 25 }, (_, at) => [`f${at}`, {}])),
  )
  const names = Array.from({ length: 25 }, (_, at) => `f${at}`)
  const found = await definedAs(names, kernel)
  assert.is(queries.length, 20)
  assert.is(found.truncated, true)
  assert.match(
    found.markdown,
    '\n\n... [left out, beyond the first 20 names: f20, f21, f22, f23, f24: ask again for them]',
  )
  const none = names.map(name => `no ${name}`)
  const { message } = errorOf(await run(symbolDefinition, { symbols: none }, { kernel }))
  assert.match(message, 'left out, beyond the first 20 names: no f20')
  const many = Array.from({ length: 100_000 }, (_, at) => `${at}${'x'.repeat(200)}`)
  assert.ok((await definedAs(['f1', ...many], kernel)).markdown.length < 15_000)
})

test('a name that is too long fails as itself, and a length beyond the most is the most', async () => {
  const { kernel, queries } = having({ a: {} })
  const run2 = { symbols: ['a', 'x'.repeat(5_000)], max_length: 2_000_000 }
  const found = resultOf(await run(symbolDefinition, run2, { kernel })) as unknown as Definitions
  assert.equal(
    found.symbols.map(({ ok }) => ok),
    [true, false],
  )
  assert.is(queries[0]?.max_length, 1_000_000)
})

test('names that are none are said in one sentence', async () => {
  const { kernel } = having({
    'a!': { type: 'malformed', message: 'Invalid symbol name "a!"' },
    '1': { type: 'malformed', message: 'Invalid symbol name "1"' },
  })
  const { message } = errorOf(await run(symbolDefinition, { symbols: 'a!, 1' }, { kernel }))
  assert.is(message, 'symbols is not a name: Invalid symbol name "a!"; Invalid symbol name "1"')
})

test('an empty name is an error of itself, and the others are looked up', async () => {
  const { kernel, queries } = having({ a: {}, b: {} })
  for (const symbols of [['a', ' ', 'b'], 'a,,b']) {
    const found = await definedAs(symbols, kernel)
    assert.match(found.markdown, '\n# ""\n\nError: invalid_args: One of the symbols is an empty text.')
    assert.is(found.symbols.filter(({ ok }) => ok).length, 2)
  }
  assert.is(queries.length, 4)
  assert.is(errorOf(await run(symbolDefinition, { symbols: '' }, { kernel })).code, 'invalid_args')
})

test('a single symbol that fails is the failure of the call; several that all fail keep the failure of each', async () => {
  const { kernel } = having({})
  const one = errorOf(await run(symbolDefinition, { symbols: ['nope'] }, { kernel }))
  assert.is(one.code, 'not_found')
  assert.equal(one.details.nearest, ['shop.Order.total'])
  const both = errorOf(await run(symbolDefinition, { symbols: ['nope', 'nix'] }, { kernel }))
  assert.is(both.code, 'not_found')
  assert.match(both.message, /called nope\..*called nix\./)
  assert.equal(
    (both.details.symbols as { name: string }[]).map(({ name }) => name),
    ['nope', 'nix'],
  )
  const late = { type: 'timed_out', deadline_ms: 5_000 } as const
  const { kernel: busy } = having({ a: late, b: late })
  for (const [symbols, code, reason] of [
    [['a', 'nope'], 'not_found', undefined],
    [['a', 'b'], 'internal', 'inspect_timeout'],
  ] as const) {
    const error = errorOf(await run(symbolDefinition, { symbols }, { kernel: busy }))
    assert.equal([error.code, error.details.reason], [code, reason])
  }
})

test('source that is not what runs is said so, loudly', async () => {
  assert.match(
    await markdownOf({ current: false }),
    '**The file’s text is not what runs:** it has changed since this was loaded.',
  )
  assert.match(await markdownOf({ current: null }), 'cannot be told')
  assert.not.match(await markdownOf({ current: null, origin: 'typed' }), 'cannot be told')
})

test('where a definition comes from is said: typed in, built in, with notes, or why there is none', async () => {
  assert.match(
    await markdownOf({ origin: 'typed', file: null, line: null, end_line: null }),
    'typed in, not in a file',
  )
  const built = await markdownOf({ origin: 'built_in', source: null, because: 'it is compiled' })
  assert.match(built, 'built in')
  assert.match(built, '\nNo source: it is compiled')
  assert.not.match(built, '```')
  assert.match(
    await markdownOf({ notes: ['Only the last of two is shown.'] }),
    '\nOnly the last of two is shown.\n',
  )
})

test('what is cut says how much is shown of how much, and where the rest is', async () => {
  const { kernel } = having({ f: longSource(45_000) })
  const result = await definedAs(['f'], kernel)
  assert.match(
    result.markdown,
    /x\n```\n\.\.\. \[truncated, showing 10000\/45000 characters; the rest: read_more @ab12\.f from 10000\]$/,
  )
  assert.is(result.truncated, true)
  const [first] = result.symbols
  assert.is(first?.ok && first.handle, '@ab12.f')
})

test('many long symbols share what an answer holds, short ones are whole, and each that is cut has its handle', async () => {
  const long = Object.fromEntries(
    Array.from({ length: 6 }, (_, index) => [`long${index}`, longSource(9_000)]),
  )
  const { kernel, queries } = having({ ...long, short: longSource(300) })
  const result = await definedAs([...Object.keys(long), 'short'], kernel)
  assert.ok(result.markdown.length < 18_000, String(result.markdown.length))
  assert.equal(
    result.symbols.map(one => one.ok && one.truncated),
    [true, true, true, true, true, true, false],
  )
  assert.ok(result.symbols.every(one => one.ok && one.truncated === (one.handle !== undefined)))
  assert.equal([...new Set(queries.map(({ max_length }) => max_length))], [10_000, 2_616])
})

test('a fair share gives all of it to what is short, and divides the rest', () => {
  assert.is(fairShare([], 100), 100)
  assert.is(fairShare([30, 70], 100), 100)
  assert.is(fairShare([10, 200, 300], 100), 45)
  assert.is(fairShare([1_000, 1_000], 100), 50)
})

test('backticks in a source cannot end its fence', async () => {
  const text = 'doc = """\n```\n# not a heading\n````\n"""'
  const page = await markdownOf({ source: { text, truncated: false, original_len: text.length } })
  assert.match(page, `\n\`\`\`\`\`python\n${text}\n\`\`\`\`\``)
})

test('whose names the definitions use is told once for all of them, and only where asked for', async () => {
  const contexts = { builtins: ['sum'], 'shop.tracing': ['traced'] }
  const { kernel, queries } = having({ a: { contexts }, b: { contexts: { builtins: ['len', 'sum'] } } })
  const args = { symbols: ['a', 'b'], include_context_details: true }
  const { markdown } = resultOf(await run(symbolDefinition, args, { kernel })) as unknown as Definitions
  assert.is(queries[0]?.contexts, true)
  const [, json = ''] = /# Contexts\n\n```json\n(.*)\n```$/s.exec(markdown) ?? []
  assert.equal(JSON.parse(json), { builtins: ['sum', 'len'], 'shop.tracing': ['traced'] })
  assert.not.match(await markdownOf({}), '# Contexts')
})

const AREA_PARTS: readonly DefinitionPart[] = [
  {
    name: 'area ((shape circle))',
    kind: 'method',
    file: '/srv/shapes.lisp',
    line: 12,
    source: { text: '(defmethod area ((shape circle)) 3)', truncated: false, original_len: 35 },
    because: null,
  },
  { name: 'area', kind: 'variable', file: null, line: null, source: null, because: 'defined at a prompt' },
]
const AREA: Partial<Definition> = {
  kind: 'generic_function',
  language: 'lisp',
  source: { text: '(defgeneric area (shape))', truncated: false, original_len: 25 },
  parts: AREA_PARTS,
}

test('methods, and what else a name stands for, follow its definition, each with its own place and source', async () => {
  const { kernel } = having({ area: AREA })
  const found = await definedAs(['area'], kernel)
  assert.match(
    found.markdown,
    [
      '```lisp\n(defgeneric area (shape))\n```',
      '### area ((shape circle))',
      'method · /srv/shapes.lisp:12',
      '```lisp\n(defmethod area ((shape circle)) 3)\n```',
      '### area',
      'variable',
      'No source: defined at a prompt',
    ].join('\n\n'),
  )
  assert.is(found.truncated, false)
})

test('methods that are too many for an answer are named, without their source, and that is said', async () => {
  const parts = Array.from({ length: 40 }, (_, index) => ({
    name: `area ((shape s${index}))`,
    kind: 'method' as const,
    file: null,
    line: null,
    because: null,
    ...longSource(1_000),
  }))
  const { kernel } = having({ area: { ...AREA, parts } })
  const found = await definedAs(['area'], kernel)
  assert.ok(found.markdown.length < 40_000)
  assert.is(found.truncated, true)
  assert.match(found.markdown, /### area \(\(shape s39\)\)\n\nmethod\n\nNo source: left out, to fit/)
  assert.match(found.markdown, /### area \(\(shape s0\)\)\n\nmethod\n\n```lisp\nxxx/)
})

test('a language that has a form of its own for definitions is shown in it, errors among it', async () => {
  const { kernel } = having({
    Plus: { page: '# Plus\n\nPlus[___] := <kernel function>' },
    nothing: {
      type: 'not_found',
      what: 'nothing',
      nearest: [],
      page: '# nothing\n\nError: it does not exist',
    },
    'a!': { type: 'malformed', message: 'it is no name', page: '# a!\n\nError: it is no name' },
  })
  const { markdown, symbols } = await definedAs('Plus, nothing,, a!', kernel)
  assert.is(
    markdown,
    '# Plus\n\nPlus[___] := <kernel function>\n\n# nothing\n\nError: it does not exist\n\n# a!\n\nError: it is no name',
  )
  assert.equal(
    symbols.map(one => [one.name, one.ok || one.error.code]),
    [
      ['Plus', true],
      ['nothing', 'not_found'],
      ['a!', 'invalid_args'],
    ],
  )
  assert.is((await definedAs('nothing', kernel)).markdown, '# nothing\n\nError: it does not exist')
  const { code, message } = errorOf(await run(symbolDefinition, { symbols: 'a!' }, { kernel }))
  assert.is(code, 'invalid_args')
  assert.match(message, 'it is no name')
})

test('a name that took too long has its error under its heading, beside the pages of the others', async () => {
  const { kernel } = having({
    Plus: { page: '# Plus\n\nPlus[___] := <kernel function>' },
    Slow: { type: 'timed_out', deadline_ms: 5_000 },
  })
  const { markdown } = await definedAs('Plus, Slow', kernel)
  assert.match(
    markdown,
    /^# Plus\n\nPlus\[___\] := <kernel function>\n\n# Slow\n\nError: internal: .* longer than 5 s/,
  )
})

test('what is the same of several names is said once', async () => {
  const loading = { type: 'loading', what: 'Mathics3', elapsed_ms: 16_200, takes_ms: 16_000 } as const
  const { kernel } = having({ f: loading, g: loading })
  const [one, both] = await Promise.all(
    ['f', 'f, g'].map(async symbols => errorOf(await run(symbolDefinition, { symbols }, { kernel }))),
  )
  assert.equal([one?.code, one?.retryable], ['busy', true])
  assert.equal(both, one)
})

test('what a language does not keep apart from a definition is refused by name', async () => {
  const { kernel, queries } = having({ f: {} })
  const include = ['usage', 'json']
  const identity = { ...context().kernel.identity, abilities: new Set(['definition'] as const) }
  const refused = errorOf(
    await run(symbolDefinition, { symbols: 'f', include }, { kernel: { ...kernel, identity } }),
  )
  assert.equal([refused.code, refused.details.parameter], ['invalid_args', 'include'])
  assert.match(refused.message, 'include asks for usage, json, which python does not keep apart')
  assert.equal(queries, [])
  resultOf(await run(symbolDefinition, { symbols: 'f', include }, { kernel }))
  assert.equal(
    queries.map(one => one.include),
    [include],
  )
})

test('pages that are too many for one answer are left out as whole ones', async () => {
  const page = (name: string) => ({ page: `# ${name}\n\n${'x'.repeat(7_000)}` })
  const { kernel } = having({ a: page('a'), b: page('b'), c: page('c') })
  const { markdown, symbols, truncated } = await definedAs('a,b,c', kernel)
  assert.match(
    markdown,
    /^# a\n\nx{7000}\n\n# b\n\nx{7000}\n\n\.\.\. \[left out, to fit: c: read_more \S+\]$/,
  )
  assert.equal([symbols.length, truncated], [3, true])
})
