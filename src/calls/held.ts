import { createHash } from 'node:crypto'
import { constants, existsSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Envelope, Failed } from '../../tools/outcome.ts'
import { readBounded } from '../../wire/bounded-file.ts'
import type { CallId } from '../../wire/kernel.ts'
import { HELD_ROW } from '../approvals/rows.ts'
import { writeWhole } from '../files/whole-file.ts'
import type { Earlier } from '../journal/entries.ts'
import type { Journal } from '../journal/journal.ts'
import { enveloped } from './answer.ts'
import type { Caller, CallRequest, Calls } from './contract.ts'
import { withdrawn } from './faults.ts'
import * as refusals from './refusals.ts'

/** What is on the disk of a question: who asks, which tool, which arguments, which name. Never a plan. */
const QUESTION = HELD_ROW.extend({
  args: z.unknown(),
  /** A person is asked about a cautious call, too. */
  cautious: z.boolean().exactOptional(),
  /** How often it was drawn under a name of its own, and the name of the last time: `NAME~2`. Left out: once. */
  attempt: z.int().min(2).exactOptional(),
  /** That attempt was dispatched. */
  dispatched: z.literal(true).exactOptional(),
  /** What came of it, and when. */
  answer: z
    .custom<Envelope>(value => typeof value === 'object' && value !== null && 'ok' in value)
    .exactOptional(),
  answered_at: z.number().exactOptional(),
  /** A caller was given the answer. */
  told: z.literal(true).exactOptional(),
})

type Question = z.output<typeof QUESTION>

/** A question that waits for a person. */
export type HeldQuestion = z.output<typeof HELD_ROW>

/** How a call is asked held. */
export interface HeldHow {
  /** A person is asked about a cautious call, too. */
  readonly cautious?: boolean | undefined
  /** Whether its caller is answered `approval_held` once it waits, and does not wait itself. */
  readonly leave: boolean
  readonly run?: string | undefined
}

type NamedRequest = CallRequest & { readonly call: CallId }

interface HeldParts {
  readonly stateDir: string
  readonly calls: Pick<Calls, 'run'>
  readonly journal: Pick<Journal, 'earlier'>
  /** In which a kernel is started that a question needs: that of its caller has gone. */
  readonly env: Caller['env']
  /** Whether somebody sits. */
  isSeated(): boolean
  /** Whether those who sit can be asked about one more of that project now. */
  isRoom(root: string): boolean
  /** It waits, and nobody sits. Told once. */
  waits(question: HeldQuestion, title: string): void
  /** It was answered, and nobody waits for that. */
  settled(question: HeldQuestion): void
  changed(): void
  /** Replaces a file as a whole. Left out: as `writeWhole` does. */
  write?(path: string, text: string): void
  log(sentence: string, error: unknown): void
}

/** Questions of one project that may wait, and that are put before a person at once. */
const MOST = 100

const AT_ONCE = 8

const FILE_BYTES = 64 * 1024 * 1024

/** How long an answer is kept for a caller that has not come for it, and after that, in milliseconds. */
const [KEPT_MS, TOLD_MS] = [30 * 86_400_000, 86_400_000]

/** A caller that has not been answered. */
interface Waiter {
  readonly leave: boolean
  answer(envelope: Envelope): void
}

/** A question that is drawn, or put before a person, or carried out. */
interface Asked {
  readonly root: string
  readonly cancel: AbortController
  /** What callers that leave are answered, once it waits. */
  waits: Envelope | undefined
  /** Once it is none any more. */
  ended: Promise<void>
}

/**
 * Calls whose questions wait for a person without end, and without a daemon if need be. While nobody sits there is
 * nothing of them but a file each. Once somebody does, each is called again: its plan is drawn from what is there then.
 * A call that was dispatched is never dispatched again, whichever daemon did it.
 */
export class HeldQuestions {
  readonly #parts: HeldParts
  readonly #folder: string
  /** By the paths of their files, as all that follows. */
  readonly #asked = new Map<string, Asked>()
  readonly #waiting = new Map<string, Set<Waiter>>()
  /** Those that were answered, and whose files could not be written. */
  readonly #unwritten = new Map<string, Question>()
  /** Those whose kernels could not be had since somebody sits. */
  readonly #absent = new Set<string>()
  #closed = false

  constructor(parts: HeldParts) {
    this.#parts = parts
    this.#folder = join(parts.stateDir, 'held')
  }

  /** Makes the call, or gives the answer that it has had. Never rejects. */
  run(request: NamedRequest, { leave, run, cautious }: HeldHow): Promise<Envelope> {
    const { call, caller, tool, args, signal, gone } = request
    const { root } = caller
    // The person who is asked reads the name of the run.
    const who = run?.startsWith('run-') ? `${caller.who}, ${run}` : caller.who
    const path = this.#path(call, root)
    const before = this.#asked.get(path)
    if (before?.cancel.signal.aborted)
      return before.ended.then(() => this.run(request, { leave, run, cautious }))
    const known = this.#read(path)
    const meant = JSON.stringify([tool, args])
    if (known !== undefined && JSON.stringify([known.tool, known.args]) !== meant)
      return Promise.resolve(enveloped(refusals.otherCall(call)))
    if (known?.answer !== undefined) {
      if (known.told !== true) this.#keepAnswer(path, { ...known, told: true })
      return Promise.resolve(known.answer)
    }
    const more = { ...(run !== undefined && { run }), ...(cautious !== undefined && { cautious }) }
    const question = known ?? { call, tool, args, root, who, ...more, asked_at: Date.now() }
    return new Promise(resolve => {
      const cancel = () => this.#takeBack(path)
      const leaves = () => end()
      const end = () => {
        signal?.removeEventListener('abort', cancel)
        gone?.removeEventListener('abort', leaves)
        const others = this.#waiting.get(path)
        others?.delete(waiter)
        if (others?.size === 0) this.#waiting.delete(path)
      }
      const waiter: Waiter = {
        leave,
        answer(envelope) {
          end()
          resolve(envelope)
        },
      }
      this.#waiting.set(path, (this.#waiting.get(path) ?? new Set()).add(waiter))
      signal?.addEventListener('abort', cancel, { once: true })
      gone?.addEventListener('abort', leaves, { once: true })
      this.#ask(path, question, { ...request, caller: { ...caller, who } })
      const { waits } = this.#asked.get(path) ?? {}
      if (leave && waits !== undefined) waiter.answer(waits)
      if (signal?.aborted === true) cancel()
      // It may have gone before it was heard.
      if (gone?.aborted === true) leaves()
    })
  }

  /** Tells of what was answered, and of what was dispatched, under a daemon that was lost before it could. */
  begin(): void {
    for (const [path, question] of this.#closed ? [] : this.#all()) {
      if (question.answer === undefined) {
        if (question.dispatched) this.#askAgain(path, question)
      } else if (question.told !== true) this.#parts.settled(rowOf(question))
    }
  }

  /** Those who sit can be asked, or nobody sits any more: all that waits is put before them, the oldest first, a few at once. */
  sat(): void {
    const isSeated = this.#parts.isSeated()
    if (!isSeated) this.#absent.clear()
    if (this.#closed || !isSeated) return
    for (const [path, question] of this.#all().filter(([at, one]) => waits(one) && !this.#absent.has(at))) {
      const now = [...this.#asked.values()].filter(({ root }) => root === question.root).length
      if (now < AT_ONCE && this.#parts.isRoom(question.root)) this.#askAgain(path, question)
    }
  }

  /** A kernel lives since now: it may be the one that a question is about. */
  lives(): void {
    if (this.#absent.size === 0) return
    this.#absent.clear()
    this.sat()
  }

  #askAgain(path: string, question: Question): void {
    const { call, tool, args, root, who } = question
    const caller: Caller = {
      id: `held ${call}`,
      who,
      root,
      env: this.#parts.env,
      kind: 'cli',
      profile: 'full',
      readOnlyPromised: false,
    }
    this.#ask(path, question, { tool, args, call: call as CallId, caller })
  }

  /** Those that wait, oldest first. */
  list(): readonly HeldQuestion[] {
    return this.#all().flatMap(([, question]) => (waits(question) ? [rowOf(question)] : []))
  }

  /** Of those, the ones that are before nobody now. */
  unasked(): readonly HeldQuestion[] {
    return this.#all().flatMap(([path, question]) =>
      waits(question) && !this.#asked.has(path) ? [rowOf(question)] : [],
    )
  }

  /** Takes it back for its project: nobody is asked any more. False where none of that name waits there. */
  withdraw(call: string, root: string): boolean {
    return this.#takeBack(this.#path(call, root))
  }

  /** The daemon ends: what is asked now waits for the next one. */
  close(): void {
    this.#closed = true
  }

  #takeBack(path: string): boolean {
    const question = this.#read(path)
    const waited = question !== undefined && waits(question)
    if (waited) this.#remove(path)
    const asked = this.#asked.get(path)
    if (asked !== undefined) asked.cancel.abort()
    else this.#answer(path, enveloped(withdrawn()))
    if (waited) this.#parts.changed()
    return waited
  }

  /** Answers the callers that wait for it, all or some; false where none does. */
  #answer(path: string, envelope: Envelope, only: (waiter: Waiter) => boolean = () => true): boolean {
    const waiters = [...(this.#waiting.get(path) ?? [])].filter(only)
    for (const waiter of waiters) waiter.answer(envelope)
    return waiters.length > 0
  }

  /** One call of it at a time: who asks meanwhile gets the same answer. */
  #ask(path: string, question: Question, request: NamedRequest): void {
    if (this.#asked.has(path)) return
    const cancel = new AbortController()
    const asked: Asked = { root: question.root, cancel, waits: undefined, ended: Promise.resolve() }
    this.#asked.set(path, asked)
    asked.ended = this.#made(path, question, { ...request, signal: cancel.signal })
      .catch(error => {
        this.#parts.log('a held question could not be asked', error)
        return undefined
      })
      .then(envelope => this.#end(path, question, envelope))
  }

  /** Draws it, and asks, as often as what it was drawn from changes before it is carried out. */
  async #made(path: string, question: Question, request: NamedRequest): Promise<Envelope> {
    const { calls, journal, log } = this.#parts
    const { call, tool, dispatched } = question
    for (let attempt = question.attempt ?? 1; ; attempt++) {
      const name = (attempt === 1 ? call : `${call}~${attempt}`) as CallId
      const isLast = attempt === (question.attempt ?? 1)
      const lost = isLast && dispatched ? { tool, outcome: 'outcome_unknown' } : undefined
      const before = (await journal.earlier(name)) ?? lost
      if (before !== undefined && isUnasked(before)) continue
      if (before !== undefined) return enveloped(refusals.ranEarlier(call, before))
      const drawn = attempt === 1 ? question : { ...question, attempt }
      const { dispatched: _, ...waiting } = drawn
      let isAsked = false
      const envelope = await calls.run({
        ...request,
        gone: undefined,
        asksCautious: question.cautious,
        call: name,
        held: title => {
          isAsked = true
          return this.#waits(path, waiting, title)
        },
        on: event => {
          try {
            if (event.type === 'dispatched' && existsSync(path))
              this.#write(path, { ...waiting, dispatched: true })
          } catch (error) {
            log('that a held question was dispatched is in the journal alone', error)
          }
          request.on?.(event)
        },
      })
      if (!isAsked && lacksKernel(envelope) && this.#read(path) !== undefined) {
        this.#absent.add(path)
        return enveloped(refusals.held({ tool, title: tool }))
      }
      if (!isAsked || envelope.ok || envelope.error.code !== 'stale_plan') return envelope
    }
  }

  /** It is on the disk from now on; otherwise it is not asked. */
  #waits(path: string, question: Question, title: string): Failed | undefined {
    const known = this.#read(path)
    if (known === undefined) {
      const held = this.list().filter(({ root }) => root === question.root).length
      if (held >= MOST) return refusals.tooManyHeld({ held, most: MOST })
    }
    try {
      if (known === undefined) mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
      if (known === undefined || known.attempt !== question.attempt || known.dispatched)
        this.#write(path, question)
    } catch (error) {
      this.#parts.log('a question could not be kept', error)
      // The name of an attempt is found in the journal, too.
      if (known === undefined) return refusals.journalUnavailable(error)
    }
    const asked = this.#asked.get(path)
    const held = enveloped(refusals.held({ tool: question.tool, title }))
    if (asked !== undefined) asked.waits = held
    this.#answer(path, held, ({ leave }) => leave)
    if (known !== undefined) return undefined
    this.#parts.changed()
    if (!this.#parts.isSeated()) this.#parts.waits(rowOf(question), title)
    return undefined
  }

  /** The answer is kept where the question was; where it still waits, nothing changes. Undefined: it could not be asked. */
  #end(path: string, { tool }: Question, envelope: Envelope | undefined): void {
    this.#asked.delete(path)
    // There may be room for one more, or somebody sits since.
    if (envelope !== undefined) setImmediate(() => this.sat())
    const now = this.#read(path)
    if (envelope !== undefined && (now === undefined || !isUnanswered(envelope, this.#closed))) {
      const told = this.#waiting.has(path) && ({ told: true } as const)
      const answered = { answer: envelope, answered_at: Date.now(), ...told }
      if (now !== undefined) this.#keepAnswer(path, { ...now, ...answered })
      if (!this.#answer(path, envelope) && now !== undefined) this.#parts.settled(rowOf(now))
    } else
      this.#answer(
        path,
        enveloped(refusals.held({ tool, title: tool })),
        ({ leave }) => leave || now === undefined || this.#closed,
      )
    if (now !== undefined) this.#parts.changed()
  }

  #keepAnswer(path: string, answered: Question): void {
    try {
      this.#write(path, answered)
    } catch (error) {
      this.#unwritten.set(path, answered)
      this.#parts.log('the answer of a held question could not be kept', error)
    }
  }

  // Files.

  #write(path: string, question: Question): void {
    const { write = writeWhole } = this.#parts
    write(path, `${JSON.stringify(question)}\n`)
  }

  #remove(path: string): void {
    try {
      rmSync(path, { force: true })
    } catch (error) {
      this.#parts.log(`${path} could not be removed`, error)
    }
  }

  /** Names of calls are anybody's, and those of files are not. In another project the name is another call. */
  #path(call: string, root: string): string {
    const name = createHash('sha256')
      .update(JSON.stringify([root, call]))
      .digest('hex')
      .slice(0, 32)
    return join(this.#folder, `${name}.json`)
  }

  /** All there are, by their paths, oldest first. An answer that nobody needs any more is forgotten. */
  #all(): readonly (readonly [path: string, question: Question])[] {
    const now = Date.now()
    const all = this.#names().flatMap((name): (readonly [string, Question])[] => {
      const path = join(this.#folder, name)
      const question = this.#read(path)
      if (question === undefined) return []
      const { answered_at = now, told } = question
      if (now - answered_at <= (told ? TOLD_MS : KEPT_MS)) return [[path, question]]
      this.#remove(path)
      return []
    })
    return all.sort(([, one], [, other]) => one.asked_at - other.asked_at)
  }

  #names(): string[] {
    try {
      return existsSync(this.#folder) ? readdirSync(this.#folder).filter(name => name.endsWith('.json')) : []
    } catch (error) {
      this.#parts.log(`${this.#folder} cannot be read`, error)
      return []
    }
  }

  /** Undefined for a file that is none of ours, or was changed: it asks nothing. */
  #read(path: string): Question | undefined {
    const unwritten = this.#unwritten.get(path)
    if (unwritten !== undefined || !existsSync(path)) return unwritten
    try {
      const { uid, mode } = lstatSync(path)
      if (uid !== process.getuid?.() || (mode & 0o022) !== 0) throw new Error('others can write it')
      const bytes = readBounded(path, { most: FILE_BYTES, flags: constants.O_NOFOLLOW })
      const question = QUESTION.parse(JSON.parse(bytes.toString('utf8')))
      if (this.#path(question.call, question.root) !== path) throw new Error('it is of another name')
      return question
    } catch (error) {
      this.#parts.log(`${path} is no question, and is passed over`, error)
      return undefined
    }
  }
}

const waits = ({ answer, dispatched }: Question): boolean => answer === undefined && !dispatched

const rowOf = ({ call, tool, root, who, run, asked_at }: Question): HeldQuestion => ({
  call,
  tool,
  root,
  who,
  ...(run !== undefined && { run }),
  asked_at,
})

/** Nobody was there, or the daemon ends first. */
const isUnanswered = (envelope: Envelope | undefined, closed: boolean): boolean =>
  envelope?.ok === false &&
  (envelope.error.code === 'approval_held' || (closed && envelope.error.code === 'withdrawn'))

const lacksKernel = (envelope: Envelope): boolean =>
  !envelope.ok && (envelope.error.code === 'no_such_kernel' || envelope.error.code === 'kernel_unavailable')

/** A daemon before this one was given it, and nobody has answered: it is asked again, under another name. */
const isUnasked = ({ outcome }: Earlier): boolean =>
  outcome === 'withdrawn' || outcome === 'stale_plan' || outcome === 'approval_held'
