import { Refusal } from '../../wire/link/link.ts'
import { describe, FORMATS } from '../core/describe.ts'
import type { Registry } from '../core/registry.ts'
import type { Methods } from './protocol.ts'

/** What `imago tools` prints. Throws the `Refusal` `invalid_params`, which names what there is instead. */
export function listTools(registry: Registry, wanted: Methods['tools']['params']): string {
  const { profile = 'full', format: asked = 'text', name } = wanted
  const format = FORMATS.find(known => known === asked)
  if (format === undefined)
    throw new Refusal('invalid_params', `There is no format ${asked}. Formats: ${FORMATS.join(', ')}.`)
  const description = describe({ registry, profile, format, ...(name === undefined ? {} : { name }) })
  if (description.type === 'described') return description.text
  const nearest = description.nearest.length === 0 ? '' : ` Did you mean ${description.nearest.join(' or ')}?`
  throw new Refusal('invalid_params', `There is no tool ${description.name}.${nearest}`)
}
