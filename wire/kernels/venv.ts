import { existsSync, realpathSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { isTracked } from './tracked.ts'

export interface OwnVenv {
  /** The project. */
  readonly root: string
  /** Its interpreter, as it would be started. */
  readonly python: string
  /** The caller's. */
  readonly env: Readonly<Record<string, string>>
  /** Projects whose `.venv` a person trusts, whatever it holds. */
  readonly trusted?: readonly string[] | undefined
}

/**
 * Why the `.venv` of a project may not be started without a person's word, as a clause; undefined where it may.
 *
 * Whoever opens a repository has not agreed yet to run what came with it. A `.venv` that somebody made here bears its
 * `pyvenv.cfg`, leads to an interpreter that lies elsewhere, and is not tracked by git. One that the caller has
 * activated, or that a person named in the configuration, is trusted. What an unpacked archive holds cannot be told
 * from what was made here.
 */
export function doubtAbout({ root, python, env, trusted = [] }: OwnVenv): string | undefined {
  const venv = join(root, '.venv')
  if (trusted.some(folder => isSame(folder, root))) return undefined
  if (env.VIRTUAL_ENV && isSame(env.VIRTUAL_ENV, venv)) return undefined
  try {
    if (!isFile(join(venv, 'pyvenv.cfg'))) return 'holds no pyvenv.cfg, as one made by python -m venv does'
    const top = realpathSync(root)
    const interpreter = realpathSync(python)
    if (isWithin(interpreter, top))
      return 'holds an interpreter of its own, which may have come with the project'
    if (isTracked(join(top, '.venv')) || isTracked(realpathSync(venv)))
      return 'came with the repository: git tracks it'
    return undefined
  } catch (error) {
    return `may have come with the project, which cannot be told: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** Whether both are there, and are one folder. */
function isSame(one: string, other: string): boolean {
  return existsSync(one) && existsSync(other) && realpathSync(one) === realpathSync(other)
}

const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false

const isWithin = (path: string, folder: string) =>
  path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
