import { realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { errnoOf } from '../../wire/errors.ts'
import { isWithin, realOf } from '../files/roots.ts'
import {
  judgedName,
  type KnownTools,
  type PolicyPlace,
  type PolicyText,
  pathOf,
  readPolicyFile,
  type Yes,
} from './file.ts'
import {
  type Acceptance,
  type Accepted,
  type Found,
  type HeldRule,
  type Loosening,
  openRecords,
  type Records,
  settle,
} from './records.ts'
import { decide, isAboutFiles, nameMatches, type Rule } from './rules.ts'

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
 * of every folder that a file of the call lies in, and of the project of its kernel. Those may only tighten, so that it
 * does not matter which folder a caller names as its root. A rule that tightens is in force as soon as it is written, or `freshMs` later; one that loosens, once a person has accepted it. A file that
 * is missing says nothing; one that cannot be read, has anything in it that is not policy, or fails a test of its own,
 * is a problem, and a problem forbids whatever is not safe.
 */
export interface Policy {
  rulesFor(root: string, how?: RulesRequest): Rules
}

interface RulesRequest {
  /** Looks at the files again, however lately that was done. */
  readonly fresh?: boolean
  /** Real paths of the call. */
  readonly paths?: readonly string[]
  /** Real roots of other projects that the call is about: what their callers would be denied, or asked about, is too. */
  readonly roots?: readonly string[]
}

/** The policy of a running daemon, with what a person needs to see and to accept. */
export interface OpenPolicy extends Policy {
  /** Whether a rule keeps from callers what has ended that kernel, and its last words: its errors are kept from them. */
  withholds(kernel: {
    readonly name: string
    readonly otherNames: readonly string[]
    readonly roots: readonly string[]
  }): boolean
  /** How calls of that project come to a kernel where none lives: a person has accepted what they join. */
  startsOf(root: string): {
    readonly attach: readonly string[]
    /** What they would join, once a person accepts it. */
    readonly waiting: readonly string[]
    readonly begins: boolean
  }
  /** What it says, for callers in that root, of the yes of a client of that name; undefined where it says nothing. */
  yesOf(root: string, client: string): Yes | undefined
  /** What the files say now, and what of it holds. Reads all of them again. */
  standing(root: string): Standing
  /**
   * A person on a seat, `by`, has accepted exactly what was shown. Says what moved, where that is not what stands there
   * any more, and then nothing is accepted. Throws where it cannot be recorded.
   */
  accept(shown: Standing, by: string): Mismatch | undefined
}

/** All files at one moment. */
export interface Standing {
  readonly root: string
  readonly rules: Rules
  readonly user: FileRules
  /** That of the root itself. */
  readonly project: FileRules
  /** All that concern the project: `user`, `project`, those of folders above it, and those met below it that say anything. */
  readonly files: readonly FileRules[]
}

/** The clauses say which file is another than was shown. */
export interface Mismatch {
  readonly causes: readonly string[]
}

/** What holds of one file now. The same object, as long as nothing of it has changed. */
export interface FileRules {
  readonly place: PolicyPlace
  readonly text: PolicyText
  readonly held: readonly HeldRule[]
  readonly waiting: readonly Loosening[]
  /** Why the file, or what was accepted of it, cannot be relied on. */
  readonly problem: string | undefined
  /** Undefined where the record is broken, and where nobody has to accept anything. */
  readonly acceptance: Acceptance | undefined
  /** The root that paths of the user's file count from. Left out: that of the caller. */
  readonly from?: string
}

/** News for the journal: what is in force has changed. */
export interface PolicyChange {
  readonly file: string
  /** Of the file as it was then; empty where it was not there. */
  readonly sha256: string
  readonly what: string
}

interface PolicyOptions {
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
  seen: readonly FileRules[]
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

  /** With the rules of other projects, and of the folders that the paths lie in, which are not the caller's already. */
  function rulesOn(one: Known, { paths = [], roots = [] }: RulesRequest): Rules {
    const folders = new Set([...paths, ...roots].flatMap(upwards))
    for (const folder of one.folders) folders.delete(folder)
    const others = [...folders].map(folder => projects.look(folder)).filter(saysAnything)
    const theirs = roots.flatMap(root => relativeIn(user.look(), root))
    return others.length === 0 && theirs.length === 0
      ? one.rules
      : rulesOf([...one.seen, ...theirs, ...others], { root: one.root, userFile, tools: options.tools })
  }

  function lookedAt(root: string, how?: RulesRequest): Known {
    const one = known.get(root) ?? knownOf(root)
    if (now() >= one.freshUntil || how?.fresh === true) refresh(one)
    return one
  }

  return {
    rulesFor(root, how) {
      const one = lookedAt(root, how)
      return how?.paths === undefined && how?.roots === undefined ? one.rules : rulesOn(one, how)
    },
    withholds({ name: kernel, otherNames, roots: [root, ...roots] }) {
      if (root === undefined) return false
      const { rules } = this.rulesFor(root, { roots })
      const asked = { tool: 'get_last_error', level: 'safe', kernel, otherNames, rules } as const
      return decide(asked).decision !== 'allow'
    },
    startsOf(root) {
      const { seen, rules } = lookedAt(root)
      const own = rules.problem === undefined ? seen.filter(({ place }) => dirname(place.file) === root) : []
      return {
        attach: own.flatMap(({ held }) => held.flatMap(({ rule }) => rule.attach ?? [])),
        waiting: own.flatMap(({ waiting }) => waiting.flatMap(({ rule }) => rule.attach ?? [])),
        begins: seen.every(({ text }) => text.python !== false),
      }
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
export function needsAccepting({ waiting, text, problem }: FileRules): boolean {
  return waiting.length > 0 || (problem !== undefined && text.problem === undefined)
}

interface Caller {
  readonly root: string
  readonly userFile: string
  readonly tools: KnownTools | undefined
}

function rulesOf(seen: readonly FileRules[], { userFile, ...caller }: Caller): Rules {
  const problem = seen.find(looked => looked.problem !== undefined)?.problem
  const rules = followed(seen.flatMap(looked => placedRules(looked, caller)))
  // With a problem nothing is allowed by a rule; what is denied stays denied, looking included.
  const inForce = problem === undefined ? rules : rules.filter(({ decision }) => decision !== 'allow')
  return { rules: inForce, problem, userFile, waiting: seen.flatMap(({ waiting }) => waiting) }
}

/** The user's rules that tighten, and whose paths count from the root of each caller, as that other root has them. */
function relativeIn(user: FileRules, root: string): readonly FileRules[] {
  const held = user.held.filter(({ rule }) => rule.decision !== 'allow' && isRelative(rule.path ?? rule.file))
  return held.length === 0 ? [] : [{ ...user, held, waiting: [], from: root }]
}

const isRelative = (path: string | undefined): boolean => path !== undefined && !/^[~/]/.test(path)

/** Links may have been laid anew since. The same object, if none that matters was. */
function followedAgain(rules: Rules): Rules {
  if (rules.rules.every(rule => !isAboutFiles(rule) || rule.decision === 'allow')) return rules
  const again = followed(rules.rules)
  return again.every((rule, index) => rule === rules.rules[index]) ? rules : { ...rules, rules: again }
}

/** The rules about calls of a file that hold for a caller with that root, with absolute paths and with their places. */
function placedRules(
  { held, place, from }: FileRules,
  { root: caller, tools }: { readonly root: string; readonly tools: KnownTools | undefined },
): readonly Rule[] {
  const root = place.type === 'project' ? place.root : (from ?? caller)
  const { type, file } = place
  const aboutCalls = held.filter(({ rule }) => rule.client === undefined && rule.attach === undefined)
  return aboutCalls.map(({ rule: { client: _, attach: _a, ...rule }, number, removed }) => ({
    ...rule,
    ...(rule.tool !== undefined && { tool: judgedName(rule.tool, tools) }),
    ...(rule.path !== undefined && { path: pathOf(rule.path, { place, root }) }),
    ...(rule.file !== undefined && { file: pathOf(rule.file, { place, root }) }),
    from: { type, file, number, ...(removed && { removed }) },
  }))
}

/**
 * The same rules, those that tighten speaking also about where their paths lead now. One that allows does not: a link
 * that is laid later must not widen it.
 */
function followed(rules: readonly Rule[]): readonly Rule[] {
  return rules.map(rule => {
    const real = realOfRule(rule)
    return real === rule.real ? rule : { ...rule, real }
  })
}

function realOfRule({ decision, path, file }: Rule): string | undefined {
  const written = path ?? file
  if (written === undefined || decision === 'allow') return undefined
  const real = realOfPath(written)
  return real === written ? undefined : real
}

/** The path without links, also of a file that is not there yet; as given where that cannot be told. */
function realOfPath(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    const missing = errnoOf(error) === 'ENOENT'
    const above = dirname(path)
    return missing && above !== path ? join(realOfPath(above), basename(path)) : path
  }
}

/**
 * What the policy says of the yes of a client that calls itself by that name; undefined where it says nothing. The
 * strictest counts, and while there is a problem with a file no yes is said to count.
 */
function yesOf(seen: readonly FileRules[], name: string): Yes | undefined {
  const decisions = seen.flatMap(({ held }) =>
    held
      .filter(({ rule: { client } }) => client !== undefined && nameMatches(client, name))
      .map(({ rule }) => rule.decision),
  )
  if (decisions.length === 0) return undefined
  const inOrder = seen.every(({ problem }) => problem === undefined)
  return inOrder && decisions.every(decision => decision === 'allow') ? 'counts' : 'asks_a_seat'
}

// The files, each between what stands in it and what a person has accepted.

interface FilePolicyOptions {
  readonly place: PolicyPlace
  /** Left out: whatever stands in the file holds. */
  readonly records: Records | undefined
  /** Left out: rules may be about any tool. */
  readonly tools: KnownTools | undefined
  changed(change: PolicyChange): void
  /** Something went wrong that costs nobody anything now. */
  log(sentence: string, error: unknown): void
}

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

/** Folders of which it is remembered that their file says nothing; beyond them they are looked at as if anew. */
const MOST_FOLDERS = 4_096

/**
 * The `imago.toml` of every folder that calls were about, without links in its path. Asked again and again, a file that
 * is not there costs one look at its name.
 */
class Projects {
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
  look(folder: string): FileRules {
    return this.#at(folder).look()
  }

  /** Reads it whatever it looks like. */
  lookAgain(folder: string): FileRules {
    return this.#at(folder).lookAgain()
  }

  accept(looked: FileRules, by: string): void {
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
function saysAnything({ text, held, problem }: FileRules): boolean {
  return text.sha256 !== null || held.length > 0 || problem !== undefined
}

/** The folder and each one that it lies in, up to the top of the file system. */
function upwards(folder: string): string[] {
  const above = dirname(folder)
  return above === folder ? [folder] : [folder, ...upwards(above)]
}

/** One file of rules, between what stands in it and what a person has accepted. */
class FilePolicy {
  readonly #options: FilePolicyOptions
  #mark = ''
  #looked: FileRules | undefined

  constructor(options: FilePolicyOptions) {
    this.#options = options
  }

  /** What holds now, from the file as it is. Reads it again only where it may have changed. */
  look(): FileRules {
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
  lookAgain(): FileRules {
    this.#mark = ''
    return this.look()
  }

  /** A person has accepted what stands in the file: all of it holds, and nothing else. Throws where that cannot be kept. */
  accept(looked: FileRules, by: string): void {
    const { place, records } = this.#options
    const { text } = looked
    records?.accept(place, { acceptance: { how: 'person', by, at: now() }, rules: [...text.rules] })
    this.#looked = this.#judged(text)
    this.#tell(text, `accepted by ${by}`)
  }

  #judged(text: PolicyText): FileRules {
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
    const rules = text.problem === undefined ? text.rules.filter(({ rule }) => rule.attach === undefined) : []
    const accepted = { acceptance: { how: 'first_sight' as const, by: null, at: now() }, rules }
    // A project that says nothing can only tighten later, which needs no record.
    if (place.type === 'user' || rules.length > 0)
      this.#keep(accepted, { records, text, what: isAbsent(text) ? NO_FILE : 'accepted at first sight' })
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

const isAbsent = ({ sha256, problem }: PolicyText) => sha256 === null && problem === undefined

const NO_FILE = 'no policy file, so that the defaults hold'

const ACCEPT_AGAIN = 'imago policy accept shows what stands in the file now, and a person accepts it anew.'

const now = () => new Date().toISOString()

function sameText(one: PolicyText, other: PolicyText): boolean {
  return one.sha256 === other.sha256 && one.problem === other.problem
}
