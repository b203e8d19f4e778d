import type { Arglist, Description, Naming, Text } from '../wire/kernel.ts'
import { defineTool } from './define.ts'
import { type Told, termsOf } from './languages.ts'
import { lookUpName } from './looked.ts'
import { given, NAMED_IN, named, placeOf } from './naming.ts'
import { cutNote, indent, oneLine, typeWord } from './wording.ts'

export const describeSymbol = defineTool({
  name: 'describe_symbol',
  description:
    'Tell in a few lines what a name stands for: its kind and type, value or signature, documentation, where it ' +
    'was defined, and under which other names it is known. Runs no code. Shorter than inspect, which also shows ' +
    'members and contents; for the source use symbol_definition.',
  parameters: {
    name: named('A name, a path such as `shop.Order.total` or `shop:total`, or a handle.'),
    package: NAMED_IN,
  },
  // As Agent-Q's contract writes it; its code says `name`.
  parameterAliases: { symbol: 'name' },
  level: 'safe',
  profile: 'full',
  categories: ['introspection'],
  needs: ['describe'],
  examples: [
    { args: { name: 'shop.Order.total' }, shows: 'what a method is' },
    { args: { name: 'config' }, shows: 'what a variable holds' },
  ],

  handler({ name, package: inside }, context) {
    const query = given<Naming>({ name, package: inside })
    return lookUpName({ look: 'describe', query }, context)
  },

  show: result => showDescription(result as Description & Told),
})

function showDescription(found: Description & Told): string {
  const terms = termsOf(found)
  const { name, qualified, kind, type, signature, module, also, facts, doc, value, handle } = found
  const valued = kind === 'variable' || kind === 'constant' || kind === 'property'
  const words = [oneLine(qualified === '' ? name : qualified), terms.kind(kind)]
  if (valued) words.push(typeWord(type))
  const place = placeOf(found)
  if (place !== '') words.push(place)
  if (handle !== undefined) words.push(handle)
  const lines = [words.join(' · ')]
  if (qualified !== '' && qualified !== name) lines.push(`asked for as ${oneLine(name)}`)
  if (signature !== null) lines.push(`signature: ${oneLine(signature)}`)
  if (module !== null) lines.push(`${terms.module[0]}: ${oneLine(module)}`)
  if (facts.length > 0) lines.push(`facts: ${facts.map(oneLine).join('; ')}`)
  const others = also.filter(one => one !== name && one !== qualified)
  if (others.length > 0) lines.push(`also known as: ${others.map(oneLine).join(', ')}`)
  if (value !== undefined) lines.push(...textLines('value', value))
  if (doc !== null) lines.push(...textLines('doc', doc))
  return lines.join('\n')
}

function textLines(title: string, text: Text): string[] {
  const more = text.handle === undefined ? '' : `; more: read_more ${text.handle}`
  const cut = text.truncated ? ` (${cutNote(text)}${more})` : ''
  return text.text.includes('\n') ? [`${title}${cut}:`, indent(text.text)] : [`${title}${cut}: ${text.text}`]
}

export const functionArglist = defineTool({
  name: 'function_arglist',
  description:
    'Tell how a function, method or class is called: its signature, with defaults and annotations, and the first ' +
    'line of its documentation. Runs no code. Use it before writing a call; for what the function does use ' +
    'symbol_definition.',
  parameters: {
    name: named('A function, method or class: a name, a path such as `shop:total`, or a handle.'),
    package: NAMED_IN,
  },
  parameterAliases: { symbol: 'name' },
  level: 'safe',
  profile: 'full',
  categories: ['introspection'],
  needs: ['arglist'],
  examples: [{ args: { name: 'shop.Order.total' }, shows: 'the parameters of a method' }],

  handler({ name, package: inside }, context) {
    const query = given<Naming>({ name, package: inside })
    return lookUpName({ look: 'arglist', query }, context)
  },

  show: result => showArglist(result as Arglist),
})

function showArglist(found: Arglist): string {
  const { name, qualified, signature, because, parameters, returns, doc, call } = found
  const whose = oneLine(qualified === '' ? name : qualified)
  const lines = [
    call === undefined ? `${whose}${signature === null ? '' : oneLine(signature)}` : oneLine(call),
  ]
  if (signature === null) {
    lines.push(`its signature is not known: ${oneLine(because ?? 'the image does not tell')}`)
    if (parameters.length > 0)
      lines.push(`parameters: ${parameters.map(one => oneLine(one.name)).join(', ')}`)
    if (returns !== null) lines.push(`returns: ${oneLine(returns)}`)
  }
  if (doc !== null && doc !== '') lines.push(oneLine(doc))
  const place = placeOf(found)
  if (place !== '') lines.push(place)
  return lines.join('\n')
}
