import { basename } from 'node:path'
import { nearest } from '../../tools/nearest.ts'
import { SERVERS } from '../../wire/languages.ts'
import { startedOf } from '../../wire/process-start.ts'
import type { Announcements, Program, Programs, SkippedFile } from '../../wire/programs.ts'
import { isOfProject, nameFrom, realOf } from '../files/roots.ts'
import { KernelError } from './kernel-error.ts'
import { serverAddress } from './servers.ts'

/** What a person wants to attach to: an address, and the program that has announced itself there, if any. */
export interface Target {
  readonly address: string
  readonly program: Program | undefined
}

/** A process that `imago run` has started, and that does not listen because of what it was started with. */
export interface SilentProcess {
  readonly pid: number
  /** Its command. */
  readonly words: string
  /** Where the run was begun. */
  readonly cwd: string
  /** Goes on from the process, without a full stop; `mend` is a sentence that may end with a command. */
  readonly why: string
  readonly mend: string
}

/** What is announced, and what each is to the others: see `families.ts`. */
interface Family extends Announcements {
  placeOf(program: Program): { readonly standing: string }
  parentOf(program: Program): Program | undefined
}

/**
 * What NAME, PID, NAME-PID or an address stands for. Throws `KernelError` for none, for several, and for one that has
 * ended: `no_such_kernel`. `within`: programs that run elsewhere are not meant, and not told.
 */
export async function findTarget(
  wanted: string,
  {
    programs,
    family,
    silent = [],
    within,
  }: { programs: Programs; family: Family; silent?: readonly SilentProcess[]; within?: string | undefined },
): Promise<Target> {
  const { programs: all, skipped } = family
  const read = within === undefined ? all : all.filter(one => isOfProject(realOf(one.cwd), within))
  const address = addressOf(wanted)
  if (address !== undefined) {
    const program = read.find(one => one.address === address)
    if (program !== undefined || !all.some(one => one.address === address)) return { address, program }
  }
  const named = read.filter(one => isCalled(one, wanted))
  const there = await whoAnswer(named, programs)
  const meant = there.filter(one => family.placeOf(one).standing === 'program')
  // One that names a process which has gone may be of another machine's, or a lie.
  const living = meant.filter(one => one.process === 'lives')
  const [only, ...others] = [meant, living].find(({ length }) => length === 1) ?? there
  if (only === undefined)
    throw named[0]
      ? hasEnded(wanted, named[0])
      : unknown(wanted, {
          read: await whoAnswer(read, programs),
          skipped,
          programs,
          // Without a name of its own, it would have been called by its folder's.
          silent: silent.find(
            ({ pid, cwd }) =>
              (String(pid) === wanted || basename(cwd) === wanted) &&
              (within === undefined || isOfProject(realOf(cwd), within)),
          ),
          isElsewhere: all.some(one => isCalled(one, wanted) || one.address === address),
        })
  if (others.length > 0) throw several(wanted, there, family)
  return { address: only.address, program: only }
}

/** Those that are there. One whose process lives is not asked; it may well be busy. */
export async function whoAnswer(read: readonly Program[], programs: Programs): Promise<readonly Program[]> {
  const there = await Promise.all(
    read.map(async one => one.process === 'lives' || (await programs.isReachable(one))),
  )
  return read.filter((_, index) => there[index])
}

/** The shortest word that stands for this program alone. */
export function handleOf(program: Program, among: readonly Program[]): string {
  const others = among.filter(one => one.name === program.name)
  return others.length > 1 ? fullName(program) : program.name
}

/** The same for each life of a program, and for no other: its name, file and folder; without a file, where it listens. */
export const programKey = ({
  name,
  program,
  cwd,
  address,
}: Pick<Program, 'name' | 'program' | 'cwd' | 'address'>) => [name, program || address, cwd].join('\0')

/** What it and others that announce the same name are members of: what their kernels are called by. */
export const groupOf = ({ name }: Pick<Program, 'name'>): string => nameFrom(name, 'program')

/** What stands for all that live under that name. */
export const allOf = (group: string): string => `${group}${ALL_OF_GROUP}`

export const ALL_OF_GROUP = '/*'

/** Said where one is needed, and the name of several was given; without its full stop. */
export const groupFor = (name: string): string | undefined =>
  name.endsWith(ALL_OF_GROUP) ? `${name} means all of a group, and this is for one` : undefined

/** Never stands for another one. */
export const fullName = ({ name, pid }: Pick<Program, 'name' | 'pid'>) => `${name}-${pid}`

/** A process as it has announced itself, or as its record of errors tells. */
export type Announced = Pick<Program, 'name' | 'started' | 'parent' | 'works_for'> & {
  readonly pid: number | undefined
}

/**
 * Every name by which a rule can mean a process, besides those of kernels: what it calls itself, its group's, its
 * number, and the same of the programs that it works for.
 */
export function namesOf({ name, pid, parent, works_for: programs = [] }: Announced): readonly string[] {
  const of = (name: string, pid: number | undefined) => {
    const group = groupOf({ name })
    return [name, group, allOf(group), ...(pid === undefined ? [] : [String(pid), fullName({ name, pid })])]
  }
  return [...of(name, pid), ...programs.flatMap(program => of(program, parent))]
}

/** Whether a text stands for that program: its name, its process number, or both. */
export const isCalled = (one: Program, wanted: string) =>
  one.name === wanted || String(one.pid) === wanted || fullName(one) === wanted

/** Whether a person who attaches means it: by one of these, or by its address. */
export const isTarget = (wanted: string) => {
  const address = addressOf(wanted)
  return (one: Program) => isCalled(one, wanted) || one.address === address
}

/** An address as the wire spells it; undefined if it is a name. Which addresses can be reached is for it to say. */
function addressOf(wanted: string): string | undefined {
  if (wanted.startsWith('unix:')) return wanted
  if (!wanted.startsWith('tcp:')) return serverAddress(wanted)
  return wanted.replace(/^tcp:localhost:/, 'tcp:127.0.0.1:')
}

/** Why what `imago run` has started does not listen: a sentence that goes on. */
export const becauseOf = (silent: SilentProcess | undefined): string =>
  silent === undefined ? '' : ` Process ${silent.pid} (${silent.words}) ${silent.why}.`

function unknown(
  wanted: string,
  {
    read,
    skipped,
    programs,
    silent,
    isElsewhere,
  }: {
    read: readonly Program[]
    skipped: readonly SkippedFile[]
    programs: Programs
    silent: SilentProcess | undefined
    isElsewhere: boolean
  },
): KernelError {
  const names = [...new Set(read.map(one => handleOf(one, read)))]
  const like = nearest(wanted, [...new Set([...read.map(({ name }) => name), ...names])])
  const passed = skipped.map(({ file, reason }) => ` ${file} ${reason}, and is not looked at.`).join('')
  const served = SERVERS.map(
    ({ title, scheme, port }) => `   For a ${title}: imago attach ${scheme}://${port}`,
  )
  const isUnheard = !isElsewhere && /^\d+$/.test(wanted) && programs.lives(Number(wanted))
  const how =
    isUnheard && isNotebook(startedOf(Number(wanted))?.words ?? [])
      ? `It ${A_NOTEBOOK.why}. ${A_NOTEBOOK.mend}`
      : (silent?.mend ?? `To have it listen, ${HAVE_IT_LISTEN}${served.join('')}`)
  const others =
    names.length > 0 ? ` There are: ${names.join(', ')}.` : ' No other program has announced itself.'
  const there = isUnheard ? (names.length > 0 ? others : '') : `${becauseOf(silent)}${others}`
  const missing = isUnheard
    ? `Process ${wanted} lives and does not listen${silent === undefined ? '' : `: it ${silent.why}`}`
    : isElsewhere
      ? `Only a person at a terminal attaches to what runs in another project, as ${JSON.stringify(wanted)} does`
      : (groupFor(wanted) ?? `No program has announced itself as ${JSON.stringify(wanted)}`)
  return new KernelError('no_such_kernel', {
    message: `${missing} (looked in ${programs.folder}).${there}${passed}`,
    next: like[0] === undefined ? how : `Did you mean ${like.join(', ')}?`,
    details: { reason: 'not_announced', announced: names, nearest: like },
  })
}

/** What others have started comes first: it is what does the work, where one of them only starts the other anew. */
function several(wanted: string, found: readonly Program[], family: Family): KernelError {
  const isChild = (one: Program) => family.parentOf(one) !== undefined
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

/** What a person does with a program that does not listen: the end of a sentence, which commands follow. */
export const HAVE_IT_LISTEN =
  'start it with: imago run -- COMMAND   or add this line to it: import imago; imago.listen()'

/** Whether the words of a command start the kernel of a notebook. */
export const isNotebook = (words: readonly string[]) =>
  words.some(word => /(^|\/)ipykernel(_launcher)?(\.py|\/__main__\.py)?$/.test(word))

/** One that does not listen. */
export const A_NOTEBOOK = {
  words: 'a notebook',
  why: 'is the kernel of a notebook',
  mend: 'In a cell of it: %load_ext imago   Where Python finds no imago: pip install "$(imago runtime python)"',
}
