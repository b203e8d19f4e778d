import { resolve } from 'node:path'
import type {
  Jobs,
  KernelContext,
  Leases as CallLeases,
  Level,
  OtherKernel,
  OutputLog,
  ProjectFiles,
  Texts,
  ToolContext,
} from '../../tools/contract.ts'
import type { CallId, Kernel, Question } from '../../wire/kernel.ts'
import type { Signal } from '../../wire/signal.ts'
import type { Caller } from './contract.ts'

/** A kernel, and the name under which it is known. */
export interface Place {
  readonly name: string
  readonly kernel: Kernel
  /** How the image before was lost, if this one was started for this call in its place. */
  readonly replaces?: string
}

/** The call that a handler runs for. */
interface Calling {
  readonly call: CallId
  readonly caller: Pick<Caller, 'who' | 'root'>
  readonly signal: Signal
  readonly canAsk: boolean
  ask(question: Question): Promise<string>
}

interface Given {
  readonly run: Calling
  readonly level: Level
  readonly options: {
    readonly jobs: Jobs
    readonly texts: Texts
    readonly lookMs: number
  }
  /** The files of the caller's project, as far as the policy lets the call see them. */
  files(): ProjectFiles
}

/** What a handler is given. */
export class Context implements ToolContext {
  readonly call: CallId
  readonly who: string
  readonly level: Level
  readonly lookMs: number
  readonly jobs: Jobs
  readonly texts: Texts
  readonly pathOf: (path: string) => string
  readonly signal: Signal
  readonly #filesOf: () => ProjectFiles
  #files: ProjectFiles | undefined

  constructor({ run, level, options, files }: Given) {
    this.call = run.call
    this.who = run.caller.who
    this.level = level
    this.lookMs = options.lookMs
    this.jobs = options.jobs
    this.texts = options.texts
    this.pathOf = path => resolve(run.caller.root, path)
    this.signal = run.signal
    this.#filesOf = files
  }

  get files(): ProjectFiles {
    this.#files ??= this.#filesOf()
    return this.#files
  }
}

interface OnKernel {
  readonly place: Place
  /** The image was given the call before: it is asked what became of it, and begins nothing. */
  readonly again: boolean
  output(): OutputLog
  leases(): CallLeases
  others(): readonly OtherKernel[]
}

/** The same on a kernel, whose output is kept from when it is first asked for. */
export class ContextOnKernel extends Context implements KernelContext {
  readonly kernel: Kernel
  readonly kernelName: string
  readonly again: boolean
  readonly ask: (question: Question) => Promise<string>
  readonly others: () => readonly OtherKernel[]
  readonly #calling: Calling
  readonly #output: () => OutputLog
  readonly #leasesOf: () => CallLeases
  #leases: CallLeases | undefined

  constructor(given: Given & OnKernel) {
    super(given)
    this.kernel = given.place.kernel
    this.kernelName = given.place.name
    this.again = given.again
    this.ask = question => given.run.ask(question)
    this.#calling = given.run
    this.#output = given.output
    this.others = given.others
    this.#leasesOf = given.leases
  }

  get leases(): CallLeases {
    this.#leases ??= this.#leasesOf()
    return this.#leases
  }

  get canAsk(): boolean {
    return this.#calling.canAsk
  }

  get output(): OutputLog {
    return this.#output()
  }
}
