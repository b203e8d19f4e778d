import type { z } from 'zod'
import type { Ability, CallId, EvalEvent, Kernel, Question, Suspension } from '../wire/kernel.ts'
import type { Signal } from '../wire/signal.ts'
import { checkDefinition } from './invariants.ts'
import { journalledBy } from './journalled.ts'
import type { Outcome } from './outcome.ts'
import type { PlanContext, Planned, Preview, ProjectFiles } from './proposal.ts'
import { type Level, type Profile, stricter } from './words.ts'

export type {
  Choice,
  Committed,
  Evidence,
  FileChange,
  Hunk,
  Hunks,
  PlanContext,
  Planned,
  Preview,
  ProjectFiles,
  Proposal,
  SeenFile,
} from './proposal.ts'
export {
  DefinitionError,
  INVARIANTS,
  type Invariant,
  LEVELS,
  type Level,
  PROFILES,
  type Profile,
  RESERVED,
  stricter,
} from './words.ts'

/**
 * Checks a definition and makes a tool of it. The definition is data and one handler; schemas, listings, usage
 * and documentation all come from it. Throws `DefinitionError`, naming the invariant that is broken.
 */
export function defineTool<const Shape extends z.ZodRawShape, const Needs extends readonly Ability[]>(
  definition: ToolDefinition<Shape, Needs>,
): Tool {
  const parameters = checkDefinition({
    aliases: undefined,
    level: undefined,
    parameterAliases: undefined,
    paths: undefined,
    plan: undefined,
    handler: undefined,
    ...definition,
  })
  const { name, level = 'dangerous', raise, preview, plan, show, finalizeDocumentation } = definition
  const { withoutKernel, handler } = definition
  const typed: readonly string[] = definition.typed ?? []
  const parameterAliases: Readonly<Record<string, string>> = definition.parameterAliases ?? {}
  type Checked = z.output<z.ZodObject<Shape>>
  type Context = Parameters<NonNullable<typeof definition.handler>>[1]
  const shown = (args: Arguments) => preview?.(args as Checked) ?? { title: name, body: indented(args) }
  const journalled = journalledBy(parameters.shape, typed)

  return Object.freeze({
    name,
    aliases: Object.freeze([...(definition.aliases ?? [])]),
    description: definition.description,
    parameters,
    level,
    profile: definition.profile,
    categories: Object.freeze([...definition.categories]),
    needs: Object.freeze([...definition.needs]),
    onlyLiving: definition.onlyLiving ?? false,
    examples: Object.freeze([...definition.examples]),
    parameterAliases: Object.freeze({ ...parameterAliases }),
    typed: Object.freeze([...typed]),
    renamed: args => renamed(args, parameterAliases),
    journalled: args => journalled(renamed(args, parameterAliases)),
    raise: args => stricter(level, raise?.(args as Checked) ?? level),
    preview: shown,
    paths: Object.freeze((definition.paths ?? []).map(pathOf)),
    namesFiles: (definition.paths ?? []).length > 0 || plan !== undefined,
    plan: async (args, context) =>
      plan?.(args as Checked, context) ?? {
        type: 'proposal' as const,
        preview: shown(args),
        evidence: [],
        changes: [],
      },
    code: [handler, plan, raise, preview, withoutKernel].map(String).join('\n'),
    withoutKernel: async (args, context) => withoutKernel?.(args as Checked, context),
    handler: async (args, context) => {
      if (handler === undefined) throw new Error(`${name} does nothing but what it plans`)
      return handler(args as Checked, context as Context)
    },
    show: result => show?.(result) ?? indented(result),
    finalizeDocumentation: (documentation, facts) =>
      finalizeDocumentation?.(documentation, facts) ?? documentation,
  } satisfies Tool)
}

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

type Arguments = Readonly<Record<string, unknown>>

const indented = (value: unknown): string => JSON.stringify(value, null, 2) ?? 'null'

/** What any handler is given. */
export interface ToolContext {
  readonly call: CallId
  /** Who calls, as an image's history names them. */
  readonly who: string
  /** The level at which this run was let through the gate. A handler never does more than it allows. */
  readonly level: Level
  /** Aborts when the caller cancels. */
  readonly signal: Signal
  /** How long a look may take, in milliseconds. */
  readonly lookMs: number
  readonly jobs: Jobs
  readonly texts: Texts
  /** A path as the caller means it: a relative one is one in the caller's project. Always absolute. */
  pathOf(path: string): string
  readonly files: ProjectFiles
}

/** What the handler of a tool with `needs` is given besides: an image that has those abilities. */
export interface KernelContext extends ToolContext {
  readonly kernel: Kernel
  readonly kernelName: string
  /** The other kernels that live in the project, and that this tool may look into, for what this one does not have. */
  others(): readonly OtherKernel[]
  /** Where news of an evaluation goes; it keeps the output, and shows it to whoever watches. */
  readonly output: OutputLog
  /** The evaluations of this kernel that are suspended. */
  readonly leases: Leases
  /** Puts a question of the running code to the caller; rejects where nobody can answer. */
  ask(question: Question): Promise<string>
  /** Whether somebody waits for the call who could answer. */
  readonly canAsk: boolean
}

/** A kernel that a call is not for. */
export interface OtherKernel {
  readonly name: string
  readonly kernel: Pick<Kernel, 'look'>
}

/** Who may have the suspended evaluations of one kernel go on, and have code run in them. Anybody may look at them. */
export interface Leases {
  /** How long errors keep the evaluations of this caller, in ms; null where it is shown no tool to go on with. */
  readonly leaseMs: number | null
  /** An evaluation of this caller was suspended: it is the caller's from now on. */
  hold(suspension: Suspension): void
  holderOf(id: string): Holder
}

export type Holder =
  | { readonly type: 'you' }
  /** It was put before whoever comes first, or nobody here knows whose it is. */
  | { readonly type: 'anyone' }
  /** Another caller; `person`: somebody who sits has taken it over. */
  | { readonly type: 'other'; readonly who: string; readonly person: boolean }

/** The output of one call, bounded, in order. */
export interface OutputLog {
  add(event: EvalEvent): void
  soFar(): OutputSoFar
}

export interface OutputSoFar {
  readonly stdout: string
  readonly stderr: string
  /** Both streams, in the order in which they were written. */
  readonly output: string
  readonly truncated: boolean
  /** Characters that came too fast, or were too many, to be kept. */
  readonly dropped: number
  /** Leads to the whole of `output`, where it was cut. */
  readonly handle?: string
}

/** Calls that outlived the patience of their caller, by name. */
export interface Jobs {
  find(name: string): Job | undefined
  names(): readonly string[]
}

export interface Job {
  readonly name: string
  readonly call: CallId
  readonly tool: string
  /** Null, as the kernel is, for a tool that works without one. */
  readonly kernelName: string | null
  readonly kernel: Kernel | null
  /** Milliseconds since it was dispatched or put before a person, or that it took. */
  readonly elapsedMs: number
  /** Absent while it runs. */
  readonly outcome: Outcome | undefined
  /** Set while a person is asked, before anything of it has run. */
  readonly asking: Asking | undefined
  readonly output: OutputLog
  /** Resolves when it ends, when the time is over, or when `signal` aborts; never rejects. */
  wait(options: { readonly ms: number; readonly signal: Signal }): Promise<void>
}

/** A plan that waits for a person. */
export interface Asking {
  readonly plan: string
  /** For how long by now, in milliseconds. */
  readonly waitedMs: number
  /** Gives up: the job ends as `withdrawn`, unless it was let through in the same moment. */
  withdraw(): void
}

/** Long texts that the daemon keeps, by handle. */
export interface Texts {
  owns(handle: string): boolean
  /** Whether there was ever a text of that handle, kept or not. */
  issued(handle: string): boolean
  /** `undefined` where there is none, or it has made room for newer ones. */
  read(part: { readonly handle: string; readonly from: number; readonly count: number }): TextPart | undefined
}

export interface TextPart {
  readonly text: string
  readonly total: number
  readonly next: number | null
}

/** A parameter that names a file. */
export interface NamedPath<Name extends string = string> {
  readonly name: Name
  /** Whether it is refused where it leads out of the roots of the project. */
  readonly confined: boolean
  /** For a list of objects: the key under which each of them names its file. */
  readonly each?: string
}

/** One call as data: for documentation, for tests, and for every text syntax. */
export interface Example<Arguments> {
  readonly args: Arguments
  /** What the example shows, as a clause that begins in lower case. */
  readonly shows: string
}

/** The words in which a tool is defined. `Shape` is a zod shape; each entry carries its own description. */
export interface ToolDefinition<Shape extends z.ZodRawShape, Needs extends readonly Ability[]> {
  /** Unique, in snake_case, as models write function names. */
  readonly name: string
  /** Older names: accepted, never listed. */
  readonly aliases?: readonly string[]
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
  /** It is about what is in a kernel that lives: where none does, none is started for it, and the answer says so. */
  readonly onlyLiving?: true
  readonly examples: readonly Example<z.input<z.ZodObject<Shape>>>[]
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
  plan?(args: z.output<z.ZodObject<Shape>>, context: PlanContext): Promise<Planned>
  /**
   * Asked before a kernel is found or started for the call. An outcome is the answer, and `undefined` means that
   * a kernel is needed: a text kept by the daemon can be read after the kernel that printed it is gone.
   */
  withoutKernel?(
    args: z.output<z.ZodObject<Shape>>,
    context: ToolContext,
  ): Outcome | undefined | Promise<Outcome | undefined>
  /**
   * Left out by a tool with a `plan` that changes files. Must not throw for what a model can act on; a throw is reported
   * as a fault of the tool.
   */
  handler?(
    args: z.output<z.ZodObject<Shape>>,
    context: Needs extends readonly [] ? ToolContext : KernelContext,
  ): Outcome | Promise<Outcome>
  /** A result as text, as a model is best shown it. Left out: as indented data. */
  show?(result: unknown): string
  /** Parameters that hold what somebody is just typing and has not sent: the journal keeps only how long they are. */
  readonly typed?: readonly (keyof Shape & string)[]
  /** Fills placeholders in generated documentation. */
  finalizeDocumentation?(documentation: string, facts: Readonly<Record<string, string>>): string
}

/** A finished tool: the definition with its types erased, and its invariants checked. */
export interface Tool {
  readonly name: string
  readonly aliases: readonly string[]
  readonly description: string
  /** Strict: unknown keys are refused. Without the reserved arguments, which the registry adds. */
  readonly parameters: z.ZodObject
  readonly level: Level
  readonly profile: Profile
  readonly categories: readonly string[]
  readonly needs: readonly Ability[]
  /** No kernel is started for it. */
  readonly onlyLiving: boolean
  readonly examples: readonly Example<Readonly<Record<string, unknown>>>[]
  raise(args: Readonly<Record<string, unknown>>): Level
  preview(args: Readonly<Record<string, unknown>>): Preview
  readonly paths: readonly NamedPath[]
  /** Whether rules about paths can speak about it: its arguments name files, or its plan may change some. */
  readonly namesFiles: boolean
  /** Without a plan of its own: the preview, with no evidence and no changes. */
  plan(args: Readonly<Record<string, unknown>>, context: PlanContext): Promise<Planned>
  /**
   * The text of the functions that decide and act, for the hash that a plan binds: `handler`, `plan`, `raise`, `preview`
   * and `withoutKernel`. What they call, and what they close over, is not in it.
   */
  readonly code: string
  readonly parameterAliases: Readonly<Record<string, string>>
  readonly typed: readonly string[]
  /** The arguments by the names that the parameters have. */
  renamed(args: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>
  /** The arguments as the journal keeps them: without those that say what would stand if they were left out. */
  journalled(args: Readonly<Record<string, unknown>>): unknown
  withoutKernel(args: Readonly<Record<string, unknown>>, context: ToolContext): Promise<Outcome | undefined>
  handler(args: Readonly<Record<string, unknown>>, context: ToolContext): Promise<Outcome>
  show(result: unknown): string
  finalizeDocumentation(documentation: string, facts: Readonly<Record<string, string>>): string
}
