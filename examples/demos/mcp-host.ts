import { createInterface } from 'node:readline'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

/**
 * The program of a model, with an MCP client in it: a process of its own, for whoever is started by such a program may
 * not approve. Its arguments are the command that is its server. Calls come as lines of JSON, `{tool, args}`, and what
 * the model is shown goes back as such lines, `{text, failed}`.
 */
const [command = '', ...args] = process.argv.slice(2)
const client = new Client({ name: 'imago-demo', version: '1.0.0' })
const env = process.env as Record<string, string>
await client.connect(new StdioClientTransport({ command, args, env, cwd: process.cwd() }))
for await (const line of createInterface({ input: process.stdin })) {
  const call = JSON.parse(line) as { tool: string; args: Record<string, unknown> }
  const { content, isError } = await client.callTool({ name: call.tool, arguments: call.args })
  const text = content.map(block => (block.type === 'text' ? block.text : '')).join('\n')
  process.stdout.write(`${JSON.stringify({ text, failed: isError === true })}\n`)
}
await client.close()
