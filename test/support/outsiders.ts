import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { Ground } from './whole-path.ts'

/** What somebody else does to a file of the project, in one moment. `name` counts from the project. */
export interface Outsider {
  readonly what: string
  /** It gives the name to something else, or takes it away, without a change of the file itself. */
  readonly byName: boolean
  act(ground: Ground, name: string): void
}

const pathOf = ({ project }: Ground, name: string) => join(project, name)

/** Another first line of the same length, so that only the bytes tell. */
const THEIRS = (text: string) =>
  `${'*'.repeat(Math.max(0, text.indexOf('\n')))}${text.slice(Math.max(0, text.indexOf('\n')))}`

function there(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return 'one\ntwo\nthree\n'
  }
}

/** Writes elsewhere and renames, as editors do. */
function replace(path: string, text: string): void {
  writeFileSync(`${path}.theirs`, text)
  renameSync(`${path}.theirs`, path)
}

export const WRITES: Outsider = {
  what: 'somebody writes into it, and sets its times back',
  byName: false,
  act(ground, name) {
    const path = pathOf(ground, name)
    const text = there(path)
    const before = statSync(path, { throwIfNoEntry: false })
    writeFileSync(path, THEIRS(text))
    if (before !== undefined) utimesSync(path, before.atime, before.mtime)
  },
}

export const REPLACES: Outsider = {
  what: 'somebody puts another file in its place',
  byName: true,
  act(ground, name) {
    const path = pathOf(ground, name)
    replace(path, THEIRS(there(path)))
  },
}

export const REMAKES: Outsider = {
  what: 'somebody puts a file of the same content in its place',
  byName: true,
  act(ground, name) {
    const path = pathOf(ground, name)
    replace(path, there(path))
  },
}

export const REMOVES: Outsider = {
  what: 'somebody deletes it',
  byName: true,
  act: (ground, name) => rmSync(pathOf(ground, name), { force: true }),
}

export const CHANGES_MODE: Outsider = {
  what: 'somebody changes its mode',
  byName: false,
  act(ground, name) {
    const path = pathOf(ground, name)
    if (statSync(path, { throwIfNoEntry: false }) !== undefined) chmodSync(path, 0o600)
  },
}

/** What must not change, outside of the project. */
export const outsideIn = ({ folder }: Ground) => join(folder, 'outside.txt')

export const LINKS: Outsider = {
  what: 'somebody puts a link in its place that leads out of the project',
  byName: true,
  act(ground, name) {
    const path = pathOf(ground, name)
    rmSync(path, { force: true })
    symlinkSync(outsideIn(ground), path)
  },
}

export const MOVES_FOLDER: Outsider = {
  what: 'somebody moves its folder away, and puts another one there with the same content',
  byName: true,
  act(ground, name) {
    const path = pathOf(ground, name)
    const text = there(path)
    renameSync(dirname(path), join(ground.folder, 'moved'))
    mkdirSync(dirname(path))
    writeFileSync(path, text)
  },
}

/** All that tells one state of a name from another; undefined where nothing has it. */
export function stateOf(ground: Ground, name: string) {
  const path = pathOf(ground, name)
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return undefined
  const text = stat.isFile() ? readFileSync(path, 'utf8') : null
  return { text, mode: stat.mode, id: stat.ino }
}

export type State = ReturnType<typeof stateOf>

export function isSame(one: State, other: State): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
