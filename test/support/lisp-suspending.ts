import { evalEvent, evaluated } from '../../wire/contract/evaluation.ts'
import { LOOK_ANSWERS as LOOKED } from '../../wire/contract/looks.ts'
import { suspensionEnded } from '../../wire/contract/suspensions.ts'
import type {
  EvalEvent,
  Evaluated,
  Looked,
  LookName,
  Looks,
  Raised,
  SuspensionNews,
} from '../../wire/kernel.ts'
import { parseAnswer } from '../../wire/kernels/answers.ts'
import { textOf } from '../../wire/swank/connection.ts'
import type { Arguments, SwankPeer } from '../../wire/swank/peer.ts'
import { type Sexp, symbol } from '../../wire/swank/sexp.ts'
import { openPeer, type RealSwank } from './swank.ts'

type Suspended = Extract<Evaluated, { type: 'suspended' }>
type Ended = Omit<Extract<SuspensionNews, { type: 'ended' }>, 'type'>

/** How a suspended evaluation is to go on, as the peer takes it. */
export interface Way {
  readonly way: 'restart' | 'return' | 'again' | 'leave'
  readonly restart?: number
  readonly frame?: number
  readonly value?: string
  /** For how long what it comes to is kept; null: errors end it. */
  readonly suspend?: number | null
}

/**
 * Our peer in a real image, spoken to as the adapter does: errors suspend, and what a call comes to is what its own
 * request is answered, or a message, whichever comes first.
 */
export interface Suspending {
  readonly peer: SwankPeer
  /** All suspensions that were told of as ended, in their order. */
  readonly ended: readonly Ended[]
  /** What a line is asked for with, and what is answered; a prompt that is not there is answered by nothing. */
  answers: (prompt: string) => string | undefined
  /** What it comes to: an error suspends it. */
  run(source: string, more?: Arguments): Promise<Evaluated>
  /** Begins it, and gives the name of its call at once. */
  begin(source: string, more?: Arguments): { readonly call: string; readonly result: Promise<Evaluated> }
  suspended(source: string, more?: Arguments): Promise<Suspended>
  values(source: string, more?: Arguments): Promise<readonly string[]>
  inFrame(suspension: string, frame: number, source: string, more?: Arguments): Promise<Evaluated>
  resume(suspension: string, way: Way): Promise<Evaluated>
  look<Name extends LookName>(name: Name, query: Arguments): Promise<Looked<Looks[Name]['found']>>
  found<Name extends LookName>(name: Name, query: Arguments): Promise<Looks[Name]['found']>
  /** Once so many have ended. */
  ends(count: number): Promise<readonly Ended[]>
  /** What a call has printed. */
  printed(call: string): string
  lastCall(): string
  end(): void
}

const LEASE_MS = 600_000

let calls = 0

export async function openSuspending(swank: RealSwank): Promise<Suspending> {
  const { connection, peer, heard } = await openPeer(swank)
  const ended: Ended[] = []
  const events = new Map<string, EvalEvent[]>()
  const waiting = new Map<string, (outcome: Evaluated) => void>()
  /** By the suspension, the request that is answered by what it comes to. */
  const requests = new Map<string, Promise<Evaluated>>()
  const underWay = new Map<string, Promise<Evaluated>>()
  let read = 0
  const hear = () => {
    for (const message of heard.slice(read)) {
      read++
      const json = Array.isArray(message) ? textOf((message as readonly Sexp[])[2]) : ''
      if (!json.startsWith('{')) continue
      const said = JSON.parse(json) as Record<string, unknown> & { call: string }
      if (said.event) events.set(said.call, [...(events.get(said.call) ?? []), eventOf(said.event)])
      if (said.ended) ended.push(parseAnswer(suspensionEnded, said.ended, 'an end'))
      if (said.suspended) {
        const outcome = parseAnswer(evaluated, said.suspended, 'a suspension')
        const request = underWay.get(said.call)
        if (outcome.type === 'suspended' && request) requests.set(outcome.suspension.id, request)
        waiting.get(said.call)?.(outcome)
      }
      if (said.ask) {
        const { thread, tag, prompt } = said.ask as { thread: number; tag: number; prompt: string }
        const line = suspending.answers(prompt)
        if (line !== undefined) connection.send([symbol(':emacs-return-string'), thread, tag, line])
      }
    }
  }
  const timer = setInterval(hear, 2)
  const outcomeOf = (call: string, request: Promise<Evaluated>) => {
    underWay.set(call, request)
    request.catch(() => {})
    return Promise.race([
      new Promise<Evaluated>(resolve => waiting.set(call, resolve)),
      request.then(outcome => {
        hear()
        return outcome
      }),
    ])
  }
  const parsed = async (answer: Promise<unknown>) =>
    parseAnswer(evaluated, await answer, 'the evaluation') as Evaluated

  const suspending: Suspending = {
    peer,
    ended,
    answers: () => undefined,
    begin(source, more = {}) {
      const call = `call-${++calls}`
      const args = { call, who: 'test', work: 'source', source, suspend: LEASE_MS, ...more }
      return { call, result: outcomeOf(call, parsed(peer.call('evaluate', args))) }
    },
    run: (source, more) => suspending.begin(source, more).result,
    async suspended(source, more) {
      const outcome = await suspending.run(source, more)
      if (outcome.type !== 'suspended') throw new Error(`${source} came to ${JSON.stringify(outcome)}`)
      return outcome
    },
    async values(source, more) {
      return textsOf(await suspending.run(source, more))
    },
    inFrame: (suspension, frame, source, more) =>
      suspending.run(source, { work: 'frame', suspension, frame, ...more }),
    async resume(suspension, way) {
      const call = `call-${++calls}`
      const first = requests.get(suspension)
      const args = { suspension, call, who: 'test', suspend: LEASE_MS, ...way }
      const goesOn = peer.call('resume', args).then(async answer => {
        if ((answer as { type: string }).type !== 'accepted') return parsed(Promise.resolve(answer))
        if (first === undefined) throw new Error(`${suspension} was not known`)
        return first
      })
      return outcomeOf(call, goesOn)
    },
    async look(name, query) {
      return parseAnswer(LOOKED[name], await peer.call(name, { deadline_ms: 15_000, ...query }), name)
    },
    async found(name, query) {
      const looked = await suspending.look(name, query)
      if (looked.type !== 'found') throw new Error(`${name}: ${JSON.stringify(looked)}`)
      return looked.value
    },
    async ends(count) {
      while (ended.length < count) await new Promise(resolve => setTimeout(resolve, 5))
      return ended
    },
    printed: call =>
      (events.get(call) ?? []).map(event => (event.type === 'output' ? event.text : '')).join(''),
    lastCall: () => `call-${calls}`,
    end() {
      clearInterval(timer)
      connection.end()
    },
  }
  return suspending
}

const eventOf = (event: unknown) => parseAnswer(evalEvent, event, 'an event')

/** The values of what has run to its end; else how it has ended. */
export const textsOf = (outcome: Evaluated): readonly string[] =>
  outcome.type === 'done' ? outcome.values.map(value => value.repr.text) : [outcome.type]

export const functionsOf = ({ frames }: Raised): readonly string[] => frames.map(frame => frame.function)
