import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

/**
 * The host of a model in a process of its own: asks once whether it may do something, prints which tools it has and what
 * it is answered, and ends. Arguments: the call as JSON, and the command that is its server.
 */
const [asked = '{}', command = '', ...args] = process.argv.slice(2)
const client = new Client({ name: 'claude-code', version: '2.1.0' })
const env = process.env
await client.connect(new StdioClientTransport({ command, args, env, cwd: process.cwd() }))
const { tools } = await client.listTools()
const { content } = await client.callTool({ name: 'permission_prompt', arguments: JSON.parse(asked) })
console.log(JSON.stringify({ tools: tools.map(({ name }) => name), content }))
await client.close()
