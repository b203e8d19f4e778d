import { accessSync, constants, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { escapeText } from '../../core/escape.ts'
import { isProject, realOf } from '../../core/roots.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { findPaths, findRoot, PACKAGE_ROOT } from '../../paths.ts'
import type { CommandInput } from '../commands.ts'
import { readIfThere, removeFile, replaceFile } from '../install/file.ts'
import { HOSTS, type Host, type Server, type Where } from '../install/hosts.ts'
import { type InstallPlan, planInstall, planUndo, recordOf, showPlan } from '../install/plan.ts'
import { openRecords } from '../install/records.ts'

/**
 * `imago install CLIENT`: shows how the client's configuration would change, and changes it if a person says yes at
 * the terminal, or `--yes` was given. `--undo` takes it back in the same manner. Exit code 3 if it was not wanted.
 */
export async function install({ operands: [name], options, printer }: CommandInput): Promise<ExitCode> {
  if (name === undefined) return list(printer)
  const host = HOSTS.find(one => one.name === name)
  if (host === undefined)
    throw new Failure(`There is no client ${name} here. Known: ${HOSTS.map(one => one.name).join(', ')}.`, {
      exit: EXIT.usage,
    })
  const where: Where = { root: findRoot(process.cwd()), env: process.env, platform: process.platform }
  if (!options.undo) refuseNoProject(host, where.root)
  const records = openRecords(findPaths().stateDir)
  const file = host.file(where)
  const plan = options.undo
    ? planUndo({ host, where, record: records.find(file) })
    : planInstall({ host, where, server: serverFor(host) })
  if (plan === undefined) {
    printer.out(
      options.undo
        ? `${host.label} has no entry of Imago in ${file}.\n`
        : `${host.label} has it already: ${file}\n`,
    )
    return EXIT.done
  }
  printer.out(showPlan(plan))
  if (!options.yes && !(await agreed(plan))) {
    printer.err(
      process.stdin.isTTY
        ? 'Nothing was changed.\n'
        : 'Nothing was changed. Repeat it with --yes to change it.\n',
    )
    return EXIT.denied
  }
  const folder = carryOut(plan, records.find(file)?.folder)
  if (options.undo) records.forget(file)
  else records.keep(file, recordOf(plan, folder))
  printer.out(
    options.undo
      ? `Undone in ${file}.\n`
      : `Written to ${file}. Restart ${host.label}, or have it read its servers again. To undo it: imago install ${host.name} --undo\n`,
  )
  return EXIT.done
}

function list({ out }: CommandInput['printer']): ExitCode {
  const rows = HOSTS.map(
    host =>
      `  ${host.name.padEnd(16)}${host.label} (${host.scope === 'project' ? 'in this project' : 'for you'})`,
  )
  out(`imago install CLIENT, where CLIENT is one of\n${rows.join('\n')}\n`)
  return EXIT.done
}

/** Nobody at a terminal has not agreed. */
async function agreed({ file }: InstallPlan): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return false
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  try {
    const answer = await lines.question(escapeText(`Change ${file} so? [y/N] `))
    return /^y(es)?$/i.test(answer.trim())
  } catch {
    // Ctrl-C, or the end of input.
    return false
  } finally {
    lines.close()
  }
}

/** The file must still be what was shown. Returns the folder that was made for it, if one was. */
function carryOut({ file, text, result }: InstallPlan, folder: string | undefined): string | undefined {
  if (readIfThere(file) !== text)
    throw new Failure(`${file} was changed by somebody else meanwhile. Nothing was written; try again.`)
  if (result !== undefined) return replaceFile(file, result)
  removeFile(file, folder)
  return undefined
}

/** Where an entry belongs to a project, or names one, there must be one: no kernel lives in the home directory or in `/`. */
function refuseNoProject({ scope, startsInProject, label }: Host, root: string): void {
  if ((scope === 'user' && startsInProject) || isProject(root, realOf(homedir()))) return
  const what = `The entry for ${label} is that of a project, and ${root} is none: no image lives there.`
  throw new Failure(`${what} Run it in the folder of your project.`, { exit: EXIT.usage })
}

/** `imago` where a shell would find this very program; else this Node and this file, which needs no PATH. */
function serverFor(host: Host): Server {
  const main = join(PACKAGE_ROOT, 'dist/src/main.js')
  const onPath = host.startsInProject && foundOnPath('imago') === realpathSync(main)
  return onPath ? { command: 'imago', args: ['mcp'] } : { command: process.execPath, args: [main, 'mcp'] }
}

function foundOnPath(program: string): string | undefined {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    try {
      const path = join(folder, program)
      accessSync(path, constants.X_OK)
      return realpathSync(path)
    } catch {
      // Not there.
    }
  }
  return undefined
}
