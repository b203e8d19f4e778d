import type { WireError } from '../../wire/errors.ts'
import type { Programs } from '../../wire/programs.ts'
import { KernelError } from './kernel-error.ts'

/** The port where `swank:create-server` listens unless it is told another one. */
const SWANK_PORT = 4005

const AN_ADDRESS =
  /^swank:\/\/(?:(?<alone>\d{1,5})|(?<host>\[[\da-f:.]+\]|[\w.-]+)(?::(?<port>\d{1,5}))?)\/?$/i

export const isSwank = (address: string): boolean => address.startsWith('swank:')

/**
 * `swank://HOST:PORT` in full, for that, `swank://PORT`, or `swank://HOST`. Throws `KernelError` for what is neither.
 */
export function swankAddress(wanted: string): string {
  const {
    alone,
    host = '127.0.0.1',
    port = alone ?? String(SWANK_PORT),
  } = AN_ADDRESS.exec(wanted)?.groups ?? {}
  const isPort = Number(port) > 0 && Number(port) < 65_536
  if (AN_ADDRESS.test(wanted) && isPort)
    return `swank://${host.toLowerCase() === 'localhost' ? '127.0.0.1' : host.toLowerCase()}:${Number(port)}`
  throw new KernelError('kernel_unavailable', {
    message: `${JSON.stringify(wanted)} is no address of a Swank server.`,
    next: `imago attach swank://${SWANK_PORT}, or swank://HOST:PORT`,
    details: { reason: 'bad_address', address: wanted },
  })
}

/** What a person says of a server, and insists on. */
export interface Insisting {
  readonly key?: string | undefined
  /** Another machine, too. */
  readonly anywhere?: boolean | undefined
  /** No secret is sent. */
  readonly noSecret?: boolean | undefined
}

/** Whoever reaches a Swank server can run anything in its image, and what is said there can be read on the way. */
export function refuseFar(address: string, { anywhere = false }: Insisting): void {
  const { hostname, port } = new URL(address)
  if (anywhere || isLoopback(hostname)) return
  throw new KernelError('kernel_unavailable', {
    message:
      `${hostname} is not this machine. Swank encrypts nothing, its secret included, and whoever has read that on the ` +
      'way can run anything in your image.',
    next:
      `ssh -L ${port}:127.0.0.1:${port} ${hostname}   and beside it: imago attach swank://${port}\n` +
      `If the way there is safe all the same: imago attach ${address} --anywhere`,
    details: { reason: 'not_loopback', address },
  })
}

export const isFar = (address: string): boolean => !isLoopback(new URL(address).hostname)

/** Written so that nothing has to look it up: what is no number of four parts would be asked of a name server. */
const isLoopback = (host: string) =>
  host === '[::1]' ||
  (/^127(\.(0|[1-9]\d{0,2})){3}$/.test(host) && host.split('.').every(part => Number(part) < 256))

/** Where the secret comes from, as `Attachment` has it. Throws `KernelError` where there is none to send. */
export function secretFor(
  address: string,
  { wanted, programs }: { wanted: Insisting; programs: Programs },
): 'key' | 'none' | 'home' {
  if (wanted.noSecret) return 'none'
  if (wanted.key !== undefined) return 'key'
  const home = programs.homeSecret()
  if (home.type === 'there') return 'home'
  if (home.type === 'flawed')
    throw new KernelError('kernel_unavailable', {
      message: `${home.path}, the secret for Swank servers, ${home.why}, so it is not used.`,
      next: home.mend,
      details: { reason: 'open_secret', address },
    })
  const insist = `For a server that asks for none: imago attach ${address} --no-secret`
  throw new KernelError('kernel_unavailable', {
    message:
      `There is no secret: ${home.path} is not there. Without one, any user and any program of this machine that ` +
      'reaches the port can run anything in your image, as you.',
    next: `${MAKE_SECRET}\nSwank and SLIME read it at each connection; nothing has to be started again.\n${insist}`,
    details: { reason: 'needs_secret', address },
  })
}

const MAKE_SECRET = [
  'touch ~/.slime-secret',
  'chmod 600 ~/.slime-secret',
  'head -c 32 /dev/urandom | base64 > ~/.slime-secret',
].join('\n')

/** What listens again, and how it goes on doing so. */
export const LISTEN = '(swank:create-server :dont-close t)'

/** Why a Swank server could not be joined, and what to do about it besides what the fault itself says. */
export function explainedSwank(
  error: WireError,
  { address }: { address: string },
): readonly [string, string] {
  return [error.message, nextAfter(error.code, address)]
}

function nextAfter(code: WireError['code'], address: string): string {
  switch (code) {
    case 'LINK_REFUSED':
      return 'Without :dont-close t, Swank stops listening after its first client, such as SLIME.'
    case 'NOT_AUTHENTICATED':
      return `The secret is in ~/.slime-secret, or give one with --key-file FILE; without: imago attach ${address} --no-secret`
    case 'HANDSHAKE_TIMEOUT':
      return 'See whether that Lisp is at work or waits in its debugger, and whether it has the same ~/.slime-secret.'
    default:
      return 'See what that Lisp says, and try again.'
  }
}
