import { lstatSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { TOOLS } from '../../../tools/index.ts'
import { counted, duration } from '../../../tools/text.ts'
import { messageOf } from '../../../wire/errors.ts'
import {
  DEFAULT_LANGUAGE,
  LANGUAGES,
  type Language,
  languageNamed,
  namesOf,
} from '../../../wire/languages.ts'
import { readConfig } from '../../config.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { realOf } from '../../files/roots.ts'
import type { KernelRow } from '../../kernels/rows.ts'
import {
  findPaths,
  findRoot,
  isProgram,
  onPath,
  PACKAGE_ROOT,
  type Paths,
  PROGRAM,
  prepareRuntimeDir,
  prepareStateDir,
  VERSION,
} from '../../paths.ts'
import { openPolicy } from '../../policy/policy.ts'
import { openRegistry } from '../../registry/registry.ts'
import { connectDaemon, type DaemonClient } from '../client.ts'
import type { CommandInput } from '../command.ts'
import { frontLanguage } from '../languages.ts'
import { printEnvelope } from '../print.ts'
import { type Area, type Check, milliseconds } from './language-checks.ts'
import { HOSTS, type Host, readEntry, readIfThere, type Where } from './mcp-clients.ts'

/**
 * `imago doctor [LANGUAGE]`: what is there, what is missing and what that would give, and what does not work, each with
 * the line that mends it. It starts the daemon, as every command does, and a kernel of its own that ends again: of
 * Python, unless another language is named, or with `--all` of each. Exit code 1 if something is broken; nothing is
 * changed.
 */
export async function doctor({ operands, options, printer }: CommandInput): Promise<ExitCode> {
  const languages = languagesAsked(operands[0], options.all)
  const root = findRoot(process.cwd())
  const [paths, env] = [findPaths(), process.env]
  const folders = checkFolders(paths, root)
  const areas = [
    checkProgram(env),
    folders,
    ...(folders.checks.some(isBroken)
      ? await withoutDaemon(languages, 'the folders and settings above do not work')
      : await checkLive(languages, { root, paths })),
    checkClients({ root, env, platform: process.platform }),
  ]
  if (options.json) printEnvelope(printer, { ok: true, result: { areas } })
  else printer.out(showAreas(areas, languages))
  return areas.some(({ checks }) => checks.some(isBroken)) ? EXIT.failed : EXIT.done
}

/** Those whose kernels are tried: what takes long is only done for who wants it. */
function languagesAsked(named: string | undefined, all = false): readonly Language[] {
  if (all) return LANGUAGES
  if (named === undefined) return [DEFAULT_LANGUAGE]
  const language = languageNamed(named)
  if (language !== undefined) return [language]
  throw new Failure(`There is no language ${named}. Languages: ${namesOf().join(', ')}.`, {
    exit: EXIT.usage,
  })
}

async function checkLive(
  languages: readonly Language[],
  { root, paths }: { readonly root: string; readonly paths: Paths },
): Promise<readonly Area[]> {
  try {
    await using client = await connectDaemon({ name: 'imago doctor', start: 'if-needed', root })
    const daemon = await checkDaemon(client, paths)
    const [areas, kernels] = await Promise.all([checkLanguages(client, languages), checkKernels(client)])
    return [daemon, ...areas, kernels]
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const fix = 'imago serve   (shows why it does not start)'
    const daemon: Check = { name: 'answers', state: 'broken', found: messageOf(error), fix }
    return [
      { title: 'Daemon', checks: [daemon] },
      ...(await withoutDaemon(languages, 'the daemon does not answer')).slice(1),
    ]
  }
}

/** One after the other, as each starts a kernel. */
async function checkLanguages(
  client: DaemonClient,
  languages: readonly Language[],
): Promise<readonly Area[]> {
  const areas: Area[] = []
  for (const language of languages) {
    const area = await frontLanguage(language.name)?.check(client, language)
    if (area !== undefined) areas.push(area)
  }
  return areas
}

const isBroken = ({ state }: Check) => state === 'broken'

/** What can be told when there is no daemon to ask. */
async function withoutDaemon(wanted: readonly Language[], why: string): Promise<readonly Area[]> {
  const unknown = (name: string): Check => ({ name, state: 'unknown', found: `not checked, because ${why}` })
  const languages = await Promise.all(
    wanted.map(async ({ name, title }) => ({
      title,
      checks: (await frontLanguage(name)?.unchecked(unknown)) ?? [],
    })),
  )
  return [
    { title: 'Daemon', checks: [unknown('answers')] },
    ...languages,
    { title: 'Kernels', checks: [unknown('kernels')] },
  ]
}

const MARK = { ok: 'ok', missing: '--', broken: '!!', unknown: '??' } as const

/** All areas as text: what is well takes one line, and only the rest more. */
function showAreas(areas: readonly Area[], languages: readonly Language[]): string {
  const width = Math.max(0, ...areas.flatMap(({ checks }) => checks.map(({ name }) => name.length)))
  const lines = areas.flatMap(({ title, checks }) => [
    title,
    ...checks.flatMap(one => showCheck(one, width)),
    '',
  ])
  const broken = areas.flatMap(({ checks }) => checks.filter(({ state }) => state === 'broken'))
  const verdict =
    broken.length === 0
      ? 'Everything that Imago needs works.'
      : `${broken.length === 1 ? 'One thing does' : `${broken.length} things do`} not work: ${broken.map(({ name }) => name).join(', ')}.`
  const left = LANGUAGES.filter(one => !languages.includes(one)).map(
    ({ name, title }) => `${title} was not looked at: imago doctor ${name}, or imago doctor --all.`,
  )
  return `${[...lines, ...left, verdict].join('\n')}\n`
}

function showCheck({ name, state, found, gives, fix }: Check, width: number): string[] {
  const margin = ' '.repeat(width + 7)
  const what = gives === undefined ? found : `${found}; with it, ${gives}`
  return [
    `  ${MARK[state]}  ${name.padEnd(width)} ${what}`,
    ...(fix === undefined ? [] : [`${margin}do: ${fix}`]),
  ]
}

/** The daemon that answers, with the time that one question there and back takes. */
async function checkDaemon(client: DaemonClient, { configDir, log: ownLog }: Paths): Promise<Area> {
  const asked = performance.now()
  const { version, pid, uptime_ms, log, web, clients, kernels } = await client.request('status', {})
  const took = milliseconds(performance.now() - asked)
  const found = `version ${version}, process ${pid}, since ${duration(uptime_ms)}, ${counted(clients, 'client')}, ${counted(kernels, 'kernel')}`
  return {
    title: 'Daemon',
    checks: [
      { name: 'answers', state: 'ok', found: `${found}; round trip ${took}` },
      realOf(log) === realOf(ownLog) ? { name: 'log', state: 'ok', found: log } : elsewhere(log),
      ...(web === null ? [] : [{ name: 'WebSocket', state: 'ok', found: web } as const]),
      ...(isChangedWithin(join(configDir, 'config.toml'), uptime_ms) ? [UNREAD] : []),
    ],
  }
}

/** One daemon serves a runtime directory, also for commands with another HOME. */
const elsewhere = (log: string): Check => ({
  name: 'log',
  state: 'missing',
  found: `${log}: the daemon was started with another HOME or IMAGO_STATE_DIR, and has its settings and journal there`,
  gives: 'the settings and the journal are those of this HOME',
  fix: 'imago shutdown   (ends the kernels that it started; the next command starts another daemon from here)',
})

const isChangedWithin = (path: string, ms: number): boolean =>
  (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) > Date.now() - ms

const UNREAD: Check = {
  name: 'settings',
  state: 'missing',
  found: 'config.toml was changed after the daemon had read it',
  gives: 'what was changed holds',
  fix: 'imago shutdown   (ends the kernels that it started; the next command starts it anew)',
}

/** Each kernel that lives, with one look there and back; a kernel that is busy answers looks as well. */
async function checkKernels(client: DaemonClient): Promise<Area> {
  const { kernels } = await client.request('kernels', {})
  const checks = await Promise.all(kernels.filter(isThere).map(row => checkKernel(client, row)))
  const none: Check = {
    name: 'kernels',
    state: 'ok',
    found: 'none lives now; the first code that is run in a project starts one',
  }
  return { title: 'Kernels', checks: checks.length === 0 ? [none] : checks }
}

const isThere = ({ state }: KernelRow) => state !== 'ended'

async function checkKernel(
  client: DaemonClient,
  { name, implementation, state, message }: KernelRow,
): Promise<Check> {
  if (state === 'crash_loop')
    return {
      name,
      state: 'broken',
      found: message ?? 'it ends each time it is started',
      fix: `imago restart ${name}`,
    }
  const asked = performance.now()
  const envelope = await client.call({ tool: 'list_globals', args: { kernel: name, limit: 1 } })
  const took = milliseconds(performance.now() - asked)
  const found = `${implementation ?? 'not started yet'}, ${state}; round trip ${took}`
  if (envelope.ok) return { name, state: 'ok', found }
  const { message: why, next } = envelope.error
  return { name, state: 'broken', found: why, ...(next !== null && { fix: next }) }
}

/** This program itself: its version, its Node, and whether a shell finds it. */
function checkProgram(env: Where['env']): Area {
  const found = onPath('imago', env)
  const path: Check =
    found === undefined
      ? {
          name: 'on the PATH',
          state: 'missing',
          found: 'no',
          gives: '`imago` is found by every shell and by MCP clients',
          fix: `npm link   (in ${PACKAGE_ROOT})`,
        }
      : realpathSync(found) === realpathSync(PROGRAM)
        ? { name: 'on the PATH', state: 'ok', found }
        : {
            name: 'on the PATH',
            state: 'broken',
            found: `${found} is another one than this (${PROGRAM})`,
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

/** The directories of this user, made as a daemon makes them, and the settings in them and in the project. */
function checkFolders(paths: Paths, root: string): Area {
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
function checkClients(where: Where): Area {
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
    const there = command.includes('/') ? isProgram(command) : onPath(command, where.env) !== undefined
    if (there) return { name, state: 'ok', found: file }
    const found = `${file} starts ${command}, which is not there`
    return { name, state: 'broken', found, fix: `imago install ${name}` }
  } catch (error) {
    const fix = `mend it by hand, as docs/mcp.md shows it, or remove it and: imago install ${name}`
    return { name, state: 'broken', found: `${file}: ${messageOf(error)}`, fix }
  }
}
