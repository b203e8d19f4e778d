import { z } from 'zod'
import { openRegistry } from '../../src/registry/registry.ts'
import { nearest } from '../../src/text/nearest.ts'
import type { Profile } from '../../tools/contract.ts'
import { DefinitionError, defineTool, type Tool } from '../../tools/define.ts'
import { TOOLS } from '../../tools/index.ts'
import { ok } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('registry')

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

test('the profile core is exactly three tools', () => {
  const names = openRegistry(TOOLS)
    .list('core')
    .map(({ name }) => name)
  assert.equal(names, ['list_globals', 'inspect', 'eval_expr'])
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
