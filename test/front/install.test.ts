import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { applied, changeEntry, HOSTS, inverse, readEntry } from '../../src/front/commands/mcp-clients.ts'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { assert, suite } from '../support/harness.ts'
import { lispCache } from '../support/runtimes.ts'

const test = suite('imago install')
const MAIN = join(PACKAGE_ROOT, 'dist/src/main.cjs')

let folder = ''
let home = ''
test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-install-'))
  home = join(folder, 'home')
  mkdirSync(join(folder, 'project', '.git'), { recursive: true })
  mkdirSync(home)
})
test.after.each(() => rmSync(folder, { recursive: true, force: true }))

const CODEX = { format: 'toml', place: ['mcp_servers', 'imago'] } as const
const JSON_ENTRY = { format: 'json', place: ['mcpServers', 'imago'] } as const

const project = () => join(folder, 'project')

const imago = (...args: string[]) => imagoIn(project(), ...args)

function imagoIn(cwd: string, ...args: string[]) {
  const env = {
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
    HOME: home,
    XDG_CACHE_HOME: lispCache,
    IMAGO_STATE_DIR: join(folder, 'state'),
    PIP_NOTES: join(folder, 'notes'),
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], {
    cwd,
    env,
    encoding: 'utf8',
    input: '',
  })
  return { code: status, stdout, stderr }
}

function put(path: string, content: string | Uint8Array): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
  return path
}

const SETTINGS = `// my settings
{
\t"theme": "dark", // kept
\t"context_servers": {
\t\t"other": { "command": "x", "args": ["a"] },
\t},
}
`

for (const host of HOSTS)
  test(`${host.name}: the entry is written where the client looks, and undoing it leaves no file or folder behind`, () => {
    const file = host.file({ root: project(), env: { HOME: home }, platform: process.platform })
    const before = existsSync(dirname(file))
    const done = imago('install', host.name, '--yes')
    assert.is(done.code, 0, done.stderr)
    const text = readFileSync(file, 'utf8')
    const entry = readEntry(text, host)
    const args = [entry?.command, entry?.args].flat()
    assert.ok(args.includes('mcp'))
    assert.is(args.includes('--root'), !host.startsInProject)
    assert.match(done.stdout, text.split('\n')[1] ?? '')
    assert.is(imago('install', host.name, '--undo', '--yes').code, 0)
    assert.equal([existsSync(file), existsSync(dirname(file))], [false, before])
  })

test('the entry that is written starts an MCP server', () => {
  imago('install', 'cursor', '--yes')
  const { mcpServers } = JSON.parse(readFileSync(join(project(), '.cursor/mcp.json'), 'utf8'))
  const { command, args } = mcpServers.imago
  const clientInfo = { name: 'test', version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const input = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`
  const [IMAGO_RUNTIME_DIR, IMAGO_STATE_DIR, IMAGO_CONFIG_DIR] = ['r', 's', 'c'].map(name =>
    join(folder, name),
  )
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    XDG_CACHE_HOME: lispCache,
    IMAGO_RUNTIME_DIR,
    IMAGO_STATE_DIR,
    IMAGO_CONFIG_DIR,
  }
  try {
    const { stdout } = spawnSync(command, args, { cwd: '/', env, input, encoding: 'utf8', timeout: 15_000 })
    assert.match(stdout, /"serverInfo":\{"name":"imago"/)
  } finally {
    spawnSync(process.execPath, [MAIN, 'shutdown'], { env })
  }
})

test('comments, unrelated keys, tabs and trailing commas stay, and undoing gives back every byte', () => {
  const file = put(join(home, '.config/zed/settings.json'), SETTINGS)
  assert.is(imago('install', 'zed', '--yes').code, 0)
  const text = readFileSync(file, 'utf8')
  for (const line of SETTINGS.split('\n').slice(0, 4)) assert.ok(text.includes(line), text)
  assert.match(text, '\t\t"imago": {\n')
  assert.is(imago('install', 'zed', '--undo', '--yes').code, 0)
  assert.is(readFileSync(file, 'utf8'), SETTINGS)
  imago('install', 'zed', '--yes')
  writeFileSync(file, readFileSync(file, 'utf8').replace('"dark"', '"light"'))
  imago('install', 'zed', '--undo', '--yes')
  const kept = readFileSync(file, 'utf8')
  assert.match(kept, '"theme": "light", // kept')
  assert.match(kept, '"other"')
  assert.not.match(kept, 'imago')
})

test('an entry of another kind is replaced, and put back when that is undone', () => {
  const own = '{ "mcpServers": { "imago": { "command": "mine", "env": { "A": "1" } } } }\n'
  const file = put(join(project(), '.mcp.json'), own)
  const shown = imago('install', 'claude-code', '--yes').stdout
  assert.match(shown, /^-.*mine/m)
  writeFileSync(file, readFileSync(file, 'utf8').replace('"mcpServers"', '"x": 1, "mcpServers"'))
  imago('install', 'claude-code', '--undo', '--yes')
  assert.equal(JSON.parse(readFileSync(file, 'utf8')), { x: 1, ...JSON.parse(own) })
})

test('keys that a person added to an entry stay with their comments, and what reaches another kind of server does not', () => {
  const own =
    '{ "mcpServers": { "imago": {\n  "env": { "A": "1" }, // mine\n  "command": "old", "timeout": 5 } } }\n'
  const file = put(join(project(), '.mcp.json'), own)
  assert.is(imago('install', 'claude-code', '--yes').code, 0)
  const text = readFileSync(file, 'utf8')
  assert.match(text, '"env": { "A": "1" }, // mine\n')
  const kept = JSON.parse(text.replace('// mine', '')).mcpServers.imago
  assert.equal({ ...kept, command: '', args: [] }, { env: { A: '1' }, command: '', timeout: 5, args: [] })
  assert.match(imago('install', 'claude-code', '--yes').stdout, 'has it already')
  imago('install', 'claude-code', '--undo', '--yes')
  assert.is(readFileSync(file, 'utf8'), own)
  writeFileSync(file, '{ "mcpServers": { "imago": { "url": "http://localhost:1/mcp", "headers": {} } } }\n')
  imago('install', 'claude-code', '--yes')
  assert.equal(Object.keys(readEntry(readFileSync(file, 'utf8'), JSON_ENTRY) ?? {}), ['command', 'args'])
  const toml = put(
    join(home, '.codex/config.toml'),
    '[mcp_servers.imago]\ncommand = "old"\nenv_vars = ["MINE"]\nstartup_timeout_sec = 9\n\n[mcp_servers.imago.env]\nA = "1"\n',
  )
  imago('install', 'codex', '--yes')
  const entry = readEntry(readFileSync(toml, 'utf8'), CODEX)
  assert.equal([entry?.startup_timeout_sec, { ...(entry?.env as object) }], [9, { A: '1' }])
  assert.equal([entry?.env_vars].flat().at(-1), 'MINE')
})

test('a wrapper on PATH is named by its name, so that no path of the machine is in a file that is committed', () => {
  const wrapper = put(join(folder, 'bin/imago'), `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`)
  chmodSync(wrapper, 0o755)
  assert.not.match(imago('install', 'claude-code', '--yes').stdout, 'do not commit it')
  assert.is(JSON.parse(readFileSync(join(project(), '.mcp.json'), 'utf8')).mcpServers.imago.command, 'imago')
  assert.equal(argsOf(), ['mcp'])
  // The imago of PyPI is another program.
  writeFileSync(wrapper, '#!/bin/sh\necho 9.9.9\n')
  assert.match(imago('install', 'claude-code', '--yes').stdout, 'paths of this machine: do not commit it')
  assert.is(argsOf()[0], join(PACKAGE_ROOT, 'dist/src/main.cjs'))
})

const rulesFile = () => join(project(), '.claude/settings.local.json')
const rulesIn = () => JSON.parse(readFileSync(rulesFile(), 'utf8').replace(/\/\/.*/g, '')).permissions.allow

test('--allow has Claude Code not ask about tools that only look, and is taken back alone', () => {
  const { stdout } = imago('install', 'claude-code', '--yes')
  assert.match(stdout, 'once you have approved it there')
  assert.match(stdout, 'imago install claude-code --allow')
  assert.not.ok(existsSync(rulesFile()))
  assert.match(imago('install', 'claude-code', '--allow', '--yes').stdout, `+++ ${rulesFile()}`)
  for (const name of ['inspect', 'job', 'threads']) assert.ok(rulesIn().includes(`mcp__imago__${name}`), name)
  for (const name of ['eval_expr', 'interrupt_job', 'read_file'])
    assert.not.ok(rulesIn().includes(`mcp__imago__${name}`), name)
  assert.match(imago('install', 'claude-code', '--allow', '--yes').stdout, 'has it already')
  imago('install', 'claude-code', '--undo', '--yes')
  assert.equal([existsSync(rulesFile()), existsSync(dirname(rulesFile()))], [false, false])
})

test('the rules of others stay with their comments, also where --allow is repeated and the file has changed since', () => {
  const own =
    '{\n  "permissions": {\n    "allow": [\n      // mine\n      "Bash(ls)", // listing\n      "mcp__imago__job"\n    ]\n  }\n}\n'
  put(rulesFile(), own)
  imago('install', 'claude-code', '--allow', '--yes')
  const text = readFileSync(rulesFile(), 'utf8')
  assert.match(text, '      // mine\n      "Bash(ls)", // listing\n      "mcp__imago__job"\n')
  imago('install', 'claude-code', '--allow', '--profile', 'full', '--yes')
  assert.ok(rulesIn().includes('mcp__imago__read_file'))
  const theirs = readFileSync(rulesFile(), 'utf8').replace('"Bash(ls)"', '"Bash(pwd)"')
  writeFileSync(rulesFile(), theirs)
  imago('install', 'claude-code', '--undo', '--yes')
  assert.is(readFileSync(rulesFile(), 'utf8'), own.replace('ls', 'pwd'))
  put(rulesFile(), '{ "permissions": { "allow": "all" } }\n')
  const refused = imago('install', 'claude-code', '--allow', '--yes')
  assert.equal([refused.code, existsSync(join(project(), '.mcp.json'))], [1, false])
  assert.match(refused.stderr, 'permissions.allow is there, and is no list')
  for (const option of ['--allow', '--hook']) assert.is(imago('install', 'zed', option, '--yes').code, 2)
})

const settingsFile = () => join(project(), '.claude/settings.json')
const HOOKS = { format: 'json', place: ['hooks'] } as const
const hooksIn = () => [readEntry(readFileSync(settingsFile(), 'utf8'), HOOKS)?.PreToolUse].flat()
const commandIn = (item: unknown) => (item as { hooks: { command: string }[] }).hooks[0]?.command ?? ''

test('--hook has Claude Code ask before its own tools by a command that a shell runs, and is taken back with the folder', () => {
  assert.match(imago('install', 'claude-code', '--hook', '--yes').stdout, `+++ ${settingsFile()}`)
  const [hook] = hooksIn()
  assert.is((hook as { matcher: string }).matcher, 'Bash|Edit|Write|NotebookEdit')
  const asked = spawnSync('sh', ['-c', commandIn(hook)], {
    input: '{"tool_name":"Bash"}',
    encoding: 'utf8',
    cwd: project(),
  })
  assert.match(asked.stdout, '"hookEventName":"PreToolUse"')
  assert.match(imago('install', 'claude-code', '--hook', '--yes').stdout, 'has it already')
  for (const [one, other] of [
    ['--hook', '--allow'],
    ['--allow', '--hook'],
  ] as const) {
    for (const option of [one, other]) imago('install', 'claude-code', option, '--yes')
    imago('install', 'claude-code', '--undo', '--yes')
    assert.not.ok(existsSync(join(project(), '.claude')))
  }
})

test('the hooks of others stay with their comments, to the byte where nobody has changed the file since', () => {
  const own =
    '{\n  "hooks": {\n    "PreToolUse": [\n      // mine\n      { "matcher": "Read", "hooks": [{ "type": "command", "command": "./look" }] } // last\n    ],\n    "Stop": []\n  }\n}\n'
  put(settingsFile(), own)
  imago('install', 'claude-code', '--hook', '--yes')
  assert.match(readFileSync(settingsFile(), 'utf8'), own.slice(own.indexOf('\n      // mine')))
  assert.equal(hooksIn().length, 2)
  imago('install', 'claude-code', '--undo', '--yes')
  assert.is(readFileSync(settingsFile(), 'utf8'), own)
  imago('install', 'claude-code', '--hook', '--yes')
  writeFileSync(settingsFile(), readFileSync(settingsFile(), 'utf8').replace('./look', './see'))
  // It is found by its name from now on.
  const wrapper = put(join(folder, 'bin/imago'), `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`)
  chmodSync(wrapper, 0o755)
  imago('install', 'claude-code', '--hook', '--yes')
  assert.equal(hooksIn().map(commandIn), ['imago hook claude-code', './see'])
  imago('install', 'claude-code', '--undo', '--yes')
  assert.is(readFileSync(settingsFile(), 'utf8'), own.replace('./look', './see'))
})

for (const hooks of ['"none"', '[]', '{ "PreToolUse": {} }'])
  test(`bad input: settings whose hooks are ${hooks} are refused, and no file is changed`, () => {
    const own = `{ "hooks": ${hooks} }\n`
    put(settingsFile(), own)
    const { code, stderr } = imago('install', 'claude-code', '--hook', '--yes')
    assert.is(code, 1)
    assert.match(stderr, /settings\.json: hooks.* is there, and is no/)
    assert.equal(
      [readFileSync(settingsFile(), 'utf8'), existsSync(join(project(), '.mcp.json'))],
      [own, false],
    )
  })

test('opencode: the file and the place that are there already are taken', () => {
  const file = put(join(project(), 'opencode.jsonc'), '{\n  // mine\n  "mcp": { "servers": {} }\n}\n')
  imago('install', 'opencode', '--yes')
  const text = readFileSync(file, 'utf8')
  const entry = readEntry(text, { format: 'json', place: ['mcp', 'servers', 'imago'] })
  assert.equal([entry?.type, [entry?.command].flat().at(-1)], ['local', 'mcp'])
  assert.match(text, '// mine')
})

test('without a terminal and without --yes the change is shown, nothing is written, and the exit code is 3', () => {
  const { code, stdout, stderr } = imago('install', 'claude-code')
  assert.is(code, 3)
  assert.match(stdout, '+++ ')
  assert.match(stderr, '--yes')
  assert.not.ok(existsSync(join(project(), '.mcp.json')))
})

test('installing twice changes nothing, and undoing what was never installed neither', () => {
  assert.match(imago('install', 'gemini', '--undo', '--yes').stdout, 'no entry of Imago')
  imago('install', 'gemini', '--yes')
  assert.match(imago('install', 'gemini', '--yes').stdout, 'has it already')
})

for (const [what, bytes] of [
  ['half a JSON text', Buffer.from('{ "mcpServers": { "a": ')],
  ['a list', Buffer.from('[1]')],
  ['servers that are a text', Buffer.from('{ "mcpServers": "none" }')],
  ['a file that is not UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
] as const)
  test(`bad input: ${what} is refused with the path of the file, and stays as it was`, () => {
    const file = put(join(project(), '.mcp.json'), bytes)
    const { code, stderr } = imago('install', 'claude-code', '--yes')
    assert.is(code, 1)
    assert.match(stderr, file)
    assert.equal(readFileSync(file), bytes)
  })

test('an unknown client is named with those that are known, and the exit code is 2', () => {
  const { code, stderr } = imago('install', 'emacs')
  assert.is(code, 2)
  assert.match(stderr, 'claude-code')
})

test('a link to the settings stays a link, and the mode of the file stays', () => {
  const real = put(join(folder, 'dotfiles/settings.json'), '{}\n')
  chmodSync(real, 0o600)
  const link = join(home, '.config/zed/settings.json')
  mkdirSync(dirname(link), { recursive: true })
  symlinkSync(real, link)
  imago('install', 'zed', '--yes')
  assert.ok(lstatSync(link).isSymbolicLink())
  assert.match(readFileSync(real, 'utf8'), 'imago')
  assert.is(statSync(real).mode & 0o777, 0o600)
  assert.equal(readdirSync(dirname(real)), ['settings.json'])
})

const policyFile = () => join(home, '.config/imago/policy.toml')
const argsOf = () => JSON.parse(readFileSync(join(project(), '.mcp.json'), 'utf8')).mcpServers.imago.args

test('--profile is what the server is started with, and an installation with another one is undone as the first', () => {
  for (const profile of ['full', 'core'] as const) {
    assert.is(imago('install', 'claude-code', '--profile', profile, '--yes').code, 0)
    assert.equal(argsOf().slice(-2), ['--profile', profile])
  }
  assert.match(imago('install', 'claude-code', '--yes').stdout, 'has it already')
  imago('install', 'claude-code', '--profile', 'live', '--yes')
  assert.equal(argsOf().at(-1), 'mcp')
  assert.is(imago('install', 'claude-code', '--undo', '--yes').code, 0)
  assert.not.ok(existsSync(join(project(), '.mcp.json')))
  const { code, stderr } = imago('install', 'claude-code', '--profile', 'all', '--yes')
  assert.is(code, 2)
  assert.match(stderr, 'core, live, full')
})

test('--profile desk is for Claude Code alone, which has to be started so that it asks, and without that once it is undone', () => {
  const { code, stdout } = imago('install', 'claude-code', '--profile', 'desk', '--yes')
  assert.is(code, 0)
  assert.equal(argsOf().slice(-2), ['--profile', 'desk'])
  assert.match(stdout, 'claude -p TEXT --permission-prompt-tool mcp__imago__permission_prompt')
  assert.match(imago('install', 'claude-code', '--undo', '--yes').stdout, 'without --permission-prompt-tool')
  const refused = imago('install', 'cursor', '--profile', 'desk', '--yes')
  assert.is(refused.code, 2)
  assert.match(refused.stderr, 'There is no profile desk for Cursor. Profiles: core, live, full.')
})

test('without a terminal the profile that is taken and the ways to choose otherwise are said', () => {
  const { stdout } = imago('install', 'claude-code')
  assert.match(stdout, 'Profile live: another one with imago install claude-code --profile core|live|full')
  assert.match(stdout, 'with --dialog it does')
})

test('--dialog shows the lines of the policy beside the entry, writes both, and both are undone', () => {
  const { code, stdout } = imago('install', 'claude-code', '--dialog', '--yes')
  assert.is(code, 0)
  for (const file of [join(project(), '.mcp.json'), policyFile()]) assert.match(stdout, `+++ ${file}`)
  assert.match(stdout, '+yes = "counts"')
  assert.match(stdout, 'imago policy accept')
  assert.is(readFileSync(policyFile(), 'utf8'), '[[client]]\nname = "claude-code"\nyes = "counts"\n')
  assert.match(imago('install', 'claude-code', '--dialog', '--yes').stdout, 'has it already')
  const undone = imago('install', 'claude-code', '--undo', '--yes').stdout
  assert.match(undone, `Undone in ${policyFile()}`)
  assert.equal([existsSync(join(project(), '.mcp.json')), existsSync(join(home, '.config'))], [false, false])
})

test('--dialog leaves the rest of the policy as it is, also where that has changed when it is undone', () => {
  const own = '# mine\n[[rule]]\ndecision = "deny"\ntool = "eval_*"'
  put(policyFile(), own)
  imago('install', 'codex', '--dialog', '--yes')
  const text = readFileSync(policyFile(), 'utf8')
  assert.ok(text.startsWith(`${own}\n\n[[client]]\nname = "codex-mcp-client"`), text)
  imago('install', 'codex', '--undo', '--yes')
  assert.is(readFileSync(policyFile(), 'utf8'), own)
  imago('install', 'codex', '--dialog', '--yes')
  writeFileSync(policyFile(), `${readFileSync(policyFile(), 'utf8')}\n[[rule]]\ndecision = "ask"\n`)
  imago('install', 'codex', '--undo', '--yes')
  assert.is(readFileSync(policyFile(), 'utf8'), `${own}\n\n[[rule]]\ndecision = "ask"\n`)
})

test('lines that another project still wants, or that a person has written, are not taken away', () => {
  const other = join(folder, 'other')
  mkdirSync(join(other, '.git'), { recursive: true })
  imago('install', 'claude-code', '--dialog', '--yes')
  imagoIn(other, 'install', 'claude-code', '--dialog', '--yes')
  imago('install', 'claude-code', '--undo', '--yes')
  assert.match(readFileSync(policyFile(), 'utf8'), 'claude-code')
  imagoIn(other, 'install', 'claude-code', '--undo', '--yes')
  assert.not.ok(existsSync(policyFile()))
  const own = '[[client]]\nyes = "counts"\nname = "claude-*"\n'
  put(policyFile(), own)
  imago('install', 'claude-code', '--dialog', '--yes')
  imago('install', 'claude-code', '--undo', '--yes')
  assert.is(readFileSync(policyFile(), 'utf8'), own)
})

for (const [what, text, said] of [
  ['is not TOML', '[[rule]\n', /not TOML/],
  [
    'has clients in one line',
    'client = [{ name = "x", yes = "counts" }]\n',
    /form to which no entry can be added/,
  ],
  ['has a seat asked for every client', '[[client]]\nname = "*"\nyes = "asks_a_seat"\n', /has a seat asked/],
] as const)
  test(`bad input: with a policy that ${what}, --dialog changes neither file`, () => {
    put(policyFile(), text)
    const { code, stderr } = imago('install', 'claude-code', '--dialog', '--yes')
    assert.is(code, 1)
    assert.match(stderr, said)
    assert.match(stderr, policyFile())
    assert.equal(
      [existsSync(join(project(), '.mcp.json')), readFileSync(policyFile(), 'utf8')],
      [false, text],
    )
  })

test('bad input: where the policy cannot be written, the entry is taken back, too', () => {
  put(join(home, '.config'), 'a file, where the folder has to be')
  const { code } = imago('install', 'claude-code', '--dialog', '--yes')
  assert.is(code, 1)
  assert.not.ok(existsSync(join(project(), '.mcp.json')))
})

test('--dialog for a client that has none of these lines is a mistake in the command', () => {
  const { code, stderr } = imago('install', 'gemini', '--dialog', '--yes')
  assert.is(code, 2)
  assert.match(stderr, 'Gemini CLI')
})

test('bad input: a configuration that is read-only is refused, and stays as it was', () => {
  const file = put(join(project(), '.mcp.json'), '{}\n')
  chmodSync(file, 0o444)
  const { code, stderr } = imago('install', 'claude-code', '--yes')
  assert.is(code, 1)
  assert.match(stderr, `${file} is read-only`)
  assert.is(readFileSync(file, 'utf8'), '{}\n')
})

test('bad input: a link to nothing is refused, and a link says what it leads to before anything is changed', () => {
  const link = join(project(), '.mcp.json')
  const real = join(folder, 'elsewhere.json')
  symlinkSync(real, link)
  const refused = imago('install', 'claude-code', '--yes')
  assert.is(refused.code, 1)
  assert.match(refused.stderr, 'is a link to nothing')
  assert.not.ok(existsSync(real))
  writeFileSync(real, '{}\n')
  assert.match(imago('install', 'claude-code').stdout, `${link} is a link. What changes is ${real}`)
})

/** Answers at a terminal, each once its question is there; `before` is run before the answer to the last. */
async function atTerminal(
  args: readonly string[],
  answers: readonly string[],
  before: () => void = () => {},
) {
  const relay = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))'
  const child = spawn('python3', ['-c', relay, process.execPath, MAIN, 'install', ...args], {
    cwd: project(),
    env: {
      PATH: process.env.PATH,
      HOME: home,
      XDG_CACHE_HOME: lispCache,
      IMAGO_STATE_DIR: join(folder, 'state'),
      TERM: 'dumb',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  let [text, seen] = ['', 0]
  const left = [...answers]
  child.stdout.setEncoding('utf8').on('data', (data: string) => {
    text += data
    const at = text.indexOf('] ', seen) < 0 ? text.indexOf(']: ', seen) : text.indexOf('] ', seen)
    if (at < 0 || left.length === 0) return
    seen = at + 3
    if (left.length === 1) before()
    child.stdin.write(`${left.shift()}\n`)
  })
  const code = await new Promise<number | null>(resolve => child.on('close', resolve))
  return { code, text }
}

test('a person at a terminal is asked which tools, and whether a yes at the dialog counts, whether there is to be a hook, and then about all changes', async () => {
  const { code, text } = await atTerminal(['claude-code'], ['full', 'y', 'y', 'y'])
  assert.is(code, 0, text)
  for (const name of ['core', 'live', 'full']) assert.match(text, new RegExp(`^  ${name} `, 'm'))
  assert.match(text, 'a hook in the settings of Claude Code')
  assert.equal(argsOf().slice(-2), ['--profile', 'full'])
  assert.match(readFileSync(policyFile(), 'utf8'), 'yes = "counts"')
  assert.match(commandIn(hooksIn()[0]), / hook claude-code$/)
})

test('a person who only presses Enter gets the default tools, no line in the policy, and no change without a y', async () => {
  const { code, text } = await atTerminal(['claude-code'], ['', '', '', ''])
  assert.is(code, 3, text)
  assert.match(text, '"mcp"')
  assert.not.match(text, '--profile')
  assert.not.match(text, 'counts"')
  assert.not.ok(existsSync(join(project(), '.mcp.json')))
})

test('bad input: a configuration that is changed between showing and writing is left as it is then, and so is the policy', async () => {
  const file = put(join(project(), '.mcp.json'), '{}\n')
  const theirs = () => writeFileSync(file, '{ "mcpServers": { "theirs": {} } }\n')
  const { code, text } = await atTerminal(
    ['claude-code', '--profile', 'full', '--dialog', '--hook'],
    ['y'],
    theirs,
  )
  assert.is(code, 1, text)
  assert.match(text, 'was changed by somebody else meanwhile')
  assert.match(readFileSync(file, 'utf8'), 'theirs')
  assert.not.ok(existsSync(policyFile()))
})

test('bad input: a configuration that becomes a link between showing and writing is not followed', async () => {
  const file = put(join(project(), '.mcp.json'), '{}\n')
  const real = put(join(folder, 'elsewhere.json'), '{}\n')
  const { code, text } = await atTerminal(
    ['claude-code', '--profile', 'full', '--dialog', '--hook'],
    ['y'],
    () => {
      rmSync(file)
      symlinkSync(real, file)
    },
  )
  assert.is(code, 1, text)
  assert.is(readFileSync(real, 'utf8'), '{}\n')
})

const ENTRY = { command: 'imago', args: ['mcp'] }

for (const [what, text] of [
  ['an empty file', ''],
  ['other tables and comments', '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y" # z\n'],
  ['no newline at the end', 'model = "x"'],
  ['Windows line ends', 'model = "x"\r\n[a]\r\nb = 1\r\n'],
  ['a date and a large number', 'at = 2026-01-01T00:00:00Z\nn = 9007199254740993\n'],
] as const)
  test(`TOML with ${what}: the table is added, all else stays to the byte, and taking it back gives the text again`, () => {
    const change = changeEntry(text, CODEX, ENTRY)
    const result = applied(text, change)
    assert.ok(result.startsWith(text))
    assert.equal({ ...readEntry(result, CODEX) }, ENTRY)
    assert.is(applied(result, inverse(change)), text)
  })

test('TOML: an older table with its subtable is replaced where it stands, between its neighbours', () => {
  const text =
    '[a]\nx = 1\n\n[mcp_servers.imago]\ncommand = "old"\n\n[mcp_servers.imago.env]\nA = "1"\n\n[b]\ny = 2\n'
  const result = applied(text, changeEntry(text, CODEX, ENTRY))
  assert.match(
    result,
    /\[a\]\nx = 1\n\n\[mcp_servers\.imago\]\ncommand = "imago"\nargs = \[ "mcp" \]\n\n\[b\]\ny = 2\n/,
  )
  assert.is(applied(text, changeEntry(text, CODEX, undefined)), '[a]\nx = 1\n\n[b]\ny = 2\n')
})

test('TOML: comments of others after the entry stay when it is replaced or taken away', () => {
  const text =
    '[mcp_servers.imago]\ncommand = "old" # x\n# within\nargs = []\n\n# my own server\n[b]\ny = 2\n# last\n'
  assert.is(applied(text, changeEntry(text, CODEX, undefined)), '# my own server\n[b]\ny = 2\n# last\n')
  assert.match(applied(text, changeEntry(text, CODEX, ENTRY)), /args = \[ "mcp" \]\n\n# my own server\n\[b\]/)
})

test('TOML: comments within an entry stay, beside keys that change and within a list that grows', () => {
  const own = [
    '[mcp_servers.imago] # ours',
    '# how it is started',
    'command = "old" # not this one',
    'args = [ "mcp" ]   # no profile',
    'env_vars = [',
    '  "MINE", # for the # tests',
    ']',
    'startup_timeout_sec = 9 # slow disk',
    '',
    '[mcp_servers.imago.env]',
    'A = "1" # a',
    '',
    '# another',
    '[b]',
    'y = 2',
    '',
  ].join('\n')
  const file = put(join(home, '.codex/config.toml'), own)
  assert.match(imago('install', 'codex', '--yes').stdout, 'imago install codex --allow')
  const text = readFileSync(file, 'utf8')
  const comments = (one: string) => one.match(/#.*$/gm)
  assert.equal(comments(text), comments(own))
  assert.equal([readEntry(text, CODEX)?.env_vars].flat().at(-1), 'MINE')
  assert.is(imago('install', 'codex', '--allow', '--yes').code, 0)
  const allowing = readFileSync(file, 'utf8')
  assert.equal(comments(allowing), comments(own))
  const { tools } = readEntry(allowing, CODEX) as { tools: Record<string, object> }
  assert.equal({ ...tools.inspect }, { approval_mode: 'approve' })
  assert.is(tools.eval_expr, undefined)
  // A person has changed the file since: what is ours goes, what they wrote stays.
  writeFileSync(file, allowing.replace('y = 2', 'y = 3'))
  assert.is(imago('install', 'codex', '--undo', '--yes').code, 0)
  const undone = readFileSync(file, 'utf8')
  assert.equal([comments(undone), undone.includes('tools')], [comments(own), false])
})

test('--allow has Cline not ask about tools that only look, beside those that a person has allowed', () => {
  const file = put(
    join(home, '.cline/data/settings/cline_mcp_settings.json'),
    '{ "mcpServers": { "imago": { "command": "old", "autoApprove": ["mine"] } } }\n',
  )
  imago('install', 'cline', '--allow', '--yes')
  const allowed = [readEntry(readFileSync(file, 'utf8'), JSON_ENTRY)?.autoApprove].flat()
  assert.equal(
    ['inspect', 'mine', 'eval_expr'].map(one => allowed.includes(one)),
    [true, true, false],
  )
})

test('where there is no project, an entry that would name one is refused', () => {
  rmSync(join(project(), '.git'), { recursive: true })
  const { code, stderr } = imagoIn(home, 'install', 'cursor', '--yes')
  assert.is(code, 2)
  assert.match(stderr, 'folder of your project')
  assert.is(existsSync(join(home, '.cursor')), false)
  assert.is(imagoIn(home, 'install', 'codex', '--yes').code, 0)
  const written = readFileSync(join(home, '.codex/config.toml'), 'utf8')
  assert.match(written, /^env_vars = \[ "IMAGO_RUNTIME_DIR",.* "XDG_RUNTIME_DIR",/m)
})

test('TOML: an entry in a form that cannot be changed alone is refused', () => {
  const inline = 'mcp_servers = { imago = { command = "old" }, other = { command = "y" } }\n'
  assert.throws(() => changeEntry(inline, CODEX, ENTRY), /mcp_servers is written in a form/)
  const looksLike = 'text = """\n[mcp_servers.imago]\n"""\n'
  assert.throws(() => changeEntry(looksLike, CODEX, ENTRY), /cannot be changed|written in a form/)
})

/** Stands for Python and its pip: makes the environment that it is told to, and notes what pip is asked for. */
const PYTHON_WITH_PIP = `#!/bin/sh
case "$2" in
  venv) mkdir -p "$4/bin" && cp "$0" "$4/bin/python" ;;
  pip) echo "$@" >> "$PIP_NOTES" ; [ ! -e "$PIP_NOTES.fails" ] ;;
esac
`

test('an engine is installed once, in the versions that are tested, and taken away again', () => {
  chmodSync(put(join(folder, 'bin/python3.13'), PYTHON_WITH_PIP), 0o755)
  const notes = join(folder, 'notes')
  const installed = () => existsSync(join(folder, 'state/mathics'))
  put(`${notes}.fails`, '')
  assert.is(imago('install', 'wolfram', '--yes').code, 1)
  assert.is(installed(), false)
  rmSync(`${notes}.fails`)
  assert.is(imago('install', 'wolfram').code, 3)
  assert.is(installed(), false)
  const first = imago('install', 'wolfram', '--yes')
  assert.is(first.code, 0, first.stderr)
  assert.match(first.stdout, 'It is there. Start a kernel with: imago start wolfram.')
  const asked = readFileSync(notes, 'utf8').trim().split('\n')
  assert.is(asked.length, 2)
  const [, requirements = ''] = / -r (\S+)$/.exec(asked[1] ?? '') ?? []
  assert.match(readFileSync(requirements, 'utf8'), /^Mathics3==\d/m)
  assert.not.match(readFileSync(requirements, 'utf8'), /^[^#=]+$/m)
  const again = imago('install', 'wolfram')
  assert.is(again.code, 0)
  assert.match(again.stdout, 'It is there already')
  assert.is(readFileSync(notes, 'utf8').trim().split('\n').length, 2)
  assert.is(imago('install', 'wolfram', '--undo').code, 0)
  assert.is(installed(), false)
})
