import { z } from 'zod'
import type { Job, Jobs, Level, Profile } from '../../tools/contract.ts'
import type { Envelope, Failed, Outcome } from '../../tools/outcome.ts'
import type { CallId, Of, Question } from '../../wire/kernel.ts'
import type { Signal } from '../../wire/signal.ts'
import type { ClientAsker } from '../approvals/contract.ts'
import type { Arguments } from '../approvals/plan.ts'
import type { Rules } from '../policy/policy.ts'
import type { Effect, Verdict } from '../policy/rules.ts'

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
  /** Which terminal it is at, by the number of its session: what is chosen there holds for the next command. */
  readonly terminal?: string | undefined
  /** How the person at the client itself can be asked about its calls. Left out: only on seats. */
  readonly client?: ClientAsker | undefined
  /** Who has a seat on this connection now, for people; undefined where nobody has. Left out: nobody can. */
  readonly seat?: (() => string | undefined) | undefined
  /**
   * Whether the process at the other end has shown that a person runs it at a terminal, as for a seat. It approves
   * nothing: kernels of other projects can be named. Left out: no.
   */
  readonly isPerson?: (() => boolean) | undefined
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
  /**
   * Where a person is to be asked, the question waits for one, without end, and the patience of its caller begins after
   * that. Told before it waits, each time; what that gives is the answer instead.
   */
  readonly held?: ((title: string) => Failed | undefined) | undefined
  /** A person is asked about a cautious call, too, where no rule says otherwise. */
  readonly asksCautious?: boolean | undefined
  /** It is answered with the end of the call alone, however long that takes: never with a job. */
  readonly untilDone?: boolean
  /** News, in order, until the answer. Must not throw. */
  on?(event: CallEvent): void
  /** Puts a question of the running code to the caller. */
  ask?(question: Question): Promise<string>
}

/** What the caller is told before the answer. */
export const CALL_EVENT = z.discriminatedUnion('type', [
  z
    .strictObject({ type: z.literal('dispatched'), call: z.string(), kernel: z.string().nullable() })
    .describe('It was let through the gate, and begins now.'),
  z.strictObject({ type: z.literal('output'), stream: z.enum(['stdout', 'stderr']), text: z.string() }),
  z
    .strictObject({
      type: z.literal('progress'),
      message: z.string(),
      elapsed_ms: z.number(),
      plan: z.string().exactOptional(),
      behind: z.string().exactOptional().describe('Another evaluation of the same kernel.'),
    })
    .describe('It still runs, or waits for a person to answer `plan`; about once a second.'),
])

export type CallEvent = Of<typeof CALL_EVENT>

/** A call that runs, or waits for a person. */
export type CallUnderWay = Pick<Job, 'name' | 'call' | 'tool' | 'kernelName' | 'elapsedMs' | 'asking'> & {
  /** The project of its caller. */
  readonly root: string
}

/** The one path for every call, whoever makes it. */
export interface Calls {
  /**
   * Finds the tool, checks the arguments, asks the gate, writes the journal, runs, bounds, and answers. Never
   * rejects. The answer of a call that outlives the caller's patience names a job, and the call goes on.
   */
  run(request: CallRequest): Promise<Envelope>
  /** Calls of that caller that name no kernel go there from now on. */
  choose(caller: Caller, kernel: string): void
  /** That connection has ended: what its callers have chosen ends with it. Their calls go on. */
  left(connection: string): void
  /** How many calls are under way, jobs included. */
  busy(): number
  /** What runs, or waits for a person, oldest first; not looks, which end at once. */
  underWay(): readonly CallUnderWay[]
  readonly jobs: Jobs
  /** Lets go of what is kept of earlier calls. What still runs is not ended. */
  close(): void
}

/** What is known of a call when the gate is asked. */
export interface CallFacts {
  readonly level: Level
  /** Left out: those that the caller gave. */
  readonly args?: Arguments
  /** Real paths. */
  readonly paths?: readonly string[]
  readonly effects?: readonly Effect[]
}

/** What the gate says of a call. */
export type Judgement = Ruling | { readonly decision: 'deny'; readonly refusal: Outcome<never> }

/** A call that is let through, or that a person is asked about. */
export interface Ruling {
  readonly decision: 'allow' | 'ask'
  readonly verdict: Verdict
  readonly policy: Rules
  /** A person is to be asked, and no rule says so: a grant of theirs may stand for their answer. */
  readonly byDefault: boolean
}
