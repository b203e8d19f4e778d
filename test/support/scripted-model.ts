import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readAll } from 'node:stream/consumers'

export type Api = 'anthropic' | 'openai'

/** What a model knows when it is asked: its answers are made of nothing else. */
export interface Told {
  readonly api: Api
  /** How many requests came before this one. */
  readonly before: number
  readonly system: string
  /** What a person said; in a text syntax the results are in it, too. */
  readonly user: readonly string[]
  /** What its calls came to, in order, as it reads them. */
  readonly results: readonly string[]
  readonly tools: readonly string[]
  /** The request as it came. */
  readonly body: Body
  readonly headers: IncomingMessage['headers']
}

/** What it answers. */
export interface Said {
  readonly text?: string
  readonly thinking?: string
  /** `args`: a text is sent as it is, whether it is JSON or not. */
  readonly calls?: readonly { readonly tool: string; readonly args: unknown }[]
  /** Why it ends, in the words of the format. */
  readonly finish?: string
  /** `uncounted`: the server reports none. */
  readonly tokens?: number | 'uncounted'
  /** Pieces of the arguments of two calls in turn, as servers send them that answer both at once. */
  readonly interleaved?: true
  /** The stream comes in pieces of so many bytes. */
  readonly pieces?: number
  /** The stream ends after so many bytes: as if that was all, or with a broken connection. */
  readonly cut?: { readonly bytes: number; readonly how: 'ends' | 'breaks' }
  /** Is sent instead of the stream. */
  readonly raw?: string
  /** Nothing is sent before. */
  readonly after?: Promise<unknown>
}

/** An answer that is none. */
export type Refused =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown }
  | 'reset'

export type Script = (told: Told) => Said | Refused

export interface ScriptedModel {
  /** For `[agent] url`. */
  readonly url: string
  readonly told: readonly Told[]
  /** Requests whose client has gone before they were answered. */
  readonly left: number
  /** Bytes of the last stream. */
  readonly bytes: number
  play(script: Script): void
  close(): Promise<void>
}

/** Messages as both formats have them, as far as they are read here. */
interface Body {
  readonly model?: string
  readonly system?: unknown
  readonly messages: readonly { readonly role: string; readonly content?: unknown }[]
  readonly tools?: readonly { readonly name?: string; readonly function?: { readonly name: string } }[]
  readonly tool_choice?: unknown
}

/** A server on this machine that speaks both formats as a model's provider does, and says what the script says. */
export async function openScriptedModel(script: Script = () => ({ text: 'Hello.' })): Promise<ScriptedModel> {
  let playing = script
  const told: Told[] = []
  const count = { left: 0, bytes: 0 }
  const server = createServer((request, response) => {
    void answer(request, response).catch(error => response.destroy(error))
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.endsWith('/models')) {
      response.end(JSON.stringify({ data: [{ id: 'listed-model' }] }))
      return
    }
    const api = request.url?.endsWith('/messages') ? 'anthropic' : 'openai'
    const body = JSON.parse(await readAll(request)) as Body
    told.push({ api, before: told.length, headers: request.headers, body, ...readBody(body) })
    response.once('close', () => {
      if (!response.writableEnded) count.left++
    })
    const said = playing(told.at(-1) as Told)
    if (said === 'reset') return void request.socket.resetAndDestroy()
    if ('status' in said) {
      response.writeHead(said.status, { 'content-type': 'application/json', ...said.headers })
      response.end(
        JSON.stringify(said.body ?? { error: { type: 'error', message: `status ${said.status}` } }),
      )
      return
    }
    await said.after
    const eventsOf = api === 'anthropic' ? anthropicEvents : openaiEvents
    const stream = Buffer.from(said.raw ?? eventsOf(said, told.length))
    count.bytes = stream.length
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.socket?.setNoDelay(true)
    const { cut, pieces = stream.length } = said
    const whole = stream.subarray(0, cut?.bytes ?? stream.length)
    for (let at = 0; at < whole.length && !response.destroyed; at += pieces) {
      response.write(whole.subarray(at, at + pieces))
      if (pieces < stream.length) await new Promise(resolve => setImmediate(resolve))
    }
    if (cut?.how === 'breaks') response.destroy()
    else response.end()
  }

  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    told,
    get left() {
      return count.left
    },
    get bytes() {
      return count.bytes
    },
    play(next) {
      playing = next
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

type Part = { readonly type?: string; readonly text?: string; readonly content?: unknown }

const partsOf = (content: unknown): readonly Part[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : Array.isArray(content) ? content : []

const textOf = (content: unknown): string =>
  partsOf(content)
    .map(({ text = '' }) => text)
    .join('')

function readBody({ system, messages, tools = [] }: Body) {
  const of = (role: string) => messages.filter(one => one.role === role).map(({ content }) => content)
  const user = of('user').flatMap(partsOf)
  const results = [
    ...user.filter(({ type }) => type === 'tool_result').map(({ content }) => textOf(content)),
    ...of('tool').map(textOf),
  ]
  const said = user.flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : []))
  return {
    system: textOf(system) + of('system').map(textOf).join(''),
    user: said,
    results: results.length > 0 ? results : said.slice(1),
    tools: tools.map(tool => tool.name ?? tool.function?.name ?? ''),
  }
}

const written = (args: unknown): string => (typeof args === 'string' ? args : JSON.stringify(args))

/** In three pieces, as a model writes it bit by bit. */
function bits(text: string): string[] {
  const third = Math.ceil(text.length / 3) || 1
  return [text.slice(0, third), text.slice(third, 2 * third), text.slice(2 * third)].filter(bit => bit !== '')
}

/** The bits of each call in order, or those of all calls in turn. */
function inOrder<Bit>(calls: readonly (readonly Bit[])[], interleaved?: true): Bit[] {
  if (!interleaved) return calls.flat()
  const most = Math.max(0, ...calls.map(({ length }) => length))
  return Array.from({ length: most }, (_, at) => calls.flatMap(call => call.slice(at, at + 1))).flat()
}

function openaiEvents(
  { text = '', thinking = '', calls = [], finish, tokens = 10, interleaved }: Said,
  request: number,
) {
  const chunk = (delta: unknown, rest: object = {}) =>
    `data: ${JSON.stringify({ id: `c${request}`, object: 'chat.completion.chunk', created: 1, model: 'scripted', choices: [{ index: 0, delta, finish_reason: null, ...rest }] })}\n\n`
  const call = ({ tool, args }: { tool: string; args: unknown }, index: number) => {
    const id = `call_${request}_${index}`
    const begun = { index, id, type: 'function', function: { name: tool, arguments: '' } }
    return [begun, ...bits(written(args)).map(bit => ({ index, function: { arguments: bit } }))].map(one =>
      chunk({ tool_calls: [one] }),
    )
  }
  const usage = { prompt_tokens: tokens, completion_tokens: tokens, total_tokens: 2 * Number(tokens) }
  return [
    chunk({ role: 'assistant', content: '' }),
    ...bits(thinking).map(bit => chunk({ reasoning_content: bit })),
    ...bits(text).map(bit => chunk({ content: bit })),
    ...inOrder(calls.map(call), interleaved),
    chunk({}, { finish_reason: finish ?? (calls.length > 0 ? 'tool_calls' : 'stop') }),
    tokens === 'uncounted'
      ? ''
      : `data: ${JSON.stringify({ id: `c${request}`, object: 'chat.completion.chunk', created: 1, model: 'scripted', choices: [], usage })}\n\n`,
    'data: [DONE]\n\n',
  ].join('')
}

function anthropicEvents(
  { text = '', thinking = '', calls = [], finish, tokens = 10, interleaved }: Said,
  request: number,
) {
  const event = (type: string, rest: object = {}) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
  const counted = tokens === 'uncounted' ? 0 : tokens
  let index = -1
  const block = (content_block: object, deltas: readonly object[]) => {
    index++
    const at = index
    return [
      event('content_block_start', { index: at, content_block }),
      ...deltas.map(delta => event('content_block_delta', { index: at, delta })),
      event('content_block_stop', { index: at }),
    ]
  }
  const call = ({ tool: name, args }: { tool: string; args: unknown }, at: number) =>
    block(
      { type: 'tool_use', id: `toolu_${request}_${at}`, name, input: {} },
      bits(written(args)).map(partial_json => ({ type: 'input_json_delta', partial_json })),
    )
  const message = { id: `m${request}`, type: 'message', role: 'assistant', model: 'scripted', content: [] }
  return [
    event('message_start', {
      message: {
        ...message,
        stop_reason: null,
        usage: { input_tokens: counted, output_tokens: Math.min(counted, 1) },
      },
    }),
    ...(thinking === ''
      ? []
      : block({ type: 'thinking', thinking: '', signature: '' }, [
          ...bits(thinking).map(bit => ({ type: 'thinking_delta', thinking: bit })),
          { type: 'signature_delta', signature: `signed-${request}` },
        ])),
    ...(text === ''
      ? []
      : block(
          { type: 'text', text: '' },
          bits(text).map(bit => ({ type: 'text_delta', text: bit })),
        )),
    ...inOrder(calls.map(call), interleaved),
    event('message_delta', {
      delta: { stop_reason: finish ?? (calls.length > 0 ? 'tool_use' : 'end_turn'), stop_sequence: null },
      usage: { output_tokens: counted },
    }),
    event('message_stop'),
  ].join('')
}
