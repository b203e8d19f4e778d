import { homedir } from 'node:os'
import { join } from 'node:path'
import { isAboutFiles, type Rule } from './gate.ts'
import { yesOf } from './policy/clients.ts'
import { FilePolicy, type Looked, type PolicyChange } from './policy/file-policy.ts'
import type { KnownTools } from './policy/named-tools.ts'
import { followed, placedRules } from './policy/placed.ts'
import { Projects, saysAnything, upwards } from './policy/projects.ts'
import { openRecords } from './policy/records.ts'
import type { Loosening } from './policy/settling.ts'
import type { Yes } from './policy/written.ts'
import { realOf } from './roots.ts'

export type { Looked, PolicyChange } from './policy/file-policy.ts'
export type { Loosening } from './policy/settling.ts'

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
