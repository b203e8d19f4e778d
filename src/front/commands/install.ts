import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, lstatSync, realpathSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { createTwoFilesPatch } from 'diff'
import { PROFILES, type Profile } from '../../../tools/contract.ts'
import {
  ENGINE_PYTHONS,
  type FreeEngine,
  languageNamed,
  namesOf,
  pythonOfEngine,
} from '../../../wire/languages.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { isProject, realOf } from '../../files/roots.ts'
import { findPaths, findRoot, onPath, PACKAGE_ROOT, PROGRAM, prepareStateDir, VERSION } from '../../paths.ts'
import { escapeText, shellWord } from '../../text/escape.ts'
import type { CommandInput, Options } from '../command.ts'
import { answersByItself } from '../seat/rule.ts'
import {
  carryOut,
  type FilePlan,
  planInstall,
  planUndo,
  readRecords,
  type Site,
  type Wish,
} from './installations.ts'
import { addYes, entryIn, HOSTS, type Host, readIfThere, type Server } from './mcp-clients.ts'

/**
 * `imago install CLIENT` shows how the client's configuration would change, and the policy where a yes at the client's
 * dialog is to count. Changes them if a person says yes at the terminal, or `--yes` was given. `--undo` takes both back
 * in the same manner. Exit code 3 if it was not wanted. `imago install LANGUAGE` installs an engine in the same way.
 */
export async function install(input: CommandInput): Promise<ExitCode> {
  const { operands, options, printer } = input
  const [name] = operands
  if (name === undefined) return list(printer)
  const engine = languageNamed(name)?.engine
  if (engine !== undefined) return installEngine(engine, input)
  const known = HOSTS.find(one => one.name === name)
  if (known === undefined)
    throw misused(`There is no client ${name} here. Known: ${HOSTS.map(one => one.name).join(', ')}.`)
  const root = findRoot(process.cwd())
  if (!options.undo) refuseNoProject(known, root)
  const { stateDir, configDir } = findPaths()
  const where = { root, env: process.env, platform: process.platform }
  const file = known.file(where)
  const { newerPlace, allow, hook } = known
  const isNewer = newerPlace && entryIn(file, { ...known, place: newerPlace.slice(0, -1) }) !== undefined
  const host = isNewer ? { ...known, place: newerPlace } : known
  const site: Site = {
    host,
    root,
    file,
    rules: typeof allow === 'object' ? { ...allow, file: allow.file(where) } : undefined,
    hook: hook && { ...hook, file: hook.file(where) },
    policyFile: join(configDir, 'policy.toml'),
    records: readRecords(stateDir),
  }
  const before = profileIn(site)
  const wish = options.undo ? undefined : await wished(site, options)
  const work = wish === undefined ? planUndo(site) : planInstall(site, wish)
  const { plans } = work
  if (plans.length === 0) {
    if (work.records !== site.records) carryOut(work, stateDir)
    printer.out(
      wish === undefined
        ? `${host.label} has no entry of Imago in ${site.file}.\n`
        : `${host.label} has it already: ${site.file}\n`,
    )
    return EXIT.done
  }
  printer.out(plans.map(showPlan).join('\n'))
  if (wish !== undefined && !isAsked(options)) printer.out(otherChoices(host, wish, options))
  const isAgreed = await agreed(`Change ${plans.map(({ file }) => file).join(' and ')} so?`, input)
  if (!isAgreed) return EXIT.denied
  carryOut(work, stateDir)
  printer.out(wish === undefined ? undoneText(plans, before) : doneText(plans, site, wish))
  return EXIT.done
}

const misused = (sentence: string) => new Failure(sentence, { exit: EXIT.usage })

function list({ out }: CommandInput['printer']): ExitCode {
  const rows = HOSTS.map(
    host =>
      `  ${host.name.padEnd(16)}${host.label} (${host.scope === 'project' ? 'in this project' : 'for you'})`,
  )
  const engines = namesOf(({ engine }) => engine !== undefined)
  out(
    `imago install CLIENT, where CLIENT is one of\n${rows.join('\n')}\n` +
      `imago install ${engines.join('|')} brings an engine for kernels\n`,
  )
  return EXIT.done
}

interface Choice extends Wish {
  readonly profile: Profile
}

const DEFAULT: Profile = 'live'

const MEANS: Readonly<Record<Profile, string>> = {
  core: 'look at values, and run code',
  live: 'and see threads and errors, load changed files, wait for long runs',
  full: 'and change files, once you have approved the change; trace functions, run tests',
  desk: 'as live, and you are asked at imago watch before a command or an edit of its own',
}

const isAsked = ({ yes }: Options) => !yes && process.stdin.isTTY && process.stdout.isTTY

/** As the options say, and else as a person at the terminal does, who is offered what stands there already. */
async function wished(site: Site, options: Options): Promise<Choice> {
  const { profile, dialog, allow = false } = options
  const { host } = site
  const profiles = profilesFor(host)
  if (profile !== undefined && !(isProfile(profile) && profiles.includes(profile)))
    throw misused(`There is no profile ${profile} for ${host.label}. Profiles: ${profiles.join(', ')}.`)
  if (dialog && host.client === undefined)
    throw misused(
      `No line of the policy is known for a dialog of ${host.label}. docs/mcp.md says whose yes counts.`,
    )
  if (allow && host.allow === undefined)
    throw misused(`It is not known how ${host.label} is told which tools it need not ask about.`)
  if (options.hook && host.hook === undefined)
    throw misused(`It is not known how ${host.label} is told to ask before its own tools.`)
  const before = profileIn(site)
  const wish = async (chosen: Profile, counts: boolean, hooked: boolean): Promise<Choice> => ({
    profile: chosen,
    dialog: counts,
    hook: hooked ? hookCommand(host) : undefined,
    server: startOf(host, ['mcp', ...(chosen === DEFAULT ? [] : ['--profile', chosen])]),
    allowed: allow ? await safeTools(chosen) : [],
  })
  if (!isAsked(options)) return wish(profile ?? before, dialog ?? false, options.hook ?? false)
  const choice = await asked(async ask =>
    wish(
      profile ?? (await askProfile(ask, { host, before })),
      dialog ?? (mayOfferDialog(site) && (await askDialog(ask, host))),
      options.hook ?? (host.hook !== undefined && (await askHook(ask, host))),
    ),
  )
  if (choice === undefined) throw new Failure('Nothing was changed.', { exit: EXIT.denied })
  return choice
}

/** What a person says at the terminal; undefined where they leave it. */
async function asked<Answer>(work: (ask: Ask) => Promise<Answer>): Promise<Answer | undefined> {
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return await work(question => lines.question(escapeText(question)))
  } catch {
    // Ctrl-C, or the end of input.
    return undefined
  } finally {
    lines.close()
  }
}

/** By name. All tools are loaded for it, which takes as long as all else that this command does. */
async function safeTools(profile: Profile): Promise<string[]> {
  const { TOOLS } = await import('../../../tools/index.ts')
  const { openRegistry } = await import('../../registry/registry.ts')
  const shown = openRegistry(TOOLS).list(profile)
  return shown.flatMap(({ name, level }) => (level === 'safe' ? [name] : []))
}

const profilesFor = ({ desk }: Host): readonly Profile[] =>
  PROFILES.filter(one => one !== 'desk' || desk !== undefined)

const isProfile = (name: string): name is Profile => PROFILES.some(one => one === name)

/** That of the entry which stands there, or the default. A file that cannot be read is told of with its plan. */
function profileIn({ host, file }: Site): Profile {
  const { command, args } = entryIn(file, host) ?? {}
  const words: readonly unknown[] = [command, args].flat()
  const at = words.indexOf('--profile')
  return PROFILES.find(one => at >= 0 && one === words[at + 1]) ?? DEFAULT
}

type Ask = (question: string) => Promise<string>

async function askProfile(ask: Ask, { host, before }: { host: Host; before: Profile }): Promise<Profile> {
  const profiles = profilesFor(host)
  const rows = profiles.map(name => `  ${name.padEnd(6)}${MEANS[name]}\n`).join('')
  for (;;) {
    const answer = await ask(
      `Which tools is ${host.label} to have?\n${rows}${profiles.join(', ')} [${before}]: `,
    )
    const named = answer.trim() || before
    if (isProfile(named) && profiles.includes(named)) return named
  }
}

/** Nothing is offered where the policy says something of this client, or is not understood: that is to be mended first. */
function mayOfferDialog({ host: { client }, policyFile }: Site): boolean {
  try {
    return client !== undefined && addYes(readIfThere(policyFile) ?? '', client) !== undefined
  } catch {
    return false
  }
}

async function askDialog(ask: Ask, { label, client = '' }: Host): Promise<boolean> {
  const question = [
    `What needs approval is asked at imago watch, in a terminal, and at a dialog of ${label}.`,
    `A yes at that dialog does not count by itself: ${answersByItself(client)}.`,
    'Is it to count? [y/N] ',
  ]
  return isYes(await ask(question.join('\n')))
}

async function askHook(ask: Ask, { label }: Host): Promise<boolean> {
  const question = [
    `A hook of ${label} can have you asked at imago watch before a command or an edit of its own.`,
    'In claude -p, what you do not answer in time is put off until you do. Is it to be set? [y/N] ',
  ]
  return isYes(await ask(question.join('\n')))
}

const isYes = (answer: string) => /^y(es)?$/i.test(answer.trim())

/** What was not asked, and how to choose otherwise. */
function otherChoices(host: Host, wish: Choice, options: Options): string {
  const { name, label, client } = host
  const profile = `Profile ${wish.profile}: another one with imago install ${name} --profile ${profilesFor(host).join('|')}; full can change files.\n`
  const dialog = `A yes at a dialog of ${label} does not count by itself; with --dialog it does.\n`
  return (options.profile === undefined ? profile : '') + (client !== undefined && !wish.dialog ? dialog : '')
}

/** Nobody at a terminal has not agreed, and is told of `--yes`. */
async function agreed(question: string, { options, printer }: CommandInput): Promise<boolean> {
  if (options.yes) return true
  if (isAsked(options) && isYes((await asked(ask => ask(`${question} [y/N] `))) ?? '')) return true
  printer.err(`Nothing was changed.${process.stdin.isTTY ? '' : ' Repeat it with --yes to change it.'}\n`)
  return false
}

/** Where an entry belongs to a project, or names one, there must be one: no kernel lives in the home directory or in `/`. */
function refuseNoProject({ scope, startsInProject, label }: Host, root: string): void {
  if ((scope === 'user' && startsInProject) || isProject(root, realOf(homedir()))) return
  const what = `The entry for ${label} is that of a project, and ${root} is none: no image lives there.`
  throw misused(`${what} Run it in the folder of your project.`)
}

/** `imago` where a shell would find this program, or one that runs it; else this Node and this file, which needs no PATH. */
function startOf(host: Host, args: readonly string[]): Server {
  return host.startsInProject && isOnPath()
    ? { command: 'imago', args }
    : { command: process.execPath, args: [PROGRAM, ...args] }
}

function hookCommand(host: Host): string {
  const { command, args } = startOf(host, ['hook', host.name])
  return [command, ...args].map(shellWord).join(' ')
}

/** PyPI has another program of that name. */
function isOnPath(): boolean {
  const found = onPath('imago')
  if (found === undefined || realpathSync(found) === realpathSync(PROGRAM)) return found !== undefined
  const { stdout } = spawnSync(found, ['--version'], { encoding: 'utf8', input: '', timeout: 10_000 })
  return stdout?.trim() === VERSION
}

/** The change as a unified diff, which names the file, and where it leads to. */
function showPlan({ file, target, text, result }: FilePlan): string {
  const [from, to] = [text === undefined ? '/dev/null' : file, result === undefined ? '/dev/null' : file]
  const patch = createTwoFilesPatch(from, to, text ?? '', result ?? '', undefined, undefined, { context: 3 })
  const link = lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()
  return `${link ? `${file} is a link. What changes is ${target}\n` : ''}${patch.replace(/^=+\n/, '')}`
}

function doneText(plans: readonly FilePlan[], { host, policyFile }: Site, wish: Choice): string {
  const [policy, others] = [true, false].map(is => plans.some(({ file }) => (file === policyFile) === is))
  return [
    ...plans.map(({ file }) => `Written to ${file}.`),
    ...(policy
      ? [`A yes at a dialog of ${host.label} counts once you have accepted that line: imago policy accept`]
      : []),
    ...(others ? [`Restart ${host.label}, or have it read its servers again.`] : []),
    ...(host.wants === undefined ? [] : [host.wants]),
    ...(wish.profile === 'desk' ? [`It asks at imago watch if you start it so: ${host.desk}`] : []),
    ...(host.scope === 'project' && wish.server.command !== 'imago'
      ? ['The entry names paths of this machine: do not commit it. With imago on PATH it names none.']
      : []),
    ...(host.allow !== undefined && wish.allowed.length === 0
      ? [`So that it does not ask about tools that only look: imago install ${host.name} --allow`]
      : []),
    `To undo it: imago install ${host.name} --undo`,
    '',
  ].join('\n')
}

const undoneText = (plans: readonly FilePlan[], before: Profile) =>
  [
    ...plans.map(({ file }) => `Undone in ${file}.\n`),
    ...(before === 'desk' ? ['Start the client without --permission-prompt-tool from now on.\n'] : []),
  ].join('')

// Engines

/**
 * Puts an engine into an environment of its own, beside the user's. Says what it does, and asks first. One that is there
 * already, with the same versions, stays as it is.
 */
async function installEngine(engine: FreeEngine, input: CommandInput): Promise<ExitCode> {
  const { options, printer } = input
  const [name = ''] = input.operands
  const paths = findPaths()
  const folder = join(paths.stateDir, engine.folder)
  if (options.undo) {
    rmSync(folder, { recursive: true, force: true })
    printer.out(`${folder} is not there any more.\n`)
    return EXIT.done
  }
  const requirements = join(PACKAGE_ROOT, 'wire/peers', name, 'requirements.txt')
  const installed = join(folder, 'requirements.txt')
  const start = `Start a kernel with: imago start ${name}. Which engine that takes: imago doctor ${name}\n`
  if (readIfThere(installed) === readIfThere(requirements)) {
    printer.out(`It is there already, in ${folder}. ${start}`)
    return EXIT.done
  }
  const python = findPython(engine)
  printer.out(`${engine.about}, in\n  ${folder}\nfrom the package index that pip uses, for ${python}.\n`)
  if (!(await agreed('Install it?', input))) return EXIT.denied
  prepareStateDir(paths)
  try {
    await run(python, ['-m', 'venv', '--clear', folder])
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
    await run(pythonOfEngine(engine, paths.stateDir), [...pip, '-r', requirements])
    copyFileSync(requirements, installed)
  } catch (error) {
    // One that is there in part would be taken for one that can be started.
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  printer.out(`It is there. ${start}`)
  return EXIT.done
}

function findPython({ oldest: [major, minor] }: FreeEngine): string {
  const fits = `import sys; sys.exit(sys.version_info < (${major}, ${minor}))`
  const found = ENGINE_PYTHONS.find(name => spawnSync(name, ['-c', fits], { stdio: 'ignore' }).status === 0)
  if (found !== undefined) return found
  throw new Failure(`It needs Python ${major}.${minor} or newer, and there is none in PATH. Install one.`)
}

/** What it says goes to standard error. Throws a `Failure` where it ends otherwise than well. */
async function run(program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { stdio: ['ignore', 2, 2] })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  })
  if (code === 0) return
  throw new Failure(`${program} ${args.slice(0, 3).join(' ')} failed; what it said stands above.`)
}
