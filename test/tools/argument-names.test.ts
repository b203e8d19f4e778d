import { openRegistry, validate } from '../../src/registry/registry.ts'
import { TOOLS } from '../../tools/index.ts'
import { USUAL_NAMES } from '../../tools/parameters.ts'
import { assert, suite } from '../support/harness.ts'

/** What is asked for is called the same in every tool, and other names of it are understood. */
const test = suite('names of arguments')

const registry = openRegistry(TOOLS)

/** Arguments with a name that elsewhere stands for another: what they are besides. */
const OTHERWISE: Readonly<Record<string, string>> = {
  'attach.name': 'of a program',
  'class_slots.name': 'a name alone',
  'complete.file': 'the file whose names are meant',
  'inspect.file': 'the same',
  'symbol_definition.file': 'the same',
  'class_hierarchy.name': 'a name alone',
  'who_calls.name': 'a name alone',
  'who_references.name': 'a name alone',
  'trace_function.name': 'a name alone',
  'inspect.expr': 'an expression',
  'eval_expr.expr': 'code',
  'compile_form.expr': 'code',
  'macroexpand_form.expr': 'code',
  'debug_eval.expr': 'code',
  'load_file.names': 'of definitions in a file',
  'eval_expr.file': 'where the code stands',
  'compile_form.file': 'where the code stands',
  'search_files.pattern': 'a glob',
  'search_files.text': 'in a line of a file',
  'search_in_buffer.text': 'the same',
  'complete.text': 'what somebody types',
  'edit_file.count': 'how often a text occurs',
}

test('no tool calls an argument by what is only another name of it', () => {
  const others = new Set(Object.values(USUAL_NAMES).flat())
  const found = TOOLS.flatMap(({ name, parameters: { shape } }) =>
    Object.keys(shape)
      .filter(one => others.has(one))
      .map(one => `${name}.${one}`),
  )
  assert.equal(found.sort(), Object.keys(OTHERWISE).sort())
})

/** Calls as a caller may write them who knows another tool, or an older version. */
const UNDERSTOOD: readonly (readonly [tool: string, given: object, meant: object])[] = [
  ['inspect', { name: 'x' }, { expr: 'x' }],
  ['inspect', { symbol: 'x' }, { expr: 'x' }],
  ['symbol_definition', { symbol: 'x' }, { symbols: ['x'] }],
  ['symbol_definition', { name: 'x' }, { symbols: ['x'] }],
  [
    'symbol_definition',
    { symbols: 'x, y', includeContextDetails: true, maxLength: 200 },
    { symbols: ['x', 'y'], include_context_details: true, max_length: 200 },
  ],
  ['describe_symbol', { name: 'x' }, { expr: 'x', detail: 'brief' }],
  ['describe_symbol', { symbol: 'x', package: 'P' }, { expr: 'x', package: 'P', detail: 'brief' }],
  ['function_arglist', { name: 'x' }, { expr: 'x', detail: 'signature' }],
  ['function_arglist', { symbol: 'x', detail: 'signature' }, { expr: 'x', detail: 'signature' }],
  [
    'list_package_symbols',
    { package: 'p', include_internal: true, filter: 'a', after: 'b', limit: 5 },
    { package: 'p', include_internal: true, filter: 'a', after: 'b', limit: 5, detail: 'docs' },
  ],
  ['list_globals', { module: 'p' }, { package: 'p' }],
  ['create_file', { path: 'a', content: '' }, { path: 'a', content: '', new: true }],
  ['create_file', { file_path: 'a', contents: '' }, { path: 'a', content: '', new: true }],
  ['apropos_search', { pattern: 'x', module: 'p' }, { filter: 'x', package: 'p' }],
  ['who_calls', { symbol: 'x' }, { name: 'x' }],
  ['who_calls', { function: 'x' }, { name: 'x' }],
  ['who_references', { variable: 'x' }, { name: 'x' }],
  ['class_slots', { class: 'x' }, { name: 'x' }],
  ['class_hierarchy', { class: 'x' }, { name: 'x' }],
  ['function_arglist', { function: 'x' }, { expr: 'x', detail: 'signature' }],
  ['class_slots', { expr: 'x' }, { name: 'x' }],
  ['eval_expr', { code: '1' }, { expr: '1' }],
  ['compile_form', { form: '1' }, { expr: '1' }],
  ['macroexpand_form', { form: '1' }, { expr: '1' }],
  ['debug_eval', { form: '1' }, { expr: '1' }],
  ['debug_state', { count: 5 }, { limit: 5 }],
  ['trace_calls', { tracepoint: 't1', count: 5 }, { tracepoint: 't1', limit: 5 }],
  ['trace_function', { name: 'f', calls: 5 }, { name: 'f', limit: 5 }],
  ['read_more', { handle: '@out.7', count: 5 }, { handle: '@out.7', limit: 5 }],
  ['reload', { module: 'shop' }, { package: 'shop' }],
  ['read_file', { path: 'a', first_line: 5 }, { path: 'a', from: 5 }],
  ['list_directory', { directory: 'a' }, { path: 'a' }],
  [
    'propose_file_edit',
    { file_path: 'a', edits: [{ old_str: '1', new_str: '2' }] },
    { edits: [{ path: 'a', old_str: '1', new_str: '2' }] },
  ],
  [
    'propose_file_edit',
    { path: 'a', edits: '[{"old_str": "1", "new_str": "2"}]' },
    { edits: [{ path: 'a', old_str: '1', new_str: '2' }] },
  ],
  ['attach', { kernel: 'web' }, { name: 'web' }],
]

const checked = (called: string, args: object) => {
  const tool = registry.find(called) ?? assert.unreachable(`${called} is gone`)
  if (tool === undefined) return undefined
  const valid = validate(tool, args, registry, called)
  return valid.type === 'valid' ? valid.args : valid.refusal
}

for (const [called, given, meant] of UNDERSTOOD)
  test(`${called} with ${Object.keys(given).join(', ')} is understood as ${JSON.stringify(meant)}`, () => {
    const found = checked(called, given)
    assert.equal({ ...found, ...meant }, found)
  })

test('an argument that is given by two of its names is refused', () => {
  for (const [called, given] of [
    ['inspect', { expr: 'x', name: 'y' }],
    ['inspect', { symbol: 'x', name: 'y' }],
    ['trace_function', { name: 'f', limit: 3, calls: 4 }],
    ['describe_symbol', { name: 'x', detail: 'full' }],
  ] as const) {
    const found = checked(called, given)
    assert.ok(found !== undefined && 'error' in found, called)
  }
})
