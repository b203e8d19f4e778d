import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as v1 from '@modelcontextprotocol/sdk/client/index.js'
import * as v1stdio from '@modelcontextprotocol/sdk/client/stdio.js'
import { z } from 'zod'
import { answerOf, inShort } from '../hosts/answers.ts'
import { type Answer, CAPTURED, TOLD } from '../hosts/replay.ts'
import { makePlace } from '../support/bridge-process.ts'
import { assert, suite } from '../support/harness.ts'

/** What hosts make of answers before their model sees them. `test/hosts/capture.mjs` has run each, and kept what it sent. */
const test = suite('hosts', { limitMs: 60_000 })

const CALL = z.object({
  call: z.object({ tool: z.string(), args: z.record(z.string(), z.unknown()) }),
  shown: z.unknown(),
})
const FRAMES = z.object({
  host: z.string(),
  version: z.string(),
  introduced: z.object({
    clientInfo: z.object({ name: z.string() }),
    capabilities: z.record(z.string(), z.unknown()),
  }),
  tools: z.tuple([z.array(z.string()), z.array(z.string())]),
  answers: z.array(CALL),
  session: z.object({ tools: z.array(z.string()), answers: z.array(CALL) }),
})

const framesOf = (host: string) =>
  FRAMES.parse(JSON.parse(readFileSync(join(import.meta.dirname, `../hosts/captured/${host}.json`), 'utf8')))

for (const { name: host, replay, read } of CAPTURED) {
  const { version, answers, session, introduced, tools } = framesOf(host)

  for (const { call, shown } of answers.filter(({ call: { tool } }) => tool !== 'grown'))
    test(`${host} ${version}: what it shows of ${call.tool} ${JSON.stringify(call.args)} is what is replayed here`, () => {
      const { whole: _, ...replayed } = replay(answerOf(call.tool, call.args))
      assert.equal(read(shown), { ...replayed, text: inShort(replayed.text) })
    })

  test(`${host} ${version}: its model found the program, and saw its error with the values of that moment`, () => {
    const shown = Object.fromEntries(session.answers.map(one => [one.call.tool, read(one.shown)]))
    assert.match(shown.kernels?.text ?? '', /shop\.py, its errors are noted/)
    const error = shown.get_last_error?.text ?? ''
    for (const part of ['KeyError: None', 'shop.py:6 in total', "order = {'price': 500, 'discount': None}"])
      assert.match(error, part)
    assert.match(shown.eval_expr?.text ?? '', /read_more @/)
    // Not every host says that it is an error.
    assert.match(shown.inspect?.text ?? '', /^not_found: .*\nnext: /)
  })

  test(`${host} ${version}: how it introduces itself is as install and the policy take it`, () => {
    const { clientInfo, capabilities } = introduced
    assert.equal([clientInfo.name, 'elicitation' in capabilities], INTRODUCED[host])
    assert.equal(
      tools[1].some(name => name.endsWith('grown')),
      FOLLOWS[host],
    )
  })
}

test('claude-code 2.1.197: its dialog shows the whole change and both answers, and the yes of a person there approved', () => {
  const seen = readFileSync(join(import.meta.dirname, '../hosts/captured/claude-code-dialog.txt'), 'utf8')
  for (const part of [
    '      | @@ -0,0 +1,2 @@\n      | +one\n      | +two\n',
    'Approve: exactly this happens, once',
  ])
    assert.match(seen, part)
  assert.match(seen, /write_file .*approved by client claude-code/)
})

const INTRODUCED: Readonly<Record<string, unknown>> = {
  'claude-code': ['claude-code', true],
  codex: ['codex-mcp-client', true],
  'codex-unknown-model': ['codex-mcp-client', true],
  gemini: ['gemini-cli-mcp-client', false],
}

/** Whether it shows its model a tool that came later. */
const FOLLOWS: Readonly<Record<string, boolean>> = {
  'claude-code': true,
  codex: false,
  'codex-unknown-model': false,
  gemini: true,
}

const place = makePlace()
test.after(() => place.clear())

/** One session with the product as it is, answers as they go to a host. */
async function session<Result>(
  work: (call: (name: string, args: object) => Promise<Answer>, client: v1.Client) => Promise<Result>,
): Promise<Result> {
  const client = new v1.Client({ name: 'a-host', version: '1' })
  const { command, project: cwd } = place
  const server = { command, args: place.args(), env: { ...place.env }, cwd }
  await client.connect(new v1stdio.StdioClientTransport(server))
  try {
    return await work(
      async (name, args) => (await client.callTool({ name, arguments: { ...args } })) as unknown as Answer,
      client,
    )
  } finally {
    await client.close()
  }
}

const LONG = "for at in range(5_000): print(f'line {at:05} of an answer that is long')"

/** Each with what has to be left of it, whatever a host does. */
const ASKED: readonly (readonly [name: string, args: object, said: RegExp])[] = [
  ['eval_expr', { expr: '6 * 7' }, /^42/],
  ['eval_expr', { expr: '1 / 0' }, /^exception: ZeroDivisionError/],
  ['eval_expr', { expr: LONG }, /read_more @/],
  ['inspect', { expr: 'no_such_name' }, /^not_found: .*\nnext: /],
  ['threads', {}, /MainThread/],
  ['list_globals', {}, /./],
]

test('whatever a host does to answers, its model sees what came of the call, and the way to the rest', async () => {
  const answers = await session(async call => {
    const all: { name: string; args: object; said: RegExp; answer: Answer }[] = []
    for (const [name, args, said] of ASKED) all.push({ name, args, said, answer: await call(name, args) })
    return all
  })
  for (const { name: host, replay } of [...CAPTURED, ...TOLD])
    for (const { name, args, said, answer } of answers) {
      const { text, whole } = replay(answer)
      assert.match(text, said, `${host}: ${name} ${JSON.stringify(args)}`)
      if (host !== 'codex-unknown-model') assert.ok(whole, `${host}: ${name} ${JSON.stringify(args)} was cut`)
    }
})

test('a model whose host never asks for the tools again can call each that it was shown at first', async () => {
  await session(async (call, client) => {
    const { tools } = await client.listTools()
    await call('eval_expr', { expr: 'a = 1' })
    for (const { name } of tools) {
      const { content } = await call(name, {})
      const [first] = content
      assert.not.match(first?.type === 'text' ? first.text : '', /Unknown tool/)
    }
  })
})
