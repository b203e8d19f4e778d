import type { z } from 'zod'
import type { Ability, CallId, EvalEvent, Kernel, Question } from '../wire/kernel.ts'
import type { Outcome } from './outcome.ts'

/** What a call can do, never how it is meant (design section 3). */
export const LEVELS = ['safe', 'cautious', 'dangerous'] as const
export type Level = (typeof LEVELS)[number]

/** The named sets of tools; each contains the ones before it. */
export const PROFILES = ['core', 'live', 'full'] as const
export type Profile = (typeof PROFILES)[number]

/** Arguments that the registry adds to every tool which works on a kernel. No tool may define them itself. */
export const RESERVED = ['kernel', 'patience'] as const

/** What any handler is given. */
export interface ToolContext {
  readonly call: CallId
  /** The level at which this run was let through the gate. A handler never does more than it allows. */
  readonly level: Level
  /** Aborts when the caller cancels. */
  readonly signal: AbortSignal
  /** How long a look may take, in milliseconds. */
  readonly lookMs: number
  readonly jobs: Jobs
  readonly texts: Texts
}

/** What the handler of a tool with `needs` is given besides: an image that has those abilities. */
export interface KernelContext extends ToolContext {
  readonly kernel: Kernel
  readonly kernelName: string
  /** Where news of an evaluation goes; it keeps the output, and shows it to whoever watches. */
  readonly output: OutputLog
  /** Puts a question of the running code to the caller; rejects where nobody can answer. */
  ask(question: Question): Promise<string>
}

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
  readonly kernelName: string
  readonly kernel: Kernel
  /** Milliseconds since it was dispatched, or that it took. */
  readonly elapsedMs: number
  /** Absent while it runs. */
  readonly outcome: Outcome | undefined
  readonly paused: { readonly condition: string; readonly restarts: readonly string[] } | undefined
  readonly output: OutputLog
  /** Resolves when it ends, when the time is over, or when `signal` aborts; never rejects. */
  wait(options: { readonly ms: number; readonly signal: AbortSignal }): Promise<void>
}

/** Long texts that the daemon keeps, by handle. */
export interface Texts {
  owns(handle: string): boolean
  /** `undefined` once the text has made room for newer ones. */
  read(part: { readonly handle: string; readonly from: number; readonly count: number }): TextPart | undefined
}

export interface TextPart {
  readonly text: string
  readonly total: number
  readonly next: number | null
}

/** What a person is shown before a call that needs approval: the thing itself, never a summary of it. */
export interface Preview {
  readonly title: string
  readonly body: string
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
  /** Left out means dangerous. */
  readonly level?: Level
  /** The smallest profile that shows the tool. */
  readonly profile: Profile
  readonly categories: readonly string[]
  /** What the kernel must be able to do. A tool with an empty list works without a kernel. */
  readonly needs: Needs
  readonly examples: readonly Example<z.input<z.ZodObject<Shape>>>[]
  /** The level for these arguments, where it is higher than `level`. It cannot lower it. */
  raise?(args: z.output<z.ZodObject<Shape>>): Level
  preview?(args: z.output<z.ZodObject<Shape>>): Preview
  /** Must not throw for what a model can act on; a throw is reported as a fault of the tool. */
  handler(
    args: z.output<z.ZodObject<Shape>>,
    context: Needs extends readonly [] ? ToolContext : KernelContext,
  ): Outcome | Promise<Outcome>
  /** A result as text, as a model is best shown it. Left out: as indented data. */
  show?(result: unknown): string
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
  readonly examples: readonly Example<Readonly<Record<string, unknown>>>[]
  raise(args: Readonly<Record<string, unknown>>): Level
  preview(args: Readonly<Record<string, unknown>>): Preview
  handler(args: Readonly<Record<string, unknown>>, context: ToolContext): Promise<Outcome>
  show(result: unknown): string
  finalizeDocumentation(documentation: string, facts: Readonly<Record<string, string>>): string
}

/** A definition that breaks an invariant of the tool protocol contract (seed 3); `invariant` names which. */
export class DefinitionError extends Error {
  override readonly name = 'DefinitionError'
  readonly invariant: string

  constructor(tool: string, invariant: string, message: string) {
    super(`${tool}: ${message}`)
    this.invariant = invariant
  }
}
