import type { CallerKernels } from '../../tools/contract.ts'
import type { Kernels } from '../kernels/kernels.ts'
import type { Caller } from './contract.ts'
import { kernelFault } from './faults.ts'

/** What callers have chosen, for as long as they are connected. */
export interface Choices {
  /** By caller: the kernel that it has chosen for its calls without a name. */
  readonly chosen: Map<string, string>
  /** By caller: where its last call went that named no kernel. */
  readonly lately: Map<string, string>
  /** Kernels of other projects that a person or a rule let a caller attach to: see `admission`. */
  readonly admitted: Set<string>
}

interface CallerKernelsOptions extends Choices {
  readonly kernels: Pick<Kernels, 'project' | 'choose' | 'rootsOf'>
  readonly caller: Caller
}

/** The kernels of the caller's project, for tools that are about them. */
export function callerKernels({
  kernels,
  chosen,
  lately,
  admitted,
  caller,
}: CallerKernelsOptions): CallerKernels {
  return {
    list: () => kernels.project(caller.root, chosen.get(caller.id) ?? lately.get(caller.id)),
    choose: async (name, { elsewhere }) => {
      try {
        const choice = await kernels.choose(name, { root: caller.root, elsewhere })
        if (choice.type === 'chosen') chosen.set(caller.id, choice.kernel.name)
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
    if (root !== undefined && root !== caller.root) admitted.add(admission(caller, kernel, root))
  }
}

/** That caller may name that kernel of that project; one that bears its name later, in another project, is not meant. */
export const admission = ({ id }: Pick<Caller, 'id'>, kernel: string, root: string): string =>
  `${id} ${kernel} ${root}`

/** What was chosen over a connection ends with it. Clients of one connection bear its name, and may add their own. */
export function forgetChoices({ chosen, lately, admitted }: Choices, connection: string): void {
  const isOf = (key: string) => key === connection || key.startsWith(`${connection} `)
  for (const names of [chosen, lately])
    for (const caller of names.keys()) if (isOf(caller)) names.delete(caller)
  for (const admission of admitted) if (isOf(admission)) admitted.delete(admission)
}
