import type { Calls } from '../calls/contract.ts'
import { KernelError } from '../kernels/kernel-error.ts'
import type { Kernels } from '../kernels/kernels.ts'
import type { KernelRow } from '../kernels/rows.ts'
import type { OperationContext } from './handlers.ts'
import type { Methods } from './protocol.ts'

type Wanted = Methods['attach']['params']

interface AttachParts {
  readonly calls: Pick<Calls, 'choose'>
  readonly kernels: Kernels
}

/** The next calls of this client, and of others at its terminal, go there. A program that is attached already is only chosen. */
export async function attach(
  { calls, kernels }: AttachParts,
  params: Wanted,
  context: OperationContext,
): Promise<KernelRow> {
  const { chosen, session } = context
  const row =
    chosen === undefined
      ? await joined(kernels, params, context)
      : UNLINKED.has(chosen.state)
        ? await again(kernels, chosen, session.env)
        : chosen
  calls.choose(context.caller, row.name)
  return row
}

/** The kernel that is only chosen, or one of ours that begins again: no program is joined. */
export function chosenBy(
  { target, name = target }: Pick<Wanted, 'target' | 'name'>,
  { kernels, root }: { readonly kernels: Pick<Kernels, 'list'>; readonly root: string },
): KernelRow | undefined {
  const known = kernels.list().find(one => one.name === target && name === target && one.root === root)
  // An attached program that has gone answers nothing, though it is followed: one that listens by its name is joined.
  return known?.owned === true || !UNLINKED.has(known?.state ?? 'ended') ? known : undefined
}

/** States of a kernel to which no link leads now. */
const UNLINKED: ReadonlySet<KernelRow['state']> = new Set(['away', 'ended', 'crash_loop'])

async function again(
  kernels: Kernels,
  { name, root }: KernelRow,
  env: Readonly<Record<string, string>>,
): Promise<KernelRow> {
  const choice = await kernels.choose(name, { root, elsewhere: false, env })
  const row = kernels.list().find(one => one.name === name)
  if (choice.type !== 'chosen' || row === undefined) throw kernels.unknownIn(root, name)
  return { ...row, message: choice.kernel.message }
}

/** A program that another client has attached meanwhile is chosen. */
async function joined(
  kernels: Kernels,
  { key_file: keyFile, no_secret: noSecret, ...more }: Wanted,
  { session: { root }, within }: OperationContext,
): Promise<KernelRow> {
  try {
    return await kernels.attach({ ...more, keyFile, noSecret, root, ...(within !== undefined && { within }) })
  } catch (error) {
    const { reason, kernel } = error instanceof KernelError ? error.details : {}
    const row = kernels.list().find(one => one.name === kernel && one.root === root)
    if (reason !== 'attached_already' || row === undefined || (more.name ?? row.name) !== row.name)
      throw error
    return row
  }
}
