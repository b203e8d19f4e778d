import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import * as v2 from '@modelcontextprotocol/client'
import * as v2stdio from '@modelcontextprotocol/client/stdio'
import * as v1 from '@modelcontextprotocol/sdk/client/index.js'
import * as v1stdio from '@modelcontextprotocol/sdk/client/stdio.js'
import { openRegistry } from '../../src/registry/registry.ts'
import { TOOLS } from '../../tools/index.ts'
import { makePlace } from '../support/bridge-process.ts'
import { assert, suite } from '../support/harness.ts'
import { venvPython } from '../support/runtimes.ts'

/** Sessions of MCP clients that others wrote. What each revision says to the byte is in mcp.test.ts. */
const test = suite('mcp clients', { limitMs: 120_000 })
const place = makePlace()
test.after(() => place.clear())

const LIVE = openRegistry(TOOLS)
  .list('live')
  .map(({ name }) => name)
  // It is a Lisp's alone, and none lives here.
  .filter(name => name !== 'compile_form')
/** News of it come once in a second. */
const slow = (seconds: number) => `import time
for step in range(${20 * seconds}):
    print('step', step, flush=True)
    time.sleep(0.05)
'slept'`
const ENDLESS = `import time
print('begun', flush=True)
while True:
    time.sleep(0.02)`

interface CallOptions {
  readonly signal?: AbortSignal
  onprogress?(news: { progress: number; message?: string | undefined }): void
}

/** A client behind the few words that both have. */
interface Foreign {
  readonly revision: string | undefined
  readonly client: v1.Client | v2.Client
  /** What the client found wrong with the stream; nothing, where all was well. */
  readonly faults: readonly Error[]
  callTool(name: string, args: Record<string, unknown>, options: CallOptions): Promise<object>
}

const INFO = { name: 'imago-test', version: '1.0.0' }

const CLIENTS: readonly (readonly [name: string, revision: string, open: () => Promise<Foreign>])[] = [
  ['@modelcontextprotocol/sdk 1.32.2', '2025-11-25', openV1],
  ['@modelcontextprotocol/client 2.4.0', '2026-07-28', openV2],
]

async function openV2(): Promise<Foreign> {
  const client = new v2.Client(INFO, { versionNegotiation: { mode: 'auto' } })
  const faults = faultsOf(client)
  await client.connect(new v2stdio.StdioClientTransport(server()))
  return {
    revision: client.getNegotiatedProtocolVersion(),
    client,
    faults,
    callTool: (name, args, options) => client.callTool({ name, arguments: args }, options),
  }
}

async function openV1(): Promise<Foreign> {
  const client = new v1.Client(INFO)
  const faults = faultsOf(client)
  const transport = new v1stdio.StdioClientTransport(server())
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
    client,
    faults,
    callTool: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
  }
}

const server = () => ({
  command: place.command,
  args: place.args('--structured'),
  env: { ...place.env },
  cwd: place.project,
})

function faultsOf(client: { onerror?: (error: Error) => void }): Error[] {
  const faults: Error[] = []
  client.onerror = error => faults.push(error)
  return faults
}

/** The one block of text of an answer, and the envelope, which the client has held against the schema. */
async function called(
  { callTool }: Foreign,
  name: string,
  args: Record<string, unknown>,
  options: CallOptions = {},
) {
  const result = (await callTool(name, args, options)) as Readonly<Record<string, unknown>>
  const [block, ...more] = result.content as readonly { text: string }[]
  assert.equal(more, [])
  return {
    text: block?.text ?? '',
    failed: result.isError === true,
    envelope: result.structuredContent as { ok: boolean; error?: { code: string } },
  }
}

for (const [name, revision, open] of CLIENTS)
  test(`${name}: a session of ${revision}, in which a call fails, one is followed and one is cancelled`, async () => {
    const foreign = await open()
    const { client, faults } = foreign
    const run = (expr: string, options?: CallOptions) => called(foreign, 'eval_expr', { expr }, options)
    try {
      assert.is(foreign.revision, revision)
      assert.match(client.getInstructions() ?? '', /inspect/)
      const { tools } = await client.listTools()
      assert.equal(
        tools.map(tool => tool.name),
        LIVE,
      )
      await run("def greet(name):\n    return 'hello ' + name")
      assert.match((await run('print("said"); greet("you")')).text, /^'hello you'.*said/s)
      assert.match((await called(foreign, 'inspect', { expr: 'greet' })).text, /return 'hello ' \+ name/)
      const promised = await called(foreign, 'inspect', { expr: 'greet("you")' })
      assert.match(promised.text, /^needs_evaluation: .*eval_expr/s)
      const raised = await run('1 / 0')
      assert.match(raised.text, /^exception: ZeroDivisionError/)
      assert.equal([promised.failed, raised.failed, raised.envelope.error?.code], [true, true, 'exception'])

      const handle = /read_more (@[\w.]+)/.exec((await run("'x' * 100_000")).text)?.[1]
      assert.match((await called(foreign, 'read_more', { handle })).text, /xxxx/)
      const unknown = await called(foreign, 'eval_exp', { expr: '1' }).catch(error => error)
      assert.match(String(unknown), /Unknown tool: eval_exp\. Did you mean eval_expr\?/)

      const news: string[] = []
      const slept = await run(slow(1.5), { onprogress: ({ message }) => news.push(message ?? '') })
      assert.match(slept.text, /^'slept'/)
      assert.ok(news.some(message => /: step \d+$/.test(message)))
      const cancel = new AbortController()
      const stopped = run(ENDLESS, {
        signal: cancel.signal,
        onprogress: ({ message }) => message?.endsWith('begun') && cancel.abort(),
      })
      assert.is(await stopped.catch(() => 'given up'), 'given up')
      assert.is((await run('6 * 7')).text, '42')
      assert.equal(faults, [])
    } finally {
      await client.close()
    }
  })

test('a call whose client goes away is found as a job by the next one (fault 32)', async () => {
  const leaving = await openV2()
  await new Promise<void>(resolve => {
    const onprogress = ({ message = '' }: { message?: string | undefined }) => {
      if (message.includes('step')) resolve()
    }
    // It is still at work when the last second is over in which it would be answered.
    called(leaving, 'eval_expr', { expr: slow(4) }, { onprogress }).catch(() => {})
  })
  await leaving.client.close()

  const next = await openV2()
  try {
    const known = (await called(next, 'job', { job: 'which' })).text
    const job = /job-\d+/.exec(known.slice(known.lastIndexOf('job-')))?.[0] ?? 'none is known'
    assert.match((await called(next, 'job', { job, action: 'wait' })).text, /^'slept'/)
  } finally {
    await next.client.close()
  }
})

test('the Python package mcp 2.3.0: a session', async () => {
  const script = join(import.meta.dirname, '../support/mcp_session.py')
  const child = spawn(venvPython, [script, place.command, ...place.args()], {
    cwd: place.project,
    env: place.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, problems] = await Promise.all([text(child.stdout), text(child.stderr)])
  assert.ok(out !== '', problems)
  const report = JSON.parse(out)
  assert.is(report.version, '2026-07-28')
  assert.match(report.instructions, /inspect/)
  assert.equal(report.tools, LIVE)
  assert.match(report.inspect.text[0], /def greet/)
  assert.equal([report.error.failed, report.error.text.length], [true, 1])
  assert.match(report.error.text[0], /^exception: ZeroDivisionError/)
  assert.is(report.unknown.code, -32602)
  assert.match(report.progress.text, /^'slept'/)
  assert.ok(report.progress.news.some(([, message]: [number, string]) => /: step \d+$/.test(message)))
  assert.equal(report.after_cancel, { text: ['42'], failed: false })
})
