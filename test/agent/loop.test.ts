import type { LanguageModelV3FunctionTool } from '@ai-sdk/provider'
import { Conversation } from '../../src/agent/conversation.ts'
import type { AskedCall, Entry, EntryOf } from '../../src/agent/entries.ts'
import { openModel } from '../../src/agent/providers.ts'
import { type AgentTools, type Budget, type CallEnd, type RunEnd, work } from '../../src/agent/run.ts'
import { HandClock, settled, until } from '../support/calls-rig.ts'
import { assert, suite } from '../support/harness.ts'
import { type Api, openScriptedModel, type Script, type ScriptedModel } from '../support/scripted-model.ts'

/** The loop of a run: played tools, a clock that is moved by hand, and a model that answers by a script. */
const test = suite('loop of a run')

let server: ScriptedModel
test.before(async () => {
  server = await openScriptedModel()
})
test.after(() => server.close())

interface Playing {
  readonly script: Script
  readonly api?: Api
  readonly budget?: Partial<Budget>
  readonly clock?: HandClock
  readonly signal?: AbortSignal
  call?(asked: AskedCall, signal: AbortSignal): Promise<CallEnd>
  keep?(entry: Entry): void
  /** Goes on with these. */
  readonly entries?: readonly Entry[]
}

const BUDGET: Budget = { steps: 20, tokens: 1_000_000, minutes: 60, context_tokens: 100_000 }
const SAFE = ['look', 'inspect']
const LISTED: readonly LanguageModelV3FunctionTool[] = [...SAFE, 'change'].map(name => ({
  type: 'function',
  name,
  inputSchema: { type: 'object', properties: {} },
}))

const BEGUN: EntryOf<'begun'> = {
  type: 'begun',
  at: 1,
  run: 'run-1',
  id: 'run-1-abc',
  root: '/project',
  text: 'What is it?',
  guidance: 'You are Imago.',
  model: 'scripted',
  profile: 'core',
}

const echo = async ({ args }: AskedCall): Promise<CallEnd> => ({
  type: 'ended',
  outcome: 'ok',
  text: `result of ${JSON.stringify(args)}`,
})

async function play(playing: Playing): Promise<{ end: RunEnd; entries: readonly Entry[] }> {
  const { api = 'openai', entries = [BEGUN], signal = new AbortController().signal } = playing
  const settings = {
    profile: 'core',
    steps: 1,
    tokens: 1,
    minutes: 1,
    context_tokens: 1_000,
    keep_days: 1,
    woken_a_day: 1,
  } as const
  const [key, name] = ['sk-test', 'scripted']
  const env = { OPENAI_API_KEY: key, ANTHROPIC_API_KEY: key }
  const model = await openModel(
    { ...settings, api, url: server.url, model: name },
    { env, signal: new AbortController().signal },
  )
  server.play(playing.script)
  const conversation = new Conversation(BEGUN)
  for (const entry of entries.slice(1)) conversation.add(entry)
  const kept = [...entries]
  const tools: AgentTools = {
    listed: LISTED,
    isSafe: tool => SAFE.includes(tool),
    call: playing.call ?? echo,
  }
  const end = await work({
    conversation,
    model,
    tools,
    budget: { ...BUDGET, ...playing.budget },
    clock: playing.clock ?? new HandClock(),
    signal,
    keep(entry) {
      playing.keep?.(entry)
      kept.push(entry)
    },
  })
  return { end, entries: kept }
}

const typesOf = (entries: readonly Entry[]) => entries.map(({ type }) => type)
const endsOf = (entries: readonly Entry[]) => entries.filter(one => one.type === 'ended')
const over = (end: RunEnd) => (end.type === 'over' ? [end.why, end.text] : [end.type])
const looks = (...names: readonly string[]) => names.map(name => ({ tool: 'look', args: { name } }))

test('a run is question, call, result and answer, each written down before the next begins', async () => {
  const { end, entries } = await play({
    script: ({ results }) =>
      results.length === 0 ? { calls: looks('a') } : { text: `It is ${results[0]}.` },
  })
  assert.equal(over(end), ['done', 'It is result of {"name":"a"}.'])
  assert.equal(typesOf(entries), [
    'begun',
    'asked',
    'answered',
    'called',
    'ended',
    'asked',
    'answered',
    'over',
  ])
})

test('safe calls of one step run side by side, and any other alone, in its place', async () => {
  const running = new Set<string>()
  const beside: string[] = []
  const { entries } = await play({
    script: ({ results }) =>
      results.length > 0
        ? { text: 'Done.' }
        : { calls: [...looks('a', 'b'), { tool: 'change', args: { name: 'c' } }, ...looks('d', 'e')] },
    async call(asked) {
      running.add(JSON.stringify(asked.args).slice(9, 10))
      for (let turn = 0; turn < 5; turn++) await settled()
      beside.push([...running].sort().join(''))
      running.delete(JSON.stringify(asked.args).slice(9, 10))
      return echo(asked)
    },
  })
  assert.equal(beside, ['ab', 'b', 'c', 'de', 'e'])
  assert.equal(
    endsOf(entries).map(({ call }) => call),
    [1, 2, 3, 4, 5].map(number => `run-1-abc.1.${number}`),
  )
})

test('each budget ends a run with a partial answer that says which one, and what was said until then', async () => {
  const script: Script = ({ before }) => ({ text: `Look ${before}.`, calls: looks('a'), tokens: 300 })
  const steps = await play({ script, budget: { steps: 2 } })
  const words = 'Partial answer: the budget of'
  const [why, text = ''] = over(steps.end)
  assert.is(why, 'partial')
  assert.ok(text.startsWith(`${words} 2 steps is used up.\n\nLook `), text)
  const tokens = await play({ script, budget: { tokens: 500 } })
  assert.ok(over(tokens.end)[1]?.startsWith(`${words} 500 tokens is used up.`))
  assert.is(tokens.entries.filter(({ type }) => type === 'asked').length, 1)
})

for (const api of ['openai', 'anthropic'] as const)
  test(`${api}: where a server counts no tokens, their characters are counted, and the answer says so`, async () => {
    const text = 'x'.repeat(4_000)
    const { end, entries } = await play({
      api,
      script: () => ({ text, calls: looks('a'), tokens: 'uncounted' }),
      budget: { tokens: 5_000 },
    })
    const [why, said = ''] = over(end)
    assert.is(why, 'partial')
    assert.ok(said.startsWith('Partial answer: the budget of 5000 tokens (estimated) is used up.'), said)
    const counts = entries.flatMap(one => (one.type === 'answered' ? [one.tokens] : []))
    // A question of 25 characters and tools of 300, an answer of 4,000; then both are asked with again.
    assert.equal(
      counts.map(({ input, output, estimated }) => [
        Math.round(input / 1_000),
        Math.round(output / 1_000),
        estimated,
      ]),
      [
        [0, 1, true],
        [1, 1, true],
        [2, 1, true],
      ],
    )
  })

test('before its last step a model is told that it is the last, and asked for no call', async () => {
  const before = server.told.length
  await play({ script: () => ({ calls: looks('a') }), budget: { steps: 2 } })
  const [first, last] = server.told.slice(before)
  assert.ok(!first?.user.some(text => text.includes('last step')))
  assert.ok(last?.user.some(text => text.includes('last step')))
  assert.is(last?.body.tool_choice, 'none')
})

test('a server that says nothing is waited for until the time of the run is used up', async () => {
  const clock = new HandClock()
  const { told, left } = server
  const before = told.length
  const playing = play({ clock, script: () => ({ after: new Promise(() => undefined) }) })
  await until(() => told.length > before)
  await clock.pass(59 * 60_000)
  assert.is(server.left, left)
  await clock.pass(60_000)
  assert.is(over((await playing).end)[0], 'partial')
  await until(() => server.left > left)
})

test('when the time is used up, the call that runs is cancelled and no other begins', async () => {
  const clock = new HandClock()
  const begun: string[] = []
  const playing = play({
    clock,
    script: () => ({ calls: ['a', 'b'].map(name => ({ tool: 'change', args: { name } })) }),
    call: (asked, signal) =>
      new Promise(resolve => {
        begun.push(asked.call)
        signal.addEventListener('abort', () =>
          resolve({ type: 'ended', outcome: 'cancelled', text: 'cancelled' }),
        )
      }),
  })
  await until(() => begun.length > 0)
  await clock.pass(60 * 60_000)
  const { end, entries } = await playing
  assert.is(over(end)[0], 'partial')
  assert.ok(over(end)[1]?.includes('60 minutes'))
  assert.is(begun.length, 1)
  assert.equal(
    endsOf(entries).map(({ outcome }) => outcome),
    ['cancelled'],
  )
})

test('cancelling ends the request', async () => {
  const left = new AbortController()
  const { end } = await play({
    signal: left.signal,
    script: () => {
      setImmediate(() => left.abort())
      return { text: 'Never.', after: new Promise(() => undefined) }
    },
  })
  assert.is(over(end)[0], 'cancelled')
})

for (const api of ['openai', 'anthropic'] as const)
  test(`${api}: after a budget, every call has a result before the model is asked again`, async () => {
    const clock = new HandClock()
    const script: Script = ({ results }) =>
      results.length > 0
        ? { text: `${results.length} results` }
        : { thinking: 'Three.', calls: ['a', 'b', 'c'].map(name => ({ tool: 'change', args: { name } })) }
    let calls = 0
    const call = (asked: AskedCall): Promise<CallEnd> => {
      if (++calls === 1) void clock.pass(60 * 60_000)
      return settled()
        .then(settled)
        .then(() => echo(asked))
    }
    const first = await play({ api, clock, script, call })
    assert.is(over(first.end)[0], 'partial')
    const second = await play({ api, script, call, entries: first.entries })
    assert.equal(over(second.end), ['done', '3 results'])
    assert.is(calls, 3)
    assert.is(new Set(endsOf(second.entries).map(one => one.call)).size, 3)
  })

test('what a model has thought is sent back to it with its signature', async () => {
  const before = server.told.length
  await play({
    api: 'anthropic',
    script: ({ results }) =>
      results.length === 0 ? { thinking: 'Hm.', calls: looks('a') } : { text: 'So.' },
  })
  const [, second] = server.told.slice(before)
  const sent = JSON.stringify(second?.body.messages)
  assert.match(sent, /\{"type":"thinking","thinking":"Hm\.","signature":"signed-\d+"/)
})

test('a text of blanks is not sent back: a provider refuses it', async () => {
  await play({
    api: 'anthropic',
    script: ({ results }) => (results.length === 0 ? { text: '\n\n', calls: looks('a') } : { text: 'So.' }),
  })
  assert.not.match(JSON.stringify(server.told.at(-1)?.body.messages), /"text":"[\\n ]*"/)
})

test('results of the last answer but one make room where nothing else can', async () => {
  const long = 'x'.repeat(7_000)
  const { end } = await play({
    budget: { context_tokens: 3_000 },
    script: ({ results }) => (results.length < 2 ? { calls: looks('a') } : { text: 'Done.' }),
    call: async () => ({ type: 'ended', outcome: 'ok', text: long }),
  })
  assert.is(over(end)[0], 'done')
  const [first, second] = server.told.at(-1)?.results ?? []
  assert.ok(first?.startsWith('This result made room'))
  assert.is(second, long)
})

test('old results make room before the model is sent more than it can read; the run says which, and keeps them', async () => {
  const long = 'x'.repeat(2_000)
  const before = server.told.length
  const { end, entries } = await play({
    budget: { context_tokens: 3_000 },
    script: told => (told.before - before < 8 ? { calls: looks(`${told.before}`) } : { text: 'Done.' }),
    call: async () => ({ type: 'ended', outcome: 'ok', text: long }),
  })
  assert.is(over(end)[0], 'done')
  const room = entries.filter(one => one.type === 'room').flatMap(({ calls }) => calls)
  assert.ok(room.includes('run-1-abc.1.1'))
  assert.is(room.length, new Set(room).size)
  const sent = server.told.slice(before).map(({ body }) => JSON.stringify(body.messages).length)
  assert.ok(Math.max(...sent) < 3_000 * 4, `${sent}`)
  const last = server.told.at(-1)
  assert.ok(last?.results[0]?.startsWith('This result made room'))
  assert.equal(last?.results.slice(-2), [long, long])
  assert.ok(endsOf(entries).every(({ text }) => text === long))
})

test('a flood of calls: 32 run, and the model is told of each other one', async () => {
  let made = 0
  const { entries } = await play({
    script: ({ results }) =>
      results.length > 0
        ? { text: 'Done.' }
        : { calls: looks(...Array.from({ length: 500 }, (_, at) => `${at}`)) },
    call: asked => {
      made++
      return echo(asked)
    },
  })
  assert.is(made, 32)
  assert.is(endsOf(entries).filter(({ outcome }) => outcome === 'limit').length, 468)
})

test('where an entry cannot be written, what runs beside is cancelled and waited for, and nothing more is done', async () => {
  const still = new Set<string>()
  const full = new Error('ENOSPC')
  let broken = false
  const thrown = await play({
    script: () => ({ calls: [...looks('a', 'b', 'c'), { tool: 'change', args: {} }] }),
    keep(entry) {
      broken ||= entry.type === 'ended'
      if (broken) throw full
    },
    call: async (asked, signal) => {
      still.add(asked.call)
      if (!asked.call.endsWith('.1'))
        await new Promise(resolve => signal.addEventListener('abort', () => setImmediate(resolve)))
      still.delete(asked.call)
      return echo(asked)
    },
  }).catch(error => error)
  assert.is(thrown, full)
  assert.is(still.size, 0)
})

test('a run that failed because the model said nothing, or refused, asks it again when it is resumed', async () => {
  for (const said of [{ text: ' ' }, { text: 'No', finish: 'content_filter' }]) {
    const first = await play({ script: () => said })
    assert.is(over(first.end)[0], 'failed')
    const second = await play({ script: () => ({ text: 'Now.' }), entries: first.entries })
    assert.equal(over(second.end), ['done', 'Now.'])
    assert.ok(!JSON.stringify(server.told.at(-1)?.body.messages).includes('assistant'))
  }
})

test('a request that failed uses up no step', async () => {
  const first = await play({ script: () => ({ status: 400 }), budget: { steps: 1 } })
  assert.is(over(first.end)[0], 'failed')
  const second = await play({
    script: () => ({ text: 'Now.' }),
    budget: { steps: 1 },
    entries: first.entries,
  })
  assert.equal(over(second.end), ['done', 'Now.'])
  assert.is(second.entries.filter(({ type }) => type === 'told').length, 1)
})

test('a run that is over is not worked at when it is resumed: it ends as it did', async () => {
  const first = await play({ script: () => ({ text: 'Here.' }) })
  const before = server.told.length
  const second = await play({ script: () => ({ text: 'Other.' }), entries: first.entries })
  assert.equal(over(second.end), over(first.end))
  assert.is(server.told.length, before)
})

test('a server that quotes the key does not get it into the run', async () => {
  const { end, entries } = await play({
    script: ({ headers }) => ({
      status: 401,
      body: { error: { message: `no such key: ${headers.authorization}` } },
    }),
  })
  assert.match(over(end)[1] ?? '', /401: no such key: Bearer \[key\]/)
  assert.ok(!JSON.stringify(entries).includes('sk-test'))
})

test('arguments that are no object reach the call as they came, and go back to the model as none', async () => {
  const seen: unknown[] = []
  const { end } = await play({
    script: ({ results }) =>
      results.length > 0
        ? { text: results.join('; ') }
        : { calls: ['{"name": "a', '[1]', '7', 'null'].map(args => ({ tool: 'change', args })) },
    call: async ({ args }) => {
      seen.push(args)
      return { type: 'ended', outcome: 'invalid_args', text: 'an object is needed' }
    },
  })
  assert.is(over(end)[0], 'done')
  assert.equal(seen, ['{"name": "a', [1], 7, null])
})
