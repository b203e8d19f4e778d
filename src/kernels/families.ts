import { startedOf } from '../../wire/process-start.ts'
import type { Announcements, Program, Programs } from '../../wire/programs.ts'
import { allOf, groupOf } from './programs.ts'
import type { NamedKernel } from './rows.ts'

/**
 * What a program is among the processes of its family. `supervisor`: it waits for a child that does its work. `helper`:
 * it works for its parent, and calls go there only by its name. `orphan`: a helper or a fork that has outlived its parent.
 */
export const STANDINGS = ['program', 'supervisor', 'helper', 'orphan'] as const

export type Standing = (typeof STANDINGS)[number]

/** What has been announced, and what each of them is to the others. */
export interface Family extends Announcements {
  placeOf(program: Program): FamilyPlace
  /** The process that started it, where that has announced itself and lives. */
  parentOf(program: Program): Program | undefined
}

/** What a kernel or a program is to the others of its family. */
export interface FamilyPlace {
  readonly standing: Standing
  /** Of an orphan: the process that has ended, its parent or that of an ancestor. */
  readonly leftBy?: number | undefined
  /** Its group, and those of the programs that it works for: all that `GROUP/*` may mean it by. */
  readonly groups: readonly string[]
  /** What `imago run` started has started it in turn, and it does not do the work of that. */
  readonly isStarted: boolean
}

/** Reads announcements. A supervisor stays one for as long as it lives, whatever has become of its children. */
export class Families {
  readonly #programs: Programs
  /** Whether something that is attached was started by that program to do its work. */
  readonly #hasServed: (program: Program) => boolean
  readonly #supervisors = new Set<string>()

  constructor(programs: Programs, hasServed: (program: Program) => boolean) {
    this.#programs = programs
    this.#hasServed = hasServed
  }

  read(): Family {
    const { programs, ends, skipped } = this.#programs.read()
    const serving = [...programs, ...ends.map(({ program }) => program)].filter(
      ({ role }) => role === 'serves',
    )
    const isSupervisor = (one: Program) =>
      this.#supervisors.has(processOf(one)) ||
      serving.some(child => isParent(one, child)) ||
      this.#hasServed(one)
    const supervisors = programs.filter(isSupervisor)
    this.#supervisors.clear()
    for (const one of supervisors) this.#supervisors.add(processOf(one))
    const parentOf = (child: Program) => programs.find(one => one.process === 'lives' && isParent(one, child))
    const standingOf = (one: Program, isLeft: boolean): Standing => {
      if (one.role !== 'helper' && this.#supervisors.has(processOf(one))) return 'supervisor'
      return isLeft ? 'orphan' : one.role === 'helper' ? 'helper' : 'program'
    }
    /** From its parent upwards; each once, whatever has been announced. */
    const ancestorsOf = (one: Program): readonly Program[] => {
      const found: Program[] = []
      for (let next = parentOf(one); next !== undefined && !found.includes(next); next = parentOf(next))
        found.push(next)
      return found
    }
    const placeOf = (one: Program): FamilyPlace => {
      const above = ancestorsOf(one)
      const left = isBranch(one)
        ? [one, ...above].find(
            each =>
              isBranch(each) &&
              each.process === 'lives' &&
              each.parent !== undefined &&
              !this.#programs.lives(each.parent),
          )
        : undefined
      const served = above.slice(0, above.findIndex(({ role }) => role !== 'helper') + 1)
      return {
        standing: standingOf(one, left !== undefined),
        leftBy: left?.parent,
        groups: [one, ...(one.role === 'helper' ? served : [])].map(groupOf),
        isStarted:
          (one.role === undefined || one.role === 'fork') &&
          above.some(({ role }) => role === 'main' || role === 'serves'),
      }
    }
    return { programs, ends, skipped, placeOf, parentOf }
  }
}

/** A rule about a program holds for those that work for it, too. */
export const servedNames = ({ groups: [, ...served] }: FamilyPlace): readonly string[] =>
  served.flatMap(group => [group, allOf(group)])

/** Whether it is expected to end with its parent. */
const isBranch = ({ role }: Program) => role === 'helper' || role === 'fork'

const processOf = ({ pid, started }: Program) => `${pid} ${started}`

/** A process that began after its child has been given the number of its parent. */
function isParent(one: Program, child: Program): boolean {
  return one.pid === child.parent && !(beganAt(one) > beganAt(child))
}

/** On Linux in ticks since the boot; elsewhere no number, which nothing comes after. */
const beganAt = ({ started }: Program) => Number(started.split(':')[1] ?? Number.NaN)

/** A command that starts its program again when a file changes. */
const RELOADS =
  /\s--(auto-?)?reload\b|\bfastapi dev\b|\bsanic\b.*\s--dev\b|(^|[\s/])(adev|hupper|watchfiles)\s/

/** What Django, Werkzeug and Bottle put into the environment of a child that they start again. */
const RELOADED = /RUN_MAIN$|^BOTTLE_CHILD$/

/** Whether a supervisor is known to start that child again when a file changes; most only keep workers alive. */
export function reloads(supervisor: Program, child: Program): boolean {
  if (child.reloaded === true) return true
  const [above, below] = [startedOf(supervisor.pid), startedOf(child.pid)]
  const has = above?.env() ?? {}
  const isNew = (name: string) => RELOADED.test(name) && has[name] === undefined
  return RELOADS.test(above?.words.join(' ') ?? '') || Object.keys(below?.env() ?? {}).some(isNew)
}

/** Whose a process was that has outlived its parent, as a clause. */
export const leftBy = (name: string, parent: number | null | undefined): string =>
  `left over by ${name.replace(/-worker$/, '')} (process ${parent}), which has ended`

/** One that a call without a name may be for: a kernel that lives, or a program that listens. */
export interface Candidate extends Omit<FamilyPlace, 'groups'> {
  readonly name: string
  readonly group: string
  readonly kernel?: NamedKernel
  readonly program?: Program
}

/** What lives or listens in a root. */
export interface Roster {
  /** One of these is meant where none is named: neither helpers, nor what another of them has started. */
  readonly firsts: readonly Candidate[]
  /** A look that names none is for all of these: those, and what they have started that bears their name. */
  readonly members: readonly Candidate[]
  readonly others: readonly Candidate[]
  /** Something lives there that only starts a program. */
  readonly isDown: boolean
}

/** `all` live or listen. What another program has started is meant first only where it is alone. */
export function rosterOf(all: readonly Candidate[], isDown: boolean): Roster {
  const own = all.filter(({ standing }) => standing === 'program')
  const begun = own.filter(({ isStarted }) => !isStarted)
  const firsts = begun.length > 0 ? begun : own
  const groups = new Set(firsts.map(({ group }) => group))
  const members = own.filter(one => !one.isStarted || groups.has(one.group))
  return { firsts, members, others: all.filter(one => !members.includes(one)), isDown }
}

/** The process that answers, and what else could have been meant. */
export interface Besides {
  readonly pid: number
  readonly names: readonly string[]
}

/** What else a call could have meant that has named none, as far as it may be named to its caller. */
export function besidesOf(
  { name, pid }: { readonly name: string; readonly pid: number },
  { members, others }: Pick<Roster, 'members' | 'others'>,
  { mayName = () => true }: { readonly mayName?: ((kernel: string) => boolean) | undefined },
): Besides | undefined {
  if (members.length + others.length < 2) return undefined
  const names = [...members, ...others]
    .filter(one => one.standing !== 'orphan' && one.name !== name && mayName(one.name))
    .map(one => one.name)
  return names.length === 0 ? undefined : { pid, names }
}

export const isFull = <Item>(items: readonly Item[]): items is readonly [Item, ...Item[]] => items.length > 0

export const isSameList = <Item>(items: readonly Item[], others: readonly Item[]): boolean =>
  items.length === others.length && items.every((item, index) => item === others[index])

export const onlyOne = <Item>(items: readonly Item[]): Item | undefined =>
  items.length === 1 ? items[0] : undefined
