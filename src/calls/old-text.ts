import { realpathSync } from 'node:fs'
import type { FileChange } from '../../tools/contract.ts'
import { oneLine } from '../../tools/text.ts'
import type { Kernel } from '../../wire/kernel.ts'
import { DEFAULT_LANGUAGE } from '../../wire/languages.ts'
import type { Run } from './run.ts'

/** How long an image is asked for a module of its own, in milliseconds; how many files after one change, and programs of one. */
const [LOOK_MS, FILES, PROGRAMS] = [500, 5, 5]

/** As what an image has a file: as the script that it was started with, or as a module. */
type LoadedAs = 'script' | 'module'

/**
 * A line for each Python file that was changed and that programs of the project have loaded: they run what they loaded
 * before, and how the new one comes to run. A script is never said to be loaded whole, which would run it a second time.
 * Of programs that listen and are not attached nothing is known: they are named as such, and none is attached for this.
 * Undefined where nothing is to be said; never rejects.
 */
export async function runsOldText(
  run: Pick<Run, 'options' | 'caller' | 'mayLook'>,
  changes: readonly FileChange[],
): Promise<string | undefined> {
  const { options, caller } = run
  const files = changes.filter(({ path, after }) => after !== null && path.endsWith('.py')).slice(0, FILES)
  const living = options.kernels
    .besides({ name: '', root: caller.root })
    .filter(({ name }) => run.mayLook(name))
  if (files.length === 0) return undefined
  try {
    const { kernels } = await options.kernels.project(caller.root, undefined)
    const listening = kernels.filter(
      ({ name, state, language }) =>
        language === DEFAULT_LANGUAGE.name && ['listens', 'helper'].includes(state) && run.mayLook(name),
    )
    const isReloaded = (name: string) => options.kernels.isReloaded(name)
    const asked = files.map(async file => {
      const changed = changedDefinitions(textOf(file.before), textOf(file.after))
      const loaded = async ({ kernel }: (typeof living)[number]) => {
        const found = await loadedModule(kernel, file)
        const isNew =
          found && changed && (await runsAll(changed, { kernel, sources: options.sources, ...found }))
        return isNew ? undefined : found?.as
      }
      const all = await Promise.all(living.map(async one => ({ name: one.name, as: await loaded(one) })))
      const namesOf = (fits: (name: string, as: LoadedAs) => boolean) =>
        all.flatMap(({ name, as }) => (as !== undefined && fits(name, as) ? [name] : []))
      const isRunAgain = (as: LoadedAs) => as === 'script' && changed === undefined
      const reloaded = namesOf(isReloaded)
      const scripts = namesOf((name, as) => !isReloaded(name) && isRunAgain(as))
      const others = namesOf((name, as) => !isReloaded(name) && !isRunAgain(as))
      const args = {
        path: file.shown,
        ...(changed !== undefined && { names: changed }),
        ...(living.length > 1 && { kernel: others[0] }),
      }
      const loads = changed === undefined ? 'the file' : changed.join(', ')
      const old = (who: readonly string[], how: string) =>
        who.length === 0
          ? []
          : [
              `${who.join(', ')} still run${who.length === 1 ? 's what it' : ' what they'} loaded before of ${oneLine(file.shown)}${how}`,
            ]
      return [
        ...old(others, `: load_file ${JSON.stringify(args)} loads ${loads}.`),
        ...old(scripts, ' until started again: to load the file would run its top level a second time.'),
        ...old(reloaded, ' until started again, which a reloader does by itself.'),
        ...notLookedAt(listening, { path: file.shown, names: changed }),
      ]
    })
    return (await Promise.all(asked)).flat().join('\n') || undefined
  } catch (error) {
    options.log('programs could not be asked for the text that they run', error)
    return undefined
  }
}

/** Programs that nobody has attached to are not asked. */
function notLookedAt(
  [first, ...others]: readonly { readonly name: string }[],
  file: { readonly path: string; readonly names: readonly string[] | undefined },
): readonly string[] {
  if (first === undefined) return []
  const named = [first, ...others.slice(0, PROGRAMS - 1)].map(({ name }) => oneLine(name)).join(', ')
  const more = others.length < PROGRAMS ? '' : ` and ${others.length + 1 - PROGRAMS} more`
  const [listen, may, one] =
    others.length === 0
      ? ['listens and was not looked at', 'it may', 'it']
      : ['listen and were not looked at', 'they may', 'one']
  const loads =
    file.names === undefined ? '' : `; load_file ${JSON.stringify(file)} then loads ${file.names.join(', ')}`
  const attach = `attach ${JSON.stringify({ name: first.name })} joins ${one}${loads}`
  return [`${named}${more} ${listen}: ${may} run the old text of ${oneLine(file.path)}. ${attach}.`]
}

interface LoadedModule {
  readonly as: LoadedAs
  readonly module: string
}

/** What that image has this file as, by the names that it can have there; undefined where it has not. */
async function loadedModule(kernel: Kernel, { path, shown }: FileChange): Promise<LoadedModule | undefined> {
  if (!kernel.identity.abilities.has('symbols')) return undefined
  const parts = shown.replace(/(\/__init__)?\.py$/, '').split('/')
  const names = ['__main__', ...parts.map((_, from) => parts.slice(from).join('.'))]
  const found = names.map(async module => {
    const query = { module, internal: false, limit: 1 }
    const looked = await kernel.look('symbols', query, { deadlineMs: LOOK_MS })
    return looked.type === 'found' && looked.value.file !== null && realpathSync(looked.value.file) === path
  })
  const there = await Promise.all(found.map(one => one.catch(() => false)))
  // Of a file that is both, the module is the one that others import.
  const module = names.findLast((_, at) => there[at])
  return module === undefined ? undefined : { as: module === '__main__' ? 'script' : 'module', module }
}

/** Whether each of these definitions is proved to be the one that the file has now, as after a change that was never loaded. */
async function runsAll(
  definitions: readonly string[],
  {
    kernel,
    module,
    as,
    sources,
  }: LoadedModule & { readonly kernel: Kernel } & Pick<Run['options'], 'sources'>,
): Promise<boolean> {
  const proved = definitions.map(async definition => {
    const query = {
      name: as === 'script' ? definition : `${module}.${definition}`,
      max_length: 1,
      contexts: false,
    }
    const looked = await kernel.look('definition', query, { deadlineMs: LOOK_MS })
    const { running } = looked.type === 'found' ? looked.value : {}
    if (running === undefined) return false
    const asked = { running, identity: kernel.identity, kept: async () => null }
    const proof = await sources.prove(asked)
    return proof.source === 'proved' && proof.from === 'file'
  })
  return (await Promise.all(proved.map(one => one.catch(() => false)))).every(is => is)
}

const textOf = (bytes: Uint8Array | null) => Buffer.from(bytes ?? []).toString()

/** Names in one call; of more, the file is loaded. */
const MOST_NAMES = 5

/**
 * The functions, classes and variables at the top level of a Python text to which a change gives another text, or which it
 * adds. Undefined where it changes anything else, but for comments and empty lines, or none of them.
 */
export function changedDefinitions(before: string, after: string): readonly string[] | undefined {
  const [old, now] = [definitionsOf(before), definitionsOf(after)]
  if (old.rest !== now.rest || [...old.texts.keys()].some(name => !now.texts.has(name))) return undefined
  const names = [...now.texts].flatMap(([name, text]) => (old.texts.get(name) === text ? [] : [name]))
  return names.length === 0 || names.length > MOST_NAMES ? undefined : names
}

const DEFINES =
  /^(?:(?:async\s+)?(?:def|class)\s+|(?!(?:else|try|finally)\b)(?=[\p{L}\p{N}_]+\s*(?::[^=]*)?=(?!=)))([\p{L}_][\p{L}\p{N}_]*)/u

/** The text of each name that the top level defines once, with its decorators; and all other code. */
function definitionsOf(text: string) {
  const statements: string[] = []
  let isDecorated = false
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === '' || line.startsWith('#')) continue
    // What is set in, or closes a bracket, belongs to the statement before; a decorator to the one after.
    if (statements.length > 0 && (isDecorated || /^[\s)\]}]/.test(line)))
      statements.push(`${statements.pop()}\n${line}`)
    else statements.push(line)
    isDecorated = line.startsWith('@') || (isDecorated && !DEFINES.test(line))
  }
  const named = statements.map(statement => {
    const first = statement.split('\n').find(line => DEFINES.test(line))
    return { statement, name: DEFINES.exec(first ?? '')?.[1] }
  })
  const times = new Map<string | undefined, number>()
  for (const { name } of named) times.set(name, (times.get(name) ?? 0) + 1)
  const texts = new Map<string, string>()
  const rest: string[] = []
  for (const { name, statement } of named)
    if (name !== undefined && times.get(name) === 1) texts.set(name, statement)
    else rest.push(statement)
  return { texts, rest: rest.join('\n') }
}
