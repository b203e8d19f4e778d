import { randomBytes } from 'node:crypto'
import { WireError } from '../../../wire/errors.ts'
import { Refusal } from '../../../wire/link/calls.ts'
import type { Link } from '../../../wire/link/link.ts'
import { startOf } from '../../../wire/process-start.ts'
import type { Signal } from '../../../wire/signal.ts'
import type { AnswerOutcome, CodedAnswer } from '../../approvals/contract.ts'
import type { Approvals } from '../../approvals/queue.ts'
import type { HeldQuestion } from '../../calls/held.ts'
import { type Clock, SYSTEM_CLOCK } from '../../clock.ts'
import type { Journal } from '../../journal/journal.ts'
import type { KernelRow } from '../../kernels/rows.ts'
import type { Yes } from '../../policy/file.ts'
import { plainName } from '../../text/escape.ts'
import type { Handlers, HeldSeat } from '../handlers.ts'
import type { SEAT_OPERATIONS } from '../operations/seats.ts'
import type { FailureData, Methods, SeatEvent, SeatRow, SeatWanted, TerminalChallenge } from '../protocol.ts'
import type { ServeContext } from '../server.ts'
import { bridgeFacts, linesBelow, linesBeside, seatFacts } from './processes.ts'
import {
  answerDoubt,
  driverOf,
  type Fault,
  hostOf,
  isShell,
  type Judgement,
  judgeSeat,
  type NoApprover,
  nameOf,
  sharedFault,
  THE_DAEMON,
} from './rule.ts'
import { type Editor, editorCode, Resumptions, type ThroughEditor } from './through-editor.ts'

interface SeatsOptions {
  readonly approvals: Approvals
  /** Questions that wait and are no plans now. */
  held(): readonly HeldQuestion[]
  readonly journal: Pick<Journal, 'later' | 'trouble' | 'acknowledge'>
  /** Looks whether a person runs the client at a terminal, or what gives a code; `challenge` puts the question to it. */
  prove(
    challenge: (told: TerminalChallenge) => Promise<number>,
    how?: Parameters<typeof judgeSeat>[2],
  ): Promise<Judgement>
  /** Why the person at the terminal of that process is not alone there. */
  shared(pid: number): Fault | undefined
  /** Who may drive the editor of that process, and may not approve. */
  driver(pid: number): string | undefined
  readonly clock?: Clock
  /** Somebody sat down, left or was refused. */
  changed?(): void
}

/** Who has a seat, for the methods about seats and for all others. */
export interface Seats {
  readonly methods: SeatMethods
  /** The seat of this connection, or the refusal `no_seat`, which everybody hears of. */
  seatOf(what: string, context: ServeContext): HeldSeat
  rows(): readonly SeatRow[]
  /** The answer of `approvals` with the rows of all projects. */
  questions(): Methods['approvals']['result']
  /** Those who want one and have to be admitted, and the last of whom that was settled. */
  wanted(): readonly SeatWanted[]
  /** Undefined where nobody has a seat on that connection. */
  whoSits(link: Link): string | undefined
  /** Whether a person is at the client: somebody sits there, or its process shows a person's terminal, as for a seat. */
  isPerson(context: Pick<ServeContext, 'link' | 'session'>): Promise<boolean>
  /** Whether that has been seen already. */
  wasSeen(link: Link): boolean
}

/** The methods about seats. Who may do what is told by the connection that a message came on, never by the message. */
export type SeatMethods = Omit<Pick<Handlers, keyof typeof SEAT_OPERATIONS>, 'approvals'>

type Person = Extract<Judgement, { type: 'proved' }>

/** Somebody who may have a seat. `driver`: what may drive the editor. */
type Sitter = Pick<Person, 'who' | 'terminal' | 'command'> & {
  readonly process: HeldSeat['process']
  readonly editor: Editor | undefined
  readonly driver: string | undefined
}

/**
 * Who has a seat, and what they may do. A seat lives in memory and ends with its call or its connection. Each grant,
 * refusal and leaving, and each try to do without a seat what only a seat may, is in the journal and a notice for those who sit.
 */
export function openSeats(options: SeatsOptions): Seats {
  const { approvals, journal, prove, shared, clock = SYSTEM_CLOCK } = options
  const held = new Map<Link, HeldSeat>()
  const notice = (text: string) => approvals.notice(text)
  const admissions = new Admissions(clock, () => options.changed?.())
  const resumptions = new Resumptions(clock)
  /** Connections that are taking a seat, and those that were found to do without one. */
  const [sitting, told] = [new Set<Link>(), new WeakSet<Link>()]

  /** The processes that have shown a terminal without a seat. It lets them name what is of other projects, and no more. */
  const seen = new WeakMap<Link, Person>()

  const rows = (): SeatRow[] =>
    [...held.values()].map(({ seat, who, command, root }) => ({ seat: seat.id, who, command, root }))
  const noteRefused = (who: string, why: string) =>
    journal.later({ type: 'seat', what: 'refused', seat: null, who, why })

  /** That of the connection, as long as the process that it was granted to lives. */
  function heldBy(link: Link): HeldSeat | undefined {
    const found = held.get(link)
    const lives = [found?.process, found?.editor].every(
      one => one === undefined || 'page' in one || startOf(one.pid) === one.started,
    )
    return lives ? found : undefined
  }

  function faultOf({ process, editor }: HeldSeat): Fault | undefined {
    if (editor === undefined) return process && shared(process.pid)
    const driver = editor.isTold || 'page' in editor ? undefined : options.driver(editor.pid)
    if (driver === undefined) return undefined
    return [
      `By now this editor may be driven by ${driver}.`,
      'Ask for a seat again: a person is asked about that.',
    ]
  }

  function seatOf(what: string, { link, session }: ServeContext): HeldSeat {
    const found = heldBy(link)
    const fault = found && faultOf(found)
    if (found !== undefined && fault === undefined) return found
    if (found !== undefined && fault !== undefined) {
      const [shares, next] = fault
      noteRefused(found.who, shares)
      found.lose(refusal('seat_refused', `The seat is over. ${shares} ${next}`))
      throw refusal('no_seat', shares, next)
    }
    const [who, why] = [callerNamed(session), `It tried to ${what}, and has no seat.`]
    noteRefused(who, why)
    // Once for each connection: the journal has the others.
    if (!told.has(link)) notice(`${who}: ${why}`)
    told.add(link)
    throw refusal('no_seat', `Only a seat may ${what}, and this connection has none.`)
  }

  function wasSeen(link: Link): boolean {
    const person = seen.get(link)
    return heldBy(link) !== undefined || (person !== undefined && startOf(person.pid) === person.started)
  }

  async function isPerson({ link, session }: Pick<ServeContext, 'link' | 'session'>): Promise<boolean> {
    if (wasSeen(link)) return true
    // Whoever does not say so is not asked, so that no client has to know the question.
    if (session.options.terminal !== true) return false
    const judged = await prove(challenge => challenged({ link, session }, challenge))
    if (judged.type === 'proved') seen.set(link, judged)
    return judged.type === 'proved'
  }

  async function withCode(given: CodedAnswer, { session, link }: ServeContext): Promise<AnswerOutcome> {
    if (approvals.waiting().some(({ id }) => id === given.plan)) {
      const judged = await prove(noTerminal({ link, session }), { gives: 'a code' })
      if (judged.type === 'unproved')
        throw codeRefused(given.plan, judged.who || callerNamed(session), judged)
    }
    const answer = approvals.answerWithCode(given)
    if (answer.type !== 'wrong_code') return answer
    const [who, why] = [callerNamed(session), `It gave a wrong code for ${given.plan}.`]
    noteRefused(who, why)
    notice(`${who}: ${why}`)
    return answer
  }

  function codeRefused(plan: string, who: string, { why, next }: Record<'why' | 'next', string>): Refusal {
    noteRefused(who, why)
    notice(`${who} gave a code for ${plan}, which was not looked at. ${why}`)
    return refusal('seat_refused', `The code was not looked at: ${why}`, next)
  }

  function refuse(who: string, why: string, next: string): Refusal {
    noteRefused(who, why)
    notice(`${who} wanted a seat and did not get it. ${why}`)
    return refusal('seat_refused', `No seat: ${why}`, next)
  }

  async function proved(
    { alone = false, through }: Methods['sit']['params'],
    context: ServeContext,
  ): Promise<Sitter> {
    const taken = () => refusal('seat_taken', `There is a seat already: ${whoAdmits(rows())}`, null)
    if (alone && held.size > 0) throw taken()
    const { page } = context.session
    if (page !== undefined && through !== undefined) return throughPage(page.id, through)
    const judged =
      through === undefined
        ? await prove(challenge => challenged(context, challenge))
        : await prove(noTerminal(context), { gives: 'answers through an editor' })
    if (judged.type === 'unproved')
      throw refuse(judged.who || callerNamed(context.session), judged.why, judged.next)
    if (alone && held.size > 0) throw taken()
    const { editor, pid, started, terminal, command } = judged
    const found = { terminal, command, process: { pid, started }, editor }
    if (editor === undefined || through === undefined) return { ...found, who: judged.who, driver: undefined }
    const who = `${judged.who}, which calls itself ${JSON.stringify(plainName(through))}`
    return { ...found, who, driver: options.driver(editor.pid) }
  }

  /** Whether its seat was lost with the connection, and no person has to be asked again. */
  function comesBack({ resume }: Methods['sit']['params'], { who, editor, driver }: Sitter): boolean {
    if (resume === undefined) return false
    const seat = editor && resumptions.take(resume, editor)
    if (seat === undefined) throw refuse(who, NOT_RESUMED, 'Ask for a seat without that secret.')
    return driver === undefined || seat.isTold
  }

  async function admitted(sitter: Sitter, { served }: ServeContext): Promise<void> {
    const { who, terminal, process, command, editor, driver } = sitter
    if (held.size === 0 && driver === undefined) return
    const code = editor && editorCode()
    served.event({ type: 'asked', seats: rows(), ...(code && { code }) } satisfies SeatEvent)
    const through = code && { through: { code, driver: driver ?? null } }
    const row = { who, terminal, pid: process?.pid ?? null, command, ...through }
    const refused = await admissions.ask(row, served.signal)
    if (refused === undefined) return
    throw refuse(who, refused, code !== undefined && held.size === 0 ? BY_CODE : whoAdmits(rows()))
  }

  /** Until the client cancels it or goes away. */
  function seated({ who, command, process, editor: at, driver }: Sitter, context: ServeContext) {
    const { link, served } = context
    const { root } = context.session
    const editor: ThroughEditor | undefined = at && { ...at, isTold: driver !== undefined }
    const resume = randomBytes(16).toString('hex')
    return new Promise<Methods['sit']['result']>((resolve, reject) => {
      const seat = approvals.sit(who)
      const over = (error?: Refusal) => {
        if (!held.delete(link)) return
        seat.leave()
        notice(`${seat.id}, ${who}, has left.`)
        if (held.size === 0) admissions.close('The seat that was asked has left. Try again.')
        if (error === undefined) resolve({})
        else reject(error)
      }
      const others = rows()
      held.set(link, { seat, who, command, root, process, editor, lose: over })
      notice(`${seat.id} was taken by ${who}.`)
      const seated = {
        seat: seat.id,
        who,
        others,
        trouble: journal.trouble ?? null,
        ...(editor && { resume }),
      }
      served.event({ type: 'seated', ...seated } satisfies SeatEvent)
      served.signal.addEventListener('abort', () => {
        const isBroken = served.signal.reason instanceof WireError
        if (editor !== undefined && isBroken && held.has(link)) resumptions.broke(resume, editor)
        over()
      })
    })
  }

  const methods: SeatMethods = {
    async sit(params, context) {
      const { link, served } = context
      if (sitting.has(link)) throw refusal('seat_refused', 'This connection has a seat already.', null)
      sitting.add(link)
      try {
        const person = await proved(params, context)
        if (!comesBack(params, person)) await admitted(person, context)
        return served.signal.aborted ? {} : await seated(person, context)
      } finally {
        sitting.delete(link)
      }
    },
    admit: ({ wanted, admit }, { seat: { seat, who } }) => ({
      taken: admissions.answer(wanted, { admit, by: `${seat.id}, ${who}` }),
    }),
    answer: (answer, { seat }) => seat.seat.answer(answer),
    plan({ plan }) {
      const { body = null, hunks = [], files = [], args = null, code = '' } = approvals.previewOf(plan) ?? {}
      return { body, hunks, files, args, code }
    },
    revoke: ({ grant }, { session }) => ({
      revoked: approvals.revoke(grant, callerNamed(session)),
    }),
    approve: ({ plan, code }, context) => withCode({ plan, code, decision: 'approve' }, context),
    deny: ({ plan, code, reason }, context) =>
      withCode({ plan, code, decision: 'deny', ...(reason === undefined ? {} : { reason }) }, context),
    lift: (_, { seat }) => ({ lifted: seat.seat.lift() }),
    async acknowledge(_, { seat: { seat, who } }) {
      await journal.acknowledge(`${seat.id}, ${who}`)
      return {}
    },
  }
  return {
    methods,
    rows,
    questions: () => ({
      seats: rows(),
      pauses: approvals.pauses(),
      approvals: approvals.waiting(),
      grants: approvals.grants(),
      ends: approvals.ends(),
      held: options.held(),
    }),
    wanted: () => admissions.rows,
    seatOf,
    isPerson,
    wasSeen,
    whoSits(link) {
      const found = heldBy(link)
      return found && `${found.seat.id}, ${found.who}`
    },
  }
}

function refusal(
  code: 'seat_refused' | 'seat_taken' | 'no_seat',
  message: string,
  next: string | null = 'A person takes a seat with: imago watch; in an editor, with: sit',
): Refusal {
  return new Refusal(code, message, { details: {}, next, retryable: false } satisfies FailureData)
}

const NOT_RESUMED =
  'No seat of this editor was lost within 60 s that had this secret, or it was used already.'

const BY_CODE = 'Ask again. A person lets it in at a terminal by the code that it shows: imago seat CODE'

/** No process is behind it that could be proved: a person always lets it in. */
function throughPage(page: string, name: string): Sitter {
  const who = `through a page in a browser (session ${page.slice(0, 8)}), which calls itself ${JSON.stringify(plainName(name))}`
  return { who, terminal: 'a page', command: '', process: undefined, editor: { page }, driver: PAGE_DRIVER }
}

const PAGE_DRIVER = 'any program that can drive that browser or read its memory'

const callerNamed = ({ name, id }: ServeContext['session']) => `${name} (${id})`

/** Who would have to admit another one. */
const whoAdmits = (seats: readonly SeatRow[]): string =>
  seats.length === 0
    ? 'Run imago watch again.'
    : `It has to be admitted by ${seats.map(({ seat, who, root }) => `${seat}, ${who}, in ${root}`).join(', or by ')}. If that is not you, end that process.`

/** How long a client may take to show its terminal, in milliseconds. */
const CHALLENGE_MS = 10_000

async function challenged(
  { link, session }: Pick<ServeContext, 'link' | 'session'>,
  challenge: TerminalChallenge,
): Promise<number> {
  if (session.overWeb) throw new Refusal('refused', 'No process can be proved over a WebSocket.')
  const answer = await link.call('prove', challenge, { deadlineMs: CHALLENGE_MS })
  if (typeof answer === 'object' && answer !== null && 'pid' in answer && Number.isSafeInteger(answer.pid))
    return Number(answer.pid)
  throw new Refusal('invalid_params', 'The client did not say its process number.')
}

/** Which process it is counts, and no terminal is needed. */
const noTerminal =
  (context: Pick<ServeContext, 'link' | 'session'>) =>
  (told: TerminalChallenge): Promise<number> =>
    challenged(context, { ...told, terminal: false })

/** How long those who sit may take to admit another one, in milliseconds. Silence refuses. */
const ADMIT_MS = 60_000

/** How many questions of this kind wait at once: more are refused unasked. */
const AT_ONCE = 4

/** Questions that are settled and can still be looked up. */
const MOST_SETTLED = 8

const driverIn = ({ through }: Pick<SeatWanted, 'through'>): string | undefined =>
  through?.driver ?? undefined

interface Admission {
  readonly row: SeatWanted
  settle(refused: string | undefined): void
}

/** Whether those who sit let another one sit beside them. The first answer counts. */
export class Admissions {
  readonly #clock: Clock
  readonly #changed: () => void
  readonly #waiting = new Map<string, Admission>()
  #settled: readonly SeatWanted[] = []
  /** What may drive an editor that was turned away within the last minute: it could have the person asked for ever. */
  readonly #turnedAway = new Set<string>()
  #made = 0

  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock
    this.#changed = changed
  }

  /** Resolves with undefined once it is admitted, and with a sentence where it is not. `signal`: it has gone. */
  ask(who: Omit<SeatWanted, 'id' | 'why'>, signal: Signal): Promise<string | undefined> {
    if (this.#waiting.size >= AT_ONCE) return Promise.resolve('Too many want one at this moment. Try again.')
    const driver = driverIn(who)
    const waits = [...this.#waiting.values()].some(
      one => driver !== undefined && driverIn(one.row) === driver,
    )
    if (waits) return Promise.resolve('A person is asked about it already.')
    if (driver !== undefined && this.#turnedAway.has(driver))
      return Promise.resolve('It was turned away less than a minute ago.')
    const id = `wanted-${++this.#made}`
    return new Promise(resolve => {
      const settle = (refused: string | undefined) => {
        if (!this.#waiting.delete(id)) return
        forget()
        const why = refused ?? 'It was admitted.'
        this.#settled = [...this.#settled, { ...row, why }].slice(-MOST_SETTLED)
        this.#changed()
        resolve(refused)
      }
      const forget = this.#clock.after(ADMIT_MS, () =>
        settle(`Nobody answered within ${ADMIT_MS / 1_000} s.`),
      )
      signal.addEventListener('abort', () => settle('It has gone.'))
      const row = { ...who, id, why: null }
      this.#waiting.set(id, { row, settle })
      this.#changed()
    })
  }

  get rows(): readonly SeatWanted[] {
    return [...[...this.#waiting.values()].map(({ row }) => row), ...this.#settled]
  }

  /** `false` for a question that waits no more. */
  answer(id: string, { admit, by }: { admit: boolean; by: string }): boolean {
    const found = this.#waiting.get(id)
    const driver = found && driverIn(found.row)
    if (driver !== undefined && !admit) {
      this.#turnedAway.add(driver)
      this.#clock.after(ADMIT_MS, () => this.#turnedAway.delete(driver))
    }
    found?.settle(admit ? undefined : `It was turned away by ${by}.`)
    return found !== undefined
  }

  /** Nobody is there any more who could answer. What waits for a person who comes goes on waiting. */
  close(why: string): void {
    for (const { row, settle } of [...this.#waiting.values()]) if (driverIn(row) === undefined) settle(why)
  }
}

/**
 * The programs behind MCP connections. A model may have asked for whatever they start, so nothing below them approves.
 *
 * A bridge that keeps silent, or lies, gains what a program has that never connected as a bridge: its own tree is not
 * barred by this list. It can bar nobody else's.
 */
interface Hosts {
  /** Remembers what started this bridge, by the options of its hello, as long as `work` goes on or its host lives. */
  whileBridged<Result>(
    options: Readonly<Record<string, unknown>>,
    work: (bridge: Bridge) => Promise<Result>,
  ): Promise<Result>
  /** All below which nobody approves: the daemon, kernels, attached programs, and hosts that live. */
  barred(): readonly NoApprover[]
  /** For a client that asks for a seat. */
  prove: SeatsOptions['prove']
  shared: SeatsOptions['shared']
  driver: SeatsOptions['driver']
}

/** What is known of the program behind a bridge. */
interface Bridge {
  /** `host 4711 STARTED`: the same for all bridges of one life of it. Undefined where it is unknown. */
  readonly origin: string | undefined
  /** Why the yes of a client of that name may not be a person's, as a clause. `yes`: what the policy says of it. */
  doubt(client: string, yes: Yes | undefined): string | undefined
}

interface Host extends NoApprover {
  readonly started: string
  readonly shell: boolean
  bridges: number
}

interface HostsOptions {
  readonly runtimeDir: string
  readonly kernels: { list(): readonly Pick<KernelRow, 'pid' | 'name' | 'owned'>[] }
}

export function openHosts({ runtimeDir, kernels }: HostsOptions): Hosts {
  const hosts = new Map<string, Host>()

  /** A host stays barred after its bridge has gone. */
  function barredBeside(own?: Host): NoApprover[] {
    for (const [key, { pid, started, shell, bridges }] of hosts)
      if (startOf(pid) !== started || (shell && bridges === 0)) hosts.delete(key)
    return [
      { pid: process.pid, what: THE_DAEMON },
      ...kernels.list().flatMap(({ pid, name, owned }) => {
        if (pid === null) return []
        return [{ pid, what: owned ? `the kernel ${name}` : `${name}, a program that is attached` }]
      }),
      ...[...hosts.values()].filter(one => one !== own),
    ]
  }

  function remember(facts: ReturnType<typeof bridgeFacts>): [key: string, Host] | [] {
    const found = typeof facts.bridge === 'string' ? undefined : hostOf(facts.bridge)
    if (found === undefined) return []
    const { pid, started } = found
    const key = `host ${pid} ${started}`
    const what = `the host of an MCP server, ${nameOf(found)}`
    const known: Host = { pid, started, what, isHost: true, shell: isShell(found), bridges: 0 }
    const host = hosts.get(key) ?? known
    hosts.set(key, host)
    return [key, host]
  }

  return {
    async whileBridged(options, work) {
      const facts = bridgeFacts(options, runtimeDir)
      const [origin, host] = remember(facts)
      if (host !== undefined) host.bridges++
      try {
        return await work({
          origin,
          doubt: (client, yes) => answerDoubt({ ...facts, barred: barredBeside(host), client, yes }),
        })
      } finally {
        if (host !== undefined) host.bridges--
      }
    },
    barred: () => barredBeside(),
    prove: async (challenge, how) =>
      judgeSeat(await seatFacts({ runtimeDir, challenge }), barredBeside(), how),
    shared: pid => sharedFault(linesBeside(pid), barredBeside()),
    driver: pid => driverOf([...linesBelow(pid), ...linesBeside(pid)], barredBeside()),
  }
}
