import type { CallerKernels, PastErrors } from '../../tools/contract.ts'
import type { Tool } from '../../tools/define.ts'
import { mayBeForAll } from '../../tools/group.ts'
import type { Raised } from '../../wire/kernel.ts'
import { isOfProject, realOf } from '../files/roots.ts'
import { redactedValue } from '../journal/redaction.ts'
import type { Kernels } from '../kernels/kernels.ts'
import type { Attachable, MeantKernel, Wanted } from '../kernels/wanted.ts'
import type { Checked } from '../registry/registry.ts'
import type { Caller } from './contract.ts'
import { kernelFault } from './faults.ts'

/** What a caller has chosen. */
interface Choice {
  /** The kernel for its calls without a name, by its key. */
  chosen?: string
  /** Where its last call went that named no kernel, by its key. */
  lately?: string
  /** Kernels of other projects that a person or a rule let it attach to: see `admission`. */
  readonly admitted?: readonly string[]
}

type WhoChooses = Pick<Caller, 'id' | 'root' | 'terminal'>

/**
 * What callers have chosen in a project, for as long as they are connected, and for the next ones at the same terminal.
 * A caller that moves to another project has chosen nothing there.
 */
export class Choices {
  readonly #byCaller = new Map<string, Choice>()
  readonly #byTerminal = new Map<string, string>()
  readonly #kernels: Pick<Kernels, 'keyOf' | 'lasts'>

  constructor(kernels: Pick<Kernels, 'keyOf' | 'lasts'>) {
    this.#kernels = kernels
  }

  of(caller: WhoChooses): Choice {
    const own = this.#byCaller.get(inProject(caller))
    const terminal = terminalOf(caller)
    const chosen = terminal === undefined ? undefined : this.#byTerminal.get(terminal)
    if (chosen === undefined || own?.chosen !== undefined || !this.#kernels.lasts(chosen)) return own ?? {}
    return { ...own, chosen }
  }

  /** Kernels are given by their names, and kept by their keys. */
  set(caller: WhoChooses, given: Choice): void {
    const key = inProject(caller)
    const choice = { ...given }
    for (const how of ['chosen', 'lately'] as const)
      if (given[how] !== undefined) choice[how] = this.#kernels.keyOf(given[how])
    this.#byCaller.set(key, { ...this.#byCaller.get(key), ...choice })
    const terminal = terminalOf(caller)
    if (terminal === undefined || choice.chosen === undefined) return
    this.#byTerminal.delete(terminal)
    this.#byTerminal.set(terminal, choice.chosen)
    const [first] = this.#byTerminal.keys()
    if (this.#byTerminal.size > MOST_TERMINALS && first !== undefined) this.#byTerminal.delete(first)
  }

  /** What was chosen over a connection ends with it. Clients of one connection bear its name, and may add their own. */
  forget(connection: string): void {
    for (const key of this.#byCaller.keys()) if (key.startsWith(`${connection} `)) this.#byCaller.delete(key)
  }
}

/** Terminals whose choice is remembered, the latest ones. */
const MOST_TERMINALS = 100

const inProject = ({ id, root }: WhoChooses): string => `${id} \0${root}`

const terminalOf = ({ terminal, root }: WhoChooses): string | undefined =>
  terminal === undefined ? undefined : `${terminal} ${root}`

/** That kernel of that project may be named; one that bears its name later, in another project, is not meant. */
const admission = (kernel: string, root: string): string => `${kernel} ${root}`

/** The kernels of the caller's project, for tools that are about them. */
export function callerKernels({ options, caller }: Addressed): CallerKernels {
  const { kernels, choices } = options
  return {
    list: () => {
      const { chosen, lately } = choices.of(caller)
      return kernels.project(caller.root, chosen, lately)
    },
    choose: async (name, { elsewhere }) => {
      try {
        const choice = await kernels.choose(name, { root: caller.root, elsewhere, env: caller.env })
        if (choice.type === 'chosen') choices.set(caller, { chosen: choice.kernel.name })
        if (choice.type === 'chosen' && elsewhere) admit(choice.kernel.name)
        return choice
      } catch (error) {
        const failure = kernelFault(error, name)
        if (failure.type === 'failed') return failure
        throw error
      }
    },
  }

  /** A person, or a rule, has let the caller attach to a kernel wherever it is. */
  function admit(kernel: string): void {
    const [root] = kernels.rootsOf(kernel)
    if (root === undefined || root === caller.root) return
    const { admitted = [] } = choices.of(caller)
    choices.set(caller, { admitted: [...new Set([...admitted, admission(kernel, root)])] })
  }
}

/** A call, as far as it says which kernel it is for. */
export interface Addressed {
  readonly options: {
    readonly choices: Choices
    readonly kernels: Pick<Kernels, 'attachable' | 'besides' | 'choose' | 'project' | 'rootsOf' | 'ruledAs'>
    readonly past?: (isWanted: (cwd: string) => boolean) => PastErrors
  }
  readonly caller: Caller
  readonly tool: Tool
  readonly checked: Checked
  readonly patienceMs: number
  /** Whether the call could look into that kernel, if it named it. */
  mayLook(kernel: string): boolean
  mayLookInto(kernel: MeantKernel): boolean
}

/** Which kernel a call is for. */
export function wantedBy(call: Addressed): Wanted {
  const { caller, options, patienceMs, tool, checked } = call
  const { root, env } = caller
  const { chosen, lately } = options.choices.of(caller)
  const byPerson = isByPerson(caller)
  const wanted = { name: checked.kernel, root, env, chosen, lately, patienceMs, byPerson }
  if (tool.starts) return wanted
  const forAll = mayBeForAll(tool, tool.level)
  return { ...wanted, onlyLiving: true, mayName: name => call.mayLook(name), mayBeForAll: forAll }
}

/** What processes of the caller's project have left of their errors, without their secrets. */
export function pastErrorsFor(call: Addressed): PastErrors {
  const { kernels } = call.options
  const root = realOf(call.caller.root)
  const past = call.options.past?.(cwd => isOfProject(realOf(cwd), root)) ?? { gone: [], skipped: [] }
  const seen = past.gone.filter(one => call.mayLookInto(kernels.ruledAs(one)))
  return {
    ...past,
    gone: seen.map(({ errors, ...one }) => ({
      ...redactedValue(one),
      errors: errors.map(({ error, ...told }) => ({ ...redactedValue(told), error: withoutSecrets(error) })),
    })),
  }
}

/** Each exception of a chain by itself: together they may be nested too deep to be redacted. */
function withoutSecrets({ cause, ...raised }: Raised): Raised {
  const clean = redactedValue(raised)
  if (cause === undefined) return clean
  return { ...clean, cause: { ...cause, exception: withoutSecrets(cause.exception) } }
}

/** What a call would attach to. */
export function targetOf({ tool, checked, caller, options }: Addressed): Attachable | undefined {
  const name = tool.attaches === undefined ? undefined : checked.args[tool.attaches]
  return typeof name === 'string' ? options.kernels.attachable(name, caller.root) : undefined
}

/**
 * The project whose kernel it is, where that is another one, the caller is no person who sits or was seen at a terminal,
 * and nobody has let it in.
 */
export function elsewhereOf(
  { caller, options }: Addressed,
  kernel: MeantKernel | undefined,
): string | undefined {
  const [root] = kernel?.roots ?? []
  if (kernel === undefined || root === undefined || root === caller.root || isByPerson(caller))
    return undefined
  return options.choices.of(caller).admitted?.includes(admission(kernel.name, root)) ? undefined : root
}

const isByPerson = ({ seat, isPerson }: Caller) => seat?.() !== undefined || isPerson?.() === true
