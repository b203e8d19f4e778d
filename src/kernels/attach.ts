import type { ProjectKernel } from '../../tools/contract.ts'
import { messageOf } from '../../wire/errors.ts'
import { DEFAULT_LANGUAGE, languageAt } from '../../wire/languages.ts'
import { foldersOf, isOfAnother, listensAt } from '../../wire/process-start.ts'
import type { Program, ProgramEnd, Programs } from '../../wire/programs.ts'
import { isOfProject, nameFrom, realOf } from '../files/roots.ts'
import type { AnnouncedPrograms, AnnouncedRow } from './announced-row.ts'
import { AttachedKernel, type AttachmentDraft } from './attached-kernel.ts'
import { type Attachment, type AttachmentStore, MOST_NAMES, type ProcessName } from './attachment-store.ts'
import {
  Families,
  type Family,
  type FamilyPlace,
  isFull,
  leftBy,
  reloads,
  type Standing,
  servedNames,
} from './families.ts'
import { KernelError } from './kernel-error.ts'
import type { KernelNames } from './kernel-names.ts'
import {
  A_NOTEBOOK,
  type Announced,
  findTarget,
  fullName,
  groupOf,
  handleOf,
  isNotebook,
  isTarget,
  namesOf,
  programKey,
  type SilentProcess,
  type Target,
  whoAnswer,
} from './programs.ts'
import { attachedAlready, GIVE_KEY, isOwned, notAttached, wayBack, withKey } from './refusals.ts'
import type { KernelOptions, KernelRow, NamedKernel } from './rows.ts'
import { type Insisting, refuseFar, secretFor, serverOf } from './servers.ts'

/** What a person attaches to, and as what. */
export interface Attach extends Insisting {
  /** A name, a process number, NAME-PID, or an address. */
  readonly target: string
  readonly name?: string | undefined
  /** The project of whoever asks: its unnamed calls go there. */
  readonly root: string
  /** The program's secret, where it has not announced one. */
  readonly key?: string | undefined
  /** The file that a person has named for it; what is announced does not count then. */
  readonly keyFile?: string | undefined
  /** The errors that servers of a Lisp program catch are to be noted. */
  readonly errors?: boolean | undefined
  /** Whoever asks is not to attach to a program that runs outside this folder, which is without links. */
  readonly within?: string | undefined
}

interface AttachmentsOptions extends KernelOptions {
  readonly programs: Programs
  readonly store: AttachmentStore
  /** What `imago run` has started and cannot listen. */
  silent(): readonly SilentProcess[]
  /** All kernels by name, where attached ones stand among the others. */
  readonly kernels: KernelNames
}

/** A program that could be attached to. */
export interface Listening extends Program, FamilyPlace {}

/** How the list of a project tells what listens. */
const STATE_OF: Readonly<Record<Standing, string>> = {
  program: 'listens',
  supervisor: 'supervisor',
  helper: 'helper',
  orphan: 'orphan',
}

/** Who could take the place of a program that has ended, and for which others they could do that. */
interface Succession {
  readonly free: readonly Program[]
  readonly ends: readonly ProgramEnd[]
  readonly rivals: readonly AttachedKernel[]
}

/** How often successors are looked for, in ms. */
const FOLLOW_MS = 250

/** How long the end of a link is waited for whose process is gone, in ms. One of another machine is not seen, and stays. */
const ENDING_MS = 1_000

/** Attaches to programs and lets go of them, for the kernels by name. */
export class Attachments {
  readonly #options: AttachmentsOptions
  /** Programs that are being attached to for calls, by their addresses. */
  readonly #joining = new Map<string, Promise<NamedKernel>>()
  /** Runs while a program that has ended may be followed by another one. */
  #following: NodeJS.Timeout | undefined
  /** The announcements as they were when successors were last looked for. */
  #lookedAt = ''
  readonly #families: Families
  /** The family as the announcements were at that time. */
  #family: Family | undefined
  #familyAt = ''
  /** Under which names processes were attached, by this daemon and those before it; the latest last. */
  #names: readonly ProcessName[] = []

  constructor(options: AttachmentsOptions) {
    this.#options = options
    this.#families = new Families(options.programs, one =>
      this.#attached().some(kernel => kernel.isServedFor(one)),
    )
  }

  /** Throws `KernelError`. */
  async attach(asked: Attach): Promise<KernelRow> {
    const target = await this.#target(asked)
    // Two links to one program are one too many.
    await this.#joining.get(target.address)?.catch(() => {})
    return this.#attach(asked, target)
  }

  #target({ target, within }: Attach): Promise<Target> {
    const { programs } = this.#options
    return findTarget(target, { programs, family: this.#families.read(), silent: this.#silent(), within })
  }

  async #attach(asked: Attach, target: Target): Promise<KernelRow> {
    const { kernels, programs } = this.#options
    // The link of a process that is gone says so a moment later, and its name is free then for what was started again.
    const ending = this.#attached().filter(one => this.#isEnding(one))
    await Promise.all(ending.map(one => one.settled(ENDING_MS)))
    const { address, program } = target
    const process = processOf(program)
    const already = this.#attached().find(one => one.alive && one.is({ address, process }))
    if (already) throw attachedAlready(already.row(), asked.within)
    const secret = secretOf(target, { asked, programs })
    const root = realOf(asked.root)
    const name = asked.name === undefined ? this.nameFor(target, root) : kernels.checked(asked.name)
    const former = kernels.get(name)
    const { name: announced = null, cwd = null, parent, role, works_for, announced_at } = program ?? {}
    const kernel = this.#add({
      ...{ name, root, address, process, announced, cwd, parent, role, works_for, announced_at, secret },
      language: program?.language ?? languageAt(address).name,
      program: program?.program || null,
      ...(asked.errors && { errors: true }),
    })
    const key = isKept(secret) ? undefined : asked.key
    try {
      await kernel.join(key)
    } catch (error) {
      if (former) kernels.set(name, former)
      else kernels.delete(name)
      throw notAttached(error, { target, key, silent: this.#silent() })
    }
    for (const one of this.#attached()) if (one.isPastBeside(kernel)) kernels.delete(one.name)
    this.#remember()
    return kernel.row()
  }

  /**
   * The programs of a project that could be attached to, and are not, helpers among them; `root` is without links. `keyed`:
   * those that were given a key, which a person alone attaches.
   */
  joinable(root: string, { keyed = false } = {}): readonly Listening[] {
    const family = this.#families.read()
    return this.#unattached(family.programs)
      .filter(one => livesIn(one, root) && one.keyed === keyed)
      .map(one => ({ ...one, ...family.placeOf(one) }))
      .filter(({ standing }) => standing !== 'supervisor')
  }

  /** The program of a project, no helper, that a person alone attaches with its key, as far as a caller may be told of it. */
  keyedIn(root: string, mayName: (name: string) => boolean = () => true): Listening | undefined {
    const isTold = ({ standing, name }: Listening) => standing === 'program' && mayName(name)
    return this.joinable(root, { keyed: true }).find(isTold)
  }

  /** Those of `joinable` without fellow workers of one that is about to be known to have ended: one of them takes its place. */
  settled(root: string): readonly Listening[] {
    const ending = this.#attached().filter(one => this.#isEnding(one))
    return this.joinable(root).filter(one => !ending.some(kernel => kernel.isBeside(one)))
  }

  /**
   * Those that calls without a name may be for: nor are fellow workers of one that has ended and is followed, as whoever
   * has called into the one is not sent to another.
   */
  unclaimed(root: string): readonly Listening[] {
    const ended = this.#attached().filter(one => one.isFollowed || this.#isEnding(one))
    return this.joinable(root).filter(one => !ended.some(kernel => kernel.isBeside(one)))
  }

  /** Programs that listen and are the next life of one that has ended: what has begun after its end. */
  listeningAfter({ alive, root, program, endedOn = '' }: NamedKernel): readonly Listening[] {
    if (alive) return []
    const isNext = (one: Listening) =>
      one.standing !== 'orphan' && programKey(one) === program && one.announced_at > endedOn
    return this.unclaimed(root).filter(isNext)
  }

  #isEnding({ alive, pid }: AttachedKernel): boolean {
    return alive && pid !== undefined && !this.#options.programs.lives(pid)
  }

  /** What a kernel is in its family, as far as it has announced itself: what has not is a program of its own. */
  placeOf(kernel: NamedKernel): FamilyPlace {
    const none: FamilyPlace = { standing: 'program', groups: [kernel.group], isStarted: false }
    if (!(kernel instanceof AttachedKernel)) return none
    const family = this.#readFamily()
    const program = family.programs.find(one => kernel.is(placeOf(one)))
    if (program === undefined) return kernel.isHelper ? { ...none, standing: 'helper' } : none
    return family.placeOf(program)
  }

  /** Whether what has started it does so again when a file changes. */
  isReloaded(kernel: NamedKernel | undefined): boolean {
    if (!(kernel instanceof AttachedKernel)) return false
    const family = this.#readFamily()
    const program = family.programs.find(one => kernel.is(placeOf(one)))
    const parent = program && family.parentOf(program)
    return program !== undefined && parent !== undefined && reloads(parent, program)
  }

  /** The family as it was announced, which is read again once that has changed. */
  #readFamily(): Family {
    const version = this.#options.programs.version()
    if (this.#family === undefined || version !== this.#familyAt) {
      this.#family = this.#families.read()
      this.#familyAt = version
    }
    return this.#family
  }

  /** Whether something lives there that only starts a program. */
  supervises(root: string): boolean {
    const { programs, placeOf } = this.#families.read()
    return programs.some(one => livesIn(one, root) && placeOf(one).standing === 'supervisor')
  }

  /** What has ended by an exception in that project: the last one that did. */
  lastEnd(root: string): ProgramEnd | undefined {
    const { ends } = this.#families.read()
    return ends.findLast(({ program }) => isOfProject(realOf(program.cwd), root))
  }

  /** The program that is attached in that project under another name, and is called so by itself and its process. */
  attachedAs(name: string, root: string): NamedKernel | undefined {
    return this.#attached().find(
      kernel => (kernel.alive || kernel.mayListenAgain) && kernel.root === root && kernel.isCalled(name),
    )
  }

  /** Programs anywhere that could be attached to, and are meant. */
  anywhere(isMeant: (program: Program) => boolean): readonly Program[] {
    const { programs } = this.#options.programs.read()
    return programs.filter(one => one.process === 'lives' && !one.keyed && isMeant(one))
  }

  /** Every name of what has announced itself and may be meant by that one, an address too. */
  otherNames(wanted: string): readonly string[] {
    const { programs } = this.#options.programs.read()
    return [...new Set(programs.filter(isTarget(wanted)).flatMap(one => this.namesOf(one)))]
  }

  /**
   * Every name by which a rule can mean a process, whether it is attached, listens or has gone: its own, those of the
   * programs that it works for, and those under which it and they were attached.
   */
  namesOf(process: Announced): readonly string[] {
    const { pid, parent, started, works_for: served = [] } = process
    const family = this.#readFamily()
    const program = family.programs.find(one => one.pid === pid && one.name === process.name)
    const serves = program === undefined ? [] : servedNames(family.placeOf(program))
    const pids = served.length === 0 ? [pid] : [pid, parent]
    const kernels = this.#attached().filter(one => one.pid !== undefined && pids.includes(one.pid))
    const isSame = (one: ProcessName | Program) => one.pid === pid && one.started === started
    const lives = family.programs.some(one => one.process === 'lives' && isSame(one))
    const isFormer = (one: ProcessName) => (!lives && isSame(one)) || served.includes(String(one.pid))
    const former = this.#names.filter(isFormer)
    return [...new Set([...namesOf(process), ...serves, ...[...kernels, ...former].map(({ name }) => name)])]
  }

  /** What `imago run` has started in that project and cannot listen. */
  silentIn(root: string): readonly SilentProcess[] {
    return this.#silent().filter(({ cwd }) => isOfProject(realOf(cwd), root))
  }

  /**
   * Without processes that listen by themselves. An announcement that a launcher left before it became another program does
   * not count.
   */
  #silent(): readonly SilentProcess[] {
    const silent = this.#options.silent()
    if (silent.length === 0) return silent
    const { programs } = this.#families.read()
    const listens = ({ address, pid }: Program) =>
      !address.startsWith('unix:') || listensAt(pid, address.slice('unix:'.length)) === true
    return silent.filter(({ pid }) => !programs.some(one => one.pid === pid && listens(one)))
  }

  /** What listens in a project and is not attached, supervisors among it. */
  listeningIn(root: string): readonly ProjectKernel[] {
    const family = this.#families.read()
    const silent = this.#unheardIn(root, family)
    const listening = this.#unattached(family.programs).filter(
      one => livesIn(one, root) && silent.every(({ pid }) => pid !== one.pid),
    )
    const isSupervisor = (one: Program) => family.placeOf(one).standing === 'supervisor'
    const others = listening.filter(one => !isSupervisor(one))
    const handle = (one: Program) =>
      isSupervisor(one) || this.#options.kernels.has(one.name) ? fullName(one) : handleOf(one, others)
    const unused = { chosen: false, running_ms: null, suspended: 0 } as const
    const silentRows = silent.map(({ pid, words, why, mend }) => {
      const [name, message] = [String(pid), `It ${why}. ${mend}`]
      const what = { language: DEFAULT_LANGUAGE.name, what: words, message }
      return { ...unused, ...what, group: name, name, state: 'not_listening', pid }
    })
    const rows = listening.map(one => {
      const { standing, leftBy: parent } = family.placeOf(one)
      const needed = one.keyed ? [`It needs its key: ${withKey(handle(one))}`] : []
      return {
        ...unused,
        group: groupOf(one),
        name: handle(one),
        state: STATE_OF[standing],
        language: one.language,
        pid: one.pid,
        what: [one.implementation, ...(one.program === '' ? [] : [one.program])].join(', '),
        message:
          [...(standing === 'orphan' ? [`It was ${leftBy(one.name, parent)}.`] : []), ...needed].join(' ') ||
          null,
      }
    })
    return [...rows, ...silentRows]
  }

  /** What does not listen in a project: open notebooks, and what `imago run` has started. */
  #unheardIn(root: string, { programs }: Family): readonly SilentProcess[] {
    const closed = [...foldersOf(isNotebook)].flatMap(([pid, cwd]) =>
      isOfProject(cwd, root) && programs.every(one => one.pid !== pid) ? { ...A_NOTEBOOK, pid, cwd } : [],
    )
    return [...closed, ...this.silentIn(root)]
  }

  /** Attaches to a program of that project for a call. Throws `KernelError`. */
  join(program: Program, root: string): Promise<NamedKernel> {
    const { address } = program
    const asked = { target: fullName(program), root }
    const joining =
      this.#joining.get(address) ??
      this.#target(asked)
        .then(target => this.#attach(asked, target))
        .then(({ name }) => this.#kernelNamed(name))
        .finally(() => this.#joining.delete(address))
    this.#joining.set(address, joining)
    return joining
  }

  /** Attaches for a call to the first server that can be. Throws why the last one cannot. */
  async joinFirst([target, ...others]: readonly [string, ...string[]], root: string): Promise<NamedKernel> {
    try {
      return this.#kernelNamed((await this.attach({ target, root })).name)
    } catch (error) {
      if (!isFull(others)) throw error
      return this.joinFirst(others, root)
    }
  }

  #kernelNamed(name: string): NamedKernel {
    const kernel = this.#options.kernels.get(name)
    if (kernel === undefined) throw new Error(`${name} was attached, and detached at once`)
    return kernel
  }

  /** Looks now and then for what takes the place of programs that have ended, as long as that may come. */
  follow(): void {
    this.#lookedAt = ''
    this.#following ??= setInterval(() => this.#lookForSuccessors(), FOLLOW_MS).unref()
    // A worker that is recycled in time has its successor before it ends.
    this.#lookForSuccessors()
  }

  #lookForSuccessors(): void {
    const { programs } = this.#options
    // One that joins its successor at this moment has found it: two links would be one too many.
    const followed = this.#attached().filter(one => one.isFollowed)
    const waiting = followed.filter(one => !one.isTaken)
    waiting.sort((one, other) => (one.endedOn < other.endedOn ? -1 : 1))
    if (followed.length === 0) {
      clearInterval(this.#following)
      this.#following = undefined
      return
    }
    const version = programs.version()
    if (version === this.#lookedAt) return
    this.#lookedAt = version
    const family = this.#families.read()
    const { programs: read, ends } = family
    // Each joins one that the next ones then find taken.
    for (const [index, kernel] of waiting.entries()) {
      const free = this.#unattached(read).filter(
        one =>
          one.process === 'lives' &&
          family.placeOf(one).standing !== 'supervisor' &&
          !this.#joining.has(one.address),
      )
      this.#succeed(kernel, { free, ends, rivals: waiting.slice(index + 1) })
    }
  }

  /** Members of a group that end together are alike: each is given one, in order, where there are not more than they. */
  #succeed(kernel: AttachedKernel, { free, ends, rivals }: Succession): void {
    const likely = kernel.successorsAmong(free)
    const [one, ...others] = [...likely].sort((a, b) => (a.announced_at < b.announced_at ? -1 : 1))
    if (one === undefined) {
      const words = kernel.lastWordsAmong(ends)
      kernel.unfollowed(words && 'It did not come back', 'did_not_come_back', words)
      return
    }
    const alike = rivals.filter(rival =>
      rival.successorsAmong(free).some(program => likely.includes(program)),
    )
    // Workers that one parent has started to serve are alike.
    if (others.length > alike.length && one.role !== 'serves') {
      const names = likely.map(fullName).join(', ')
      kernel.unfollowed(`Several could take its place: ${names}. Attach the one that is meant.`, 'several')
      return
    }
    const joining = kernel
      .succeed(one, processOf(one))
      .then(() => {
        this.#remember()
        return kernel
      })
      .finally(() => this.#joining.delete(one.address))
    this.#joining.set(one.address, joining)
    // It may have ended by now, or not listen yet: the next look tells.
    joining.catch(() => {
      this.#lookedAt = ''
    })
  }

  /** Lets go of it and forgets its name; the program runs on. The row is the last one. Throws `KernelError`. */
  async detach(kernel: NamedKernel): Promise<KernelRow> {
    if (!(kernel instanceof AttachedKernel)) throw isOwned(kernel.name)
    const row = kernel.row()
    const { attachment } = kernel
    this.#options.kernels.forget(kernel)
    this.#remember()
    await kernel.detach()
    return attachment && row.state !== 'ended'
      ? { ...row, message: wayBack(attachment, attachment.pid) }
      : row
  }

  /** The programs that can be attached to, and are not yet; and notebooks of that project that cannot be. */
  async announced(root: string): Promise<AnnouncedPrograms> {
    const family = this.#families.read()
    const unheard = this.#unheardIn(root, family).map(({ pid, words, why, mend }) => ({
      file: `Process ${pid} (${words})`,
      reason: `does not listen: it ${why}. ${mend}`,
    }))
    return { announced: await this.listening(family), skipped: [...family.skipped, ...unheard] }
  }

  /** Programs of all projects that can be attached to and are not. */
  async listening(family = this.#families.read()): Promise<readonly AnnouncedRow[]> {
    const silent = this.#silent()
    const heard = family.programs.filter(one => silent.every(({ pid }) => pid !== one.pid))
    // An announcement that names another process is not listed: `attach` says so and removes it.
    const isFalse = ({ process, address, pid }: Program) =>
      process !== 'lives' && address.startsWith('unix:') && isOfAnother(pid, address.slice('unix:'.length))
    const there = (await whoAnswer(heard, this.#options.programs)).filter(one => !isFalse(one))
    const isTaken = (name: string) => this.#options.kernels.get(name)?.alive === true
    return this.#unattached(there).map(one => rowOf(one, { among: there, family, isTaken }))
  }

  /**
   * One that has announced itself under that name or another that means it, by what its files say, and is not attached;
   * `within`: in that folder.
   */
  find(name: string, within?: string): AnnouncedRow | undefined {
    const family = this.#families.read()
    const among = family.programs.filter(one => one.process === 'lives')
    const isMeant = ({ cwd }: Program) => within === undefined || isOfProject(realOf(cwd), within)
    const free = this.#unattached(among)
    const found = free.find(one => (one.name === name || fullName(one) === name) && isMeant(one))
    return found && rowOf(found, { among, family, isTaken: () => false })
  }

  /** Joins what the daemon before this one was attached to, each as soon as it can be. */
  restore(): void {
    const { attached, names } = this.#options.store.read()
    this.#names = names
    for (const attachment of attached) {
      if (this.#options.kernels.has(attachment.name)) continue
      const kernel = this.#add(attachment)
      void kernel.rejoin().catch(error => kernel.giveUp(messageOf(error)))
    }
  }

  #add(draft: AttachmentDraft): AttachedKernel {
    const kernel = new AttachedKernel(draft, {
      ...this.#options,
      leftBy: one => this.placeOf(one).leftBy,
      ended: () => {
        this.#remember()
        this.follow()
      },
      again: () => this.#remember(),
    })
    this.#options.kernels.set(draft.name, kernel)
    return kernel
  }

  #attached(): AttachedKernel[] {
    return [...this.#options.kernels.values()].filter(kernel => kernel instanceof AttachedKernel)
  }

  #unattached(programs: readonly Program[]): readonly Program[] {
    const attached = this.#attached().filter(({ alive }) => alive)
    return programs.filter(one => !attached.some(kernel => kernel.is(placeOf(one))))
  }

  #remember(): void {
    const attached = this.#attached().flatMap(({ attachment }) => attachment ?? [])
    const now = attached.flatMap(({ name, process }) =>
      process === null ? [] : { name, pid: process.pid, started: process.started },
    )
    const isNow = ({ name, pid, started }: ProcessName) =>
      now.some(one => one.name === name && one.pid === pid && one.started === started)
    this.#names = [...this.#names.filter(one => !isNow(one)), ...now].slice(-MOST_NAMES)
    this.#options.store.write({ attached, names: this.#names })
  }

  /**
   * What a program would be called as a kernel of that project: its own name; as a member of a group where another of its
   * name and project has that, else with its process number.
   */
  nameFor({ program, address }: Target, root: string): string {
    const { kernels } = this.#options
    const isAgain = (known: AttachedKernel) => program !== undefined && known.program === programKey(program)
    const free = (name: string) => {
      const known = kernels.get(name)
      if (!(known instanceof AttachedKernel)) return !known?.alive
      return !known.isTaken && (!known.isFollowed || (known.root === root && isAgain(known)))
    }
    const { name, server } = languageAt(address)
    const own = nameFrom(program?.name ?? '', server ? name : 'program')
    if (free(own)) return own
    const first = kernels.get(own)
    if (program !== undefined && first instanceof AttachedKernel && first.isOfGroup(program.name, root))
      for (let number = 2; ; number++) if (free(`${own}/${number}`)) return `${own}/${number}`
    const full = program && nameFrom(fullName(program), 'program')
    if (full !== undefined && free(full)) return full
    for (let number = 2; ; number++) if (free(`${own}-${number}`)) return `${own}-${number}`
  }
}

/** Where the secret comes from. Throws `KernelError` where there is none, or the address is not to be trusted. */
function secretOf(
  target: Target,
  { asked, programs }: { readonly asked: Attach; readonly programs: Programs },
): Attachment['secret'] {
  const { address, program } = target
  const { key, keyFile } = asked
  const given: Attachment['secret'] =
    keyFile === undefined ? { from: 'person' } : { from: 'file', path: keyFile }
  const server = serverOf(address)
  if (server !== undefined) {
    const joining = { address, server, wanted: asked }
    refuseFar(joining)
    const from = secretFor(joining, programs)
    return from === 'key' ? given : { from }
  }
  const announced = program !== undefined && !program.keyed
  if (announced && keyFile === undefined) return { from: 'announcement' }
  if (key !== undefined) return given
  const who =
    program === undefined ? `Nobody has announced a secret for ${address}` : `${program.name} was given a key`
  throw new KernelError('kernel_unavailable', {
    message: `${who}, so that key is needed to attach.`,
    next: GIVE_KEY,
    details: { reason: 'needs_key', address },
  })
}

/** It is read where it stands, or there is none: nothing that a person gave is sent. */
const isKept = ({ from }: Attachment['secret']) => from !== 'person' && from !== 'file'

function processOf(program: Program | undefined): Attachment['process'] {
  if (program === undefined) return null
  const { pid, started, process } = program
  return { pid, started, seen: process === 'lives' && started !== '' }
}

const placeOf = (program: Program) => ({ address: program.address, process: processOf(program) })

const livesIn = ({ process, cwd }: Program, root: string) =>
  process === 'lives' && isOfProject(realOf(cwd), root)

interface Listed {
  readonly among: readonly Program[]
  readonly family: Family
  /** Whether a kernel that lives bears that name. */
  isTaken(name: string): boolean
}

function rowOf(program: Program, { among, family, isTaken }: Listed): AnnouncedRow {
  const { name, language, implementation, pid, address, cwd, announced_at, keyed } = program
  const { standing, leftBy } = family.placeOf(program)
  const others = among.filter(one => family.placeOf(one).standing !== 'supervisor')
  const isShort = standing !== 'supervisor' && !isTaken(name)
  const attach = isShort ? handleOf(program, others) : fullName(program)
  const parent = leftBy ?? family.parentOf(program)?.pid ?? null
  const started = { program: program.program, announced_at, keyed }
  return { name, attach, standing, language, implementation, pid, parent, address, cwd, ...started }
}
