import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readAll } from 'node:stream/consumers'

/** All that a model is given: its answers are made of nothing else. */
export interface Given {
  readonly question: string
  /** The answers to its calls, oldest first. */
  readonly results: readonly { readonly tool: string; readonly text: string }[]
}

/** What it answers: words, and calls where it needs to know more. */
export interface Said {
  readonly text: string
  readonly calls?: readonly { readonly tool: string; readonly args: object }[]
}

export interface PlayedModel {
  /** For `[agent] url`. */
  readonly url: string
  close(): Promise<void>
}

interface Message {
  readonly role: string
  readonly content?: string | null | readonly Part[]
  readonly tool_call_id?: string
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string } }[]
}

/** Of a message in the format of Anthropic. */
interface Part {
  readonly type: string
  readonly text?: string
  readonly id?: string
  readonly name?: string
  readonly tool_use_id?: string
  readonly content?: unknown
}

/** A server on this machine that speaks as models' do, in the formats of OpenAI and Anthropic; `answer` is the model. */
export async function openPlayedModel(answer: (given: Given) => Promise<Said> | Said): Promise<PlayedModel> {
  const server = createServer((request, response) => {
    void reply(request, response).catch(error => response.destroy(error))
  })

  async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.endsWith('/models')) return void response.end('{"data": [{"id": "played-model"}]}')
    const isAnthropic = /\/messages\b/.test(request.url ?? '')
    if (!isAnthropic && request.method !== 'POST') return void response.end()
    const { messages } = JSON.parse(await readAll(request)) as { messages: readonly Message[] }
    const said = await answer(isAnthropic ? givenInParts(messages) : givenIn(messages))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end((isAnthropic ? anthropicEvents : eventsOf)(said, messages.length))
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function givenIn(messages: readonly Message[]): Given {
  const asked = messages.flatMap(({ tool_calls = [] }) => tool_calls)
  const toolOf = (id?: string) => asked.find(call => call.id === id)?.function.name ?? ''
  return {
    question: textOf(messages.find(({ role }) => role === 'user')?.content),
    results: messages
      .filter(({ role }) => role === 'tool')
      .map(({ tool_call_id, content }) => ({ tool: toolOf(tool_call_id), text: textOf(content) })),
  }
}

function givenInParts(messages: readonly Message[]): Given {
  const parts = messages.flatMap(({ content }) =>
    Array.isArray(content) ? (content as readonly Part[]) : [],
  )
  const toolOf = (id?: string) => parts.find(part => part.type === 'tool_use' && part.id === id)?.name ?? ''
  return {
    question: textOf(messages.find(({ role }) => role === 'user')?.content),
    results: parts
      .filter(({ type }) => type === 'tool_result')
      .map(({ tool_use_id, content }) => ({ tool: toolOf(tool_use_id), text: textOf(content) })),
  }
}

const textOf = (content: unknown): string =>
  Array.isArray(content) ? content.map(({ text = '' }: Part) => text).join('\n') : String(content ?? '')

function eventsOf({ text, calls = [] }: Said, request: number): string {
  const tool_calls = calls.map(({ tool, args }, index) => ({
    index,
    id: `call_${request}_${index}`,
    type: 'function',
    function: { name: tool, arguments: JSON.stringify(args) },
  }))
  const event = (delta: object, finish_reason: string | null) =>
    `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  const said = event({ role: 'assistant', content: text, ...(calls.length > 0 && { tool_calls }) }, null)
  return `${said}${event({}, calls.length > 0 ? 'tool_calls' : 'stop')}data: [DONE]\n\n`
}

function anthropicEvents({ text, calls = [] }: Said, request: number): string {
  const event = (type: string, rest: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
  const block = (index: number, content_block: object, delta: object) =>
    event('content_block_start', { index, content_block }) +
    event('content_block_delta', { index, delta }) +
    event('content_block_stop', { index })
  const message = { id: `message_${request}`, type: 'message', role: 'assistant', model: 'played-model' }
  const usage = { input_tokens: 1, output_tokens: 1 }
  return [
    event('message_start', { message: { ...message, content: [], stop_reason: null, usage } }),
    block(0, { type: 'text', text: '' }, { type: 'text_delta', text }),
    ...calls.map(({ tool: name, args }, at) =>
      block(
        at + 1,
        { type: 'tool_use', id: `toolu_${request}_${at}`, name, input: {} },
        { type: 'input_json_delta', partial_json: JSON.stringify(args) },
      ),
    ),
    event('message_delta', { delta: { stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn' }, usage }),
    event('message_stop', {}),
  ].join('')
}
