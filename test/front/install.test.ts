import { spawnSync } from 'node:child_process'
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

const test = suite('imago install')

let folder = ''
let home = ''
test.before.each(() => {
  folder = mkdtempSync(join(tmpdir(), 'imago-install-'))
  home = join(folder, 'home')
  mkdirSync(join(folder, 'project', '.git'), { recursive: true })
  mkdirSync(home)
})
test.after.each(() => rmSync(folder, { recursive: true, force: true }))

const project = () => join(folder, 'project')

const imago = (...args: string[]) => imagoIn(project(), ...args)

function imagoIn(cwd: string, ...args: string[]) {
  const main = join(PACKAGE_ROOT, 'dist/src/main.js')
  const env = { PATH: process.env.PATH, HOME: home, IMAGO_STATE_DIR: join(folder, 'state') }
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    cwd,
    env,
    encoding: 'utf8',
    input: '',
  })
  return { code: status, stdout, stderr }
}

function put(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
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
  test(`${host.name}: the entry is written where the client looks, and undoing it leaves no file behind`, () => {
    const file = host.file({ root: project(), env: { HOME: home }, platform: process.platform })
    const done = imago('install', host.name, '--yes')
    assert.is(done.code, 0, done.stderr)
    const text = readFileSync(file, 'utf8')
    const entry = readEntry(text, host)
    const args = entry?.args as string[]
    assert.ok(args.includes('mcp'))
    assert.is(args.includes('--root'), !host.startsInProject)
    assert.match(done.stdout, text.split('\n')[1] ?? '')
    assert.is(imago('install', host.name, '--undo', '--yes').code, 0)
    assert.is(existsSync(file), false)
  })

test('the entry that is written starts an MCP server', () => {
  imago('install', 'cursor', '--yes')
  const { mcpServers } = JSON.parse(readFileSync(join(project(), '.cursor/mcp.json'), 'utf8'))
  const { command, args } = mcpServers.imago
  const hello = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  }
  const input = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello })}\n`
  const dirs = {
    IMAGO_RUNTIME_DIR: join(folder, 'r'),
    IMAGO_STATE_DIR: join(folder, 's'),
    IMAGO_CONFIG_DIR: join(folder, 'c'),
  }
  const env = { PATH: process.env.PATH, HOME: home, ...dirs }
  try {
    const { stdout } = spawnSync(command, args, { cwd: '/', env, input, encoding: 'utf8', timeout: 15_000 })
    assert.match(stdout, /"serverInfo":\{"name":"imago"/)
  } finally {
    spawnSync(process.execPath, [join(PACKAGE_ROOT, 'dist/src/main.js'), 'shutdown'], {
      env,
      encoding: 'utf8',
    })
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
})

test('what is written after the installation is kept when it is undone', () => {
  const file = put(join(home, '.config/zed/settings.json'), SETTINGS)
  imago('install', 'zed', '--yes')
  writeFileSync(file, readFileSync(file, 'utf8').replace('"dark"', '"light"'))
  assert.is(imago('install', 'zed', '--undo', '--yes').code, 0)
  const text = readFileSync(file, 'utf8')
  assert.match(text, '"theme": "light", // kept')
  assert.not.match(text, 'imago')
  assert.match(text, '"other"')
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

test('without a terminal and without --yes the change is shown, nothing is written, and the exit code is 3', () => {
  const { code, stdout, stderr } = imago('install', 'claude-code')
  assert.is(code, 3)
  assert.match(stdout, '+++ ')
  assert.match(stderr, '--yes')
  assert.is(existsSync(join(project(), '.mcp.json')), false)
})

test('installing twice changes nothing, and undoing what was never installed neither', () => {
  assert.match(imago('install', 'gemini', '--undo', '--yes').stdout, 'no entry of Imago')
  imago('install', 'gemini', '--yes')
  assert.match(imago('install', 'gemini', '--yes').stdout, 'has it already')
})

for (const [what, text] of [
  ['half a JSON text', '{ "mcpServers": { "a": '],
  ['a list', '[1]'],
  ['servers that are a text', '{ "mcpServers": "none" }'],
] as const)
  test(`bad input: ${what} is refused with the path of the file, and stays as it was`, () => {
    const file = put(join(project(), '.mcp.json'), text)
    const { code, stderr } = imago('install', 'claude-code', '--yes')
    assert.is(code, 1)
    assert.match(stderr, file)
    assert.match(stderr, 'Nothing was changed')
    assert.is(readFileSync(file, 'utf8'), text)
  })

test('bad input: a file that is not UTF-8 is refused and stays as it was', () => {
  const file = put(join(project(), '.mcp.json'), '')
  writeFileSync(file, Buffer.from([0x7b, 0xff, 0x7d]))
  assert.is(imago('install', 'claude-code', '--yes').code, 1)
  assert.equal([...readFileSync(file)], [0x7b, 0xff, 0x7d])
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

const CODEX = { format: 'toml', place: ['mcp_servers', 'imago'] } as const
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

test('undoing takes away the folders that were made, and no others', () => {
  mkdirSync(join(home, '.codex'))
  imago('install', 'codex', '--yes')
  imago('install', 'cursor', '--yes')
  imago('install', 'codex', '--undo', '--yes')
  imago('install', 'cursor', '--undo', '--yes')
  assert.is(existsSync(join(home, '.codex')), true)
  assert.is(existsSync(join(project(), '.cursor')), false)
})

test('where there is no project, an entry that would name one is refused', () => {
  rmSync(join(project(), '.git'), { recursive: true })
  const { code, stderr } = imagoIn(home, 'install', 'cursor', '--yes')
  assert.is(code, 2)
  assert.match(stderr, 'folder of your project')
  assert.is(existsSync(join(home, '.cursor')), false)
  assert.is(imagoIn(home, 'install', 'codex', '--yes').code, 0)
})

test('TOML: an entry in a form that cannot be changed alone is refused', () => {
  const inline = 'mcp_servers = { imago = { command = "old" }, other = { command = "y" } }\n'
  assert.throws(() => changeEntry(inline, CODEX, ENTRY), /mcp_servers is written in a form/)
  const looksLike = 'text = """\n[mcp_servers.imago]\n"""\n'
  assert.throws(() => changeEntry(looksLike, CODEX, ENTRY), /cannot be changed|written in a form/)
})
