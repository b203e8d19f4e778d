import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openModel } from './model.mjs'

/**
 * Three hosts, each pointed at a model of ours: how one is configured in an empty home, and where in its requests it
 * shows its model the answer of a tool.
 */
export const HOSTS = [
  {
    name: 'claude-code',
    program: 'claude',
    prepare({ home, server, command, args, url }) {
      const config = join(home, 'mcp.json')
      writeFileSync(config, JSON.stringify({ mcpServers: { [server]: { command, args } } }))
      return {
        env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'none' },
        args: ['-p', 'go', '--strict-mcp-config', '--mcp-config', config, '--allowedTools', `mcp__${server}`],
      }
    },
    shown: ({ messages = [] }) =>
      messages
        .flatMap(({ content }) => (Array.isArray(content) ? content : []))
        .filter(({ type }) => type === 'tool_result')
        .map(({ content, is_error = false }) => ({ content, is_error })),
    tools: ({ tools = [] }) => tools.map(({ name }) => name),
  },
  codex({ name: 'codex', model: 'gpt-5.5' }),
  // It treats tools and answers otherwise with a model that is not in its own list.
  codex({ name: 'codex-unknown-model', model: 'one-of-mine' }),
  {
    name: 'gemini',
    program: 'gemini',
    prepare({ home, server, command, args, url }) {
      mkdirSync(join(home, '.gemini'))
      writeFileSync(
        join(home, '.gemini/settings.json'),
        JSON.stringify({
          mcpServers: { [server]: { command, args, trust: true } },
          security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
          privacy: { usageStatisticsEnabled: false },
        }),
      )
      return {
        env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'none' },
        args: ['-p', 'go', '--approval-mode', 'yolo', '--skip-trust'],
      }
    },
    shown: ({ contents = [] }) =>
      contents
        .filter(({ parts = [] }) => parts.some(({ functionResponse }) => functionResponse !== undefined))
        .map(({ parts }) =>
          parts.map(({ functionResponse, ...other }) => functionResponse?.response ?? other),
        ),
    tools: ({ tools = [] }) =>
      tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations.map(({ name }) => name)),
  },
]

function codex({ name, model }) {
  return {
    name,
    program: 'codex',
    prepare({ home, server, command, args, url }) {
      mkdirSync(join(home, '.codex'))
      const lines = [
        `model = "${model}"`,
        'model_provider = "fake"',
        '[model_providers.fake]',
        'name = "fake"',
        `base_url = "${url}/v1"`,
        'wire_api = "responses"',
        'env_key = "FAKE_KEY"',
        `[mcp_servers.${server}]`,
        `command = ${JSON.stringify(command)}`,
        `args = ${JSON.stringify(args)}`,
      ]
      writeFileSync(join(home, '.codex/config.toml'), `${lines.join('\n')}\n`)
      return {
        env: { FAKE_KEY: 'none', CODEX_HOME: join(home, '.codex') },
        args: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', 'go'],
      }
    },
    shown: ({ input = [] }) =>
      input.filter(({ type }) => type === 'function_call_output').map(({ output }) => output),
    tools: ({ tools = [], input = [] }) =>
      [...tools, ...(input.findLast(({ type }) => type === 'tool_search_output')?.tools ?? [])].flatMap(
        ({ type, name, tools: inner = [] }) =>
          type === 'namespace' ? inner.map(one => `${name}__${one.name}`) : [name ?? type],
      ),
  }
}

/**
 * Runs one host to its end, with a server and the calls that its model makes. Answers with what the model was shown of
 * each, in order: `shown` at once, `later` at the end; and with the tools that it was shown in each request.
 */
export async function runHost(
  host,
  { bin, home, project, server, command, args, calls, search = server, env = {}, limitMs = 120_000 },
) {
  const model = await openModel({ server, calls, search })
  const prepared = host.prepare({ home, server, command, args, url: model.url })
  const child = spawn(join(bin, host.program), prepared.args, {
    cwd: project,
    env: { PATH: process.env.PATH, HOME: home, TERM: 'dumb', NO_COLOR: '1', ...env, ...prepared.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', data => {
      said += data
    })
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs)
  const code = await new Promise(done => child.on('close', done))
  clearTimeout(timer)
  model.close()
  const asked = model.requests.filter(request => host.tools(request).some(name => name.includes(server)))
  const all = asked.map(host.shown)
  return {
    code,
    said,
    requests: model.requests,
    shown: calls.map((_, at) => all.find(shown => shown.length > at)?.[at]),
    later: all.at(-1) ?? [],
    tools: asked.map(request => host.tools(request).filter(name => name.includes(server))),
  }
}
