import {
  APICallError,
  type LanguageModelV3,
  type LanguageModelV3CallOptions,
  type SharedV3ProviderMetadata,
} from '@ai-sdk/provider'
import type { Clock } from '../clock.ts'
import type { Part } from './entries.ts'
import { reasonOf } from './providers.ts'

/** What a model answered to one request. A call has no name at the daemon yet. */
export interface Answer {
  readonly type: 'answer'
  readonly content: readonly AnswerPart[]
  /** As the provider says: `stop`, `length`, `tool-calls`, `content-filter`, … */
  readonly finish: string
  /** Undefined where the server counts none. */
  readonly tokens: { readonly input: number | undefined; readonly output: number | undefined }
}

type WithoutName<One> = One extends { call: string } ? Omit<One, 'call'> : One
export type AnswerPart = WithoutName<Part>

export interface NoAnswer {
  readonly type: 'failed' | 'cancelled'
  /** A clause. */
  readonly why: string
}

interface Asking {
  readonly model: LanguageModelV3
  readonly request: LanguageModelV3CallOptions
  readonly signal: AbortSignal
  readonly clock: Clock
  /** It is asked again, after so many milliseconds. */
  again(why: string, afterMs: number): void
}

/** How often a request is made that fails for a reason that may pass. */
const ATTEMPTS = 6

const FIRST_WAIT_MS = 1_000

/** A server that wants a longer pause is not waited for. */
const LONGEST_WAIT_MS = 120_000

/**
 * Asks the model once, and again where a server is busy or a stream breaks: after what its `retry-after` says, or else
 * after 1, 2, 4, … seconds. An answer is whole, or none. Never rejects.
 */
export async function answerOf({ model, request, signal, clock, again }: Asking): Promise<Answer | NoAnswer> {
  for (let attempt = 1; ; attempt++) {
    try {
      const { stream } = await model.doStream({ ...request, abortSignal: signal })
      return await read(stream)
    } catch (error) {
      if (signal.aborted) return { type: 'cancelled', why: 'it was cancelled' }
      const wait = waitBefore(error, attempt)
      if (wait === undefined) return { type: 'failed', why: reasonOf(error) }
      again(reasonOf(error), wait)
      await pause(wait, { signal, clock })
    }
  }
}

/** A stream that ends before its end was told. */
class Broken extends Error {
  override readonly name = 'Broken'
}

/** How long to wait, in milliseconds; undefined where asking again would not help. */
function waitBefore(error: unknown, attempt: number): number | undefined {
  if (attempt >= ATTEMPTS) return undefined
  const usual = FIRST_WAIT_MS * 2 ** (attempt - 1)
  if (!APICallError.isInstance(error)) return error instanceof Error ? usual : undefined
  // A key that no header can carry: the request is never sent.
  if (!error.isRetryable || Reflect.get(Object(error.cause), 'code') === 'UND_ERR_INVALID_ARG')
    return undefined
  const wait = retryAfter(error.responseHeaders ?? {}) ?? usual
  return wait > LONGEST_WAIT_MS ? undefined : wait
}

/** In milliseconds. https://www.rfc-editor.org/rfc/rfc9110#field.retry-after: seconds, or a date. */
function retryAfter(headers: Readonly<Record<string, string>>): number | undefined {
  const exact = Number(headers['retry-after-ms'])
  if (headers['retry-after-ms'] !== undefined && exact >= 0) return exact
  const text = headers['retry-after']
  if (text === undefined) return undefined
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}

function pause(ms: number, { signal, clock }: Pick<Asking, 'signal' | 'clock'>): Promise<void> {
  return new Promise(resolve => {
    const takeBack = clock.after(ms, end)
    function end() {
      takeBack()
      signal.removeEventListener('abort', end)
      resolve()
    }
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}

type Stream = Awaited<ReturnType<LanguageModelV3['doStream']>>['stream']

async function read(stream: Stream): Promise<Answer> {
  const content: AnswerPart[] = []
  const open = new Map<string, { type: 'text' | 'reasoning'; text: string; providerOptions?: Options }>()
  for await (const part of stream) {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start': {
        const begun = { type: part.type === 'text-start' ? 'text' : 'reasoning', text: '' } as const
        open.set(part.id, { ...begun, ...optionsOf(part) })
        content.push(open.get(part.id) as AnswerPart)
        break
      }
      case 'text-delta':
      case 'reasoning-delta':
      case 'text-end':
      case 'reasoning-end': {
        const begun = open.get(part.id)
        if (begun !== undefined) {
          if ('delta' in part) begun.text += part.delta
          Object.assign(begun, optionsOf(part))
        }
        break
      }
      case 'tool-call': {
        const { toolCallId: id, toolName: tool, input } = part
        content.push({ type: 'call', id, tool, args: jsonOf(input), ...optionsOf(part) })
        break
      }
      case 'error':
        throw part.error instanceof Error ? part.error : new Broken(textOf(part.error))
      case 'finish': {
        const { inputTokens, outputTokens } = part.usage
        const tokens = { input: inputTokens.total || undefined, output: outputTokens.total || undefined }
        // What broke off ends with `other`, and the server has given no reason.
        if (part.finishReason.unified === 'other' && part.finishReason.raw === undefined)
          throw new Broken('the answer broke off')
        return { type: 'answer', content: content.filter(isWorth), finish: part.finishReason.unified, tokens }
      }
    }
  }
  throw new Broken('the answer broke off')
}

type Options = SharedV3ProviderMetadata

const optionsOf = ({ providerMetadata }: { providerMetadata?: Options }): { providerOptions?: Options } =>
  providerMetadata === undefined ? {} : { providerOptions: providerMetadata }

/** A provider refuses texts of nothing but blanks. */
const isWorth = (part: AnswerPart): boolean =>
  part.type === 'call' ||
  part.type === 'bad' ||
  part.text.trim() !== '' ||
  (part.type === 'reasoning' && part.providerOptions !== undefined)

/** What a model wrote as arguments; where it is no JSON, the text itself, which the call refuses. */
function jsonOf(text: string) {
  try {
    return JSON.parse(text === '' ? '{}' : text)
  } catch {
    return text
  }
}

const textOf = (error: unknown): string =>
  (typeof error === 'string' ? error : (JSON.stringify(error) ?? String(error))).slice(0, 500)
