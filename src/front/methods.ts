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
import { isOfProject } from '../files/roots.ts'
import { KernelError } from '../kernels/kernel-error.ts'
import type { Kernels } from '../kernels/kernels.ts'
import type { KernelRow } from '../kernels/rows.ts'
import { type Described, describe, FORMATS } from '../registry/descriptions.ts'
import type { Registry } from '../registry/registry.ts'
import { SYNTAX_NAMES, type SyntaxName } from '../syntax/syntax.ts'
import { documentation, SYNTAXES } from '../syntax/syntaxes.ts'
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
      const all = { kernels: kernels.list(), ...(await kernels.announced(context.session.root)) }
      return authority.told(all, context)
    },
    start: (params, { session: { root, env } }) => kernels.start({ ...params, root, env }),
    trial: ({ language }, { session: { root, env } }) => kernels.trial({ language, root, env }),
    stop: ({ name }) => kernels.stop(name),
    restart: ({ name }, { session }) => kernels.restart(name, session.env),
    interrupt: ({ name }) => kernels.interrupt(name),
    attach: (params, context) => attach(parts, params, context),
    detach: ({ name }) => kernels.detach(name),
    ...parts.seats,
    ...policyMethods(parts.policy),
    ...parts.suspensions,
    ...parts.history,
    async subscribe({ topics, since, everywhere = false }, context) {
      const isAll = everywhere && (await authority.isPerson(context))
      const { served } = context
      const end = parts.subscriptions.follow({
        viewer: context.caller,
        topics: [...new Set(topics)],
        since,
        mayBeTold: ({ root, isFolder, kernel, forSeats }) =>
          forSeats === true
            ? context.caller.seat?.() !== undefined
            : isAll ||
              root === null ||
              root === context.session.root ||
              (isFolder === true && isOfProject(root, context.session.root)) ||
              (kernel !== null && authority.isLetIn('subscribe', kernel, context)),
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
      const isAll = kernels.list().every(({ root }) => root === context.session.root)
      const isTold = isAll || (await authority.isPerson(context))
      return parts.shutdown(when, isTold ? undefined : context.session.root)
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

type AttachParts = Pick<MethodParts, 'calls' | 'kernels' | 'authority'>

/** The next calls of this client, and of others at its terminal, go there. A program that is attached already is only chosen. */
async function attach(
  parts: AttachParts,
  params: Methods['attach']['params'],
  context: OperationContext,
): Promise<KernelRow> {
  const { calls, kernels } = parts
  const { target, name = target } = params
  const { root } = context.session
  const known = kernels.list().find(one => one.name === target && name === target && one.root === root)
  // A kernel that has ended answers nothing, though it is followed: a program that listens by its name is joined.
  const isUnlinked = known === undefined || UNLINKED.has(known.state)
  const row = !isUnlinked
    ? known
    : known?.owned
      ? await again(kernels, known, context)
      : await joined(parts, params, context).catch(error =>
          attachedAs(error, { kernels, name: params.name, root }),
        )
  calls.choose(context.caller, row.name)
  return row
}

/** States of a kernel to which no link leads now. */
const UNLINKED: ReadonlySet<KernelRow['state']> = new Set(['away', 'ended', 'crash_loop'])

/** One of ours that has ended begins again. */
async function again(
  kernels: Kernels,
  { name, root }: KernelRow,
  { session: { env }, begins }: OperationContext,
): Promise<KernelRow> {
  begins()
  const choice = await kernels.choose(name, { root, elsewhere: false, env })
  const row = kernels.list().find(one => one.name === name)
  if (choice.type !== 'chosen' || row === undefined) throw kernels.unknownIn(root, name)
  return { ...row, message: choice.kernel.message }
}

function attachedAs(
  error: unknown,
  { kernels, name, root }: { kernels: Kernels; name: string | undefined; root: string },
): KernelRow {
  const { reason, kernel } = error instanceof KernelError ? error.details : {}
  const row = kernels.list().find(one => one.name === kernel && one.root === root)
  if (reason !== 'attached_already' || row === undefined || (name ?? row.name) !== row.name) throw error
  return row
}

/** Throws where the client may not attach to the program. */
async function joined(
  { kernels, authority }: AttachParts,
  params: Methods['attach']['params'],
  context: OperationContext,
): Promise<KernelRow> {
  const { key_file: keyFile, no_secret: noSecret, ...more } = params
  const admitted = await authority.mayAttach(params.target, context)
  context.begins()
  return kernels.attach({ ...more, keyFile, noSecret, root: context.session.root, ...admitted })
}

const kernelNamed = (args: unknown): string | undefined =>
  isRecord(args) && typeof args.kernel === 'string' ? args.kernel : undefined

type CallParts = AttachParts & Pick<MethodParts, 'held'>

/** Settles with the envelope. A client that goes away does not end its call; one that cancels it does. */
async function runCall(
  { calls, held, kernels, authority }: CallParts,
  params: Methods['call']['params'],
  context: OperationContext,
) {
  const { session, link, served, caller } = context
  const { tool, args, call, follow = false, held: how } = params
  const kernel = kernelNamed(args)
  // Only for what is of another project it matters who asks.
  if (kernel !== undefined && kernels.rootsOf(kernel)[0] !== session.root) await authority.isPerson(context)
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
