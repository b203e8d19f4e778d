import type { LanguageModelV3Message, LanguageModelV3Prompt } from '@ai-sdk/provider'
import { isRecord } from '../../tools/record.ts'
import { renderResult } from '../syntax/syntaxes.ts'
import type { AskedCall, Entry, EntryOf, Over, Part } from './entries.ts'

/** A result that is shorter makes no room worth the mention, in characters. */
const WORTH = 400

/** Results of so many last answers stay in any case. */
const FRESH_ANSWERS = 1

const CHARACTERS_OF_A_TOKEN = 4

/** What the entries of a run come to: what the model is sent, and how far the run is. */
export class Conversation {
  readonly begun: EntryOf<'begun'>
  /** Which answers now. */
  model: string
  /** Answers that were given. */
  steps = 0
  /** Of all requests and answers. */
  tokens = 0
  /** Whether some of them are our estimate. */
  isEstimated = false
  over: Over | undefined
  /** What it waits for now. */
  waits: EntryOf<'waits'> | undefined
  /** Of all that the model is sent. */
  #characters: number
  readonly #answers: EntryOf<'answered'>[] = []
  readonly #ended = new Map<string, EntryOf<'ended'>>()
  /** Calls whose results have made room. */
  readonly #gone = new Set<string>()
  /** Said to the model before the answer of that index. */
  readonly #told = new Map<number, string[]>()

  constructor(begun: EntryOf<'begun'>) {
    this.begun = begun
    this.model = begun.model
    this.#characters = begun.guidance.length + begun.text.length
  }

  add(entry: Entry): void {
    switch (entry.type) {
      case 'begun':
        return
      case 'called':
      case 'asked':
        // It goes on.
        this.over = undefined
        this.waits = undefined
        return
      case 'waits':
        this.waits = entry
        return
      case 'model':
        this.model = entry.model
        return
      case 'answered':
        this.#answers.push(entry)
        this.#characters += JSON.stringify(entry.content).length
        this.steps = entry.step
        this.tokens += entry.tokens.input + entry.tokens.output
        this.isEstimated ||= entry.tokens.estimated === true
        return
      case 'ended':
        this.#ended.set(entry.call, entry)
        this.#characters += entry.text.length
        return
      case 'room':
        for (const call of entry.calls) {
          this.#gone.add(call)
          this.#characters -= this.#ended.get(call)?.text.length ?? 0
        }
        return
      case 'told':
        this.#told.set(this.#answers.length, [...(this.#told.get(this.#answers.length) ?? []), entry.text])
        return
      case 'over':
        // What the model refused, or said nothing in, is asked for again where the run goes on.
        if (entry.why === 'failed' && !this.isWaitedFor) this.#answers.pop()
        this.over = entry
        return
      default:
        entry satisfies never
    }
  }

  get last(): EntryOf<'answered'> | undefined {
    return this.#answers.at(-1)
  }

  /** Calls of the last answer that have no end yet, in order. */
  get open(): readonly AskedCall[] {
    return callsOf(this.last).filter(({ call }) => !this.#ended.has(call))
  }

  /** Whether the last answer wants one more of the model. */
  get isWaitedFor(): boolean {
    return this.last === undefined || this.last.content.some(({ type }) => type === 'call' || type === 'bad')
  }

  /** Whether something was said to the model since its last answer. */
  get isTold(): boolean {
    return this.#told.has(this.#answers.length)
  }

  /** All that was said to the person, a paragraph for each answer. */
  get said(): string {
    return this.#answers
      .map(({ said }) => said.trim())
      .filter(text => text !== '')
      .join('\n\n')
  }

  /** What the model is sent. */
  messages(): LanguageModelV3Prompt {
    const { guidance, text, syntax } = this.begun
    const messages: LanguageModelV3Message[] = [
      { role: 'system', content: guidance },
      user(text, ...(this.#told.get(0) ?? [])),
    ]
    this.#answers.forEach((answer, index) => {
      const told = this.#told.get(index + 1) ?? []
      messages.push({ role: 'assistant', content: contentOf(answer.content, syntax !== undefined) })
      const results = this.#resultsOf(answer)
      if (syntax !== undefined) {
        if (results.length + told.length > 0)
          messages.push(user(...results.map(({ text: result }) => renderResult(result)), ...told))
        return
      }
      if (results.length > 0)
        messages.push({
          role: 'tool',
          content: results.map(({ part, text: value }) => ({
            type: 'tool-result',
            toolCallId: part.id,
            toolName: part.tool,
            output: { type: 'text', value },
          })),
        })
      if (told.length > 0) messages.push(user(...told))
    })
    return messages
  }

  #resultsOf({ content }: EntryOf<'answered'>): { part: Pick<AskedCall, 'id' | 'tool'>; text: string }[] {
    return content.flatMap(part => {
      if (part.type === 'bad') return [{ part: NO_CALL, text: `That call did not run: ${part.why}` }]
      if (part.type !== 'call') return []
      const ended = this.#ended.get(part.call)
      if (ended === undefined) return []
      return [{ part, text: this.#gone.has(part.call) ? MADE_ROOM : ended.text }]
    })
  }

  /** Calls whose results to leave out so that as many tokens become free: the oldest, and none of the last answers. */
  room(tokens: number): readonly string[] {
    const calls: string[] = []
    let left = tokens * CHARACTERS_OF_A_TOKEN
    for (const { call } of this.#answers.slice(0, -FRESH_ANSWERS).flatMap(callsOf)) {
      const { text = '' } = this.#ended.get(call) ?? {}
      if (left <= 0) break
      if (this.#gone.has(call) || text.length < WORTH) continue
      calls.push(call)
      left -= text.length
    }
    return calls
  }

  /** About how many tokens the next request has. */
  get size(): number {
    return tokensIn(this.#characters)
  }
}

/** Of all entries of a run. Throws where the first is not its beginning. */
export function conversationOf(entries: readonly Entry[]): Conversation {
  const [begun, ...others] = entries
  if (begun?.type !== 'begun') throw new Error('a run has no beginning')
  const conversation = new Conversation(begun)
  for (const entry of others) conversation.add(entry)
  return conversation
}

/** About how many tokens a text of so many characters has. */
export const tokensIn = (characters: number): number => Math.round(characters / CHARACTERS_OF_A_TOKEN)

const MADE_ROOM = 'This result made room for newer ones. Call the tool again if you need it.'

const NO_CALL = { id: '', tool: '' }

const callsOf = (answer: EntryOf<'answered'> | undefined): AskedCall[] =>
  (answer?.content ?? []).filter(part => part.type === 'call')

const user = (...texts: readonly string[]): LanguageModelV3Message => ({
  role: 'user',
  content: texts.map(text => ({ type: 'text', text })),
})

type AssistantContent = Extract<LanguageModelV3Message, { role: 'assistant' }>['content']

/** In a text syntax, the calls are in the text. */
function contentOf(content: readonly Part[], isText: boolean): AssistantContent {
  return content.flatMap((part): AssistantContent => {
    switch (part.type) {
      case 'text':
      case 'reasoning':
        return [part]
      case 'call': {
        const { id: toolCallId, tool: toolName, args, providerOptions } = part
        // A provider takes objects alone; what the model wrote instead is in the result.
        const input = isRecord(args) ? args : {}
        const options = providerOptions === undefined ? {} : { providerOptions }
        return isText ? [] : [{ type: 'tool-call', toolCallId, toolName, input, ...options }]
      }
      case 'bad':
        return []
      default:
        return part satisfies never
    }
  })
}
