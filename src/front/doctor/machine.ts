import { spawnSync } from 'node:child_process'
import { accessSync, constants, lstatSync, readFileSync, realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { TOOLS } from '../../../tools/index.ts'
import { readConfig } from '../../config.ts'
import { openPolicy } from '../../core/policy.ts'
import { openRegistry } from '../../core/registry.ts'
import { Failure, messageOf } from '../../failure.ts'
import { PACKAGE_ROOT, type Paths, prepareRuntimeDir, prepareStateDir, VERSION } from '../../paths.ts'
import { readEntry } from '../install/document.ts'
import { readIfThere } from '../install/file.ts'
import { HOSTS, type Host, type Where } from '../install/hosts.ts'
import type { Area, Check } from './check.ts'

/** This program itself: its version, its Node, and whether a shell finds it. */
export function checkProgram(env: Where['env']): Area {
  const main = join(PACKAGE_ROOT, 'dist/src/main.js')
  const found = (env.PATH ?? '')
    .split(delimiter)
    .map(folder => join(folder, 'imago'))
    .find(isProgram)
  const path: Check =
    found === undefined
      ? {
          name: 'on the PATH',
          state: 'missing',
          found: 'no',
          gives: '`imago` in every shell and in MCP clients',
          fix: `npm link   (in ${PACKAGE_ROOT})`,
        }
      : realpathSync(found) === realpathSync(main)
        ? { name: 'on the PATH', state: 'ok', found }
        : {
            name: 'on the PATH',
            state: 'broken',
            found: `${found} is another one than this (${main})`,
            fix: `npm link   (in ${PACKAGE_ROOT})`,
          }
  return {
    title: 'Program',
    checks: [{ name: 'imago', state: 'ok', found: VERSION }, checkNode(process.versions.node), path],
  }
}

/** Whether Node is of a version that package.json allows. */
export function checkNode(version: string): Check {
  const { engines } = JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8')) as {
    engines: { node: string }
  }
  const least = engines.node.replace(/[^\d.]/g, '')
  const enough = version.localeCompare(least, undefined, { numeric: true }) >= 0
  const found = `${version} (${engines.node} is needed)`
  return enough
    ? { name: 'node', state: 'ok', found }
    : {
        name: 'node',
        state: 'broken',
        found,
        fix: `install Node ${least} or newer, from nodejs.org or your package manager`,
      }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The Python that a shell finds, where no kernel can be started to ask it. */
export function findInterpreter(): Check {
  const { stdout, error } = spawnSync('python3', ['--version'], { encoding: 'utf8', timeout: 5_000 })
  const fix = 'install Python 3.9 or newer'
  if (error !== undefined)
    return { name: 'interpreter', state: 'broken', found: 'there is no python3 on the PATH', fix }
  return { name: 'interpreter', state: 'ok', found: `${stdout.trim()} on the PATH` }
}

/** The directories of this user, made as a daemon makes them, and the settings in them and in the project. */
export function checkFolders(paths: Paths, root: string): Area {
  const { configDir } = paths
  const lists = 'docs/configuration.md lists all that can stand there'
  return {
    title: 'Folders and settings',
    checks: [
      attempt('sockets', 'set IMAGO_RUNTIME_DIR to a short directory of your own', () => socketsOf(paths)),
      attempt('state', 'set IMAGO_STATE_DIR to a directory of your own', () => {
        prepareStateDir(paths)
        return paths.stateDir
      }),
      attempt('config.toml', `mend that line; ${lists}`, () => {
        readConfig(configDir)
        return where(join(configDir, 'config.toml'))
      }),
      attempt('policy', `mend that file; ${lists}`, () => {
        const { problem } = openPolicy(configDir, { tools: openRegistry(TOOLS) }).rulesFor(root)
        if (problem !== undefined) throw new Failure(problem)
        return `${where(join(configDir, 'policy.toml'))}; of the project: ${where(join(root, 'imago.toml'))}`
      }),
    ],
  }
}

function attempt(name: string, fix: string, work: () => string): Check {
  try {
    return { name, state: 'ok', found: work() }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { name, state: 'broken', found: error.message.replaceAll(/\s*\n\s*/g, ' '), fix }
  }
}

/** Every command closes a directory that others can enter, this one too. */
function socketsOf(paths: Paths): string {
  const { runtimeDir } = paths
  const before = lstatSync(runtimeDir, { throwIfNoEntry: false })?.isDirectory() ? modeOf(runtimeDir) : '0700'
  prepareRuntimeDir(paths)
  const now = modeOf(runtimeDir)
  return before === now
    ? `${runtimeDir} (${now}, only yours)`
    : `${runtimeDir} (was ${before}, open to others; is ${now} now)`
}

const modeOf = (path: string) => (lstatSync(path).mode & 0o777).toString(8).padStart(4, '0')
const where = (path: string) => (readIfThere(path) === undefined ? `${path} (none: defaults hold)` : path)

/** In which MCP clients of this user and project Imago is entered, and whether what is entered is there. */
export function checkClients(where: Where): Area {
  const checks = HOSTS.map(host => checkClient(host, where))
  const without = checks.filter(({ state }) => state === 'missing').map(({ name }) => name)
  const rest: Check = {
    name: 'others',
    state: 'missing',
    found: `no entry for ${without.join(', ')}`,
    gives: 'the model of that client sees the running program',
    fix: 'imago install CLIENT',
  }
  const entered = checks.filter(({ state }) => state !== 'missing')
  return { title: 'MCP clients', checks: without.length === 0 ? entered : [...entered, rest] }
}

function checkClient(host: Host, where: Where): Check {
  const { name } = host
  const file = host.file(where)
  try {
    const entry = readEntry(readIfThere(file) ?? '', host)
    if (entry === undefined) return { name, state: 'missing', found: file }
    const command = String(entry.command)
    if (isThere(command, where.env)) return { name, state: 'ok', found: file }
    const found = `${file} starts ${command}, which is not there`
    return { name, state: 'broken', found, fix: `imago install ${name}` }
  } catch (error) {
    const fix = `mend it by hand, as docs/mcp.md shows it, or remove it and: imago install ${name}`
    return { name, state: 'broken', found: `${file}: ${messageOf(error)}`, fix }
  }
}

function isThere(command: string, env: Where['env']): boolean {
  if (command.includes('/')) return isProgram(command)
  return (env.PATH ?? '').split(delimiter).some(folder => isProgram(join(folder, command)))
}
