import { relative, resolve } from 'node:path'
import { WireError } from '../../wire/errors.ts'
import { isFile, isFolder } from '../files/roots.ts'
import { nearest } from '../text/nearest.ts'
import { KernelError } from './kernel-error.ts'
import { explainedSwank, isFar, isSwank, LISTEN, type Target } from './programs.ts'
import type { Attachment } from './remembered.ts'
import type { KernelRow } from './rows.ts'

/** What whoever wants a kernel is told in place of it. Each says why, and what can be done. */

export function unknownKernel(name: string, kernels: readonly string[]): KernelError {
  const like = nearest(name, kernels)
  const message = kernels.length === 0 ? 'None lives at present.' : `There are: ${kernels.join(', ')}.`
  return new KernelError('no_such_kernel', {
    message: `No kernel is named ${JSON.stringify(name)}. ${message}`,
    next: like[0] === undefined ? 'List them with: imago kernels' : `Did you mean ${like.join(', ')}?`,
    details: { kernels, nearest: like },
  })
}

/** There is a program of that name; whether it becomes a kernel is for a person to say. */
export function notAttachedYet(name: string, program: { attach: string; pid: number }): KernelError {
  return new KernelError('no_such_kernel', {
    message: `No kernel is named ${JSON.stringify(name)}. A program of that name (process ${program.pid}) can be attached to.`,
    next: `imago attach ${program.attach}`,
    details: { kernels: [], nearest: [], announced: program.attach },
  })
}

/** Whoever wants to see what is in a kernel is not shown an empty one that was begun for that. `rows` may be named. */
export function noneLives(where: string, rows: readonly KernelRow[]): KernelError {
  const living = rows.filter(({ state }) => state !== 'ended')
  const kernels = living.map(({ name }) => name)
  const likely = living.find(({ suspended }) => suspended > 0) ?? living[0]
  const shown = living.map(({ name, suspended }) =>
    suspended === 0 ? name : `${name} (${suspended} suspended)`,
  )
  const besides = shown.length === 0 ? '' : ` There are: ${shown.join(', ')}.`
  return new KernelError('no_such_kernel', {
    message: `No kernel lives in ${where}, and none was started: there would be nothing to see in it.${besides}`,
    next:
      likely === undefined ? 'List them with: imago kernels' : `Name one, as in {"kernel": "${likely.name}"}`,
    details: { kernels, nearest: [] },
  })
}

export function severalLive(root: string, kernels: readonly string[]): KernelError {
  return new KernelError('no_such_kernel', {
    message: `Several kernels live in ${root}, and none was named: ${kernels.join(', ')}.`,
    next: `Name one, as in {"kernel": "${kernels[0]}"}`,
    details: { kernels, nearest: [] },
  })
}

/** An unnamed call meant the image that this script made, and there is none any more. */
export function programEnded(ended: {
  name: string
  root: string
  script: string
  how: string
  language: string
}): KernelError {
  const { name, root, script, how, language } = ended
  const shown = relative(root, resolve(root, script))
  return new KernelError('kernel_unavailable', {
    message: `${name} (${shown}) has ended: ${how}`,
    next: `imago restart ${name} starts it again, imago start ${language} a new one`,
    details: { reason: 'ended', kernel: name },
  })
}

/** The script is what a person named, so that a wrong name is theirs to mend, and nothing is started. */
export function refuseMissing(root: string, script: string): void {
  const path = resolve(root, script)
  if (isFile(path)) return
  throw new KernelError('kernel_unavailable', {
    message: `There is no file ${path}, so it cannot be run.`,
    next: 'Name a script that is there, as seen from the root of the project.',
    details: { reason: 'no_script', script: path },
  })
}

export function badName(name: string): KernelError {
  return new KernelError('kernel_unavailable', {
    message: `${JSON.stringify(name)} cannot be the name of a kernel.`,
    next: 'Use up to 64 letters, digits, dots, dashes and underscores, beginning with a letter or digit.',
    details: { reason: 'bad_name' },
  })
}

export function nameTaken(name: string): KernelError {
  return new KernelError('kernel_unavailable', {
    message: `A kernel named ${name} lives already.`,
    next: `Choose another name, or: imago restart ${name}`,
    details: { reason: 'name_taken', kernel: name },
  })
}

export function badRoot(root: string, home: string): KernelError {
  const what =
    root === home
      ? 'your home directory'
      : isFolder(root)
        ? 'a folder that your home directory lies in'
        : 'no folder'
  return new KernelError('kernel_unavailable', {
    message: `${root} is ${what}, and a kernel needs a project to live in.`,
    next: 'Run it in the folder of a project.',
    details: { reason: 'bad_root', root },
  })
}

export function unknownLanguage(language: string, languages: readonly string[]): KernelError {
  return new KernelError('kernel_unavailable', {
    message: `There are no kernels for ${JSON.stringify(language)}.`,
    next: `Languages: ${languages.join(', ')}. Wolfram Language comes in a later version.`,
    details: { reason: 'unknown_language', languages },
  })
}

export function shuttingDown(): KernelError {
  const message = 'The daemon is shutting down, and starts nothing any more.'
  return new KernelError('kernel_unavailable', { message, next: null, details: { reason: 'shutting_down' } })
}

// What whoever wants to attach to a program is told in place of it.

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

export type Explained = readonly [message: string, next: string]

export function explained(
  error: WireError,
  { who, key }: { who: string; key: string | undefined },
): Explained {
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
