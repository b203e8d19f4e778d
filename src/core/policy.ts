import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import type { z } from 'zod'
import { readBounded } from '../../wire/bounded-file.ts'
import { isAboutFiles, type Rule } from './gate.ts'
import { yesOf } from './policy/clients.ts'
import { faultOfTool, type KnownTools, warningOfTool } from './policy/named-tools.ts'
import { followed, placedRules } from './policy/placed.ts'
import { type Acceptance, type Accepted, type Found, openRecords, type Records } from './policy/records.ts'
import { type HeldRule, type Loosening, settle } from './policy/settling.ts'
import { runTests, type TestResult } from './policy/tests.ts'
import {
  MATCHERS,
  type NumberedRule,
  POLICY_FILE,
  type PolicyPlace,
  ruleOfClient,
  type WrittenClient,
  type WrittenRule,
  type Yes,
} from './policy/written.ts'
import { isWithin, realOf } from './roots.ts'

export type { Loosening } from './policy/settling.ts'

/** A policy is read before calls, so it must be short. */
const FILE_BYTES = 256 * 1024

/** What one file of rules says now. */
export interface PolicyText {
  /** SHA-256 of its bytes as 64 hexadecimal digits; null where it is not there, or cannot be read. */
  readonly sha256: string | null
  /** With what it says of clients. Empty where the file is not understood. */
  readonly rules: readonly NumberedRule[]
  readonly tests: readonly TestResult[]
  /** What is likely to be a slip and forbids nothing, as sentences that name the file. */
  readonly warnings: readonly string[]
  /** Why it cannot be relied on, as a sentence that names the file. */
  readonly problem: string | undefined
}

/**
 * Reads and checks one file, its tests included. A file that is not there says nothing. The answer is `before`, where the
 * bytes are those of it. Never throws.
 */
export function readPolicyFile(
  place: PolicyPlace,
  { tools, before }: { tools: KnownTools | undefined; before: PolicyText | undefined },
): PolicyText {
  let sha256: string | null = null
  try {
    const bytes = bytesOf(place.file)
    if (bytes === undefined) return ABSENT
    sha256 = createHash('sha256').update(bytes).digest('hex')
    if (sha256 === before?.sha256) return before
    const parsed = POLICY_FILE.safeParse(parseToml(place.file, bytes.toString('utf8')))
    if (!parsed.success) throw new Error(`${place.file}: ${firstProblem(parsed.error)}.`)
    const rules = parsed.data.rule.map((rule, index) => ({ number: index + 1, rule }))
    for (const { number, rule } of rules) checkRule(rule, { place, where: `${place.file}: rule ${number}` })
    const warnings = tools === undefined ? [] : checkTools(parsed.data, { place, tools })
    const clients = parsed.data.client.map((client, index) =>
      clientRule(client, { number: index + 1, place }),
    )
    const tests = runTests({ tests: parsed.data.test, rules, place, tools })
    const problem = tests.find(test => test.problem !== undefined)?.problem
    return { sha256, rules: [...rules, ...clients], tests, warnings, problem }
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    return { sha256, rules: [], tests: [], warnings: [], problem }
  }
}

const ABSENT: PolicyText = { sha256: null, rules: [], tests: [], warnings: [], problem: undefined }

/** A change within this time of the look may have left no trace in the times of the file; in milliseconds. */
const RACY_MS = 2_000

/**
 * What changes when the file does, whatever its size and modification time are set to; `settled` is false where it may
 * have changed again without that.
 */
export function markOf(file: string): { readonly mark: string; readonly settled: boolean } {
  try {
    const stat = statSync(file, { throwIfNoEntry: false })
    if (stat === undefined) return { mark: 'none', settled: true }
    const mark = `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}`
    return { mark, settled: Date.now() - stat.ctimeMs > RACY_MS }
  } catch (error) {
    return { mark: String(error), settled: false }
  }
}

/** `undefined` for a file that is not there. */
export function bytesOf(file: string, { flags = 0, most = FILE_BYTES } = {}): Buffer | undefined {
  try {
    return readBounded(file, { most, flags })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw new Error(`${file} cannot be read: ${error.message}.`)
  }
}

function parseToml(file: string, text: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [first = 'not TOML'] = error.message.split('\n')
    throw new Error(`${file}, line ${error.line}, is not TOML: ${first}.`)
  }
}

/** A rule that loosens is the user's alone, and says what it is about. */
function checkRule(rule: WrittenRule, { place, where }: { place: PolicyPlace; where: string }): void {
  const { decision, path, file } = rule
  const written = path ?? file
  if (decision === 'allow' && place.type === 'project')
    throw new Error(`${where} says "allow", and a project may only tighten: use "ask" or "deny".`)
  if (decision === 'allow' && MATCHERS.every(matcher => rule[matcher] === undefined))
    throw new Error(`${where} would allow everything; say what it is about: ${MATCHERS.join(', ')}.`)
  if (path !== undefined && file !== undefined)
    throw new Error(`${where} has a path and a file: leave out one of them.`)
  if (written?.startsWith('~') && (place.type === 'project' || !/^~(\/|$)/.test(written)))
    throw new Error(`${where} has a path that begins with ~, which is your home and only in your own file.`)
}

/** As with rules, only the user may loosen, and says for whom. */
function clientRule(
  client: WrittenClient,
  { number, place }: { readonly number: number; readonly place: PolicyPlace },
): NumberedRule {
  const where = `${place.file}: client ${number}`
  if (client.yes === 'counts' && place.type === 'project')
    throw new Error(`${where} says "counts", and a project may only tighten: use "asks_a_seat".`)
  if (client.yes === 'counts' && client.name === '*')
    throw new Error(`${where} would have the yes of every client count; say which one.`)
  return { number, rule: ruleOfClient(client) }
}

/** Answers with what is only doubtful; throws for what names a tool and cannot hold. */
function checkTools(
  file: Pick<z.output<typeof POLICY_FILE>, 'rule' | 'test'>,
  { place, tools }: { place: PolicyPlace; tools: KnownTools },
): string[] {
  for (const kind of ['rule', 'test'] as const)
    for (const [index, one] of file[kind].entries()) {
      const fault = faultOfTool(one, tools)
      if (fault !== undefined) throw new Error(`${place.file}: ${kind} ${index + 1} ${fault}.`)
    }
  return file.rule.flatMap((rule, index) => {
    const warning = warningOfTool(rule, tools)
    return warning === undefined ? [] : [`${place.file}: rule ${index + 1} ${warning}.`]
  })
}

function firstProblem(error: z.ZodError): string {
  // A misspelt word also leaves the right one missing; it is the cause, and is named.
  const issue = error.issues.find(({ code }) => code === 'unrecognized_keys') ?? error.issues[0]
  if (issue === undefined) return 'it is not a policy'
  const [table, index, field] = issue.path
  const where = typeof index === 'number' ? `${String(table)} ${index + 1}` : String(table ?? '')
  if (issue.code === 'unrecognized_keys')
    return `${where === '' ? 'it' : where} has ${issue.keys.map(key => JSON.stringify(key)).join(', ')}, which is not a word of a policy`
  return [where, String(field ?? ''), issue.message].filter(part => part !== '').join(', ')
}

/** Folders of which it is remembered that their file says nothing; beyond them they are looked at as if anew. */
const MOST_FOLDERS = 4_096

/**
 * The `imago.toml` of every folder that calls were about, without links in its path. Asked again and again, a file that
 * is not there costs one look at its name.
 */
export class Projects {
  readonly #options: Omit<FilePolicyOptions, 'place'>
  readonly #files = new Map<string, FilePolicy>()
  /** Of these the same object stays, also where the file says nothing: plans are compared by it. */
  readonly #roots = new Set<string>()

  constructor(options: Omit<FilePolicyOptions, 'place'>) {
    this.#options = options
  }

  root(folder: string): void {
    this.#roots.add(folder)
  }

  /** What holds of the file of that folder now. */
  look(folder: string): Looked {
    return this.#at(folder).look()
  }

  /** Reads it whatever it looks like. */
  lookAgain(folder: string): Looked {
    return this.#at(folder).lookAgain()
  }

  accept(looked: Looked, by: string): void {
    this.#at(dirname(looked.place.file)).accept(looked, by)
  }

  /** Those below that folder that were met so far. */
  below(folder: string): string[] {
    return [...this.#files.keys()].filter(one => one !== folder && isWithin(one, folder))
  }

  #at(root: string): FilePolicy {
    const found = this.#files.get(root)
    if (found !== undefined) return found
    if (this.#files.size >= MOST_FOLDERS) this.#forget()
    const place = { type: 'project', file: join(root, 'imago.toml'), root } as const
    const made = new FilePolicy({ ...this.#options, place })
    this.#files.set(root, made)
    return made
  }

  #forget(): void {
    for (const [folder, file] of this.#files)
      if (!this.#roots.has(folder) && !saysAnything(file.look())) this.#files.delete(folder)
  }
}

/** Whether anything stands in the file, or holds of it although it does not stand there any more. */
export function saysAnything({ text, held, problem }: Looked): boolean {
  return text.sha256 !== null || held.length > 0 || problem !== undefined
}

/** The folder and each one that it lies in, up to the top of the file system. */
export function upwards(folder: string): string[] {
  const above = dirname(folder)
  return above === folder ? [folder] : [folder, ...upwards(above)]
}

/** What holds of one file now. The same object, as long as nothing of it has changed. */
export interface Looked {
  readonly place: PolicyPlace
  readonly text: PolicyText
  readonly held: readonly HeldRule[]
  readonly waiting: readonly Loosening[]
  /** Why the file, or what was accepted of it, cannot be relied on. */
  readonly problem: string | undefined
  /** Undefined where the record is broken, and where nobody has to accept anything. */
  readonly acceptance: Acceptance | undefined
}

/** News for the journal: what is in force has changed. */
export interface PolicyChange {
  readonly file: string
  /** Of the file as it was then; empty where it was not there. */
  readonly sha256: string
  readonly what: string
}

export interface FilePolicyOptions {
  readonly place: PolicyPlace
  /** Left out: whatever stands in the file holds. */
  readonly records: Records | undefined
  /** Left out: rules may be about any tool. */
  readonly tools: KnownTools | undefined
  changed(change: PolicyChange): void
  /** Something went wrong that costs nobody anything now. */
  log(sentence: string, error: unknown): void
}

/** One file of rules, between what stands in it and what a person has accepted. */
export class FilePolicy {
  readonly #options: FilePolicyOptions
  #mark = ''
  #looked: Looked | undefined

  constructor(options: FilePolicyOptions) {
    this.#options = options
  }

  /** What holds now, from the file as it is. Reads it again only where it may have changed. */
  look(): Looked {
    const { place, tools } = this.#options
    const { mark, settled } = markOf(place.file)
    if (this.#looked !== undefined && this.#mark === mark) return this.#looked
    const before = this.#looked
    const text = readPolicyFile(place, { tools, before: before?.text })
    // A problem may pass without a change of the file, such as a want of descriptors.
    this.#mark = settled && text.problem === undefined ? mark : ''
    if (before !== undefined && sameText(before.text, text)) return before
    this.#looked = this.#judged(text)
    return this.#looked
  }

  /** Reads the file whatever it looks like, and says what holds. */
  lookAgain(): Looked {
    this.#mark = ''
    return this.look()
  }

  /** A person has accepted what stands in the file: all of it holds, and nothing else. Throws where that cannot be kept. */
  accept(looked: Looked, by: string): void {
    const { place, records } = this.#options
    const { text } = looked
    records?.accept(place, { acceptance: { how: 'person', by, at: now() }, rules: [...text.rules] })
    this.#looked = this.#judged(text)
    this.#tell(text, `accepted by ${by}`)
  }

  #judged(text: PolicyText): Looked {
    const { place, records } = this.#options
    if (records === undefined) {
      const { rules: held, problem } = text
      return { place, text, held, waiting: [], problem, acceptance: undefined }
    }
    const found = this.#found(records, text)
    const { held, waiting, tightened } = settle(text, found)
    if (tightened !== undefined && found.type === 'accepted')
      this.#keep({ ...found.accepted, rules: tightened }, { records, text, what: 'tightened' })
    const acceptance = found.type === 'accepted' ? found.accepted.acceptance : undefined
    const broken = found.type === 'broken' ? `${found.why} ${ACCEPT_AGAIN}` : undefined
    return { place, text, held, waiting, problem: text.problem ?? broken, acceptance }
  }

  /** What stands in a file at its first sight is accepted; of one that is not in order, nothing is. */
  #found(records: Records, text: PolicyText): Found {
    const { place } = this.#options
    const found = records.find(place)
    if (found.type !== 'none') return found
    const rules = text.problem === undefined ? [...text.rules] : []
    const accepted = { acceptance: { how: 'first_sight' as const, by: null, at: now() }, rules }
    // A project that says nothing can only tighten later, which needs no record.
    if (place.type === 'user' || rules.length > 0)
      this.#keep(accepted, { records, text, what: 'accepted at first sight' })
    return { type: 'accepted', accepted }
  }

  #keep(accepted: Accepted, o: { records: Records; text: PolicyText; what: string }) {
    const { place, log } = this.#options
    try {
      o.records.tighten(place, accepted)
    } catch (error) {
      log(`What was accepted of ${place.file} cannot be kept.`, error)
    }
    this.#tell(o.text, o.what)
  }

  #tell({ sha256 }: PolicyText, what: string): void {
    this.#options.changed({ file: this.#options.place.file, sha256: sha256 ?? '', what })
  }
}

const ACCEPT_AGAIN = 'imago policy accept shows what stands in the file now, and a person accepts it anew.'

const now = () => new Date().toISOString()

function sameText(one: PolicyText, other: PolicyText): boolean {
  return one.sha256 === other.sha256 && one.problem === other.problem
}

/** What holds for callers in one project. */
export interface Rules {
  readonly rules: readonly Rule[]
  /** Why the policy cannot be relied on. Then nothing but looking runs. */
  readonly problem: string | undefined
  /** The file in which a person may write what is allowed. */
  readonly userFile: string
  /** What would loosen, and has no effect until a person accepts it: of the user's file, then of the project's. */
  readonly waiting: readonly Loosening[]
}

/**
 * What may run: the user's `policy.toml`, then the `imago.toml` of the caller's root, of every folder that it lies in,
 * and of every folder that a file of the call lies in. Those may only tighten, so that it does not matter which folder a
 * caller names as its root. A rule that tightens is in force as soon as it is written, or `freshMs` later; one that loosens, once a person has accepted it. A file that
 * is missing says nothing; one that cannot be read, has anything in it that is not policy, or fails a test of its own,
 * is a problem, and a problem forbids whatever is not safe.
 */
export interface Policy {
  rulesFor(root: string, how?: RulesWanted): Rules
}

export interface RulesWanted {
  /** Looks at the files again, however lately that was done. */
  readonly fresh?: boolean
  /** Real paths of the call. */
  readonly paths?: readonly string[]
}

/** The policy of a running daemon, with what a person needs to see and to accept. */
export interface OpenPolicy extends Policy {
  /** What it says, for callers in that root, of the yes of a client of that name; undefined where it says nothing. */
  yesOf(root: string, client: string): Yes | undefined
  /** What the files say now, and what of it holds. Reads all of them again. */
  standing(root: string): Standing
  /**
   * A person on a seat, `by`, has accepted exactly what was shown. Says what moved, where that is not what stands there
   * any more, and then nothing is accepted. Throws where it cannot be recorded.
   */
  accept(shown: Standing, by: string): Moved | undefined
}

/** All files at one moment. */
export interface Standing {
  readonly root: string
  readonly rules: Rules
  readonly user: Looked
  /** That of the root itself. */
  readonly project: Looked
  /** All that concern the project: `user`, `project`, those of folders above it, and those met below it that say anything. */
  readonly files: readonly Looked[]
}

/** The clauses say which file is another than was shown. */
export interface Moved {
  readonly causes: readonly string[]
}

export interface PolicyOptions {
  /** Where accepted rules are recorded. Left out: nobody has to accept anything. */
  readonly stateDir?: string
  /** How long what was found in order is relied on before the files are looked at again, in milliseconds. */
  readonly freshMs?: number
  /** What `~` stands for in the user's file. */
  readonly home?: string
  /** Milliseconds on a clock that only goes forward. */
  now?(): number
  /** The tools there are: a rule about another one is refused. Left out: rules may be about any. */
  readonly tools?: KnownTools
  /** What is in force has changed. Must not throw. */
  changed?(change: PolicyChange): void
  log?(sentence: string, error: unknown): void
}

/** What was found for the callers of one root. */
interface Known {
  readonly root: string
  /** The root and each folder that it lies in. */
  readonly folders: readonly string[]
  seen: readonly Looked[]
  rules: Rules
  freshUntil: number
}

/**
 * The policy of the user whose `policy.toml` is in that directory. What was accepted is read from the state directory
 * now, and never again: while this lives, memory is the authority.
 */
export function openPolicy(configDir: string, options: PolicyOptions = {}): OpenPolicy {
  const { freshMs = 0, now = () => performance.now(), stateDir } = options
  const file = {
    records: stateDir === undefined ? undefined : openRecords(stateDir),
    tools: options.tools,
    changed: options.changed ?? (() => {}),
    log: options.log ?? (() => {}),
  }
  const home = realOf(options.home ?? homedir())
  const userFile = join(configDir, 'policy.toml')
  const user = new FilePolicy({ ...file, place: { type: 'user', file: userFile, home } })
  const projects = new Projects(file)
  const known = new Map<string, Known>()
  // At once, so that what is there when the daemon begins is what first sight is about.
  if (stateDir !== undefined) user.look()

  function knownOf(given: string): Known {
    const found = known.get(given)
    if (found !== undefined) return found
    const root = realOf(given)
    const rules = { rules: [], problem: undefined, userFile, waiting: [] }
    const made = { root, folders: upwards(root), seen: [], rules, freshUntil: Number.NEGATIVE_INFINITY }
    projects.root(root)
    known.set(given, made)
    return made
  }

  function refresh(one: Known): Rules {
    const seen = [user.look(), ...one.folders.map(folder => projects.look(folder))]
    const same = seen.every((looked, index) => looked === one.seen[index])
    one.rules = same
      ? followedAgain(one.rules)
      : rulesOf(seen, { root: one.root, userFile, tools: options.tools })
    one.seen = seen
    const fresh = one.rules.problem === undefined
    one.freshUntil = fresh ? now() + freshMs : Number.NEGATIVE_INFINITY
    return one.rules
  }

  function standing(given: string): Standing {
    const one = knownOf(given)
    const [ofUser, ofProject] = [user.lookAgain(), projects.lookAgain(one.root)]
    const around = [...one.folders.slice(1), ...projects.below(one.root)]
    const others = around.map(folder => projects.lookAgain(folder)).filter(saysAnything)
    const files = [ofUser, ofProject, ...others]
    return { root: one.root, rules: refresh(one), user: ofUser, project: ofProject, files }
  }

  /** With the rules of the folders that the paths lie in, and that are not those of the caller already. */
  function rulesOn(one: Known, paths: readonly string[]): Rules {
    const folders = new Set(paths.flatMap(upwards))
    for (const folder of one.folders) folders.delete(folder)
    const others = [...folders].map(folder => projects.look(folder)).filter(saysAnything)
    return others.length === 0
      ? one.rules
      : rulesOf([...one.seen, ...others], { root: one.root, userFile, tools: options.tools })
  }

  function lookedAt(root: string, how?: RulesWanted): Known {
    const one = known.get(root) ?? knownOf(root)
    if (now() >= one.freshUntil || how?.fresh === true) refresh(one)
    return one
  }

  return {
    rulesFor(root, how) {
      const one = lookedAt(root, how)
      return how?.paths === undefined ? one.rules : rulesOn(one, how.paths)
    },
    yesOf: (root, client) => yesOf(lookedAt(root).seen, client),
    standing,
    accept(shown, by) {
      const current = standing(shown.root)
      const causes = shown.files
        .filter(looked => !current.files.includes(looked))
        .map(({ place }) => `${place.file} is not what was shown any more`)
      if (causes.length > 0) return { causes }
      for (const looked of shown.files.filter(needsAccepting))
        (looked.place.type === 'user' ? user : projects).accept(looked, by)
      for (const one of known.values()) one.freshUntil = Number.NEGATIVE_INFINITY
      return undefined
    },
  }
}

/** Whether there is anything in the file, or in what is known of it, that a person has to accept. */
export function needsAccepting({ waiting, text, problem }: Looked): boolean {
  return waiting.length > 0 || (problem !== undefined && text.problem === undefined)
}

interface Caller {
  readonly root: string
  readonly userFile: string
  readonly tools: KnownTools | undefined
}

function rulesOf(seen: readonly Looked[], { userFile, ...caller }: Caller): Rules {
  const problem = seen.find(looked => looked.problem !== undefined)?.problem
  const rules = followed(seen.flatMap(looked => placedRules(looked, caller)))
  // With a problem nothing is allowed by a rule; what is denied stays denied, looking included.
  const inForce = problem === undefined ? rules : rules.filter(({ decision }) => decision !== 'allow')
  return { rules: inForce, problem, userFile, waiting: seen.flatMap(({ waiting }) => waiting) }
}

/** Links may have been laid anew since. The same object, if none that matters was. */
function followedAgain(rules: Rules): Rules {
  if (rules.rules.every(rule => !isAboutFiles(rule) || rule.decision === 'allow')) return rules
  const again = followed(rules.rules)
  return again.every((rule, index) => rule === rules.rules[index]) ? rules : { ...rules, rules: again }
}
