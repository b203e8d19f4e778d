import type { ServerContext } from '@modelcontextprotocol/server'
import type { CallEvent } from '../core/call.ts'
import type { LineTransport } from './mcp-lines.ts'

interface Progress {
  readonly on: (event: CallEvent) => void
  /** Nothing is sent after this. */
  stop(): void
}

const LINE_CHARACTERS = 200

/**
 * Tells a client that asked for it how long a call has been running, and the last line that it printed: at most
 * once in a period, and not while the client is behind in reading. Without a `progressToken` nothing is sent.
 */
export function followProgress(o: {
  context: ServerContext
  lines: LineTransport
  periodMs: number
}): Progress {
  const progressToken = o.context.mcpReq._meta?.progressToken
  if (progressToken === undefined) return { on: () => {}, stop: () => {} }

  const started = performance.now()
  let printed = ''
  let state = ''
  const tell = () => {
    if (o.lines.closed || o.lines.behind) return
    const progress = (performance.now() - started) / 1_000
    const said = printed || state
    const message = said === '' ? `${Math.round(progress)} s` : `${Math.round(progress)} s: ${said}`
    o.context.mcpReq
      .notify({ method: 'notifications/progress', params: { progressToken, progress, message } })
      .catch(() => {}) // The connection ended under it, which its own handler sees.
  }
  const timer = setInterval(tell, o.periodMs)
  timer.unref()
  return {
    on: event => {
      if (event.type === 'output') printed = lastLine(event.text) || printed
      else if (event.type === 'progress') state = lastLine(event.message)
    },
    stop: () => clearInterval(timer),
  }
}

function lastLine(text: string): string {
  const line =
    text
      .slice(-4_096)
      .trimEnd()
      .split(/[\r\n]+/)
      .at(-1) ?? ''
  return line.replace(/\p{Cc}/gu, '').slice(0, LINE_CHARACTERS)
}
