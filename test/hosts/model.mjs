import { createServer } from 'node:http'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'

/**
 * A model that thinks nothing: it makes the calls that it is given, one a turn, and then says that it is done. It answers
 * as Anthropic's Messages, OpenAI's Responses and Gemini's generateContent. `requests` is what the host sent, which is
 * what a model would have been shown.
 */
export async function openModel({ server, calls, search }) {
  const requests = []
  let made = 0
  const next = tools =>
    tools.length > 0 && made < calls.length ? { ...calls[made], number: made++ } : undefined
  const listener = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', data => {
      text += data
    })
    request.on('end', () => {
      const body = text.startsWith('{') ? JSON.parse(text) : {}
      const provider = PROVIDERS.find(({ path }) => path.test(request.url ?? ''))
      if (provider === undefined) return void response.writeHead(200, JSON_TYPE).end('{}')
      requests.push(body)
      provider.answer({
        body,
        response,
        server,
        search,
        next,
        number: requests.length,
        url: request.url ?? '',
      })
    })
  })
  await new Promise(done => listener.listen(0, '127.0.0.1', done))
  const { port } = listener.address()
  return { url: `http://127.0.0.1:${port}`, requests, close: () => listener.close() }
}

const JSON_TYPE = { 'content-type': 'application/json' }
const STREAM = { 'content-type': 'text/event-stream' }

const PROVIDERS = [
  {
    path: /\/messages\/count_tokens/,
    answer: ({ body, response }) => json(response, { input_tokens: tokensOf(body) }),
  },
  { path: /\/messages/, answer: anthropic },
  { path: /\/responses/, answer: openai },
  { path: /countTokens/, answer: ({ body, response }) => json(response, { totalTokens: tokensOf(body) }) },
  { path: /generateContent/i, answer: gemini },
]

/** Hosts ask how much a long answer is before they cut it. */
const tokensOf = body => countTokens(JSON.stringify(body))

const json = (response, body) => response.writeHead(200, JSON_TYPE).end(JSON.stringify(body))

function anthropic({ body, response, server, next, number }) {
  const call = next((body.tools ?? []).length > 1 ? body.tools : [])
  const block =
    call === undefined
      ? { type: 'text', text: 'done' }
      : { type: 'tool_use', id: `toolu_${number}`, name: `mcp__${server}__${call.tool}`, input: call.args }
  const message = {
    id: `msg_${number}`,
    type: 'message',
    role: 'assistant',
    model: body.model,
    stop_reason: call === undefined ? 'end_turn' : 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  }
  if (!body.stream) return json(response, { ...message, content: [block] })
  response.writeHead(200, STREAM)
  const send = (type, data) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
  send('message_start', { message: { ...message, content: [], stop_reason: null } })
  send('content_block_start', {
    index: 0,
    content_block: call === undefined ? { type: 'text', text: '' } : { ...block, input: {} },
  })
  send('content_block_delta', {
    index: 0,
    delta:
      call === undefined
        ? { type: 'text_delta', text: block.text }
        : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
  })
  send('content_block_stop', { index: 0 })
  send('message_delta', {
    delta: { stop_reason: message.stop_reason, stop_sequence: null },
    usage: { output_tokens: 1 },
  })
  send('message_stop', {})
  response.end()
}

/** Where the host has put the tools of servers aside, they are searched for first, as its own models do. */
function openai({ body, response, server, search: query, next, number }) {
  const tools = body.tools ?? []
  const found = (body.input ?? []).findLast(({ type }) => type === 'tool_search_output')
  const space = [...tools, ...(found?.tools ?? [])].find(
    ({ type, name }) => type === 'namespace' && name.includes(server),
  )
  const search =
    space === undefined && found === undefined && tools.some(({ type }) => type === 'tool_search')
  const item = search
    ? {
        type: 'tool_search_call',
        id: `s${number}`,
        call_id: `c${number}`,
        execution: 'client',
        arguments: { query, limit: 20 },
      }
    : itemOf({ call: next(tools), space, server, number })
  const id = `r${number}`
  const usage = {
    input_tokens: 1,
    output_tokens: 1,
    total_tokens: 2,
    input_tokens_details: null,
    output_tokens_details: null,
  }
  response.writeHead(200, STREAM)
  for (const event of [
    { type: 'response.created', response: { id } },
    { type: 'response.output_item.done', item },
    { type: 'response.completed', response: { id, usage } },
  ])
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  response.end()
}

function itemOf({ call, space, server, number }) {
  if (call === undefined)
    return {
      type: 'message',
      role: 'assistant',
      id: `m${number}`,
      content: [{ type: 'output_text', text: 'done' }],
    }
  const called =
    space === undefined
      ? { name: `mcp__${server}__${call.tool}` }
      : { namespace: space.name, name: call.tool }
  const ids = { id: `f${number}`, call_id: `c${number}` }
  return { type: 'function_call', ...ids, ...called, arguments: JSON.stringify(call.args) }
}

/** What it asks first, to choose between its models; without an answer it asks again for minutes. */
const EASY = JSON.stringify({ complexity_reasoning: 'Simple.', complexity_score: 10 })

function gemini({ body, response, server, next, url }) {
  const declared = (body.tools ?? []).flatMap(tool => tool.functionDeclarations ?? [])
  const ours = declared.filter(({ name }) => name.includes(server))
  const call = next(ours)
  const isRouting = body.generationConfig?.responseMimeType === 'application/json'
  const part =
    call === undefined
      ? { text: isRouting ? EASY : 'done' }
      : {
          functionCall: {
            name: ours.find(({ name }) => name.endsWith(`_${call.tool}`))?.name ?? call.tool,
            args: call.args,
          },
        }
  const answer = {
    candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  }
  if (!/stream/i.test(url)) return json(response, answer)
  response.writeHead(200, STREAM)
  response.end(`data: ${JSON.stringify(answer)}\n\n`)
}
