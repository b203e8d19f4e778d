import { WireError } from '../../wire/errors.ts'
import { KernelError } from './kernel-error.ts'
import type { KernelRow } from './kernel-row.ts'
import { explainedSwank, isFar, isSwank, LISTEN, type Target } from './programs.ts'
import type { Attachment } from './remembered.ts'

/** What whoever wants to attach to a program is told in place of it. */

export const GIVE_KEY = 'Give it with --key-file FILE, or in $IMAGO_KEY'

/** How a program that has ended is joined anew, as a person does it. */
export function wayBack({
  announced,
  address,
  name,
  secret,
}: Pick<Attachment, 'announced' | 'address' | 'name' | 'secret'>): string {
  const target = announced ?? address
  const insisted = [
    ...(secret.from === 'none' ? [' --no-secret'] : []),
    ...(isSwank(address) && isFar(address) ? [' --anywhere'] : []),
  ]
  const how = isSwank(address) ? `, ${LISTEN}` : ''
  const named = target === name ? '' : ` --name ${name}`
  return `Once it listens again${how}: imago attach ${target}${named}${insisted.join('')}`
}

export function attachedAlready({ name, pid, state }: KernelRow): KernelError {
  const who = pid === null ? 'That program' : `Process ${pid}`
  const away = state === 'away' ? ' Its link is being made again at this moment.' : ''
  return new KernelError('kernel_unavailable', {
    message: `${who} is attached already, as ${name}.${away}`,
    next: `Use it with: --kernel ${name}`,
    details: { reason: 'attached_already', kernel: name },
  })
}

export function isOwned(name: string): KernelError {
  return new KernelError('kernel_unavailable', {
    message: `${name} is no program that Imago was attached to: Imago started it, and it ends with Imago.`,
    next: `imago stop ${name} ends it`,
    details: { reason: 'owned', kernel: name },
  })
}

/** Why a program could not be joined, in words about that program. */
export function notAttached(
  error: unknown,
  { target, key }: { target: Target; key: string | undefined },
): unknown {
  if (!(error instanceof WireError)) return error
  const { address, program } = target
  const who =
    program === undefined ? `What listens at ${address}` : `${program.name} (process ${program.pid})`
  const [message, next] = isSwank(address)
    ? explainedSwank(error, { address })
    : explained(error, { who, key })
  return new KernelError('kernel_unavailable', {
    message,
    next,
    details: { reason: error.remote?.code ?? error.code, address },
    cause: error,
  })
}

type Explained = readonly [message: string, next: string]

function explained(error: WireError, { who, key }: { who: string; key: string | undefined }): Explained {
  switch (error.code) {
    case 'REMOTE_FAULT':
      if (error.remote?.code === 'occupied')
        return [
          `${who} is attached to another daemon, or under another address: ${error.remote.message}`,
          'Let go of it there first: imago detach NAME',
        ]
      return [`${who} refused: ${error.remote?.message ?? error.message}`, 'See what it says, and try again.']
    case 'NOT_AUTHENTICATED':
      return key === undefined
        ? [`${who} was not attached to: ${error.message}`, GIVE_KEY]
        : [`${who} does not know the key that was given: ${error.message}`, GIVE_KEY]
    case 'LINK_REFUSED':
      return [`${who} cannot be reached: ${error.message}`, 'In the program: import imago; imago.listen()']
    case 'HANDSHAKE_TIMEOUT':
      return [
        `${who} accepts connections and says nothing: it is frozen, or its interpreter is held by code in C. ${error.message}`,
        'Try again once it runs.',
      ]
    default:
      return [`${who} was not attached to: ${error.message}`, 'imago kernels shows what can be attached to']
  }
}
