import { homedir } from 'node:os'
import { WireError } from '../../wire/errors.ts'
import type { InterruptReport } from '../../wire/kernel.ts'
import { DEFAULT_LANGUAGE, languageAt, languageNamed, namesOf } from '../../wire/languages.ts'
import type { Program } from '../../wire/programs.ts'
import { isProject, kernelNameOf, realOf } from '../files/roots.ts'
import type { AnnouncedPrograms, AnnouncedRow } from './announced-row.ts'
import { type Attach, Attachments } from './attach.ts'
import type { OutputRow } from './background.ts'
import type { Found, KernelsOptions } from './contract.ts'
import {
  besidesOf,
  type Candidate,
  isFull,
  isSameList,
  leftBy,
  onlyOne,
  type Roster,
  rosterOf,
} from './families.ts'
import { KernelError } from './kernel-error.ts'
import { KernelNames } from './kernel-names.ts'
import { type CrashLimits, type KernelRequest, OwnedKernel } from './owned-kernel.ts'
import { ALL_OF_GROUP, type Announced, becauseOf, fullName, groupOf, isCalled, isTarget } from './programs.ts'
import {
  badRoot,
  begunAgain,
  chooseText,
  endOf,
  needsKey,
  noneLives,
  noPython,
  notAttachedYet,
  programEnded,
  refuseMissing,
  refuseOtherLanguage,
  severalElsewhere,
  severalListen,
  severalLive,
  shuttingDown,
  stoppedText,
  tooManyMembers,
  unheardOf,
  unknownKernel,
  unknownLanguage,
  waitingFiles,
  waitsText,
} from './refusals.ts'
import {
  byNumber,
  isMeantStill,
  type KernelOptions,
  type KernelRow,
  type NamedKernel,
  rowOf,
} from './rows.ts'
import { StartedKernels } from './started-store.ts'
import { type Trial, tryLanguage } from './trial.ts'
import {
  type Attachable,
  type Choosing,
  type MeantKernel,
  type Member,
  memberOf,
  type ResolvedKernel,
  type Start,
  type Wanted,
} from './wanted.ts'

export const CRASH_LOOP: CrashLimits = { deaths: 3, withinMs: 300_000 }

export const openKernels = (options: KernelsOptions): Kernels => new OpenKernels(options)

export type Kernels = Pick<OpenKernels, keyof OpenKernels>

/** How a kernel ended that the daemon before this one had started. */
const ENDED_BEFORE = 'It ended with the daemon before this one.'

/** Members of a group that are asked at once: each that is attached for it is followed from then on. */
const MOST_MEMBERS = 64

/** The kernels of this daemon, by name. */
class OpenKernels {
  readonly #kernels = new KernelNames()
  readonly #options: KernelsOptions
  readonly #kernelOptions: KernelOptions
  readonly #home: string
  readonly #attachments: Attachments
  readonly #started: StartedKernels
  /** What lives or listens in a root, as the announcements were, and these kernels. */
  readonly #rosters = new Map<
    string,
    { readonly version: string; readonly living: readonly NamedKernel[]; readonly roster: Roster }
  >()
  #closed = false

  constructor(options: KernelsOptions) {
    const { programs, attachments: store, texts, noted, lives } = options
    this.#options = options
    this.#home = realOf(options.home ?? homedir())
    this.#kernelOptions = {
      texts,
      noted(news) {
        noted?.(news)
        options.changed?.()
      },
      changed: () => options.changed?.(),
      lives: life => lives?.(life),
      now: options.now ?? (() => performance.now()),
      withholds: ({ name }) => this.withholds(name),
    }
    this.#attachments = new Attachments({
      ...this.#kernelOptions,
      programs,
      silent: () => options.silent?.() ?? [],
      store,
      kernels: this.#kernels,
    })
    this.#attachments.restore()
    this.#started = new StartedKernels(options.started)
  }

  /** Sorted by name, members of a group by their number. */
  list(): readonly KernelRow[] {
    return [...this.#kernels.values()].map(kernel => kernel.row()).sort(byNumber)
  }

  /**
   * The kernel that a call is for. Without a name it is, in this order: the one that its caller has chosen; the only
   * program of the root, attached on the way where it listens and is not attached yet; the root's default image, which
   * bears the name of its folder and is started if it does not live. An image that calls began by themselves never takes
   * the place of a program. Where several programs live, one must be named; where one has ended, an empty
   * image is not what was meant. Throws `KernelError`.
   */
  async resolve(wanted: Wanted): Promise<ResolvedKernel> {
    this.#refuseClosed()
    const reached = await this.#reach(this.#find(wanted), wanted)
    return this.#besideOthers(reached, { ...wanted, root: realOf(wanted.root) })
  }

  /** With what else could have been meant: no program is chosen or named, or a helper, whose name others may share. */
  #besideOthers(found: ResolvedKernel, wanted: Wanted): ResolvedKernel {
    const { name, root } = wanted
    const settled = name === undefined ? this.#kernels.of(wanted.chosen) : this.#kernels.get(found.name)
    const place = settled && this.#attachments.placeOf(settled)
    if (place?.standing === 'orphan')
      return { ...found, leftBy: leftBy(settled?.announced?.name ?? found.name, place.leftBy) }
    if (place !== undefined && place.standing !== 'helper') return found
    if (name !== undefined && name !== settled?.group) return found
    const isMeant = (one: { readonly group: string }) => name === undefined || one.group === name
    const { members, others } = this.#rosterOf(root)
    const among = { members: members.filter(isMeant), others: others.filter(isMeant) }
    const besides = besidesOf({ name: found.name, pid: found.kernel.identity.pid }, among, wanted)
    return besides === undefined ? found : { ...found, besides }
  }

  async #reach(found: Found, wanted: Wanted): Promise<ResolvedKernel> {
    switch (found.type) {
      case 'kernel':
        return this.#reached(found.named, wanted)
      case 'program':
        return this.#joined(this.#attachments.join(found.program, realOf(wanted.root)), wanted)
      case 'configured':
        return this.#joined(this.#attachments.joinFirst(found.addresses, realOf(wanted.root)), wanted)
      case 'default':
        return this.#reached(this.#default(wanted), wanted)
      default:
        return found satisfies never
    }
  }

  /**
   * What `resolve` would answer with, found with nothing attached to and nothing started for it. Where that would be
   * nothing: the name itself; undefined where there is none.
   */
  meant(wanted: Wanted): MeantKernel | undefined {
    const { name } = wanted
    if (name?.endsWith(ALL_OF_GROUP))
      return { name, otherNames: [name.slice(0, -ALL_OF_GROUP.length)], roots: [] }
    try {
      const root = realOf(wanted.root)
      const found = this.#find({ ...wanted, mayName: undefined })
      if (found.type === 'program') {
        const { program } = found
        const roots = [...new Set([root, realOf(program.cwd)])]
        const otherNames = this.#attachments.namesOf(program)
        return {
          name: this.#attachments.nameFor({ program, address: program.address }, root),
          otherNames,
          roots,
        }
      }
      if (found.type === 'configured') {
        const [address] = found.addresses
        return { name: languageAt(address).name, otherNames: found.addresses, roots: [root] }
      }
      if (found.type === 'kernel') return this.ruled(found.named.name)
      const begun = this.#kernels.free(this.#started.otherIn(root)?.name ?? kernelNameOf(root))
      return { name: begun, otherNames: [], roots: [root] }
    } catch (error) {
      if (!(error instanceof KernelError)) throw error
      return name === undefined ? undefined : this.ruled(name)
    }
  }

  #find(wanted: Wanted): Found {
    return wanted.name === undefined ? this.#ofRoot(wanted) : this.#byName(wanted.name, wanted)
  }

  /** It lives, or comes to. */
  async #reached(named: NamedKernel, wanted: Wanted): Promise<ResolvedKernel> {
    const { lost, isFollowed, alive, present } = named
    const before = isFollowed || !alive || present !== undefined ? null : named.row().epoch
    const begins = !named.alive && !named.hasProgram
    if (begins && wanted.onlyLiving === true) throw this.#noneLives(wanted, named)
    const found = { name: named.name, kernel: await named.living(wanted.patienceMs, wanted.env) }
    if (lost !== undefined) return { ...found, replaces: lost }
    const isAnother = before !== null && before !== found.kernel.identity.epoch
    if (isFollowed || isAnother || (!alive && named.hasProgram)) return { ...found, waited: true }
    return begins ? { ...found, begun: true, elsewhere: this.#elsewhere(wanted) } : found
  }

  /** What was attached to for the call. */
  async #joined(joining: Promise<NamedKernel>, wanted: Wanted): Promise<ResolvedKernel> {
    const named = await joining
    const { name, kernel } = await this.#reached(named, wanted)
    const root = realOf(wanted.root)
    const takesCalls = this.#among(this.#rosterOf(root), root) === named
    return { name, kernel, joined: { ...named.row(), takesCalls } }
  }

  /** What `resolve` would answer, at once, where that kernel lives and `root` is without links; else undefined. */
  living(wanted: Wanted): ResolvedKernel | undefined {
    if (this.#closed) return undefined
    const { name, root } = wanted
    const chosen = name === undefined ? this.#kernels.of(wanted.chosen) : this.#kernels.get(name)
    const isChosen = name !== undefined || chosen !== undefined
    const named = isChosen ? chosen : this.#among(this.#rosterOf(root), root, wanted.lately)
    const kernel = named?.present
    return named && kernel && this.#besideOthers({ name: named.name, kernel }, wanted)
  }

  /**
   * All of the root that live and are called so (`web`, `web/2`), in their order, with their helpers; what listens is
   * attached on the way. Without a group, all that a look without a name is for.
   * Where none lives, those that have ended and are followed are waited for. Throws `KernelError` where there is none.
   */
  async group(group: string | undefined, wanted: Wanted): Promise<readonly Member[]> {
    this.#refuseClosed()
    const root = realOf(wanted.root)
    this.#attachments.follow()
    const { kernels, programs, ended } = this.#membersIn(group, root)
    if (kernels.length + programs.length === 0)
      throw (
        ended?.over() ??
        (group === undefined
          ? this.#noneLives(wanted, undefined)
          : this.#unknown(group, { root, mayName: wanted.mayName }))
      )
    if (kernels.length + programs.length > MOST_MEMBERS)
      throw tooManyMembers({ group, root }, { count: kernels.length + programs.length, most: MOST_MEMBERS })
    const joining = programs.map(one =>
      memberOf(fullName(one), () => this.#joined(this.#attachments.join(one, root), wanted)),
    )
    const living = kernels.map(named => memberOf(named.name, () => this.#reached(named, wanted)))
    return (await Promise.all([...living, ...joining])).sort(byNumber)
  }

  /** What they are called, with nothing attached. */
  membersOf(group: string | undefined, root: string): readonly string[] {
    const { kernels, programs } = this.#membersIn(group, realOf(root))
    return [...[...kernels].sort(byNumber).map(({ name }) => name), ...programs.map(fullName)]
  }

  /**
   * Whether a look that names no kernel is for several: the group `undefined`. Where more live than are asked at once, the
   * look is for the one that has started all others, if there is such a one.
   */
  areSeveral({ root, chosen }: Pick<Wanted, 'root' | 'chosen'>): boolean {
    if (this.#kernels.of(chosen) !== undefined) return false
    const { firsts, members } = this.#rosterOf(root)
    return members.length > 1 && (members.length <= MOST_MEMBERS || firsts.length > 1)
  }

  /**
   * Members of a group, or all that a look without a name is for. An image that calls have begun by themselves is one
   * only where nothing else is called so.
   */
  #membersIn(
    group: string | undefined,
    root: string,
  ): { kernels: readonly NamedKernel[]; programs: readonly Program[]; ended?: NamedKernel | undefined } {
    if (group === undefined) {
      const { members } = this.#rosterOf(root, 'fresh')
      const kernels = members.flatMap(({ kernel }) => kernel ?? [])
      return { kernels, programs: members.flatMap(({ program }) => program ?? []) }
    }
    const isCalledSo = (one: NamedKernel) =>
      one.name === group || this.#attachments.placeOf(one).groups.includes(group)
    const programs = this.#attachments
      .settled(root)
      .filter(one => one.standing !== 'orphan' && one.groups.includes(group))
    const isLeft = (one: NamedKernel) => this.#attachments.placeOf(one).standing === 'orphan'
    const known = this.#kernels.in(root).filter(one => this.#isMember(one) && isCalledSo(one) && !isLeft(one))
    const living = known.filter(one => one.alive)
    if (living.length + programs.length > 0) return { kernels: living, programs }
    const followed = known.filter(one => one.isFollowed)
    const image = this.#kernels.in(root).filter(one => one.alive && isCalledSo(one) && !isLeft(one))
    return { kernels: followed.length > 0 ? followed : image, programs, ended: known.at(-1) }
  }

  /** As rules can name the kernel, or the program, of that name: its group and its process are meant by others besides. */
  ruled(name: string): MeantKernel {
    const known = this.#kernels.get(name)
    const own = known?.announced === undefined ? [] : this.#attachments.namesOf(known.announced)
    const otherNames = known === undefined ? this.#attachments.otherNames(name) : own
    return { name, otherNames, roots: this.rootsOf(name) }
  }

  /** What is said of the kernel of that name while its process is stopped. */
  stopped(name: string): string | null {
    const { pid = null, message = null } = this.#kernels.get(name)?.row() ?? {}
    return pid !== null && message === stoppedText(pid) ? message : null
  }

  /** Whether a rule keeps from callers what has ended the kernel of that name. */
  withholds(name: string): boolean {
    return this.#options.withholds?.(this.ruled(name)) === true
  }

  /** The same of a process, whether it listens or has gone, with its own name among them. */
  ruledAs(process: Announced & Pick<Program, 'cwd'>): MeantKernel {
    const otherNames = this.#attachments.namesOf(process)
    return { name: groupOf(process), otherNames, roots: [realOf(process.cwd)] }
  }

  /**
   * The projects whose policy holds for the kernel of that name, without links: first the one whose unnamed calls go to
   * it, then the one that its program runs in, where that is another one. Empty where there is no such kernel.
   */
  rootsOf(name: string): readonly string[] {
    const known = this.#kernels.get(name)
    if (known === undefined) return []
    return known.folder === known.root ? [known.root] : [known.root, known.folder]
  }

  /** The key of the kernel that bears the name now; `chosen` and `lately` are such keys. */
  keyOf(name: string): string {
    return this.#kernels.keyOf(name)
  }

  /** Whether calls still go to the kernel of that key: nobody has let go of it. */
  lasts(key: string): boolean {
    return this.#kernels.of(key) !== undefined
  }

  /** What a caller in that project would attach to by that name, as far as its policy goes. */
  attachable(name: string, given: string): Attachable {
    const root = realOf(given)
    const known = this.#kernels.get(name) ?? this.#attachments.attachedAs(name, root)
    if (known !== undefined) return { ...this.ruled(known.name), elsewhere: known.root !== root }
    // In this order, so that one that begins to listen in between is not taken for another project's.
    const anywhere = this.#attachments.anywhere(isTarget(name))
    const own = this.#attachments.joinable(root).filter(isTarget(name))
    const meant = own.length > 0 ? own : anywhere
    const [called, ...others] = new Set(meant.map(one => one.name))
    return {
      name: others.length === 0 ? (called ?? null) : null,
      otherNames: [name, ...this.#attachments.otherNames(name)],
      roots: [...new Set(meant.map(({ cwd }) => realOf(cwd)))],
      elsewhere: own.length === 0 && meant.length > 0,
    }
  }

  /** What a caller is told that may only name kernels of its own project, and names another one, whether there is one or not. */
  unknownIn(given: string, name: string): KernelError {
    const root = realOf(given)
    const program = this.#attachments.find(name, root)
    return program === undefined ? this.#unknown(name, { root }) : notAttachedYet(name, program)
  }

  /** Those that live in the root, but for the one of that name. */
  besides(one: { readonly name: string; readonly root: string }) {
    const others = this.#kernels.in(realOf(one.root)).filter(({ name }) => name !== one.name)
    return others.flatMap(({ name, present }) => (present === undefined ? [] : [{ name, kernel: present }]))
  }

  /** Whether what has started the program of that name does so again when a file changes. */
  isReloaded(name: string): boolean {
    return this.#attachments.isReloaded(this.#kernels.get(name))
  }

  /** Starts a kernel only to see whether it can be done; see `tryLanguage`. Throws `KernelError`. */
  async trial({ language, root, env }: Omit<Start, 'name'>): Promise<Trial> {
    this.#refuseClosed()
    this.#checkLanguage(language)
    const request = { language, root: this.#rootOf(root), env }
    try {
      return await tryLanguage({ launch: this.#options.launch, request })
    } catch (error) {
      if (!(error instanceof WireError)) throw error
      const { message } = error
      throw new KernelError('kernel_unavailable', {
        message,
        next: null,
        details: { reason: error.code },
        cause: error,
      })
    }
  }

  /**
   * Starts one as a person asked, under a name that none alive has. With a script, it answers once that is known to
   * run, to have returned or to have failed, or after 2 s. Throws `KernelError`.
   */
  async start({ language, name, root, env, script, args }: Start): Promise<KernelRow> {
    this.#refuseClosed()
    this.#checkLanguage(language)
    const request: KernelRequest = {
      language,
      name: name === undefined ? this.#kernels.free(language, realOf(root)) : this.#kernels.checked(name),
      root: this.#rootOf(root),
      env,
      ...(script !== undefined && { script }),
      ...(args !== undefined && { args }),
    }
    if (script !== undefined) refuseMissing(request.root, script)
    const row = await this.#add(request).begun()
    this.#started.note(request)
    return row
  }

  async stop(name: string): Promise<KernelRow> {
    const named = this.#named(name)
    await named.stop()
    return named.row()
  }

  /** A new epoch under the same name, with the same options but for the environment; deaths before are forgotten. */
  async restart(name: string, env?: Wanted['env']): Promise<KernelRow> {
    this.#refuseClosed()
    return this.#named(name).restart(env)
  }

  /** What kernels printed last while no call ran in them, in pieces. */
  output(): readonly (OutputRow & { readonly key: string; readonly root: string })[] {
    return [...this.#kernels.values()].flatMap(({ name: kernel, root, background }) =>
      (background?.pieces() ?? []).map(one => ({ ...one, key: `${kernel}${one.key}`, kernel, root })),
    )
  }

  /** Whether that kernel's program began so lately that it may not have loaded all of its code yet. */
  mayBeLoading(name: string): boolean {
    return this.#kernels.get(name)?.mayBeLoading === true
  }

  /** The script of that kernel that has not returned; null where there is none. */
  runningScript(name: string): string | null {
    const row = this.#kernels.get(name)?.row()
    return row?.script_state === 'running' ? row.script : null
  }

  /** Stops what runs in it now. */
  async interrupt(name: string): Promise<InterruptReport> {
    return this.#named(name).interrupt()
  }

  /** What lives in the root, and what listens there; `chosen` is marked, or what calls without a name go to. */
  async project(given: string, chosen: string | undefined, lately?: string) {
    const root = realOf(given)
    const own = this.#kernels.of(chosen) ?? this.#among(this.#rosterOf(root), root, lately)
    const rows = this.#kernels.in(root).map(kernel => rowOf(kernel, kernel === own))
    const listening = this.#attachments.listeningIn(root)
    const kernels = [...rows, ...listening].sort(byNumber)
    if (kernels.length === 0 && !isProject(root, this.#home)) throw badRoot(root, this.#home)
    const waits = waitsText(this.#startsOf(root).waiting)
    return { kernels, searched: this.#options.programs.folder, ...(waits !== '' && { waits }) }
  }

  /**
   * The kernel or the program of that name, attached on the way; `elsewhere` allows one that is not of the root.
   * Throws `KernelError`.
   */
  async choose(name: string, { root: given, elsewhere, env }: Choosing) {
    this.#refuseClosed()
    const root = realOf(given)
    const known = this.#kernels.get(name) ?? this.#attachments.attachedAs(name, root)
    if (known !== undefined) {
      if (known.root !== root && !elsewhere) return { type: 'elsewhere', what: name } as const
      const again = known.alive || known.hasProgram ? undefined : begunAgain(known.lost)
      await known.living(undefined, env)
      return { type: 'chosen', kernel: { ...rowOf(known, true), ...(again && { message: again }) } } as const
    }
    const listening = this.#attachments.anywhere(one => isCalled(one, name))
    const own: readonly Program[] = this.#attachments.joinable(root).filter(one => isCalled(one, name))
    const [program, ...others] = own.length > 0 ? own : listening
    if (program === undefined) throw this.#unheardOf(name, root)
    if (others.length > 0)
      throw own.length > 0
        ? severalListen(root, [program, ...others], {})
        : severalElsewhere(name, listening.length)
    if (own.length === 0 && !elsewhere)
      return { type: 'elsewhere', what: `${fullName(program)} (in ${program.cwd})` } as const
    const joined = await this.#attachments.join(program, root)
    return { type: 'chosen', kernel: rowOf(joined, true) } as const
  }

  /** Attaches to a program that listens. Throws `KernelError`. */
  async attach(wanted: Attach): Promise<KernelRow> {
    this.#refuseClosed()
    return this.#attachments.attach(wanted)
  }

  /** Lets go of one, which runs on, and forgets its name. The row is its last one. Throws `KernelError`. */
  async detach(name: string): Promise<KernelRow> {
    return this.#attachments.detach(this.#named(name))
  }

  /** Programs that can be attached to and are not, and notebooks of that project that cannot be. */
  async announced(given: string): Promise<AnnouncedPrograms> {
    const root = realOf(given)
    const { announced, skipped } = await this.#attachments.announced(root)
    return { announced, skipped: [...skipped, ...waitingFiles(root, this.#startsOf(root).waiting)] }
  }

  /** Programs of all projects that can be attached to and are not. */
  readonly listening = (): Promise<readonly AnnouncedRow[]> => this.#attachments.listening()

  /** Ends all of them in order, and lets go of those that are attached. Nothing starts afterwards. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#kernels.values()].map(kernel => kernel.close()))
  }

  #named(name: string): NamedKernel {
    const known = this.#kernels.get(name)
    if (known) return known
    const program = this.#attachments.find(name)
    throw program ? notAttachedYet(name, program) : this.#unknown(name, undefined)
  }

  /** By its name; the name that the root's default kernel would bear counts, though it may not live yet. */
  #orDefault(name: string, wanted: Wanted): Found {
    const named = this.#kernels.get(name)
    if (named) return { type: 'kernel', named }
    // Of programs of other projects only a person is told more than that they are there.
    const program = this.#attachments.find(name, wanted.byPerson === true ? undefined : realOf(wanted.root))
    if (program) throw notAttachedYet(name, program)
    if (name !== kernelNameOf(wanted.root) || !isProject(wanted.root, this.#home))
      throw this.#unknown(name, { root: realOf(wanted.root), mayName: wanted.mayName })
    if (wanted.onlyLiving === true) throw this.#noneLives(wanted, undefined)
    return this.#ownDefault(wanted)
  }

  #startsOf(root: string) {
    return this.#options.startsOf?.(root) ?? { attach: [], waiting: [], begins: true }
  }

  /** The image that calls of the root begin by themselves, where nothing waits to be joined; it may be yet to begin. */
  #ownDefault({ root: given }: Wanted): Found {
    const root = this.#rootOf(given)
    const known = this.#kernels.imageOf(root)
    const { begins, waiting } = this.#startsOf(root)
    const isRefused = begins ? known === undefined && isFull(waiting) : known?.alive !== true
    if (isRefused && this.#started.otherIn(root) === undefined) throw noPython(root, { waiting, begins })
    return known === undefined ? { type: 'default' } : { type: 'kernel', named: known }
  }

  /** Nothing is called so that could be attached to. */
  #unheardOf(name: string, root: string): KernelError {
    const keyed = this.#attachments.joinable(root, { keyed: true }).find(one => isCalled(one, name))
    if (keyed !== undefined) return notAttachedYet(name, { ...keyed, attach: fullName(keyed) })
    const [kernels, silent] = [this.#kernels.in(root).map(one => one.name), this.#attachments.silentIn(root)]
    const listening = this.#attachments.joinable(root).map(fullName)
    return unheardOf(name, { root, silent, kernels, listening, searched: this.#options.programs.folder })
  }

  /** Whoever calls from a project is told of the kernels of that one, as far as they may be named to it. */
  #unknown(name: string, from: Pick<Wanted, 'root' | 'mayName'> | undefined): KernelError {
    const all = [...this.#kernels.values()]
    if (from === undefined) return unknownKernel(name, { kernels: all.map(one => one.name).sort() })
    const { root, mayName = () => true } = from
    const kernels = all.filter(one => one.root === root && mayName(one.name)).map(one => one.name)
    const isAlone = all.every(one => one.root === root) && this.#attachments.find(name) === undefined
    return unknownKernel(name, { kernels: kernels.sort(), isAlone })
  }

  /** By its name: one that is known, or a program of the root that listens under it. */
  #byName(name: string, wanted: Wanted): Found {
    const root = realOf(wanted.root)
    const known = this.#kernels.get(name) ?? this.#attachments.attachedAs(name, root)
    const hasEnded = known !== undefined && known.root === root && known.hasProgram && !known.alive
    if (known !== undefined && (!hasEnded || known.mayListenAgain)) return { type: 'kernel', named: known }
    const listening = hasEnded ? this.#attachments.unclaimed(root) : this.#attachments.joinable(root)
    const [program, ...others] = listening.filter(one => isCalled(one, name))
    if (program === undefined) return this.#orDefault(name, wanted)
    if (others.length > 0) throw severalListen(root, [program, ...others], wanted)
    return { type: 'program', program }
  }

  /** Without a name: what its caller has chosen, the program of the root, or its default image. */
  #ofRoot(wanted: Wanted): Found {
    const root = realOf(wanted.root)
    const chosen = this.#kernels.of(wanted.chosen)
    if (chosen !== undefined) return this.#again(chosen, wanted)
    const { firsts, isDown } = this.#rosterOf(root, 'fresh')
    const lately = this.#kernels.of(wanted.lately)
    if (lately !== undefined && this.#isAwaited(lately, firsts, root)) return this.#again(lately, wanted)
    const recent = firsts.find(({ kernel }) => kernel !== undefined && kernel === lately)
    const [first, ...others] = recent === undefined ? firsts : [recent]
    const listening = firsts.flatMap(({ program }) => program ?? [])
    const followed = this.#kernels.in(root).findLast(one => this.#isProgram(one) && one.isFollowed)
    if (first === undefined && followed) return { type: 'kernel', named: followed }
    if (others.length > 0)
      throw isFull(listening) && listening.length === firsts.length
        ? severalListen(root, listening, wanted)
        : severalLive(root, firsts, wanted)
    if (first?.kernel !== undefined) return { type: 'kernel', named: first.kernel }
    if (first?.program !== undefined) return { type: 'program', program: first.program }
    const ended = this.#endedIn(root)
    if (ended?.hasProgram && !ended.mayListenAgain) throw ended.over(this.#lastEnd(root, ended))
    if (ended) return { type: 'kernel', named: ended }
    const { attach } = this.#startsOf(root)
    if (isFull(attach)) return { type: 'configured', addresses: attach }
    if (isDown || (wanted.onlyLiving === true && this.#kernels.imageOf(root) === undefined))
      throw this.#noneLives(wanted, undefined)
    return this.#ownDefault(wanted)
  }

  /** The same at once, where nothing has to be looked up for it. */
  #among({ firsts, isDown }: Roster, root: string, lately?: string): NamedKernel | undefined {
    const last = this.#kernels.of(lately)
    if (last !== undefined && this.#isAwaited(last, firsts, root)) return last
    if (last !== undefined && firsts.some(({ kernel }) => kernel === last)) return last
    const isOther = isDown || firsts.length > 0 || this.#endedIn(root) || isFull(this.#startsOf(root).attach)
    const meant = isOther ? onlyOne(firsts)?.kernel : this.#kernels.imageOf(root)
    return meant?.alive ? meant : undefined
  }

  /** What lives or listens in a root, as calls without a name see it; `root` is without links. */
  #rosterOf(root: string, how?: 'fresh'): Roster {
    const version = this.#options.programs.version()
    const living = this.#kernels.in(root).filter(one => one.alive && this.#isMember(one))
    const cached = this.#rosters.get(root)
    if (how !== 'fresh' && cached?.version === version && isSameList(cached.living, living))
      return cached.roster
    const known = living.map(kernel => {
      const { name, group } = kernel
      return { name, group, kernel, ...this.#attachments.placeOf(kernel) }
    })
    const listening = this.#attachments.unclaimed(root).map(program => {
      const { standing, isStarted } = program
      return { name: fullName(program), group: groupOf(program), standing, isStarted, program }
    })
    const all = [...known.sort(byNumber), ...listening]
    const roster = rosterOf(all, this.#attachments.supervises(root))
    this.#rosters.set(root, { version, living, roster })
    return roster
  }

  /** It begins again as what it was, so that no other language answers. One that was stopped comes behind the default. */
  #endedIn(root: string): NamedKernel | undefined {
    const isAlone = this.#kernels.imageOf(root)?.alive !== true
    const ends = (one: NamedKernel) => !one.alive && (isAlone || !one.wasStopped)
    return this.#kernels.in(root).findLast(one => this.#isProgram(one) && ends(one))
  }

  /** Whether calls are still for `lately`, which has ended by itself: its next life, or no other that is there already. */
  #isAwaited(lately: NamedKernel, firsts: readonly Candidate[], root: string): boolean {
    if (lately.alive || lately.wasStopped || lately.root !== root || !this.#isMember(lately)) return false
    if (lately.isExpected || lately.mayListenAgain || isMeantStill(lately)) return true
    const { language } = lately.row()
    return !(firsts.length === 1 && firsts[0]?.program?.language === language)
  }

  /** The kernel that a caller has chosen or called before, or its next life. Throws where it has ended without one. */
  #again(held: NamedKernel, wanted: Wanted): Found {
    const root = realOf(wanted.root)
    const [next, ...others] = this.#kernels.livesAfter(held)
    const listening = held.root === root ? this.#attachments.listeningAfter(held) : []
    if (isFull(listening) && (listening.length > 1 || next !== undefined))
      throw severalListen(root, listening, wanted)
    if (isFull(listening)) return { type: 'program', program: listening[0] }
    if (held.alive || (next !== undefined && others.length === 0))
      return { type: 'kernel', named: next ?? held }
    const isNamed = this.#kernels.get(held.name) === held
    if (isNamed && (held.isExpected || held.mayListenAgain || isMeantStill(held)))
      return { type: 'kernel', named: held }
    const { mayName = () => true } = wanted
    const there = this.#rosterOf(root).firsts.map(({ name }) => name)
    // One that is followed says itself how what came after it has ended.
    const later = held.isFollowed ? '' : this.#lastEnd(held.root, held)
    throw held.over(`${later}${chooseText(there.filter(mayName))}`)
  }

  /** Whether somebody has started or attached it: neither the image that calls began by themselves, nor a supervisor. */
  #isMember(one: NamedKernel): boolean {
    return one !== this.#kernels.imageOf(one.root) && this.#attachments.placeOf(one).standing !== 'supervisor'
  }

  #isProgram(one: NamedKernel): boolean {
    return this.#isMember(one) && this.#attachments.placeOf(one).standing === 'program'
  }

  /** What a look is told that would have to start `ended`, or a first image. */
  #noneLives(wanted: Wanted, image: NamedKernel | undefined): KernelError {
    if (!isProject(wanted.root, this.#home)) return badRoot(realOf(wanted.root), this.#home)
    const { lost } = image ?? {}
    const { root, name = lost === undefined ? undefined : image?.name } = wanted
    const keyed = name === undefined ? this.#attachments.keyedIn(realOf(root), wanted.mayName) : undefined
    if (keyed !== undefined) return notAttachedYet(keyed.name, { ...keyed, attach: fullName(keyed) })
    const ended = name === undefined ? this.#lastEnd(root) : ''
    const [rows, { waiting }] = [this.#nameable(wanted), this.#startsOf(realOf(root))]
    const silent = this.#attachments.silentIn(realOf(root))
    return noneLives(
      { root, name, lost },
      { rows, searched: this.#options.programs.folder, ended, silent, waiting },
    )
  }

  /** What a caller may be told of other programs, where an empty image was begun for its call. */
  #elsewhere({ root: given, mayName }: Wanted): string {
    const root = realOf(given)
    const [silent] = this.#attachments.silentIn(root)
    return `${this.#lastEnd(root)}${needsKey(this.#attachments.keyedIn(root, mayName))}${becauseOf(silent)}`
  }

  /**
   * How the program ended that an exception ended last in the root, as far as a caller may be told. `other`: nothing where that
   * one ended later.
   */
  #lastEnd(root: string, other?: NamedKernel): string {
    const last = this.#attachments.lastEnd(realOf(root))
    const { endedOn = '', announced } = other ?? {}
    if (last === undefined || last.program.announced_at <= endedOn || last.program.pid === announced?.pid)
      return ''
    return this.#options.withholds?.(this.ruledAs(last.program)) === true ? '' : endOf(last)
  }

  /** What a caller may be told of other kernels: those of its own root, as far as they may be named to it. */
  #nameable({ root, mayName = () => true }: Wanted): readonly KernelRow[] {
    const rows = this.#kernels.in(realOf(root)).map(one => one.row())
    return rows.filter(({ name }) => mayName(name)).sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  #default({ root: given, env }: Wanted): NamedKernel {
    const root = this.#rootOf(given)
    const before = this.#started.otherIn(root)
    if (before !== undefined) {
      // It begins again as what it was, so that no other language answers; a script is for a person to run again.
      const { name, language, script } = before
      if (script !== undefined) throw programEnded({ name, root, language, script, how: ENDED_BEFORE })
      return this.#add({ language, name: this.#kernels.free(name), root, env }, ENDED_BEFORE)
    }
    refuseOtherLanguage(root)
    const named = this.#add({
      language: DEFAULT_LANGUAGE.name,
      name: this.#kernels.free(kernelNameOf(root)),
      root,
      env,
    })
    this.#kernels.begun(named)
    return named
  }

  #add(request: KernelRequest, lost?: string): OwnedKernel {
    const { launch, limits = CRASH_LOOP } = this.#options
    const named = new OwnedKernel(
      request,
      {
        ...this.#kernelOptions,
        limits,
        permits: ({ language, root, name }) => {
          if (language === DEFAULT_LANGUAGE.name && !this.#startsOf(root).begins)
            throw noPython(root, { name })
        },
        launch,
      },
      lost,
    )
    this.#kernels.set(request.name, named)
    return named
  }

  #rootOf(given: string): string {
    const root = realOf(given)
    if (isProject(root, this.#home)) return root
    throw badRoot(root, this.#home)
  }

  #checkLanguage(language: string): void {
    if (languageNamed(language) === undefined) throw unknownLanguage(language, namesOf())
  }

  #refuseClosed(): void {
    if (this.#closed) throw shuttingDown()
  }
}
