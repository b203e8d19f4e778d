import type { Kernel } from '../kernel.ts'
import { languageAt, languageNamed, pythonOfEngine } from '../languages.ts'
import type { Joining } from '../programs.ts'
import type { AttachLimits } from './attach.ts'
import type { Launched, LaunchRequest } from './launch.ts'
import { compilerCommand, launchPython } from './python.ts'
import { attachSwank, rejoinSwank } from './swank-attach.ts'
import { launchLisp } from './swank-launch.ts'
import { launchWolfram } from './wolfram.ts'

/** How images of one language are started, and joined where they listen in a way of their own. */
interface Adapter {
  /** Starts an image of ours. Throws `KERNEL_NOT_FOUND` or `KERNEL_START_FAILED`. */
  launch(request: LaunchRequest, settings: KernelSettings): Promise<Launched>
  /** Left out: its programs announce themselves, and speak the framed protocol. */
  readonly server?: Server
  /**
   * The command that compiles texts as that process of the language would (`compile_texts.py` says how), or why there is
   * none, as a clause. Left out: texts of the language are not compared with what runs.
   */
  compiler?(of: { readonly interpreter: string; readonly pid: number }): readonly string[] | string
}

/** How the images of a language are joined that listen by a server of their own. */
interface Server {
  /** Joins an image, and joins it again as long as it lives. Rejects with a `WireError`. */
  attach(request: ServerRequest): Promise<Kernel>
  /** Joins one again that a daemon before this one was attached to; a sentence where it is there no more. */
  rejoin(
    request: ServerRequest & { readonly epoch: string; readonly signal: AbortSignal },
  ): Promise<Kernel | string>
}

interface ServerRequest {
  readonly joining: Joining
  readonly limits?: Partial<AttachLimits>
  /** Told the secret that is sent, so that it is kept out of what is written. */
  secret?(value: string): void
}

/** What a person has configured: see `[kernels]` of config.toml. */
interface KernelSettings {
  readonly python?: string | undefined
  readonly lisp?: string | undefined
  readonly swank?: string | undefined
  readonly wolfram?: string | undefined
  readonly wolfram_formatter_seconds?: number | undefined
  /** The folder of Imago's state, in which `imago install` puts engines. */
  readonly stateDir?: string
  readonly trusted?: readonly string[]
}

const ADAPTERS: Readonly<Record<string, Adapter>> = {
  python: {
    launch: (request, { python, trusted }) => launchPython({ ...request, python, trusted }),
    compiler: compilerCommand,
  },
  lisp: {
    launch: (request, { lisp, swank }) =>
      launchLisp({ ...request, ...(lisp !== undefined && { lisp }), ...(swank !== undefined && { swank }) }),
    server: { attach: attachSwank, rejoin: rejoinSwank },
  },
  wolfram: {
    launch: (request, { wolfram, stateDir, wolfram_formatter_seconds: formatterSeconds }) => {
      const { engine } = languageNamed('wolfram') ?? {}
      const installed = engine && stateDir && pythonOfEngine(engine, stateDir)
      return launchWolfram({ ...request, wolfram, installed, formatterSeconds })
    },
  },
}

/** Throws for a language that is not in the list of `wire/languages.ts`. */
export function adapterOf(language: string): Adapter {
  const adapter = Object.hasOwn(ADAPTERS, language) ? ADAPTERS[language] : undefined
  if (adapter === undefined) throw new Error(`${language} has no adapter`)
  return adapter
}

/** What joins the programs that listen there; undefined where they speak the framed protocol. */
export const serverAt = (address: string): Adapter['server'] => adapterOf(languageAt(address).name).server
