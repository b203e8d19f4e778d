import { homedir } from 'node:os'
import { relative, resolve } from 'node:path'
import type { InterruptReport, Kernel } from '../../wire/kernel.ts'
import { KernelError } from './kernel-error.ts'
import {
  type CrashLimits,
  type Ears,
  type KernelRequest,
  type KernelRow,
  NamedKernel,
  type StartedKernel,
} from './named-kernel.ts'
import { nearest } from './nearest.ts'
import { isFile, isFolder, isProject, nameOf, realOf } from './roots.ts'
import type { TextStore } from './texts.ts'

export { KernelError } from './kernel-error.ts'
export type { Ears, KernelRequest, KernelRow, StartedKernel } from './named-kernel.ts'

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
  /**
   * Starts one as a person asked, under a name that none alive has. With a script, it answers once that is known to
   * run, to have returned or to have failed, or after 2 s. Throws `KernelError`.
   */
  start(wanted: Start): Promise<KernelRow>
  stop(name: string): Promise<KernelRow>
  /** A new epoch under the same name, with the same options; deaths before are forgotten. */
  restart(name: string): Promise<KernelRow>
  /** Stops what runs in it now. */
  interrupt(name: string): Promise<InterruptReport>
  /** Ends all of them in order. Nothing starts afterwards. */
  close(): Promise<void>
}

export interface Resolved {
  readonly name: string
  readonly kernel: Kernel
  /** How the image before was lost, if this one was started for this call in its place. */
  readonly replaces?: string
}

export interface Wanted {
  readonly name?: string | undefined
  readonly root: string
  readonly env: Readonly<Record<string, string>>
}

export interface Start extends Wanted {
  readonly language: string
  readonly script?: string | undefined
  readonly args?: readonly string[] | undefined
}

export interface KernelsOptions {
  launch(request: KernelRequest, ears: Ears): Promise<StartedKernel>
  /** Where background output of kernels is kept, for `read_more`. Left out: it is not kept. */
  readonly texts?: TextStore
  /** What `launch` knows how to start. */
  readonly languages?: readonly string[]
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

class OpenKernels implements Kernels {
  readonly #kernels = new Map<string, NamedKernel>()
  /** The name of the default kernel of each root that has one. */
  readonly #defaults = new Map<string, string>()
  readonly #options: KernelsOptions
  readonly #home: string
  #closed = false

  constructor(options: KernelsOptions) {
    this.#options = options
    this.#home = realOf(options.home ?? homedir())
  }

  list(): readonly KernelRow[] {
    return [...this.#kernels.values()].map(kernel => kernel.row()).sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  async resolve(wanted: Wanted): Promise<Resolved> {
    this.#refuseClosed()
    const named = wanted.name === undefined ? this.#ofRoot(wanted) : this.#named(wanted.name, wanted)
    const { lost } = named
    const found = { name: named.request.name, kernel: await named.living() }
    return lost === undefined ? found : { ...found, replaces: lost }
  }

  living({ name, root }: Wanted): { name: string; kernel: Kernel } | undefined {
    if (this.#closed) return undefined
    const named = name === undefined ? onlyOne(this.#livingIn(root)) : this.#kernels.get(name)
    const kernel = named?.present
    return kernel && { name: named.request.name, kernel }
  }

  async start({ language, name, root, env, script, args }: Start): Promise<KernelRow> {
    this.#refuseClosed()
    const languages = this.#options.languages ?? ['python']
    if (!languages.includes(language)) {
      const message = `There are no kernels for ${JSON.stringify(language)}.`
      const next = `Languages: ${languages.join(', ')}. Common Lisp and Wolfram Language come in later versions.`
      throw new KernelError('kernel_unavailable', {
        message,
        next,
        details: { reason: 'unknown_language', languages },
      })
    }
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

  async interrupt(name: string): Promise<InterruptReport> {
    return this.#named(name).interrupt()
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#kernels.values()].map(kernel => kernel.stop()))
  }

  /** By its name; the name that the root's default kernel would bear counts, though it may not live yet. */
  #named(name: string, wanted?: Wanted): NamedKernel {
    const known = this.#kernels.get(name)
    if (known) return known
    if (wanted && name === nameOf(wanted.root) && isProject(wanted.root, this.#home))
      return this.#default(wanted)
    const kernels = [...this.#kernels.keys()].sort()
    const like = nearest(name, kernels)
    const message = kernels.length === 0 ? 'None lives at present.' : `There are: ${kernels.join(', ')}.`
    throw new KernelError('no_such_kernel', {
      message: `No kernel is named ${JSON.stringify(name)}. ${message}`,
      next: like[0] === undefined ? 'List them with: imago kernels' : `Did you mean ${like.join(', ')}?`,
      details: { kernels, nearest: like },
    })
  }

  /** Without a name: the only one that lives in the root, or its default kernel where none did or does. */
  #ofRoot(wanted: Wanted): NamedKernel {
    const root = realOf(wanted.root)
    const living = this.#livingIn(root)
    if (living.length > 1) {
      const kernels = living.map(kernel => kernel.request.name).sort()
      throw new KernelError('no_such_kernel', {
        message: `Several kernels live in ${root}, and none was named: ${kernels.join(', ')}.`,
        next: `Name one, as in {"kernel": "${kernels[0]}"}`,
        details: { kernels, nearest: [] },
      })
    }
    if (living[0]) return living[0]
    const program = this.#in(root).findLast(kernel => kernel.request.script !== undefined)
    if (program) throw programEnded(program)
    return this.#default(wanted)
  }

  /** Those of a root, which is without links, in the order in which they were named. */
  #in(root: string): NamedKernel[] {
    return [...this.#kernels.values()].filter(kernel => kernel.request.root === root)
  }

  #livingIn(root: string): NamedKernel[] {
    return this.#in(root).filter(kernel => kernel.alive)
  }

  #default({ root: given, env }: Wanted): NamedKernel {
    const root = this.#rootOf(given)
    const name = this.#defaults.get(root)
    const known = name === undefined ? undefined : this.#kernels.get(name)
    if (known && known.request.root === root) return known
    const named = this.#add({ language: 'python', name: this.#free(nameOf(root)), root, env })
    this.#defaults.set(root, named.request.name)
    return named
  }

  #add(request: KernelRequest): NamedKernel {
    const { launch, texts, now = () => performance.now(), limits = CRASH_LOOP } = this.#options
    const named = new NamedKernel(request, { launch: (...asked) => launch(...asked), texts, now, limits })
    this.#kernels.set(request.name, named)
    return named
  }

  /** A name for a person's new kernel; one of a kernel that has ended may be taken over. */
  #checked(name: string): string {
    if (!NAME.test(name)) {
      const message = `${JSON.stringify(name)} cannot be the name of a kernel.`
      const next =
        'Use up to 64 letters, digits, dots, dashes and underscores, beginning with a letter or digit.'
      throw new KernelError('kernel_unavailable', { message, next, details: { reason: 'bad_name' } })
    }
    if (this.#kernels.get(name)?.alive) {
      const message = `A kernel named ${name} lives already.`
      const next = `Choose another name, or: imago restart ${name}`
      throw new KernelError('kernel_unavailable', {
        message,
        next,
        details: { reason: 'name_taken', kernel: name },
      })
    }
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
    const what =
      root === this.#home
        ? 'your home directory'
        : isFolder(root)
          ? 'the top of the file system'
          : 'no folder'
    throw new KernelError('kernel_unavailable', {
      message: `${root} is ${what}, and a kernel needs a project to live in.`,
      next: 'Run it in the folder of a project.',
      details: { reason: 'bad_root', root },
    })
  }

  #refuseClosed(): void {
    if (!this.#closed) return
    const message = 'The daemon is shutting down, and starts nothing any more.'
    throw new KernelError('kernel_unavailable', { message, next: null, details: { reason: 'shutting_down' } })
  }
}

const onlyOne = <Item>(items: readonly Item[]): Item | undefined =>
  items.length === 1 ? items[0] : undefined

/** An unnamed call meant the image of this program, and there is none any more. */
function programEnded(program: NamedKernel): KernelError {
  const { name, root, script = '' } = program.request
  const shown = relative(root, resolve(root, script))
  return new KernelError('kernel_unavailable', {
    message: `${name} (${shown}) has ended: ${program.row().message ?? 'it was stopped.'}`,
    next: `imago restart ${name} starts it again, imago start python a new one`,
    details: { reason: 'ended', kernel: name },
  })
}

/** The script is what a person named, so that a wrong name is theirs to mend, and nothing is started. */
function refuseMissing(root: string, script: string): void {
  const path = resolve(root, script)
  if (isFile(path)) return
  throw new KernelError('kernel_unavailable', {
    message: `There is no file ${path}, so it cannot be run.`,
    next: 'Name a script that is there, as seen from the root of the project.',
    details: { reason: 'no_script', script: path },
  })
}
