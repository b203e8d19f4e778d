import { isGroupAnswer } from '../../../tools/group.ts'
import type { Told } from '../../../tools/languages.ts'
import { type Envelope, isRunning } from '../../../tools/outcome.ts'
import { tracedLines, traceFunction, tracepointLine } from '../../../tools/tracing.ts'
import type { TracedCall, Tracepoint, Traces } from '../../../wire/kernel.ts'
import { EXIT, type ExitCode } from '../../failure.ts'
import { escapeJson } from '../../text/escape.ts'
import { connectHere, type DaemonClient } from '../client.ts'
import type { CommandInput, ToolCommand } from '../command.ts'
import { exitOf, printEnvelope, printFailed, untilLeft } from '../print.ts'
import type { SubscriptionEvent } from '../subscriptions.ts'
import { changesIn } from '../topic-news.ts'
import { argumentsOf, callAs } from './call.ts'
import { changesOf } from './errors.ts'

const TRACE: ToolCommand = { name: 'trace', tool: 'trace_function', first: 'name' }

/** As much as one tracepoint takes down, unless less was asked for. */
const ALL = { limit: 1_000, seconds: 86_400 }

/** How often a kernel that no row is about is asked for new calls, in milliseconds. */
const AGAIN_MS = 500

/** Calls are asked for from the beginning of a page of so many. */
const PAGE = 50

/**
 * `imago trace FUNCTION`: sets a tracepoint, and answers as the tool does. With `--follow`, prints each call once it has
 * ended; Ctrl-C takes the tracepoint out and prints those that still run.
 */
export async function trace(input: CommandInput): Promise<ExitCode> {
  if (!input.options.follow) return callAs(TRACE, input)
  const { args } = await argumentsOf(TRACE, input)
  const left = untilLeft(['SIGINT', 'SIGTERM'])
  await using client = await connectHere('imago trace')
  let { kernel } = input.options
  const set = await client.call({
    tool: 'trace_function',
    args: { ...ALL, ...traceFunction.renamed(await args(client)) },
    signal: left,
    on(event) {
      if (event.type === 'dispatched') kernel = event.kernel ?? kernel
    },
  })
  if (!set.ok || isRunning(set.result)) return await printInstead(set, { client, input })
  if (!isGroupAnswer(set.result)) {
    const { id } = tracepointIn(set.result)
    return await new Follower({ client, input, kernel, tracepoint: id }).follow(left)
  }
  // Each member has a tracepoint of its own; one that refused is told, and the others go on.
  const codes = set.result.members.map(one =>
    one.ok
      ? new Follower({
          client,
          input,
          kernel: one.kernel,
          member: true,
          tracepoint: tracepointIn(one.result).id,
        }).follow(left)
      : printInstead(one, { client, input }),
  )
  return (await Promise.all(codes)).find(code => code !== EXIT.done) ?? EXIT.done
}

const tracepointIn = (result: unknown) => (result as { readonly tracepoint: Tracepoint }).tracepoint

/** What it was answered with in place of a tracepoint: an error, or that a person is asked. */
async function printInstead(
  envelope: Envelope,
  { client, input }: { client: DaemonClient; input: CommandInput },
): Promise<ExitCode> {
  if (!envelope.ok) return printFailed(input, envelope.error)
  if (input.options.json) printEnvelope(input.printer, envelope)
  else input.printer.err(`${(await client.request('show', { tool: 'trace_function', envelope })).text}\n`)
  return exitOf(envelope)
}

interface Followed {
  readonly client: DaemonClient
  readonly input: CommandInput
  readonly kernel: string | undefined
  readonly tracepoint: string
  /** It is one of several that are followed, and says which. */
  readonly member?: true
}

class Follower {
  readonly #followed: Followed
  /** Those that were printed, from the first on which was not. */
  readonly #printed = new Set<number>()
  #from = 1
  /** Whether a row tells of its kernel. */
  #isTold = true

  constructor(followed: Followed) {
    this.#followed = followed
  }

  async follow(left: AbortSignal): Promise<ExitCode> {
    const { client, tracepoint, input } = this.#followed
    input.printer.err(`${tracepoint}: calls are printed as they end. Ctrl-C takes it out of the program.\n`)
    const changes = changesOf(client, {
      topics: ['traces'],
      signal: left,
      isNews: event => this.#isNews(event),
      waitMs: () => (this.#isTold ? undefined : AGAIN_MS),
    })
    for await (const _ of changes) {
      if (left.aborted) break
      const now = await this.#print({ last: false })
      if ('ok' in now || now.state !== 'on') return this.#end(now)
    }
    // It is taken out first: what was taken down by then is whole.
    const removed = await this.#ask('untrace_function', {})
    return this.#end(removed.ok ? await this.#print({ last: true }) : removed)
  }

  #end(now: Tracepoint | Failed): ExitCode {
    const { input } = this.#followed
    if ('ok' in now) return printFailed(input, now.error)
    input.printer.err(`${tracepointLine(now)}\n`)
    return EXIT.done
  }

  #isNews(event: SubscriptionEvent): boolean {
    const own = changesIn(event).filter(({ key }) => key === this.#followed.kernel)
    if ('snapshot' in event || own.length > 0) this.#isTold = own.some(({ value }) => value !== null)
    return own.length > 0 || 'snapshot' in event
  }

  /** Prints the calls that have ended since, and at the `last` time all. The tracepoint as it is now, or why it is not told. */
  async #print({ last }: { readonly last: boolean }): Promise<Tracepoint | Failed> {
    let now: Tracepoint | undefined
    // The journal notes a look once as long as the same is asked for.
    for (let from: number | null = this.#from - ((this.#from - 1) % PAGE); from !== null; ) {
      const envelope = await this.#ask('trace_calls', { from, limit: 200 })
      if (!envelope.ok) return envelope
      const traces = envelope.result as Traces & Told
      for (const call of traces.calls)
        if (
          call.number >= this.#from &&
          !this.#printed.has(call.number) &&
          (last || call.outcome.type !== 'running')
        )
          this.#show(call, traces)
      now = traces.tracepoints[0]
      from = traces.next
    }
    if (now === undefined) throw new Error('a tracepoint is not told by its name')
    // What ended between two looks is printed as well, once it is out of the program.
    return last || now.state === 'on' ? now : this.#print({ last: true })
  }

  #show(call: TracedCall, traces: Traces & Told): void {
    const { options, printer } = this.#followed.input
    const { member, kernel } = this.#followed
    const of = member ? { kernel } : {}
    const lines = tracedLines(call, traces)
    const text = options.json
      ? escapeJson(JSON.stringify({ ...of, ...call }))
      : [...(member ? [`${kernel}:`] : []), ...lines].join('\n')
    printer.out(`${text}\n`)
    this.#printed.add(call.number)
    for (; this.#printed.delete(this.#from); ) this.#from++
  }

  #ask(tool: string, args: Readonly<Record<string, unknown>>): Promise<Envelope> {
    const { client, tracepoint, kernel } = this.#followed
    return client.call({ tool, args: { tracepoint, ...args, ...(kernel !== undefined && { kernel }) } })
  }
}

type Failed = Extract<Envelope, { ok: false }>
