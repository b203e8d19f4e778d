import { messageOf } from '../../wire/errors.ts'
import { languageAt } from '../../wire/languages.ts'
import type { Program, Programs, SkippedFile } from '../../wire/programs.ts'
import { readSecretFile } from '../../wire/secret-file.ts'
import { nameFrom, realOf } from '../files/roots.ts'
import type { TextStore } from '../text/texts.ts'
import { AttachedKernel, type Sought } from './attached-kernel.ts'
import { KernelError } from './kernel-error.ts'
import {
  findTarget,
  fullName,
  handleOf,
  type Insisting,
  isSwank,
  parentOf,
  refuseFar,
  secretFor,
  type Target,
  whoAnswer,
} from './programs.ts'
import { attachedAlready, GIVE_KEY, isOwned, notAttached } from './refusals.ts'
import type { Attachment, Remembered } from './remembered.ts'
import type { KernelNews, KernelRow, Named, NewLife } from './rows.ts'

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
}

/** A program that can be attached to. */
export interface AnnouncedRow {
  readonly name: string
  /** What `imago attach` takes: the name, or NAME-PID where others have it too. */
  readonly attach: string
  readonly language: string
  readonly implementation: string
  readonly pid: number
  /** The process that started it, where that has announced itself too. */
  readonly parent: number | null
  readonly address: string
  readonly cwd: string
  readonly program: string
  readonly announced_at: string
}

export interface Announced {
  readonly announced: readonly AnnouncedRow[]
  readonly skipped: readonly SkippedFile[]
}

interface AttachingOptions {
  readonly programs: Programs
  readonly remembered: Remembered
  /** All kernels by name, where attached ones stand among the others. */
  readonly kernels: Map<string, Named>
  readonly texts: TextStore | undefined
  now(): number
  /** What a kernel of that name prints by itself, as it comes. */
  heard(name: string, text: string): void
  noted(news: KernelNews): void
  lives(life: NewLife): void
  /** A name that a person gave for a new kernel, or a `KernelError`. */
  checked(name: string): string
}

/** Attaches to programs and lets go of them, for the kernels by name. */
export class Attaching {
  readonly #options: AttachingOptions

  constructor(options: AttachingOptions) {
    this.#options = options
  }

  /** Throws `KernelError`. */
  async attach(asked: Attach): Promise<KernelRow> {
    const target = await findTarget(asked.target, this.#options.programs)
    const { kernels, checked, programs } = this.#options
    const process = processOf(target.program)
    const already = this.#attached().find(one => one.alive && one.is({ address: target.address, process }))
    if (already) throw attachedAlready(already.row())
    const secret = secretOf(target, { asked, programs })
    const name = asked.name === undefined ? this.#freeName(target) : checked(asked.name)
    const former = kernels.get(name)
    const kernel = this.#add(soughtOf({ asked, target, name, process, secret }))
    const key = isKept(secret) ? undefined : asked.key
    try {
      await kernel.join(key)
    } catch (error) {
      if (former) kernels.set(name, former)
      else kernels.delete(name)
      throw notAttached(error, { target, key })
    }
    for (const one of this.#attached()) if (one.isPastBeside(kernel)) kernels.delete(one.name)
    this.#remember()
    return kernel.row()
  }

  /** Lets go of it and forgets its name; the program runs on. The row is the last one. Throws `KernelError`. */
  async detach(kernel: Named): Promise<KernelRow> {
    if (!(kernel instanceof AttachedKernel)) throw isOwned(kernel.name)
    const row = kernel.row()
    this.#options.kernels.delete(kernel.name)
    this.#remember()
    await kernel.close()
    return row
  }

  /** The programs that can be attached to, and are not yet. */
  async announced(): Promise<Announced> {
    const { programs: read, skipped } = this.#options.programs.read()
    const there = await whoAnswer(read, this.#options.programs)
    const attached = this.#attached().filter(({ alive }) => alive)
    const free = there.filter(one => !attached.some(kernel => kernel.is(placeOf(one))))
    return { announced: free.map(one => rowOf(one, there)), skipped }
  }

  /** One that has announced itself under that name or another that stands for it, by what its files say. */
  find(name: string): AnnouncedRow | undefined {
    const { programs } = this.#options.programs.read()
    const lives = programs.filter(one => one.process === 'lives')
    const found = lives.find(one => one.name === name || fullName(one) === name)
    return found && rowOf(found, lives)
  }

  /** Joins what the daemon before this one was attached to, each as soon as it can be. */
  restore(): void {
    for (const attachment of this.#options.remembered.read()) {
      if (this.#options.kernels.has(attachment.name)) continue
      const kernel = this.#add(attachment)
      const key = keyOf(attachment)
      if ('lost' in key) kernel.giveUp(key.lost)
      else void kernel.rejoin(key.key).catch(error => kernel.giveUp(messageOf(error)))
    }
  }

  #add(sought: Sought): AttachedKernel {
    const { programs, texts, now, noted, lives, kernels } = this.#options
    const ended = () => this.#remember()
    const heard = (text: string) => this.#options.heard(sought.name, text)
    const kernel = new AttachedKernel(sought, { programs, texts, now, heard, noted, lives, ended })
    kernels.set(sought.name, kernel)
    return kernel
  }

  #attached(): AttachedKernel[] {
    return [...this.#options.kernels.values()].filter(kernel => kernel instanceof AttachedKernel)
  }

  #remember(): void {
    const attachments = this.#attached().map(({ attachment }) => attachment)
    this.#options.remembered.write(attachments.filter(one => one !== undefined))
  }

  /** Its own name; with its process number where that is taken, or borne by another program too. */
  #freeName({ program, address }: Target): string {
    const { kernels } = this.#options
    const free = (name: string) => !kernels.get(name)?.alive
    const own = nameFrom(program?.name ?? '', isSwank(address) ? languageAt(address).name : 'program')
    if (free(own)) return own
    const full = program && nameFrom(fullName(program), 'program')
    if (full !== undefined && free(full)) return full
    for (let number = 2; ; number++) if (free(`${own}-${number}`)) return `${own}-${number}`
  }
}

interface Seeking {
  readonly asked: Attach
  readonly target: Target
  readonly name: string
  readonly process: Attachment['process']
  readonly secret: Attachment['secret']
}

function soughtOf({ asked, target: { address, program }, name, process, secret }: Seeking): Sought {
  return {
    name,
    root: realOf(asked.root),
    address,
    process,
    language: program?.language ?? languageAt(address).name,
    announced: program?.name ?? null,
    program: program?.program || null,
    cwd: program?.cwd ?? null,
    secret,
  }
}

interface Asking {
  readonly asked: Attach
  readonly programs: Programs
}

/** Where the secret comes from. Throws `KernelError` where there is none, or the address is not to be trusted. */
function secretOf(target: Target, { asked, programs }: Asking): Attachment['secret'] {
  const { address, program } = target
  const { key, keyFile } = asked
  const given: Attachment['secret'] =
    keyFile === undefined ? { from: 'person' } : { from: 'file', path: keyFile }
  if (isSwank(address)) {
    refuseFar(address, asked)
    const from = secretFor(address, { wanted: asked, programs })
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

function rowOf(program: Program, among: readonly Program[]): AnnouncedRow {
  const { name, language, implementation, pid, address, cwd, announced_at } = program
  const attach = handleOf(program, among)
  const parent = parentOf(program, among)
  const started = { program: program.program, announced_at }
  return { name, attach, language, implementation, pid, parent, address, cwd, ...started }
}

/** The secret of a program that is to be joined again, where it is not read from its announcement. */
function keyOf({
  secret,
  name,
  address,
}: Attachment): { readonly key: string | undefined } | { lost: string } {
  if (isKept(secret)) return { key: undefined }
  const again = 'The key was not kept; give it again'
  if (secret.from !== 'file') return { lost: `${name} was attached to at ${address} with a key. ${again}.` }
  try {
    return { key: readSecretFile(secret.path).trim() }
  } catch (error) {
    return { lost: `The key file of ${name} cannot be read: ${messageOf(error)}` }
  }
}
