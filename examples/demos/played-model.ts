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
  readonly content?: string | null
  readonly tool_call_id?: string
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string } }[]
}

/** A server on this machine that speaks as a local model's does, in the format of OpenAI; `answer` is the model. */
export async function openPlayedModel(answer: (given: Given) => Promise<Said> | Said): Promise<PlayedModel> {
  const server = createServer((request, response) => {
    void reply(request, response).catch(error => response.destroy(error))
  })

  async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.endsWith('/models')) return void response.end('{"data": [{"id": "played-model"}]}')
    const { messages } = JSON.parse(await readAll(request)) as { messages: readonly Message[] }
    const said = await answer(givenIn(messages))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(eventsOf(said, messages.length))
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
    question: messages.find(({ role }) => role === 'user')?.content ?? '',
    results: messages
      .filter(({ role }) => role === 'tool')
      .map(({ tool_call_id, content }) => ({ tool: toolOf(tool_call_id), text: content ?? '' })),
  }
}

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
