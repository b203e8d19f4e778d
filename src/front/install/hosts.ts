import { homedir } from 'node:os'
import { join } from 'node:path'

/** One way of starting the MCP server: a program and its arguments. */
export interface Server {
  readonly command: string
  readonly args: readonly string[]
}

/** One MCP client: where its configuration is, and what an entry in it looks like. */
export interface Host {
  readonly name: string
  readonly label: string
  readonly format: 'json' | 'toml'
  /** Whether the file belongs to one project or to the user. */
  readonly scope: 'project' | 'user'
  /** Where the entry stands in the file. */
  readonly place: readonly string[]
  /** Whether the client starts its servers in the project; where it does not, the entry names the project. */
  readonly startsInProject: boolean
  file(where: Where): string
  entry(server: Server): Readonly<Record<string, unknown>>
}

export interface Where {
  readonly root: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly platform: NodeJS.Platform
}

const plain = ({ command, args }: Server) => ({ command, args })
const home = ({ env }: Where) => env.HOME || homedir()
const configHome = (where: Where) => where.env.XDG_CONFIG_HOME || join(home(where), '.config')

/** The clients whose configuration is known, as their documentation describes it (docs/mcp.md). */
export const HOSTS: readonly Host[] = [
  {
    name: 'claude-code',
    label: 'Claude Code',
    format: 'json',
    scope: 'project',
    place: ['mcpServers', 'imago'],
    startsInProject: true,
    file: ({ root }) => join(root, '.mcp.json'),
    entry: plain,
  },
  {
    name: 'claude-desktop',
    label: 'Claude Desktop',
    format: 'json',
    scope: 'user',
    place: ['mcpServers', 'imago'],
    startsInProject: false,
    file: where =>
      where.platform === 'darwin'
        ? join(home(where), 'Library/Application Support/Claude/claude_desktop_config.json')
        : join(configHome(where), 'Claude/claude_desktop_config.json'),
    entry: plain,
  },
  {
    name: 'codex',
    label: 'Codex',
    format: 'toml',
    scope: 'user',
    place: ['mcp_servers', 'imago'],
    startsInProject: true,
    file: where => join(where.env.CODEX_HOME || join(home(where), '.codex'), 'config.toml'),
    entry: plain,
  },
  {
    name: 'cursor',
    label: 'Cursor',
    format: 'json',
    scope: 'project',
    place: ['mcpServers', 'imago'],
    startsInProject: false,
    file: ({ root }) => join(root, '.cursor/mcp.json'),
    entry: plain,
  },
  {
    name: 'gemini',
    label: 'Gemini CLI',
    format: 'json',
    scope: 'project',
    place: ['mcpServers', 'imago'],
    startsInProject: true,
    file: ({ root }) => join(root, '.gemini/settings.json'),
    entry: plain,
  },
  {
    name: 'vscode',
    label: 'VS Code',
    format: 'json',
    scope: 'project',
    place: ['servers', 'imago'],
    startsInProject: false,
    file: ({ root }) => join(root, '.vscode/mcp.json'),
    entry: server => ({ type: 'stdio', ...plain(server) }),
  },
  {
    name: 'zed',
    label: 'Zed',
    format: 'json',
    scope: 'user',
    place: ['context_servers', 'imago'],
    startsInProject: false,
    file: where => join(configHome(where), 'zed/settings.json'),
    entry: plain,
  },
]

/** The entry of one client for one project: what it starts, and where. */
export function entryFor(host: Host, { root, server }: { root: string; server: Server }) {
  const args = host.startsInProject ? server.args : [...server.args, '--root', root]
  return host.entry({ ...server, args })
}
