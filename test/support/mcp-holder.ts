import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

/**
 * An MCP client in a process of its own, which has code evaluated whose error suspends it, prints the answer, and stays
 * until it is killed.
 * Arguments: the code, and the command that is its server.
 */
const [expr = '', command = '', ...args] = process.argv.slice(2)
const client = new Client({ name: 'holder', version: '1.0.0' })
const env = process.env as Record<string, string>
await client.connect(new StdioClientTransport({ command, args, env, cwd: process.cwd() }))
const { content } = await client.callTool({ name: 'eval_expr', arguments: { expr, on_error: 'suspend' } })
console.log(JSON.stringify(content))
setInterval(() => undefined, 60_000)
