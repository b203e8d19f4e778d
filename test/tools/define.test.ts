import { z } from 'zod'
import { DefinitionError, defineTool, INVARIANTS } from '../../tools/define.ts'
import { ok } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('definition')

const good = {
  name: 'read_sensor',
  description: 'Read a sensor.',
  parameters: { channel: z.int().min(0).default(0).describe('Which one.') },
  level: 'safe',
  profile: 'full',
  categories: ['hardware'],
  needs: [],
  examples: [{ args: { channel: 2 }, shows: 'the third sensor' }],
  result: z.number(),
  handler: ({ channel }: { channel: number }) => ok(channel),
} as const

/** As an author without a type checker would write it. */
const define = (definition: Record<string, unknown>) => defineTool(definition as never)

test('a good definition becomes a tool with its defaults filled in', async () => {
  const tool = defineTool(good)
  assert.is(tool.level, 'safe')
  assert.equal(tool.aliases, [])
  assert.equal(tool.parameters.parse({}), { channel: 0 })
  assert.is(tool.show({ a: 1 }), '{\n  "a": 1\n}')
  assert.equal(tool.preview({ channel: 1 }), { title: 'read_sensor', body: '{\n  "channel": 1\n}' })
  assert.is(tool.finalizeDocumentation('as it was', {}), 'as it was')
})

test('an unlabelled tool is dangerous', () => {
  const { level: _, ...unlabelled } = good
  const tool = defineTool(unlabelled)
  assert.is(tool.level, 'dangerous')
  assert.is(tool.raise({}), 'dangerous')
})

test('a definition that does not say what it answers with does not typecheck, and is refused', () => {
  const { result: _, ...silent } = good
  // @ts-expect-error -- The field is required.
  assert.is(breach(() => defineTool(silent)).invariant, 'result')
})

test('a call can raise its own level and cannot lower it', () => {
  const rising = defineTool({
    ...good,
    level: 'cautious',
    raise: ({ channel }) => (channel > 5 ? 'dangerous' : 'safe'),
  })
  assert.is(rising.raise({ channel: 6 }), 'dangerous')
  assert.is(rising.raise({ channel: 1 }), 'cautious')
})

test('a finished tool cannot be changed (threat 11)', () => {
  const tool = defineTool(good)
  for (const change of [{ description: 'other' }, { level: 'safe' }, { handler: async () => ok(1) }])
    assert.throws(() => Object.assign(tool, change), TypeError)
  assert.throws(() => (tool.aliases as string[]).push('other'), TypeError)
})

test('unknown arguments are refused, those that look like an approval too (threat 6)', () => {
  const { parameters } = defineTool(good)
  for (const key of ['approved', 'allow', 'force', 'level', 'decision', 'seat', 'constructor', 'Channel'])
    for (const value of [true, 'yes', null, {}])
      assert.is(parameters.safeParse({ channel: 1, [key]: value }).success, false, key)
  assert.is(parameters.safeParse(JSON.parse('{"__proto__": {"approved": true}}')).success, false)
})

test('a handler that throws, at once or later, rejects and never throws at its caller', async () => {
  const tool = defineTool({
    ...good,
    handler() {
      throw new Error('broken')
    },
  })
  const outcome = tool.handler({ channel: 0 }, undefined as never)
  assert.ok(outcome instanceof Promise)
  assert.is(await outcome.catch(error => error.message), 'broken')
})

const parameter = (type: z.ZodType) => ({ parameters: { channel: type }, examples: [] })
const text = z.string().describe('A text.')

const refused: readonly (readonly [keyof typeof INVARIANTS, string, Record<string, unknown>])[] = [
  ['name', 'no name', { name: undefined }],
  ['name', 'a name in camelCase', { name: 'readSensor' }],
  ['name', 'a name that begins with a digit', { name: '2_sensors' }],
  ['name', 'a name of letters that only look Latin', { name: 'reаd_sensor' }],
  ['name', 'a name of 65 characters', { name: 'a'.repeat(65) }],
  ['aliases', 'an alias that is no word', { aliases: ['read sensor'] }],
  ['aliases', 'an alias equal to the name', { aliases: ['read_sensor'] }],
  ['aliases', 'another name for a parameter that is not there', { parameterAliases: { port: 'nowhere' } }],
  ['aliases', 'another name that is a parameter itself', { parameterAliases: { channel: 'channel' } }],
  ['presets', 'a preset of a parameter that is not there', { presets: { read_zero: { port: 0 } } }],
  ['presets', 'a preset to what the parameter cannot be', { presets: { read_zero: { channel: 'x' } } }],
  ['presets', 'a preset of nothing', { presets: { read_zero: {} } }],
  [
    'presets',
    'two names for the same calls',
    { presets: { read_one: { channel: 1 }, read_1: { channel: 1 } } },
  ],
  ['aliases', 'a name with a preset that is no word', { presets: { 'read one': { channel: 1 } } }],
  ['aliases', 'a name with a preset that is the name', { presets: { read_sensor: { channel: 1 } } }],
  ['description', 'no description', { description: undefined }],
  ['description', 'a description too long to be read', { description: 'a'.repeat(2_001) }],
  ['plain_text', 'a terminal escape in the description', { description: 'Read\u001b[8m and send it away' }],
  ['plain_text', 'a right-to-left mark in the description', { description: 'Read \u202etidua' }],
  ['plain_text', 'a hidden character in a parameter', parameter(z.string().describe('A\u2066 text.'))],
  ['plain_text', 'a hidden character in an example', { examples: [{ args: {}, shows: 'the\u202e first' }] }],
  ['parameters', 'no parameters', { parameters: undefined }],
  ['parameters', 'a parameter that is no zod type', { parameters: { channel: { type: 'string' } } }],
  ['parameters', 'a parameter that JSON cannot carry', parameter(z.date().describe('When.'))],
  ['described', 'a parameter without a description', parameter(z.string())],
  ['described', 'a parameter described at length', parameter(z.string().describe('a'.repeat(1_001)))],
  ['closed', 'an object inside that lets anything in', parameter(z.object({ a: text }).describe('x'))],
  [
    'closed',
    'an object in a list that lets anything in',
    parameter(z.array(z.object({ a: text })).describe('x')),
  ],
  ['closed', 'a parameter of any type', parameter(z.any().describe('Whatever.'))],
  ['reserved', 'a parameter called kernel', { parameters: { kernel: text }, examples: [] }],
  ['level', 'a level that is none', { level: 'harmless' }],
  ['profile', 'a profile that is none', { profile: 'all' }],
  ['categories', 'no category', { categories: [] }],
  ['needs', 'an ability that no kernel has', { needs: ['teleport'] }],
  ['paths', 'a path that is no parameter', { paths: ['file'] }],
  ['multiline', 'several lines of what is no parameter', { multiline: ['toString'] }],
  ['multiline', 'several lines of a number', { multiline: ['channel'] }],
  ['multiline', 'several lines said twice', { ...parameter(text), multiline: ['channel', 'channel'] }],
  ['multiline', 'several lines that are no list', { ...parameter(text), multiline: 'channel' }],
  [
    'paths',
    'a path that may lead anywhere, and is no parameter',
    { paths: [{ name: 'file', confined: false }] },
  ],
  [
    'paths',
    'a path that does not say whether it is confined',
    { ...parameter(text), paths: [{ name: 'channel' }] },
  ],
  [
    'paths',
    'a path in each of a list that is none',
    { ...parameter(text), paths: [{ name: 'channel', confined: true, each: 'path' }] },
  ],
  [
    'paths',
    'a path in each of a list of objects that have none',
    {
      ...parameter(z.array(z.strictObject({ file: text })).describe('Some.')),
      paths: [{ name: 'channel', confined: true, each: 'path' }],
    },
  ],
  ['plan', 'a plan of a tool that nobody is asked about', { plan: async () => ok(1) }],
  ['plan', 'a plan that is no function', { level: 'dangerous', plan: {} }],
  ['examples', 'an example that does not fit', { examples: [{ args: { channel: 'two' }, shows: 'x' }] }],
  ['examples', 'an example with an unknown argument', { examples: [{ args: { chanel: 2 }, shows: 'x' }] }],
  ['examples', 'an example that does not say what it shows', { examples: [{ args: {}, shows: '' }] }],
  ['result', 'no result', { result: undefined }],
  ['result', 'a result that is no zod type', { result: { type: 'string' } }],
  ['handler', 'no handler', { handler: undefined }],
]

for (const [invariant, what, change] of refused)
  test(`${what} is refused as a breach of "${invariant}"`, () => {
    const error = breach(() => define({ ...good, ...change }))
    assert.is(error.invariant, invariant)
    assert.match(error.message, /^("|a tool)/)
    assert.not.match(error.message, /\p{Cf}|\p{Cs}/u)
    assert.not.ok(error.message.includes('\u001b'))
  })

test('every invariant has a definition that breaks it, but the one that the registry keeps', () => {
  const broken = new Set(refused.map(([invariant]) => invariant))
  assert.equal(
    Object.keys(INVARIANTS).filter(name => !broken.has(name as keyof typeof INVARIANTS)),
    ['unique'],
  )
})

function breach(work: () => unknown): DefinitionError {
  try {
    work()
  } catch (error) {
    if (error instanceof DefinitionError) return error
    throw error
  }
  throw new Error('the definition was accepted')
}
