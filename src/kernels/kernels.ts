import { homedir } from 'node:os'
import { WireError } from '../../wire/errors.ts'
import type { InterruptReport, Kernel } from '../../wire/kernel.ts'
import { DEFAULT_LANGUAGE, languageNamed, namesOf } from '../../wire/languages.ts'
import type { Programs } from '../../wire/programs.ts'
import { isProject, nameOf, realOf } from '../files/roots.ts'
import type { TextStore } from '../text/texts.ts'
import { type Announced, type Attach, Attaching } from './attach.ts'
import { KernelError } from './kernel-error.ts'
import {
  type CrashLimits,
  type Ears,
  type KernelRequest,
  NamedKernel,
  type StartedKernel,
} from './named-kernel.ts'
import { NO_PROGRAMS } from './programs.ts'
import {
  badName,
  badRoot,
  nameTaken,
  noneLives,
  notAttachedYet,
  refuseMissing,
  severalLive,
  shuttingDown,
  unknownKernel,
  unknownLanguage,
} from './refusals.ts'
import { NOTHING_REMEMBERED, type Remembered } from './remembered.ts'
import type { KernelNews, KernelRow, Named, NewLife } from './rows.ts'
import { type Trial, tryLanguage } from './trial.ts'

export type { Announced, AnnouncedRow, Attach } from './attach.ts'
export { KernelError } from './kernel-error.ts'
export type { Ears, KernelRequest, StartedKernel } from './named-kernel.ts'

export type { KernelRow } from './rows.ts'

export const CRASH_LOOP: CrashLimits = { deaths: 3, withinMs: 300_000 }

/** The kernels of this daemon, by name. */
export interface Kernels {
  /** Sorted by name. */
  list(): readonly KernelRow[]
  /**
   * The kernel that a call is for, started if it does not live. Without a name it is the only one that lives in the
   * root; where several do, one must be named. Where none does, it is the root's default one, which bears the name of
   * its folder, unless a program ran there and has ended: its state is gone, and an empty kernel would not be what
   * was meant. Throws `KernelError`.
   */
  resolve(wanted: Wanted): Promise<Resolved>
  /** What `resolve` would answer, at once, where that kernel lives and `root` is without links; else undefined. */
  living(wanted: Wanted): { name: string; kernel: Kernel } | undefined
  /** Those that live in the root, but for the one of that name. */
  besides(one: {
    readonly name: string
    readonly root: string
  }): readonly { readonly name: string; readonly kernel: Kernel }[]
  /**
   * Starts one as a person asked, under a name that none alive has. With a script, it answers once that is known to
   * run, to have returned or to have failed, or after 2 s. Throws `KernelError`.
   */
  start(wanted: Start): Promise<KernelRow>
  /** Starts a kernel only to see whether it can be done; see `tryLanguage`. Throws `KernelError`. */
  trial(wanted: Omit<Start, 'name'>): Promise<Trial>
  stop(name: string): Promise<KernelRow>
  /** A new epoch under the same name, with the same options; deaths before are forgotten. */
  restart(name: string): Promise<KernelRow>
  /** Tells what a kernel prints while no call runs in it, as it comes. Returns what ends that. */
  watch(watching: Watching): () => void
  /** Stops what runs in it now. */
  interrupt(name: string): Promise<InterruptReport>
  /** Attaches to a program that listens. Throws `KernelError`. */
  attach(wanted: Attach): Promise<KernelRow>
  /** Lets go of one, which runs on, and forgets its name. The row is its last one. Throws `KernelError`. */
  detach(name: string): Promise<KernelRow>
  /** Programs that can be attached to and are not. */
  announced(): Promise<Announced>
  /** Ends all of them in order, and lets go of those that are attached. Nothing starts afterwards. */
  close(): Promise<void>
}

export interface KernelsOptions {
  launch(request: KernelRequest, ears: Ears): Promise<StartedKernel>
  /** Where background output of kernels is kept, for `read_more`. Left out: it is not kept. */
  readonly texts?: TextStore
  /** The programs that can be attached to, and which of them were. Left out: none. */
  readonly programs?: Programs
  readonly remembered?: Remembered
  /** Kernels that begin and end; not those of a trial. */
  noted?(news: KernelNews): void
  /** Kernels that begin to live, or were joined; not those of a trial. */
  lives?(life: NewLife): void
  /** Never a root. */
  readonly home?: string
  /** Milliseconds on a clock that only goes forward. */
  now?(): number
  readonly limits?: CrashLimits
}

export function openKernels(options: KernelsOptions): Kernels {
  return new OpenKernels(options)
}

const NAME = /^[\p{L}\p{N}_][\p{L}\p{N}_.-]{0,63}$/u

/** Who wants to hear what a kernel of that name prints by itself. */
export interface Watching {
  readonly name: string
  heard(text: string): void
}

class OpenKernels implements Kernels {
  readonly #kernels = new Map<string, Named>()
  /** The name of the default kernel of each root that has one. */
  readonly #defaults = new Map<string, string>()
  readonly #options: KernelsOptions
  readonly #home: string
  readonly #attaching: Attaching
  /** Who follows what kernels print by themselves. */
  readonly #watchers = new Set<Watching>()
  #closed = false

  constructor(options: KernelsOptions) {
    const { programs = NO_PROGRAMS, remembered = NOTHING_REMEMBERED, texts } = options
    this.#options = options
    this.#home = realOf(options.home ?? homedir())
    this.#attaching = new Attaching({
      programs,
      remembered,
      kernels: this.#kernels,
      texts,
      noted: news => options.noted?.(news),
      lives: life => options.lives?.(life),
      now: options.now ?? (() => performance.now()),
      heard: (name, text) => this.#tell(name, text),
      checked: name => this.#checked(name),
    })
    this.#attaching.restore()
  }

  list(): readonly KernelRow[] {
    return [...this.#kernels.values()].map(kernel => kernel.row()).sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  async resolve(wanted: Wanted): Promise<Resolved> {
    this.#refuseClosed()
    if (wanted.onlyLiving === true && this.#wouldStart(wanted))
      throw noneLives(wanted.name ?? wanted.root, this.#nameable(wanted))
    const named = wanted.name === undefined ? this.#ofRoot(wanted) : this.#named(wanted.name, wanted)
    const { lost } = named
    const found = { name: named.name, kernel: await named.living() }
    return lost === undefined ? found : { ...found, replaces: lost }
  }

  living({ name, root }: Wanted): { name: string; kernel: Kernel } | undefined {
    if (this.#closed) return undefined
    const named = name === undefined ? onlyOne(this.#livingIn(root)) : this.#kernels.get(name)
    const kernel = named?.present
    return kernel && { name: named.name, kernel }
  }

  besides(one: { readonly name: string; readonly root: string }) {
    const others = this.#in(realOf(one.root)).filter(({ name }) => name !== one.name)
    return others.flatMap(({ name, present }) => (present === undefined ? [] : [{ name, kernel: present }]))
  }

  async trial({ language, root, env }: Omit<Start, 'name'>): Promise<Trial> {
    this.#refuseClosed()
    this.#checkLanguage(language)
    const request = { language, root: this.#rootOf(root), env }
    try {
      return await tryLanguage({ launch: this.#options.launch, request })
    } catch (error) {
      if (!(error instanceof WireError)) throw error
      const { message } = error
      throw new KernelError('kernel_unavailable', {
        message,
        next: null,
        details: { reason: error.code },
        cause: error,
      })
    }
  }

  async start({ language, name, root, env, script, args }: Start): Promise<KernelRow> {
    this.#refuseClosed()
    this.#checkLanguage(language)
    const request: KernelRequest = {
      language,
      name: name === undefined ? this.#free(language) : this.#checked(name),
      root: this.#rootOf(root),
      env,
      ...(script !== undefined && { script }),
      ...(args !== undefined && { args }),
    }
    if (script !== undefined) refuseMissing(request.root, script)
    return this.#add(request).begun()
  }

  async stop(name: string): Promise<KernelRow> {
    const named = this.#named(name)
    await named.stop()
    return named.row()
  }

  async restart(name: string): Promise<KernelRow> {
    this.#refuseClosed()
    return this.#named(name).restart()
  }

  watch(watching: Watching): () => void {
    this.#watchers.add(watching)
    return () => this.#watchers.delete(watching)
  }

  async interrupt(name: string): Promise<InterruptReport> {
    return this.#named(name).interrupt()
  }

  async attach(wanted: Attach): Promise<KernelRow> {
    this.#refuseClosed()
    return this.#attaching.attach(wanted)
  }

  async detach(name: string): Promise<KernelRow> {
    return this.#attaching.detach(this.#named(name))
  }

  announced(): Promise<Announced> {
    return this.#attaching.announced()
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#kernels.values()].map(kernel => kernel.close()))
  }

  /** By its name; the name that the root's default kernel would bear counts, though it may not live yet. */
  #named(name: string, wanted?: Wanted): Named {
    const known = this.#kernels.get(name)
    if (known) return known
    const program = this.#attaching.find(name)
    if (program) throw notAttachedYet(name, program)
    if (wanted && name === nameOf(wanted.root) && isProject(wanted.root, this.#home))
      return this.#default(wanted)
    throw unknownKernel(name, [...this.#kernels.keys()].sort())
  }

  /** Without a name: the only one that lives in the root, or its default kernel where none did or does. */
  #ofRoot(wanted: Wanted): Named {
    const root = realOf(wanted.root)
    const living = this.#livingIn(root)
    if (living.length > 1) throw severalLive(root, living.map(({ name }) => name).sort())
    if (living[0]) return living[0]
    const program = this.#in(root).findLast(({ hasProgram }) => hasProgram)
    if (program) throw program.over()
    return this.#default(wanted)
  }

  /** Whether one would have to be started. One of a name that is not known is refused as ever. */
  #wouldStart({ name, root: given }: Wanted): boolean {
    const root = realOf(given)
    const known = [...this.#kernels.values()].filter(one =>
      name === undefined ? one.root === root : one.name === name,
    )
    if (known.length === 0) return name === undefined || name === nameOf(root)
    return !known.some(one => one.alive || one.hasProgram)
  }

  /** What a caller may be told of other kernels: those of its own root, as far as they may be named to it. */
  #nameable({ root, mayName = () => true }: Wanted): readonly KernelRow[] {
    const rows = this.#in(realOf(root)).map(one => one.row())
    return rows.filter(({ name }) => mayName(name)).sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Those of a root, which is without links, in the order in which they were named. */
  #in(root: string): Named[] {
    return [...this.#kernels.values()].filter(kernel => kernel.root === root)
  }

  #livingIn(root: string): Named[] {
    return this.#in(root).filter(kernel => kernel.alive)
  }

  #default({ root: given, env }: Wanted): Named {
    const root = this.#rootOf(given)
    const name = this.#defaults.get(root)
    const known = name === undefined ? undefined : this.#kernels.get(name)
    if (known?.root === root) return known
    const named = this.#add({ language: DEFAULT_LANGUAGE.name, name: this.#free(nameOf(root)), root, env })
    this.#defaults.set(root, named.name)
    return named
  }

  #add(request: KernelRequest): NamedKernel {
    const { launch, texts, now = () => performance.now(), limits = CRASH_LOOP } = this.#options
    const named = new NamedKernel(request, {
      launch: (asked, ears) =>
        launch(asked, { ...ears, background: text => this.#heard(asked.name, ears, text) }),
      texts,
      noted: news => this.#options.noted?.(news),
      lives: life => this.#options.lives?.(life),
      now,
      limits,
    })
    this.#kernels.set(request.name, named)
    return named
  }

  #heard(name: string, ears: Ears, text: string): void {
    ears.background(text)
    this.#tell(name, text)
  }

  #tell(name: string, text: string): void {
    for (const watching of this.#watchers) if (watching.name === name) watching.heard(text)
  }

  /** A name for a person's new kernel; one of a kernel that has ended may be taken over. */
  #checked(name: string): string {
    if (!NAME.test(name)) throw badName(name)
    if (this.#kernels.get(name)?.alive) throw nameTaken(name)
    return name
  }

  /** `stem`, or `stem-2` and so on where that is taken. */
  #free(stem: string): string {
    for (let number = 1; ; number++) {
      const name = number === 1 ? stem : `${stem}-${number}`
      if (!this.#kernels.has(name)) return name
    }
  }

  #rootOf(given: string): string {
    const root = realOf(given)
    if (isProject(root, this.#home)) return root
    throw badRoot(root, this.#home)
  }

  #checkLanguage(language: string): void {
    if (languageNamed(language) === undefined) throw unknownLanguage(language, namesOf())
  }

  #refuseClosed(): void {
    if (this.#closed) throw shuttingDown()
  }
}

const onlyOne = <Item>(items: readonly Item[]): Item | undefined =>
  items.length === 1 ? items[0] : undefined

/** The kernel that it is for. */
export interface Resolved {
  readonly name: string
  readonly kernel: Kernel
  /** How the image before was lost, if this one was started for this call in its place. */
  readonly replaces?: string
}

/** Which kernel a call is for. */
export interface Wanted {
  readonly name?: string | undefined
  readonly root: string
  readonly env: Readonly<Record<string, string>>
  /** None is started for it: where none lives, that is the answer. */
  readonly onlyLiving?: boolean
  /** Which other kernels of the root an answer may name. Left out: all. */
  readonly mayName?: (kernel: string) => boolean
}

/** What a person wants started. */
export interface Start extends Wanted {
  readonly language: string
  readonly script?: string | undefined
  readonly args?: readonly string[] | undefined
}
