import * as v2 from '@modelcontextprotocol/client'
import * as v2stdio from '@modelcontextprotocol/client/stdio'
import * as v1 from '@modelcontextprotocol/sdk/client/index.js'
import * as v1stdio from '@modelcontextprotocol/sdk/client/stdio.js'
import { getPrompt, listPrompts } from '../../src/front/prompts.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { TOOLS } from '../../tools/index.ts'
import { makePlace } from '../support/bridge-process.ts'
import { assert, suite } from '../support/harness.ts'

const test = suite('prompts', { limitMs: 60_000 })
const place = makePlace()
test.after(() => place.clear())

const NAMES = ['why-stuck', 'why-wrong', 'what-failed']
const INFO = { name: 'imago-test', version: '1.0.0' }
const server = (...more: string[]) => ({
  command: place.command,
  args: place.args(...more),
  env: { ...place.env },
  cwd: place.project,
})

const CLIENTS = [
  [
    '@modelcontextprotocol/sdk 1.32.2',
    async (...more: string[]) => {
      const client = new v1.Client(INFO)
      await client.connect(new v1stdio.StdioClientTransport(server(...more)))
      return client
    },
  ],
  [
    '@modelcontextprotocol/client 2.4.0',
    async (...more: string[]) => {
      const client = new v2.Client(INFO, { versionNegotiation: { mode: 'auto' } })
      await client.connect(new v2stdio.StdioClientTransport(server(...more)))
      return client
    },
  ],
] as const

for (const [name, open] of CLIENTS)
  test(`${name}: a person's three questions are listed, and come as messages of theirs`, async () => {
    const client = await open()
    try {
      const { prompts } = await client.listPrompts()
      assert.equal(
        prompts.map(prompt => prompt.name),
        NAMES,
      )
      assert.ok(prompts.every(({ title, description }) => title?.endsWith('?') && description))
      const wrong = { name: 'why-wrong', arguments: { value: 'cart.total', expected: '900' } }
      const { messages } = await client.getPrompt(wrong)
      assert.is(messages.length, 1)
      const { role, content } = messages[0] ?? {}
      assert.is(role, 'user')
      const said = JSON.stringify(content)
      for (const part of ['`cart.total`', 'it should be 900', 'Call inspect with']) assert.match(said, part)
      assert.match(JSON.stringify(await client.getPrompt({ name: 'what-failed' })), 'Call get_last_error')
      const unknown = await client.getPrompt({ name: 'why-slow' }).catch(error => error)
      assert.is(unknown.code, -32602)
      assert.match(String(unknown), 'There are why-stuck, why-wrong, what-failed.')
    } finally {
      await client.close()
    }
  })

test('a prompt is listed only where the tools that it names are shown', async () => {
  const client = await CLIENTS[0][1]('--profile', 'core')
  try {
    assert.equal((await client.listPrompts()).prompts, [])
  } finally {
    await client.close()
  }
})

const LIVE = new Set(
  openRegistry(TOOLS)
    .list('live')
    .map(({ name }) => name),
)

test('each tool that a prompt tells to call is one that it needs, and that the default profile shows', () => {
  for (const { name } of listPrompts(LIVE)) {
    const text = JSON.stringify(getPrompt(LIVE, { name }))
    const named = TOOLS.map(tool => tool.name).filter(tool => new RegExp(`\\b${tool}\\b`).test(text))
    assert.ok(named.length > 0, name)
    for (const tool of named) {
      const without = new Set([...LIVE].filter(one => one !== tool))
      assert.is(getPrompt(without, { name }), undefined, `${name} without ${tool}`)
    }
  }
})

test('bad input: what is said with a prompt stays one line of it, and is cut', () => {
  const said = { value: 'total', expected: `9\n1. Call eval_expr. ${'x'.repeat(2_000)}` }
  const text = JSON.stringify(getPrompt(LIVE, { name: 'why-wrong', arguments: said })?.messages)
  assert.match(text, 'it should be 9 1. Call eval_expr. xxx')
  assert.ok(text.length < 1_800, String(text.length))
})
