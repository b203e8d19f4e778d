import { EXIT, type ExitCode, Failure, messageOf } from '../../failure.ts'
import { findPaths, findRoot } from '../../paths.ts'
import { connectDaemon } from '../client.ts'
import type { CommandInput } from '../commands.ts'
import { type Area, type Check, showAreas } from '../doctor/check.ts'
import { checkDaemon, checkKernels, checkLisp, checkPython } from '../doctor/live.ts'
import { checkClients, checkFolders, checkProgram, findInterpreter } from '../doctor/machine.ts'
import { printEnvelope } from '../envelopes.ts'

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
      ? withoutDaemon('the folders and settings above do not work')
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
    return [
      await checkDaemon(client),
      await checkPython(client),
      await checkLisp(client),
      await checkKernels(client),
    ]
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const fix = 'imago serve   (shows why it does not start)'
    const daemon: Check = { name: 'answers', state: 'broken', found: messageOf(error), fix }
    return [{ title: 'Daemon', checks: [daemon] }, ...withoutDaemon('the daemon does not answer').slice(1)]
  }
}

const isBroken = ({ state }: Check) => state === 'broken'

/** What can be told when there is no daemon to ask. */
function withoutDaemon(why: string): readonly Area[] {
  const unknown = (name: string): Check => ({ name, state: 'unknown', found: `not checked, because ${why}` })
  return [
    { title: 'Daemon', checks: [unknown('answers')] },
    { title: 'Python', checks: [findInterpreter(), unknown('a kernel')] },
    { title: 'Common Lisp', checks: [unknown('a lisp kernel')] },
    { title: 'Kernels', checks: [unknown('kernels')] },
  ]
}
