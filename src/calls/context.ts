import { resolve } from 'node:path'
import type {
  CallerKernels,
  Leases as CallLeases,
  Jobs,
  KernelContext,
  Level,
  OpenBuffer,
  OtherKernel,
  OutputLog,
  PastErrors,
  ProjectFiles,
  Sources,
  Texts,
  ToolContext,
} from '../../tools/contract.ts'
import type { CallId, Kernel, Question } from '../../wire/kernel.ts'
import type { Signal } from '../../wire/signal.ts'
import type { ResolvedKernel } from '../kernels/wanted.ts'
import type { TextStore } from '../text/texts.ts'
import { type Addressed, callerKernels, pastErrorsFor } from './caller-kernels.ts'
import type { JobBook } from './jobs.ts'

/** What editors have open. */
export interface OpenBuffers {
  /** Of the real path, in an editor of the project at `root`. Never rejects. */
  at(path: string, root: string): Promise<OpenBuffer | undefined>
}

/** The call, as far as its handler may know it. */
interface CallOfHandler extends Addressed {
  readonly call: CallId
  readonly texts: TextStore
  readonly signal: Signal
  readonly canAsk: boolean
  readonly options: Addressed['options'] & {
    readonly lookMs: number
    readonly jobs: JobBook
    readonly sources: Pick<Sources, 'prove'>
    readonly buffers?: OpenBuffers
  }
  ask(question: Question): Promise<string>
}

interface ContextParts {
  readonly run: CallOfHandler
  readonly level: Level
  /** The files of the caller's project, as far as the policy lets the call see them. */
  files(): ProjectFiles
}

/** What a handler is given. */
export class Context implements ToolContext {
  readonly call: CallId
  readonly who: string
  readonly caller: string
  readonly level: Level
  readonly lookMs: number
  readonly jobs: Jobs
  readonly texts: Texts
  readonly sources: Sources
  readonly pathOf: (path: string) => string
  readonly signal: Signal
  readonly buffer: (path: string) => Promise<OpenBuffer | undefined>
  readonly past: () => PastErrors
  readonly #given: ContextParts
  #files: ProjectFiles | undefined

  constructor(given: ContextParts) {
    const { run, level } = given
    const { options } = run
    this.#given = given
    this.call = run.call
    this.who = run.caller.who
    this.caller = run.caller.id
    this.level = level
    this.lookMs = options.lookMs
    this.jobs = options.jobs.of(run.caller)
    this.texts = run.texts
    this.sources = {
      prove: asked => options.sources.prove(asked),
      keep: text => run.texts.keep(text),
    }
    this.pathOf = path => resolve(run.caller.root, path)
    this.buffer = async path => options.buffers?.at(path, run.caller.root)
    this.signal = run.signal
    this.past = () => pastErrorsFor(run)
  }

  get kernels(): CallerKernels {
    return callerKernels(this.#given.run)
  }

  get files(): ProjectFiles {
    this.#files ??= this.#given.files()
    return this.#files
  }
}

interface KernelContextParts {
  readonly place: ResolvedKernel
  /** The image was given the call before: it is asked what became of it, and begins nothing. */
  readonly again: boolean
  output(): OutputLog
  leases(): CallLeases
}

/** The same on a kernel, whose output is kept from when it is first asked for. */
export class ContextOnKernel extends Context implements KernelContext {
  readonly kernel: Kernel
  readonly kernelName: string
  readonly again: boolean
  readonly ask: (question: Question) => Promise<string>
  readonly others: () => readonly OtherKernel[]
  readonly #parts: ContextParts & KernelContextParts
  #leases: CallLeases | undefined

  constructor(given: ContextParts & KernelContextParts) {
    super(given)
    this.#parts = given
    this.kernel = given.place.kernel
    this.kernelName = given.place.name
    this.again = given.again
    this.ask = question => given.run.ask(question)
    const { run, place } = given
    const besides = { name: place.name, root: run.caller.root }
    // As far as the call could have looked into them by their names.
    this.others = () => run.options.kernels.besides(besides).filter(({ name }) => run.mayLook(name))
  }

  get leases(): CallLeases {
    this.#leases ??= this.#parts.leases()
    return this.#leases
  }

  get canAsk(): boolean {
    return this.#parts.run.canAsk
  }

  get output(): OutputLog {
    return this.#parts.output()
  }
}
