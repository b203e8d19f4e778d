import { z } from 'zod'
import { ABILITIES } from '../wire/kernel.ts'
import { DefinitionError, type Invariant, LEVELS, PROFILES, RESERVED } from './words.ts'

const NAME_LENGTH = 64
const DESCRIPTION_LENGTH = 2_000
const PARAMETER_DESCRIPTION_LENGTH = 1_000

/** A definition as an author without a type checker might write it. */
export interface UncheckedDefinition {
  readonly name: unknown
  readonly aliases: unknown
  readonly description: unknown
  readonly parameters: unknown
  readonly parameterAliases: unknown
  readonly level: unknown
  readonly profile: unknown
  readonly categories: unknown
  readonly needs: unknown
  readonly examples: unknown
  readonly paths: unknown
  readonly plan: unknown
  readonly handler: unknown
}

/** The strict schema of a definition that keeps every invariant; throws `DefinitionError` for one that does not. */
export function checkDefinition(definition: UncheckedDefinition): z.ZodObject {
  const refuse = refuser(definition.name)
  checkNames(definition, refuse)
  checkText('description', definition.description, DESCRIPTION_LENGTH, refuse)
  checkWords(definition, refuse)
  const plansAll = definition.handler === undefined && typeof definition.plan === 'function'
  if (!plansAll && typeof definition.handler !== 'function') refuse('handler', 'handler is not a function')
  const parameters = checkParameters(definition.parameters, refuse)
  checkParameterAliases(definition.parameterAliases, parameters, refuse)
  checkPaths(definition.paths, parameters, refuse)
  checkPlan(definition, refuse)
  checkExamples(definition.examples, parameters, refuse)
  return parameters
}

/** The rules of a description, for one that was filled in later; throws `DefinitionError`. */
export function checkDescription(tool: string, description: unknown): void {
  checkText('description', description, DESCRIPTION_LENGTH, refuser(tool))
}

type Refuse = (invariant: Invariant, message: string) => never

function refuser(name: unknown): Refuse {
  const tool = typeof name === 'string' && name !== '' ? JSON.stringify(name.slice(0, NAME_LENGTH)) : 'a tool'
  return (invariant, message) => {
    throw new DefinitionError(tool, invariant, message)
  }
}

function checkNames({ name, aliases }: UncheckedDefinition, refuse: Refuse): void {
  if (!isSnakeCase(name)) refuse('name', 'its name is not in snake_case')
  if (aliases === undefined) return
  if (!Array.isArray(aliases) || !aliases.every(isSnakeCase))
    refuse('aliases', 'an alias is not in snake_case')
  if (aliases.includes(name)) refuse('aliases', 'an alias equals the name')
  if (new Set(aliases).size !== aliases.length) refuse('aliases', 'an alias is given twice')
}

function checkWords({ level, profile, categories, needs }: UncheckedDefinition, refuse: Refuse): void {
  if (level !== undefined && !among(LEVELS, level))
    refuse('level', `level is not one of ${LEVELS.join(', ')}`)
  if (!among(PROFILES, profile)) refuse('profile', `profile is not one of ${PROFILES.join(', ')}`)
  if (!Array.isArray(categories) || categories.length === 0 || !categories.every(isSnakeCase))
    refuse('categories', 'categories is not a list of snake_case words')
  if (!Array.isArray(needs) || !needs.every(need => among(ABILITIES, need)))
    refuse('needs', `needs is not a list out of ${ABILITIES.join(', ')}`)
}

function checkParameters(shape: unknown, refuse: Refuse): z.ZodObject {
  if (!isShape(shape)) refuse('parameters', 'parameters is not an object of zod types')
  for (const name of Object.keys(shape)) {
    if (!isSnakeCase(name)) refuse('parameters', `parameter ${JSON.stringify(name)} is not in snake_case`)
    if (among(RESERVED, name)) refuse('reserved', `parameter ${name} is added by the registry`)
  }
  const parameters = z.strictObject(shape)
  checkSchema('', jsonSchema(parameters, refuse), refuse)
  return parameters
}

function checkParameterAliases(aliases: unknown, { shape }: z.ZodObject, refuse: Refuse): void {
  if (aliases === undefined) return
  if (!isRecord(aliases)) refuse('aliases', 'parameterAliases is not an object')
  for (const [alias, name] of Object.entries(aliases)) {
    if (!/^[A-Za-z]\w{0,63}$/.test(alias))
      refuse('aliases', `${JSON.stringify(alias)} is no name of a parameter`)
    if (Object.hasOwn(shape, alias) || among(RESERVED, alias))
      refuse('aliases', `${alias} is a parameter itself`)
    if (typeof name !== 'string' || !Object.hasOwn(shape, name))
      refuse('aliases', `${alias} stands for no parameter`)
  }
}

function checkPaths(paths: unknown, parameters: z.ZodObject, refuse: Refuse): void {
  if (paths === undefined) return
  const names = Array.isArray(paths) ? paths.map(pathName) : []
  if (!Array.isArray(paths) || new Set(names).size !== names.length)
    refuse('paths', 'paths is not a list of different parameters')
  const { properties } = z.toJSONSchema(parameters, { io: 'input' })
  for (const [index, name] of names.entries()) {
    const property = ownPart(properties, name)
    const { each } = isRecord(paths[index]) ? paths[index] : {}
    if (each === undefined) {
      if (property?.type !== 'string') refuse('paths', `${name} is no parameter that is a text`)
    } else {
      const item = isRecord(property?.items) ? property.items : undefined
      if (property?.type !== 'array' || ownPart(item?.properties, String(each))?.type !== 'string')
        refuse('paths', `${name} is no list of objects with a text under ${String(each)}`)
    }
  }
}

function ownPart(parts: unknown, name: string): Record<string, unknown> | undefined {
  const part = isRecord(parts) && Object.hasOwn(parts, name) ? parts[name] : undefined
  return isRecord(part) ? part : undefined
}

const pathName = (path: unknown): string =>
  isRecord(path) && typeof path.confined === 'boolean' ? String(path.name) : String(path)

function checkPlan({ plan, level }: UncheckedDefinition, refuse: Refuse): void {
  if (plan === undefined) return
  if (typeof plan !== 'function') refuse('plan', 'plan is not a function')
  if (level === 'safe') refuse('plan', 'it has a plan, and is safe')
}

function jsonSchema(parameters: z.ZodObject, refuse: Refuse): unknown {
  try {
    return z.toJSONSchema(parameters, { io: 'input' })
  } catch (error) {
    refuse('parameters', `parameters cannot be written as JSON Schema: ${String(error)}`)
  }
}

/** Words that say what a schema accepts; one with none of them accepts anything. */
const TYPING = ['type', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', '$ref'] as const

/** One JSON Schema, and all schemas in it. `path` names it within the parameters. */
function checkSchema(path: string, schema: unknown, refuse: Refuse): void {
  if (!isRecord(schema)) return
  const { properties, additionalProperties } = schema
  if (isRecord(properties)) {
    if (additionalProperties !== false) refuse('closed', `${path} accepts unknown keys; use z.strictObject`)
    for (const [name, property] of Object.entries(properties))
      checkProperty(path === '' ? name : `${path}.${name}`, property, refuse)
  }
  for (const [word, part] of Object.entries(schema)) {
    if (typeof part === 'string') checkPlain(path, part, refuse)
    else if (Array.isArray(part)) for (const item of part) checkPart(path, item, refuse)
    else if (word !== 'properties') checkSchema(path, part, refuse)
  }
}

function checkPart(path: string, part: unknown, refuse: Refuse): void {
  if (typeof part === 'string') checkPlain(path, part, refuse)
  else checkSchema(path, part, refuse)
}

function checkProperty(path: string, property: unknown, refuse: Refuse): void {
  if (!isRecord(property)) refuse('closed', `parameter ${path} accepts anything`)
  if (!TYPING.some(word => word in property)) refuse('closed', `parameter ${path} accepts anything`)
  const { description } = property
  if (typeof description !== 'string' || description.trim() === '')
    refuse('described', `parameter ${path} has no description`)
  if (String(description).length > PARAMETER_DESCRIPTION_LENGTH)
    refuse(
      'described',
      `parameter ${path} has a description of more than ${PARAMETER_DESCRIPTION_LENGTH} characters`,
    )
  checkSchema(path, property, refuse)
}

function checkExamples(examples: unknown, parameters: z.ZodObject, refuse: Refuse): void {
  if (!Array.isArray(examples)) refuse('examples', 'examples is not a list')
  for (const [index, example] of examples.entries()) {
    const what = `example ${index + 1}`
    if (!isRecord(example)) refuse('examples', `${what} is not { args, shows }`)
    const { args, shows } = example
    if (typeof shows !== 'string' || shows.trim() === '')
      refuse('examples', `${what} does not say what it shows`)
    checkPlain(what, shows, refuse)
    const parsed = parameters.safeParse(args)
    if (!parsed.success)
      refuse('examples', `${what} does not fit the parameters: ${z.prettifyError(parsed.error)}`)
  }
}

function checkText(what: 'description', text: unknown, most: number, refuse: Refuse): void {
  if (typeof text !== 'string' || text.trim() === '') refuse(what, `${what} is empty, or is not fixed text`)
  if (text.length > most) refuse(what, `${what} has ${text.length} characters; ${most} is the most`)
  checkPlain(what, text, refuse)
}

// A model, and a person who approves, must read the same text: nothing may move the cursor, reorder or hide.
const HIDDEN =
  /[^\P{Cc}\n]|[\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Variation_Selector}\u{115F}\u{1160}\u{3164}\u{FFA0}]/u

function checkPlain(where: string, text: string, refuse: Refuse): void {
  const found = HIDDEN.exec(text)
  if (found === null) return
  const mark = `U+${(found[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
  refuse('plain_text', `${where} holds the character ${mark}, which a reader would not see`)
}

function isSnakeCase(name: unknown): name is string {
  return typeof name === 'string' && name.length <= NAME_LENGTH && /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name)
}

function isShape(shape: unknown): shape is z.ZodRawShape {
  return (
    isRecord(shape) &&
    !(shape instanceof z.ZodType) &&
    Object.values(shape).every(part => part instanceof z.ZodType)
  )
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const among = (words: readonly string[], word: unknown): boolean => words.some(one => one === word)
