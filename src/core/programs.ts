import type { Program, Programs, SkippedFile } from '../../wire/programs.ts'
import { KernelError } from './kernel-error.ts'
import { nearest } from './nearest.ts'
import { isSwank, swankAddress } from './swank-servers.ts'

/** Where nothing outside can be attached to. */
export const NO_PROGRAMS: Programs = {
  read: () => ({ programs: [], skipped: [] }),
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
  if (isSwank(wanted)) return swankAddress(wanted)
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
  const how =
    'In the program: import imago; imago.listen()   For a Lisp with Swank: imago attach swank://4005'
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
