import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { type Envelope, isRunning } from '../../tools/outcome.ts'
import { readBounded } from '../../wire/bounded-file.ts'
import type { CallId } from '../../wire/kernel.ts'
import { HELD_ROW } from '../approvals/rows.ts'
import { writeWhole } from '../files/whole-file.ts'
import type { Journal } from '../journal/journal.ts'
import { enveloped } from './answer.ts'
import type { Caller, CallRequest, Calls } from './contract.ts'
import * as refusals from './refusals.ts'

/** What is on the disk of a question: who asks, which tool, which arguments, which name. Never a plan. */
const QUESTION = HELD_ROW.extend({
  args: z.unknown(),
  /** The name under which it was dispatched, so that it is dispatched once. */
  dispatched: z.string().exactOptional(),
  /** What came of it. */
  answer: z
    .custom<Envelope>(value => typeof value === 'object' && value !== null && 'ok' in value)
    .exactOptional(),
})

type Question = z.output<typeof QUESTION>

/** A question that waits for a person. */
export type HeldQuestion = Omit<Question, 'dispatched' | 'answer'>

/** How a call is asked held. */
export interface HeldHow {
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
  /** It waits, and nobody sits. Told once. */
  waits(question: HeldQuestion): void
  /** It was answered, and nobody waits for that. */
  settled(question: HeldQuestion): void
  changed(): void
  log(sentence: string, error: unknown): void
}

/** Questions of one project that may wait. */
const MOST = 100

const FILE_BYTES = 8 * 1024 * 1024

/** How long an answer is kept for a caller that has not come for it, in milliseconds. */
const KEPT_MS = 30 * 86_400_000

/**
 * Calls whose questions wait for a person without end, and without a daemon if need be. While nobody sits there is
 * nothing of them but a file each. Once somebody does, each is called again: its plan is drawn from what is there then.
 * A call that was dispatched is never dispatched again, whichever daemon did it.
 */
export class HeldQuestions {
  readonly #parts: HeldParts
  readonly #folder: string
  /** Those that are put before a person now, by name. */
  readonly #asked = new Map<string, Promise<Envelope>>()
  readonly #withdrawn = new Map<string, AbortController>()
  /** How many callers wait for each. */
  readonly #waiting = new Map<string, number>()

  constructor(parts: HeldParts) {
    this.#parts = parts
    this.#folder = join(parts.stateDir, 'held')
  }

  /** Makes the call, or gives the answer that it has had. Never rejects. */
  async run(request: NamedRequest, { leave, run }: HeldHow): Promise<Envelope> {
    const { call, caller } = request
    const known = this.#read(call)
    if (known?.answer !== undefined && known.root === caller.root) return known.answer
    const mine = this.list().filter(({ root }) => root === caller.root).length
    if (known === undefined && mine >= MOST)
      return enveloped(refusals.tooManyHeld({ held: mine, most: MOST }))
    const question: Question = known ?? {
      call,
      tool: request.tool,
      args: request.args,
      root: caller.root,
      who: caller.who,
      ...(run !== undefined && { run }),
      asked_at: Date.now(),
    }
    let waits: (envelope: Envelope) => void = () => {}
    const left = new Promise<Envelope>(resolve => {
      waits = resolve
    })
    const ended = this.#ask(question, request, title => {
      if (leave) waits(enveloped(refusals.held({ tool: request.tool, title })))
    })
    if (leave) return Promise.race([ended, left])
    this.#waiting.set(call, (this.#waiting.get(call) ?? 0) + 1)
    const goes = () => this.#leave(call)
    request.gone?.addEventListener('abort', goes, { once: true })
    return ended.finally(() => {
      request.gone?.removeEventListener('abort', goes)
      if (request.gone?.aborted !== true) this.#leave(call)
    })
  }

  #leave(call: string): void {
    const left = (this.#waiting.get(call) ?? 1) - 1
    if (left > 0) this.#waiting.set(call, left)
    else this.#waiting.delete(call)
  }

  /** Somebody sits: all that waits is put before them. */
  sat(): void {
    for (const question of this.#questions()) {
      const { call, tool, args, root, who, answer } = question
      if (answer !== undefined || this.#asked.has(call)) continue
      const caller: Caller = {
        id: `held ${call}`,
        who,
        root,
        env: this.#parts.env,
        kind: 'cli',
        profile: 'full',
        readOnlyPromised: false,
      }
      void this.#ask(question, { tool, args, call: call as CallId, caller }, () => {})
    }
  }

  /** Those that wait, oldest first. */
  list(): readonly HeldQuestion[] {
    return this.#questions()
      .filter(({ answer }) => answer === undefined)
      .map(({ dispatched: _, answer: __, ...question }) => question)
      .sort((one, other) => one.asked_at - other.asked_at)
  }

  /** Takes it back for its project: nobody is asked any more. False where none of that name waits there. */
  withdraw(call: string, root: string): boolean {
    const question = this.#read(call)
    if (question === undefined || question.root !== root) return false
    rmSync(this.#path(call), { force: true })
    this.#withdrawn.get(call)?.abort()
    this.#parts.changed()
    return true
  }

  /** One call of it at a time: who asks meanwhile gets the same answer. */
  #ask(question: Question, request: NamedRequest, waits: (title: string) => void): Promise<Envelope> {
    const { call } = question
    const asked = this.#asked.get(call)
    if (asked !== undefined) {
      waits(question.tool)
      return asked
    }
    const cancel = new AbortController()
    this.#withdrawn.set(call, cancel)
    const stop = () => cancel.abort()
    request.signal?.addEventListener('abort', stop, { once: true })
    const ended = this.#made(question, { ...request, signal: cancel.signal }, waits)
      .then(envelope => this.#end(question, envelope, cancel.signal))
      .finally(() => {
        request.signal?.removeEventListener('abort', stop)
        this.#asked.delete(call)
        this.#withdrawn.delete(call)
        this.#parts.changed()
      })
    this.#asked.set(call, ended)
    return ended
  }

  async #made(question: Question, request: NamedRequest, waits: (title: string) => void): Promise<Envelope> {
    const { calls, journal, isSeated } = this.#parts
    const { call, tool, dispatched } = question
    if (dispatched !== undefined) {
      const end = await journal.earlier(dispatched as CallId)
      return enveloped(refusals.ranEarlier(call, end ?? { tool, outcome: 'outcome_unknown' }))
    }
    // A daemon that ended while it asked has withdrawn the name: the next one asks under another.
    for (let attempt = 1; ; attempt++) {
      const name = (attempt === 1 ? call : `${call}~${attempt}`) as CallId
      const made = () =>
        calls.run({
          ...request,
          gone: undefined,
          call: name,
          held: title => {
            this.#keep(question)
            waits(title)
            if (!isSeated()) this.#parts.waits(question)
          },
          on: event => {
            if (event.type === 'dispatched' && this.#isKept(call))
              this.#write({ ...question, dispatched: name })
            request.on?.(event)
          },
        })
      let envelope = await made()
      while (isAsking(envelope)) envelope = await made()
      if (!isOfEarlier(envelope)) return envelope
    }
  }

  /** The answer is kept where the question was; where it still waits, nothing changes. */
  #end(question: Question, envelope: Envelope, { aborted }: AbortSignal): Envelope {
    const { call } = question
    const isWaitedFor = this.#waiting.has(call)
    if (aborted) rmSync(this.#path(call), { force: true })
    if (!this.#isKept(call) || stillWaits(envelope)) return envelope
    try {
      const now = this.#read(call) ?? question
      this.#write({ ...now, answer: envelope })
    } catch (error) {
      this.#parts.log('the answer of a held question could not be kept', error)
    }
    if (!isWaitedFor) this.#parts.settled(question)
    // There is room for one more.
    if (this.#parts.isSeated()) setImmediate(() => this.sat())
    return envelope
  }

  // Files.

  #keep(question: Question): void {
    if (this.#isKept(question.call)) return
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    this.#write(question)
    this.#parts.changed()
  }

  #write(question: Question): void {
    writeWhole(this.#path(question.call), `${JSON.stringify(question)}\n`)
  }

  #isKept(call: string): boolean {
    return existsSync(this.#path(call))
  }

  /** Names of calls are anybody's, and those of files are not. */
  #path(call: string): string {
    return join(this.#folder, `${createHash('sha256').update(call).digest('hex').slice(0, 32)}.json`)
  }

  #read(call: string): Question | undefined {
    return existsSync(this.#path(call)) ? this.#question(this.#path(call)) : undefined
  }

  #questions(): Question[] {
    if (!existsSync(this.#folder)) return []
    const now = Date.now()
    return readdirSync(this.#folder).flatMap(name => {
      const path = join(this.#folder, name)
      const question = name.endsWith('.json') ? this.#question(path) : undefined
      if (question === undefined) return []
      if (question.answer === undefined || now - question.asked_at < KEPT_MS) return [question]
      rmSync(path, { force: true })
      return []
    })
  }

  /** Undefined for a file that is none of ours, or was changed: it asks nothing. */
  #question(path: string): Question | undefined {
    try {
      const question = QUESTION.parse(JSON.parse(readBounded(path, { most: FILE_BYTES }).toString('utf8')))
      return this.#path(question.call) === path ? question : undefined
    } catch (error) {
      this.#parts.log(`${path} is no question, and is passed over`, error)
      return undefined
    }
  }
}

/** It waits for an answer, and its caller's patience is over. */
const isAsking = (envelope: Envelope): boolean =>
  envelope.ok && isRunning(envelope.result) && envelope.result.status === 'waiting'

/** Nobody was there, or the daemon ended first. */
const stillWaits = (envelope: Envelope): boolean =>
  !envelope.ok && (envelope.error.code === 'approval_held' || envelope.error.code === 'withdrawn')

/** A daemon before this one was given a call of that name, and nothing ran. */
const isOfEarlier = (envelope: Envelope): boolean =>
  !envelope.ok && envelope.error.code === 'withdrawn' && envelope.error.details.outcome !== undefined
