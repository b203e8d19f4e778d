import type { WireError } from '../../wire/errors.ts'
import { type LanguageServer, languageAt } from '../../wire/languages.ts'
import type { Programs } from '../../wire/programs.ts'
import { KernelError } from './kernel-error.ts'

/** What a person should know of the server that programs of a language listen by. */
interface Advice {
  /** Why one of another machine is not joined as it is: sentences. */
  readonly danger: string
  /** What has it listen again. */
  readonly listen?: string
  /** Why it could not be joined, and what to do about it besides what the fault itself says. */
  explained(error: WireError, address: string): readonly [message: string, next: string]
}

const ADVICE: Readonly<Record<string, Advice>> = {
  lisp: {
    danger:
      'Swank encrypts nothing, its secret included, and whoever has read that on the way can run anything in your image.',
    listen: '(swank:create-server :dont-close t)',
    explained: ({ message, code }, address) => [message, nextAfter(code, address)],
  },
  wolfram: {
    danger:
      'A wstpserver asks nobody who they are and encrypts nothing: whoever reaches it can run anything in its kernels. It ' +
      'belongs behind --interface 127.0.0.1, and a tunnel leads there.',
    explained: ({ message, code }, address) =>
      code === 'KERNEL_NOT_FOUND'
        ? [message, 'imago doctor shows what there is.']
        : [
            `No kernel was had at ${address}. ${message}`,
            `wstpserver --interface 127.0.0.1 --port ${new URL(address).port} serves kernels (12.2 and newer). One that a ` +
              'front end, such as a notebook, holds cannot be joined: imago start begins one of its own.',
          ],
  },
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

/** A server that is not ours. */
type Server = LanguageServer & Advice

/** The one at an address; undefined where programs listen by ours. */
export function serverOf(address: string): Server | undefined {
  const { name, server } = languageAt(address)
  const advice = ADVICE[name]
  return server && advice && { ...server, ...advice }
}

const AN_ADDRESS = /^\w+:\/\/(?:(?<alone>\d{1,5})|(?<host>\[[\da-f:.]+\]|[\w.-]+)(?::(?<port>\d{1,5}))?)\/?$/i

/**
 * `SCHEME://HOST:PORT` in full, for that, `SCHEME://PORT`, or `SCHEME://HOST`; undefined where the scheme is of no server.
 * Throws `KernelError` for what is none of these.
 */
export function serverAddress(wanted: string): string | undefined {
  const server = serverOf(wanted)
  if (server === undefined) return undefined
  const { scheme, title, port: usual } = server
  const { alone, host = '127.0.0.1', port = alone ?? String(usual) } = AN_ADDRESS.exec(wanted)?.groups ?? {}
  const isPort = Number(port) > 0 && Number(port) < 65_536
  if (AN_ADDRESS.test(wanted) && isPort)
    return `${scheme}://${host.toLowerCase() === 'localhost' ? '127.0.0.1' : host.toLowerCase()}:${Number(port)}`
  throw new KernelError('kernel_unavailable', {
    message: `${JSON.stringify(wanted)} is no address of a ${title}.`,
    next: `imago attach ${scheme}://${usual}, or ${scheme}://HOST:PORT`,
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

/** How a person joins a server. */
interface Joining {
  readonly address: string
  readonly server: Server
  readonly wanted: Insisting
}

/** Whoever reaches such a server can run anything in its image, and what is said there can be read on the way. */
export function refuseFar({ address, server, wanted }: Joining): void {
  const { hostname } = new URL(address)
  if (isLoopback(hostname) || (server.secret && wanted.anywhere)) return
  const insist = `\nIf the way there is safe all the same: imago attach ${address} --anywhere`
  throw new KernelError('kernel_unavailable', {
    message: `${hostname} is not this machine. ${server.danger}`,
    next: `${tunnel(address)}${server.secret ? insist : ''}`,
    details: { reason: 'not_loopback', address },
  })
}

function tunnel(address: string): string {
  const { protocol, hostname, port } = new URL(address)
  return `ssh -L ${port}:127.0.0.1:${port} ${hostname}   and beside it: imago attach ${protocol}//${port}`
}

export const isFar = (address: string): boolean => !isLoopback(new URL(address).hostname)

/** Written so that nothing has to look it up: what is no number of four parts would be asked of a name server. */
const isLoopback = (host: string) =>
  host === '[::1]' ||
  (/^127(\.(0|[1-9]\d{0,2})){3}$/.test(host) && host.split('.').every(part => Number(part) < 256))

/** Where the secret comes from, as `Attachment` has it. Throws `KernelError` where there is none to send, and one is wanted. */
export function secretFor(
  { address, server, wanted }: Joining,
  programs: Pick<Programs, 'homeSecret'>,
): 'key' | 'none' | 'home' {
  if (wanted.noSecret || !server.secret) return 'none'
  if (wanted.key !== undefined) return 'key'
  const home = programs.homeSecret()
  if (home.type === 'there') return 'home'
  if (home.type === 'flawed')
    throw new KernelError('kernel_unavailable', {
      message: `${home.path}, the secret for ${server.title}s, ${home.why}, so it is not used.`,
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
