import { z } from 'zod'
import { INVISIBLE } from '../wire/invisible.ts'
import { ABILITIES, type Ability, type Of } from '../wire/kernel.ts'
import {
  type KernelContext,
  LEVELS,
  type Level,
  type PlanContext,
  type Planned,
  PROFILES,
  type Preview,
  type Profile,
  stricter,
  type ToolContext,
} from './contract.ts'
import type { Envelope, Outcome } from './outcome.ts'
import { USUAL_NAMES, usualAliases } from './parameters.ts'
import { isRecord } from './record.ts'

/** Arguments that the registry adds to every tool which works on a kernel. No tool may define them itself. */
const RESERVED = ['kernel', 'patience'] as const

/** The invariants of a definition: those of the tool protocol contract, and that no text hides anything from its reader. */
export const INVARIANTS = {
  name: 'The name is in snake_case: lower-case letters, digits and single underscores, at most 64.',
  aliases:
    'Aliases are words, differ from the name and from each other; those of parameters stand for one of them.',
  presets:
    'What an older name presets are values of parameters, other than what stands without it, and no call fits two such names.',
  description: 'The description is fixed text, not empty, at most 2,000 characters.',
  plain_text: 'No text that a model reads holds control, bidirectional or zero-width characters.',
  parameters: 'Parameters are a zod shape, named in snake_case, that JSON Schema can express.',
  described: 'Every parameter says what it is, at any depth, in at most 1,000 characters.',
  closed: 'Objects inside parameters refuse unknown keys, and no parameter accepts just anything.',
  reserved: 'No parameter has a name that the registry itself adds.',
  level: 'The level is safe, cautious or dangerous; left out, it is dangerous.',
  profile: 'The profile is core, live, full or desk.',
  categories: 'There is at least one category, in snake_case.',
  needs: 'What a tool needs of a kernel is a list of abilities of the Kernel contract.',
  examples: 'Examples fit the parameters, and each says what it shows.',
  paths: 'What names a file is a parameter that is a text, so that its real path can be judged.',
  multiline: 'What has several lines is a parameter that is a text, named once.',
  plan: 'A safe tool works out no plan: it changes nothing that a person could be asked about.',
  result: 'The result is a zod type.',
  handler: 'The handler is a function; a tool that does nothing but what it plans has none.',
  unique: 'No two tools of a registry share a name or an alias.',
} as const

type Invariant = keyof typeof INVARIANTS

/** A definition that breaks an invariant of the tool protocol contract; `invariant` names which. */
export class DefinitionError extends Error {
  override readonly name = 'DefinitionError'
  readonly invariant: Invariant

  constructor(tool: string, invariant: Invariant, message: string) {
    super(`${tool}: ${message}`)
    this.invariant = invariant
  }
}

type Arguments = Readonly<Record<string, unknown>>

/**
 * A tool's checked arguments as the journal keeps them: without those that say what would stand if they were left out,
 * and of what a person was only just typing (`typed`) the length alone.
 */
function journalledBy(shape: z.ZodRawShape, typed: readonly string[]): (args: Arguments) => Arguments {
  const defaults = defaultsOf(shape)
  const isSaid = (name: string, value: unknown) => {
    const standing = defaults.get(name)
    return standing === undefined || JSON.stringify(value) !== standing
  }
  const kept = (name: string, value: unknown) =>
    typeof value === 'string' && typed.includes(name) ? `(${value.length} characters)` : value
  return args => {
    const said: Record<string, unknown> = {}
    for (const name of Object.keys(args)) if (isSaid(name, args[name])) said[name] = kept(name, args[name])
    return said
  }
}

/** What stands for each parameter that is left out, as JSON. */
function defaultsOf(shape: z.ZodRawShape): ReadonlyMap<string, string> {
  const known = new Map<string, string>()
  for (const [name, schema] of Object.entries(shape)) {
    const standing = z.safeParse(schema, undefined)
    if (standing.success && standing.data !== undefined) known.set(name, JSON.stringify(standing.data))
  }
  return known
}

/**
 * Checks a definition and makes a tool of it. The definition is data and one handler; schemas, listings, usage
 * and documentation all come from it. Throws `DefinitionError`, naming the invariant that is broken.
 */
export function defineTool<
  const Shape extends z.ZodRawShape,
  const Needs extends readonly Ability[],
  Result extends z.ZodType,
>(definition: ToolDefinition<Shape, Needs, Result>): Tool {
  // A check of all tools takes a third of the time in which a command or a daemon starts.
  if (typeof IS_BUILT === 'undefined') checkDefinition(definition)
  const parameters = z.strictObject(definition.parameters)
  const { name, level = 'dangerous', raise, preview, plan, show, finalizeDocumentation } = definition
  const { withoutKernel, withNoneLiving, handler } = definition
  const typed: readonly string[] = definition.typed ?? []
  const multiline: readonly string[] = definition.multiline ?? []
  const parameterAliases: Readonly<Record<string, string>> = {
    ...usualAliases(parameters.shape),
    ...definition.parameterAliases,
  }
  const presets: Readonly<Record<string, Preset>> = definition.presets ?? {}
  type Checked = z.output<z.ZodObject<Shape>>
  type Context = Parameters<NonNullable<typeof definition.handler>>[1]
  const shown = (args: Arguments) => preview?.(args as Checked) ?? { title: name, body: indented(args) }
  const journalled = journalledBy(parameters.shape, typed)
  const paths = (definition.paths ?? []).map(pathOf)
  const named = (args: Arguments) => paths.reduce(spread, renamed(args, parameterAliases))

  return Object.freeze({
    name,
    aliases: Object.freeze([...(definition.aliases ?? []), ...Object.keys(presets)]),
    presets: Object.freeze({ ...presets }),
    judgedAs: args => Object.keys(presets).find(alias => fits(args, presets[alias] ?? {})) ?? name,
    description: definition.description,
    parameters,
    level,
    profile: definition.profile,
    categories: Object.freeze([...definition.categories]),
    needs: Object.freeze([...definition.needs]),
    attaches: definition.attaches,
    starts: definition.starts ?? false,
    result: definition.result,
    forHost: definition.forHost,
    examples: Object.freeze([...definition.examples]),
    parameterAliases: Object.freeze({ ...parameterAliases }),
    typed: Object.freeze([...typed]),
    multiline: Object.freeze([...multiline]),
    renamed: named,
    journalled: args => journalled(named(args)),
    raise: args => stricter(level, raise?.(args as Checked) ?? level),
    preview: shown,
    paths: Object.freeze(paths),
    namesFiles: (definition.paths ?? []).length > 0 || plan !== undefined,
    plan: async (args, context) =>
      plan?.(args as Checked, context) ?? {
        type: 'proposal' as const,
        preview: shown(args),
        evidence: [],
        changes: [],
      },
    code: [handler, plan, raise, preview, withoutKernel, withNoneLiving].map(String).join('\n'),
    withoutKernel: async (args, context) => withoutKernel?.(args as Checked, context),
    withNoneLiving: (args, context, kernel) => withNoneLiving?.(args as Checked, context, kernel),
    handler: async (args, context) => {
      if (handler === undefined) throw new Error(`${name} does nothing but what it plans`)
      return handler(args as Checked, context as Context)
    },
    show: result => show?.(result as Of<Result>) ?? indented(result),
    finalizeDocumentation: (documentation, facts) =>
      finalizeDocumentation?.(documentation, facts) ?? documentation,
  } satisfies Tool)
}

/** What an older name says of the arguments, by parameter. */
type Preset = Readonly<Record<string, string | number | boolean>>

const fits = (args: Arguments, preset: Preset): boolean =>
  Object.keys(preset).every(name => args[name] === preset[name])

/** A parameter by its name alone is confined. */
const pathOf = (path: string | NamedPath): NamedPath =>
  Object.freeze(typeof path === 'string' ? { name: path, confined: true } : { ...path })

/** An alias beside what it stands for stays, and is refused as any name that is not known. */
function renamed(args: Arguments, aliases: Readonly<Record<string, string>>): Arguments {
  if (!Object.keys(aliases).some(alias => Object.hasOwn(args, alias))) return args
  const stands = (name: string) => (Object.hasOwn(aliases, name) ? aliases[name] : undefined)
  const names = Object.keys(args).map(name => stands(name) ?? name)
  if (new Set(names).size !== names.length) return args
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [stands(name) ?? name, value]))
}

/** A file that is named once, beside a list of objects, is that of each of them which names none. */
function spread(args: Arguments, { name, each }: NamedPath): Arguments {
  if (each === undefined) return args
  const word = [each, ...(USUAL_NAMES[each] ?? [])].find(word => typeof args[word] === 'string') ?? each
  const { [word]: path, [name]: list, ...rest } = args
  if (typeof path !== 'string' || !Array.isArray(list)) return args
  return { ...rest, [name]: list.map(one => (isRecord(one) ? { [each]: path, ...one } : one)) }
}

const indented = (value: unknown): string => JSON.stringify(value, null, 2) ?? 'null'

/** A parameter that names a file. */
export interface NamedPath<Name extends string = string> {
  readonly name: Name
  /** Whether it is refused where it leads out of the roots of the project. */
  readonly confined: boolean
  /** For a list of objects: the key under which each of them names its file. */
  readonly each?: string
}

/** One call as data: for documentation, for tests, and for every text syntax. */
interface Example<Arguments> {
  readonly args: Arguments
  /** What the example shows, as a clause that begins in lower case. */
  readonly shows: string
}

/** The words in which a tool is defined. `Shape` is a zod shape; each entry carries its own description. */
interface ToolDefinition<
  Shape extends z.ZodRawShape,
  Needs extends readonly Ability[],
  Result extends z.ZodType = z.ZodType,
> {
  /** Unique, in snake_case, as models write function names. */
  readonly name: string
  /** Older names: accepted, never listed. */
  readonly aliases?: readonly string[]
  /**
   * Older names of what the tool does with certain arguments: `create_file` is `write_file` with `new: true`. Accepted,
   * never listed. A rule about such a name is about the calls with those arguments, whatever name they were made by.
   */
  readonly presets?: Readonly<Record<string, Preset>>
  /** Written for a model: what it is for, when to use it, and what to use instead. */
  readonly description: string
  readonly parameters: Shape
  /** Other names of parameters, as callers may know them from elsewhere: accepted, never listed. */
  readonly parameterAliases?: Readonly<Record<string, keyof Shape & string>>
  /** Left out means dangerous. */
  readonly level?: Level
  /** The smallest profile that shows the tool. */
  readonly profile: Profile
  readonly categories: readonly string[]
  /** What the kernel must be able to do. A tool with an empty list works without a kernel. */
  readonly needs: Needs
  /** The parameter that names a program to attach to: the policy of its project judges the call, too. */
  readonly attaches?: keyof Shape & string
  /** It has code to run, so that an empty image is started where no kernel lives. All others only look into what lives. */
  readonly starts?: true
  readonly examples: readonly Example<z.input<z.ZodObject<Shape>>>[]
  /** What it answers with, for programs; what any answer may say besides (`besides`) is not in it. */
  readonly result: Result
  /** The level for these arguments, where it is higher than `level`. It cannot lower it. */
  raise?(args: z.output<z.ZodObject<Shape>>): Level
  preview?(args: z.output<z.ZodObject<Shape>>): Preview
  /**
   * Parameters that name a file that is looked at, run or changed: the gate judges them by their real paths. A name
   * alone is also confined to the roots of the project, by the daemon, whose files it then reads and writes; with
   * `confined: false` it may lead anywhere, for what the image itself opens.
   */
  readonly paths?: readonly ((keyof Shape & string) | NamedPath<keyof Shape & string>)[]
  /**
   * Works a call out to the last byte, once, before anybody is asked about it. Left out: what is approved is the preview
   * of the arguments. A failure is the answer, and nobody is asked; so is a result, where there is nothing to do. What
   * it changes in files is carried out by the daemon, and the tool then has no handler.
   */
  plan?(args: z.output<z.ZodObject<Shape>>, context: PlanContext): Promise<Planned<Of<Result>>>
  /**
   * Asked before a kernel is found or started for the call. An outcome is the answer, and `undefined` means that
   * a kernel is needed: a text kept by the daemon can be read after the kernel that printed it is gone.
   */
  withoutKernel?(
    args: z.output<z.ZodObject<Shape>>,
    context: ToolContext,
  ): Outcome<Of<Result>> | undefined | Promise<Outcome<Of<Result>> | undefined>
  /**
   * Asked where no kernel lives that the call could be for; `kernel` is the one that it named. An outcome is the answer
   * then; for `undefined` it is that none lives.
   */
  withNoneLiving?(
    args: z.output<z.ZodObject<Shape>>,
    context: ToolContext,
    kernel: string | undefined,
  ): Outcome<Of<Result>> | undefined
  /**
   * Left out by a tool with a `plan` that changes files. Must not throw for what a model can act on; a throw is reported
   * as a fault of the tool.
   */
  handler?(
    args: z.output<z.ZodObject<Shape>>,
    context: Needs extends readonly [] ? ToolContext : KernelContext,
  ): Outcome<Of<Result>> | Promise<Outcome<Of<Result>>>
  /** A result as text, as a model is best shown it. Left out: as indented data. */
  show?(result: Of<Result>): string
  /**
   * For a tool that the host of a model calls and not the model: what the host reads, as JSON, in place of the result or
   * the error. Such a call is waited for until its end, no dialog of the host is asked about it, and once it has ended
   * well the journal says `allowed`: what the host then does is not seen. `args`: as the host gave them, unchecked.
   */
  forHost?(envelope: Envelope, args: Arguments): unknown
  /** Parameters that hold what somebody is just typing and has not sent: the journal keeps only how long they are. */
  readonly typed?: readonly (keyof Shape & string)[]
  /** Parameters that are texts of several lines, as code is: a text syntax may write them as they are. */
  readonly multiline?: readonly (keyof Shape & string)[]
  /** Fills placeholders in generated documentation. */
  finalizeDocumentation?(documentation: string, facts: Readonly<Record<string, string>>): string
}

/** Fields that a tool has otherwise than its definition has them. */
type Other =
  | 'aliases'
  | 'parameters'
  | 'attaches'
  | 'starts'
  | 'examples'
  | 'paths'
  | 'withoutKernel'
  | 'handler'
  | 'forHost'

/** A finished tool: the definition with its types erased, and its invariants checked. */
export interface Tool extends Required<Omit<ToolDefinition<z.ZodRawShape, readonly Ability[]>, Other>> {
  /** All older names, those with presets too. */
  readonly aliases: readonly string[]
  /** The name that says most about a call with these checked arguments: the older one whose preset they fit, or its own. */
  judgedAs(args: Arguments): string
  /** Strict: unknown keys are refused. Without the reserved arguments, which the registry adds. */
  readonly parameters: z.ZodObject
  readonly attaches: string | undefined
  readonly starts: boolean
  readonly forHost: ((envelope: Envelope, args: Arguments) => unknown) | undefined
  readonly examples: readonly Example<Arguments>[]
  readonly paths: readonly NamedPath[]
  /** Whether rules about paths can speak about it: its arguments name files, or its plan may change some. */
  readonly namesFiles: boolean
  /**
   * The text of the functions that decide and act, for the hash that a plan binds: `handler`, `plan`, `raise`, `preview`,
   * `withoutKernel` and `withNoneLiving`. What they call, and what they close over, is not in it.
   */
  readonly code: string
  /** The arguments by the names that the parameters have. */
  renamed(args: Arguments): Arguments
  /** The arguments as the journal keeps them: without those that say what would stand if they were left out. */
  journalled(args: Arguments): unknown
  withoutKernel(args: Arguments, context: ToolContext): Promise<Outcome | undefined>
  handler(args: Arguments, context: ToolContext): Promise<Outcome>
}

const NAME_LENGTH = 64

const DESCRIPTION_LENGTH = 2_000

const PARAMETER_DESCRIPTION_LENGTH = 1_000

/** A definition as an author without a type checker might write it. */
type UncheckedDefinition = {
  readonly [Field in keyof ToolDefinition<z.ZodRawShape, readonly Ability[]>]?: unknown
}

/** Defined in a file that `bundle.mjs` makes. Its tools are ours, and were checked where the tests ran them from source. */
declare const IS_BUILT: boolean | undefined

/** Throws `DefinitionError` for a definition that does not keep every invariant. */
function checkDefinition(definition: UncheckedDefinition): void {
  const refuse = refuser(definition.name)
  checkNames(definition, refuse)
  checkText('description', definition.description, DESCRIPTION_LENGTH, refuse)
  checkWords(definition, refuse)
  const plansAll = definition.handler === undefined && typeof definition.plan === 'function'
  if (!(definition.result instanceof z.ZodType)) refuse('result', 'result is not a zod type')
  if (!plansAll && typeof definition.handler !== 'function') refuse('handler', 'handler is not a function')
  const parameters = checkParameters(definition.parameters, refuse)
  checkParameterAliases(definition, parameters, refuse)
  checkPresets(definition, parameters, refuse)
  checkPaths(definition.paths, parameters, refuse)
  checkMultiline(definition.multiline, parameters, refuse)
  checkPlan(definition, refuse)
  checkExamples(definition.examples, parameters, refuse)
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
  if (!Array.isArray(aliases) || !aliases.every(isWord)) refuse('aliases', 'an alias is no word')
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

function checkParameterAliases(
  { parameterAliases: aliases, needs }: UncheckedDefinition,
  { shape }: z.ZodObject,
  refuse: Refuse,
): void {
  if (aliases === undefined) return
  const takesReserved = !Array.isArray(needs) || needs.length > 0
  if (!isRecord(aliases)) refuse('aliases', 'parameterAliases is not an object')
  for (const [alias, name] of Object.entries(aliases)) {
    if (!/^[A-Za-z]\w{0,63}$/.test(alias))
      refuse('aliases', `${JSON.stringify(alias)} is no name of a parameter`)
    if (Object.hasOwn(shape, alias) || (takesReserved && among(RESERVED, alias)))
      refuse('aliases', `${alias} is a parameter itself`)
    if (typeof name !== 'string' || !Object.hasOwn(shape, name))
      refuse('aliases', `${alias} stands for no parameter`)
  }
}

function checkPresets(definition: UncheckedDefinition, { shape }: z.ZodObject, refuse: Refuse): void {
  const { name, aliases = [], presets } = definition
  if (presets === undefined) return
  if (!isRecord(presets)) refuse('presets', 'presets is not an object')
  const older = Object.keys(presets)
  checkNames({ ...definition, aliases: [...(Array.isArray(aliases) ? aliases : []), ...older] }, refuse)
  const defaults = defaultsOf(shape)
  for (const [alias, preset] of Object.entries(presets)) {
    if (!isRecord(preset)) refuse('presets', `${alias} is not an object of parameters`)
    for (const [parameter, value] of Object.entries(preset)) {
      const schema = Object.hasOwn(shape, parameter) ? shape[parameter] : undefined
      if (schema === undefined || !z.safeParse(schema, value).success)
        refuse('presets', `${alias} presets ${parameter} to what it cannot be`)
    }
    const says = Object.entries(preset).some(([one, value]) => defaults.get(one) !== JSON.stringify(value))
    if (!says) refuse('presets', `${alias} presets nothing, so that it is an alias of ${String(name)}`)
    const other = older.find(one => one !== alias && agree(preset, presets[one]))
    if (other !== undefined) refuse('presets', `a call could fit both ${alias} and ${other}`)
  }
}

/** Whether one call can fit both. */
const agree = (preset: Readonly<Record<string, unknown>>, other: unknown): boolean =>
  !isRecord(other) || Object.keys(preset).every(name => !(name in other) || other[name] === preset[name])

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

function checkMultiline(names: unknown, parameters: z.ZodObject, refuse: Refuse): void {
  if (names === undefined) return
  if (!Array.isArray(names) || new Set(names).size !== names.length)
    refuse('multiline', 'multiline is not a list of different parameters')
  const { properties } = z.toJSONSchema(parameters, { io: 'input' })
  for (const name of names.map(String))
    if (ownPart(properties, name)?.type !== 'string')
      refuse('multiline', `${name} is no parameter that is a text`)
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
const HIDDEN = new RegExp(`\t|${INVISIBLE}`, 'u')

function checkPlain(where: string, text: string, refuse: Refuse): void {
  const found = HIDDEN.exec(text)
  if (found === null) return
  const mark = `U+${(found[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
  refuse('plain_text', `${where} holds the character ${mark}, which a reader would not see`)
}

function isSnakeCase(name: unknown): name is string {
  return typeof name === 'string' && name.length <= NAME_LENGTH && /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name)
}

/** Others spell their names as they like. */
function isWord(name: unknown): name is string {
  return typeof name === 'string' && name.length <= NAME_LENGTH && /^[A-Za-z][A-Za-z0-9_]*$/.test(name)
}

function isShape(shape: unknown): shape is z.ZodRawShape {
  return (
    isRecord(shape) &&
    !(shape instanceof z.ZodType) &&
    Object.values(shape).every(part => part instanceof z.ZodType)
  )
}

const among = (words: readonly string[], word: unknown): boolean => words.some(one => one === word)
