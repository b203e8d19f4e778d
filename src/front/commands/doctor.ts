import { LANGUAGES } from '../../../wire/languages.ts'
import { EXIT, type ExitCode, Failure, messageOf } from '../../failure.ts'
import { findPaths, findRoot } from '../../paths.ts'
import { connectDaemon, type DaemonClient } from '../client.ts'
import type { CommandInput } from '../commands.ts'
import { type Area, type Check, showAreas } from '../doctor/check.ts'
import { checkDaemon, checkKernels } from '../doctor/live.ts'
import { checkClients, checkFolders, checkProgram } from '../doctor/machine.ts'
import { printEnvelope } from '../envelopes.ts'
import { frontLanguage } from '../languages.ts'

/**
 * `imago doctor`: what is there, what is missing and what that would give, and what does not work, each with the line
 * that mends it. It starts the daemon, as every command does, and a kernel of its own that ends again. Exit code 1 if
 * something is broken; nothing is changed.
 */
export async function doctor({ options, printer }: CommandInput): Promise<ExitCode> {
  const root = findRoot(process.cwd())
  const [paths, env] = [findPaths(), process.env]
  const folders = checkFolders(paths, root)
  const areas = [
    checkProgram(env),
    folders,
    ...(folders.checks.some(isBroken)
      ? await withoutDaemon('the folders and settings above do not work')
      : await checkLive(root)),
    checkClients({ root, env, platform: process.platform }),
  ]
  if (options.json) printEnvelope(printer, { ok: true, result: { areas } })
  else printer.out(showAreas(areas))
  return areas.some(({ checks }) => checks.some(isBroken)) ? EXIT.failed : EXIT.done
}

async function checkLive(root: string): Promise<readonly Area[]> {
  try {
    await using client = await connectDaemon({ name: 'imago doctor', start: 'if-needed', root })
    return [await checkDaemon(client), ...(await checkLanguages(client)), await checkKernels(client)]
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const fix = 'imago serve   (shows why it does not start)'
    const daemon: Check = { name: 'answers', state: 'broken', found: messageOf(error), fix }
    return [
      { title: 'Daemon', checks: [daemon] },
      ...(await withoutDaemon('the daemon does not answer')).slice(1),
    ]
  }
}

/** One after the other, as each starts a kernel. */
async function checkLanguages(client: DaemonClient): Promise<readonly Area[]> {
  const areas: Area[] = []
  for (const language of LANGUAGES) {
    const area = await frontLanguage(language.name)?.check(client, language)
    if (area !== undefined) areas.push(area)
  }
  return areas
}

const isBroken = ({ state }: Check) => state === 'broken'

/** What can be told when there is no daemon to ask. */
async function withoutDaemon(why: string): Promise<readonly Area[]> {
  const unknown = (name: string): Check => ({ name, state: 'unknown', found: `not checked, because ${why}` })
  const languages = await Promise.all(
    LANGUAGES.map(async ({ name, title }) => ({
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
