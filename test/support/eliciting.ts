import { type Duplex, duplexPair } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import * as v2 from '@modelcontextprotocol/client'
import * as v1 from '@modelcontextprotocol/sdk/client/index.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { type McpOptions, serveMcp } from '../../src/front/mcp.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { TOOLS } from '../../tools/index.ts'
import type { FileRig } from './file-rigs.ts'
import { ALONE, keptTexts } from './mcp-by-hand.ts'
import { putTool } from './memory-files.ts'

/** MCP clients that others wrote, with a person at a dialog, connected to the call path of a rig. */

/** What a client was asked to put before its person. */
export interface Dialog {
  readonly message: string
  readonly requestedSchema: {
    readonly properties: Readonly<Record<string, { readonly enum?: readonly string[] }>>
    readonly required?: readonly string[]
  }
  /** Aborts when the question is taken back. */
  readonly signal: AbortSignal
}

export interface Reply {
  readonly action: 'accept' | 'decline' | 'cancel'
  readonly content?: Readonly<Record<string, string>>
}

/** The person; one who throws is a client with a fault in it. */
export type Person = (dialog: Dialog) => Reply | Promise<Reply>

export const APPROVES: Reply = { action: 'accept', content: { decision: 'approve' } }

export const DENIES: Reply = { action: 'accept', content: { decision: 'deny', reason: 'not that file' } }

export interface Eliciting {
  readonly revision: string | undefined
  call(name: string, args: object): Promise<Said>
  close(): Promise<void>
}

export interface Said {
  readonly text: string
  readonly failed: boolean
}

export interface ElicitingKind {
  readonly name: string
  readonly revision: string
  readonly modern: boolean
  connect(transport: Transport, person: Person | undefined, name?: string): Promise<Eliciting>
}

export const ELICITING: readonly ElicitingKind[] = [
  {
    name: '@modelcontextprotocol/client 2.4.0, offering an old revision',
    revision: '2025-06-18',
    modern: false,
    connect: (...given) => connectV2(given, { supportedProtocolVersions: ['2025-06-18'] }),
  },
  {
    name: '@modelcontextprotocol/sdk 1.32.2',
    revision: '2025-11-25',
    modern: false,
    connect: connectV1,
  },
  {
    name: '@modelcontextprotocol/client 2.4.0, probing',
    revision: '2026-07-28',
    modern: true,
    connect: (...given) => connectV2(given, { versionNegotiation: { mode: 'auto' } }),
  },
]

type Given = Parameters<ElicitingKind['connect']>

async function connectV2(
  [transport, person, name = 'a-client']: Given,
  options: v2.ClientOptions,
): Promise<Eliciting> {
  const capabilities = person === undefined ? {} : { elicitation: { form: {} } }
  const client = new v2.Client({ name, version: '1.0.0' }, { ...options, capabilities })
  if (person !== undefined)
    client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq }) =>
      answered(await person({ ...(params as Omit<Dialog, 'signal'>), signal: mcpReq.signal })),
    )
  await client.connect(transport)
  return {
    revision: client.getNegotiatedProtocolVersion(),
    call: async (tool, args) => saidIn(await client.callTool({ name: tool, arguments: { ...args } })),
    close: () => client.close(),
  }
}

/** This one declares what the first revision with elicitation had: no mode. */
async function connectV1(...[transport, person, name = 'a-client']: Given): Promise<Eliciting> {
  const capabilities = person === undefined ? {} : { elicitation: {} }
  const client = new v1.Client({ name, version: '1.0.0' }, { capabilities })
  if (person !== undefined)
    client.setRequestHandler(ElicitRequestSchema, async ({ params }, { signal }) =>
      answered(await person({ ...(params as Omit<Dialog, 'signal'>), signal })),
    )
  let revision: string | undefined
  Object.assign(transport, {
    setProtocolVersion(agreed: string) {
      revision = agreed
    },
  })
  await client.connect(transport as Parameters<typeof client.connect>[0])
  return {
    revision,
    call: async (tool, args) => saidIn(await client.callTool({ name: tool, arguments: { ...args } })),
    close: () => client.close(),
  }
}

const answered = ({ action, content }: Reply) => ({
  action,
  ...(content !== undefined && { content: { ...content } }),
})

function saidIn(result: object): Said {
  const { content, isError } = result as { content?: { text?: string }[]; isError?: boolean }
  return { text: (content ?? []).map(({ text }) => text ?? '').join('\n'), failed: isError === true }
}

/** Serves MCP from the calls of a rig; the answer is the client's end of the stream. */
export function served(
  rig: FileRig,
  options: Partial<McpOptions> = {},
): { stream: Duplex; done: Promise<void> } {
  const [ours, theirs] = duplexPair()
  const done = serveMcp({
    transport: ours,
    session: { id: 'client-1', root: rig.root, env: {}, options: { profile: 'full' } },
    calls: rig.calls,
    registry: openRegistry([putTool, ...TOOLS]),
    texts: keptTexts,
    version: '9.8.7',
    log: { info: () => {} },
    ...ALONE,
    doubt: () => undefined,
    ...options,
  })
  return { stream: theirs, done }
}

/** One message a line, for a client that is given a stream. */
export function linesOver(stream: Duplex): Transport {
  let pending = ''
  const transport: Transport = {
    async start() {
      stream.setEncoding('utf8')
      stream.on('data', (text: string) => {
        const lines = `${pending}${text}`.split('\n')
        pending = lines.pop() ?? ''
        for (const line of lines) transport.onmessage?.(JSON.parse(line) as JSONRPCMessage)
      })
    },
    send: async message => void stream.write(`${JSON.stringify(message)}\n`),
    async close() {
      stream.end()
      transport.onclose?.()
    },
  }
  return transport
}
