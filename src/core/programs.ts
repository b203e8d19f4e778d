import type { Kernel } from '../../wire/kernel.ts'
import { KernelError } from './kernel-error.ts'
import { nearest } from './nearest.ts'

/** A program that has said that it can be attached to. Its secret is no part of this. */
export interface Program {
  /** Its own; several may have one name. */
  readonly name: string
  readonly language: string
  readonly implementation: string
  readonly pid: number
  /** When its process began, in the words of the system. */
  readonly started: string
  /** The process that started it. */
  readonly parent?: number | undefined
  readonly address: string
  readonly epoch: string
  readonly cwd: string
  /** What it was started as; empty where there is no such thing. */
  readonly program: string
  readonly announced_at: string
  /** It was given a key, which it has not announced: a person has to give it. */
  readonly keyed: boolean
  /** `gone` and `recycled`, where its number is another process's now, are said of one in another namespace too. */
  readonly process: 'lives' | 'gone' | 'recycled'
  /** Where it says so. */
  readonly file: string
}

/** A file that stands among the announcements and is not taken for one; `reason` goes on from its name. */
export interface SkippedFile {
  readonly file: string
  readonly reason: string
}

/** How the kernels reach programs that are not ours. */
export interface Programs {
  read(): { readonly programs: readonly Program[]; readonly skipped: readonly SkippedFile[] }
  /** Whether somebody listens where the program has said; what one that has ended left over is then removed. */
  isReachable(program: Program): Promise<boolean>
  /** Joins it. Throws a `WireError`. */
  attach(joining: Joining): Promise<Kernel>
  /** Joins that image again as soon as it can be; resolves with a sentence where it never can, or `signal` aborts. */
  rejoin(
    joining: Joining & { readonly epoch: string; readonly signal: AbortSignal },
  ): Promise<Kernel | string>
}

/** Where nothing outside can be attached to. */
export const NO_PROGRAMS: Programs = {
  read: () => ({ programs: [], skipped: [] }),
  isReachable: async () => false,
  attach: () => Promise.reject(new Error('there are no programs here')),
  rejoin: async () => 'there are no programs here',
}

/** A program to be joined. */
export interface Joining {
  /** What it is called here. */
  readonly name: string
  readonly address: string
  readonly process: ProgramProcess | null
  /** Its secret, as a person gave it; without, it is the one that the program has announced. */
  readonly key: string | undefined
  background(text: string): void
  /** Its link broke, and why; null once it is there again. */
  away(why: string | null): void
}

export interface ProgramProcess {
  readonly pid: number
  readonly started: string
  /** It was seen to live, so that not seeing it any more means that it has ended. */
  readonly seen: boolean
}

/** What a person wants to attach to: an address, and the program that has announced itself there, if any. */
export interface Target {
  readonly address: string
  readonly program: Program | undefined
}

/**
 * What NAME, PID, NAME-PID or an address stands for. Throws `KernelError` for none, for several, and for one that has
 * ended: `no_such_kernel`.
 */
export async function findTarget(wanted: string, programs: Programs): Promise<Target> {
  const { programs: read, skipped } = programs.read()
  const address = addressOf(wanted)
  if (address !== undefined) {
    return { address, program: newest(read.filter(one => one.address === address)) }
  }
  const named = read.filter(one => isMeant(one, wanted))
  const there = await whoAnswer(named, programs)
  const [only, ...others] = there
  if (only === undefined)
    throw named[0]
      ? hasEnded(wanted, named[0])
      : unknown(wanted, { read: await whoAnswer(read, programs), skipped })
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

/** Never stands for another one. */
export const fullName = ({ name, pid }: Program) => `${name}-${pid}`

const isMeant = (one: Program, wanted: string) =>
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
  if (!wanted.startsWith('tcp:')) return undefined
  return wanted.replace(/^tcp:localhost:/, 'tcp:127.0.0.1:')
}

function unknown(
  wanted: string,
  { read, skipped }: { read: readonly Program[]; skipped: readonly SkippedFile[] },
): KernelError {
  const names = [...new Set(read.map(one => handleOf(one, read)))]
  const like = nearest(wanted, [...new Set([...read.map(({ name }) => name), ...names])])
  const there = names.length === 0 ? 'None has, at present.' : `There are: ${names.join(', ')}.`
  const passed = skipped.map(({ file, reason }) => ` ${file} ${reason}, and is not looked at.`).join('')
  const how = 'In the program: import imago; imago.listen()'
  return new KernelError('no_such_kernel', {
    message: `No program has announced itself as ${JSON.stringify(wanted)}. ${there}${passed}`,
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
