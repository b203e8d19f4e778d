import { z } from 'zod'
import { LEVELS, PROFILES } from '../../tools/contract.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { WireError } from '../../wire/errors.ts'
import type { CallId } from '../../wire/kernel.ts'
import { Refusal, type ServedCall } from '../../wire/link/calls.ts'
import type { Link } from '../../wire/link/link.ts'
import { LightSignal, type Signal } from '../../wire/signal.ts'
import type { CallEvent, Caller, Calls } from '../calls/contract.ts'
import type { Kernels } from '../kernels/kernels.ts'
import { describe, FORMATS } from '../registry/descriptions.ts'
import type { Registry } from '../registry/registry.ts'
import { onKernels, untilCancelled } from './on-kernels.ts'
import type { PolicyMethods } from './policy-methods.ts'
import {
  type Ask,
  type DaemonStatus,
  type Method,
  type Methods,
  SHUTDOWN_WHEN,
  type ShutdownResult,
  type ShutdownWhen,
  type WatchEvent,
} from './protocol.ts'
import type { SeatMethods } from './seat/seats.ts'
import type { Serve, ServeContext, Session } from './server.ts'
import type { SuspensionMethods } from './suspension-methods.ts'

/** What the methods of the client protocol work on. */
interface MethodParts {
  readonly calls: Calls
  readonly kernels: Kernels
  readonly seats: SeatMethods
  readonly policy: PolicyMethods
  readonly suspensions: SuspensionMethods
  /** Who has a seat on that connection. */
  whoSits(link: Link): string | undefined
  /** A tool's envelope as a model is shown it. */
  show(tool: string, envelope: Envelope): string
  /** Throws a `Refusal` for a name or a format that does not exist. */
  listTools(wanted: Methods['tools']['params']): string
  status(): DaemonStatus
  /** Begins the end of the daemon and says what becomes of the kernels, or throws the `Refusal` `in_use`. */
  shutdown(when: ShutdownWhen): ShutdownResult
}

type Handlers = {
  readonly [M in Method]: (
    params: Methods[M]['params'],
    context: ServeContext,
  ) => Methods[M]['result'] | Promise<Methods[M]['result']>
}

/** The methods of docs/editor-protocol.md, by name, each with its parameters checked. */
export function openMethods(parts: MethodParts): ReadonlyMap<string, Serve> {
  const { kernels } = parts
  const handlers: Handlers = {
    call: (params, context) => runCall(parts, params, context),
    show: ({ tool, envelope }) => ({ text: parts.show(tool, envelope) }),
    tools: wanted => ({ text: parts.listTools(wanted) }),
    kernels: async () => ({ kernels: kernels.list(), ...(await kernels.announced()) }),
    start: (params, { session }) =>
      onKernels(() => kernels.start({ ...params, root: session.root, env: session.env })),
    trial: ({ language }, { session }) =>
      onKernels(() => kernels.trial({ language, root: session.root, env: session.env })),
    stop: ({ name }) => onKernels(() => kernels.stop(name)),
    restart: ({ name }) => onKernels(() => kernels.restart(name)),
    interrupt: ({ name }) => onKernels(() => kernels.interrupt(name)),
    watch: ({ name }, { served }) => watch(kernels, name, served),
    attach: ({ target, name, key, key_file, anywhere, no_secret }, { session: { root } }) =>
      onKernels(() =>
        kernels.attach({ target, name, key, keyFile: key_file, anywhere, noSecret: no_secret, root }),
      ),
    detach: ({ name }) => onKernels(() => kernels.detach(name)),
    ...parts.seats,
    ...parts.policy,
    ...parts.suspensions,
    status: () => parts.status(),
    shutdown: ({ when }) => parts.shutdown(when),
  }
  return new Map(METHODS.map(name => [name, served(name, handlers[name])]))
}

const key = z.string().min(1).max(128)

/** Which names a kernel can have is for the kernels to say. */
const name = z.string().max(1_024)

const reason = z.string().max(10_000)

const nothing = z.strictObject({})

const whyChosen = reason.nullable()

/** A person may keep a stack for an hour without looking at it, and no longer. */
const leaseMs = z.int().min(1_000).max(3_600_000)

const choice = z.discriminatedUnion('decision', [
  z.strictObject({ hunk: z.int().min(1), decision: z.literal('accept') }),
  z.strictObject({ hunk: z.int().min(1), decision: z.literal('refuse'), reason: whyChosen }),
  z.strictObject({
    hunk: z.int().min(1),
    decision: z.literal('edit'),
    text: z.string(),
    reason: whyChosen,
    inPart: z.literal(true).exactOptional(),
  }),
])

const PARAMS: { readonly [M in Method]: z.ZodType<Methods[M]['params']> } = {
  call: z.strictObject({
    tool: z.string().max(256),
    args: z.unknown(),
    call: key.exactOptional(),
    follow: z.boolean().exactOptional(),
  }),
  show: z.strictObject({
    tool: z.string().max(256),
    envelope: z.custom<Envelope>(isEnvelope, 'not an envelope'),
  }),
  tools: z.strictObject({
    profile: z.enum(PROFILES).exactOptional(),
    format: z.string().max(64).exactOptional(),
    name: z.string().max(256).exactOptional(),
  }),
  kernels: nothing,
  start: z.strictObject({
    language: z.string().max(64),
    name: name.exactOptional(),
    script: z.string().min(1).exactOptional(),
    args: z.array(z.string()).exactOptional(),
  }),
  trial: z.strictObject({ language: z.string().max(64) }),
  stop: z.strictObject({ name }),
  restart: z.strictObject({ name }),
  interrupt: z.strictObject({ name }),
  attach: z.strictObject({
    target: z.string().min(1).max(1_024),
    name: name.exactOptional(),
    key: z.string().min(1).max(1_024).exactOptional(),
    key_file: z.string().startsWith('/').max(4_096).exactOptional(),
    anywhere: z.boolean().exactOptional(),
    no_secret: z.boolean().exactOptional(),
  }),
  detach: z.strictObject({ name }),
  sit: z.strictObject({ alone: z.boolean().exactOptional() }),
  admit: z.strictObject({ wanted: key, admit: z.boolean() }),
  answer: z.strictObject({
    plan: key,
    hash: key,
    decision: z.enum(['approve', 'deny', 'edit', 'choose']),
    reason: reason.optional(),
    args: z.record(z.string(), z.unknown()).optional(),
    choices: z.array(choice).max(10_000).optional(),
    grant: z.string().max(4_096).optional(),
  }),
  plan: z.strictObject({ plan: key }),
  approvals: nothing,
  approve: z.strictObject({ plan: key, code: key }),
  deny: z.strictObject({ plan: key, code: key, reason: reason.exactOptional() }),
  acknowledge: nothing,
  lift: nothing,
  revoke: z.strictObject({ grant: z.string() }),
  policy: nothing,
  check_policy: z.strictObject({
    tool: z.string().max(256),
    args: z.unknown().optional(),
    kernel: name.exactOptional(),
    path: z.string().min(1).max(4_096).exactOptional(),
    level: z.enum(LEVELS).exactOptional(),
  }),
  accept_policy: nothing,
  suspensions: nothing,
  watch_suspensions: z.strictObject({ everywhere: z.boolean().exactOptional() }),
  take: z.strictObject({ kernel: name, suspension: key, lease_ms: leaseMs.exactOptional() }),
  hand: z.strictObject({ kernel: name, suspension: key, lease_ms: leaseMs.exactOptional() }),
  theirs: z.strictObject({ kernel: name }),
  adopt: z.strictObject({ kernel: name, id: key, lease_ms: leaseMs.exactOptional() }),
  status: nothing,
  watch: z.strictObject({ name }),
  shutdown: z.strictObject({ when: z.enum(SHUTDOWN_WHEN) }),
}

/** By name, those of docs/editor-protocol.md. */
export const METHODS = Object.keys(PARAMS).filter((name): name is Method => name in PARAMS)

function served<M extends Method>(method: M, handle: Handlers[M]): Serve {
  return async (params, context) => {
    const read = PARAMS[method].safeParse(params)
    if (!read.success) throw new Refusal('invalid_params', misfit(method, read.error))
    return handle(read.data, context)
  }
}

/** The first thing that does not fit, as a sentence. */
function misfit(method: Method, { issues }: z.ZodError): string {
  const { path = [], message = '' } = issues[0] ?? {}
  const where = path.length === 0 ? '' : `"${path.join('.')}": `
  return `${method} does not take that. ${where}${message}.`
}

/** One for all calls of a connection. */
const callers = new WeakMap<Session, Caller>()

function callerOf(session: Session, seat: () => string | undefined): Caller {
  const known = callers.get(session)
  if (known !== undefined) return known
  const { id, name: who, root, env } = session
  const fixed = { kind: 'cli', readOnlyPromised: false, profile: 'full' } as const
  const made: Caller = { id, who, root, env, seat, ...fixed }
  callers.set(session, made)
  return made
}

/** Settles with the envelope. A client that goes away does not end its call; one that cancels it does. */
function runCall(
  { calls, whoSits }: Pick<MethodParts, 'calls' | 'whoSits'>,
  params: Methods['call']['params'],
  { session, link, served }: ServeContext,
) {
  const { tool, args, call, follow = false } = params
  const caller = callerOf(session, () => whoSits(link))
  return calls.run({
    tool,
    args,
    caller,
    ...(call === undefined ? {} : { call: call as CallId }),
    signal: cancelled(served),
    ...(follow && { on: (event: CallEvent) => void served.event(event) }),
    ask: async question => {
      const asked: Ask = { call: call ?? '', question }
      const answer = await link.call('ask', asked, { signal: served.signal }).catch(rethrow)
      if (
        typeof answer === 'object' &&
        answer !== null &&
        'answer' in answer &&
        typeof answer.answer === 'string'
      )
        return answer.answer
      throw new Refusal(
        'invalid_params',
        'The client answered the question with something else than an answer.',
      )
    },
  })
}

/** Until the client cancels it or goes away. */
function watch(kernels: Kernels, name: string, served: ServedCall): Promise<Record<string, never>> {
  const heard = (text: string) => void served.event({ type: 'background', text } satisfies WatchEvent)
  return untilCancelled(served, kernels.watch({ name, heard }))
}

/** What the client said in refusing is told to the code as it is, without who said it to whom. */
function rethrow(error: unknown): never {
  if (error instanceof WireError && error.remote !== undefined)
    throw new Refusal(error.remote.code, error.remote.message)
  throw error
}

/** Aborts when the client cancels, and not when its connection is lost. */
function cancelled({ signal }: ServedCall): Signal {
  const cancel = new LightSignal()
  const heard = () => {
    if (!(signal.reason instanceof WireError)) cancel.abort(signal.reason)
  }
  if (signal.aborted) heard()
  else signal.addEventListener('abort', heard)
  return cancel
}

function isEnvelope(value: unknown): value is Envelope {
  if (typeof value !== 'object' || value === null || !('ok' in value)) return false
  return value.ok === true ? 'result' in value : 'error' in value && typeof value.error === 'object'
}

/** What `imago tools` prints. Throws the `Refusal` `invalid_params`, which names what there is instead. */
export function listTools(registry: Registry, wanted: Methods['tools']['params']): string {
  const { profile = 'full', format: asked = 'text', name } = wanted
  const format = FORMATS.find(known => known === asked)
  if (format === undefined)
    throw new Refusal('invalid_params', `There is no format ${asked}. Formats: ${FORMATS.join(', ')}.`)
  const description = describe({ registry, profile, format, ...(name === undefined ? {} : { name }) })
  if (description.type === 'described') return description.text
  const nearest = description.nearest.length === 0 ? '' : ` Did you mean ${description.nearest.join(' or ')}?`
  throw new Refusal('invalid_params', `There is no tool ${description.name}.${nearest}`)
}
