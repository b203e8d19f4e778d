import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as v1 from '@modelcontextprotocol/sdk/client/index.js'
import * as v1stdio from '@modelcontextprotocol/sdk/client/stdio.js'
import { z } from 'zod'
import { answerOf, inShort, PRINTS } from '../hosts/answers.ts'
import { type Answer, CAPTURED, GEMINI_LATER, TOLD } from '../hosts/replay.ts'
import { makePlace } from '../support/bridge-process.ts'
import { assert, suite } from '../support/harness.ts'
import { venvPython } from '../support/runtimes.ts'

/** What hosts make of answers before their model sees them. `test/hosts/capture.mjs` has run each, and kept what it sent. */
const test = suite('hosts', { limitMs: 60_000 })

const CALL = z.object({
  call: z.object({ tool: z.string(), args: z.record(z.string(), z.unknown()) }),
  shown: z.unknown(),
  later: z.unknown().optional(),
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
    const shown = Object.fromEntries(session.answers.slice(0, 4).map(one => [one.call.tool, read(one.shown)]))
    assert.match(shown.kernels?.text ?? '', /shop\.py, its errors are noted/)
    const error = shown.get_last_error?.text ?? ''
    for (const part of ['KeyError: None', 'shop.py:6 in total', "order = {'price': 500, 'discount': None}"])
      assert.match(error, part)
    assert.match(shown.eval_expr?.text ?? '', /read_more @/)
    // Not every host says that it is an error.
    assert.match(shown.inspect?.text ?? '', /^not_found: .*\nnext: /)
  })

  test(`${host} ${version}: its model was shown the way to the rest of hex, of CJK and of a million lines`, () => {
    for (const expr of Object.values(PRINTS)) {
      const { text } = read(session.answers.find(({ call }) => call.args.expr === expr)?.shown)
      assert.match(text, /^.*\nstdout \(cut; all that was kept: read_more @out\.\d+\):\n/)
      assert.not.match(text, 'truncated')
    }
  })

  test(`${host} ${version}: its model saw the figures, and the paths of their files`, () => {
    const drawn = session.answers
      .slice(-2)
      .map(({ shown }) => ({ ...read(shown), frame: JSON.stringify(shown) }))
    assert.equal(
      drawn.map(({ images, frame }) => [images, /\{PNG, .*?\}/.exec(frame)?.[0]]),
      (SAW[host] ?? []).map(picture => [1, `{PNG, ${picture}}`]),
    )
    for (const [at, size] of ['300 × 200', '4000 × 2500'].entries())
      assert.match(drawn[at]?.text ?? '', new RegExp(`^figure 1: PNG, ${size}, /home/ada/.*\\.png$`, 'm'))
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

test('gemini: what it leaves later of what it had shown whole is what is replayed here', () => {
  const gemini = CAPTURED.find(({ name }) => name === 'gemini')
  const masked = framesOf('gemini').answers.flatMap(({ call, later }) => {
    const answer = answerOf(call.tool, call.args)
    return later !== undefined && gemini?.replay(answer).whole ? [{ later, answer }] : []
  })
  assert.ok(masked.length > 0)
  for (const { later, answer } of masked)
    assert.is(GEMINI_LATER.read(later).text, inShort(GEMINI_LATER.replay(answer).text))
})

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

const ITS_OWN = 'the bytes of its file'
const OTHER = 'other bytes than in any file'

/** What it sends of a figure of 300 × 200, and of one of as many pixels as are drawn at all. */
const SAW: Readonly<Record<string, readonly string[]>> = {
  'claude-code': [`300 × 200, ${ITS_OWN}`, `2000 × 1250, ${OTHER}`],
  codex: [`300 × 200, ${ITS_OWN}`, `4000 × 2500, ${ITS_OWN}`],
  'codex-unknown-model': [`300 × 200, ${ITS_OWN}`, `1996 × 1248, ${OTHER}`],
  gemini: [`300 × 200, ${ITS_OWN}`, `4000 × 2500, ${ITS_OWN}`],
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
test.before(() => {
  const config = place.env.IMAGO_CONFIG_DIR ?? ''
  mkdirSync(config, { recursive: true })
  writeFileSync(join(config, 'config.toml'), `[kernels]\npython = "${venvPython}"\n`)
})

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

const DRAWS =
  'import matplotlib.pyplot as plt; plt.figure(figsize=(3, 2), dpi=100); plt.plot([1]); plt.show()'
const FIGURE = /figure 1: PNG, 300 × 200, \/.*\.png/
const BOTH = /(?=.*read_more @)(?=.*figure 1: PNG, 300 × 200, \/[^\n]*\.png)/s

/** Hosts whose model is left with the path of a figure alone. */
const BLIND: ReadonlySet<string> = new Set(['drops images', 'keeps the first block only'])

/** Each with what has to be left of it, whatever a host does. */
const ASKED: readonly (readonly [name: string, args: object, said: RegExp])[] = [
  ['eval_expr', { expr: '6 * 7' }, /^42/],
  ['eval_expr', { expr: '1 / 0' }, /^exception: ZeroDivisionError/],
  ['eval_expr', { expr: LONG }, /read_more @/],
  ['read_more', { handle: '@out.1', count: 40_000 }, /^characters 0 to \d+ of \d+; for more: from \d+/],
  ...Object.values(PRINTS).map(expr => ['eval_expr', { expr }, /read_more @/] as const),
  ['eval_expr', { expr: DRAWS }, FIGURE],
  ['eval_expr', { expr: `${DRAWS}\n${PRINTS.hex}` }, BOTH],
  ['eval_expr', { expr: `${DRAWS}\n${PRINTS.cjk}` }, BOTH],
  ['eval_expr', { expr: `${DRAWS}\n1 / 0` }, FIGURE],
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
      const { text, whole, images } = replay(answer)
      const what = `${host}: ${name} ${JSON.stringify(args)}`
      assert.match(text, said, what)
      if (said === FIGURE || said === BOTH) assert.is(images, BLIND.has(host) ? 0 : 1, what)
      if (host !== 'codex-unknown-model' || name !== 'read_more') assert.ok(whole, `${what} was cut`)
    }
  for (const { said, answer } of answers)
    assert.match(GEMINI_LATER.replay(answer).text, said === BOTH ? FIGURE : said)
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
