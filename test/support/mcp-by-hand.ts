import { type Duplex, duplexPair } from 'node:stream'
import type { CallRequest, Calls } from '../../src/calls/contract.ts'
import { livingOf, type McpOptions, serveMcp } from '../../src/front/mcp.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { TOOLS } from '../../tools/index.ts'
import type { Envelope } from '../../tools/outcome.ts'
import { type Line, type LinePeer, linePeer } from './line-peer.ts'

/** MCP spoken by hand: exact lines to a server whose calls the test answers itself. */

export const LEGACY = ['2025-06-18', '2025-11-25'] as const

export const MODERN = '2026-07-28'

export const REVISIONS = [...LEGACY, MODERN] as const

export type Revision = (typeof REVISIONS)[number]

export const registry = openRegistry(TOOLS)

/** What lives, and how it is told that this has changed. */
type Lives = Partial<Pick<McpOptions, 'living' | 'follow'>>

/** One connection against calls that the test answers itself. */
export function connect({ run: given, ...o }: { run?: Calls['run']; options?: Line } & Lives = {}) {
  const requests: CallRequest[] = []
  const run = given ?? (async () => three)
  const calls: Pick<Calls, 'run'> = {
    run: request => {
      requests.push(request)
      return run(request)
    },
  }
  const [ours, theirs] = duplexPair()
  const served = serve(ours, { calls, ...o })
  return { peer: linePeer(theirs), requests, served, stream: theirs }
}

/** Long texts, kept in memory: `@txt.1` is the first. */
export const kept: string[] = []

export const keptTexts = { of: () => ({ keep: (text: string) => `@txt.${kept.push(text)}` }) }

/** A server beside which nothing lives, and whose client's yes counts for nothing. */
export const ALONE = {
  living: () => livingOf([]),
  displayed: () => undefined,
  doubt: () => 'nothing is known of the program that answers',
  mayCount: () => false,
  questionMs: 30 * 60_000,
}

/** Serves one byte stream; without calls of the test's own, whatever is asked comes to 3. */
export function serve(
  transport: Duplex,
  {
    calls = { run: async () => three },
    options = {},
    ...lives
  }: { calls?: Pick<Calls, 'run'>; options?: Line } & Lives = {},
): Promise<void> {
  return serveMcp({
    transport,
    session: { id: 'client-1', root: '/project', env: { LANG: 'C' }, options },
    calls,
    registry,
    texts: keptTexts,
    version: '9.8.7',
    log: { info: () => {} },
    progressMs: 5,
    ...ALONE,
    ...lives,
  })
}

/** What `1 + 2` came to. */
export const three: Envelope = {
  ok: true,
  result: {
    value_repr: '3',
    values: [
      {
        repr: { text: '3', truncated: false, original_len: 1 },
        type: { name: 'int', module: 'builtins', qualified: 'int' },
      },
    ],
    stdout: '',
    stderr: '',
    output: '',
    truncated: false,
    elapsed_ms: 1,
  },
}

/** Opens a connection as a client of that revision does; the new one needs no opening. */
export async function open(peer: LinePeer, revision: Revision): Promise<Line> {
  if (revision === MODERN) {
    peer.send(request(revision, { id: 'open', method: 'server/discover' }))
    return peer.answer('open')
  }
  peer.sendBytes(
    `{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"${revision}","capabilities":{},"clientInfo":{"name":"by hand","version":"1"}}}\n`,
  )
  const answer = await peer.answer('open')
  peer.sendBytes('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
  return answer
}

interface Asked {
  readonly id: string | number
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly meta?: Readonly<Record<string, unknown>>
}

/** With what each request of the new revision says of its client. */
export function request(revision: Revision, { id, method, params = {}, meta = {} }: Asked) {
  const envelope =
    revision === MODERN
      ? {
          'io.modelcontextprotocol/protocolVersion': MODERN,
          'io.modelcontextprotocol/clientInfo': { name: 'by hand', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        }
      : {}
  return { jsonrpc: '2.0', id, method, params: { ...params, _meta: { ...envelope, ...meta } } }
}

export function call(
  revision: Revision,
  o: { id: string | number; name?: string; args?: object; meta?: Line },
) {
  const params = { name: o.name ?? 'eval_expr', arguments: o.args ?? { expr: '1 + 2' } }
  return request(revision, { id: o.id, method: 'tools/call', params, ...(o.meta && { meta: o.meta }) })
}

export const resultOf = (line: Line) => line.result as Line & { content: { type: string; text: string }[] }

export const errorOf = (line: Line) => line.error as { code: number; message: string; data?: Line }

/** A promise, and the way to settle it. */
export function deferred<Value>(): { promise: Promise<Value>; resolve(value: Value): void } {
  let resolve: (value: Value) => void = () => {}
  const promise = new Promise<Value>(settle => {
    resolve = settle
  })
  return { promise, resolve }
}
