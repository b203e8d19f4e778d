import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openRig } from '../support/rig.ts'
import { openScreen } from '../support/screen.ts'
import { openModel } from './model.mjs'

/**
 * `node --import tsx test/hosts/dialog.mjs BIN`: a person at the dialog of the real Claude Code, which asks about a file
 * that its model wants to write. `imago install --dialog` has let a yes there count. Writes what the person saw, and what
 * the journal says, to `captured/claude-code-dialog.txt`. Needs `npm run build`.
 */
const [bin = ''] = process.argv.slice(2)
const KEY = 'sk-ant-none'
const rig = openRig()
const { project } = rig
const home = rig.env.HOME ?? ''
const call = { tool: 'write_file', args: { path: 'hello.txt', content: 'one\ntwo\n' } }
const model = await openModel({ server: 'imago', calls: [call], search: '' })
const put = (file, settings) => writeFileSync(join(home, file), JSON.stringify(settings))
try {
  await rig.imago(['install', 'claude-code', '--profile', 'full', '--dialog', '--yes'])
  await rig.imago(['kernels'])
  mkdirSync(join(home, '.claude'), { recursive: true })
  put('.claude.json', {
    hasCompletedOnboarding: true,
    theme: 'dark',
    customApiKeyResponses: { approved: [KEY], rejected: [] },
    projects: { [project]: { hasTrustDialogAccepted: true, enabledMcpjsonServers: ['imago'] } },
  })
  put('.claude/settings.json', { enableAllProjectMcpServers: true, permissions: { allow: ['mcp__imago'] } })
  const screen = openScreen(rig, {
    columns: 110,
    rows: 48,
    env: {
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: KEY,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    },
    command: [join(bin, 'claude')],
  })
  const presses = async (keys, shown) => {
    screen.type(keys)
    await screen.shows(shown)
  }
  await screen.shows('? for shortcuts')
  // Servers are connected in the background, and the screen does not say when.
  await new Promise(done => setTimeout(done, 8_000))
  await presses('go', /❯\sgo/)
  await presses('\r', 'requests your input')
  await presses('\x1b[C', /❯\s◯\sDeny/)
  await presses('\x1b[B', /❯\s◯\sApprove/)
  await presses('\r', /✔\sDecision:\sApprove/)
  await presses('\x1b[B\x1b[B', /❯\sAccept/)
  const seen = screen.text()
  await presses('\r', '● done')
  screen.close()
  const { stdout } = await rig.imago(['log'])
  const text = `${seen.slice(seen.indexOf('  MCP server'))}\n\n${stdout}`
  writeFileSync(
    join(import.meta.dirname, 'captured/claude-code-dialog.txt'),
    text.replaceAll(project, '/home/ada/shop').replaceAll(rig.folder, '/home/ada'),
  )
} finally {
  model.close()
  await rig.close()
}
