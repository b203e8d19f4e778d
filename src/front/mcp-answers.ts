import type { CallToolResult } from '@modelcontextprotocol/server'
import type { Tool } from '../../tools/define.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { showEnvelope } from '../../tools/show.ts'

/**
 * The longest reply, in bytes of UTF-8. Clients cut or refuse replies at 25,000 tokens; dense text such as base64
 * costs about a token for every one and a half bytes, and even that stays below here.
 */
export const REPLY_BYTES = 32_000

/** What a client is told of a call: one block of text, and the envelope as data where that was opted in. */
export function answerOf(o: { tool: Tool; envelope: Envelope; structured: boolean }): CallToolResult {
  const { tool, envelope, structured } = o
  return {
    content: [{ type: 'text', text: cut(textOf(envelope, tool)) }],
    ...(envelope.ok ? {} : { isError: true }),
    ...(structured ? { structuredContent: { ...envelope } } : {}),
  }
}

/** A result that its tool cannot put into words is shown as data: it has been come by, and is not lost. */
function textOf(envelope: Envelope, tool: Tool): string {
  try {
    return showEnvelope(envelope, tool)
  } catch {
    return JSON.stringify(envelope, null, 2)
  }
}

/** The output schema where structured results were opted in: the envelope in which every tool answers. */
export const ENVELOPE_SCHEMA = {
  type: 'object' as const,
  properties: {
    ok: { type: 'boolean', description: 'Whether the call did what was asked.' },
    result: { description: 'What came of it; present when ok is true.' },
    error: {
      type: 'object',
      description: 'Why not; present when ok is false.',
      properties: {
        code: { type: 'string' },
        message: { type: 'string' },
        details: { type: 'object' },
        retryable: { type: 'boolean', description: 'Whether the same call can succeed later, unchanged.' },
        next: { type: ['string', 'null'], description: 'What to do now.' },
      },
      required: ['code', 'message', 'details', 'retryable', 'next'],
    },
  },
  required: ['ok'],
}

function cut(text: string): string {
  const bytes = Buffer.byteLength(text)
  if (bytes <= REPLY_BYTES) return text
  const note = `\n\n[The reply was cut here: ${bytes} bytes are more than the ${REPLY_BYTES} that fit. Ask for less, or for a part.]`
  // Decoding puts a mark where the cut fell inside a character; it is left out.
  const kept = Buffer.from(text)
    .subarray(0, REPLY_BYTES - Buffer.byteLength(note))
    .toString('utf8')
  return `${kept.replace(/\uFFFD+$/, '')}${note}`
}
