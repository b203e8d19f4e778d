import {
  annotations,
  type Described,
  describeTool,
  olderNames,
  parametersWithin,
} from '../../src/registry/descriptions.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { PROFILES } from '../../tools/contract.ts'
import { TOOLS } from '../../tools/index.ts'
import { USUAL_NAMES } from '../../tools/parameters.ts'
import { GENERATED, table } from './markdown.ts'

/** `docs/tools.md`: every tool, from its definition. */
export function toolsPage(): string {
  const registry = openRegistry(TOOLS)
  const sections = TOOLS.map(tool => section(describeTool({ registry, tool })))
  const profiles = PROFILES.map(profile => [
    profile,
    `${registry
      .list(profile)
      .map(tool => `\`${tool.name}\``)
      .join(', ')}`,
  ])
  return `${[
    '# Tools',
    GENERATED,
    'What a model, or a person with `imago call`, can ask for. `imago tools NAME` shows the same in a terminal, and ' +
      '`imago tools --format openai` (or `anthropic`, `gemini`, `mcp`, `json`) the schemas.',
    'A *safe* tool runs no code of the program and no code of its libraries, printers included. A *cautious* one can ' +
      'run code; it runs without asking and is journalled. A *dangerous* one asks first.',
    table(['Profile', 'Shows'], profiles),
    'An argument has one name in every tool. Other names are accepted where a tool has no argument of that name:',
    table(
      ['Argument', 'Also accepted as'],
      Object.entries(USUAL_NAMES).map(([name, others]) => [name, others.join(', ')]),
    ),
    ...sections,
  ].join('\n\n')}\n`
}

function section({ tool, description, schema }: Described): string {
  const { level, profile, categories, examples } = tool
  const older = olderNames(tool).map(
    ({ name, says }) => `\`${name}\`${says === undefined ? '' : ` (\`${says}\`)`}`,
  )
  const also = older.length === 0 ? '' : ` Also accepted as ${older.join(', ')}.`
  const hints = Object.entries(annotations(tool)).map(([hint, value]) => `${hint} ${value}`)
  return [
    `## \`${tool.name}\``,
    description,
    `Level *${level}*, profile \`${profile}\`, categories ${categories.join(', ')}.${also} MCP: ${hints.join(', ')}.`,
    table(
      ['Argument', 'Type', 'Meaning'],
      parametersWithin(schema).map(one => [one.name, one.type, one.description]),
    ),
    ...examples.map(({ args, shows }) => `${shows}:\n\n\`\`\`json\n${JSON.stringify(args)}\n\`\`\``),
  ].join('\n\n')
}
