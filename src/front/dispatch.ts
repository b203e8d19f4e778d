import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import type { CallId } from '../../wire/kernel.ts'
import { Refusal } from '../../wire/link/calls.ts'
import type { Caller } from '../calls/contract.ts'
import type { OpenFiles } from '../files/files.ts'
import type { Journal } from '../journal/journal.ts'
import { KernelError } from '../kernels/kernel-error.ts'
import type { Kernels } from '../kernels/kernels.ts'
import { SuspensionError } from '../suspensions/desk.ts'
import type { Admission, Authority } from './authority.ts'
import type { Handlers, OperationContext, SeatContext } from './handlers.ts'
import { METHODS } from './methods.ts'
import { OPERATIONS } from './operations/index.ts'
import type { Operation } from './operations/operation.ts'
import { inUnitsOfClient } from './positions.ts'
import type { FailureData, Method } from './protocol.ts'
import type { Seats } from './seat/seats.ts'
import type { Serve, ServeContext, Session } from './server.ts'

interface DispatchParts {
  readonly authority: Authority
  readonly files: Pick<OpenFiles, 'of'>
  readonly journal: Pick<Journal, 'later'>
  readonly kernels: Pick<Kernels, 'list'>
  readonly seats: Pick<Seats, 'whoSits' | 'wasSeen'>
}

/**
 * Every operation by its name, on its one path: its parameters are checked, the client is admitted, the policy judges it, the
 * journal has it where its row says so, and it runs. A kernel or a suspension that is not there fails it with the code of that.
 */
export function openDispatch(handlers: Handlers, parts: DispatchParts): ReadonlyMap<string, Serve> {
  const serve =
    (method: Method): Serve =>
    async (raw, context) => {
      const row: Operation = OPERATIONS[method]
      const read = row.params.safeParse(raw)
      if (!read.success) throw new Refusal('invalid_params', misfit(method, read.error))
      const params = read.data as never
      try {
        const caller = callerOf(context, parts.seats)
        const admit = () => parts.authority.admit(method, params, context)
        const { session, link, served } = context
        const run = async ({ seat, chosen, within }: Admission) => {
          // By name: each field that a literal adds to a spread costs Node 20 a microsecond.
          const known: Known = { session, link, served, caller, seat, chosen, within }
          return handlers[method](params, known as SeatContext)
        }
        if (row.recorded) return await recorded(run, { method, row, params, session, admit, parts })
        return await run(await admit())
      } catch (error) {
        throw failureOf(error)
      }
    }

  return new Map(METHODS.map(method => [method, serve(method)])).set(
    'call',
    inUnitsOfClient(serve('call'), parts.files),
  )
}

/** The context of any operation; which of them have a seat, the types of the handlers say. */
type Known = OperationContext & Record<'seat', unknown>

interface RecordedCall {
  readonly method: Method
  readonly row: Operation
  readonly params: never
  readonly session: Session
  /** Throws where it is not let in. */
  admit(): Promise<Admission>
  readonly parts: DispatchParts
}

/** The same with its two lines in the journal, or one where it is refused. A full disk keeps nobody from ending a kernel. */
async function recorded<Result>(
  run: (admission: Admission) => Promise<Result>,
  { method, row, params, session, admit, parts: { journal, kernels } }: RecordedCall,
): Promise<Result> {
  const { name, target = name, key: _, ...args } = params as Readonly<Record<string, unknown>>
  const kernel = typeof target === 'string' ? target : null
  const epoch = kernels.list().find(one => one.name === kernel)?.epoch ?? null
  const call = randomUUID() as CallId
  const asked = { call, tool: method, kernel, epoch, caller: session.id, who: session.name, args }
  let begun: number | undefined
  const end = (outcome: string, since: number) =>
    journal.later({ type: 'ended', call, outcome, elapsed_ms: Math.round(performance.now() - since) })
  try {
    const admission = await admit()
    begun = performance.now()
    journal.later({ type: 'dispatched', ...asked, level: row.level, decision: 'allow' })
    const result = await run(admission)
    end('ok', begun)
    return result
  } catch (error) {
    const failure = failureOf(error)
    const outcome = failure instanceof Refusal ? failure.code : 'fault'
    if (begun === undefined)
      journal.later({ type: 'refused', ...asked, level: row.level, decision: null, outcome })
    else end(outcome, begun)
    throw failure
  }
}

/** Errors of kernels keep their code; what cannot be meant is `invalid_params`. */
function failureOf(error: unknown): unknown {
  if (error instanceof SuspensionError) {
    const { code, message, details, next } = error
    return new Refusal(code, message, { details, next, retryable: false } satisfies FailureData)
  }
  if (!(error instanceof KernelError)) return error
  const { message, details, next, retryable } = error
  const code = MISTAKES.includes(details.reason) ? 'invalid_params' : error.code
  return new Refusal(code, message, { details, next, retryable } satisfies FailureData)
}

/** Reasons of a `KernelError` that are mistakes in what was asked for. */
const MISTAKES: readonly unknown[] = ['bad_name', 'unknown_language', 'bad_address']

/** The first thing that does not fit, as a sentence. */
function misfit(method: Method, { issues }: z.ZodError): string {
  const { path = [], message = '' } = issues[0] ?? {}
  const where = path.length === 0 ? '' : `"${path.join('.')}": `
  const fault = message.endsWith('received undefined') ? 'It is missing' : message
  return `${method} does not take that. ${where}${fault}.`
}

/** One for all calls of a connection. */
const callers = new WeakMap<Session, Caller>()

function callerOf({ session, link }: ServeContext, { whoSits, wasSeen }: DispatchParts['seats']): Caller {
  const known = callers.get(session)
  if (known !== undefined) return known
  const { id, name: who, root, env, options } = session
  const terminal = SESSION.exec(String(options.session))?.[0]
  const made: Caller = {
    id,
    who,
    root,
    env,
    ...(terminal !== undefined && { terminal }),
    seat: () => whoSits(link),
    isPerson: () => wasSeen(link),
    kind: 'cli',
    readOnlyPromised: false,
    profile: 'full',
  }
  callers.set(session, made)
  return made
}

/** The number of a session of processes, as a client says it. */
const SESSION = /^\d{1,10}$/
