import type { JsonSchema } from './registry.ts'

/** What a schema accepts, in plain words that follow "must be". */
export function expected(schema: JsonSchema): string {
  if ('const' in schema) return JSON.stringify(schema.const)
  if (Array.isArray(schema.enum))
    return `one of ${schema.enum.map(value => JSON.stringify(value)).join(', ')}`
  const parts = schema.anyOf ?? schema.oneOf
  if (Array.isArray(parts)) return parts.map(part => expected(part)).join(' or ')
  if (Array.isArray(schema.type)) return schema.type.map(type => expected({ ...schema, type })).join(' or ')
  switch (schema.type) {
    case 'string':
      return text(schema)
    case 'integer':
      return `a whole number${range(schema)}`
    case 'number':
      return `a number${range(schema)}`
    case 'boolean':
      return 'true or false'
    case 'array':
      return list(schema)
    case 'object':
      return 'an object'
    case 'null':
      return 'null'
    default:
      return 'of another type'
  }
}

/** A value as somebody who passed it would recognise it, with its type where the look does not give it away. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value)
  return kindOf(value)
}

export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'string') return 'a text'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function text({ minLength, maxLength, pattern }: JsonSchema): string {
  const most = typeof maxLength === 'number' ? ` of at most ${maxLength} characters` : ''
  const form = typeof pattern === 'string' ? ` matching ${pattern}` : ''
  return `a text${typeof minLength === 'number' && minLength > 0 ? ' that is not empty,' : ''}${most}${form}`.replace(
    /,$/,
    '',
  )
}

function range({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonSchema): string {
  const bounds = [
    bound('≥', minimum),
    bound('>', exclusiveMinimum),
    bound('≤', maximum),
    bound('<', exclusiveMaximum),
  ].filter(part => part !== '')
  return bounds.length === 0 ? '' : ` ${bounds.join(' and ')}`
}

/** The ends of what a number can hold exactly are in every schema of a whole number, and say nothing. */
function bound(sign: string, limit: unknown): string {
  if (typeof limit !== 'number' || Math.abs(limit) === Number.MAX_SAFE_INTEGER) return ''
  return `${sign} ${limit}`
}

function list({ minItems, maxItems, items }: JsonSchema): string {
  const least = typeof minItems === 'number' ? `at least ${minItems}` : ''
  const most = typeof maxItems === 'number' ? `at most ${maxItems}` : ''
  const bounds = least !== '' && most !== '' ? `${minItems} to ${maxItems}` : least || most
  const count = bounds === '' ? '' : ` of ${bounds} items`
  const each = typeof items === 'object' && items !== null ? `, each ${expected(items as JsonSchema)}` : ''
  return `a list${count}${each}`
}
