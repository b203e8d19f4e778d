import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { client as acpClient, methods, ndJsonStream } from '@agentclientprotocol/sdk'
import { PROGRAM } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { lives, MAIN, openRig, type Rig, until } from '../support/rig.ts'
import { APPROVE, openWatch } from '../support/watching.ts'

/** Anybody's agent, for anybody's editor, with the tools of Imago: both ends are those of `@agentclientprotocol/sdk`. */
const test = suite('imago acp', { limitMs: 60_000 })
const AGENT = join(import.meta.dirname, '../support/acp-agent.mjs')
const { session } = methods.agent

let rig: Rig
test.before(async () => {
  rig = openRig()
  await rig.serve()
})
test.after(() => rig.close())

const begun = (words: readonly string[]): ChildProcessByStdio<Writable, Readable, Readable> =>
  spawn(process.execPath, [MAIN, 'acp', '--', ...words], {
    cwd: rig.project,
    env: rig.env,
    stdio: ['pipe', 'pipe', 'pipe'],
  })

const ended = (child: { once(event: 'exit', heard: (code: number | null) => void): unknown }) =>
  new Promise<number | null>(resolve => child.once('exit', resolve))

interface Said {
  readonly mcpServers: readonly { name: string; command: string; args: string[]; env: { name: string }[] }[]
  readonly outcome?: unknown
  readonly result?: string
}

/** An editor with one session, whose person refuses what they are asked. */
async function withEditor(
  use: (parts: {
    open: (method: string, params?: object) => Promise<string>
    says: (sessionId: string, prompt: object) => Promise<Said>
    asked: readonly { toolCall: { toolCallId: string } }[]
  }) => Promise<void>,
): Promise<void> {
  const child = begun([process.execPath, AGENT])
  const exit = ended(child)
  const asked: { toolCall: { toolCallId: string } }[] = []
  let said = ''
  const editor = acpClient({ name: 'an-editor' })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      asked.push(params)
      return { outcome: { outcome: 'selected', optionId: 'no' } }
    })
    .onNotification(methods.client.session.update, ({ params: { update } }) => {
      if (update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text')
        said = update.content.text
    })
  const stream = ndJsonStream(
    Writable.toWeb(child.stdin),
    Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
  )
  await editor.connectWith(stream, async agent => {
    await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} })
    await use({
      async open(method, params = {}) {
        const opened = { cwd: rig.project, mcpServers: [], ...params }
        return (await agent.request<{ sessionId: string }>(method, opened)).sessionId
      },
      async says(sessionId, prompt) {
        const words = [{ type: 'text' as const, text: JSON.stringify(prompt) }]
        await agent.request(session.prompt, { sessionId, prompt: words })
        return JSON.parse(said)
      },
      asked,
    })
  })
  child.stdin.end()
  assert.is(await exit, 0)
}

test('a session that is new, loaded or resumed has our server once, by paths that need no PATH and no folder', () =>
  withEditor(async ({ open, says }) => {
    const other = { name: 'other', command: '/bin/true', args: [], env: [] }
    const own = { ...other, name: 'imago' }
    const names = async (method: string, params?: object) =>
      (await says(await open(method, params), {})).mcpServers.map(({ name }) => name)
    for (const [method, params] of [
      [session.new, {}],
      [session.load, { sessionId: 'old' }],
      [session.resume, { sessionId: 'old' }],
    ] as const) {
      assert.equal(await names(method, { ...params, mcpServers: [other] }), ['other', 'imago'])
      assert.equal(await names(method, { ...params, mcpServers: [own, other] }), ['imago', 'other'])
    }
    assert.equal(await names(session.resume, { sessionId: 'old', mcpServers: undefined }), ['imago'])
    const [server] = (await says(await open(session.new), {})).mcpServers
    assert.equal([server?.command, server?.args], [process.execPath, [PROGRAM, 'mcp', '--root', rig.project]])
    assert.ok(server?.env.some(({ name }) => name === 'IMAGO_RUNTIME_DIR'))
  }))

const ONCE = { kind: 'allow_once', name: 'Yes', optionId: 'yes' }
const ALWAYS = { kind: 'allow_always', name: 'Always', optionId: 'always' }
const NO = { kind: 'reject_once', name: 'No', optionId: 'no' }
const WRITE = { path: 'a.txt', content: 'one\n' }

/** What an agent asks about a tool, as the adapter of Claude Code names it, and by the field of the protocol. */
const question = (name: string, rawInput: unknown, more: object = {}) => ({
  toolCall: {
    toolCallId: 'call-1',
    title: name,
    _meta: { claudeCode: { toolName: name } },
    rawInput,
    ...more,
  },
  options: [ALWAYS, ONCE, NO],
})

test('a question about a tool of ours is answered once where our gate asks, or where it only looks', () =>
  withEditor(async ({ open, says, asked }) => {
    const one = await open(session.new)
    const field = { title: 'Look', name: 'mcp__imago__kernels', _meta: null }
    const answered = [
      question('mcp__imago__write_file', WRITE),
      question('mcp__imago__inspect', { expr: 'x' }),
      question('', {}, field),
    ]
    for (const permission of answered)
      assert.equal((await says(one, { permission })).outcome, { outcome: 'selected', optionId: 'yes' })
    const { _meta, ...bare } = question('mcp__imago__write_file', WRITE).toolCall
    const update = { ...bare, _meta, sessionUpdate: 'tool_call', rawInput: undefined }
    const permission = { ...question('', {}), toolCall: bare }
    assert.equal((await says(one, { update, permission })).outcome, { outcome: 'selected', optionId: 'yes' })
    assert.equal(asked, [])
  }))

test('all other questions are for the person at the editor (threat 34)', () =>
  withEditor(async ({ open, says, asked }) => {
    const one = await open(session.new)
    const theirs = await open(session.new, {
      mcpServers: [{ name: 'imago', command: '/bin/true', args: [], env: [] }],
    })
    const write = question('mcp__imago__write_file', WRITE)
    const passed = [
      [one, question('Bash', { command: 'mcp__imago__write_file' })],
      [one, question('mcp__imago__eval_expr', { expr: 'x' })],
      [one, question('mcp__imago__write_file', { path: 'a.txt' })],
      [one, question('mcp__imago__no_such_tool', {})],
      [one, question('mcp__other__write_file', WRITE)],
      [one, question('mcp__imago__write_file', undefined)],
      [one, question('Bash', WRITE, { title: 'mcp__imago__write_file' })],
      [
        one,
        { ...write, toolCall: { toolCallId: 'call-2', title: 'mcp__imago__write_file', rawInput: WRITE } },
      ],
      [one, { ...write, options: [ALWAYS, NO] }],
      [theirs, write],
    ] as const
    for (const [at, permission] of passed)
      assert.equal((await says(at, { permission })).outcome, { outcome: 'selected', optionId: 'no' })
    assert.is(asked.length, passed.length)
  }))

test('where a rule of the person allows the call, their editor asks them', async () => {
  const { configDir } = rig.paths
  mkdirSync(configDir, { recursive: true })
  writeFileSync(join(configDir, 'policy.toml'), '[[rule]]\ndecision = "ask"\ntool = "eval_expr"\n')
  await withEditor(async ({ open, says, asked }) => {
    const one = await open(session.new)
    const permission = question('mcp__imago__eval_expr', { expr: 'x' })
    assert.equal((await says(one, { permission })).outcome, { outcome: 'selected', optionId: 'yes' })
    assert.is(asked.length, 0)
  })
})

test('the agent calls a tool of the session, and a person at imago watch approves it', async () => {
  const { screen } = await openWatch(rig)
  await withEditor(async ({ open, says }) => {
    const one = await open(session.new)
    const said = says(one, { call: { name: 'eval_expr', args: { expr: '6 * 7' } } })
    await screen.shows(APPROVE)
    screen.type('y\n')
    assert.match((await said).result ?? '', /\b42\b/)
  })
  screen.close()
})

test('lines pass as they are, also those that are no JSON, and the last without an end', async () => {
  const child = begun(['cat'])
  const exit = ended(child)
  const out = text(child.stdout)
  const lines = [
    'no JSON',
    '{ "id" : 1,  "method":"x", "params":[] }',
    '[1]',
    '',
    '"\u2028\r"',
    'é'.repeat(1e6),
    'end',
  ]
  child.stdin.end(lines.join('\n'))
  assert.ok((await out) === lines.join('\n'))
  assert.is(await exit, 0)
})

test('the exit code is that of the agent, and one that cannot be run is named', async () => {
  for (const [words, code] of [
    [['sh', '-c', 'exit 7'], 7],
    [['sh', '-c', 'kill -9 $$'], 137],
    [['no-such-agent'], 127],
    [[], 2],
  ] as const) {
    const child = begun(words)
    const problems = text(child.stderr)
    assert.is(await ended(child), code, words.join(' '))
    if (code === 127)
      assert.match(await problems, 'imago acp: no-such-agent cannot be run: there is no such program.')
  }
})

for (const how of ['the input ends', 'SIGTERM'] as const)
  test(`an agent that does not heed it, and what it has started, is ended when ${how === 'the input ends' ? how : `${how} comes`}`, async () => {
    const child = begun([process.execPath, AGENT, 'stays'])
    const exit = ended(child)
    let problems = ''
    child.stderr.setEncoding('utf8').on('data', chunk => {
      problems += chunk
    })
    await until(() => /pids \d+ \d+\n/.test(problems), 'the agent to begin')
    const pids = problems.match(/\d+/g)?.map(Number) ?? []
    assert.equal(pids.map(lives), [true, true])
    if (how === 'the input ends') child.stdin.end()
    else child.kill(how)
    assert.is(await exit, 137)
    await until(() => !pids.some(lives), 'both to end')
  })
