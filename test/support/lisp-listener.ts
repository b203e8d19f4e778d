import { evalEvent, evaluated } from '../../wire/contract/evaluation.ts'
import { LOOK_ANSWERS as LOOKED } from '../../wire/contract/looks.ts'
import type { EvalEvent, Evaluated, LookName, Looks, Raised, Refused } from '../../wire/kernel.ts'
import { parseAnswer } from '../../wire/kernels/answers.ts'
import { textOf } from '../../wire/swank/connection.ts'
import type { Arguments, SwankPeer } from '../../wire/swank/peer.ts'
import { type Sexp, symbol } from '../../wire/swank/sexp.ts'
import { openPeer, type RealSwank } from './swank.ts'

/** A question for a line that running code asks. */
export interface Asked {
  readonly tag: number
  readonly thread: number
  readonly prompt: string
}

/** One evaluation, and what the image said of it while it ran. */
export interface Run {
  readonly call: string
  readonly thread: number | undefined
  readonly events: EvalEvent[]
  readonly result: Promise<Evaluated>
  text(stream?: 'stdout' | 'stderr'): string
}

/** Our peer in a real image, spoken to as the adapter does, but without its queue. */
export interface LispListener {
  readonly peer: SwankPeer
  readonly messages: readonly Sexp[]
  /** Begins an evaluation; `answer` is what each question gets, if anything, the empty text where it is left out. */
  begin(source: string, more?: Arguments, answer?: (asked: Asked) => string | undefined): Run
  run(source: string, more?: Arguments): Promise<Evaluated>
  /** What the values are written as, or how it ended otherwise. */
  values(source: string, more?: Arguments): Promise<readonly string[]>
  raised(source: string, more?: Arguments): Promise<Raised>
  refused(source: string, more?: Arguments): Promise<Refused>
  look<Name extends LookName>(name: Name, query: Arguments): Promise<Looks[Name]['found']>
  /** Asks to stop it as Emacs does, by the number of its thread. */
  interrupt(run: Run): void
  end(): void
}

let calls = 0

export async function openListener(swank: RealSwank): Promise<LispListener> {
  const { connection, peer, heard } = await openPeer(swank)
  const runs = new Map<
    string,
    { run: { thread: number | undefined; events: EvalEvent[] }; answer: (asked: Asked) => string | undefined }
  >()
  let read = 0
  const hear = () => {
    for (const message of heard.slice(read)) {
      read++
      const text = Array.isArray(message) ? textOf((message as readonly Sexp[])[2]) : ''
      if (!text.startsWith('{')) continue
      const said = JSON.parse(text) as {
        call: string
        started?: { thread: number }
        event?: unknown
        ask?: Asked
      }
      const known = runs.get(said.call)
      if (known === undefined) continue
      if (said.started) known.run.thread = said.started.thread
      if (said.event) known.run.events.push(parseAnswer(evalEvent, said.event, 'an event'))
      if (said.ask) {
        const line = known.answer(said.ask)
        if (line !== undefined)
          connection.send([symbol(':emacs-return-string'), said.ask.thread, said.ask.tag, line])
      }
    }
  }
  const timer = setInterval(hear, 2)

  const begin: LispListener['begin'] = (source, more = {}, answer = () => '') => {
    const call = `call-${++calls}`
    const run = { thread: undefined as number | undefined, events: [] as EvalEvent[] }
    runs.set(call, { run, answer })
    const result = peer
      .call('evaluate', { call, who: 'test', work: 'source', source, ...more })
      .then(answered => {
        hear()
        return parseAnswer(evaluated, answered, 'the evaluation') as Evaluated
      })
    result.catch(() => {})
    const text = (stream?: string) =>
      run.events
        .map(event =>
          event.type === 'output' && (stream ?? event.stream) === event.stream ? event.text : '',
        )
        .join('')
    return Object.defineProperty({ call, events: run.events, result, text, thread: undefined }, 'thread', {
      get: () => run.thread,
    })
  }
  const run: LispListener['run'] = (source, more) => begin(source, more).result

  return {
    peer,
    messages: heard,
    begin,
    run,
    async values(source, more) {
      const ended = await run(source, more)
      if (ended.type === 'raised') return [`${ended.exception.type.name}: ${ended.exception.message}`]
      return ended.type === 'done' ? ended.values.map(value => value.repr.text) : [ended.type]
    },
    async raised(source, more) {
      const ended = await run(source, more)
      if (ended.type !== 'raised') throw new Error(`${source} has ended as ${ended.type}`)
      return ended.exception
    },
    async refused(source, more) {
      const ended = await run(source, more)
      if (ended.type !== 'refused') throw new Error(`${source} has ended as ${ended.type}`)
      return ended
    },
    async look(name, query) {
      const found = parseAnswer(LOOKED[name], await peer.call(name, query), name)
      if (found.type !== 'found') throw new Error(`${name} was answered ${JSON.stringify(found)}`)
      return found.value
    },
    interrupt({ thread }) {
      if (thread === undefined) throw new Error('it has not begun')
      connection.send([symbol(':emacs-interrupt'), thread])
    },
    end() {
      clearInterval(timer)
      connection.end()
    },
  }
}

/** Waits until it is so. */
export async function until(so: () => boolean): Promise<void> {
  while (!so()) await new Promise(resolve => setTimeout(resolve, 5))
}
