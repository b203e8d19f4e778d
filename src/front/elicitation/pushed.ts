import { SdkError, SdkErrorCode, type ServerContext } from '@modelcontextprotocol/server'
import type { Signal } from '../../../wire/signal.ts'
import type { ClientAnswer, ClientAsker, ShownPlan } from '../../core/approvals.ts'
import { answerFrom, failedWith, questionOf } from './question.ts'

/** The longest that a timer of Node can wait, in milliseconds. */
const LONGEST_MS = 2 ** 31 - 1

export interface PushedOptions {
  /** Of the request whose plan is asked about. */
  readonly context: ServerContext
  readonly who: string
  doubt(): string | undefined
  /** How long an answer is waited for, in milliseconds; past that it is silence. */
  readonly questionMs: number
}

/**
 * Asks as the revisions of 2025 do: with a request of the server's own, sent while the call waits. Taking the question
 * back cancels that request, so that the client closes its dialog.
 */
export function pushedAsker({ context, who, doubt, questionMs }: PushedOptions): ClientAsker {
  return {
    who,
    doubt,
    async ask(plan: ShownPlan, signal: Signal): Promise<ClientAnswer> {
      const question = questionOf(plan)
      const takenBack = new AbortController()
      const takeBack = () => takenBack.abort('it needs no answer any more')
      if (signal.aborted) return TAKEN_BACK
      signal.addEventListener('abort', takeBack, { once: true })
      try {
        const answer = await context.mcpReq.send(
          { method: 'elicitation/create', params: question.params },
          { signal: takenBack.signal, timeout: Math.min(questionMs, LONGEST_MS) },
        )
        return answerFrom(answer, question)
      } catch (error) {
        return takenBack.signal.aborted ? TAKEN_BACK : noAnswer(error)
      } finally {
        signal.removeEventListener('abort', takeBack)
      }
    },
  }
}

const TAKEN_BACK: ClientAnswer = { type: 'no', how: 'cancelled', reason: null }

/** What the client says in its error is its own text, and is left out: the journal has what it was. */
function noAnswer(error: unknown): ClientAnswer {
  if (!(error instanceof SdkError)) return failedWith(`it answered with an error${codeOf(error)}`)
  switch (error.code) {
    case SdkErrorCode.RequestTimeout:
      return { type: 'no', how: 'silent', reason: null }
    case SdkErrorCode.ConnectionClosed:
    case SdkErrorCode.NotConnected:
      return failedWith('it went away before it answered')
    default:
      return failedWith('it answered with something that is no answer to a form')
  }
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'number' ? ` (${code})` : ''
}
