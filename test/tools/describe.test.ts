import { z } from 'zod'
import { describe, type Format } from '../../src/registry/descriptions.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import type { Profile } from '../../tools/contract.ts'
import { DefinitionError, defineTool } from '../../tools/define.ts'
import { TOOLS } from '../../tools/index.ts'
import { ok } from '../../tools/outcome.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('describe')

const registry = openRegistry(TOOLS)

interface Schema {
  type: string
  properties: Record<string, { type: string; description: string }>
  required?: string[]
  additionalProperties?: boolean
}

/** A tool as one of the forms lists it. */
interface Listed {
  name?: string
  function?: { name: string; parameters: Schema }
  functionDeclarations?: { name: string; parameters: Schema }[]
  input_schema?: Schema
  inputSchema?: Schema
  annotations?: Record<string, unknown>
  title?: string
  _meta?: Record<string, unknown>
}

function text(profile: Profile, format: Format, name?: string): string {
  return textOf(describe({ registry, profile, format, ...(name !== undefined && { name }) }))
}

function textOf(description: ReturnType<typeof describe>): string {
  if (description.type !== 'described') throw new Error(`${description.name} is unknown`)
  return description.text
}

/** The tools that are listed for models. */
const FULL = TOOLS.filter(({ profile }) => profile !== 'desk')

const listed = (profile: Profile, format: Format) => JSON.parse(text(profile, format)) as Listed[]

test('seed 2, case 12: the core profile lists exactly list_globals, inspect and eval_expr, in every form', () => {
  const named: readonly (readonly (string | undefined)[] | undefined)[] = [
    listed('core', 'mcp').map(one => one.name),
    listed('core', 'json').map(one => one.name),
    listed('core', 'anthropic').map(one => one.name),
    listed('core', 'openai').map(one => one.function?.name),
    listed('core', 'gemini')[0]?.functionDeclarations?.map(one => one.name),
    [...text('core', 'text').matchAll(/^\w+/gm)].map(([name]) => name),
  ]
  for (const names of named) assert.equal(names, ['list_globals', 'inspect', 'eval_expr'])
})

test('the live profile adds what the answers of core point to, what a hanging program needs, changing its code, and errors that wait', () => {
  assert.is(
    listed('live', 'mcp')
      .map(one => one.name)
      .join(' '),
    'kernels attach list_globals inspect symbol_definition threads get_last_error eval_expr compile_form ' +
      'load_file reload debug_state debug_frame debug_eval debug_restart read_more job interrupt_job',
  )
  assert.equal(
    listed('full', 'mcp').map(one => one.name),
    FULL.map(tool => tool.name),
  )
  assert.equal(
    listed('desk', 'mcp').map(one => one.name),
    [...listed('live', 'mcp').map(one => one.name), 'permission_prompt'],
  )
})

test('seed 2, case 13: the tools that seed 2 removed are unknown', () => {
  for (const name of ['get_type', 'get_repr', 'get_dir', 'get_doc', 'get_last_exception']) {
    assert.is(registry.find(name), undefined)
    assert.is(describe({ registry, profile: 'full', format: 'json', name }).type, 'unknown')
  }
})

test('an old name is accepted and not listed', () => {
  assert.is(registry.find('eval_form')?.name, 'eval_expr')
  assert.not.match(text('full', 'mcp'), 'eval_form')
  assert.is((JSON.parse(text('full', 'anthropic', 'eval_form')) as Listed[])[0]?.name, 'eval_expr')
})

test('every form has the same parameters, closed and described, the reserved ones last', () => {
  const expected = ['expr', 'file', 'line', 'package', 'on_error', 'kernel', 'patience']
  const schemas = [
    listed('core', 'openai')[2]?.function?.parameters,
    listed('core', 'anthropic')[2]?.input_schema,
    listed('core', 'mcp')[2]?.inputSchema,
    listed('core', 'gemini')[0]?.functionDeclarations?.[2]?.parameters,
  ]
  for (const schema of schemas) {
    assert.equal(Object.keys(schema?.properties ?? {}), expected)
    assert.equal(schema?.required, ['expr'])
    for (const { description } of Object.values(schema?.properties ?? {})) assert.ok(description.length > 10)
  }
  for (const schema of schemas.slice(0, 3)) assert.is(schema?.additionalProperties, false)
})

test('MCP is always told all four hints, that running code can destroy whatever its level, and that attaching runs none', () => {
  const safe = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }
  const running = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }
  const attaching = { ...running, destructiveHint: false, idempotentHint: true, openWorldHint: false }
  assert.equal(
    listed('full', 'mcp').map(one => one.annotations),
    FULL.map(({ name, level }) => (level === 'safe' ? safe : name === 'attach' ? attaching : running)),
  )
})

test('each tool has a title for people, and Claude Code is told that a person is to be asked about dangerous ones', () => {
  const tools = listed('full', 'mcp')
  const titles = Object.fromEntries(tools.map(({ name, title }) => [name, title]))
  assert.equal(
    ['get_last_error', 'attach'].map(name => titles[name]),
    ['Get last error', 'Attach'],
  )
  assert.is(new Set(Object.values(titles)).size, FULL.length)
  assert.equal(
    tools
      .filter(({ _meta }) => _meta?.['anthropic/requiresUserInteraction'] === true)
      .map(({ name }) => name),
    FULL.filter(({ level }) => level === 'dangerous').map(({ name }) => name),
  )
})

test('Gemini is given only what its schemas have', () => {
  const parameters = {
    mode: z.literal('fast').describe('The mode.'),
    either: z.union([z.string(), z.number(), z.null()]).describe('Either one.'),
    size: z.number().gt(0).describe('The size.'),
  }
  const args = { mode: 'fast', either: null, size: 1 }
  const made = openRegistry([
    defineTool({ ...probe, parameters, examples: [{ args, shows: 'it' }] } as never),
  ])
  const [said] = JSON.parse(
    textOf(describe({ registry: made, profile: 'full', format: 'gemini' })),
  ) as Listed[]
  assert.equal(said?.functionDeclarations?.[0]?.parameters, {
    type: 'OBJECT',
    required: ['mode', 'either', 'size'],
    properties: {
      mode: { type: 'STRING', description: 'The mode.', enum: ['fast'] },
      either: { description: 'Either one.', anyOf: [{ type: 'STRING' }, { type: 'NUMBER' }], nullable: true },
      size: { type: 'NUMBER', description: 'The size.' },
    },
    propertyOrdering: ['mode', 'either', 'size'],
  })
  assert.not.match(text('full', 'gemini'), /additionalProperties|\$schema|exclusive/)
})

test('usage for people says how to call a tool, with examples for a shell', () => {
  const usage = text('core', 'text', 'eval_expr')
  assert.ok(
    usage.startsWith(
      'eval_expr <expr> [file] [line] [package] [on_error] [kernel] [patience]\ncautious; from profile core on',
    ),
  )
  assert.match(usage, 'also called eval_form')
  assert.match(usage, '  line: integer, 1 to 10000000, optional')
  assert.match(usage, `imago call eval_expr '{"expr":"1 + 2"}'`)
  for (const line of usage.split('\n')) assert.ok(line.length <= 110 || line.includes('imago call'), line)
})

test('an example with a quote in it is still one word for a shell', () => {
  const tool = defineTool({ ...probe, examples: [{ args: { word: "it's" }, shows: 'a quote' }] })
  const usage = describe({ registry: openRegistry([tool]), profile: 'full', format: 'text', name: 'probe' })
  assert.match(textOf(usage), `imago call probe '{"word":"it'\\''s"}'`)
})

const probe = {
  name: 'probe',
  description: 'Probes for {{seconds}} seconds.',
  parameters: { word: z.string().describe('A word.') },
  profile: 'full',
  categories: ['test'],
  needs: [],
  examples: [{ args: { word: 'a' }, shows: 'one word' }],
  result: z.null(),
  handler: () => ok(null),
  finalizeDocumentation: (documentation: string, { seconds = 'some' }: Readonly<Record<string, string>>) =>
    documentation.replace('{{seconds}}', seconds),
} as const

test('placeholders in a description are filled in from facts, in every form', () => {
  const made = openRegistry([defineTool(probe)])
  for (const format of ['text', 'openai', 'mcp'] as const) {
    const description = describe({ registry: made, profile: 'full', format, facts: { seconds: '60' } })
    assert.match(textOf(description), 'Probes for 60 seconds.')
  }
})

test('a description that is spoilt by what fills it is refused by name (threat 12)', () => {
  const made = openRegistry([defineTool(probe)])
  for (const seconds of ['\u001b[2J', '\u202e60', 'x'.repeat(2_100)])
    assert.throws(
      () => describe({ registry: made, profile: 'full', format: 'mcp', facts: { seconds } }),
      (error: unknown) => error instanceof DefinitionError,
    )
})

test('usage says of a list what is in it, and how many, and describes what stands in each object', () => {
  assert.match(text('full', 'text', 'load_file'), '  names: list of strings, 1 to 100')
  const usage = text('full', 'text', 'propose_file_edit')
  for (const line of ['<edits>\n', '  edits: list of objects, 1 to 100', '  edits[].why: string, at most'])
    assert.match(usage, line)
})
