import { describeTool } from '../../src/registry/descriptions.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import type { TextSyntax } from '../../src/syntax/syntax.ts'
import { documentation, SYNTAXES } from '../../src/syntax/syntaxes.ts'
import { TOOLS } from '../../tools/index.ts'
import { GENERATED } from './markdown.ts'

const SHOWN = TOOLS.filter(({ name }) => name === 'eval_expr')

/** `docs/syntaxes.md`: each text syntax, by its own rules, and one tool in it. */
export function syntaxesPage(): string {
  return `${[
    '# Text syntaxes',
    GENERATED,
    'A local model may write its calls as text. `src/syntax/` reads and writes four syntaxes, of which one is chosen by its ' +
      'name: the syntax is never guessed. `imago tools NAME --format syntax:emoji` documents a tool in one; `--format ' +
      'syntax` takes `tools.syntax` of [config.toml](configuration.md). A program reads a model with them:',
    '```js\n' +
      "import { openRegistry, SYNTAXES, TOOLS } from 'imago/syntax'\n\n" +
      'const reader = SYNTAXES.hermes.reader(openRegistry(TOOLS))\n' +
      'for await (const part of answer) for (const piece of reader.push(part)) take(piece)\n' +
      'for (const piece of reader.end()) take(piece)\n```',
    'A piece is `text`, `reasoning`, a `call` of a known tool, or `bad`: what was meant as a call and is cut, malformed, misplaced ' +
      'or of an unknown tool, with its position and what is wrong. Only a `call` may run. What is fenced or quoted is text. A ' +
      'call needs its end even where one line holds all of it: without one, a call that was cut could run. Where the end of a call ' +
      'that could not be read is not certain, no later one runs. Nothing in `<think>` runs. A reply may begin within reasoning and ' +
      'show only its end, so no call is told before the end of the reply, and a reply that was cut may have ended in reasoning: run none of its calls.',
    ...Object.values(SYNTAXES).map(section),
  ].join('\n\n')}\n`
}

function section(syntax: TextSyntax): string {
  const registry = openRegistry(TOOLS)
  const text = documentation(
    SHOWN.map(tool => describeTool({ registry, tool })),
    { syntax, registry },
  )
  const [, usage = ''] = text.split('\n\nUsage:\n')
  return [
    `## \`${syntax.name}\``,
    syntax.rules.replaceAll(/<[^>]+>/g, '`$&`'),
    `\`\`\`text\nUsage:\n${usage}\n\`\`\``,
  ].join('\n\n')
}
