import { createHash } from 'node:crypto'
import { accessSync, constants, mkdirSync, readFileSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { isDeepStrictEqual } from 'node:util'
import { createTwoFilesPatch } from 'diff'
import { z } from 'zod'
import { messageOf } from '../../../wire/errors.ts'
import { EXIT, type ExitCode, Failure } from '../../failure.ts'
import { isProject, realOf } from '../../files/roots.ts'
import { findPaths, findRoot, PACKAGE_ROOT } from '../../paths.ts'
import { escapeText } from '../../text/escape.ts'
import type { CommandInput } from '../command.ts'
import {
  applied,
  type Change,
  changeEntry,
  type Entry,
  entryFor,
  HOSTS,
  type Host,
  inverse,
  readEntry,
  readIfThere,
  removeFile,
  replaceFile,
  type Server,
  type Where,
} from './mcp-clients.ts'

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

/** A change of one configuration file, worked out and not yet made. */
interface InstallPlan {
  readonly host: Host
  readonly file: string
  /** What stands in the file now; `undefined` where there is none. */
  readonly text: string | undefined
  /** What it is to be; `undefined` where the file is to go. */
  readonly result: string | undefined
  readonly change: Change
  readonly before: Entry
}

/** What `imago install` would change, or `undefined` where the entry stands there already. */
function planInstall(o: { host: Host; where: Where; server: Server }): InstallPlan | undefined {
  const { host, where, server } = o
  const file = host.file(where)
  const entry = JSON.parse(JSON.stringify(entryFor(host, { root: where.root, server })))
  const text = readIfThere(file)
  return within(file, () => {
    const before = readEntry(text ?? '', host)
    if (isDeepStrictEqual(JSON.parse(JSON.stringify(before ?? null)), entry)) return undefined
    const change = changeEntry(text ?? '', host, entry)
    return { host, file, text, result: applied(text ?? '', change), change, before }
  })
}

/**
 * What undoing it would change: to the byte where nobody has changed the file since; otherwise our entry is taken
 * away, or the one before it put back, and all else is left. `undefined` where there is no entry to take away.
 */
function planUndo(o: {
  host: Host
  where: Where
  record: InstallRecord | undefined
}): InstallPlan | undefined {
  const { host, where, record } = o
  const file = host.file(where)
  const text = readIfThere(file)
  if (text === undefined) return undefined
  return within(file, () => {
    const before = readEntry(text, host)
    if (record && hashOf(text) === record.written) {
      const { undo: change } = record
      const result = record.made ? undefined : applied(text, change)
      return { host, file, text, result, change, before }
    }
    if (before === undefined) return undefined
    const change = changeEntry(text, host, record?.before)
    return { host, file, text, result: applied(text, change), change, before }
  })
}

/** What is kept of an installation, so that it can be undone; `folder` is what was made for the file. */
function recordOf({ text, result = '', change, before }: InstallPlan, folder?: string): InstallRecord {
  const made = { made: text === undefined, ...(folder !== undefined && { folder }) }
  const kept = { written: hashOf(result), undo: inverse(change), ...made }
  return before === undefined ? kept : { ...kept, before }
}

/** The change as a unified diff, which names the file. */
function showPlan({ file, text, result }: InstallPlan): string {
  const [from, to] = [text === undefined ? '/dev/null' : file, result === undefined ? '/dev/null' : file]
  const patch = createTwoFilesPatch(from, to, text ?? '', result ?? '', undefined, undefined, { context: 3 })
  return patch.replace(/^=+\n/, '')
}

function within<Result>(file: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new Failure(
      `${file}: ${messageOf(error)}. Nothing was changed. Mend the file, or add the entry by hand as docs/mcp.md shows it.`,
      { exit: EXIT.failed, cause: error },
    )
  }
}

const RECORD = z.object({
  /** The hash of the text that was written: where it still stands, the change is taken back to the byte. */
  written: z.string(),
  undo: z.object({ offset: z.number(), was: z.string(), is: z.string() }),
  /** The file was made for the entry alone. */
  made: z.boolean(),
  /** The outermost folder that was made for it. */
  folder: z.string().optional(),
  /** The entry that stood there before, if there was one. */
  before: z.record(z.string(), z.unknown()).optional(),
})

const RECORDS = z.record(z.string(), RECORD)

/** What `imago install` did to one file, kept to be undone. Of the file itself nothing is kept but our own entry. */
type InstallRecord = z.output<typeof RECORD>

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The records of all installations of this user, by the path of the file. */
function openRecords(stateDir: string) {
  const path = join(stateDir, 'installed.json')
  const read = (): Record<string, InstallRecord> => {
    try {
      return RECORDS.parse(JSON.parse(readFileSync(path, 'utf8')))
    } catch {
      // Without a record, undoing takes our entry away and leaves everything else.
      return {}
    }
  }
  const write = (records: Record<string, InstallRecord>) => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    replaceFile(path, `${JSON.stringify(records, null, 2)}\n`)
  }
  return {
    find: (file: string): InstallRecord | undefined => read()[file],
    keep: (file: string, record: InstallRecord) => write({ ...read(), [file]: record }),
    forget(file: string) {
      const { [file]: _, ...others } = read()
      write(others)
    },
  }
}
