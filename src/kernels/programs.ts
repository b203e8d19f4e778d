import type { WireError } from '../../wire/errors.ts'
import type { Program, ProgramEnd, Programs, SkippedFile } from '../../wire/programs.ts'
import { isWithin, nameFrom, realOf } from '../files/roots.ts'
import { nearest } from '../text/nearest.ts'
import { KernelError } from './kernel-error.ts'

/** Where nothing outside can be attached to. */
export const NO_PROGRAMS: Programs = {
  read: () => ({ programs: [], ends: [], skipped: [] }),
  folder: '',
  version: () => '',
  lives: () => false,
  isReachable: async () => false,
  homeSecret: () => ({ type: 'missing', path: '~/.slime-secret' }),
  attach: () => Promise.reject(new Error('there are no programs here')),
  rejoin: async () => 'there are no programs here',
}

/** What a person wants to attach to: an address, and the program that has announced itself there, if any. */
export interface Target {
  readonly address: string
  readonly program: Program | undefined
}

/**
 * What NAME, PID, NAME-PID or an address stands for. Throws `KernelError` for none, for several, and for one that has
 * ended: `no_such_kernel`. `within`: programs that run elsewhere are not meant, and not told.
 */
export async function findTarget(wanted: string, programs: Programs, within?: string): Promise<Target> {
  const announced = programs.read()
  const { programs: all, skipped } = announced
  const read = within === undefined ? all : all.filter(one => isWithin(realOf(one.cwd), within))
  const address = addressOf(wanted)
  if (address !== undefined) {
    const there = (one: Program) => one.address === address
    const program = newest(read.filter(there))
    if (program !== undefined || !all.some(there)) return { address, program }
  }
  const named = read.filter(one => isCalled(one, wanted))
  const there = await whoAnswer(named, programs)
  const workers = there.filter(one => !isSupervisor(one, announced))
  const [only, ...others] = workers.length === 1 ? workers : there
  if (only === undefined)
    throw named[0]
      ? hasEnded(wanted, named[0])
      : unknown(wanted, {
          read: await whoAnswer(read, programs),
          skipped,
          programs,
          isElsewhere: all.some(one => isCalled(one, wanted) || one.address === address),
        })
  if (others.length > 0) throw several(wanted, there)
  return { address: only.address, program: only }
}

/** Those that are there. One whose process lives is not asked; it may well be busy. */
export async function whoAnswer(read: readonly Program[], programs: Programs): Promise<readonly Program[]> {
  const there = await Promise.all(
    read.map(async one => one.process === 'lives' || (await programs.isReachable(one))),
  )
  return read.filter((one, index) => there[index] && one === newest(read.filter(other => isSame(one, other))))
}

/** The shortest word that stands for this program alone. */
export function handleOf(program: Program, among: readonly Program[]): string {
  const others = among.filter(one => one.name === program.name)
  return others.length > 1 ? fullName(program) : program.name
}

/** The process that started it, where that is one of these too: of a server and the one that reloads it, say. */
export const parentOf = ({ parent }: Program, among: readonly Program[]): number | null =>
  among.find(({ pid, process }) => pid === parent && process === 'lives')?.pid ?? null

/** Programs as they have announced themselves, and what others have said of their own end. */
export interface Announcements {
  readonly programs: readonly Program[]
  readonly ends: readonly ProgramEnd[]
}

/**
 * Whether it only starts another one of its name again and again, as the reloaders of web frameworks do: a child of it
 * lives, or has said how it ended, and has announced the same name for the same project.
 */
export function isSupervisor({ pid, name, cwd }: Program, { programs, ends }: Announcements): boolean {
  const isChild = (one: Program) => one.parent === pid && one.name === name && one.cwd === cwd
  return (
    programs.some(one => one.process === 'lives' && isChild(one)) ||
    ends.some(({ program }) => isChild(program))
  )
}

/** What it and others that announce the same name are members of: what their kernels are called by. */
export const groupOf = ({ name }: Pick<Program, 'name'>): string => nameFrom(name, 'program')

/** Never stands for another one. */
export const fullName = ({ name, pid }: Program) => `${name}-${pid}`

/** Whether a text stands for that program: its name, its process number, or both. */
export const isCalled = (one: Program, wanted: string) =>
  one.name === wanted || String(one.pid) === wanted || fullName(one) === wanted

/** A process that had to listen anew may not have been able to take back what it said before. */
const isSame = (one: Program, other: Program) => one.pid === other.pid && one.epoch === other.epoch

function newest(programs: readonly Program[]): Program | undefined {
  return programs.reduce<Program | undefined>(
    (last, one) => (last === undefined || one.announced_at > last.announced_at ? one : last),
    undefined,
  )
}

/** An address as the wire spells it; undefined if it is a name. Which addresses can be reached is for it to say. */
function addressOf(wanted: string): string | undefined {
  if (wanted.startsWith('unix:')) return wanted
  if (isServed(wanted)) return serverAddress(wanted)
  if (!wanted.startsWith('tcp:')) return undefined
  return wanted.replace(/^tcp:localhost:/, 'tcp:127.0.0.1:')
}

function unknown(
  wanted: string,
  {
    read,
    skipped,
    programs,
    isElsewhere,
  }: {
    read: readonly Program[]
    skipped: readonly SkippedFile[]
    programs: Programs
    isElsewhere: boolean
  },
): KernelError {
  const names = [...new Set(read.map(one => handleOf(one, read)))]
  const like = nearest(wanted, [...new Set([...read.map(({ name }) => name), ...names])])
  const passed = skipped.map(({ file, reason }) => ` ${file} ${reason}, and is not looked at.`).join('')
  const how = `To have it listen, ${HAVE_IT_LISTEN}   For a Lisp with Swank: imago attach swank://4005`
  const deaf = !isElsewhere && /^\d+$/.test(wanted) && programs.lives(Number(wanted))
  const there =
    names.length > 0
      ? ` There are: ${names.join(', ')}.`
      : deaf
        ? ''
        : ' No other program has announced itself.'
  const missing = deaf
    ? `Process ${wanted} lives and does not listen`
    : isElsewhere
      ? `Only a person at a terminal attaches to what runs in another project, as ${JSON.stringify(wanted)} does`
      : `No program has announced itself as ${JSON.stringify(wanted)}`
  return new KernelError('no_such_kernel', {
    message: `${missing} (looked in ${programs.folder}).${there}${passed}`,
    next: like[0] === undefined ? how : `Did you mean ${like.join(', ')}?`,
    details: { reason: 'not_announced', announced: names, nearest: like },
  })
}

/** What others have started comes first: it is what does the work, where one of them only starts the other anew. */
function several(wanted: string, found: readonly Program[]): KernelError {
  const isChild = (one: Program) => parentOf(one, found) !== null
  const programs = [...found.filter(isChild), ...found.filter(one => !isChild(one))]
  const described = (one: Program) => {
    const child = isChild(one) ? `, child of ${one.parent}` : ''
    return `${fullName(one)} (in ${one.cwd}${child})`
  }
  const names = programs.map(fullName)
  const [first] = names
  return new KernelError('no_such_kernel', {
    message: `${programs.length} programs are called ${JSON.stringify(wanted)}: ${programs.map(described).join(', ')}.`,
    next: `Name one: imago attach ${first}`,
    details: { reason: 'several', announced: names },
  })
}

function hasEnded(wanted: string, { pid, process, address }: Program): KernelError {
  const recycled = process === 'recycled'
  const now = recycled ? `, and ${pid} is the number of another process now, which was left alone` : ''
  return new KernelError('no_such_kernel', {
    message: `${JSON.stringify(wanted)} has ended: process ${pid} is gone${now}, and nobody listens at ${address}.`,
    next: 'Start the program again, and then: imago attach',
    details: { reason: recycled ? 'recycled' : 'ended', pid },
  })
}

/** Servers that programs listen by, other than ours, and the port of each unless it is told another one. */
const SERVERS = {
  swank: { title: 'Swank server', port: 4005 },
  wstp: { title: 'wstpserver', port: 31415 },
} as const

const AN_ADDRESS =
  /^(?<scheme>swank|wstp):\/\/(?:(?<alone>\d{1,5})|(?<host>\[[\da-f:.]+\]|[\w.-]+)(?::(?<port>\d{1,5}))?)\/?$/i

const schemeOf = (address: string): keyof typeof SERVERS | undefined =>
  (['swank', 'wstp'] as const).find(scheme => address.startsWith(`${scheme}:`))

/** Whether it is the address of a server that is not ours. */
export const isServed = (address: string): boolean => schemeOf(address) !== undefined

export const isSwank = (address: string): boolean => schemeOf(address) === 'swank'

const isWstp = (address: string): boolean => schemeOf(address) === 'wstp'

/** `swank://HOST:PORT` in full, for that, `swank://PORT`, or `swank://HOST`; so for `wstp`. Throws `KernelError` for what is neither. */
export function serverAddress(wanted: string): string {
  const scheme = schemeOf(wanted) ?? 'swank'
  const { title, port: usual } = SERVERS[scheme]
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

/**
 * Whoever reaches such a server can run anything in its image, and what is said there can be read on the way. A wstpserver
 * asks nobody who they are, so that it is only joined on this machine, or through a tunnel.
 */
export function refuseFar(address: string, { anywhere = false }: Insisting): void {
  const { hostname } = new URL(address)
  if (isLoopback(hostname)) return
  if (isWstp(address))
    throw new KernelError('kernel_unavailable', {
      message:
        `${hostname} is not this machine. A wstpserver asks nobody who they are and encrypts nothing: whoever reaches it ` +
        'can run anything in its kernels. It belongs behind --interface 127.0.0.1, and a tunnel leads there.',
      next: tunnel(address),
      details: { reason: 'not_loopback', address },
    })
  if (anywhere) return
  throw new KernelError('kernel_unavailable', {
    message:
      `${hostname} is not this machine. Swank encrypts nothing, its secret included, and whoever has read that on the ` +
      'way can run anything in your image.',
    next:
      `${tunnel(address)}\n` + `If the way there is safe all the same: imago attach ${address} --anywhere`,
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
  address: string,
  { wanted, programs }: { wanted: Insisting; programs: Programs },
): 'key' | 'none' | 'home' {
  if (wanted.noSecret || isWstp(address)) return 'none'
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

/** What a person does with a program that does not listen: the end of a sentence, which commands follow. */
export const HAVE_IT_LISTEN =
  'start it with: imago run -- COMMAND   or add this line to it: import imago; imago.listen()'

/** What listens again, and how it goes on doing so. */
export const LISTEN = '(swank:create-server :dont-close t)'

/** Why such a server could not be joined, and what to do about it besides what the fault itself says. */
export function explainedServer(
  error: WireError,
  { address }: { address: string },
): readonly [string, string] {
  if (!isWstp(address)) return [error.message, nextAfter(error.code, address)]
  if (error.code === 'KERNEL_NOT_FOUND') return [error.message, 'imago doctor shows what there is.']
  const { port } = new URL(address)
  return [
    `No kernel was had at ${address}. ${error.message}`,
    `wstpserver --interface 127.0.0.1 --port ${port} serves kernels (12.2 and newer). One that a front end, such as a notebook, holds ` +
      'cannot be joined: imago start begins one of its own.',
  ]
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
