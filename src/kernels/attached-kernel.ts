import { sentence } from '../../tools/text.ts'
import { messageOf, WireError } from '../../wire/errors.ts'
import type { InterruptReport, Kernel } from '../../wire/kernel.ts'
import type { Joining, Program, ProgramEnd, Programs } from '../../wire/programs.ts'
import { readSecretFile } from '../../wire/secret-file.ts'
import { realOf } from '../files/roots.ts'
import type { Attachment } from './attachment-store.ts'
import { Background } from './background.ts'
import { leftBy } from './families.ts'
import { KernelError } from './kernel-error.ts'
import { KernelLife, notLiving } from './owned-kernel.ts'
import { type Announced, groupOf, programKey } from './programs.ts'
import { stoppedText, wayBack } from './refusals.ts'
import { type KernelOptions, type KernelRow, LOADING_MS, type NamedKernel } from './rows.ts'
import { isFar, serverOf } from './servers.ts'

/** How long a call waits for a link that is being made again, in ms. */
const AWAY_MS = 10_000

/** How long a program that has ended can be followed by another one, in ms. */
const FOLLOWED_MS = 600_000

/** How long after its end calls wait for what takes its place, in ms: a reload takes about a second. */
const GAP_MS = 15_000

/** How long the row of a program that has ended stays beside another one of its project, in ms. */
const PAST_MS = 600_000

/** What is known before the program has been spoken to: all but what only it can say. */
export type AttachmentDraft = Omit<Attachment, 'epoch' | 'implementation' | 'pid'> &
  Partial<Pick<Attachment, 'epoch' | 'implementation' | 'pid'>>

/** Why nothing has taken its place: it ended again at once, which one is meant cannot be told, or it could not be joined. */
type Unfollowed = 'did_not_come_back' | 'several' | 'ended'

interface AttachedOptions extends KernelOptions {
  readonly programs: Programs
  /** It has ended by itself. What takes its place may be told by `succeed`. */
  ended(): void
  /** It was joined again by a call, or will not be. */
  again(): void
  /** The process that has left that over. */
  leftBy(kernel: NamedKernel): number | undefined
}

/**
 * A program of the user's under a name of ours. It is joined and let go of, and never ended, restarted or signalled.
 *
 * When its link breaks, the same image is joined again, and calls wait for that a little. When it ends, what announces
 * itself just as it did takes its place: another image, under the same name. `Attachments` looks for that.
 */
export class AttachedKernel implements NamedKernel {
  readonly name: string
  readonly root: string
  readonly hasProgram = true
  readonly lost = undefined
  readonly wasStopped = false
  readonly #options: AttachedOptions
  readonly background: Background | undefined
  readonly #over = new AbortController()
  /** Callers that wait until it can be spoken to, or never will. */
  readonly #waiting = new Set<() => void>()
  #known: AttachmentDraft
  /** What ran when it was joined, by epoch: nothing of that ever takes its place. */
  #beside: ReadonlySet<string> = new Set()
  #kernel: KernelLife | undefined
  /** The attempt to join what listens again at its address. */
  #trying: Promise<void> | undefined
  /** What listens there now did not let us in: a wrong secret does harm, so it is sent once. */
  #turnedAway = false
  /** Why it cannot be spoken to at this moment; null while it can. */
  #away: string | null = 'it is being joined'
  /** When its link broke, as programs tell the time, until the link is made again: a process may have ended then. */
  #brokenOn: string | undefined
  #end: string | undefined
  /** When it was known to have ended, on the clock that only goes forward; and when it ended, as programs tell the time. */
  #endedAt = 0
  #endedOn = ''
  #isSucceeding = false
  /** Why nothing has taken its place so far, as a sentence: that the next one ended and by which words, or which could be it. */
  #unfollowed:
    | { readonly why: string; readonly reason: Unfollowed; readonly words?: string | undefined }
    | undefined

  /** What takes its place runs there too. */
  readonly folder: string

  constructor(known: AttachmentDraft, options: AttachedOptions) {
    this.name = known.name
    this.root = known.root
    this.#known = known
    this.#options = options
    this.background = options.texts && new Background(options.texts.of(known.root))
    this.folder = known.cwd === null ? known.root : realOf(known.cwd)
  }

  /** Programs that announce the same name in one project are one group, whatever each is called as a kernel. */
  get group(): string {
    const { announced, name } = this.#known
    return announced === null ? name : groupOf({ name: announced })
  }

  get announced(): Announced | undefined {
    const { announced, process, ...known } = this.#known
    const { pid, started = '' } = process ?? {}
    return announced === null ? undefined : { ...known, name: announced, pid, started }
  }

  get program(): string {
    const { announced, program, cwd, address } = this.#known
    return programKey({ name: announced ?? '', program: program ?? '', cwd: cwd ?? '', address })
  }

  get alive(): boolean {
    return this.#end === undefined
  }

  get present(): Kernel | undefined {
    return this.alive && this.#away === null ? this.#kernel : undefined
  }

  /**
   * What the next daemon needs to join it again; undefined before it has been joined, and once a program that is no server
   * has ended. A server that has ended is kept, so that no other language answers in its place.
   */
  get attachment(): Attachment | undefined {
    const { address, epoch, implementation, pid } = this.#known
    const isKnown = this.alive || serverOf(address) !== undefined
    if (!isKnown || epoch === undefined || implementation === undefined || pid === undefined) return undefined
    const ended = !this.alive && !this.mayListenAgain ? true : undefined
    return { ...this.#known, epoch, implementation, pid, ended }
  }

  /** Whether that is the same program. */
  is({ address, process }: Pick<Attachment, 'address' | 'process'>): boolean {
    const own = this.#known.process
    if (own === null || process === null) return this.#known.address === address
    return own.pid === process.pid && own.started === process.started
  }

  /**
   * It is at the address of a server of this machine that a person has attached, with a secret that is read again from its
   * file: what listens there again is joined by the next call.
   */
  get mayListenAgain(): boolean {
    const { address, secret } = this.#known
    const isOver = this.#over.signal.aborted || this.#turnedAway || this.#known.ended === true
    if (isOver || serverOf(address)?.secret !== true || isFar(address)) return false
    return secret.from !== 'person'
  }

  /** Whether that stands for this process: its number, what it calls itself with that, or the address of its server. */
  isCalled(name: string): boolean {
    const { announced, process, address } = this.#known
    if (name.includes('://')) return address === name || address.replace('127.0.0.1:', '') === name
    return process !== null && (name === String(process.pid) || name === `${announced}-${process.pid}`)
  }

  /** Whether another program that calls itself so, in that project, is a member of the same group. */
  isOfGroup(announced: string, root: string): boolean {
    return this.alive && this.root === root && this.#known.announced === announced
  }

  get begunOn(): string {
    return this.#known.announced_at ?? ''
  }

  /** When it ended, as programs tell the time: when its link broke, where its end was known later. */
  get endedOn(): string {
    return this.#endedOn
  }

  /** Whether its name is its own: it lives, or joins what takes its place. */
  get isTaken(): boolean {
    return this.alive || this.#isSucceeding
  }

  /** Whether it has nothing to say any more beside `other`, which is attached now: see `editor-protocol.md`. */
  isPastBeside(other: AttachedKernel): boolean {
    if (this === other || this.isTaken || this.isFollowed || this.root !== other.root) return false
    return this.#isSameProgram(other) || this.#options.now() - this.#endedAt > PAST_MS
  }

  get pid(): number | undefined {
    return this.#known.pid
  }

  get mayBeLoading(): boolean {
    const { announced_at } = this.#known
    const age = Date.now() - Date.parse(announced_at ?? '')
    return this.alive && Math.abs(age) < LOADING_MS
  }

  /** Whether that is its parent, which has started it to do its work. */
  isServedFor({ pid, cwd }: Program): boolean {
    const { parent, role } = this.#known
    return role === 'serves' && parent === pid && this.#known.cwd === cwd
  }

  get isHelper(): boolean {
    return this.#known.role === 'helper'
  }

  /** Whether one parent has started both, under one name and in one folder: as workers, or one after the other. */
  isBeside({ parent, name, cwd }: Program): boolean {
    const known = this.#known
    return parent !== undefined && known.parent === parent && known.announced === name && known.cwd === cwd
  }

  /** Whether what takes the place of the program that has ended is still looked for. */
  get isFollowed(): boolean {
    const { announced, secret, parent } = this.#known
    if (this.alive || this.#over.signal.aborted || announced === null || secret.from !== 'announcement')
      return false
    if (parent === undefined || !this.#options.programs.lives(parent)) return false
    return this.#options.now() - this.#endedAt < FOLLOWED_MS
  }

  get isExpected(): boolean {
    return this.isFollowed && this.#unfollowed === undefined && this.#options.now() - this.#endedAt < GAP_MS
  }

  /** Those of the programs that could take its place: what began after its end, or else while it lived. */
  successorsAmong(programs: readonly Program[]): readonly Program[] {
    const likely = programs.filter(one => this.#isSuccessor(one))
    const itself = likely.filter(one => this.#isProcess(one))
    if (itself.length > 0) return itself
    const after = likely.filter(one => one.announced_at > this.#endedOn)
    return after.length > 0 ? after : likely
  }

  /** A process that has replaced itself, by `exec`, is another image. */
  #isProcess({ pid, started }: Program): boolean {
    const { process } = this.#known
    return process !== null && process.pid === pid && process.started === started
  }

  #isSuccessor(one: Program): boolean {
    const { name, program, cwd, parent, pid, epoch, announced_at } = one
    const known = this.#known
    if (this.#beside.has(epoch)) return false
    if (this.#isProcess(one)) return true
    if (known.announced !== name || known.cwd !== cwd || known.parent !== parent || known.pid === pid)
      return false
    return known.program === (program || null) && announced_at > (known.announced_at ?? '')
  }

  /** Nothing can take its place, and why; undefined where that is over. */
  unfollowed(why: string | undefined, reason: Unfollowed, words?: string): void {
    if (this.alive || (this.#unfollowed?.why === why && this.#unfollowed?.words === words)) return
    this.#unfollowed = why === undefined ? undefined : { why, reason, words }
    if (why !== undefined) this.#wake()
  }

  /** What one that could take its place has said of its own end, or it itself: it can be joined just before it fails. */
  lastWordsAmong(ends: readonly ProgramEnd[]): string | undefined {
    const { address, epoch } = this.#known
    const isOwn = ({ program }: ProgramEnd) => program.address === address && program.epoch === epoch
    return (ends.findLast(({ program }) => this.#isSuccessor(program)) ?? ends.find(isOwn))?.ended
  }

  /** Joins the program that takes its place. Throws what `Programs.attach` throws; the place is free then as before. */
  async succeed(program: Program, process: Attachment['process']): Promise<void> {
    const before = this.#known
    const { name: announced, address, parent, role, works_for, announced_at } = program
    const now = { announced, address, process, parent, role, works_for, announced_at }
    this.#known = { ...before, ...now, program: program.program || null }
    this.#isSucceeding = true
    try {
      const kernel = await this.#options.programs.attach(this.#joining(undefined))
      if (this.#over.signal.aborted) return void kernel.close()
      this.#end = undefined
      this.#unfollowed = undefined
      this.#joined(kernel)
    } catch (error) {
      this.#known = before
      throw error
    } finally {
      this.#isSucceeding = false
    }
  }

  /** Joins it for the first time. Throws what `Programs.attach` throws. */
  async join(key: string | undefined): Promise<void> {
    this.#joined(await this.#options.programs.attach(this.#joining(key)))
  }

  /** Joins the image that a daemon before this one was attached to, as soon as that can be. */
  async rejoin(): Promise<void> {
    const { epoch, ended } = this.#known
    if (epoch === undefined) throw new Error(`${this.name} was never joined`)
    if (ended) throw new Error(`${this.name} has ended.`)
    const joining = { ...this.#joining(keyOf(this.#known)), epoch, signal: this.#over.signal }
    const found = await this.#options.programs.rejoin(joining)
    if (typeof found === 'string') this.giveUp(found)
    else this.#joined(found)
  }

  /** It cannot be joined, and why. */
  giveUp(why: string): void {
    if (!this.alive) return
    this.#end = why
    this.#endedAt = this.#options.now()
    this.#endedOn = this.#brokenOn ?? new Date().toISOString()
    this.#unfollowed = undefined
    this.#note(why)
    this.#wake()
    if (!this.#over.signal.aborted) this.#options.ended()
  }

  row(): KernelRow {
    const { name, root, language, implementation = null, pid = null, epoch = null } = this.#known
    const { address, announced, program, cwd } = this.#known
    // A number of a process that nobody announced here may be one of another machine.
    const stopped = this.alive && announced !== null && pid !== null ? stoppedText(pid) : null
    return {
      name,
      language,
      implementation,
      state: stopped === null ? this.#state() : 'unresponsive',
      pid: this.alive ? pid : null,
      epoch: this.alive ? epoch : null,
      owned: false,
      attached: { address, announced, program, cwd, errors: this.#notesErrors(), helper: this.isHelper },
      root,
      script: null,
      script_state: null,
      running: this.alive ? (this.#kernel?.running ?? null) : null,
      suspended: this.alive ? (this.#kernel?.suspended ?? 0) : 0,
      message: this.#message() ?? stopped,
      background: this.background?.row() ?? null,
    }
  }

  over(later = ''): KernelError {
    const ended = sentence(this.#end ?? `${this.name} has ended.`)
    const { isFollowed } = this
    const { why, words } = this.#unfollowed ?? {
      words: this.lastWordsAmong(this.#options.programs.read().ends),
    }
    const told = words !== undefined && !this.#options.withholds(this) ? `: ${words}` : ''
    const nothing = isFollowed ? 'Nothing has taken its place so far.' : ''
    const since = why ?? (told === '' ? nothing : 'It ended with an error')
    return new KernelError('kernel_unavailable', {
      message: `${ended}${since === '' ? '' : ` ${sentence(`${since}${told}`)}`}${later}`,
      next: this.#next(isFollowed),
      details: { reason: this.#unfollowed?.reason ?? 'ended', kernel: this.name },
    })
  }

  #next(isFollowed: boolean): string {
    if (this.#unfollowed?.reason === 'several')
      return 'kernels lists them, and attach {"name": NAME} chooses one.'
    if (!isFollowed) return wayBack(this.#known)
    return `What process ${this.#known.parent} starts next takes its place as ${this.name}. Tools for files work meanwhile.`
  }

  async living(patienceMs = AWAY_MS): Promise<Kernel> {
    const longest = Math.min(AWAY_MS, patienceMs)
    if (this.alive && this.#away !== null) await this.settled(longest)
    if (this.isExpected) await this.settled(longest)
    if (!this.alive && this.mayListenAgain) {
      this.#trying ??= this.#tryAgain().finally(() => {
        this.#trying = undefined
      })
      await this.#trying
    }
    if (!this.alive) throw this.over()
    if (this.#kernel !== undefined && this.#away === null) return this.#kernel
    throw this.#isAway()
  }

  async #tryAgain(): Promise<void> {
    try {
      const key = keyOf(this.#known)
      const kernel = await this.#options.programs.attach({ ...this.#joining(key), process: null })
      if (this.#over.signal.aborted) return void (await kernel.close())
      this.#end = undefined
      this.#unfollowed = undefined
      this.#joined(kernel)
      this.#options.again()
    } catch (error) {
      const isSilent = error instanceof WireError && error.code === 'LINK_REFUSED'
      this.#turnedAway = error instanceof WireError && !isSilent
      // So that the next daemon sends that secret no more.
      if (this.#turnedAway && !this.#over.signal.aborted) this.#options.again()
      const why = messageOf(error)
      this.unfollowed(isSilent || why === this.#end ? undefined : why, 'ended')
    }
  }

  #isAway(): KernelError {
    return new KernelError('kernel_unavailable', {
      message: `The link to ${this.#who()} broke and is being made again: ${this.#away}.`,
      next: 'Try again later. The program itself was left alone.',
      details: { reason: 'away', kernel: this.name },
    })
  }

  stop(): Promise<never> {
    return Promise.reject(this.#notOurs())
  }

  restart(): Promise<never> {
    return Promise.reject(this.#notOurs())
  }

  async interrupt(): Promise<InterruptReport> {
    if (this.alive && this.#away !== null) throw this.#isAway()
    const { name } = this
    if (!this.alive || this.#kernel === undefined) return notLiving(name)
    return this.#kernel.interruptRunning({
      name,
      idle: `No call of Imago's runs in ${name}; what the program does by itself goes on.`,
      otherwise: 'Try again later. The program itself was left alone.',
    })
  }

  /** Lets go of it as a person asked: it is left as it was. */
  async detach(): Promise<void> {
    await this.present?.detach?.()
    await this.close()
  }

  /** Lets go of it; what runs in it goes on. */
  async close(): Promise<void> {
    this.#over.abort()
    await this.#kernel?.close()
    this.giveUp(`${this.name} was detached, and runs on.`)
  }

  /** It, or another life of it. */
  #isSameProgram(other: AttachedKernel): boolean {
    const [{ announced, program, cwd }, its] = [this.#known, other.#known]
    const isCalledSo = announced !== null && announced === its.announced
    return isCalledSo || (!!program && program === its.program && cwd === its.cwd)
  }

  #joining(key: string | undefined): Joining {
    const { name, address, process, secret, errors } = this.#known
    return {
      name,
      address,
      process,
      key,
      open: secret.from === 'none',
      ...(errors && { errors }),
      found: seen => {
        this.#known = { ...this.#known, process: seen }
      },
      background: text => {
        this.background?.add(text)
        this.#options.changed()
      },
      away: why => {
        this.#away = why === null ? null : why.replace(/[.\s]+$/, '')
        this.#brokenOn = why === null ? undefined : (this.#brokenOn ?? new Date().toISOString())
        if (why === null) this.#wake()
      },
    }
  }

  #joined(joined: Kernel): void {
    const { epoch, implementation, language, pid } = joined.identity
    const kernel = new KernelLife(joined, this.#options)
    this.#known = { ...this.#known, epoch, implementation, language, pid }
    this.#kernel = kernel
    this.#away = null
    this.#brokenOn = undefined
    this.#beside = new Set(this.#options.programs.read().programs.map(one => one.epoch))
    this.#note('attached')
    this.#options.lives({ name: this.name, root: this.root, kernel })
    this.#wake()
    void kernel.ended.then(({ message }) => this.giveUp(message))
  }

  #note(what: string): void {
    this.#options.noted({ kernel: this.name, epoch: this.#known.epoch ?? null, what })
  }

  /** Resolves when it can be spoken to again, or never will, or after so many milliseconds. */
  settled(longest: number): Promise<void> {
    return new Promise(resolve => {
      const done = () => {
        clearTimeout(limit)
        this.#waiting.delete(done)
        resolve()
      }
      const limit = setTimeout(done, longest)
      this.#waiting.add(done)
    })
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake()
  }

  #state(): KernelRow['state'] {
    if (!this.alive) return 'ended'
    return this.#kernel === undefined || this.#away !== null ? 'away' : this.#kernel.state
  }

  /** By a server that is not ours, an image tells of errors that wait in a debugger, and of others where that was asked for. */
  #notesErrors(): boolean {
    const { abilities, serversNoted = [] } = this.#kernel?.identity ?? {}
    const hears = serverOf(this.#known.address) === undefined || serversNoted.length > 0
    return hears && this.alive && abilities?.has('errors') === true
  }

  #message(): string | null {
    if (this.#end !== undefined) {
      const { message, next } = this.over()
      return `${message} ${next}`
    }
    if (this.#away !== null) return `Its link is being made again: ${sentence(this.#away)}`
    const parent = this.#options.leftBy(this)
    return parent === undefined ? null : `It was ${leftBy(this.#known.announced ?? this.name, parent)}.`
  }

  #who(): string {
    const { pid } = this.#known
    return pid === undefined ? this.name : `${this.name} (process ${pid})`
  }

  #notOurs(): KernelError {
    return new KernelError('kernel_unavailable', {
      message: `${this.#who()} is a program of yours that Imago is attached to, and Imago never ends such a program.`,
      next: `imago detach ${this.name} lets go of it, and it runs on`,
      details: { reason: 'not_owned', kernel: this.name },
    })
  }
}

/** The secret of a program that is to be joined again, where it is not read from its announcement. Throws an `Error`. */
function keyOf({ secret, name, address }: AttachmentDraft): string | undefined {
  if (secret.from === 'person')
    throw new Error(`${name} was attached to at ${address} with a key. The key was not kept; give it again.`)
  if (secret.from !== 'file') return undefined
  try {
    return readSecretFile(secret.path).trim()
  } catch (cause) {
    throw new Error(`The key file of ${name} cannot be read: ${messageOf(cause)}`, { cause })
  }
}
