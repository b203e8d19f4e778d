import { randomUUID } from 'node:crypto'
import type { Jobs, Profile, Texts } from '../../tools/define.ts'
import type { Envelope, Outcome } from '../../tools/outcome.ts'
import type { CallId, Question, Stream } from '../../wire/kernel.ts'
import type { Signal } from '../../wire/signal.ts'
import { bounded, enveloped } from './answer.ts'
import { openAnswerNotices } from './answer-notices.ts'
import type { Approvals, ClientAsker } from './approvals.ts'
import { type Clock, SYSTEM_CLOCK } from './clock.ts'
import { faultOf } from './faults.ts'
import { type Files, NO_FILES } from './files.ts'
import { Flight } from './flight.ts'
import { openJobs } from './jobs.ts'
import type { Journal } from './journal.ts'
import type { Kernels } from './kernels.ts'
import { openOnce } from './once.ts'
import type { PathOptions } from './passage.ts'
import { walk } from './path.ts'
import type { Policy } from './policy.ts'
import { forgotten, otherCall, tooManyPending } from './refusals.ts'
import type { Registry } from './registry.ts'
import { Leases } from './suspensions/leases.ts'
import { openTexts, type TextStore } from './texts.ts'
import { waitFor } from './waiting.ts'

/**
 * Who makes a call. It comes from the connection, and nothing in a message can change what it may do: `id` and `who`
 * hold what the client calls itself too, and grant nothing.
 */
export interface Caller {
  readonly id: string
  /** For people: the client's own name, `imago call`, `claude-code 2.1`. */
  readonly who: string
  /** By the role of the connection: `cli` for all that speak the client protocol. */
  readonly kind: 'cli' | 'mcp'
  /** The project: where no kernel is named, the one that lives in it is used, and its policy holds. */
  readonly root: string
  readonly env: Readonly<Record<string, string>>
  /** It was told that safe tools only read: a call of one that would have to run code is refused. */
  readonly readOnlyPromised: boolean
  readonly profile: Profile
  /**
   * The program that this connection and others come from, where that is known: what a person refuses is counted for
   * it. Left out: all connections of this kind and root are taken for one.
   */
  readonly origin?: string | undefined
  /** How the person at the client itself can be asked about its calls. Left out: only on seats. */
  readonly client?: ClientAsker | undefined
  /** Who has a seat on this connection now, for people; undefined where nobody has. Left out: nobody can. */
  readonly seat?: (() => string | undefined) | undefined
}

export interface CallRequest {
  readonly tool: string
  /** May hold the reserved `kernel` and `patience` (seconds). Left out means none. */
  readonly args: unknown
  readonly caller: Caller
  /** The caller's own name for this call. Asking again under it joins the call, or gives its answer; it never runs twice. */
  readonly call?: CallId | undefined
  /** Aborts when the caller cancels on purpose, and only then: going away ends no call. */
  readonly signal?: Signal | undefined
  /** Aborts when nobody is there any more to hear the answer: what runs goes on as a job, and its name is listed. */
  readonly gone?: Signal | undefined
  /** It is answered with the end of the call alone, however long that takes: never with a job. */
  readonly toItsEnd?: boolean
  /** News, in order, until the answer. Must not throw. */
  on?(event: CallEvent): void
  /** Puts a question of the running code to the caller. */
  ask?(question: Question): Promise<string>
}

export type CallEvent =
  /** It was let through the gate, and begins now. */
  | { readonly type: 'dispatched'; readonly call: CallId; readonly kernel: string | null }
  | { readonly type: 'output'; readonly stream: Stream; readonly text: string }
  /** It still runs, or waits for a person to answer `plan`; about once a second. */
  | {
      readonly type: 'progress'
      readonly message: string
      readonly elapsed_ms: number
      readonly plan?: string
    }

/** The one path for every call, whoever makes it. */
export interface Calls {
  /**
   * Finds the tool, checks the arguments, asks the gate, writes the journal, runs, bounds, and answers. Never
   * rejects. The answer of a call that outlives the caller's patience names a job, and the call goes on.
   */
  run(request: CallRequest): Promise<Envelope>
  /** How many calls are under way, jobs included. */
  busy(): number
  readonly jobs: Jobs
  readonly texts: Texts
  /** Lets go of what is kept of earlier calls. What still runs is not ended. */
  close(): void
}

export interface CallsOptions {
  readonly registry: Registry
  /** Of the package: the tools of another build are other tools. */
  readonly version?: string
  readonly kernels: Pick<Kernels, 'resolve'> & Partial<Pick<Kernels, 'living' | 'besides'>>
  readonly policy: Policy
  readonly journal: Journal
  /** Who is asked. Left out: nobody. */
  readonly approvals?: Approvals
  /** The files of a project, confined to it. Left out: none can be looked at. */
  readonly files?: Files
  /** Who holds what is suspended. Left out: a book of its own. */
  readonly leases?: Leases
  /** Long output goes to files below it. */
  readonly stateDir: string
  /** Where long texts are kept, if others keep some there too; it is closed with the calls. Left out: one of its own. */
  readonly texts?: TextStore
  /** Faults, with their stacks; they are not for callers. */
  readonly log: (message: string, error: unknown) => void
  /** How long a caller waits for running code before it is answered with a job, in milliseconds. */
  readonly patienceMs?: number
  /** How long a look may take, in milliseconds. */
  readonly lookMs?: number
  /** Calls of one caller that may be under way, jobs included. */
  readonly pending?: number
  /** Plans of one caller that may wait for a person. */
  readonly pendingPlans?: number
  readonly clock?: Clock
}

const DEFAULTS = {
  patienceMs: 60_000,
  lookMs: 5_000,
  pending: 32,
  pendingPlans: 8,
  clock: SYSTEM_CLOCK,
  files: NO_FILES,
}
/** How long a cancelled call is watched for its end before its caller is answered, in milliseconds. */
const CANCEL_MS = 5_000

export function openCalls(given: CallsOptions): Calls {
  const options = { ...DEFAULTS, ...given }
  const { clock, log } = options
  const jobs = openJobs(clock)
  const texts = options.texts ?? openTexts(options)
  const leases = options.leases ?? new Leases(options.journal)
  const once = openOnce()
  const pending = new Map<string, number>()
  const path: PathOptions = {
    ...options,
    jobs,
    texts,
    leases,
    consumed: new Set(),
  }
  const withNotices = openAnswerNotices(options.registry, leases)
  const answered = (outcome: Outcome) => enveloped(bounded(outcome, texts))

  /** Counts the call with its caller until it ends, however long that takes. */
  function begin(request: CallRequest): Flight {
    const { id } = request.caller
    const flight = new Flight({
      call: request.call ?? (randomUUID() as CallId),
      request,
      began: clock.now(),
      patienceMs: options.patienceMs,
      walk: started => walk(started, request, path),
    })
    if (request.call !== undefined) once.begin(flight, request)
    pending.set(id, (pending.get(id) ?? 0) + 1)
    void flight.done.then(() => {
      const left = (pending.get(id) ?? 1) - 1
      if (left === 0) pending.delete(id)
      else pending.set(id, left)
      once.end(flight)
    })
    return flight
  }

  /** The call to wait for, new or known, or why there is none. */
  function admit(request: CallRequest): Flight | Outcome<never> {
    const before = request.call === undefined ? NEW : once.before(request.call, request)
    switch (before.type) {
      case 'same':
        return before.flight
      case 'other':
        return otherCall(String(request.call))
      case 'forgotten':
        return forgotten(String(request.call))
      case 'new': {
        const count = pending.get(request.caller.id) ?? 0
        if (count >= options.pending) return tooManyPending({ pending: count, most: options.pending })
        return begin(request)
      }
      default:
        return before satisfies never
    }
  }

  return {
    async run(request) {
      try {
        const admitted = admit(request)
        if (!(admitted instanceof Flight)) return answered(admitted)
        const answer = await waitFor({ flight: admitted, request, clock, cancelMs: CANCEL_MS })
        return withNotices(answer, request)
      } catch (error) {
        const { tool } = request
        return answered(faultOf({ error, tool, kernel: null, level: 'safe', cancelled: false, log }))
      }
    },
    busy: () => [...pending.values()].reduce((sum, count) => sum + count, 0),
    jobs,
    texts,
    close: () => texts.close(),
  }
}

const NEW = { type: 'new' } as const
