import { isDeepStrictEqual } from 'node:util'
import { createTwoFilesPatch } from 'diff'
import { EXIT, Failure, messageOf } from '../../failure.ts'
import { applied, type Change, changeEntry, type Entry, inverse, readEntry } from './document.ts'
import { readIfThere } from './file.ts'
import { entryFor, type Host, type Server, type Where } from './hosts.ts'
import { hashOf, type InstallRecord } from './records.ts'

/** A change of one configuration file, worked out and not yet made. */
export interface InstallPlan {
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
export function planInstall(o: { host: Host; where: Where; server: Server }): InstallPlan | undefined {
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
export function planUndo(o: {
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
export function recordOf({ text, result = '', change, before }: InstallPlan, folder?: string): InstallRecord {
  const made = { made: text === undefined, ...(folder !== undefined && { folder }) }
  const kept = { written: hashOf(result), undo: inverse(change), ...made }
  return before === undefined ? kept : { ...kept, before }
}

/** The change as a unified diff, which names the file. */
export function showPlan({ file, text, result }: InstallPlan): string {
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
