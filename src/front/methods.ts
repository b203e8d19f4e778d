import { randomUUID } from 'node:crypto'
import type { Envelope } from '../../tools/outcome.ts'
import { isRecord } from '../../tools/record.ts'
import { WireError } from '../../wire/errors.ts'
import type { CallId } from '../../wire/kernel.ts'
import { Refusal, type ServedCall } from '../../wire/link/calls.ts'
import { LightSignal, type Signal } from '../../wire/signal.ts'
import { originOf } from '../approvals/contract.ts'
import { enveloped } from '../calls/answer.ts'
import type { CallEvent, CallRequest, Calls } from '../calls/contract.ts'
import type { HeldQuestions } from '../calls/held.ts'
import type { PolicyDesk } from '../calls/policy-desk.ts'
import { isOfProject, realOf } from '../files/roots.ts'
import type { Kernels } from '../kernels/kernels.ts'
import { type Described, describe, FORMATS } from '../registry/descriptions.ts'
import type { Registry } from '../registry/registry.ts'
import { SYNTAX_NAMES, type SyntaxName } from '../syntax/syntax.ts'
import { documentation, SYNTAXES } from '../syntax/syntaxes.ts'
import { attach } from './attach.ts'
import type { Authority } from './authority.ts'
import type { Buffers } from './buffers.ts'
import type { Handlers, OperationContext } from './handlers.ts'
import type { HistoryMethods } from './history-methods.ts'
import { OPERATIONS } from './operations/index.ts'
import {
  type Ask,
  CLIENT_FAILURES,
  type DaemonStatus,
  type Method,
  type Methods,
  type ShutdownResult,
  type ShutdownWhen,
} from './protocol.ts'
import type { SeatMethods } from './seat/seats.ts'
import type { Subscriptions } from './subscriptions.ts'
import type { SuspensionMethods } from './suspension-methods.ts'

/** What the operations of the client protocol work on. */
interface MethodParts {
  readonly calls: Calls
  readonly held: Pick<HeldQuestions, 'run' | 'withdraw'>
  keepKey(key: Methods['keep_key']['params'] & { readonly root: string }): void
  readonly kernels: Kernels
  readonly seats: SeatMethods
  /** Of all projects. */
  questions(): Methods['approvals']['result']
  readonly policy: PolicyDesk
  readonly suspensions: SuspensionMethods
  readonly history: HistoryMethods
  readonly authority: Authority
  readonly subscriptions: Pick<Subscriptions, 'follow'>
  readonly buffers: Pick<Buffers, 'offer'>
  /** A tool's envelope as a model is shown it. */
  show(tool: string, envelope: Envelope): string
  /** What a path of something holds that was displayed to that project; undefined for any other path. */
  displayed(path: string, root: string): Uint8Array | undefined
  /** Throws a `Refusal` for a name or a format that does not exist. */
  listTools(wanted: Methods['tools']['params']): string
  describe(name: string | undefined): Methods['describe']['result']
  status(): DaemonStatus
  /** The address of a page. It works once. */
  openPage(page: { readonly root: string; readonly env: Readonly<Record<string, string>> }): Promise<string>
  /**
   * Begins the end of the daemon and says what becomes of the kernels, or throws the `Refusal` `in_use`. `root`: kernels
   * of other projects are not named.
   */
  shutdown(when: ShutdownWhen, root: string | undefined): ShutdownResult
}

/** The names of docs/operations.md. */
export const METHODS = Object.keys(OPERATIONS).filter((name): name is Method => name in OPERATIONS)

/** What runs for each operation, once its parameters are checked and the client is admitted. */
export function openHandlers(parts: MethodParts): Handlers {
  const { kernels, authority } = parts
  return {
    call: (params, context) => runCall(parts, params, context),
    offer_buffers: (_, context) => untilCancelled(context.served, parts.buffers.offer(context)),
    withdraw: ({ call }, { session }) => ({ withdrawn: parts.held.withdraw(call, session.root) }),
    keep_key(key, { session: { root } }) {
      parts.keepKey({ ...key, root })
      return {}
    },
    show: ({ tool, envelope }) => ({ text: parts.show(tool, envelope) }),
    display({ path }, { session }) {
      const bytes = parts.displayed(path, session.root)
      if (bytes === undefined) throw new Refusal('no_such_display', CLIENT_FAILURES.no_such_display)
      const data = bytes.length > DISPLAY_BYTES ? null : Buffer.from(bytes).toString('base64')
      const media_type = path.endsWith('.png') ? 'image/png' : 'text/html'
      return { media_type, bytes: bytes.length, data }
    },
    tools: wanted => ({ text: parts.listTools(wanted) }),
    describe: ({ name }) => parts.describe(name),
    async kernels(_, context) {
      const { root } = context.session
      const all = { kernels: kernels.list(), ...(await kernels.announced(root)) }
      const rows = [...all.kernels, ...all.announced]
      const isOwn = (row: (typeof rows)[number]) =>
        'cwd' in row
          ? isOfProject(realOf(row.cwd), root)
          : authority.mayBeToldOf(row.name, 'kernels', context)
      const isTold = await authority.told(rows, isOwn, context)
      return {
        ...all,
        kernels: all.kernels.filter(isTold),
        announced: all.announced.filter(isTold),
        others: !rows.every(isTold),
      }
    },
    start: (params, { session: { root, env } }) => kernels.start({ ...params, root, env }),
    trial: ({ language }, { session: { root, env } }) => kernels.trial({ language, root, env }),
    stop: ({ name }) => kernels.stop(name),
    restart: ({ name }, { session }) => kernels.restart(name, session.env),
    interrupt: ({ name }) => kernels.interrupt(name),
    attach: (params, context) => attach(parts, params, context),
    detach: ({ name }) => kernels.detach(name),
    ...parts.seats,
    async approvals(_, context) {
      const { approvals, grants, ends, held, ...anyones } = parts.questions()
      const isOwn = ({ root }: { readonly root: string }) => root === context.session.root
      const isTold = await authority.told([...approvals, ...grants, ...ends], isOwn, context)
      return {
        ...anyones,
        approvals: approvals.filter(isTold),
        grants: grants.filter(isTold),
        ends: ends.filter(isTold),
        held: held.filter(isOwn),
      }
    },
    ...policyMethods(parts.policy),
    ...parts.suspensions,
    ...parts.history,
    async subscribe({ topics, since, everywhere = false }, context) {
      const { served } = context
      const mayBeTold = await authority.followed(everywhere, context)
      const end = parts.subscriptions.follow({
        viewer: context.caller,
        topics: [...new Set(topics)],
        since,
        mayBeTold,
        tell: event => served.event(event),
        whenRead: work => served.whenRead(work),
      })
      return untilCancelled(served, end)
    },
    status: () => parts.status(),
    async open_page(_, { session }) {
      if (session.overWeb) throw new Refusal('refused', 'A page is opened at a terminal: imago web')
      return { address: await parts.openPage(session) }
    },
    async shutdown({ when }, context) {
      const { root } = context.session
      const all = kernels.list()
      const isTold = await authority.told(all, row => row.root === root, context)
      return parts.shutdown(when, all.every(isTold) ? undefined : root)
    },
  }
}

/** Settles once the client cancels it or goes away; `end` is called then. */
function untilCancelled({ signal }: ServedCall, end: () => void): Promise<Record<string, never>> {
  return new Promise(resolve => {
    const over = () => {
      end()
      resolve({})
    }
    if (signal.aborted) over()
    else signal.addEventListener('abort', over)
  })
}

/** Of something displayed, in one answer. */
const DISPLAY_BYTES = 32 * 1024 * 1024

type CallParts = Pick<MethodParts, 'calls' | 'held'>

/** Settles with the envelope. A client that goes away does not end its call; one that cancels it does. */
async function runCall(
  { calls, held }: CallParts,
  params: Methods['call']['params'],
  context: OperationContext,
) {
  const { link, served, caller } = context
  const { tool, args, call, follow = false, held: how } = params
  const request: CallRequest = {
    tool,
    args,
    caller,
    ...(call === undefined ? {} : { call: call as CallId }),
    signal: cancelled(served),
    ...(follow && { on: (event: CallEvent) => void served.event(event) }),
    ask: async question => {
      const asked: Ask = { call: call ?? '', question }
      const answer = await link.call('ask', asked, { signal: served.signal }).catch(rethrow)
      if (isRecord(answer) && typeof answer.answer === 'string') return answer.answer
      throw new Refusal(
        'invalid_params',
        'The client answered the question with something else than an answer.',
      )
    },
  }
  if (how === undefined) return calls.run(request)
  if (call === undefined) throw new Refusal('invalid_params', 'A call that is asked held needs a name.')
  return held.run({ ...request, call: call as CallId, gone: lost(served) }, how)
}

function policyMethods(desk: PolicyDesk): Pick<Handlers, 'policy' | 'check_policy' | 'accept_policy'> {
  return {
    policy: (_, { session }) => desk.report(session.root),
    check_policy: async (params, { session }) => {
      const outcome = desk.check({ ...params, root: session.root })
      if (outcome.type === 'rises') throw new Error('a check asked to rise')
      return enveloped(outcome)
    },
    // Whoever asked and went away does not want an answer any more: the plan is withdrawn.
    accept_policy: async (_, { session, served }) => {
      const { id: caller, name: who, root } = session
      const call = randomUUID() as CallId
      const origin = originOf({ kind: 'cli', root })
      const outcome = await desk.accept({ call, root, who, caller, origin, signal: served.signal })
      if (outcome.type === 'rises') throw new Error('accepting asked to rise')
      return enveloped(outcome)
    },
  }
}

/** What the client said in refusing is told to the code as it is, without who said it to whom. */
function rethrow(error: unknown): never {
  if (error instanceof WireError && error.remote !== undefined)
    throw new Refusal(error.remote.code, error.remote.message)
  throw error
}

/** Aborts when the client cancels, and not when its connection is lost. */
const cancelled = (served: ServedCall) => abortedBy(served, reason => !(reason instanceof WireError))

/** Aborts when the connection is lost. */
const lost = (served: ServedCall) => abortedBy(served, reason => reason instanceof WireError)

function abortedBy({ signal }: ServedCall, isMeant: (reason: unknown) => boolean): Signal {
  const meant = new LightSignal()
  const heard = () => {
    if (isMeant(signal.reason)) meant.abort(signal.reason)
  }
  if (signal.aborted) heard()
  else signal.addEventListener('abort', heard)
  return meant
}

/** What `imago tools` prints. Throws the `Refusal` `invalid_params`, which names what there is instead. */
export function listTools(
  registry: Registry,
  wanted: Methods['tools']['params'],
  configured?: SyntaxName,
): string {
  const { profile = 'full', format: asked = 'text', name } = wanted
  const format = FORMATS.find(known => known === asked) ?? formatOfSyntax(asked, { registry, configured })
  const description = describe({ registry, profile, format, ...(name === undefined ? {} : { name }) })
  if (description.type === 'described') return description.text
  const nearest = description.nearest.length === 0 ? '' : ` Did you mean ${description.nearest.join(' or ')}?`
  throw new Refusal('invalid_params', `There is no tool ${description.name}.${nearest}`)
}

/** `syntax:NAME`, or `syntax` for the one of the configuration. */
function formatOfSyntax(
  asked: string,
  { registry, configured }: { registry: Registry; configured: SyntaxName | undefined },
) {
  const names = SYNTAX_NAMES.map(name => `syntax:${name}`)
  if (asked === 'syntax' && configured === undefined)
    throw new Refusal('invalid_params', `No syntax is configured. Choose one: ${names.join(', ')}.`)
  const name = SYNTAX_NAMES.find(known =>
    asked === 'syntax' ? known === configured : asked === `syntax:${known}`,
  )
  if (name === undefined)
    throw new Refusal(
      'invalid_params',
      `There is no format ${asked}. Formats: ${[...FORMATS, ...names].join(', ')}.`,
    )
  return (tools: readonly Described[], facts: Readonly<Record<string, string>> = {}) =>
    documentation(tools, { syntax: SYNTAXES[name], registry, facts })
}
