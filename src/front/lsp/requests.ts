import { randomUUID } from 'node:crypto'
import type { Connection } from 'vscode-languageserver/node'
import { LSPErrorCodes, ResponseError } from 'vscode-languageserver/node'
import { isRunning } from '../../../tools/outcome.ts'
import { isRecord } from '../../../tools/record.ts'
import { oneLine } from '../../../tools/text.ts'
import { messageOf, WireError } from '../../../wire/errors.ts'
import type { CallEvent } from '../../calls/contract.ts'
import { refuseDebugger } from '../../debugger.ts'
import type { DaemonClient } from '../client.ts'
import { editorLanguage } from '../languages.ts'
import type { Topic } from '../operations/operation.ts'
import type { FailureData, Methods, SeatEvent } from '../protocol.ts'
import { shownAnswer } from '../shown-answer.ts'
import type { SubscriptionEvent } from '../subscriptions.ts'
import type { Plan } from '../told.ts'
import { withoutMargin } from './documents.ts'
import type { ErrorFrame } from './errors.ts'
import { answerInWords, hunkHead, planHeading } from './plan-lines.ts'
import { PlanPlaces } from './plan-places.ts'
import type { Project } from './project.ts'
import { inWords, Waiting } from './row-lines.ts'
import { type SeatTold, seatInWords } from './seat-lines.ts'

/**
 * `imago/NAME`: the operations of the daemon for plugins of an editor, over its language server. Each has the parameters
 * and the result of that operation, and `root` besides. A seat is of the editor's whole connection for that root.
 */
export class Requests {
  readonly #connection: Connection
  /** What an editor follows of each project, by the client's own way of saying it. */
  readonly #followed = new Map<Project, Following>()
  readonly #seats = new Map<Project, Sitting>()
  /** Those that were connected once. */
  readonly #known = new WeakSet<Project>()
  /** Those whose seat was lost with the connection, and by which secret it is taken again. */
  readonly #lost = new Map<Project, string | undefined>()
  readonly #waiting = new WeakMap<Project, Waiting>()
  /** Calls that the editor follows, by their keys, with the plan that each waits for. */
  readonly #asked = new Map<string, string | undefined>()
  /** Evaluations of the editor that have not ended, by the names of their calls. */
  readonly #evaluations = new Set<string>()
  readonly #places = new WeakMap<Project, PlanPlaces>()
  /** The connections that have a seat now. */
  readonly #sitting = new Map<Project, DaemonClient>()
  readonly #options: RequestsOptions
  #wishes: Wishes = {}

  constructor(connection: Connection, options: RequestsOptions) {
    this.#connection = connection
    this.#options = options
  }

  /** What the editor wants of each project from the start, as its `initializationOptions` say it. */
  begin(options: unknown): void {
    const { follow, sit, places } = isRecord(options) ? options : {}
    this.#wishes = {
      ...(Array.isArray(follow) && { follow: follow.map(String) as Topic[] }),
      sit: sit === true,
      places: places === true,
    }
  }

  /** Answers one; faults are told as errors of the request. */
  async answer(
    name: string,
    params: Readonly<Record<string, unknown>>,
    how: { project: Project; signal: AbortSignal },
  ) {
    try {
      return wellFormed(await this.#done(name, params, how))
    } catch (error) {
      const { message, data } = faultInWords(error)
      return new ResponseError(LSPErrorCodes.RequestFailed, message, data)
    }
  }

  async #done(
    name: string,
    params: Readonly<Record<string, unknown>>,
    { project, signal }: { project: Project; signal: AbortSignal },
  ): Promise<unknown> {
    const client = await project.reach()
    if (name === 'call') return this.#call(project, params as unknown as EditorCall, signal)
    if (name === 'subscribe') return this.#follow(project, params as Methods['subscribe']['params'])
    if (name === 'sit') return this.#sit(project, client, params, signal)
    if (name === 'leave') return this.#seats.get(project)?.over.abort() ?? null
    if (name === 'plan' && params.shown) return planInWords(client, String(params.plan))
    if (name === 'answer') return answerInWords(await client.request('answer', params as never))
    // The daemon says which operations there are, and checks what they take.
    return client.request(name as 'plan', params as never)
  }

  async #call(project: Project, asked: EditorCall, signal: AbortSignal) {
    const { tool, call = randomUUID(), follow, shown, language } = asked
    const spoken = language === undefined ? undefined : editorLanguage(language)
    const { expr, ...rest } = await this.#meant(project, asked)
    const kernel = rest.kernel ?? (spoken && project.kernelFor(spoken.name))
    const code = spoken !== undefined && typeof expr === 'string' ? withoutMargin(expr) : expr
    const args = {
      ...rest,
      ...(kernel !== undefined && { kernel }),
      ...(code !== undefined && { expr: code }),
    }
    const on = ({ plan, ...event }: CallEvent & { readonly plan?: string }) => {
      if (plan !== undefined) this.#asks(project, { call, plan })
      void this.#tell('imago/event', { root: project.root, call, ...event })
    }
    if (follow) this.#asked.set(call, undefined)
    if (tool === 'eval_expr') this.#evaluations.add(call)
    const envelope = await project
      .call({ tool, args, call, signal, ...(follow && { on }) })
      .catch((fault: unknown) => {
        this.#evaluations.delete(call)
        throw fault
      })
      .finally(() => this.#asked.delete(call))
    if (!envelope.ok || !isRunning(envelope.result)) this.#evaluations.delete(call)
    if (!shown) return envelope
    const text = await project.show(tool, envelope)
    return { ...envelope, shown: text, kernel: args.kernel, ...shownAnswer(tool, envelope) }
  }

  /**
   * The arguments as the tool takes them. `inspect` with a `line` looks in the frame of the error there; `undo_change` takes
   * the plan of a change for its name, and without either takes back the newest that was not taken back; `interrupt_job`
   * without a `job` stops the newest evaluation of the editor.
   */
  async #meant(project: Project, asked: EditorCall): Promise<EditorArgs> {
    const { tool } = asked
    const args = asked.args ?? {}
    if (tool === 'inspect') {
      const { line, ...rest } = args
      const { file, expr, kernel } = rest
      const isPlace = typeof file === 'string' && typeof line === 'number' && typeof expr === 'string'
      const found = isPlace && kernel === undefined && this.#options.frameAt(file, line, expr)
      return found ? { ...found, expr } : rest
    }
    if (tool === 'interrupt_job' && !args.job) {
      const jobs = new Map([...project.rows.calls.values()].map(({ call, job }) => [call, job]))
      const job = jobs.get([...this.#evaluations].findLast(call => jobs.has(call)) ?? '')
      if (job === undefined) throw new Error('No evaluation of this editor runs.')
      return { job }
    }
    if (tool !== 'undo_change') return args
    const { ends } = await (await project.reach()).request('approvals', {})
    const done = ends.filter(({ ended }) => ended?.undo)
    const meant = args.change
      ? done.find(({ id }) => id === args.change)
      : done.findLast(({ tool }) => tool !== 'undo_change')
    const change = meant?.ended?.undo ?? args.change
    if (!change) throw new Error('There is no change to take back.')
    return { ...args, change }
  }

  /** Rows of plans have changed, or the seat. */
  plansChanged(project: Project): void {
    if (!this.#wishes.places) return
    const { root, rows } = project
    const places =
      this.#places.get(project) ??
      new PlanPlaces({
        plans: () => [...rows.approvals.values()].flatMap(row => (row.state === 'waits' ? [row.id] : [])),
        client: () => this.#sitting.get(project),
        tell: places => void this.#tell('imago/places', { root, places }),
      })
    this.#places.set(project, places)
    places.changed()
  }

  /** Rows of calls have changed. */
  callsChanged(project: Project): void {
    for (const { call, plan } of project.rows.calls.values())
      if (plan !== null) this.#asks(project, { call, plan })
  }

  /** Tells once which plan a call waits for that the editor follows. */
  #asks(project: Project, { call, plan }: { readonly call: string; readonly plan: string }): void {
    if (!this.#asked.has(call) || this.#asked.get(call) === plan) return
    this.#asked.set(call, plan)
    void this.#tell('imago/event', { root: project.root, call, plan })
  }

  /** Resolves with the first rows under way. What was followed before in that project is followed no more. */
  async #follow(project: Project, params: Methods['subscribe']['params']): Promise<null> {
    this.#followed.get(project)?.end()
    await this.#following(project, params).begin(await project.reach())
    return null
  }

  #following(project: Project, params: Methods['subscribe']['params']): Following {
    const { root } = project
    const tell = (event: SubscriptionEvent) => {
      const told = inWords(event)
      void this.#tell('imago/rows', { root, ...told })
      const waits = this.#waiting.get(project)?.after(told, plan => ![...this.#asked.values()].includes(plan))
      if (waits !== undefined) void this.#tell('imago/waits', { root, ...waits })
    }
    if (!this.#waiting.has(project)) this.#waiting.set(project, new Waiting())
    const following = new Following(params, tell)
    this.#followed.set(project, following)
    return following
  }

  /** Whether the editor itself shows a plan, and has been told of one that a person wants to see. */
  shows(project: Project, plan: string): boolean {
    const isShown = this.#wishes.follow?.includes('approvals') === true
    if (isShown) void this.#tell('imago/event', { root: project.root, plan })
    return isShown
  }

  /** A connection was made. If again, what was followed goes on from where it was, and a seat that was lost is taken again. */
  connected(project: Project, client: DaemonClient): void {
    const { follow, sit } = this.#wishes
    const isFirst = !this.#known.has(project)
    this.#known.add(project)
    if (isFirst && follow !== undefined) this.#following(project, { topics: [...follow] })
    this.#followed
      .get(project)
      ?.begin(client)
      .catch(fault => remoteOf(fault) && this.#connection.console.warn(messageOf(fault)))
    const resume = this.#lost.get(project)
    if (this.#lost.delete(project) || (isFirst && sit)) this.#comeBack(project, client, resume)
  }

  /**
   * Resolves with `seated`: of the seat that the editor has, or has asked for, where there is one. Events of the seat come as
   * notifications, `seated` too, with `left` as the last one. A seat that was lost is then taken again, if it can be.
   */
  async #sit(
    project: Project,
    client: DaemonClient,
    params: SitParams,
    signal: AbortSignal,
  ): Promise<Seated> {
    refuseDebugger()
    for (let before = this.#seats.get(project); before !== undefined; before = this.#seats.get(project)) {
      const { seated, isAlone } = before
      const taken = await seated.catch((fault: unknown) => {
        // Nobody who sits was asked by that one, and this one asks.
        if (!isAlone || params.alone) throw fault
      })
      if (taken !== undefined) return taken
    }
    const over = new AbortController()
    signal.addEventListener('abort', () => over.abort())
    const seated = this.#seated(project, client, { params, over })
    this.#seats.set(project, { over, seated, isAlone: params.alone === true })
    return seated
  }

  #seated(
    project: Project,
    client: DaemonClient,
    { params, over }: { readonly params: SitParams; readonly over: AbortController },
  ): Promise<Seated> {
    const tell = (told: SeatTold) => {
      const event = seatInWords(told)
      void this.#tell('imago/seat', { root: project.root, ...event })
      if (told.type === 'seated') this.#sitting.set(project, client)
      if (told.type === 'left') this.#sitting.delete(project)
      if (told.type !== 'asked') this.plansChanged(project)
      return event
    }
    const wanted = { through: this.#options.editor(), ...params } as Methods['sit']['params']
    return new Promise((resolve, reject) => {
      let seated: Seated | undefined
      const heard = (event: SeatEvent) => {
        const told = tell(event)
        if (told.type !== 'seated') return
        seated = told
        resolve(told)
      }
      const left = (fault?: unknown) => {
        this.#seats.delete(project)
        if (seated === undefined)
          return reject(fault ?? new Error('The seat was left before it was granted.'))
        tell({ type: 'left', why: fault === undefined ? null : messageOf(fault) })
        if (fault === undefined) return
        if (remoteOf(fault) !== undefined) this.#comeBack(project, client)
        else this.#lost.set(project, seated.resume)
      }
      client.sit({ wanted, signal: over.signal, heard }).then(() => left(), left)
    })
  }

  /** By its secret, else where nobody sits. */
  #comeBack(project: Project, client: DaemonClient, resume?: string): void {
    const { signal } = new AbortController()
    this.#sit(project, client, resume === undefined ? { alone: true } : { resume }, signal).catch(
      (fault: unknown) => {
        const remote = remoteOf(fault)
        if (remote === undefined) this.#lost.set(project, resume)
        else if (resume !== undefined) this.#comeBack(project, client)
        else if (remote.code !== 'seat_taken')
          this.#tell('imago/seat', {
            root: project.root,
            ...seatInWords({ type: 'left', why: messageOf(fault) }),
          })
      },
    )
  }

  #tell(method: string, params: object): Promise<void> {
    return this.#connection.sendNotification(method, wellFormed(params)).catch(() => {})
  }

  forget(project: Project): void {
    this.#followed.get(project)?.end()
    this.#followed.delete(project)
    this.#lost.delete(project)
    this.#seats.get(project)?.over.abort()
  }
}

/** Half a character and NUL become U+FFFD: Emacs, for one, takes no message that has one, and arguments of a model may. */
function wellFormed<Message>(message: Message): Message {
  const text = JSON.stringify(message) ?? ''
  if (!/\\u(?:d[89a-f]|0000)/.test(text)) return message
  return JSON.parse(text, (_, value) =>
    typeof value === 'string' ? String(Buffer.from(value)).replaceAll('\0', '\ufffd') : value,
  )
}

/**
 * With `shown`, the text that a person reads comes beside the envelope, for many editors lose the nulls that `show` needs;
 * the same in one `line`; `parts` of what `inspect` found; and `kernel`, where that is known before. With `language`, the
 * editor's word for it, a program of that language is asked, and code comes without the margin that it has in its document.
 */
type EditorCall = Methods['call']['params'] & {
  readonly args?: EditorArgs
  readonly shown?: boolean
  readonly language?: string
}

type EditorArgs = Readonly<Record<string, unknown>> & { readonly kernel?: string; readonly expr?: unknown }

interface RequestsOptions {
  /** What the editor calls itself. */
  editor(): string
  frameAt(file: string, line: number, expr: string): ErrorFrame | undefined
}

/**
 * What an editor says when it starts: topics that it follows in each project, whether it sits where nobody does, is told of
 * places, and may have a static server, which it has not where that is false.
 */
export interface Wishes {
  readonly static?: boolean
  readonly follow?: readonly Topic[]
  readonly sit?: boolean
  readonly places?: boolean
}

type SitParams = Pick<Methods['sit']['params'], 'alone' | 'resume'>

type Seated = Extract<SeatEvent, { type: 'seated' }>

/** A seat of an editor, or one that it has asked for: only where nobody sits, if it is `isAlone`. */
interface Sitting {
  readonly over: AbortController
  readonly seated: Promise<Seated>
  readonly isAlone: boolean
}

/** A fault of the daemon as an editor has it; `shown` says what went wrong, and what to do next. */
function faultInWords(fault: unknown) {
  const { code, message = messageOf(fault), data } = remoteOf(fault) ?? {}
  const { next } = (data ?? {}) as Partial<FailureData>
  return {
    message,
    data: { code, ...(data as object | undefined), shown: next ? `${message} ${next}` : message },
  }
}

/** The plan with all that is said of it, and the hash of the same plan. Rejects where it waits no more. */
async function planInWords(client: DaemonClient, id: string): Promise<Plan> {
  const [plan, { approvals, ends }] = await Promise.all([
    client.request('plan', { plan: id }),
    client.request('approvals', {}),
  ])
  const row = approvals.find(one => one.id === id)
  if (plan.body === null || row === undefined)
    throw new Error(ends.find(end => end.id === id)?.why ?? `${oneLine(id)} waits no more.`)
  const { body, hunks } = plan
  return {
    ...plan,
    id,
    title: row.title,
    hash: row.hash,
    heading: planHeading(row, { body, hunks }),
    hunks: hunks.map(hunk => ({ ...hunk, head: hunkHead(hunk, hunks.length) })),
  }
}

const remoteOf = (fault: unknown) => (fault instanceof WireError ? fault.remote : undefined)

/** One subscription of an editor, over all connections that it is made on. */
class Following {
  readonly #params: Methods['subscribe']['params']
  readonly #tell: (event: SubscriptionEvent) => void
  #over = new AbortController()
  #rev: string | undefined

  constructor(params: Methods['subscribe']['params'], tell: (event: SubscriptionEvent) => void) {
    this.#params = params
    this.#tell = tell
    this.#rev = params.since
  }

  /** Resolves with the first event; rejects where the daemon refuses. */
  begin(client: DaemonClient): Promise<void> {
    this.end()
    const { signal } = this.#over
    const since = this.#rev === undefined ? {} : { since: this.#rev }
    return new Promise((resolve, reject) => {
      const heard = (event: SubscriptionEvent) => {
        if (signal.aborted) return
        this.#rev = event.rev
        this.#tell(event)
        resolve()
      }
      const { since: _, ...params } = this.#params
      client.subscribe({ ...params, ...since, signal, heard }).then(resolve, reject)
    })
  }

  end(): void {
    this.#over.abort()
    this.#over = new AbortController()
  }
}
