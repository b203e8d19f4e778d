import type { LanguageModelV3CallOptions, LanguageModelV3FunctionTool } from '@ai-sdk/provider'
import type { Clock } from '../clock.ts'
import { type Answer, type AnswerPart, answerOf } from './answer.ts'
import { type Conversation, tokensIn } from './conversation.ts'
import type { AskedCall, Entry, EntryOf, News, Over, Part } from './entries.ts'
import type { OpenModel } from './providers.ts'

/** What a run may use up. */
export interface Budget {
  readonly steps: number
  /** Of requests and answers together. */
  readonly tokens: number
  readonly minutes: number
  /** How many of them the model reads at once. */
  readonly context_tokens: number
}

/** What one call came to: `waits` where a person is to be asked, and nobody is there. */
export type CallEnd =
  | { readonly type: 'ended'; readonly outcome: string; readonly text: string }
  | { readonly type: 'waits'; readonly title: string }

/** The tools that the model is given. */
export interface AgentTools {
  readonly listed: readonly LanguageModelV3FunctionTool[]
  /** Whether calls of it may run side by side. */
  isSafe(tool: string): boolean
  /** Never rejects where the call was answered. Aborting cancels it. */
  call(asked: AskedCall, signal: AbortSignal): Promise<CallEnd>
  /** Calls in the text of an answer, where the model writes them so. */
  read?(text: string): { readonly said: string; readonly parts: readonly AnswerPart[] }
}

export interface RunParts {
  readonly conversation: Conversation
  readonly model: OpenModel
  readonly tools: AgentTools
  readonly budget: Budget
  readonly clock: Clock
  /** Cancels the run. */
  readonly signal: AbortSignal
  /** Writes down, before anything else happens. Throws where that is not possible: then nothing more is done. */
  keep(entry: Entry): void
  /** For a person, while it works. */
  say?(text: string): void
}

export type RunEnd = Over | EntryOf<'waits'>

/** Calls of one answer that are looked at; a model that asks for more is told so. */
const MOST_CALLS = 32

/** The part of what the model can read at once that is filled before results make room, and after. */
const [FULL, ROOMY] = [0.8, 0.5]

/**
 * Works until the model answers without a call, the budget is used up, or a call waits for a person who is not there. A run
 * that is resumed goes on where its entries end: calls without an end are made again, under the same names.
 */
export async function work(parts: RunParts): Promise<RunEnd> {
  const { conversation, budget, clock, signal } = parts
  const cut = new AbortController()
  const stop = () => cut.abort()
  const takeBack = clock.after(budget.minutes * 60_000, stop)
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  const over = (why: Over['why'], text: string): Over => {
    keep(parts, { type: 'over', why, text })
    return conversation.over as Over
  }
  try {
    for (;;) {
      if (signal.aborted) return over('cancelled', conversation.said)
      const waits = await callOpen(parts, cut)
      if (waits !== undefined) return waits
      const { last } = conversation
      if (signal.aborted) continue
      if (last !== undefined && !conversation.isWaitedFor) return over(...endOf(last, conversation))
      const used = usedUp(parts, cut.signal)
      if (used !== undefined) return over('partial', partial(used, conversation))
      const answer = await ask(parts, cut.signal)
      if (answer.type === 'failed') return over('failed', parts.model.redacted(answer.why))
      if (answer.type === 'answer') keepAnswer(parts, answer)
    }
  } finally {
    takeBack()
    signal.removeEventListener('abort', stop)
  }
}

function keep({ conversation, keep: write }: Pick<RunParts, 'conversation' | 'keep'>, news: News): void {
  const entry = { at: Date.now(), ...news } as Entry
  write(entry)
  conversation.add(entry)
}

function usedUp({ conversation, budget }: RunParts, cut: AbortSignal): string | undefined {
  if (cut.aborted) return `${budget.minutes} minutes`
  if (conversation.steps >= budget.steps) return `${budget.steps} steps`
  const how = conversation.isEstimated ? ' (estimated)' : ''
  return conversation.tokens >= budget.tokens ? `${budget.tokens} tokens${how}` : undefined
}

const partial = (used: string, { said }: Conversation): string =>
  `Partial answer: the budget of ${used} is used up.${said === '' ? ' Nothing was said until then.' : `\n\n${said}`}`

function endOf({ said, finish }: EntryOf<'answered'>, { said: all }: Conversation): [Over['why'], string] {
  if (finish === 'length')
    return ['partial', `Partial answer: the model reached its own limit of length.\n\n${said}`]
  if (finish === 'content-filter') return ['failed', 'the model refused to answer']
  return said.trim() === '' ? ['failed', `the model answered nothing.\n\n${all}`.trim()] : ['done', said]
}

async function ask(parts: RunParts, signal: AbortSignal) {
  const { conversation, model, tools, budget, clock } = parts
  const step = conversation.steps + 1
  if (step === budget.steps && !conversation.isTold)
    keep(parts, {
      type: 'told',
      text: 'This is your last step. Answer now with what you know, without a call.',
    })
  const messages = roomy(parts)
  keep(parts, { type: 'asked', step, messages: messages.length })
  const native = tools.read === undefined && tools.listed.length > 0
  const request: LanguageModelV3CallOptions = {
    prompt: messages,
    ...(native && {
      tools: [...tools.listed],
      toolChoice: { type: step === budget.steps ? 'none' : 'auto' },
    }),
  }
  const again = (why: string, ms: number) =>
    parts.say?.(`${model.redacted(why)}; asking again in ${Math.ceil(ms / 1000)} s`)
  return answerOf({ model: model.model, request, signal, clock, again })
}

/** The messages, once old results have made room where there is too little. */
function roomy(parts: RunParts) {
  const { conversation, budget } = parts
  const { size } = conversation
  const isFull = size > FULL * budget.context_tokens
  const calls = isFull ? conversation.room(size - ROOMY * budget.context_tokens) : []
  if (calls.length > 0) keep(parts, { type: 'room', calls: [...calls] })
  return conversation.messages()
}

/** Names its calls before any of them begins, so that none runs twice. */
function keepAnswer(parts: RunParts, answer: Answer): void {
  const { content, finish } = answer
  const { conversation, tools } = parts
  const { id } = conversation.begun
  const texts = content.filter(part => part.type === 'text').map(({ text }) => text)
  const inText = tools.read?.(texts.join(''))
  // Of an answer that was cut off nobody can tell what is thought aloud in it.
  const isCut = inText !== undefined && finish === 'length'
  const step = conversation.steps + 1
  const all = [...content, ...(inText?.parts ?? [])]
  let calls = 0
  const named = all.map((part): Part => {
    if (part.type !== 'call') return part
    return isCut ? CUT : { ...part, call: `${id}.${step}.${++calls}` }
  })
  const said = inText?.said ?? texts.join('')
  keep(parts, { type: 'answered', step, content: named, said, finish, tokens: tokensOf(parts, answer) })
}

/** As the server counts them, or else as their characters come to. */
function tokensOf({ conversation, tools }: RunParts, { content, tokens: { input, output } }: Answer) {
  if (input !== undefined && output !== undefined) return { input, output }
  const asked = () => conversation.size + tokensIn(JSON.stringify(tools.listed).length)
  const answered = () => tokensIn(JSON.stringify(content).length)
  return { input: input ?? asked(), output: output ?? answered(), estimated: true } as const
}

const CUT: Part = { type: 'bad', why: 'the answer was cut off at the limit of its length.' }

/**
 * Makes the calls that have no end: safe ones beside each other, others one after another. Where one cannot be written
 * down, those beside it are cancelled, and it rejects once they have ended.
 */
async function callOpen(parts: RunParts, cut: AbortController): Promise<RunEnd | undefined> {
  const { conversation, tools } = parts
  const { signal } = cut
  const made = (asked: AskedCall) =>
    callOne(parts, asked, signal).catch(error => {
      cut.abort()
      throw error
    })
  const many = conversation.open.slice(MOST_CALLS)
  const waiting = conversation.open.slice(0, MOST_CALLS)
  while (waiting.length > 0 && !signal.aborted) {
    const risky = waiting.findIndex(({ tool }) => !tools.isSafe(tool))
    const together = waiting.splice(0, risky < 0 ? waiting.length : Math.max(1, risky))
    const ends = await Promise.allSettled(together.map(made))
    const fault = ends.find(end => end.status === 'rejected')
    if (fault !== undefined) throw fault.reason
    const waits = ends.flatMap(end => (end.status === 'fulfilled' ? (end.value ?? []) : [])).at(0)
    if (waits !== undefined) return waits
  }
  for (const { call } of many)
    keep(parts, {
      type: 'ended',
      call,
      outcome: 'limit',
      text: `It did not run: ${MOST_CALLS} calls are the most in one step.`,
    })
  return undefined
}

async function callOne(parts: RunParts, asked: AskedCall, signal: AbortSignal): Promise<RunEnd | undefined> {
  const { call } = asked
  keep(parts, { type: 'called', call })
  const end = await parts.tools.call(asked, signal)
  if (end.type === 'waits') {
    keep(parts, { type: 'waits', for: end.title, call })
    return parts.conversation.waits
  }
  keep(parts, { type: 'ended', call, outcome: end.outcome, text: end.text })
  return undefined
}
