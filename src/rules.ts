import { statSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { z } from 'zod'
import { LEVELS } from '../tools/words.ts'
import { parseConfig } from './config.ts'
import { DECISIONS, EFFECTS, type Rule } from './core/gate.ts'
import type { Policy, Rules } from './core/policy.ts'
import { messageOf } from './failure.ts'

/** One `[[rule]]` of a policy file. A path that is not absolute counts from the folder of the file. */
const RULE = z.strictObject({
  decision: z.enum(DECISIONS),
  tool: z.string().min(1).optional(),
  level: z.enum(LEVELS).optional(),
  kernel: z.string().min(1).optional(),
  path: z.string().min(1).optional(),
  effect: z.enum(EFFECTS).optional(),
})

const USER_FILE = z.strictObject({ rule: z.array(RULE).default([]) })

/** A project may be anybody's, so its file can only make the policy stricter. */
const PROJECT_RULE = RULE.extend({
  decision: z.enum(['ask', 'deny'], {
    error: 'a project can only ask or deny; allow stands in your own policy.toml',
  }),
})
const PROJECT_FILE = z.strictObject({ rule: z.array(PROJECT_RULE).default([]) })

/**
 * The rules of the user's `policy.toml` and of a project's `imago.toml`. A file is read again when it has changed; one
 * that cannot be read or understood is a problem of the whole policy, and never an absence of rules.
 */
export function openPolicy(configDir: string): Policy {
  const userFile = join(configDir, 'policy.toml')
  const user = watched(userFile, () =>
    rulesIn(USER_FILE, { file: userFile, folder: configDir, type: 'user' }),
  )
  const projects = new Map<string, () => Read>()

  function project(root: string): () => Read {
    const known = projects.get(root)
    if (known !== undefined) return known
    const file = join(root, 'imago.toml')
    const made = watched(file, () => rulesIn(PROJECT_FILE, { file, folder: root, type: 'project' }))
    projects.set(root, made)
    return made
  }

  let last: { user: Read; project: Read; rules: Rules } | undefined
  return {
    rulesFor(root) {
      const [ofUser, ofProject] = [user(), project(root)()]
      if (last?.user !== ofUser || last.project !== ofProject)
        last = {
          user: ofUser,
          project: ofProject,
          rules: {
            rules: [...ofUser.rules, ...ofProject.rules],
            problem: ofUser.problem ?? ofProject.problem,
            userFile,
          },
        }
      return last.rules
    },
  }
}

interface Read {
  readonly rules: readonly Rule[]
  readonly problem: string | undefined
}

interface Origin {
  readonly file: string
  readonly folder: string
  readonly type: 'user' | 'project'
}

function rulesIn(schema: typeof USER_FILE | typeof PROJECT_FILE, { file, folder, type }: Origin): Read {
  try {
    const { rule } = parseConfig(schema, file)
    const rules = rule.map(({ path, ...rest }, index) => ({
      ...rest,
      ...(path === undefined ? {} : { path: isAbsolute(path) ? path : resolve(folder, path) }),
      from: { type, file, number: index + 1 },
    }))
    return { rules, problem: undefined }
  } catch (error) {
    return { rules: [], problem: messageOf(error) }
  }
}

/** The value that was read last, for as long as the file looks the same. */
function watched(file: string, read: () => Read): () => Read {
  let seen: string | undefined
  let value: Read = { rules: [], problem: undefined }
  return () => {
    const now = look(file)
    if (now === seen) return value
    value = read()
    // A problem may pass without a change of the file, such as a want of descriptors.
    seen = value.problem === undefined ? now : undefined
    return value
  }
}

function look(file: string): string {
  try {
    const found = statSync(file, { throwIfNoEntry: false })
    return found === undefined ? 'none' : `${found.ino} ${found.mtimeMs} ${found.ctimeMs} ${found.size}`
  } catch (error) {
    return messageOf(error)
  }
}
