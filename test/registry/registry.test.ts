import { z } from 'zod'
import { openRegistry, type Problem, validate } from '../../src/registry/registry.ts'
import type { Profile } from '../../tools/contract.ts'
import { DefinitionError, defineTool, type Tool } from '../../tools/define.ts'
import { TOOLS } from '../../tools/index.ts'
import { nearest } from '../../tools/nearest.ts'
import { ok } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('registry, and the arguments of calls')

const tool = (
  name: string,
  more: { aliases?: string[]; profile?: Profile; needs?: 'evaluate'[] } = {},
): Tool =>
  defineTool({
    name,
    description: 'A tool for a test.',
    parameters: { text: z.string().max(10).describe('Some text.') },
    level: 'safe',
    profile: 'core',
    categories: ['tests'],
    needs: [],
    examples: [],
    result: z.string(),
    handler: () => ok(name),
    ...more,
  })

test('a tool is found by its name and by its aliases', () => {
  const registry = openRegistry(TOOLS)
  assert.is(registry.find('eval_expr')?.name, 'eval_expr')
  assert.is(registry.find('eval_form')?.name, 'eval_expr')
  assert.is(registry.find('EVAL_EXPR'), undefined)
  assert.is(registry.find('toString'), undefined)
})

test('two tools of one name are refused, and the name is told', () => {
  const clashes: readonly (readonly [readonly Tool[], string])[] = [
    [[tool('one'), tool('one')], '"one" is already a name of one'],
    [[tool('one'), tool('two', { aliases: ['one'] })], '"one" is already a name of one'],
    [[tool('one', { aliases: ['two'] }), tool('two')], '"two" is already a name of one'],
    [[tool('one', { aliases: ['x'] }), tool('two', { aliases: ['x'] })], '"x" is already a name of one'],
  ]
  for (const [tools, message] of clashes)
    assert.throws(
      () => openRegistry(tools),
      (error: unknown) =>
        error instanceof DefinitionError && error.invariant === 'unique' && error.message.includes(message),
    )
})

test('a profile shows its own tools and those of the profiles before it, without aliases', () => {
  const registry = openRegistry([
    tool('c', { profile: 'full' }),
    tool('a', { profile: 'core', aliases: ['z'] }),
    tool('b', { profile: 'live' }),
  ])
  const names = (profile: Profile) => registry.list(profile).map(({ name }) => name)
  assert.equal([names('core'), names('live'), names('full')], [['a'], ['a', 'b'], ['c', 'a', 'b']])
})

test('a schema is strict, is made once, and has the reserved arguments only where a kernel is needed', () => {
  const plain = tool('plain')
  const onKernel = tool('on_kernel', { needs: ['evaluate'] })
  const registry = openRegistry([plain, onKernel])
  const keys = (of: Tool) => Object.keys(registry.schema(of).properties as object)
  assert.equal(keys(plain), ['text'])
  assert.equal(keys(onKernel), ['text', 'kernel', 'patience'])
  assert.is(registry.schema(onKernel).additionalProperties, false)
  assert.equal(registry.schema(onKernel).required, ['text'])
  assert.is(registry.schema(plain), registry.schema(plain))
})

const MISSES: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ['evl_expr', ['eval_expr', 'inspect'], ['eval_expr']],
  ['Eval_Expr', ['eval_expr', 'inspect'], ['eval_expr']],
  ['list_global', ['list_globals', 'inspect'], ['list_globals']],
  ['list', ['list_globals', 'inspect'], ['list_globals']],
  ['ab', ['ba', 'abcdef', 'zz'], ['ba', 'zz']],
  ['completely_different', ['job', 'inspect'], []],
  ['', ['job'], []],
  ['x'.repeat(1_000_000), ['job', 'x'.repeat(64)], ['x'.repeat(64)]],
]

for (const [wanted, names, expected] of MISSES)
  test(`nearest to ${wanted.slice(0, 24) || 'nothing'} is ${expected.map(name => name.slice(0, 20)).join(', ') || 'nothing'}`, () => {
    assert.equal(nearest(wanted, names), expected)
  })

test('a miss that is like an alias is told the name of that tool', () => {
  assert.equal(openRegistry(TOOLS).nearest('eval_from'), ['eval_expr'])
  assert.equal(openRegistry(TOOLS).nearest('eval_fxrm'), ['eval_expr'])
})

// Arguments of a call.
const drawing = defineTool({
  name: 'draw',
  description: 'Draws for a test.',
  parameters: {
    expr: z.string().min(1).max(20).describe('What to draw.'),
    line: z.int().min(1).optional().describe('Where to begin.'),
    size: z.number().min(0).max(9).default(1).describe('How large.'),
    colour: z.enum(['red', 'blue']).optional().describe('Which colour.'),
    filled: z.boolean().optional().describe('Whether it is filled.'),
    points: z.array(z.int()).min(2).max(3).optional().describe('Some points.'),
    frame: z
      .strictObject({ width: z.int().max(4).describe('How wide.') })
      .optional()
      .describe('Around it.'),
    either: z
      .union([z.string().max(3), z.int()])
      .optional()
      .describe('One of two.'),
    word: z
      .string()
      .max(9)
      .refine(word => word !== 'no', 'is not a word that is taken')
      .optional()
      .describe('A word.'),
  },
  parameterAliases: { lineNumber: 'line' },
  level: 'safe',
  profile: 'core',
  categories: ['tests'],
  needs: ['evaluate'],
  examples: [{ args: { expr: 'a line' }, shows: 'a line' }],
  result: z.null(),
  handler: () => ok(null),
})

const registry = openRegistry([drawing])

function issuesOf(args: unknown): Problem[] {
  const checked = validate(drawing, args, registry)
  if (checked.type === 'valid' || checked.refusal.type !== 'failed') throw new Error('it fits')
  const { code, details, message } = checked.refusal.error
  assert.is(code, 'invalid_args')
  const issues = details.issues as Problem[]
  for (const { problem } of issues) assert.ok(message.includes(problem), `the message has: ${problem}`)
  return issues
}

const REFUSED: readonly (readonly [unknown, string])[] = [
  [{ expr: 'x', exprr: 1 }, '"exprr" is not an argument of draw; did you mean "expr"?'],
  [{ expr: 'x', kernl: 'k' }, '"kernl" is not an argument of draw; did you mean "kernel"?'],
  [{}, '"expr" is required (What to draw)'],
  [{ expr: 'x', line: 'x' }, '"line" must be a whole number ≥ 1, got "x"'],
  [{ expr: 'x', line: 0 }, '"line" must be a whole number ≥ 1, got 0'],
  [{ expr: 'x', line: 1.5 }, '"line" must be a whole number ≥ 1, got 1.5'],
  [{ expr: null }, '"expr" must be a text that is not empty, of at most 20 characters, got null'],
  [{ expr: 'x', line: '0' }, '"line" must be a whole number ≥ 1, got "0"'],
  [{ expr: 'x', points: '[1,' }, '"points" must be a list of 2 to 3 items, each a whole number, got "[1,"'],
  [{ expr: 'x', points: [1, null] }, '"points.1" must be a whole number, got null'],
  [{ expr: 'x', size: 10 }, '"size" must be a number ≥ 0 and ≤ 9, got 10'],
  [{ expr: 'x', size: Number.NaN }, '"size" must be a number ≥ 0 and ≤ 9, got NaN'],
  [{ expr: 'x', size: 3n }, '"size" must be a number ≥ 0 and ≤ 9, got a bigint'],
  [{ expr: 'x', colour: 'green' }, '"colour" must be one of "red", "blue", got "green"'],
  [{ expr: 'x', filled: 'yes' }, '"filled" must be true or false, got "yes"'],
  [{ expr: 'x', points: [1] }, '"points" has 1 item; it needs at least 2'],
  [{ expr: 'x', points: new Array(2000).fill(1) }, '"points" has 2,000 items; the limit is 3'],
  [{ expr: 'x', points: 'ab' }, '"points" must be a list of 2 to 3 items, each a whole number, got "ab"'],
  [{ expr: 'x', points: [1, 'b'] }, '"points.1" must be a whole number, got "b"'],
  [{ expr: 'x', frame: { width: 5 } }, '"frame.width" must be a whole number ≤ 4, got 5'],
  [{ expr: 'x', frame: { width: 1, widht: 2 } }, '"widht" is not a field of "frame"; did you mean "width"?'],
  [
    { expr: 'x', either: true },
    '"either" must be a text of at most 3 characters or a whole number, got true',
  ],
  [{ expr: 'x', word: 'no' }, '"word": is not a word that is taken'],
  [{ expr: '' }, '"expr" must be a text that is not empty, of at most 20 characters, got ""'],
  [{ expr: ['x'] }, '"expr" must be a text that is not empty, of at most 20 characters, got a list'],
  [{ expr: 'x'.repeat(10_485_760) }, '"expr" is 10,485,760 characters long; the limit is 20'],
  [{ expr: 'x', patience: -1 }, '"patience" must be a number ≥ 0 and ≤ 1000000, got -1'],
  [{ expr: 'x', patience: 'five' }, '"patience" must be a number ≥ 0 and ≤ 1000000, got "five"'],
  [{ expr: 'x', kernel: '' }, '"kernel" must be a text that is not empty, of at most 128 characters, got ""'],
  [7, 'the arguments of draw must be one object, such as {"expr":"a line"}; got a number'],
  [[], 'the arguments of draw must be one object, such as {"expr":"a line"}; got a list'],
  [null, 'the arguments of draw must be one object, such as {"expr":"a line"}; got null'],
  ['{}', 'the arguments of draw must be one object, such as {"expr":"a line"}; got a text'],
]

for (const [args, problem] of REFUSED)
  test(`refused: ${problem}`, () => {
    assert.equal(
      issuesOf(args).map(issue => issue.problem),
      [problem],
    )
  })

test('one value that can mean anything else leaves all as they were sent', () => {
  assert.equal(
    issuesOf({ expr: 'x', line: '3', size: 'large' }).map(issue => issue.problem),
    ['"line" must be a whole number ≥ 1, got "3"', '"size" must be a number ≥ 0 and ≤ 9, got "large"'],
  )
})

const TYPED: readonly (readonly [string, Record<string, unknown>, Record<string, unknown>])[] = [
  ['a list as JSON text', { points: '[1, 2]' }, { points: [1, 2] }],
  ['a list whose items are texts of numbers', { points: ['1', '2'] }, { points: [1, 2] }],
  ['an object as JSON text', { frame: '{"width": 2}' }, { frame: { width: 2 } }],
  ['a number as text', { line: '3', size: '0.5' }, { line: 3, size: 0.5 }],
  ['a truth value as text', { filled: 'true' }, { filled: true }],
  ['null for what is optional', { line: null, colour: null, size: null, kernel: null }, {}],
]

for (const [what, given, taken] of TYPED)
  test(`taken as meant: ${what}`, () => {
    const args = { expr: 'x', ...given }
    const checked = validate(drawing, args, registry)
    assert.equal(checked.type === 'valid' && checked.args, { size: 1, expr: 'x', ...taken })
    assert.equal(args, { expr: 'x', ...given }, 'what the caller sent is left as it was')
  })

test('patience as text is taken as the number, and null for it is left out', () => {
  for (const [patience, seconds] of [
    ['5', 5],
    [null, undefined],
  ] as const) {
    const checked = validate(drawing, { expr: 'x', patience }, registry)
    assert.is(checked.type === 'valid' ? checked.patience : 'refused', seconds)
  }
})

test('every problem is listed, as text and as data with its path', () => {
  const issues = issuesOf({ line: 0, nonsense: 1, patience: -1 })
  assert.equal(issues.map(({ path }) => path).sort(), ['expr', 'line', 'nonsense', 'patience'])
})

test('keys that look like an approval, or like a prototype, are unknown arguments (threat 6)', () => {
  for (const key of ['approved', 'approval', 'level', 'decision', '__proto__', 'constructor', 'toString']) {
    const args = JSON.parse(`{"expr":"x","${key}":true}`)
    assert.match(issuesOf(args)[0]?.problem ?? '', `"${key}" is not an argument of draw`)
  }
})

test('a hundred thousand unknown keys are refused with twenty problems and a count', () => {
  const args = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`key_${index}`, 1]))
  const checked = validate(drawing, { expr: 'x', ...args }, registry)
  if (checked.type === 'valid' || checked.refusal.type !== 'failed') throw new Error('it fits')
  assert.is((checked.refusal.error.details.issues as unknown[]).length, 20)
  assert.match(checked.refusal.error.message, 'and 99980 more')
})

test('what fits is given on with its defaults, and the reserved arguments apart', () => {
  assert.equal(validate(drawing, { expr: 'x', kernel: 'k', patience: 0 }, registry), {
    type: 'valid',
    args: { expr: 'x', size: 1 },
    kernel: 'k',
    patience: 0,
  })
  assert.equal(validate(drawing, { expr: 'x' }, registry), {
    type: 'valid',
    args: { expr: 'x', size: 1 },
    kernel: undefined,
    patience: undefined,
  })
})

test('another name of a parameter is accepted for it, judged as it, and listed nowhere', () => {
  const checked = validate(drawing, { expr: 'x', lineNumber: 3 }, registry)
  assert.equal(checked.type === 'valid' && checked.args, { expr: 'x', line: 3, size: 1 })
  assert.equal(drawing.journalled({ expr: 'x', lineNumber: 3 }), { expr: 'x', line: 3 })
  assert.is(issuesOf({ expr: 'x', lineNumber: 0 })[0]?.problem, '"line" must be a whole number ≥ 1, got 0')
  assert.match(
    issuesOf({ expr: 'x', line: 1, lineNumber: 2 })[0]?.problem ?? '',
    '"lineNumber" is not an argument',
  )
  assert.not.match(JSON.stringify(registry.schema(drawing)), 'lineNumber')
})
