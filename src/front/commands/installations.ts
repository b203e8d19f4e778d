import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { messageOf } from '../../../wire/errors.ts'
import { EXIT, Failure } from '../../failure.ts'
import { sha256 } from '../../sha256.ts'
import {
  addYes,
  applied,
  asText,
  type Change,
  changeEntry,
  entryFor,
  type Host,
  inverse,
  type RuleList,
  readEntry,
  readIfThere,
  removeFile,
  replaceFile,
  type Server,
  takeYes,
  targetOf,
} from './mcp-clients.ts'

/** Which client in which project, and what is known of earlier installations. */
export interface Site {
  readonly host: Host
  readonly root: string
  /** The configuration of the client. */
  readonly file: string
  /** Its rules about tools, and its hooks, where it has a file for them. */
  readonly rules: ListInFile | undefined
  readonly hook: ListInFile | undefined
  readonly policyFile: string
  readonly records: InstallRecords
}

type ListInFile = Omit<RuleList, 'file'> & { readonly file: string }

/** What a person wants of an installation. */
export interface Wish {
  readonly server: Server
  /** A yes at the client's own dialog is to count. */
  readonly dialog: boolean
  /** The tools, by name, that the client is not to ask about. */
  readonly allowed: readonly string[]
  /** The command line that it is to run before its own tools. */
  readonly hook: string | undefined
}

/** A change of one file, worked out and not yet made. */
export interface FilePlan {
  readonly file: string
  /** Where it leads, for a link; else the file itself. */
  readonly target: string
  /** What stands in the file now; `undefined` where there is none. */
  readonly text: string | undefined
  /** What it is to be; `undefined` where the file is to go. */
  readonly result: string | undefined
  /** The outermost folder that is made for the file, and goes with it. */
  readonly folder: string | undefined
}

/** The files to be changed, and what is kept of it. */
export interface Work {
  readonly plans: readonly FilePlan[]
  readonly records: InstallRecords
}

/** What has to be changed so that the client does as the wish says. */
export function planInstall(site: Site, wish: Wish): Work {
  const { dialog, allowed, hook } = wish
  const listed = (list: ListInFile | undefined, of: readonly string[]) =>
    [of.length > 0 ? list?.file : undefined, (one: Site) => planRules(one, list, of)] as const
  return inTurn(site, [
    [site.file, one => planEntry(one, wish)],
    [dialog ? site.policyFile : undefined, planYes],
    listed(site.rules, allowed),
    listed(site.hook, hook === undefined ? [] : [hook]),
  ])
}

/**
 * What undoing it would change: to the byte where nobody has changed a file since; otherwise what is ours is taken away,
 * or what stood there before put back, and all else is left.
 */
export function planUndo(site: Site): Work {
  return inTurn(site, [
    [site.file, planEntryUndo],
    [site.policyFile, planYesUndo],
    [site.rules?.file, one => planRulesUndo(one, site.rules)],
    [site.hook?.file, one => planRulesUndo(one, site.hook)],
  ])
}

/** The plans that have a file, each with the records of the one before. */
function inTurn(
  site: Site,
  steps: readonly (readonly [file: string | undefined, plan: (site: Site) => Work])[],
): Work {
  let work: Work = { plans: [], records: site.records }
  for (const [file, plan] of steps) {
    if (file === undefined) continue
    const next = within(file, () => plan({ ...site, records: work.records }))
    work = { plans: [...work.plans, ...next.plans], records: next.records }
  }
  return work
}

function planEntry({ host, root, file, records }: Site, { server, allowed }: Wish): Work {
  const text = readIfThere(file)
  const now = readEntry(text ?? '', host)
  const entry = plainly(entryFor(host, { root, server, now, allowed }))
  if (isDeepStrictEqual(plainly(now ?? null), entry)) return { plans: [], records }
  const earlier = records[file]
  // One installation over another is one over what stood there first, and is undone to that.
  const origin = earlier && isUntouched(text, earlier) ? restored(text, earlier) : text
  const before = origin === text && earlier ? earlier.before : readEntry(origin ?? '', host)
  const change = changeEntry(origin ?? '', host, entry)
  const plan = filePlan({ file, text, result: applied(origin ?? '', change) })
  const record = {
    ...recordOf({ ...plan, text: origin }, change),
    ...(earlier?.folder !== undefined && { folder: earlier.folder }),
    ...(before !== undefined && { before }),
  }
  return { plans: [plan], records: { ...records, [file]: record } }
}

const planEntryUndo = ({ host, file, records }: Site): Work =>
  undone({ file, records }, (text, record) =>
    readEntry(text, host) === undefined ? undefined : changeEntry(text, host, record?.before),
  )

/** To the byte where nobody has changed the file since; else `take` says what goes, if anything. */
function undone(
  { file, key = file, records }: { file: string; key?: string; records: InstallRecords },
  take: (text: string, record: InstallRecord | undefined) => Change | undefined,
): Work {
  const { [key]: record, ...others } = records
  const text = readIfThere(file)
  if (text === undefined) return { plans: [], records: others }
  if (record && isUntouched(text, record))
    return { plans: [filePlan({ file, text, result: restored(text, record), record })], records: others }
  const change = take(text, record)
  if (change === undefined) return { plans: [], records: others }
  return { plans: [filePlan({ file, text, result: applied(text, change) })], records: others }
}

/** The lines that let the yes of a client count stand there once, for every installation that wants them. */
function planYes({ host: { client = '' }, file, policyFile, records }: Site): Work {
  const key = yesKey(policyFile, client)
  const known = records[key]
  const wanted = [...new Set([...(known?.wanted ?? []), file])]
  const text = readIfThere(policyFile)
  const change = addYes(text ?? '', client)
  if (change !== undefined) {
    const plan = filePlan({ file: policyFile, text, result: applied(text ?? '', change) })
    return { plans: [plan], records: { ...records, [key]: { ...recordOf(plan, change), wanted } } }
  }
  // Without a record a person has written them, and they are that person's.
  return { plans: [], records: known === undefined ? records : { ...records, [key]: { ...known, wanted } } }
}

function planYesUndo({ host: { client = '' }, file, policyFile, records }: Site): Work {
  const key = yesKey(policyFile, client)
  const record = records[key]
  if (record === undefined || !record.wanted?.includes(file)) return { plans: [], records }
  const wanted = record.wanted.filter(one => one !== file)
  if (wanted.length > 0) return { plans: [], records: { ...records, [key]: { ...record, wanted } } }
  return undone({ file: policyFile, key, records }, text => takeYes(text, client))
}

/** Those of an installation before go first. */
function planRules(site: Site, rules: ListInFile | undefined, of: readonly string[]): Work {
  const { records } = site
  if (rules === undefined) return { plans: [], records }
  const { file } = rules
  const text = readIfThere(file)
  const wanted = of.map(rules.rule)
  const isIn = (list: readonly unknown[]) => (item: unknown) => list.some(one => asText(one) === asText(item))
  if (wanted.every(isIn(listIn(text, rules)))) return { plans: [], records }
  const [taken] = planRulesUndo(site, rules).plans
  const origin = taken === undefined ? text : taken.result
  const list = listIn(origin, rules)
  const added = wanted.filter(item => !isIn(list)(item))
  const change = changeEntry(origin ?? '', rules, [...added, ...list])
  const plan = filePlan({ file, text, result: applied(origin ?? '', change) })
  // One that was made for another file of the client goes with the last of them.
  const made = Object.values(records).find(one => one.folder && dirname(file).startsWith(one.folder))
  const folder = taken?.folder ?? plan.folder ?? made?.folder
  const record = recordOf({ ...plan, text: origin, folder }, change)
  return { plans: [plan], records: { ...records, [file]: { ...record, rules: added } } }
}

function planRulesUndo({ records }: Site, rules: ListInFile | undefined): Work {
  if (rules === undefined) return { plans: [], records }
  return undone({ file: rules.file, records }, (text, record) => {
    if (record?.rules === undefined) return undefined
    const ours = record.rules.map(asText)
    const now = listIn(text, rules)
    const list = now.filter(one => !ours.includes(asText(one)))
    if (list.length === now.length) return undefined
    return changeEntry(text, rules, list.length > 0 ? list : undefined)
  })
}

function listIn(text: string | undefined, { place }: Pick<RuleList, 'place'>): readonly unknown[] {
  const group = readEntry(text ?? '', { format: 'json', place: place.slice(0, -1) })
  const list = group?.[place.at(-1) ?? ''] ?? []
  if (Array.isArray(list)) return list
  throw new Failure(`${place.join('.')} is there, and is no list`)
}

const yesKey = (policyFile: string, client: string) => `${policyFile} ${client}`

const plainly = (value: unknown): Record<string, unknown> => JSON.parse(JSON.stringify(value))

function filePlan(o: {
  readonly file: string
  readonly text: string | undefined
  readonly result: string | undefined
  readonly record?: InstallRecord
}): FilePlan {
  const { file, text, result, record } = o
  const folder = record === undefined ? missingFolder(file) : record.folder
  return { file, target: targetOf(file), text, result, folder }
}

/** The outermost folder that has to be made for a file. */
function missingFolder(file: string): string | undefined {
  let missing: string | undefined
  for (let folder = dirname(file); !existsSync(folder); folder = dirname(folder)) missing = folder
  return missing
}

/** Changes all files, and writes the records, or leaves all as it was. Each file must still be what was planned with. */
export function carryOut({ plans, records }: Work, stateDir: string): void {
  for (const { file, target, text } of plans)
    if (readIfThere(file) !== text || targetOf(file) !== target)
      throw new Failure(`${file} was changed by somebody else meanwhile. Nothing was written; try again.`)
  const done: FilePlan[] = []
  try {
    for (const plan of plans) {
      put(plan, plan.result)
      done.push(plan)
    }
    writeRecords(stateDir, records)
  } catch (error) {
    for (const plan of done) put(plan, plan.text)
    throw error
  }
}

function put({ file, folder }: FilePlan, text: string | undefined): void {
  if (text === undefined) removeFile(file, folder)
  else replaceFile(file, text)
}

function within(file: string, work: () => Work): Work {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new Failure(
      `${file}: ${messageOf(error)}. Nothing was changed. Mend the file, or change it by hand as docs/mcp.md shows it.`,
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
  /** Of lines in the policy: the configurations of the installations that want them. */
  wanted: z.array(z.string()).optional(),
  /** Of a list of rules or hooks: those that were added. */
  rules: z.array(z.unknown()).optional(),
})

const RECORDS = z.record(z.string(), RECORD)

/** What `imago install` did to one file, kept to be undone. Of the file itself nothing is kept but what is ours. */
type InstallRecord = z.output<typeof RECORD>

/** By the path of the file; with the client behind it for the lines of a client in the policy. */
export type InstallRecords = Readonly<Record<string, InstallRecord>>

function recordOf({ text, result = '', folder }: FilePlan, change: Change): InstallRecord {
  return {
    written: sha256(result),
    undo: inverse(change),
    made: text === undefined,
    ...(folder !== undefined && { folder }),
  }
}

const isUntouched = (text: string | undefined, { written }: InstallRecord): text is string =>
  text !== undefined && sha256(text) === written

const restored = (text: string, { made, undo }: InstallRecord): string | undefined =>
  made ? undefined : applied(text, undo)

const recordsIn = (stateDir: string) => join(stateDir, 'installed.json')

/** The records of all installations of this user. */
export function readRecords(stateDir: string): InstallRecords {
  try {
    return RECORDS.parse(JSON.parse(readFileSync(recordsIn(stateDir), 'utf8')))
  } catch {
    // Without a record, undoing takes our entry away and leaves everything else.
    return {}
  }
}

function writeRecords(stateDir: string, records: InstallRecords): void {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  replaceFile(recordsIn(stateDir), `${JSON.stringify(records, null, 2)}\n`)
}
