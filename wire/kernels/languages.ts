import { languageAt } from '../languages.ts'
import type { Launched, LaunchRequest } from './launch.ts'
import { launchPython } from './python.ts'
import { attachSwank, rejoinSwank } from './swank-attach.ts'
import { launchLisp } from './swank-launch.ts'

/** How images of one language are started, and joined where they listen in a way of their own. */
interface Adapter {
  /** Starts an image of ours. Throws `KERNEL_NOT_FOUND` or `KERNEL_START_FAILED`. */
  launch(request: LaunchRequest, settings: KernelSettings): Promise<Launched>
  /** Left out: its programs announce themselves, and speak the framed protocol. */
  readonly server?: {
    readonly attach: typeof attachSwank
    readonly rejoin: typeof rejoinSwank
  }
}

/** What a person has configured: see `[kernels]` of config.toml. */
interface KernelSettings {
  readonly python?: string | undefined
  readonly lisp?: string | undefined
  readonly swank?: string | undefined
  readonly trusted?: readonly string[]
}

const ADAPTERS: Readonly<Record<string, Adapter>> = {
  python: {
    launch: (request, { python, trusted }) => launchPython({ ...request, python, trusted }),
  },
  lisp: {
    launch: (request, { lisp, swank }) =>
      launchLisp({ ...request, ...(lisp !== undefined && { lisp }), ...(swank !== undefined && { swank }) }),
    server: { attach: attachSwank, rejoin: rejoinSwank },
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
