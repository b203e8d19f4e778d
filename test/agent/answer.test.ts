import { type Answer, answerOf, type NoAnswer } from '../../src/agent/answer.ts'
import { openModel } from '../../src/agent/providers.ts'
import { SYSTEM_CLOCK } from '../../src/clock.ts'
import { HandClock } from '../support/calls-rig.ts'
import { assert, isLong, suite } from '../support/harness.ts'
import { type Api, openScriptedModel, type Said, type ScriptedModel } from '../support/scripted-model.ts'

/** What comes of a request, in both formats, whatever the server and the network do. */
const test = suite('answer of a model')
const APIS: readonly Api[] = ['openai', 'anthropic']

let server: ScriptedModel
test.before(async () => {
  server = await openScriptedModel()
})
test.after(() => server.close())

const keyOf = (api: Api) => ({ env: { [KEY[api]]: 'sk-test' }, signal: new AbortController().signal })

interface Asked {
  readonly answer: Answer | NoAnswer
  /** Milliseconds that were waited before each further attempt. */
  readonly waits: readonly number[]
  readonly whys: readonly string[]
}

async function ask(api: Api, signal: AbortSignal = new AbortController().signal): Promise<Asked> {
  const { model } = await openModel({ ...SETTINGS, api, url: server.url }, keyOf(api))
  const [waits, whys]: [number[], string[]] = [[], []]
  const clock = new HandClock()
  const again = (why: string, ms: number) => {
    waits.push(ms)
    whys.push(why)
    void clock.pass(ms)
  }
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello?' }] }]
  const answer = await answerOf({ model, request: { prompt, tools: [...TOOLS] }, signal, clock, again })
  return { answer, waits, whys }
}

const KEY = { openai: 'OPENAI_API_KEY', anthropic: 'ANTHROPIC_API_KEY' } as const
const SETTINGS = {
  model: 'scripted',
  profile: 'core',
  steps: 9,
  tokens: 9_999,
  minutes: 1,
  context_tokens: 9_999,
  keep_days: 1,
  woken_a_day: 1,
} as const
const TOOLS = ['inspect', 'eval_expr'].map(name => ({
  type: 'function' as const,
  name,
  inputSchema: { type: 'object' as const, properties: {} },
}))

const WHOLE: Said = {
  thinking: 'It may be the source — “näxt”.',
  text: 'I look at both — naïve 漢字 😀.',
  calls: [
    { tool: 'inspect', args: { expr: 'next' } },
    { tool: 'eval_expr', args: { expr: '"\\u00e9" + "漢"' } },
  ],
}

const partsOf = ({ answer }: Asked) =>
  answer.type !== 'answer'
    ? answer
    : answer.content.map(part =>
        part.type === 'call' ? [part.tool, part.args] : part.type === 'bad' ? part.why : part.text,
      )

const EXPECTED = [
  WHOLE.thinking,
  WHOLE.text,
  ['inspect', { expr: 'next' }],
  ['eval_expr', { expr: '"\\u00e9" + "漢"' }],
]

for (const api of APIS) {
  test(`${api}: an answer is the same however its bytes come`, async () => {
    for (const pieces of isLong ? [1, 2, 3, 7, 64] : [1, 17]) {
      server.play(() => ({ ...WHOLE, pieces }))
      assert.equal(partsOf(await ask(api)), EXPECTED)
    }
  })

  test(`${api}: two calls that come in turn are both whole`, async () => {
    server.play(() => ({ ...WHOLE, interleaved: true }))
    assert.equal(partsOf(await ask(api)), EXPECTED)
  })

  test(`${api}: a stream that stops at any byte gives no answer, or the whole one`, async () => {
    server.play(() => WHOLE)
    await ask(api)
    const { bytes } = server
    const kinds = new Set<string>()
    for (let at = 0; at < bytes; at += isLong ? 1 : 37) {
      const how = at % 2 === 0 ? 'ends' : 'breaks'
      let asked = 0
      server.play(() => (asked++ === 0 ? { ...WHOLE, cut: { bytes: at, how } } : WHOLE))
      const { answer, waits } = await ask(api)
      assert.equal(partsOf({ answer, waits, whys: [] }), EXPECTED, `${how} after ${at} of ${bytes} bytes`)
      kinds.add(`${waits}`)
    }
    assert.ok(kinds.has('1000'), 'what broke off was asked for again')
  })

  test(`${api}: a busy server is asked again when it says, or after 1, 2, 4, … seconds, six times in all`, async () => {
    let asked = 0
    server.play(() => (asked++ < 2 ? { status: 429, headers: { 'retry-after': '7' } } : { text: 'Here.' }))
    const said = await ask(api)
    assert.equal([said.waits, partsOf(said)], [[7_000, 7_000], ['Here.']])
    assert.ok(said.whys.every(why => why.includes('429')))
    server.play(() => ({
      status: 529,
      body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    }))
    const never = await ask(api)
    assert.equal(never.waits, [1_000, 2_000, 4_000, 8_000, 16_000])
    assert.equal(never.answer.type, 'failed')
    assert.ok('why' in never.answer && never.answer.why.includes('529'))
  })

  test(`${api}: a server may say in milliseconds, or by a date, when it is to be asked again`, async () => {
    const yesterday = new Date(Date.now() - 86_400_000).toUTCString()
    const said = [
      { 'retry-after-ms': '1500' },
      { 'retry-after': '0.5' },
      { 'retry-after': yesterday },
      { 'retry-after': 'soon' },
    ]
    let asked = 0
    server.play(() => {
      const headers: Record<string, string> | undefined = said[asked++]
      return headers === undefined ? { text: 'Here.' } : { status: 503, headers }
    })
    assert.equal((await ask(api)).waits, [1_500, 500, 0, 8_000])
  })

  test(`${api}: nobody waits for a server that wants a pause of an hour`, async () => {
    server.play(() => ({ status: 429, headers: { 'retry-after': '3600' } }))
    const { answer, waits } = await ask(api)
    assert.equal([answer.type, waits], ['failed', []])
  })

  test(`${api}: what cannot get better is not asked again`, async () => {
    for (const status of [400, 401, 403, 404, 413]) {
      const before = server.told.length
      server.play(() => ({ status }))
      assert.is((await ask(api)).answer.type, 'failed')
      assert.is(server.told.length, before + 1)
    }
  })

  test(`${api}: a connection that breaks before the first byte is made again`, async () => {
    let asked = 0
    server.play(() => (asked++ === 0 ? 'reset' : { text: 'Here.' }))
    assert.equal(partsOf(await ask(api)), ['Here.'])
  })

  test(`${api}: Node's own fetch, which gives up on a silent server, is not used, and no redirect is followed`, async () => {
    const before = globalThis.fetch
    globalThis.fetch = () => Promise.reject(new Error('it was used'))
    try {
      server.play(() => ({ text: 'Here.' }))
      assert.equal(partsOf(await ask(api)), ['Here.'])
      const count = server.told.length
      server.play(() => ({ status: 307, headers: { location: `${server.url}/elsewhere` } }))
      const { answer, waits } = await ask(api)
      assert.equal([answer.type, waits, server.told.length - count], ['failed', [], 1])
    } finally {
      globalThis.fetch = before
    }
  })

  test(`${api}: a slow first byte is waited for, until the request is cancelled`, async () => {
    let sent: () => void = () => undefined
    server.play(() => {
      setImmediate(() => sent())
      return { text: 'Slow.', after: new Promise<void>(resolve => setTimeout(resolve, 50)) }
    })
    assert.equal(partsOf(await ask(api)), ['Slow.'])
    const left = new AbortController()
    sent = () => left.abort()
    const gone = server.left
    server.play(() => {
      sent()
      return { text: 'Never.', after: new Promise(() => undefined) }
    })
    assert.is((await ask(api, left.signal)).answer.type, 'cancelled')
    while (server.left === gone) await new Promise(resolve => SYSTEM_CLOCK.after(5, () => resolve(undefined)))
  })

  test(`${api}: cancelling ends the pause before another attempt`, async () => {
    const left = new AbortController()
    server.play(() => ({ status: 503 }))
    const { model } = await openModel({ ...SETTINGS, api, url: server.url }, keyOf(api))
    const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello?' }] }]
    const again = () => left.abort()
    const clock = new HandClock()
    const answer = await answerOf({ model, request: { prompt }, signal: left.signal, clock, again })
    assert.is(answer.type, 'cancelled')
    assert.is(clock.waiting, 0)
  })

  test(`${api}: arguments that are no JSON come as the text that they are, empty ones as none`, async () => {
    server.play(() => ({
      calls: [
        { tool: 'inspect', args: '{"expr": "ne' },
        { tool: 'inspect', args: '["next"]' },
        { tool: 'inspect', args: '' },
      ],
    }))
    assert.equal(partsOf(await ask(api)), [
      ['inspect', '{"expr": "ne'],
      ['inspect', ['next']],
      ['inspect', {}],
    ])
  })

  test(`${api}: a refusal and an answer that was too long say so in one word each`, async () => {
    const finishes: Record<Api, readonly [string, string]> = {
      openai: ['content_filter', 'length'],
      anthropic: ['refusal', 'max_tokens'],
    }
    const found: unknown[] = []
    for (const finish of finishes[api]) {
      server.play(() => ({ text: 'I', finish }))
      const { answer } = await ask(api)
      found.push(answer.type === 'answer' && answer.finish)
    }
    assert.equal(found, ['content-filter', 'length'])
  })
}

test('an error within a stream is asked again', async () => {
  let asked = 0
  const overloaded =
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
  server.play(() => (asked++ === 0 ? { text: 'x', raw: overloaded } : { text: 'Here.' }))
  const said = await ask('anthropic')
  assert.equal([partsOf(said), said.waits], [['Here.'], [1_000]])
  assert.ok(said.whys[0]?.includes('verloaded'), said.whys[0])
})
