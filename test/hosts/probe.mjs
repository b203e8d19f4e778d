import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { answerOf, PROBE_TOOLS } from './answers.ts'

/**
 * An MCP server whose answers are of each kind that hosts treat in their own way, so that what a host forwards of them
 * can be captured. It writes down how the host introduced itself to the file in its arguments. Afterwards `grow` there is
 * one tool more, and the host is told so.
 */
const [noted] = process.argv.slice(2)

const tool = name => ({
  name,
  description: `Answers with ${name}.`,
  inputSchema: {
    type: 'object',
    properties: { lines: { type: 'integer' }, kind: { type: 'string' }, size: { type: 'integer' } },
  },
  annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
})

let isGrown = false
const names = () => PROBE_TOOLS.filter(name => isGrown || name !== 'grown')
const send = message => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

const METHODS = {
  initialize: introduced => {
    appendFileSync(noted, `${JSON.stringify(introduced)}\n`)
    return {
      protocolVersion: introduced.protocolVersion,
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'probe', version: '1' },
    }
  },
  'tools/list': () => ({ tools: names().map(tool) }),
  'tools/call': ({ name, arguments: args = {} }) => {
    if (name === 'grow') {
      isGrown = true
      send({ method: 'notifications/tools/list_changed' })
    }
    return answerOf(name, args)
  },
  ping: () => ({}),
}

for await (const message of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(message)
  if (id === undefined) continue
  const answer = METHODS[method]
  if (answer === undefined) send({ id, error: { code: -32601, message: `There is no ${method}.` } })
  else send({ id, result: answer(params ?? {}) })
}
