import { realpathSync } from 'node:fs'
import type { FileChange } from '../../tools/contract.ts'
import { oneLine } from '../../tools/text.ts'
import type { Kernel } from '../../wire/kernel.ts'
import type { Run } from './run.ts'

/** How long an image is asked for a module of its own, in milliseconds; and how many files after one change. */
const [LOOK_MS, FILES] = [500, 5]

/**
 * A line for each Python file that was changed and that programs of the project have loaded: they run what they loaded
 * before, and how the new one comes to run. Undefined where nothing is to be said; never rejects.
 */
export async function runsOldText(
  run: Pick<Run, 'options' | 'caller' | 'mayLook'>,
  changes: readonly FileChange[],
): Promise<string | undefined> {
  const {
    options,
    caller: { root },
  } = run
  const files = changes.filter(({ path, after }) => after !== null && path.endsWith('.py')).slice(0, FILES)
  const living = options.kernels.besides({ name: '', root }).filter(({ name }) => run.mayLook(name))
  if (files.length === 0 || living.length === 0) return undefined
  try {
    const { kernels } = await options.kernels.project(root, undefined)
    const groups = kernels.flatMap(({ state, group }) => (state === 'supervisor' ? [group] : []))
    const isSupervised = (name: string) =>
      kernels.some(one => one.name === name && groups.includes(one.group))
    const asked = files.map(async file => {
      const loaded = await Promise.all(living.map(one => hasLoaded(one.kernel, file)))
      const names = living.flatMap(({ name }, at) => (loaded[at] ? [name] : []))
      const [supervised, others] = [names.filter(isSupervised), names.filter(name => !isSupervised(name))]
      const args = { path: file.shown, ...(living.length > 1 && { kernel: others[0] }) }
      const old = (who: readonly string[], how: string) =>
        who.length === 0
          ? []
          : [
              `${who.join(', ')} still run${who.length === 1 ? 's what it' : ' what they'} loaded before of ${oneLine(file.shown)}${how}`,
            ]
      return [
        ...old(others, `: load_file ${JSON.stringify(args)} loads the file.`),
        ...old(supervised, ' until started again, which a reloader does by itself.'),
      ]
    })
    return (await Promise.all(asked)).flat().join('\n') || undefined
  } catch (error) {
    options.log('programs could not be asked for the text that they run', error)
    return undefined
  }
}

/** Whether a module of that image is of this file, by the names that it can have there. */
async function hasLoaded(kernel: Kernel, { path, shown }: FileChange): Promise<boolean> {
  if (!kernel.identity.abilities.has('symbols')) return false
  const parts = shown.replace(/(\/__init__)?\.py$/, '').split('/')
  const names = ['__main__', ...parts.map((_, from) => parts.slice(from).join('.'))]
  const found = names.map(async module => {
    const query = { module, internal: false, limit: 1 }
    const looked = await kernel.look('symbols', query, { deadlineMs: LOOK_MS })
    return looked.type === 'found' && looked.value.file !== null && realpathSync(looked.value.file) === path
  })
  return (await Promise.all(found.map(one => one.catch(() => false)))).includes(true)
}
