import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { PACKAGE_ROOT } from '../../src/paths.ts'
import { openBrowser } from './browser.ts'
import { MAIN, type Rig } from './rig.ts'

/** VS Code for a browser, as npm has it, and the Node that it runs on. */
export const CODE_SERVER = '4.139.1'
const NODE = '24.22.3'

/** What a window would show beside the project. */
const QUIET = {
  'files.autoSave': 'off',
  'workbench.startupEditor': 'none',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'chat.disableAIFeatures': true,
  'workbench.layoutControl.enabled': false,
}

const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'imago-tests')
const folder = join(cache, `code-server-${CODE_SERVER}`)
const modules = join(folder, 'node_modules')
const node = join(modules, `node-linux-${process.arch}/bin/node`)
const entry = join(modules, 'code-server/out/node/entry.js')

/** A window of a real VS Code in Chromium, with the extension as `npm run vsix` packs it. */
export interface VsCodeWindow {
  readonly page: Page
  close(): Promise<void>
}

/** Installs code-server into the cache of the user, once; 800 MB there. No scripts of packages run. */
export function installCodeServer(): void {
  if (existsSync(join(folder, 'installed'))) return
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  console.log(`installing code-server ${CODE_SERVER} into ${folder}`)
  const npm = (where: string, ...args: string[]) =>
    run('npm', ['install', '--prefix', where, '--ignore-scripts', '--no-audit', '--no-fund', ...args])
  npm(folder, `node-linux-${process.arch}@${NODE}`, `code-server@${CODE_SERVER}`)
  // What its own script would do, without modules to compile: it goes without those.
  npm(join(modules, 'code-server/lib/vscode'), '--omit=dev')
  writeFileSync(join(folder, 'installed'), '')
}

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', env })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? stderr}`)
  return stdout
}

/** Opens the project of the rig in a window that has nothing but the extension. */
export async function openVsCode(rig: Rig): Promise<VsCodeWindow> {
  const own = mkdtempSync(join(tmpdir(), 'imago-vscode-'))
  const command = join(own, 'imago')
  writeFileSync(command, `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`, { mode: 0o755 })
  const settings = (of: string, all: object) => {
    mkdirSync(join(own, 'data', of), { recursive: true })
    writeFileSync(join(own, 'data', of, 'settings.json'), JSON.stringify(all))
  }
  settings('User', QUIET)
  settings('Machine', { 'imago.command': command })
  const env = { ...rig.env, PATH: process.env.PATH, XDG_CONFIG_HOME: join(own, 'config') }
  const places = ['--user-data-dir', join(own, 'data'), '--extensions-dir', join(own, 'extensions')]
  const vsix = run(process.execPath, [join(PACKAGE_ROOT, 'editors/vscode/vsix.mjs'), own]).trim()
  run(node, [entry, ...places, '--install-extension', vsix], env)
  const quiet = ['--disable-telemetry', '--disable-update-check', '--disable-workspace-trust']
  const server = spawn(node, [entry, ...places, ...quiet, '--auth', 'none', '--bind-addr', '127.0.0.1:0'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const address = await new Promise<string>((resolve, reject) => {
    let said = ''
    server.once('exit', code => reject(new Error(`code-server ended with ${code}: ${said}`)))
    for (const pipe of [server.stdout, server.stderr])
      pipe.on('data', (data: Buffer) => {
        said += data
        const [, found] = /HTTP server listening on (http:\S+)/.exec(said) ?? []
        if (found !== undefined) resolve(found)
      })
  })
  const browser = await openBrowser()
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  page.setDefaultTimeout(20_000)
  await page.goto(`${address}?folder=${encodeURIComponent(rig.project)}`)
  await page.locator('.monaco-workbench').waitFor()
  return {
    page,
    async close() {
      await browser.close()
      server.kill()
      await new Promise(resolve => server.once('exit', resolve))
      rmSync(own, { recursive: true, force: true })
    },
  }
}
