import * as v2 from '@modelcontextprotocol/client'
import * as v2stdio from '@modelcontextprotocol/client/stdio'
import * as v1 from '@modelcontextprotocol/sdk/client/index.js'
import * as v1stdio from '@modelcontextprotocol/sdk/client/stdio.js'
import type { Place } from './bridge-process.ts'

/** MCP clients that others wrote, each behind the same few words. */
export interface ForeignClient {
  /** The revision of the protocol that was agreed on. */
  readonly revision: string | undefined
  readonly instructions: string | undefined
  tools(): Promise<readonly string[]>
  call(name: string, args: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<Answer>
  /** What the client found wrong with the stream; nothing, where all was well. */
  readonly faults: readonly Error[]
  close(): Promise<void>
}

export interface CallOptions {
  readonly signal?: AbortSignal
  onprogress?(news: { progress: number; message?: string | undefined }): void
}

export interface Answer {
  readonly text: readonly string[]
  readonly failed: boolean
  readonly structured: unknown
}

export interface ForeignKind {
  readonly name: string
  readonly revision: string
  connect(place: Place, ...args: string[]): Promise<ForeignClient>
}

const INFO = { name: 'imago-test', version: '1.0.0' }

export const CLIENTS: readonly ForeignKind[] = [
  {
    name: '@modelcontextprotocol/client 2.4.0, offering an old revision',
    revision: '2025-06-18',
    connect: (place, ...args) => connectV2(place, args, { supportedProtocolVersions: ['2025-06-18'] }),
  },
  {
    name: '@modelcontextprotocol/sdk 1.32.2',
    revision: '2025-11-25',
    connect: (place, ...args) => connectV1(place, args),
  },
  {
    name: '@modelcontextprotocol/client 2.4.0, probing',
    revision: '2026-07-28',
    connect: (place, ...args) => connectV2(place, args, { versionNegotiation: { mode: 'auto' } }),
  },
]

async function connectV2(
  place: Place,
  args: readonly string[],
  options: v2.ClientOptions,
): Promise<ForeignClient> {
  const client = new v2.Client(INFO, options)
  const faults: Error[] = []
  client.onerror = error => faults.push(error)
  await client.connect(new v2stdio.StdioClientTransport(started(place, args)))
  return {
    revision: client.getNegotiatedProtocolVersion(),
    instructions: client.getInstructions(),
    faults,
    tools: async () => (await client.listTools()).tools.map(tool => tool.name),
    call: async (name, given, { signal, onprogress } = {}) =>
      answerOf(
        await client.callTool(
          { name, arguments: given },
          { ...(signal && { signal }), ...(onprogress && { onprogress }) },
        ),
      ),
    close: () => client.close(),
  }
}

async function connectV1(place: Place, args: readonly string[]): Promise<ForeignClient> {
  const client = new v1.Client(INFO)
  const faults: Error[] = []
  client.onerror = error => faults.push(error)
  const transport = new v1stdio.StdioClientTransport(started(place, args))
  let revision: string | undefined
  // Only a transport of this client is told what was agreed on.
  Object.assign(transport, {
    setProtocolVersion(agreed: string) {
      revision = agreed
    },
  })
  await client.connect(transport)
  return {
    revision,
    instructions: client.getInstructions(),
    faults,
    tools: async () => (await client.listTools()).tools.map(tool => tool.name),
    call: async (name, given, { signal, onprogress } = {}) =>
      answerOf(
        await client.callTool({ name, arguments: given }, undefined, {
          ...(signal && { signal }),
          ...(onprogress && { onprogress }),
        }),
      ),
    close: () => client.close(),
  }
}

function started(place: Place, args: readonly string[]) {
  return { command: place.command, args: place.args(...args), env: { ...place.env }, cwd: place.project }
}

function answerOf(result: object): Answer {
  const { content, isError, structuredContent } = result as Readonly<Record<string, unknown>>
  const blocks = (content ?? []) as readonly { type: string; text?: string }[]
  return {
    text: blocks.map(block => block.text ?? block.type),
    failed: isError === true,
    structured: structuredContent,
  }
}
