import { spawn } from 'node:child_process'
import { Readable, Writable } from 'node:stream'
import { agent, methods, ndJsonStream } from '@agentclientprotocol/sdk'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

/**
 * An ACP agent without a model: it does what a prompt says as JSON, in the order of `update`, `permission` and `call`, and
 * says what came of it. With the argument `stays` it heeds neither the end of its input nor SIGTERM, and has a child.
 */
const { session } = methods.agent
const opened = new Map()
let count = 0

const open = ({ params }) => {
  const sessionId = params.sessionId ?? `session-${++count}`
  opened.set(sessionId, params)
  return { sessionId }
}

/** By the server that the session was given. */
async function called({ mcpServers, cwd }, { name, args }) {
  const { command, args: words, env } = mcpServers.find(one => one.name === 'imago')
  const client = new Client({ name: 'an-agent', version: '1.0.0' })
  const variables = Object.fromEntries(env.map(one => [one.name, one.value]))
  await client.connect(new StdioClientTransport({ command, args: words, env: variables, cwd }))
  const { content } = await client.callTool({ name, arguments: args })
  await client.close()
  return content[0].text
}

async function prompted({ params: { sessionId, prompt }, client }) {
  const { update, permission, call, exit } = JSON.parse(prompt[0].text)
  if (exit !== undefined) process.exit(exit)
  const { cwd, mcpServers } = opened.get(sessionId)
  const said = { mcpServers }
  const tell = one => client.notify(methods.client.session.update, { sessionId, update: one })
  if (update) await tell(update)
  if (permission)
    said.outcome = (
      await client.request(methods.client.session.requestPermission, { sessionId, ...permission })
    ).outcome
  if (call) said.result = await called({ mcpServers, cwd }, call)
  const text = JSON.stringify(said)
  await tell({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
  return { stopReason: 'end_turn' }
}

const connection = agent({ name: 'a-test-agent' })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: 1,
    agentCapabilities: { loadSession: true, sessionCapabilities: { resume: {} } },
  }))
  .onRequest(session.new, open)
  .onRequest(session.load, open)
  .onRequest(session.resume, open)
  .onRequest(session.prompt, prompted)
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)))

if (process.argv.includes('stays')) {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  process.on('SIGTERM', () => {})
  process.stderr.write(`pids ${process.pid} ${child.pid}\n`)
  setInterval(() => {}, 1_000)
} else {
  await connection.closed
  process.exit(0)
}
