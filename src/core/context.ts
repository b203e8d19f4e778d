import { resolve } from 'node:path'
import type {
  Choice,
  Committed,
  Jobs,
  KernelContext,
  Leases,
  Level,
  OtherKernel,
  OutputLog,
  ProjectFiles,
  Texts,
  ToolContext,
} from '../../tools/define.ts'
import type { Failed } from '../../tools/outcome.ts'
import type { CallId, Kernel, Question } from '../../wire/kernel.ts'
import type { Signal } from '../../wire/signal.ts'
import type { Flight } from './flight.ts'

/** A kernel, and the name under which it is known. */
export interface Place {
  readonly name: string
  readonly kernel: Kernel
  /** How the image before was lost, if this one was started for this call in its place. */
  readonly replaces?: string
}

export interface Given {
  readonly flight: Flight
  readonly level: Level
  readonly options: {
    readonly jobs: Jobs
    readonly texts: Texts
    readonly lookMs: number
  }
  /** The files of the caller's project, as far as the policy lets the call see them. */
  files(): ProjectFiles
  readonly choices?: readonly Choice[] | undefined
  /** Carries out the changes that were approved for the call. */
  readonly commit?: (() => Promise<Committed | Failed>) | undefined
}

const unplanned = async () => Promise.reject(new Error('no plan was approved for this call'))
const NONE: readonly Choice[] = []

/** What a handler is given. */
export class Context implements ToolContext {
  readonly call: CallId
  readonly who: string
  readonly level: Level
  readonly lookMs: number
  readonly jobs: Jobs
  readonly texts: Texts
  readonly pathOf: (path: string) => string
  readonly choices: readonly Choice[]
  readonly commit: () => Promise<Committed | Failed>
  readonly #flight: Flight
  readonly #filesOf: () => ProjectFiles
  #files: ProjectFiles | undefined

  constructor({ flight, level, options, files, choices = NONE, commit = unplanned }: Given) {
    this.call = flight.call
    this.who = flight.caller.who
    this.level = level
    this.lookMs = options.lookMs
    this.jobs = options.jobs
    this.texts = options.texts
    this.pathOf = path => resolve(flight.caller.root, path)
    this.choices = choices
    this.commit = commit
    this.#flight = flight
    this.#filesOf = files
  }

  get files(): ProjectFiles {
    this.#files ??= this.#filesOf()
    return this.#files
  }

  get signal(): Signal {
    return this.#flight.signal
  }
}

interface OnKernel {
  readonly place: Place
  /** The image was given the call before: it is asked what became of it, and begins nothing. */
  readonly again: boolean
  output(): OutputLog
  leases(): Leases
  others(): readonly OtherKernel[]
}

/** The same on a kernel, whose output is kept from when it is first asked for. */
export class ContextOnKernel extends Context implements KernelContext {
  readonly kernel: Kernel
  readonly kernelName: string
  readonly again: boolean
  readonly ask: (question: Question) => Promise<string>
  readonly others: () => readonly OtherKernel[]
  readonly #caller: Flight
  readonly #output: () => OutputLog
  readonly #leasesOf: () => Leases
  #leases: Leases | undefined

  constructor(given: Given & OnKernel) {
    super(given)
    this.kernel = given.place.kernel
    this.kernelName = given.place.name
    this.again = given.again
    this.ask = question => given.flight.ask(question)
    this.#caller = given.flight
    this.#output = given.output
    this.others = given.others
    this.#leasesOf = given.leases
  }

  get leases(): Leases {
    this.#leases ??= this.#leasesOf()
    return this.#leases
  }

  get canAsk(): boolean {
    return this.#caller.canAsk
  }

  get output(): OutputLog {
    return this.#output()
  }
}
