import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import type { Envelope } from '../../tools/outcome.ts'
import { WireError } from '../../wire/errors.ts'
import type { CallId } from '../../wire/kernel.ts'
import { Refusal, type ServedCall } from '../../wire/link/calls.ts'
import type { Link } from '../../wire/link/link.ts'
import { LightSignal, type Signal } from '../../wire/signal.ts'
import { originOf } from '../approvals/contract.ts'
import { enveloped } from '../calls/answer.ts'
import type { CallEvent, Caller, Calls } from '../calls/contract.ts'
import type { PolicyDesk } from '../calls/policy-desk.ts'
import { isOfProject, realOf } from '../files/roots.ts'
import type { Kernels } from '../kernels/contract.ts'
import { KernelError } from '../kernels/kernel-error.ts'
import { type Described, describe, FORMATS } from '../registry/descriptions.ts'
import type { Registry } from '../registry/registry.ts'
import { SYNTAX_NAMES, type SyntaxName } from '../syntax/syntax.ts'
import { documentation, SYNTAXES } from '../syntax/syntaxes.ts'
import { onKernels, untilCancelled } from './on-kernels.ts'
import { PARAMS } from './params.ts'
import type {
  Ask,
  DaemonStatus,
  FailureData,
  KernelRow,
  Method,
  Methods,
  ShutdownResult,
  ShutdownWhen,
  WatchEvent,
} from './protocol.ts'
import type { SeatMethods } from './seat/seats.ts'
import type { Serve, ServeContext, Session } from './server.ts'
import type { SuspensionMethods } from './suspension-methods.ts'

/** What the methods of the client protocol work on. */
interface MethodParts {
  readonly calls: Calls
  readonly kernels: Kernels
  readonly seats: SeatMethods
  readonly policy: PolicyDesk
  readonly suspensions: SuspensionMethods
  /** Who has a seat on that connection. */
  whoSits(link: Link): string | undefined
  isPerson(context: ServeContext): Promise<boolean>
  wasSeen(link: Link): boolean
  /** A tool's envelope as a model is shown it. */
  show(tool: string, envelope: Envelope): string
  /** Throws a `Refusal` for a name or a format that does not exist. */
  listTools(wanted: Methods['tools']['params']): string
  status(): DaemonStatus
  /**
   * Begins the end of the daemon and says what becomes of the kernels, or throws the `Refusal` `in_use`. `root`: kernels
   * of other projects are not named.
   */
  shutdown(when: ShutdownWhen, root: string | undefined): ShutdownResult
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
  const { isMine, mine, list, attach } = betweenProjects(parts)
  const onKernel = <Result>(
    method: KernelMethod,
    { name, context }: { readonly name: string; readonly context: ServeContext },
    work: () => Promise<Result>,
  ) =>
    onKernels(async () => {
      await mine(method, name, context)
      return work()
    })
  const handlers: Handlers = {
    call: (params, context) => runCall(parts, params, context),
    show: ({ tool, envelope }) => ({ text: parts.show(tool, envelope) }),
    tools: wanted => ({ text: parts.listTools(wanted) }),
    kernels: (_, context) => list(context),
    start: (params, { session }) =>
      onKernels(() => kernels.start({ ...params, root: session.root, env: session.env })),
    trial: ({ language }, { session }) =>
      onKernels(() => kernels.trial({ language, root: session.root, env: session.env })),
    stop: ({ name }, context) => onKernel('stop', { name, context }, () => kernels.stop(name)),
    restart: ({ name }, context) =>
      onKernel('restart', { name, context }, () => kernels.restart(name, context.session.env)),
    interrupt: ({ name }, context) => onKernel('interrupt', { name, context }, () => kernels.interrupt(name)),
    watch: ({ name }, context) => {
      // Another project may take the name over.
      const mayBeTold = () => parts.wasSeen(context.link) || isMine('watch', name, context)
      const { served } = context
      return onKernel('watch', { name, context }, () => watch(kernels, name, { served, mayBeTold }))
    },
    attach: (params, context) => onKernels(() => attach(params, context)),
    detach: ({ name }, context) => onKernel('detach', { name, context }, () => kernels.detach(name)),
    ...parts.seats,
    ...policyMethods(parts.policy),
    ...parts.suspensions,
    status: () => parts.status(),
    shutdown: async ({ when }, context) => {
      const isAll = kernels.list().every(({ root }) => root === context.session.root)
      return parts.shutdown(when, isAll || (await parts.isPerson(context)) ? undefined : context.session.root)
    },
  }
  return new Map(METHODS.map(name => [name, served(name, handlers[name])]))
}

/** What each of these does to a kernel. */
const LEVEL_OF = {
  watch: 'safe',
  interrupt: 'cautious',
  stop: 'dangerous',
  restart: 'dangerous',
  detach: 'dangerous',
} as const

type KernelMethod = keyof typeof LEVEL_OF

/** What a client is told of other projects, and may do there: nothing, unless a person is at it or a rule allows it. */
function betweenProjects(parts: MethodParts) {
  const { calls, kernels, policy, isPerson } = parts
  /** Whether it is one of the project, or a rule lets the client in. */
  function isMine(method: KernelMethod, kernel: string, { session: { root } }: ServeContext): boolean {
    const roots = kernels.rootsOf(kernel)
    if (roots.includes(root)) return true
    return roots.length > 0 && policy.letsIn({ root, method, level: LEVEL_OF[method], kernel })
  }

  /** Throws what a client is told for which there is no such kernel. */
  async function mine(method: KernelMethod, kernel: string, context: ServeContext): Promise<void> {
    if (!isMine(method, kernel, context) && !(await isPerson(context)))
      throw kernels.unknownIn(context.session.root, kernel)
  }

  async function list(context: ServeContext): Promise<Methods['kernels']['result']> {
    const { root } = context.session
    const all = { kernels: kernels.list(), ...(await kernels.announced(root)) }
    const isOwn = ({ name }: KernelRow) =>
      kernels.rootsOf(name).includes(root) ||
      policy.letsIn({ root, method: 'kernels', level: 'safe', kernel: name })
    const own = {
      ...all,
      kernels: all.kernels.filter(isOwn),
      announced: all.announced.filter(({ cwd }) => isOfProject(realOf(cwd), root)),
    }
    const isAll =
      own.kernels.length + own.announced.length === all.kernels.length + all.announced.length ||
      (await isPerson(context))
    return isAll ? { ...all, others: false } : { ...own, others: true }
  }

  /** The next calls of this client, and of others at its terminal, go there. What is attached already is only chosen. */
  async function attach(params: Methods['attach']['params'], context: ServeContext): Promise<KernelRow> {
    const { target, name = target } = params
    const { root } = context.session
    const known = kernels.list().find(one => one.name === target && name === target && one.root === root)
    // A kernel that has ended answers nothing, though it is followed: a program that listens by its name is joined.
    const isUnlinked = known === undefined || UNLINKED.has(known.state)
    const row = !isUnlinked
      ? known
      : known?.owned
        ? await again(known, context)
        : await joined(params, context).catch(error => attachedAs(error, { name: params.name, root }))
    calls.choose(callerOf(context, parts), row.name)
    return row
  }

  /** One of ours that has ended begins again. */
  async function again({ name, root }: KernelRow, { session: { env } }: ServeContext): Promise<KernelRow> {
    const choice = await kernels.choose(name, { root, elsewhere: false, env })
    const row = kernels.list().find(one => one.name === name)
    if (choice.type !== 'chosen' || row === undefined) throw kernels.unknownIn(root, name)
    return { ...row, message: choice.kernel.message }
  }

  function attachedAs(
    error: unknown,
    { name, root }: { name?: string | undefined; root: string },
  ): KernelRow {
    const { reason, kernel } = error instanceof KernelError ? error.details : {}
    const row = kernels.list().find(one => one.name === kernel && one.root === root)
    if (reason !== 'attached_already' || row === undefined || (name ?? row.name) !== row.name) throw error
    return row
  }

  /** For a program it is the tool `attach`, about which nobody is asked here. */
  async function joined(params: Methods['attach']['params'], context: ServeContext): Promise<KernelRow> {
    const { target, key_file: keyFile, no_secret: noSecret, ...more } = params
    const { root } = context.session
    const wanted = { ...more, target, keyFile, noSecret, root }
    if (await isPerson(context)) return kernels.attach(wanted)
    const { elsewhere } = kernels.attachable(target, root)
    const judged = policy.check({ root, tool: 'attach', kernel: target })
    if (judged.type !== 'ok') throw new Error('attaching could not be judged')
    const { decision, by } = judged.result
    if (decision === 'allow') return kernels.attach(elsewhere ? wanted : { ...wanted, within: root })
    if (elsewhere && decision === 'ask') throw kernels.unknownIn(root, target)
    throw new Refusal(
      'kernel_unavailable',
      `To attach to ${JSON.stringify(target)} ${decision === 'deny' ? 'is denied' : 'has to be asked about'} by ${by}.`,
      { details: { reason: decision, by }, next: ATTACH_BY_PERSON, retryable: false } satisfies FailureData,
    )
  }

  return { isMine, mine, list, attach }
}

/** States of a kernel to which no link leads now. */
const UNLINKED: ReadonlySet<KernelRow['state']> = new Set(['away', 'ended', 'crash_loop'])

const ATTACH_BY_PERSON = 'A person attaches at a terminal, by the same command.'

const CHECKS: { readonly [M in Method]: z.ZodType<Methods[M]['params']> } = PARAMS

/** By name, those of docs/editor-protocol.md. */
export const METHODS = Object.keys(PARAMS).filter((name): name is Method => name in PARAMS)

function served<M extends Method>(method: M, handle: Handlers[M]): Serve {
  return async (params, context) => {
    const read = CHECKS[method].safeParse(params)
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

function callerOf(
  { session, link }: ServeContext,
  { whoSits, wasSeen }: Pick<MethodParts, 'whoSits' | 'wasSeen'>,
): Caller {
  const known = callers.get(session)
  if (known !== undefined) return known
  const { id, name: who, root, env, options } = session
  const fixed = { kind: 'cli', readOnlyPromised: false, profile: 'full' } as const
  const person = { seat: () => whoSits(link), isPerson: () => wasSeen(link) }
  const terminal = SESSION.exec(String(options.session))?.[0]
  const made: Caller = {
    id,
    who,
    root,
    env,
    ...(terminal !== undefined && { terminal }),
    ...person,
    ...fixed,
  }
  callers.set(session, made)
  return made
}

/** The number of a session of processes, as a client says it. */
const SESSION = /^\d{1,10}$/

const kernelNamed = (args: unknown): string | undefined =>
  typeof args === 'object' && args !== null && 'kernel' in args && typeof args.kernel === 'string'
    ? args.kernel
    : undefined

/** Settles with the envelope. A client that goes away does not end its call; one that cancels it does. */
async function runCall(parts: MethodParts, params: Methods['call']['params'], context: ServeContext) {
  const { calls, kernels, isPerson } = parts
  const { session, link, served } = context
  const { tool, args, call, follow = false } = params
  const caller = callerOf(context, parts)
  const kernel = kernelNamed(args)
  // Only for what is of another project it matters who asks.
  if (kernel !== undefined && kernels.rootsOf(kernel)[0] !== session.root) await isPerson(context)
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

/** The methods about the policy. None takes what is to be accepted: that stands in the files, and is shown. */
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

/** Until the client cancels it or goes away. */
function watch(
  kernels: Kernels,
  name: string,
  { served, mayBeTold }: { readonly served: ServedCall; mayBeTold(): boolean },
): Promise<Record<string, never>> {
  const heard = (text: string) => {
    if (mayBeTold()) served.event({ type: 'background', text } satisfies WatchEvent)
  }
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
